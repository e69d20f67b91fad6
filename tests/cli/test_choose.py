"""`discreet choose`: every command that it recommends runs as it is typed."""

from __future__ import annotations

import json
import random
import shlex
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from command_line import run
from discreet.jobs import choosing

SCHEMA = """[columns]
id = {role = "identifier"}
age = {kind = "integer", bounds = [0, 99], role = "quasi-identifier"}
cost = {bounds = [0, 1000], role = "quasi-identifier"}
town = {categories = ["Bonn", "Ulm"], role = "quasi-identifier"}
ill = {categories = ["flu", "cold"], role = "sensitive"}
"""
GOALS = sorted({goal for rules in choosing.held()["rules"].values() for goals in rules.values() for goal in goals})


def folder_with_a_table(folder: Path, schema: str = SCHEMA) -> Path:
    r = random.Random(2)
    lines = [f"{i},{r.randint(0, 99)},{r.random() * 999:.1f},{r.choice(['Bonn', 'Ulm'])},{r.choice(['flu', 'cold'])}"
             for i in range(600)]  # fmt: skip
    (folder / "people.csv").write_text("id,age,cost,town,ill\n" + "\n".join(lines) + "\n")
    (folder / "schema.toml").write_text(schema)
    return folder


def chosen(*answers: str) -> dict[str, object]:
    flags = [word for pair in zip(("--want", "--who", "--often"), answers, strict=True) for word in pair]
    found: dict[str, object] = json.loads(run("choose", *flags, "--json").output)
    return found


@pytest.mark.parametrize("often", choosing.QUESTIONS["often"])
@pytest.mark.parametrize("goal", GOALS)
def test_every_recommended_command_runs_as_typed(
    goal: str, often: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder_with_a_table(tmp_path))
    for line in choosing.commands(goal, "public", often, "people.csv", "schema.toml", "town"):
        verb, *words = shlex.split(line)
        assert verb == "discreet"
        done = run(*words, catch=True)
        assert done.exit_code == 0, (line, done.output)
        assert "-o" not in words or (tmp_path / words[-1]).is_file()
    month = f"-{datetime.now(UTC):%Y-%m}."
    assert (month in words[-1]) is (often == "monthly"), "the same name next month would return this release again"


def test_persons_of_the_schema_are_protected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder_with_a_table(tmp_path, SCHEMA.replace('"identifier"', '"person"')))
    for line in choosing.commands("synopsis", "public", "monthly", "people.csv", "schema.toml", ""):
        done = run(*shlex.split(line)[1:], catch=True)
        assert done.exit_code == 0, (line, done.output)
    assert "--person-rows" in line


def test_every_answer_gives_three_ways_and_what_each_does_not_promise() -> None:
    assert {len(set(goals)) for rules in choosing.held()["rules"].values() for goals in rules.values()} == {3}
    for often in choosing.QUESTIONS["often"]:
        found = chosen("rows", "partners", often)
        ways = [found["recommended"], *found["alternatives"]]  # type: ignore[misc]
        assert [way["goal"] for way in ways] == ["anonymize", "synthesize", "perturb"]
        assert all(len(way["not_promised"]) == (3 if often == "monthly" else 2) for way in ways)
    assert "--k 20" in str(chosen("rows", "public", "once"))
    assert "--k 5 " in str(chosen("rows", "staff", "once"))
    shown = run("choose", "my people.xlsx", "--want", "rows", "--who", "staff", "--often", "once").output
    assert "discreet anonymize 'my people.xlsx' --schema schema.toml --k 5 -o anonymous.xlsx" in shown
    assert shown.count("Not promised:") == 3


def test_questions_are_asked_at_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("choose", "--want", "rows", catch=True)
    assert "try --who public" in str(done.exception)
    monkeypatch.setattr("discreet.cli.choose.sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    typed = iter(["nothing", "9", "2", "staff", "1"])
    monkeypatch.setattr("typer.prompt", lambda _: next(typed))
    assert "discreet anonymize people.csv --schema schema.toml --k 5 -o anonymous.csv" in run("choose").output


def test_accounts_are_made_for_the_unit_of_the_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("choose", "--want", "counts", "--who", "public", "--often", "monthly")
    assert "add its column to account create: --person COLUMN" in " ".join(run(*words).output.split())
    unit = '[unit]\nhousehold = "id"\nrows = 4\n'
    folder_with_a_table(tmp_path, unit + SCHEMA.replace('"identifier"', '"person"'))
    assert "--person id" in run(*words).output
    for line in choosing.commands("synopsis", "public", "monthly", "people.csv", "schema.toml", ""):
        done = run(*shlex.split(line)[1:], catch=True)
        assert done.exit_code == 0, (line, done.output)
