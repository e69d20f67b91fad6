"""A released CSV file that a spreadsheet opens runs nothing, and still counts again as what it was."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dc
from discreet.engines.readers import read_columns
from discreet.engines.tables.escapes import escaped, unescaped
from discreet.errors import DiscreetError

pytestmark = pytest.mark.usefixtures("few_steps")

WORDS = ["=cmd()", "+49 x", "-", "@SUM", "'=already", "plain", "-5", "@\ttab"]
COLUMNS = {
    "job": {"categories": WORDS, "role": "quasi-identifier"},
    "ill": {"categories": WORDS, "role": "sensitive"},
    "cost": {"bounds": [-10, 10], "role": "sensitive"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with (tmp_path / "p.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(COLUMNS)
        out.writerows([WORDS[i % 8], WORDS[(i // 8 + i) % 8], -i / 64] for i in range(640))
    lines = [f"{name} = {{{', '.join(f'{k} = {json.dumps(v)}' for k, v in c.items())}}}" for name, c in COLUMNS.items()]
    (tmp_path / "s.toml").write_text("[columns]\n" + "\n".join(lines) + "\n")
    return tmp_path


GIVEN = {
    "anonymize": {"k": 5, "l": 2},
    "perturb": {"epsilon": 2.0, "radius": 0.1, "category_epsilon": 4.0},
    "synthesize": {"epsilon": 2.0, "seed": 1},
}


def runs(text: str) -> bool:
    """Return whether a spreadsheet would take a cell for a formula."""
    try:
        float(text)
    except ValueError:
        return text[:1] in tuple("=+-@\t\r")
    return False


@pytest.mark.parametrize("kind", GIVEN)
def test_no_text_of_a_released_file_begins_like_a_formula(kind: str, folder: Path) -> None:
    name = "table" if kind == "synthesize" else "release"
    for given, expected in (({}, True), ({"escape_formulas": True}, False)):
        dc.Job(kind, "p.csv", "s.toml", {**GIVEN[kind], **given}, {name: "out.csv"}, folder).run()
        with (folder / "out.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert any(runs(row[name] or "") for row in rows for name in ("job", "ill")) == expected
        assert not any(row["cost"].startswith("'") for row in rows)
        audit = dc.Job("audit", "out.csv", folder=folder).run()
        assert not [check for check in audit.artifact.checks if check.holds is False and check.name != "seeded"]
        # Anyone who opens the file with the package reads what was there before.
        found = read_columns(dc.engines.open(folder / "out.csv"), ["ill"])["ill"].to_pylist()
        assert set(found) - {None} <= set(WORDS)


def test_larger_tables_and_drawn_rows_are_escaped_too(folder: Path) -> None:
    domain = dc.Domain(COLUMNS)
    tree = dc.anonymity.DensityTree(5, domain=domain).fit(folder / "p.csv")
    tree.transform_file(folder / "p.csv", folder / "large.csv", escape_formulas=True)
    tree.transform(folder / "p.csv").save(folder / "small.csv", escape_formulas=True)
    texts = [sorted((folder / name).read_text().splitlines()) for name in ("large.csv", "small.csv")]
    assert texts[0] == texts[1]
    quasi = dc.Domain({"job": WORDS})
    drawn = dc.anonymity.SampledGeneralization(25, 0.5, domain=quasi, levels={"job": 0}, random_state=1)
    drawn.release_file(folder / "p.csv", folder / "drawn.csv", escape_formulas=True)
    with (folder / "drawn.csv").open(newline="") as file:
        shown = {row["job"] for row in csv.DictReader(file)}
    assert shown
    assert not any(map(runs, shown))


def test_every_text_is_given_back() -> None:
    texts = [
        a + b + c for a in ("", "'", "''", " ") for b in ("", "=", "-", "x", "\t", "'") for c in ("", "1", "=", "'")
    ]
    table = pa.table({"x": [*texts, None]})
    assert unescaped(escaped(table)).equals(table)
    assert not any(runs(text) for text in escaped(table)["x"].to_pylist() if text)


def test_only_text_files_are_escaped_and_names_are_not(folder: Path) -> None:
    job = dc.Job("anonymize", "p.csv", "s.toml", {"k": 5, "escape_formulas": True}, {"release": "x.parquet"}, folder)
    with pytest.raises(DiscreetError, match="used with a CSV file"):
        job.run()
    odd = dc.Domain({"=x": [*WORDS]})
    release = dc.anonymity.DensityTree(5, domain=odd).fit_transform(pa.table({"=x": WORDS * 10}))
    with pytest.raises(DiscreetError, match="begins like a formula"):
        release.save(folder / "x.csv", escape_formulas=True)
    assert not list(folder.glob("x.*"))
