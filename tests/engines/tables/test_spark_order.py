"""The order in which executors write rows: a function of the rows as a bag and of a key, and uniform."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from scipy import stats

from discreet import noise
from discreet.engines.spark import parts


def groups(cells: np.ndarray, texts: list[str | None], rows: np.ndarray, first: np.ndarray) -> pa.RecordBatch:
    """Return groups of equal rows as Spark hands them over."""
    columns = [pa.array(cells), pa.array(texts, pa.string()), pa.array(rows), pa.array(first)]
    return pa.RecordBatch.from_arrays(columns, ["c", "c0", parts.ROWS, parts._FIRST])


def numbered(batches: list[pa.RecordBatch], seed: int = 1) -> list[tuple[object, ...]]:
    made = parts._numbered(iter(batches), noise.order_key(seed), 2)
    return [tuple(row.values()) for batch in made for row in batch.to_pylist()]


def some(n: int = 300) -> pa.RecordBatch:
    rng = np.random.default_rng(0)
    texts = [None if i % 9 == 0 else f"t{i % 40}" for i in range(n)]
    return groups(np.arange(n) // 4, texts, rng.integers(1, 30, n), np.zeros(n, np.int64))


def test_numbers_follow_from_what_rows_hold_and_not_from_how_they_come() -> None:
    whole = some()
    order = pa.array(np.random.default_rng(1).permutation(whole.num_rows))
    other = whole.take(order)
    pieces = [other.slice(0, 7), other.slice(7, 0), other.slice(7)]
    found = numbered([whole])
    assert len(found) == np.asarray(whole.column(2)).sum()
    assert sorted(found, key=str) == sorted(numbered(pieces), key=str)
    assert len({row[-1] for row in found}) == len(found)  # rows that hold the same have numbers of their own
    assert {row[-1] for row in found}.isdisjoint(row[-1] for row in numbered([whole], seed=2))


def test_rows_of_several_people_that_hold_the_same_are_numbered_as_if_of_one() -> None:
    one = groups(np.array([5]), ["a"], np.array([5]), np.array([0]))
    two = groups(np.array([5, 5]), ["a", "a"], np.array([2, 3]), np.array([3, 0]))
    assert sorted(numbered([one])) == sorted(numbered([two]))


def test_rows_that_are_only_counted_stay_together() -> None:
    found = numbered([groups(np.array([-1, 3]), ["a", "a"], np.array([7, 2]), np.array([0, 0]))])
    assert [row[:3] for row in found] == [(-1, "a", 7), (3, "a", 1), (3, "a", 1)]


def test_numbers_are_uniform_within_rows_that_hold_the_same_and_across_them() -> None:
    """Kolmogorov and Smirnov: a false alarm with probability 1e-6 each."""
    same = groups(np.array([4]), ["a"], np.array([20_000]), np.array([0]))
    unlike = groups(np.arange(20_000), ["a"] * 20_000, np.ones(20_000, np.int64), np.zeros(20_000, np.int64))
    for batch in (same, unlike):
        numbers = np.array([row[-1] for row in numbered([batch])], np.float64) / 2**64 + 0.5
        assert stats.kstest(numbers, "uniform").pvalue > 1e-6
        assert abs(stats.spearmanr(numbers[1:], numbers[:-1]).statistic) < 5 / np.sqrt(len(numbers))
