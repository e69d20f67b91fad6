"""Rows counted as often as their weights say: one row, or one person, never changes more copies than is paid for."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.engines.persons import PersonTable, Weights
from discreet.errors import InvalidArgument, SchemaError

DOMAIN = dc.Domain(
    {"town": {"categories": ["a", "b"], "missing": "own"}, "x": (0, 1), "w": dc.Numeric("w", 0, 10, role="weight")}
)
Row = tuple[str | None, float | None, float | None]


def copies(rows: list[Row], key: Any, domain: dc.Domain = DOMAIN) -> collections.Counter[Any]:
    """Return how often each row occurs among the copies."""
    town, x, w = zip(*rows, strict=True) if rows else ((), (), ())
    kinds = (pa.string(), pa.float64(), pa.float64())
    table = pa.table([pa.array(v, k) for v, k in zip((town, x, w), kinds, strict=True)], names=["town", "x", "w"])
    found = Weights.of(domain).table(dc.engines.open(table, domain), domain, key)
    axes = domain.select(["town", "x"])
    return collections.Counter(row for batch in found.batches(axes) for row in zip(*map(_plain, batch), strict=True))


def _plain(column: Any) -> list[Any]:
    return [None if np.isnan(v) else float(v) for v in column]


def some_rows(rng: np.random.Generator, n: int) -> list[Row]:
    """Return rows of few values, so that many are equal, with gaps and weights beyond the bounds."""
    weights = [0.0, 0.05, 1 / 3, 2.5, 9.999999, 10.0, 12.0, -1.0, None]
    towns, places = ["a", "b", None, "elsewhere"], [0.0, 0.5, 2.0, None]
    return [(towns[i], places[j], weights[k]) for i, j, k in rng.integers(0, [4, 4, 9], (n, 3)).tolist()]


def test_one_row_changes_at_most_64_copies_of_one_place() -> None:
    rng = np.random.default_rng(0)
    worst = 0
    for _ in range(700):
        key = rng.integers(0, 2**63, 8).astype(np.uint64)
        rows = some_rows(rng, int(rng.integers(0, 12)))
        before, after = copies(rows, key), copies([*rows, *some_rows(rng, 1)], key)
        assert not before - after  # nothing goes away
        changed = after - before
        assert len(changed) <= 1
        worst = max(worst, changed.total())
    assert worst == 64  # the declared maximum, and attained


def test_one_person_changes_at_most_64_copies_of_each_of_their_rows() -> None:
    rng = np.random.default_rng(1)
    domain = dc.Domain(
        {"x": (0, 1), "w": dc.Numeric("w", 0, 10, role="weight")},
        unit=dc.Person("hh", rows=2, called="household"),
    )
    worst = 0
    for _ in range(300):
        key, again = rng.integers(0, 2**63, (2, 8)).astype(np.uint64)

        def found(table: dict[str, Any], key: Any = key, again: Any = again) -> collections.Counter[Any]:
            people = PersonTable(dc.engines.open(pa.table(table)), domain.unit, domain, domain, key).bounded(2)
            made = Weights.of(domain).table(people, domain, again)
            return collections.Counter(float(x) for batch in made.batches(domain.select(["x"])) for x in batch[0])

        n = int(rng.integers(2, 9))
        hh, x, w = rng.integers(0, 3, n), rng.choice([0.0, 0.5, 1.0], n), rng.choice([0.3, 5.0, 10.0, 40.0], n)
        whole = found({"hh": hh, "x": x, "w": w})
        without = found({"hh": hh[hh != 0], "x": x[hh != 0], "w": w[hh != 0]})
        changed = (whole - without).total() + (without - whole).total()
        worst = max(worst, changed)
        assert changed <= 2 * 64
    assert worst == 2 * 64


def test_copies_are_unbiased_and_off_by_less_than_one_for_equal_rows() -> None:
    rng = np.random.default_rng(2)
    rows: list[Row] = [("a", 0.5, 1 / 3)] * 7 + [("b", 0.5, 2.7)]
    found = np.array([
        [made[(0.5, 0.5)], made[(1.5, 0.5)]]
        for made in (copies(rows, rng.integers(0, 2**63, 8).astype(np.uint64)) for _ in range(800))
    ])  # fmt: skip
    exact = np.array([7 * 64 / 30, 64 * 0.27])
    assert np.all(np.abs(found - exact) < 1)
    # Each is one of two neighbours: a standard deviation below 1/2, so five standard errors of the mean are below 0.09.
    assert np.all(np.abs(found.mean(axis=0) - exact) < 0.09)


def test_order_and_batches_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    key, rows = rng.integers(0, 2**63, 8).astype(np.uint64), some_rows(rng, 200)
    assert copies(rows, key) == copies([rows[i] for i in rng.permutation(200)], key)


def test_few_whole_weights_are_their_own_number_of_copies() -> None:
    domain = dc.Domain({**{c.name: c for c in DOMAIN if c.name != "w"}, "w": dc.Integer(0, 5, role="weight")})
    found = copies([("a", 0.5, 3.0), ("a", 0.5, 9.0), ("b", 0.5, 1.0)], np.arange(8, dtype=np.uint64), domain)
    assert found == {(0.5, 0.5): 8, (1.5, 0.5): 1}


@pytest.mark.parametrize(
    "declared",
    [
        {"bounds": (-1, 5), "role": "weight"},
        {"categories": ["a", "b"], "role": "weight"},
        {"bounds": ("2020-01-01", "2021-01-01"), "role": "weight"},
        {"bounds": (0, 5), "role": "weight", "missing": "own"},
    ],
)
def test_what_is_no_weight_is_refused(declared: Any) -> None:
    with pytest.raises(InvalidArgument, match="'w'"):
        dc.Domain({"w": declared})


def test_two_weights_are_refused() -> None:
    with pytest.raises(SchemaError, match="'v', 'w' all have the role 'weight'"):
        dc.Domain({name: {"bounds": (0, 5), "role": "weight"} for name in "vw"})
