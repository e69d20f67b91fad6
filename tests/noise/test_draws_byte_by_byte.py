"""Draws from bytes that are laid before them: the byte below a threshold and the byte at it are distinguished."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from discreet import noise
from discreet.noise.integer.laplace import draw_geometric
from discreet.noise.reports import _prf_kernels
from discreet.noise.reports.means import HALF, DuchiLaw, PiecewiseLaw, Window
from discreet.noise.stream.draw import byte_width
from discreet.noise.stream.generator import Generator

#: Above, and below, the first digit of every coin that is used here.
TAILS, HEADS = b"\xff", b"\x00"


def laid(data: bytes, more: int = 0) -> Generator:
    """Return a generator that gives these bytes, then as many zeros as are allowed: anyone who reads on is noticed."""
    left = [np.zeros(more, np.uint8), np.frombuffer(data, np.uint8)]
    return Generator(lambda n: left.pop(), seeded=True)


@pytest.mark.parametrize("bound", [2, 3, 5, 128, 200, 256, 1000])
def test_a_number_below_a_bound_is_drawn_again_at_it(bound: int) -> None:
    width, mask = byte_width(bound)
    for first in sorted({0, 1, bound - 1, bound, bound + 1, mask} & set(range(mask + 1))):
        data = first.to_bytes(width, "big") + (bound // 2).to_bytes(width, "big")
        assert noise.below(bound, rng=laid(data)) == (first if first < bound else bound // 2)


def test_a_response_that_is_not_the_truth_is_one_of_the_others() -> None:
    for truth, drawn in product(range(5), range(4)):
        said = noise.randomized_response(truth, n_values=5, epsilon=1, rng=laid(TAILS + bytes([drawn])))
        assert said == [v for v in range(5) if v != truth][drawn]


def test_a_point_round_a_window_is_none_of_its_own() -> None:
    law = Window(Fraction(1), width=3, size=8)
    for start, drawn in product(range(6), range(5)):
        found = law.draw(np.array([start]), laid(TAILS + bytes([drawn])))
        assert found.tolist() == [[p for p in range(8) if not start <= p < start + 3][drawn]]


@pytest.mark.parametrize("place", [1, HALF // 3, HALF, 2 * HALF - 1])
def test_a_sign_is_plus_for_as_many_tickets_as_its_place_says(place: int) -> None:
    law = DuchiLaw(Fraction(1))
    for coin, edge in ((HEADS, place), (TAILS, HALF)):
        drawn = [
            law.draw(np.array([place]), laid(coin + ticket.to_bytes(4, "big"))).item() for ticket in (edge - 1, edge)
        ]
        assert drawn == [1, 0]


@pytest.mark.parametrize("place", [1, HALF // 3, HALF + 12345])
def test_a_centre_is_rounded_up_for_as_many_tickets_as_its_fraction_says(place: int) -> None:
    law = PiecewiseLaw(Fraction(2), steps=128)
    start, edge = divmod(law.reach * place, HALF)
    for ticket, expected in ((0, start + 1), (edge - 1, start + 1), (edge, start), (HALF - 1, start)):
        assert law.draw(np.array([place]), laid(ticket.to_bytes(4, "big") + HEADS + b"\x00")).tolist() == [expected]


def test_a_vector_is_kept_for_as_many_tickets_as_its_radius_says() -> None:
    """At scale 1 a geometric draw reads three low digits and a high coin; the radius is the sum of two such draws."""
    zero, one = TAILS * 4, HEADS + TAILS * 3
    for ticket in range(4):  # below 2 R + 2 = 4: kept up to 2 R; then a point below 2 R + 1
        data = one + zero + bytes([ticket]) + (b"\x02" if ticket <= 2 else zero + zero + b"\x00\x00")
        assert noise.max_norm_laplace(1, 1, 1, laid(data)).ravel().tolist() == [1 if ticket <= 2 else 0]


def test_a_magnitude_stops_before_it_wraps_around() -> None:
    """At the largest scale one head of the high coin adds 2^61; heads for ever end below 2^62, as squares need."""
    assert 2**61 <= draw_geometric(Fraction(2**58), None, laid(TAILS * 61, more=100)) < 2**62


def test_stored_numbers_skip_the_words_that_would_favour_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^64 = 4 modulo 6: the words 0 to 3 are skipped, the word 4 is the first that is used."""
    words: Iterator[int]
    monkeypatch.setattr(_prf_kernels, "_siphash_word", lambda *_: np.uint64(next(words)))
    bounds, out = np.array([6], np.uint64), np.empty((1, 1), np.int64)
    for given, expected in (([4], 4), ([3, 11], 5), ([0, 3, 4], 4), ([2**64 - 1], 3)):
        words = iter(given)
        with np.errstate(over="ignore"):
            _prf_kernels.stored_below.py_func(np.zeros((1, 2), np.uint64), bounds, out)
        assert out.item() == expected
        assert next(words, None) is None


def test_stored_coins_show_heads_below_their_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    words = iter([99, 100, 101])
    monkeypatch.setattr(_prf_kernels, "_siphash_word", lambda *_: np.uint64(next(words)))
    rows = np.zeros((1, 1), np.uint8)
    _prf_kernels.stored_coins.py_func(np.zeros((1, 2), np.uint64), np.uint64(100), 3, rows)
    assert rows.item() == 0b001


@pytest.mark.parametrize(("size", "taken"), [(4, 2), (5, 3), (5, 5)])
def test_all_draws_of_a_stored_subset_give_every_subset_equally_often(size: int, taken: int) -> None:
    draws = np.array(list(product(*(range(size - taken + c + 1) for c in range(taken)))))
    out = np.empty_like(draws)
    _prf_kernels.subsets(draws, size, out)
    found, times = np.unique(out, axis=0, return_counts=True)
    assert [tuple(row) for row in found.tolist()] == list(combinations(range(size), taken))
    assert len(set(times.tolist())) == 1
