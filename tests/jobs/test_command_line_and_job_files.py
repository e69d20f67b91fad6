"""A job is declared once: the command line and a job file build equal jobs, refuse with equal errors, and both accept
what an error suggests."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import app, verbs
from discreet.errors import DiscreetError
from discreet.jobs.declare import Kind, WrongOption
from discreet.jobs.job import Job
from discreet.jobs.kinds import KINDS
from discreet.jobs.options import FILE, SHELL, Option
from discreet.jobs.written import example, json_schema

EVERY = [(kind, option) for kind in KINDS.values() for option in kind.options() if option.section != "schema"]
IDS = [f"{kind.name}-{option.name}" for kind, option in EVERY]


class Built(Exception):
    """Carries the job that a command line built instead of running it."""


def in_shell(kind: Kind, options: dict[Option, Any], monkeypatch: pytest.MonkeyPatch, words: str = "") -> Job | str:
    """Type a line; return the job that it builds, or the error as it is reported."""
    monkeypatch.setattr(verbs.look, "look", lambda given: None)

    build = verbs.build

    def caught(kind: Kind, given: dict[Option, Any]) -> Any:
        raise Built(build(kind, given))

    monkeypatch.setattr(verbs, "build", caught)
    line = f"{kind.words} {' '.join(SHELL.given(o, v) for o, v in options.items())} {words}"
    try:
        app._command()(shlex.split(line), prog_name="discreet", standalone_mode=False)
    except Built as built:
        return built.args[0]  # type: ignore[no-any-return]
    except WrongOption as error:
        return error.said(SHELL)
    raise AssertionError(line)


def in_file(kind: Kind, options: dict[Option, Any]) -> Job | str:
    """Write a file; return its job, or the error as it is reported."""
    sections: dict[str, list[str]] = {"job": [f'kind = "{kind.name}"']}
    for option, value in options.items():
        line = FILE.given(option, value).removeprefix("[schema] ")
        sections.setdefault(option.section, []).append(line)
    text = "\n".join("\n".join([f"[{name}]", *lines]) for name, lines in sections.items()) + "\n"
    try:
        return Job.from_toml(text)
    except WrongOption as error:
        return str(error)


def complete(kind: Kind, option: Option | None = None) -> dict[Option, Any]:
    """Return a job of a kind that is whole, with an option among the rest."""
    shown = [o for o in kind.options() if o.required or o.shown or o.section == "schema"]
    given = {o: o.example for o in shown if kind.name != "report" or o.section != "outputs"}
    if option is None:
        return given
    given[option] = option.example
    if option.methods:
        given[kind.option("method")] = option.methods[0]
    method = given.get(kind.option("method")) if any(o.name == "method" for o in kind.parameters) else None
    if method == "attribute":
        given[kind.option("column")] = "age"
    if kind.name == "audit" and option.name not in ("data", "html"):
        given.pop(kind.option("data"))
        given[kind.option("mechanism")] = "module:function" if option.name in ("epsilon", "delta") else "noise.x"
    if kind.name == "report" and option.name == "target":
        given[kind.option("against")] = "people.csv"
    if kind.name in ("audit", "plan") and option.name == "language":  # there must be a page
        given[kind.option("html")] = "page.html"
    if kind.name == "synopsis" and option.name == "centers":
        given[kind.option("n_clusters")] = 4
    if kind.name == "distinct" and option.name in ("persons", "items"):
        given |= {kind.option("persons"): "user", kind.option("items"): 8}
    if option.name == "rho":  # the other way to state a budget
        given.pop(kind.option("epsilon"), None)
        given[kind.option("delta")] = 1e-6
    if kind.name == "attack" and option.name in ("epsilon", "radius"):
        given |= {kind.option(name): kind.option(name).example for name in ("epsilon", "radius")}
        given[option] = option.example
    if kind.name == "query" and option.name == "error":
        given.pop(kind.option("epsilon"))
    if kind.name == "query" and option.name == "keys":
        given[kind.option("delta")] = 1e-6
    if kind.name == "perturb" and method and method not in kind.option("radius").methods:
        given.pop(kind.option("radius"))
    if kind.name == "anonymize" and option.name in ("sample", "delta", "account", "fresh"):
        given |= {kind.option("level"): {"age": 1}, kind.option("sample"): 0.1}
        given[kind.option("method")] = "generalization"
    if method == "elastic":
        given[kind.option("density")] = "people.csv"
    return given


@pytest.mark.parametrize(("kind", "option"), EVERY, ids=IDS)
def test_every_option_gives_the_same_job_by_both_doors(
    kind: Kind, option: Option, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = complete(kind, option)
    typed, read = in_shell(kind, given, monkeypatch), in_file(kind, given)
    assert isinstance(read, Job), read
    assert typed == read
    assert Job.from_toml(read.to_toml()) == read


def wrong_values(option: Option) -> list[Any]:
    """Return values that can be typed in a shell and in a file, and that an option does not take."""
    numbers = {"number", "budget", "whole"} & set(option.takes)
    found: list[Any] = []
    if option.choices or numbers:
        found.append("nope")
    if numbers and (option.low is not None or option.above is not None or "budget" in option.takes):
        found.append(-7 if "whole" in option.takes else -7.5)
    if option.high is not None and numbers:
        found.append(int(option.high) + 1 if "whole" in option.takes else option.high + 0.5)
    if numbers == {"whole"}:
        found.append(1.5)
    return found


WRONG = [(kind, option, value) for kind, option in EVERY for value in wrong_values(option)]


def parts(message: str) -> tuple[str, str]:
    """Return what was wrong, without the option's name, and what is suggested."""
    said, _, fix = message.partition("; try ")
    return said.partition(" must be ")[2].replace("'", ""), fix


