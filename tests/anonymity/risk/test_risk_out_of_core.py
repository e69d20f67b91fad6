"""The risk of a table is that of its rows, however many batches, files and types they come in."""

from __future__ import annotations

import datetime
import math
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.anonymity.risk import counted
from discreet.anonymity.risk.counted import Values, ValueTally
from discreet.engines.readers import columns as engine_columns

#: Columns as a raw table has them, with values that are easily taken for one another.
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "whole": (pa.int64(), [0, 1, -1, 2**53, 2**53 + 1, -(2**63)]),
    "words": (pa.uint64(), [0, 1, 2**64 - 1, 2**63]),
    "reals": (pa.float64(), [0.0, -0.0, 1.5, math.inf, 1e-320, math.nan]),
    "short": (pa.float32(), [0.0, -0.0, 0.5, math.nan]),
    "texts": (pa.string(), ["a", "aa", "é", "e\u0301", " a", "", "a\x00", "b" * 40]),
    "flags": (pa.bool_(), [True, False]),
    "money": (pa.decimal128(20, 2), [Decimal("0.10"), Decimal("-7.00"), Decimal("123456789012345678.25")]),
    "dates": (pa.date32(), [datetime.date(1970, 1, 1), datetime.date(1969, 12, 31)]),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    n = draw(st.integers(1, 40))
    names = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=2, max_size=4, unique=True))
    columns = {}
    for name in names:
        kind, values = KINDS[name]
        columns[name] = pa.array(draw(st.lists(st.sampled_from([None, *values]), min_size=n, max_size=n)), kind)
    return pa.table(columns)


def seen(value: Any) -> Any:
    """Return what a value counts as: nothing for one that is not there."""
    gone = value is None or value == "" or (isinstance(value, float) and math.isnan(value))
    return None if gone else value + 0.0 if isinstance(value, float) else value


def by_hand(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    """Return figures of rows, the last value of each being sensitive, row by row."""
    sizes, inside, whole = Counter(row[:-1] for row in rows), defaultdict(Counter), Counter(row[-1] for row in rows)
    for row in rows:
        inside[row[:-1]][row[-1]] += 1
    n = len(rows)
    shares = [(count / sizes[own], whole[value] / n) for own, found in inside.items() for value, count in found.items()]
    return {
        "rows": n,
        "classes": len(sizes),
        "k": min(sizes.values()),
        "unique": sum(size for size in sizes.values() if size == 1) / n,
        "mean": sum(1 for _ in sizes) / n,
        "distinct_l": min(map(len, inside.values())),
        "entropy_l": min(
            math.exp(-sum(c / sizes[o] * math.log(c / sizes[o]) for c in f.values())) for o, f in inside.items()
        ),
        "recursive_c": max(
            max(f.values()) / (sizes[o] - max(f.values())) if len(f) > 1 else math.inf for o, f in inside.items()
        ),
        "t_equal": max(
            sum(abs(f.get(v, 0) / sizes[o] - whole[v] / n) for v in whole) / 2 for o, f in inside.items()
        ),
        "alpha": max(p for p, _ in shares),
        "beta": max(0.0, *((p - q) / q for p, q in shares)),
    }  # fmt: skip


@pytest.fixture
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room is made again and again, and batches are of a few rows."""
    monkeypatch.setattr(counted, "_FEW", 1)
    monkeypatch.setattr(counted, "_MANY", 8)
    monkeypatch.setattr(engine_columns.column_batches, "__defaults__", (None, 7))


@pytest.mark.usefixtures("_small_steps")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables(), cut=st.integers(0, 40), group=st.integers(1, 9))
def test_risk_of_files_is_that_of_rows_counted_by_hand(table: pa.Table, cut: int, group: int, tmp_path: Path) -> None:
    quasi, secret = table.column_names[:-1], table.column_names[-1]
    rows = [tuple(map(seen, row)) for row in zip(*(c.to_pylist() for c in table.columns), strict=True)]
    for i, piece in enumerate((table.slice(0, cut), table.slice(cut))):
        pq.write_table(piece, tmp_path / f"{i}.parquet", row_group_size=group)
    report = dc.anonymity.risk(str(tmp_path), quasi, secret)
    assert report.to_dict() == dc.anonymity.risk(table, quasi, secret).to_dict()
    found = {**report.to_dict(), **vars(report.sensitive[secret]), "mean": report.prosecutor["mean"]}
    expected = by_hand(rows)
    # A sensitive value counts by what it means ("a" and " a", "é" however composed), numbers as doubles.
    if secret in ("texts", "whole", "words"):
        expected = {name: expected[name] for name in ("rows", "classes", "k", "unique", "mean")}
    assert {name: found[name] for name in expected} == pytest.approx(expected)


@pytest.mark.usefixtures("_small_steps")
@given(
    st.integers(1, 3),
    st.lists(
        st.lists(st.tuples(st.integers(-2, 5), st.integers(-2, 70000), st.integers(0, 1)), max_size=30), max_size=4
    ),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_combinations_are_counted_in_rising_order(width: int, batches: list[list[tuple[int, ...]]]) -> None:
    tally, expected = ValueTally(), Counter(row[-width:] for batch in batches for row in batch)
    for batch in batches:
        if batch:
            tally.add(list(np.array(batch).T[-width:]))
    codes, counts = tally.result()
    assert list(zip(map(tuple, codes.T.tolist()), counts.tolist(), strict=True)) == sorted(expected.items())


def test_many_values_keep_their_numbers() -> None:
    """More than there is room for at first, as numbers and as texts, and looked up again."""
    numbers = np.random.default_rng(0).permutation(50_000) * 7 - 90_000
    for column in (pa.array(numbers), pa.array(numbers.astype(str))):
        values = Values()
        first = values.codes(column)
        assert first.tolist() == list(range(50_000))
        assert values.array().equals(column.cast(values.kind) if values.kind == column.type else column)
        assert values.codes(column.slice(11, 500), add=False).tolist() == list(range(11, 511))
        assert values.codes(pa.array([1, None]).cast(column.type), add=False).tolist() == [-2, -1]
