"""Mistakes that newcomers make at the shell, in job files and in Python get an error that helps in the same place."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from command_line import output, parser, printed
from discreet.errors import DataSourceError, InvalidArgument
from discreet.jobs.kinds import KINDS

pytestmark = pytest.mark.usefixtures("few_steps")

SCHEMA = """
[columns]
user = {role = "person"}
age = {kind = "integer", bounds = [0, 120], role = "quasi-identifier"}
cost = {bounds = [0, 100], role = "quasi-identifier"}
sex = {categories = ["f", "m"], role = "sensitive"}
"""
RELEASED = ("--schema", "s.toml", "--epsilon", "1")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table, its schema and a synopsis, which is the current one."""
    monkeypatch.chdir(tmp_path)
    with Path("people.csv").open("w", newline="") as file:
        write = csv.writer(file).writerow
        write(["user", "age", "cost", "sex"])
        for i in range(200):
            write([i // 2, 20 + i % 60, i % 100, "fm"[i % 2]])
    Path("semicolons.csv").write_text(Path("people.csv").read_text().replace(",", ";"))
    Path("s.toml").write_text(SCHEMA)
    domain = dc.Domain({"age": dc.Integer(0, 120), "cost": (0, 100), "sex": ["f", "m"]})
    table = {"age": [30] * 50, "cost": [5.0] * 50, "sex": ["f"] * 50}
    dc.GridSynopsis(1.0, domain=domain, rule=4, random_state=1).fit(table).synopsis_.save("s.parquet")
    return tmp_path


SYNOPSIS = ("synopsis", "people.csv", *RELEASED, "-o", "new.parquet")
ANONYMIZE = ("anonymize", "people.csv", "--schema", "s.toml", "-k", "5", "-o", "safe.csv")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((*SYNOPSIS, "--unit", "row", "--columns", "agee,sex"), "(age, cost, sex), got 'agee'; try --columns age,sex"),
        ((*SYNOPSIS, "--unit", "row", "--columns", "income"), "(age, cost, sex), got 'income'; try one of these"),
        ((*SYNOPSIS, "--person", "usr"), "(user), got 'usr'; try --person user"),
        ((*ANONYMIZE, "--grid", "agee=12"), "(age, cost), got 'agee'; try --grid age=12"),
        ((*ANONYMIZE, "--grid", "income=12"), "(age, cost), got 'income'; try one of these"),
        ((*ANONYMIZE, "--sensitive", "sexx"), "got 'sexx'; try --sensitive sex"),
        ((*ANONYMIZE, "--sensitive", "income"), "got 'income'; try one of these"),
        ((*ANONYMIZE, "--top", "agee=90"), "(age, cost), got 'agee'; try --top age=90"),
        ((*ANONYMIZE, "--method", "generalization", "--level", "agee=2"), "got 'agee'; try --level age=2"),
        ((*ANONYMIZE, "--l-kind", "recursive"), "--l-kind can only be used with --l; try --l 2"),
        ((*ANONYMIZE, "--t-kind", "equal"), "--t-kind can only be used with --t; try --t 0.2"),
        ((*ANONYMIZE, "--c", "2"), "with recursive diversity; try --l-kind recursive, --l 2"),
        ((*ANONYMIZE, "--l", "2", "--c", "2"), "with recursive diversity; try --l-kind recursive"),
        (("ask", "s.parquet", "agee > 3"), "try \"age > 3\""),
        (("ask", "s.parquet", "income > 3"), "try one of these columns"),
        (("ask", "s.parquet", "age > 3", "--by", "sx"), "(age, cost, sex), got 'sx'; try --by sex"),
        (("cluster", "s.parquet", "-k", "2", "--columns", "age,income"), "got 'income'; try one of these"),
        (("risk", "people.csv", "--qi", "agee"), "got 'agee'; try --qi age"),
    ],
)  # fmt: skip
def test_a_mistyped_column_is_answered_by_the_one_that_was_meant_or_by_the_list(
    folder: Path, words: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert expected in printed(capsys, *words, code=2)


def test_a_first_line_that_may_be_a_record_is_not_quoted_as_names(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bare.csv").write_text("Ada,1815-12-10\nBob,1820-01-01\n")
    assert "Ada" not in printed(capsys, "risk", "bare.csv", "--qi", "name", code=2)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("cluster", "people.csv", "-k", "3"), "give --schema schema.toml and --epsilon 1"),
        (("ask", "people.csv", "age > 3"), "discreet synopsis people.csv --schema schema.toml --epsilon 1"),
        (("data", "hospital", "-o", "people.csv"), "--output must be a folder, and not a file, got 'people.csv'"),
        (("risk", "people.csv", "--qi", "age", "--require", "kk=3"), "got 'kk'; try --require k=3"),
        (("risk", "people.csv", "--qi", "age", "--require", "k>=10,l<=2"), "got 'k>=10'; try --require k=10,l=2"),
        (("risk", "people.csv", "--qi", "age", "--require", "k>10"), "got 'k>10'; try --require k=11"),
        ((*ANONYMIZE, "--suppress", "5%"), "got '5%'; try --suppress 0.05"),
        ((*ANONYMIZE, "--top", "cost"), "got 'cost'; try --top cost=90"),
        (
            ("synthesize", "people.csv", "--schema", "s.toml", "--unit", "row", "-o", "new.csv"),
            "less accurate; try --epsilon 1",
        ),
        (
            ("anonymize", "people.csv", "--schema", "s.toml", "-o", "safe.csv", "-k", "1" + "0" * 400),
            "must be a whole number of at most 1e+308 in size, got 1000",
        ),
        (
            (*ANONYMIZE, "--method", "generalization", "--level", "age=0", "--level", "cost=0", "--suppress", "0"),
            "--level must be left out, or higher: every class breaks a rule at these levels, so no record could be "
            "released; try leaving it out",
        ),
        (("risk", "people.csv", "--qi", "age", "--require", "l=3"), "a sensitive column; try --sensitive disease"),
        (("risk", "semicolons.csv", "--qi", "age"), 'declare delimiter = ";" under [source] of a schema (--schema)'),
        (("prepare", "anonimize"), "got 'anonimize'; try discreet prepare anonymize"),
        (("study", "show", "densitytrees"), "got 'densitytrees'; try \"density-trees\""),
    ],
)
def test_every_error_names_a_way_out(
    folder: Path, words: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert expected in printed(capsys, *words, code=2)


JOB = """
[job]
kind = "{kind}"
[data]
path = "people.csv"
{schema}
[parameters]
{parameters}
[outputs]
release = "new.{ending}"
"""
COLUMNS = '[schema.columns.age]\nbounds = [0, 120]\n[schema.columns.user]\nrole = "person"\n'


@pytest.mark.parametrize(
    ("kind", "schema", "parameters", "expected"),
    [
        ("synopsis", '[schema]\npath = "s.toml"\n[schema.source]\ndelimiter = ";"', "epsilon = 1",
         "try writing [source] into s.toml, or leaving [schema.source] out"),
        ("synopsis", f'{COLUMNS}[schema.source]\ndelimitr = ";"', "epsilon = 1", "[schema.source] has no key"),
        ("synopsis", f'{COLUMNS}[schema.unit]\nperson = "user"', "epsilon = 1", "got ['person']; try rows = 8"),
        ("synopsis", '[schema.columns.age]\nbounds = [0, 1]\nrole = "quasi"', "epsilon = 1",
         'try role = "quasi-identifier"'),
        ("synopsis", '[schema.columns.age]\nbounds = [0, 1]\nrolle = "sensitive"', "epsilon = 1",
         "column 'age' has no key 'rolle'; did you mean 'role'?"),
        ("synopsis", '[schema.columns.age]\nbounds = [0, 1]\nkind = "integr"', "epsilon = 1",
         "cannot be of kind 'integr'; did you mean 'integer'?"),
        ("synopsis", '[schema.columns.age]\nkind = "integr"', "epsilon = 1",
         "cannot be of kind 'integr'; did you mean 'integer'?"),
        ("synopsis", "[schema.columns.year]\nbounds = [0, 1]", "epsilon = 1",
         "no column 'year'; it has 4 others, if its first line holds their names"),
        ("anonymize", '[schema]\npath = "s.toml"', "k = 5\nl_diversity = 2",
         "no key 'l_diversity'; here it is called 'l'"),
        ("anonymize", '[schema]\npath = "s.toml"', "k = 5\ngrid = { agee = 3 }", "try grid = { age = 3 }"),
        ("anonymize", '[schema]\npath = "s.toml"', 'k = 5\nsensitive = ["sexx"]', 'try sensitive = ["sex"]'),
    ],
)  # fmt: skip
def test_a_job_file_is_corrected_in_its_own_spelling(
    folder: Path, kind: str, schema: str, parameters: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ending = "parquet" if kind == "synopsis" else "csv"
    Path("job.toml").write_text(JOB.format(kind=kind, schema=schema, parameters=parameters, ending=ending))
    assert expected in printed(capsys, "run", "job.toml", code=2)


def test_a_unit_without_rows_is_corrected_where_it_was_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s.toml").write_text(f'[unit]\nperson = "user"\n{SCHEMA}')
    said = printed(capsys, *SYNOPSIS, code=2)
    assert "[unit] must be" in said
    assert "try rows = 8" in said
    assert "Person(" not in said
    with pytest.raises(InvalidArgument, match='try "rows": 8'):
        dc.Domain({"age": (0, 120)}, unit={"person": "user"})


def test_a_result_that_is_asked_for_too_early_says_what_to_call() -> None:
    for made in (dc.GridSynopsis(1.0), dc.PrivateKMeans(3, 1.0), dc.MarginalSynopsis(1.0)):
        assert not hasattr(made, "synopsis_")
        with pytest.raises(AttributeError, match=r"call fit\(data\) first"):
            _ = made.synopsis_
        with pytest.raises(AttributeError, match=r"has no attribute 'synopsiss'$"):
            _ = made.synopsiss


def test_dates_in_two_formats_are_drafted_and_the_next_command_tries_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    days = [f"1990-0{1 + i % 9}-1{i % 9}" if i % 3 else f"1{i % 9}.0{1 + i % 9}.1990" for i in range(30)]
    Path("days.csv").write_text("\n".join(["born", *days]) + "\n")
    said = printed(capsys, "schema", "days.csv", "--look", "30", "-o", "draft.toml")
    assert "discreet schema check draft.toml days.csv --look 30" in said
    draft = Path("draft.toml").read_text()
    assert 'dates = ["%d.%m.%Y"]' in draft
    assert 'born = {kind = "date"}' in draft
    Path("draft.toml").write_text(draft.replace('{kind = "date"}', "{bounds = [1900-01-01, 2020-12-31]}"))
    assert "can be read" not in printed(capsys, "schema", "check", "draft.toml", "days.csv", "--look", "30")


@pytest.mark.parametrize(
    ("declared", "expected"),
    [("=0..120", "try --declare age=0..120"), ("age=120", "try --declare age=0..120"),
     ("age=2.5", "try --declare age=0:2.5"), ("age=-3", "try --declare age=-3..0")],
)  # fmt: skip
def test_a_declaration_without_a_column_or_a_range_is_refused(
    folder: Path, declared: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("index.csv").write_text(",age\n1,3\n")  # as pandas writes it
    assert expected in printed(capsys, "schema", "index.csv", "--declare", declared, code=2)


def test_k_is_spelled_alike_by_all_verbs(folder: Path) -> None:
    for k in ("-k", "--k"):
        output("cluster", "s.parquet", k, "2")
        output("anonymize", "people.csv", "--schema", "s.toml", k, "5", "-o", f"safe{len(k)}.csv")
        output("plan", "-n", "1000", "-d", "2", k, "5")


def test_the_page_of_the_command_line_names_every_verb_and_every_kind_of_job() -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    table = page.partition("## What all verbs share")[0]

    def verbs(command: Any, before: str = "") -> Iterator[tuple[str, str]]:
        for name, each in getattr(command, "commands", {}).items():
            yield from verbs(each, name) if hasattr(each, "commands") else [(before, name)]

    for before, name in verbs(parser()):
        assert f"`{name}`" in table or f"`{before} {name}`" in table, (before, name)
    for kind in KINDS:
        assert f"`{kind}`" in page, kind


def test_help_shows_no_types_of_python_whole_examples_and_all_defaults() -> None:
    for words in ((), ("data",), ("study",), ("anonymize",), ("account", "annotate"), ("schema",), ("study", "run")):
        shown = output(*words, "--help", COLUMNS="100")
        for word in ("<bool>", "<str>", "<list", "\\ \n"):
            assert word not in shown, (words, word)
    assert 'Example:  discreet account annotate patients.account 3 "the' in output(
        "account", "annotate", "--help", COLUMNS="100"
    )
    shown = " ".join(output("anonymize", "--help", COLUMNS="200").split())
    assert "Release again and list it again" in shown
    assert "(by default 0 with density-tree or mondrian, 0.05 with generalization)" in shown
    assert "(default: 0)" in output("synthesize", "--help", COLUMNS="200")


def test_help_that_job_files_quote_names_no_options_of_the_shell() -> None:
    for kind in KINDS.values():
        for each in kind.options():
            text = re.sub(r"'discreet [^']*'", "", each.help)
            assert " --" not in text, (kind.name, each.name)


def test_the_ending_of_a_table_is_checked_before_budget_is_spent(folder: Path) -> None:
    dc.Account.create("year.account", dataset="people", epsilon=3, unit=dc.Person("user", rows=2))
    words = ("cluster", "people.csv", *RELEASED, "--account", "year.account", "-k", "2", "-o", "centers.json")
    with pytest.raises(DataSourceError, match=r"got 'centers\.json'; try 'centers\.csv'"):
        output(*words)
    assert dc.Account("year.account").remaining == 3


def test_diversity_without_a_sensitive_column_is_said_in_words_of_the_shell(folder: Path) -> None:
    Path("s.toml").write_text(SCHEMA.replace('role = "sensitive"', 'role = "quasi-identifier"'))
    with pytest.raises(InvalidArgument) as caught:
        output(*ANONYMIZE, "--l", "2")
    assert str(caught.value).endswith('a sensitive column, got 2.0; try role = "sensitive" for a column in the schema')
    Path("s.toml").write_text(re.sub(r', role = "(quasi-identifier|sensitive)"', "", SCHEMA))
    with pytest.raises(InvalidArgument, match=r"try --sensitive sex$"):
        output(*ANONYMIZE, "--l", "2")
    output(*ANONYMIZE, "--l", "2", "--sensitive", "sex")


@pytest.mark.parametrize(("given", "fix"), [({"l_kind": "recursive", "c": 2.0}, "l_diversity=2"),
    ({"t_kind": "equal"}, "t_closeness=0.2"), ({"c": 2.0, "l_diversity": 2}, 'l_kind="recursive"')])  # fmt: skip
def test_a_measure_of_a_rule_that_is_not_required_is_refused(given: dict[str, Any], fix: str) -> None:
    domain = dc.Domain({"age": (0, 120), "sex": ["f", "m"]})
    with pytest.raises(InvalidArgument, match=rf"can only be used with .*; try {fix}"):
        dc.anonymity.Mondrian(k=5, domain=domain, sensitive="sex", **given).check()