@pytest.mark.parametrize(("kind", "option", "value"), WRONG, ids=[f"{k.name}-{o.name}-{v}" for k, o, v in WRONG])
def test_an_error_is_the_same_by_both_doors_and_its_suggestion_is_accepted(
    kind: Kind, option: Option, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {**complete(kind, option), option: value}
    typed, read = in_shell(kind, given, monkeypatch), in_file(kind, given)
    assert isinstance(typed, str)
    assert isinstance(read, str)
    expected = {parts(typed)[0], parts(read)[0]}
    if not isinstance(value, str) and "text" not in option.takes:  # of a word, a shell cannot tell text from a number
        assert len(expected) == 1, expected
    assert typed.startswith(option.flag)
    assert read.startswith(f"[{option.section}] {option.name} must be")
    rest = {o: v for o, v in given.items() if o is not option}
    again = in_shell(kind, rest, monkeypatch, parts(typed)[1])
    assert isinstance(again, Job), (typed, again)
    suggested = tomllib.loads(parts(read)[1])
    assert list(suggested) == [option.name]
    assert in_file(kind, {**rest, option: suggested[option.name]}) == again


#: Of two words on a command line the first is the data: without them, the other would be taken for them.
REQUIRED = [
    (kind, option)
    for kind, option in EVERY
    if option.required and not (option.section == "data" and any(o.positional for o in kind.parameters))
]


@pytest.mark.parametrize(("kind", "option"), REQUIRED, ids=[f"{k.name}-{o.name}" for k, o in REQUIRED])
def test_what_is_missing_is_named_and_the_suggestion_completes_the_job(
    kind: Kind, option: Option, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = {o: v for o, v in complete(kind).items() if o is not option}
    typed, read = in_shell(kind, rest, monkeypatch), in_file(kind, rest)
    assert isinstance(typed, str)
    assert isinstance(read, str)
    assert parts(typed)[0] == parts(read)[0]
    assert "given" in typed
    again = in_shell(kind, rest, monkeypatch, parts(typed)[1])
    assert isinstance(again, Job), again
    assert in_file(kind, {**rest, option: next(iter(tomllib.loads(parts(read)[1]).values()))}) == again


OWNED = [(kind, option) for kind, option in EVERY if option.methods]


@pytest.mark.parametrize(("kind", "option"), OWNED, ids=[f"{k.name}-{o.name}" for k, o in OWNED])
def test_an_option_of_another_method_is_refused_and_the_suggested_method_takes_it(
    kind: Kind, option: Option, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = kind.option("method")
    other = next(m for m in chosen.choices if m not in option.methods)
    given = {**complete(kind, option), chosen: other}
    typed, read = in_shell(kind, given, monkeypatch), in_file(kind, given)
    assert isinstance(typed, str)
    assert "used with" in typed
    assert isinstance(read, str)
    assert "used with" in read
    method = tomllib.loads(parts(read)[1])["method"]
    assert shlex.split(parts(typed)[1]) == ["--method", method]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_schema_says_what_the_declaration_says(kind: Kind) -> None:
    schema = json_schema(kind)
    json.dumps(schema)
    told = schema["properties"]["parameters"]["properties"]
    assert list(told) == [o.name for o in kind.parameters]
    assert all(entry["description"] for entry in told.values())
    assert set(tomllib.loads(example(kind))) <= set(schema["properties"])


def test_an_error_of_the_library_names_the_option_and_its_fix_works_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n3\n")
    given = {"epsilon": 1, "method": "tree", "max_depth": 62, "threshold": 5.0}
    job = Job("synopsis", "t.csv", {"age": (0, 120)}, given, {"release": "s.parquet"}, tmp_path)
    with pytest.raises(DiscreetError) as told:
        job.check()
    message = str(told.value)
    assert message.startswith("[parameters] max_depth must be small enough")
    fix = tomllib.loads(message.partition("; try ")[2])
    Job("synopsis", "t.csv", {"age": (0, 120)}, {**given, **fix}, {"release": "s.parquet"}, tmp_path).check()
    assert isinstance(told.value, WrongOption)
    assert re.search(r"try --max-depth \d+$", told.value.said(SHELL))


def test_a_huge_budget_is_told_without_a_crash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("age\n3\n5\n")
    (tmp_path / "s.toml").write_text("[columns.age]\nbounds = [0, 120]\n")
    line = f"perturb {tmp_path}/t.csv --schema {tmp_path}/s.toml --epsilon 1e6 --radius 0.1 -o {tmp_path}/p.csv"
    with pytest.raises(SystemExit) as left:
        app.main(line.split())
    assert not left.value.code
    assert "e to the power 1e+06" in " ".join(capsys.readouterr().out.split())
