"""Mistyped values in kept columns are not released: no name, no number, nothing undeclared."""

from __future__ import annotations

import csv
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dc

A = dc.anonymity
DOMAIN = dc.Domain(
    {
        "age": {"bounds": [0, 99], "kind": "integer", "role": "quasi-identifier"},
        "cost": {"bounds": [0, 1000], "role": "sensitive"},
        "ill": {"categories": ["flu", "cold", "none"], "role": "sensitive"},
        "visits": {"bounds": [0, 9], "kind": "integer"},
        "day": {"bounds": ["2025-01-01", "2025-12-31"]},
        "hour": {"kind": "time", "bounds": ["08:00", "18:00"]},
        "code": {"categories": [1, 2]},
    }
)
KEEP = ["visits", "day", "hour", "code"]
#: What somebody typed, and what the declaration makes of it: by column.
TYPED: dict[str, dict[str, Any]] = {
    "cost": {
        "Ann Smith": None,
        "0170 1234567": None,
        "12.50": 12.5,
        "5000.13": 1000,
        "-3": 0,
        "12.500000000000000001701234567": 12.5,
    },
    "ill": {"flu": "flu", " cold": "cold", "Ann has flu": None, "": None},
    "visits": {"3": 3, "4.0": 4, "77": 9, "two": None},
    "day": {"2025-03-01": "2025-03-01", "1999-01-01": "2025-01-01", "Ann's birthday": None},
    "hour": {"09:30": "09:30:00", "23:59:59": "18:00:00", "noon": None},
    "code": {"1": 1, "2.0": 2, "3": None, "Ann": None},
}


def rows(n: int = 300) -> dict[str, list[Any]]:
    r = random.Random(5)
    return {"age": [r.randint(0, 99) for _ in range(n)], **{c: r.choices(list(v), k=n) for c, v in TYPED.items()}}


def written(folder: Path) -> Path:
    table = rows()
    with (folder / "people.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(table)
        out.writerows(zip(*table.values(), strict=True))
    return folder / "people.csv"


def as_declared(values: dict[str, list[Any]]) -> Counter[tuple[str, ...]]:
    """The rows as they should leave, as texts, without what is generalised."""
    meant = ([TYPED[c][v] for v in values[c]] for c in TYPED)
    return Counter(
        tuple("" if v is None else f"{v:g}" if isinstance(v, float) else str(v) for v in row)
        for row in zip(*meant, strict=True)
    )


def released(path: Path) -> Counter[tuple[str, ...]]:
    with path.open(newline="") as file:
        text = file.read()
    return Counter(tuple(row[name] for name in TYPED) for row in csv.DictReader(text.splitlines()))


METHODS = {
    "tree": lambda: A.DensityTree(5, domain=DOMAIN, keep=KEEP),
    "mondrian": lambda: A.Mondrian(5, domain=DOMAIN, keep=KEEP),
    "levels": lambda: A.Generalization(5, domain=DOMAIN, keep=KEEP, levels={"age": 5}, suppress=0.0),
    "means": lambda: A.Microaggregation(5, domain=DOMAIN, keep=KEEP),
    "noise": lambda: A.NoiseAddition(0.1, domain=DOMAIN, keep=KEEP),
    "swaps": lambda: A.RankSwapping(0.1, domain=DOMAIN, keep=KEEP),
}


@pytest.mark.parametrize("method", METHODS)
def test_nothing_that_was_mistyped_leaves_from_memory(method: str, tmp_path: Path) -> None:
    for data in (written(tmp_path), pa.table(rows())):
        release = METHODS[method]().fit_transform(data)
        release.save(tmp_path / "safe.csv")
        assert released(tmp_path / "safe.csv") == as_declared(rows())


@pytest.mark.parametrize("method", ["tree", "mondrian", "levels"])
def test_nothing_that_was_mistyped_leaves_from_larger_tables(method: str, tmp_path: Path) -> None:
    model = METHODS[method]()
    model._memory = 1  # as if it did not fit
    model.fit(written(tmp_path)).transform_file(written(tmp_path), tmp_path / "safe.csv")
    assert released(tmp_path / "safe.csv") == as_declared(rows())
    same = METHODS[method]().fit(written(tmp_path)).transform(written(tmp_path))
    model.transform_file(written(tmp_path), tmp_path / "safe.parquet")
    assert pa.parquet.read_table(tmp_path / "safe.parquet").schema.types == same.table.schema.types


def test_diversity_counts_what_leaves_and_not_what_was_typed(tmp_path: Path) -> None:
    domain = dc.Domain({n: c for n, c in DOMAIN.to_dict().items() if n in ("age", "ill")})
    typed = [f"Ann {i}" if i % 2 else "flu" for i in range(40)]  # twenty-one texts, two values
    table = pa.table({"age": [i % 50 for i in range(40)], "ill": typed})
    release = A.DensityTree(5, domain=domain).fit_transform(table)
    assert set(release.table["ill"].to_pylist()) == {"flu", None}
    assert max(release.guarantee.parameters["reached"]["l"].values()) <= 2


def test_cells_of_a_workbook_are_rewritten_like_those_of_a_text_file(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["age", "cost"])
    for i in range(20):
        book.active.append([i, "5.089,83" if i % 2 else 3833.08])
    book.save(tmp_path / "people.xlsx")
    (tmp_path / "s.toml").write_text(
        '[source]\ndecimal = ","\nthousands = "."\n[columns]\nage = {bounds = [0, 99], role = "quasi-identifier"}\n'
        'cost = {bounds = [0, 9999], role = "sensitive"}\n'
    )
    job = dc.Job("anonymize", "people.xlsx", "s.toml", {"k": 5}, {"release": "safe.csv"}, tmp_path)
    job.run()
    with (tmp_path / "safe.csv").open() as file:
        # All alike, and as the input: with decimal commas.
        assert Counter(row["cost"] for row in csv.DictReader(file, delimiter=";")) == {"5089,83": 10, "3833,08": 10}
    assert not dc.Job("audit", "safe.csv", folder=tmp_path).run().failed


def test_a_column_that_is_not_declared_is_not_passed_on(tmp_path: Path) -> None:
    with pytest.raises(dc.errors.InvalidArgument, match="a declared column"):
        A.DensityTree(5, domain=DOMAIN, keep=["phone"]).fit_transform(pa.table({**rows(), "phone": ["0170"] * 300}))
    release = A.DensityTree(5, domain=DOMAIN, keep=KEEP).fit_transform(pa.table({**rows(), "phone": ["0170"] * 300}))
    assert "phone" not in release.table.column_names


@pytest.mark.parametrize("distinct", [60, 39])
def test_a_passed_on_column_in_which_most_rows_are_alone_is_named(distinct: int, tmp_path: Path) -> None:
    cost = [float(i if i < distinct else 0) for i in range(80)]  # 59, or 38, rows of 80 have a value of their own
    domain = dc.Domain({n: c for n, c in DOMAIN.to_dict().items() if n in ("age", "cost")})
    table = pa.table({"age": [i % 40 for i in range(80)], "cost": cost})
    model = A.DensityTree(5, domain=domain).fit(table)
    promises = [model.transform(table).guarantee, model.transform_file(table, tmp_path / "safe.csv").guarantee]
    for promise in promises:
        assert promise is not None
        said = "an attacker does not know anyone's value in column cost" in str(promise)
        assert promise.parameters.get("nearly_unique", {}) == ({"cost": 59 / 80} if distinct == 60 else {})
        assert said == (distinct == 60)
