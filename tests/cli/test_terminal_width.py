"""In a terminal of 60 or 80 columns, tables turn or come in parts, no figure is left out, and commands stay whole."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from rich.console import Console

import discreet as dc
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


def test_a_table_of_many_columns_and_rows_comes_in_parts() -> None:
    told = shown("sketch", "plan", "--epsilon", 2, "--domain-size", 1000, "--reports", 100_000)
    heads = [[name.strip() for name in line.split("┃")[1:-1]] for line in told.splitlines() if line.startswith("┃")]
    assert len(heads) > 1
    assert all(head[0] == "mechanism" for head in heads)
    assert {"error, rare", "bits", "state"} <= {name for head in heads for name in head}
    assert "…" not in told
    assert "values need not be known beforehand" in " ".join(told.split())


def table_of(name: str) -> tuple[list[str], list[list[str]], dict[str, object]]:
    """Return names, cells and settings of a table that a verb shows, as wide as they come."""
    from discreet.evaluation import comparison_rows

    rng = np.random.default_rng(0)
    real, other = (pa.table({"stay": rng.gamma(2, 3, 300), "cost": rng.gamma(2, 900, 300)}) for _ in range(2))
    domain = dc.Domain({"stay": (0, 60), "cost": (0, 50_000)})
    if name == "comparison":
        found = dc.evaluation.compare_tables(real, other, domain=domain, random_state=0)
        return ["measure", "value", "meaning"], [list(r) for r in comparison_rows(found.to_dict())], {}
    if name == "risk":
        found = dc.anonymity.risk(pa.table({"a": [1, 1, 2, 2], "b": ["x", "y", "x", "x"]}), ["a"], "b")
        return ["measure", "value", "meaning"], [list(r) for r in found.to_rows()], {}
    rows = [[str(i), *(f"{10.0**j * (i + 1) / 7:,.6g}" for j in range(9))] for i in range(15)]
    return ["centre", *(f"column_{j}" for j in range(9))], rows, {"right": [f"column_{j}" for j in range(9)]}


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("name", ["comparison", "risk", "centres"])
def test_no_table_leaves_out_a_figure(monkeypatch: pytest.MonkeyPatch, name: str, width: int) -> None:
    """Finding of a steward: at 80 columns, the comparison dropped its column of values."""
    names, rows, how = table_of(name)
    console = Console(width=width, record=True, file=io.StringIO())
    monkeypatch.setattr(common, "console", console)
    if name == "centres":
        common.show_table("t", names, rows, **how)  # type: ignore[arg-type]
    else:
        common.measures("t", rows)
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    words = {*text.replace("│", " ").replace("┃", " ").split()}
    assert set(names) <= words
    wanted = {word for row in rows for word in row[-1 if name == "centres" else 1].split()}
    assert wanted <= words


def test_columns_that_do_not_fit_are_shown_by_every_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All verbs that print tables: nothing is cut, and no table says that columns do not fit."""
    table = dc.datasets.people(300).table.select(["age", "job", "town", "hours", "illness"])
    pa_csv.write_csv(table, tmp_path / "p.csv")
    schema = tmp_path / "p.toml"
    roles = {"age": "quasi-identifier", "town": "quasi-identifier", "illness": "sensitive"}
    domain = dc.datasets.people(300).domain.select(table.column_names)
    told = {n: {**d, "role": roles.get(n, "attribute")} for n, d in domain.to_dict().items()}
    schema.write_text(dc.Domain({n: told[n] for n in roles}).to_toml())
    given = (tmp_path / "p.csv", "--schema", schema)
    for width in ("60", "80"):
        monkeypatch.setattr(common.console, "_width", int(width))
        said = [
            output(*words, COLUMNS=width, TERMINAL_WIDTH=width)
            for words in (
                ("synopsis", *given, "--epsilon", 1, "--columns", "age", "-o", tmp_path / f"s{width}.parquet"),
                ("cluster", tmp_path / f"s{width}.parquet", "-k", 3),
                ("anonymize", *given, "--k", 5, "-o", tmp_path / f"a{width}.csv"),
                ("compare", tmp_path / "p.csv", tmp_path / f"a{width}.csv", "--schema", schema),
                ("risk", *given), ("plan", "--rows", 1000, "--columns", 2, "--target-error", 0.01),
                ("ask", tmp_path / f"s{width}.parquet", "age > 30", "--by", "age"),
            )
        ]  # fmt: skip
        assert not [text for text in said if "…" in text or "do not fit" in text]
        assert all(
            max(len(x) for x in text.splitlines() if x[:1] in "│┃") <= int(width) for text in said if "│" in text
        )
        assert "±" in said[0]
        assert "Not for publication" in said[3]


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
