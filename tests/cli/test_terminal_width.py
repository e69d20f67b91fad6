"""In a terminal of 80 columns, tables turn or say what they leave out, and commands stay whole."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from rich.console import Console

from command_line import output
from discreet.cli import common

NAMES = [f"a_column_with_number_{i}" for i in range(15)]


pytestmark = pytest.mark.usefixtures("eighty_columns")


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    table = pa.table({name: [(7 * i + j) % 100 / 100 for i in range(200)] for j, name in enumerate(NAMES)})
    pa_csv.write_csv(table, tmp_path / "wide.csv")
    columns = (f'[columns.{name}]\nbounds = [0, 1]\nrole = "quasi-identifier"\n' for name in NAMES)
    (tmp_path / "wide.toml").write_text("".join(columns))
    return tmp_path


def shown(*words: object) -> str:
    return output(*words, COLUMNS="80", TERMINAL_WIDTH="80")


def test_a_table_of_many_columns_is_turned(wide: Path) -> None:
    told = shown("anonymize", wide / "wide.csv", "--schema", wide / "wide.toml", "--k", 5, "-o", wide / "safe.csv")
    assert all(f"│ {name} " in told for name in NAMES)
    assert "…" not in told
    assert max(map(len, told.splitlines()[8:])) <= 80


def test_a_table_of_many_columns_and_rows_names_what_it_leaves_out() -> None:
    told = shown("sketch", "plan", "--epsilon", 2, "--domain-size", 1000, "--reports", 100_000)
    assert "projective-geometry" in told
    assert "…" not in told
    left = re.search(r"These columns do not fit: (.*?)\. Use a wider", " ".join(told.split()))
    assert left is not None
    assert "state" in left[1]
    assert "values need not be known beforehand" in " ".join(told.split())


def test_what_fits_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for width, turned in ((80, False), (20, True)):
        shown = Console(width=width, record=True, file=io.StringIO())
        monkeypatch.setattr(common, "console", shown)
        common.show_table("t", ["name", "count", "share"], [["a", "1", "2"], ["b", "3", "4"]], right=("count",))
        lines = shown.export_text().splitlines()
        assert any(line.startswith("│ count") for line in lines) is turned
        assert max(map(len, lines)) <= width


def test_a_suggested_command_stays_on_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a folder whose name is rather long, as they are at work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("people of the north and the south.csv").write_text("age;town\n1;x\n")
    told = shown("schema", "people of the north and the south.csv", "-o", "the schema of the people.toml")
    wanted = (
        "  discreet synopsis 'people of the north and the south.csv' --schema 'the schema of the people.toml' "
        "--epsilon 1 -o s.parquet"
    )
    assert wanted in told.splitlines()


def test_examples_of_help_can_be_copied() -> None:
    """A long one is broken between options, with the mark that a shell wants."""
    told = shown("perturb", "--help")
    lines = [line.strip() for line in told[told.index("Example:") :].splitlines()]
    joined = " ".join(lines).replace(" \\ ", " ")
    assert "discreet perturb data.csv --schema schema.toml --epsilon 2 --radius 0.1 -o noisy.csv" in joined
    assert all(line.endswith("\\") for line in lines if line.startswith("Example:"))


def test_help_says_each_thing_once_and_what_is_required() -> None:
    told = " ".join(re.sub("[│╭╮╰╯─]", " ", shown("perturb", "--help")).split())
    assert "Sphere: sphere" not in told
    assert re.search("Only with method sphere .*--latitude TEXT Name of the column of latitudes", told)
    assert re.search(r"--schema FILE File that declares the columns.*?\(required\)\. --epsilon", told)
    assert "(required)" not in re.search(r"--schema.*?--qi", " ".join(shown("risk", "--help").split()))[0]  # type: ignore[index]


@pytest.mark.parametrize("words", [
    ("study", "list"), ("study", "show", "accuracy"), ("audit", "--list"),
    ("plan", "--rows", 10_000, "--columns", 2, "--target-error", 0.01),
], ids=lambda words: " ".join(map(str, words[:2])))  # fmt: skip
def test_no_table_cuts_words_short(words: tuple[object, ...]) -> None:
    assert "…" not in shown(*words)


def test_spare_columns_that_do_not_fit_are_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    names, rows = ["age", "weight", "illness", ""], [["1" * 12, "2" * 12, "flu " * 8, "may be only noise"]] * 9
    for spare in ((), ("illness",)):
        shown = Console(width=40, record=True, file=io.StringIO())
        monkeypatch.setattr(common, "console", shown)
        common.show_table("t", names, rows, keep=("weight",), spare=spare)
        assert ("These columns do not fit: illness. " in shown.export_text()) == (not spare)
