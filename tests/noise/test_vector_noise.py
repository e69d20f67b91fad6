"""Noise on lattices: words that doubles cannot decide are left to exact arithmetic, and rows may start anywhere."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.noise.stream.row_words import settle
from discreet.noise.vector.isotropic import IsotropicNoise, add_rows, rounded, words_of
from discreet.noise.vector.spherical import move_rows

LARGEST = (1 << 64) - 1


@pytest.mark.parametrize("scale", [2.0**60, 2.0**70, 2.0**200])
def test_noise_beyond_whole_numbers_is_not_decided_by_doubles(scale: float) -> None:
    words = np.arange(1, 8 * words_of(2) + 1, dtype=np.uint64) << np.uint64(56)
    places, undecided = np.zeros((8, 2), np.int64), np.zeros(8, bool)
    add_rows(words, scale, places, undecided)
    assert undecided.all()
    assert not places.any()


@pytest.mark.parametrize("n", [2, 3])
def test_the_largest_words_are_settled(n: int) -> None:
    words = np.full(words_of(n), LARGEST, np.uint64)
    places, undecided = np.zeros((1, n), np.int64), np.zeros(1, bool)
    add_rows(words, 1000.0, places, undecided)
    assert undecided.all()
    assert rounded([LARGEST] * words_of(n), 64, n, Fraction(1000)) is None  # the direction is not known to a digit
    source = IsotropicNoise.draw(n, Fraction(1000), rng=1)
    assert not settle(source._key, np.full(words_of(n), LARGEST, np.uint64), 0, source._rounded).any()


def test_the_largest_words_are_left_open_on_the_sphere() -> None:
    status, places = np.zeros(1, np.uint8), np.zeros((1, 2), np.int64)
    move_rows(np.full(4, LARGEST, np.uint64), np.arange(1), 0.01, 90_000, math.pi / 180_000, places, status)
    assert status[0] == 2
    assert not places.any()


def test_rows_start_anywhere() -> None:
    source = IsotropicNoise.draw(3, Fraction(500), rng=5)
    whole = np.zeros((40, 3), np.int64)
    source.add(whole)
    for first in (1, 5, 13):
        part = np.zeros((40 - first, 3), np.int64)
        source.add(part, first=first)
        assert (part == whole[first:]).all()
