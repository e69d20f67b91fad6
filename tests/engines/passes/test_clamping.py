"""A row out of bounds is the nearest row inside: maps, runs and codes agree with whole numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet import Domain, noise
from discreet.engines import GridMap
from discreet.engines.passes.cells import NestedMap
from discreet.engines.passes.sums import SumsPass
from discreet.engines.passes.trees import TreeMap
from discreet.engines.tables.encode import Encoder
from discreet.engines.tables.text_numbers import numbers_of_text
from discreet.engines.writing.writer import declared_values
from discreet.local import LocalHashing
from discreet.noise.choice.runs import LARGEST_COUNT, Runs
from discreet.noise.hashing import support as _support_kernels
from discreet.noise.hashing.hash_kernels import PRIME

LOW, HIGH = -2, 6
DOMAIN = Domain({"x": (LOW, HIGH)})
#: Inside, on the edges, beyond them, and as far as doubles go.
VALUES = [-2.0, -1.75, 0.0, 1.99, 2.0, 5.875, 5.999, 6.0, -2.01, 6.01, -1e300, 1e300, -math.inf, math.inf, -2.3, 7.1]


def place(value: float, parts: int) -> Fraction:
    """Return how far along its axis a value lies, in parts, as a fraction; beyond the ends: at them."""
    inside = min(max(Fraction(value) if math.isfinite(value) else value, LOW), HIGH)
    return (Fraction(inside) - LOW) / (HIGH - LOW) * parts


def cell(value: float, parts: int) -> int:
    return min(math.floor(place(value, parts)), parts - 1)


@pytest.mark.parametrize("bits", [1, 3, 6])
def test_a_value_beyond_its_axis_is_in_the_last_cell_of_a_tree(bits: int) -> None:
    lines = replace(TreeMap.root(DOMAIN, bits), key_axis=np.array([0]), lines=2**bits)
    assert lines.ids([np.array(VALUES)]).tolist() == [cell(value, 2**bits) for value in VALUES]


@pytest.mark.parametrize("lines", [1, 3, 8, 13, 64])
def test_a_box_of_few_cells_has_one_line_per_cell(lines: int) -> None:
    """The part p of G of a range [A, B) starts at A + floor(p (B - A) / G), and G is at most the number of cells."""
    keyed = replace(TreeMap.root(DOMAIN, 3), key_axis=np.array([0]), lines=lines)
    parts = min(lines, 8)
    starts = [p * 8 // parts for p in range(parts)]
    expected = [sum(start <= cell(value, 8) for start in starts) - 1 for value in VALUES]
    assert keyed.ids([np.array(VALUES)]).tolist() == expected


@pytest.mark.parametrize(("outer", "inner"), [(1, [4]), (2, [2, 5]), (4, [1, 2, 3, 7])])
def test_a_value_beyond_its_axis_is_in_the_last_cell_within_the_last(outer: int, inner: list[int]) -> None:
    nested = NestedMap(GridMap(DOMAIN, outer), np.array(inner))
    expected = []
    for value in VALUES:
        first = cell(value, outer)
        within = min(math.floor((place(value, outer) - first) * inner[first]), inner[first] - 1)
        expected.append(sum(inner[:first]) + within)
    assert nested.ids([np.array(VALUES)]).tolist() == expected


@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize("value", VALUES)
def test_a_value_adds_to_a_sum_no_more_than_the_face_of_its_cell_does(value: float, parts: int) -> None:
    job = SumsPass(GridMap(DOMAIN, parts), 100)
    adder = job.start()
    adder.add(job.prepare([np.array([value])]))
    own = cell(value, parts)
    expected = math.floor(2 * 100 * (place(value, parts) - own - Fraction(1, 2)) + Fraction(1, 2))
    found = adder.result()
    assert (found.keys.tolist(), found.values.tolist()) == ([own], [[1], [expected]])


def test_a_power_beyond_all_numbers_does_not_wrap_around_into_them() -> None:
    """2^64 + 1 is 1 in 64 bits."""
    texts = [f"1e{2**64 + 1}", f"-1e{2**64 + 1}", f"1e-{2**64 + 1}", "5e2"]
    assert numbers_of_text(pa.array(texts, pa.large_binary())).tolist() == [float(text) for text in texts]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
def test_numbers_next_to_and_far_from_declared_ones_are_none_of_them(kind: type) -> None:
    ends = np.iinfo(kind)
    values = np.array([ends.min, 1, 2, 3, 4, 5, 9, ends.max], kind)
    coded = Encoder(Domain({"x": [2, 4, 3]}).column("x")).numbers(values)
    assert coded.tolist() == pytest.approx(
        [math.nan, math.nan, 0.5, 2.5, 1.5, math.nan, math.nan, math.nan], nan_ok=True
    )


@pytest.mark.parametrize(
    ("column", "low", "high"),
    [
        ((0, 1.5), 0.0, 1.5),
        (("2024-01-01", "2024-12-31"), "2024-01-01", "2024-12-31"),
    ],
)
def test_no_value_beyond_the_declared_ends_is_written(column: Any, low: Any, high: Any) -> None:
    own = Domain({"x": column}).column("x")
    written = declared_values(own, np.array([own.low - 1e4, own.low, math.nan, own.high, own.high + 1e4]))
    assert written.to_pylist() == [low, low, None, high, high]


@pytest.mark.parametrize("rows", [[3, -4, 9, 99, 5], [0, -1] * 40 + [12, 5]])
def test_rows_and_counts_beyond_a_box_are_at_its_ends(rows: list[int]) -> None:
    """The candidates of [2, 10) have as many rows on their left as there are clamped cells below them."""
    clamped = np.clip(rows, 2, 9)
    cells, counts = np.unique(rows, return_counts=True)
    beside = [*counts.tolist(), -7]  # a noisy count below zero is no rows
    for runs in (
        Runs.of_cells(np.array(rows), start=2, stop=10),
        Runs.of_counts(np.array([*cells, 4]), np.array(beside), start=2, stop=10),
    ):
        left = np.repeat(runs.left, runs.size)
        candidates = np.concatenate([first + np.arange(n) for first, n in zip(runs.first, runs.size, strict=True)])
        assert candidates.tolist() == list(range(3, 10))
        assert left.tolist() == [(clamped < k).sum() for k in range(3, 10)]
        assert runs.rows == len(rows)


def test_a_count_too_large_for_sums_stops_where_they_still_fit() -> None:
    runs = Runs.of_counts(np.array([3, 5]), np.array([2**62, 2**62]), start=0, stop=8)
    assert runs.left.tolist() == [0, LARGEST_COUNT, 2 * LARGEST_COUNT]


@pytest.mark.parametrize("epsilon", [math.inf, 1])
def test_a_code_that_there_is_not_is_answered_as_the_nearest(epsilon: float) -> None:
    far, near = (
        noise.randomized_response(np.array(codes * 50), n_values=4, epsilon=epsilon, rng=3)
        for codes in ([-9, 4, 2**40, 1], [0, 3, 3, 1])
    )
    assert far.tolist() == near.tolist()
    assert set(far.tolist()) <= set(range(4))


@pytest.mark.parametrize("width", [2, 3, 7, 64, 1000, 2**20 + 7, 2**29])
def test_a_bucket_begins_at_the_first_value_that_falls_into_it(width: int) -> None:
    """A value h falls into floor(h·width / 2^61); there are none from p = 2^61 - 1 on."""
    for y in {0, 1, 2, width // 2, width - 1, width}:
        begins = int(_support_kernels.edge(np.uint64(y), np.uint64(width)))
        assert begins == min(-(-y * 2**61 // width), int(PRIME))


@pytest.mark.parametrize("pool", [None, 50])
def test_hash_functions_follow_from_the_key(pool: int | None) -> None:
    """Two keys of a family with 64 values in 16 buckets: all alike with a chance of 2^-256, for fixed keys never."""
    one, same, two = (LocalHashing(3, width=16, pool=pool, key=key).family for key in (7, 7, 8))
    values, functions = np.arange(64), np.arange(64) % 50
    assert one(values, functions).tolist() == same(values, functions).tolist()
    assert one(values, functions).tolist() != two(values, functions).tolist()
