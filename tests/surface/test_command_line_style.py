"""One style for all verbs, and the page about them: what it shows, runs."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.csv as pa_csv
import pytest
import typer
from typer.testing import CliRunner

import discreet as dc
from command_line import run
from discreet.cli import app
from discreet.jobs.kinds import KINDS

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
TOP: Any = typer.main.get_command(app.app)


def _verbs(group: Any, *path: str) -> dict[str, Any]:
    """Return the commands of a group and of the groups in it, by the words that are typed."""
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        inner = hasattr(command, "commands")
        found |= _verbs(command, *path, name) if inner else {" ".join([*path, name]): command}
    return found


VERBS = _verbs(TOP)
#: Every option with a fixed set of values, and that set, by kind and name.
COMPLETED = {f"{kind.words} {o.flag}": (kind.words, o) for kind in KINDS.values() for o in kind.options() if o.choices}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_an_example_exit_codes_and_json(verb: str) -> None:
    done = run(*verb.split(), "--help", catch=True, COLUMNS="200", TERMINAL_WIDTH="200")
    assert done.exit_code == 0
    text = " ".join(done.output.split())
    assert f"discreet {verb}" in text.split("Example")[1]
    assert re.search("exit code", text, re.I)
    assert "--json" in text
    for parameter in VERBS[verb].params:
        if parameter.name not in ("help", "install_completion", "show_completion"):
            assert parameter.help, f"{verb} --{parameter.name} says nothing"


def test_seeds_say_that_the_result_is_not_for_publication() -> None:
    for verb, command in VERBS.items():
        for parameter in command.params:
            if parameter.name == "seed":
                assert re.search("must not be|never for|repeat an audit", parameter.help), verb


@pytest.mark.parametrize("name", COMPLETED)
def test_the_shell_completes_the_names_that_the_jobs_know(name: str) -> None:
    verb, option = COMPLETED[name]
    words = [*verb.split(), option.flag, ""]
    env = {
        "_DISCREET_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["discreet", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = CliRunner().invoke(app.app, [], prog_name="discreet", env=env)
    assert done.output.split() == list(option.choices)


def test_the_names_to_complete_are_those_that_are_taken() -> None:
    from discreet.anonymity.methods.density_tree import CRITERIA
    from discreet.anonymity.risk.report import MISSING
    from discreet.metric import NDLaplace
    from discreet.metric.perturber import ORDERS
    from discreet.synopses.boxes.tree.budgets import BUDGETS

    def choices(kind: str, name: str) -> tuple[str, ...]:
        return KINDS[kind].option(name).choices

    assert choices("synopsis", "unit") == ("row",)
    assert choices("synopsis", "budget") == BUDGETS
    assert choices("perturb", "order") == choices("anonymize", "order") == ORDERS
    assert choices("perturb", "remap") == NDLaplace.declared["remap"].choices
    assert choices("anonymize", "criterion") == ("auto", *CRITERIA)
    assert choices("risk", "missing") == tuple(MISSING)
    X = [[0.5, 0.5]] * 20
    for rule in choices("synopsis", "rule"):
        dc.GridSynopsis(1.0, (0, 1), rule=rule).fit(X)
    for partitioner in choices("synopsis", "partitioner"):
        dc.TreeSynopsis(1.0, (0, 1), partitioner=partitioner, max_depth=2).fit(X)


def test_every_verb_is_in_a_panel_of_the_help() -> None:
    assert {command.rich_help_panel for command in TOP.commands.values()} == set(app._PANELS)


def test_help_costs_less_than_half_a_second_of_work() -> None:
    """Processor time, not the clock: other tests may be running."""
    script = (
        "import time, sys\n"
        "from discreet.cli import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit:\n    print('seconds', time.process_time())\n"
        "    print('heavy', sorted({'numpy', 'pyarrow', 'numba', 'sklearn', 'scipy', 'plotly'} & set(sys.modules)))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True) for _ in range(3)
    ]
    assert min(float(re.search(r"seconds ([\d.]+)", r.stdout)[1]) for r in runs) < 0.5  # type: ignore[index]
    assert "heavy []" in runs[0].stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = dc.datasets.patients(n=2000).to_arrow()
    table = table.append_column("patient", [list(range(len(table)))])
    pa_csv.write_csv(table.slice(0, 1000), tmp_path / "people.csv")
    pa_csv.write_csv(table.slice(1000), tmp_path / "others.csv")
    (tmp_path / "schema.toml").write_text(
        '[columns.age]\nbounds = [0, 120]\nrole = "quasi-identifier"\n'
        '[columns.cost]\nbounds = [0, 100]\nrole = "sensitive"\n'
        '[columns.patient]\nrole = "identifier"\n'
    )
    (tmp_path / "words.txt").write_text("cat\ndog\ncat\n" * 100)
    (tmp_path / "labels.txt").write_text("cat\ndog\n")
    return tmp_path


@pytest.mark.slow
def test_the_lines_of_the_page_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DISCREET_KEY_PASSPHRASE", "four plain words here")
    text = PAGE.read_text(encoding="utf-8").replace("\\\n", "")
    lines = [line for block in re.findall(r"```console\n(.*?)```", text, re.S) for line in block.splitlines()]
    assert len(lines) > 20
    tried = set()
    for line in lines:
        words = shlex.split(line.removeprefix("$ "))
        target = words[words.index(">") + 1] if ">" in words else None
        args = words[1 : words.index(">")] if target else words[1:]
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            app.main(args)
        out, err = capsys.readouterr()
        assert not left.value.code, f"{line}\n{err}"
        assert out
        if target:
            Path(target).write_text(out)
        tried.add(args[0])
    # The studio runs until it is interrupted (tests/studio); `prepare` compiles for a minute (test_start_up.py).
    serves = {"studio", "prepare"}
    assert tried | serves == set(TOP.commands), "a verb is not shown on the page"


def test_the_page_names_every_verb_and_its_job_file_is_good(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    text = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.M)) == set(TOP.commands)
    (folder / "job.toml").write_text(re.search(r"```toml\n(.*?)```", text, re.S)[1])  # type: ignore[index]
    with pytest.raises(SystemExit) as left:
        app.main(["run", "job.toml", "--json"])
    assert not left.value.code
    assert len(json.loads(capsys.readouterr().out)["files"]) == 4
    exec(compile(re.search(r"```python\n(.*?)```", text, re.S)[1], "command-line.md", "exec"), {})  # type: ignore[index]
    assert "1-differential privacy" in capsys.readouterr().out
