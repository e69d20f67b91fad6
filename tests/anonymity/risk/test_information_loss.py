"""Information loss: as printed, and of the values that occur."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.anonymity import DensityTree, Generalization, Mondrian, risk
from discreet.evaluation import compare_tables

QUASI = ["age", "town", "job", "hours"]


def by_hand(table: pa.Table, leaf: Any) -> dict[str, float]:
    """The loss of occurring values, group by group."""
    found = {}
    for name in QUASI:
        values = np.array(table[name].to_pylist())

        def spread(some: Any) -> float:
            return float(some.max() - some.min()) if some.dtype.kind != "U" else len(set(some.tolist())) - 1

        groups = [values[leaf == c] for c in np.unique(leaf)]
        found[name] = sum(len(g) * spread(g) for g in groups) / len(values) / spread(values)
    return found


@pytest.mark.parametrize("make", [DensityTree, Mondrian])
def test_loss_equals_one_counted_by_hand(make: Any) -> None:
    people = dc.datasets.people(700)
    model = make(5, domain=people.domain).fit(people.table)
    release = model.transform(people.table, order="input")
    report = risk(release.table, QUASI, original=people.table)
    loss = report.information_loss
    assert loss is not None
    true = by_hand(people.table, release.cells.of)
    assert {n: each["occurring"] for n, each in loss["columns"].items()} == pytest.approx(true)
    assert loss["occurring"] == pytest.approx(np.mean(list(true.values())))
    first, last = release.cells.first[release.cells.of], release.cells.last[release.cells.of]
    towns, jobs = (
        (last - first)[:, j].mean() / (grid.levels - 1) for j, grid in enumerate(model.tree_.grids) if not grid.numeric
    )
    assert loss["columns"]["town"]["printed"] == pytest.approx(towns)
    assert loss["columns"]["job"]["printed"] == pytest.approx(jobs)
    edges = np.array(model.tree_.grids[0].edges)
    assert loss["columns"]["age"]["printed"] == pytest.approx((edges[last[:, 0] + 1] - edges[first[:, 0]]).mean() / 120)
    assert loss["occurring"] < loss["printed"]
    assert report.to_dict()["information_loss"] == loss
    assert "information loss, as printed" in str(report)
    assert "information loss, of occurring values" in report._repr_html_()
    compared = compare_tables(people.table, release.table, domain=people.domain, max_rows=0, random_state=1)
    assert compared.information_loss["occurring"] == pytest.approx(loss["occurring"])
    assert compared.information_loss["printed"] == pytest.approx(loss["printed"])
    assert [row[0] for row in compared.to_rows()][-2:] == [
        "information loss, as printed",
        "information loss, of occurring values",
    ]


def test_single_values_lose_nothing_and_stars_everything() -> None:
    values = pa.table({"age": [30, 40, 50], "name": ["ann", "bob", None]})
    assert risk(values, ["age", "name"]).information_loss["printed"] == 0.0
    assert compare_tables(values, values, random_state=1).information_loss is None
    stars = pa.table({"age": ["*"] * 3, "name": ["* or missing"] * 3})
    known = risk(stars, ["age", "name"], original=values).information_loss
    assert known["printed"] == known["occurring"] == 1.0
    assert risk(stars, ["age"]).information_loss["printed"] == 1.0


def test_cells_of_every_form_are_read(tmp_path: Path) -> None:
    cells = pa.table({
        "age": ["[0, 50)", "[50, 100]", ">= 90", "missing", "[20, 30) or missing"],
        "job": ["{a, b}", "office", "c", '"*"', "*"],
    })  # fmt: skip
    loss = risk(cells, ["age", "job"]).information_loss["columns"]
    assert loss["age"]["printed"] == pytest.approx((0.5 + 0.5 + 0.1 + 0 + 0.1) / 5)
    # Without a legend "office" is a category: a, b, c, office, and one that is called "*".
    assert loss["job"]["printed"] == pytest.approx((1 / 4 + 0 + 0 + 0 + 1) / 5)
    domain = dc.Domain({"job": {"categories": ["a", "b", "c", "d"], "role": "quasi-identifier"}})
    groups = {"office": ["a", "b"], "craft": ["c", "d"]}
    rows = pa.table({"job": ["a", "b", "c", "c"]})
    release = DensityTree(2, domain=domain, hierarchies={"job": groups}).fit_transform(rows)
    release.save(tmp_path / "safe.csv")
    for table in (release.table, tmp_path / "safe.csv"):
        found = risk(table, ["job"], original=rows).information_loss
        shown = {"office": 1 / 3, "craft": 1 / 3, "c": 0.0}
        assert found["printed"] == pytest.approx(np.mean([shown[t] for t in release.table["job"].to_pylist()]))
        assert found["occurring"] == pytest.approx(0.25)  # a and b in one group of two, of three that occur


def test_nothing_is_said_of_halves_of_cells_and_of_rows_that_fit_none() -> None:
    assert (
        risk(pa.table({"age_lower": [1, 2], "age_upper": [3, 4]}), ["age_lower", "age_upper"]).information_loss is None
    )
    cells = pa.table({"age": ["[0, 50)"] * 2})
    found = risk(cells, ["age"], original=pa.table({"age": [70, 80]})).information_loss
    assert found["occurring"] is None


def test_whole_columns_that_are_generalised_are_measured_too() -> None:
    people = dc.datasets.people(500)
    release = Generalization(5, domain=people.domain, suppress=0.1).fit_transform(people.table)
    loss = risk(release.table, QUASI, original=people.table).information_loss
    assert 0 < loss["occurring"] <= loss["printed"] <= 1


GERMAN = {"delimiter": ";", "decimal": ",", "thousands": ".", "dates": ["%d.%m.%Y"], "missing": ["k.A."]}


def test_the_original_is_read_as_the_release_read_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    n = 400
    cost, day, job = rng.integers(0, 900_000, n), rng.integers(0, 300, n), rng.integers(0, 3, n)
    start = np.datetime64("2025-01-01")
    dated = [str(start + int(d)) for d in day]
    rows = [
        f"{c // 100_000}.{c // 100 % 1000:03d},{c % 100:02d};{'.'.join(reversed(t.split('-')))};{' abc'[j + 1]}"
        for c, t, j in zip(cost, dated, job, strict=True)
    ]
    raw, plain = tmp_path / "raw.csv", pa.table({"cost": cost / 100, "day": dated, "job": ["abc"[j] for j in job]})
    raw.write_text("\n".join(["cost;day;job", *rows]) + "\n")
    role = {"role": "quasi-identifier"}
    columns = {
        "cost": {"bounds": [0, 10_000], **role},
        "day": {"bounds": ["2025-01-01", "2025-12-31"], **role},
        "job": {"categories": ["a", "b", "c"], **role},
    }
    domain = dc.Domain(columns, source=GERMAN)
    release = DensityTree(5, domain=domain).fit_transform(plain)
    release.save(tmp_path / "safe.csv")
    release.table.to_pandas().to_csv(tmp_path / "alone.csv", index=False)
    quasi = ["cost", "day", "job"]
    opened = dc.engines.open(raw, dialect=domain.source)
    for file in ("safe.csv", "alone.csv"):
        alone = risk(tmp_path / file, quasi).information_loss
        known = risk(tmp_path / file, quasi, original=opened).information_loss
        same = risk(tmp_path / file, quasi, original=plain).information_loss
        assert known["printed"] == same["printed"] == alone["printed"] > 0.05
        assert known["occurring"] == pytest.approx(same["occurring"])
        assert min(known["columns"][name]["occurring"] for name in ("cost", "day")) > 0
    compared = compare_tables(raw, tmp_path / "safe.csv", domain=domain, max_rows=0, random_state=1)
    assert compared.information_loss["occurring"] == pytest.approx(known["occurring"])


def test_an_original_that_fits_no_group_is_named_with_its_columns(tmp_path: Path) -> None:
    cells = pa.table({"age": ["[0, 50)"] * 2, "job": ["{a, b}"] * 2})
    original = tmp_path / "raw.csv"
    original.write_text("age;job\n1,5;a\n2,5;b\n")
    report = risk(
        cells, ["age", "job"], original=dc.engines.open(original, dialect=GERMAN | {"decimal": ".", "thousands": ""})
    )
    assert report.information_loss["unmatched"] == ["age"]
    assert "no value of age does; is it the original, and does a schema" in str(report)
    with pytest.raises(dc.errors.SchemaError, match=r'separated by semicolons: declare delimiter = ";".*--schema'):
        risk(cells, ["age"], original=original)
