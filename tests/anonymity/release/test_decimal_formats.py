"""Order, distances and bounds of numbers and days are those of their values, however a country writes them."""

from __future__ import annotations

import decimal
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc

_RNG = np.random.default_rng(0)
AGE = _RNG.integers(20, 80, 300)
COST = (AGE * 50 + _RNG.normal(0, 300, 300)).round(2).clip(1000)
GERMAN = [f"{c:,.2f}".translate(str.maketrans(",.", ".,")) for c in COST]
COLUMNS = {
    "age": {"bounds": [0, 120], "role": "quasi-identifier"},
    "cost": {"bounds": [0, 10_000], "role": "sensitive"},
}
DIALECT = dc.Dialect(decimal=",", thousands=".")


def released(table: Any, dialect: dc.Dialect | None = None) -> tuple[float, list[float]]:
    """Return how close a release is, and what it passes on, in order."""
    made = dc.anonymity.DensityTree(k=10, domain=dc.Domain(COLUMNS, source=dialect)).fit_transform(table)
    reached = made.guarantee.parameters["reached"]
    assert reached["t_kind"] == {"cost": "ordered"}
    return reached["t"]["cost"], sorted(float(v) for v in made.table["cost"].to_pylist())


@pytest.mark.parametrize("make", [
    lambda cost: pa.table({"age": AGE, "cost": cost}),
    lambda cost: pl.DataFrame({"age": AGE, "cost": cost}),
    lambda cost: pd.DataFrame({"age": AGE, "cost": cost}),
    lambda cost: pd.DataFrame({"age": AGE, "cost": pd.Series(cost, dtype=object)}),
], ids=["arrow", "polars", "pandas", "objects"])  # fmt: skip
def test_closeness_is_that_of_the_values(make: Any) -> None:
    """Read off letters, the distance was a third of what it is, and less than was required."""
    plain = released(pa.table({"age": AGE, "cost": COST}))
    assert plain[0] > 0.3
    assert released(make(GERMAN), DIALECT) == plain


@pytest.mark.parametrize("cost", [
    pd.Series([decimal.Decimal(str(c)) for c in COST], dtype=object), pd.Series(list(COST), dtype=object),
    pa.array([decimal.Decimal(str(c)) for c in COST]),
], ids=["decimals", "floats", "arrow decimals"])  # fmt: skip
def test_what_is_a_number_already_is_not_read_again(cost: Any) -> None:
    table = (
        pa.table({"age": AGE, "cost": cost}) if isinstance(cost, pa.Array) else pd.DataFrame({"age": AGE, "cost": cost})
    )
    assert released(table, DIALECT) == released(pa.table({"age": AGE, "cost": COST}))


def test_a_file_keeps_what_it_requires_and_can_be_checked(tmp_path: Path) -> None:
    days = [f"{1 + i % 28:02}.{1 + i % 12:02}.2025" for i in range(len(AGE))]
    rows = "".join(f"{a};{c};{d}\n" for a, c, d in zip(AGE, GERMAN, days, strict=True))
    (tmp_path / "t.csv").write_text(f"age;cost;day\n{rows}30;n/a;n/a\n")
    (tmp_path / "s.toml").write_text(
        '[source]\ndelimiter = ";"\ndecimal = ","\nthousands = "."\ndates = ["%d.%m.%Y"]\nmissing = ["n/a"]\n'
        + "[columns]\n"
        + "".join(f"{n} = {{bounds = {c['bounds']}, role = {json.dumps(c['role'])}}}\n" for n, c in COLUMNS.items())
        + "day = {bounds = [2025-01-01, 2025-06-30]}\n"
    )
    given = {"k": 10, "t": 0.3, "keep": ["day"]}
    job = dc.Job("anonymize", "t.csv", "s.toml", given, {"release": "safe.csv"}, tmp_path)
    assert job.run().guarantee.parameters["reached"]["t"]["cost"] <= 0.3
    told = dc.Job("audit", "safe.csv", folder=tmp_path).run()
    assert not told.failed
    assert not [check for check in told.artifact.checks if "cannot be read" in check.detail]
    shown = (tmp_path / "safe.csv").read_text()
    late = sum(d[3:5] > "06" or d == "30.06.2025" for d in days)
    assert shown.count("2025-06-30") == late  # the bound stands for days beyond it
    assert "2025-01-01" in shown
    assert "odd" not in shown
    assert "n/a" not in shown


def test_times_of_day_are_as_close_as_their_seconds() -> None:
    seconds = (AGE * 600 + _RNG.normal(0, 2000, len(AGE))).clip(0, 86399).astype(int)
    texts = [f"{s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}" for s in seconds.tolist()]
    clock = pa.array(seconds.astype(np.int32)).cast(pa.time32("s"))
    found = []
    for values, kind, ends in (
        (seconds, "integer", [0, 86399]),
        (texts, "time", ["00:00:00", "23:59:59"]),
        (clock, "time", ["00:00:00", "23:59:59"]),
    ):
        declared = {"kind": kind, "bounds": ends, "role": "sensitive"}
        tree = dc.anonymity.DensityTree(k=10, domain=dc.Domain({"age": COLUMNS["age"], "at": declared}))
        found.append(
            tree.fit_transform(pa.table({"age": AGE, "at": values})).guarantee.parameters["reached"]["t"]["at"]
        )
    assert found[0] > 0.3
    assert found == [found[0]] * 3
