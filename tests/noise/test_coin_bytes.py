"""Coins eight at a time: the exact law of the tables, the digits, the stream."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from importlib import import_module

import numpy as np
import pytest
from scipy.stats import chi2

from discreet.noise import generator
from discreet.noise.reports.coin_bytes import below, coin_bytes, fill_bytes, tables
from discreet.noise.stream import draw, kernels
from discreet.noise.stream.thresholds import Chance, enclose_exp, logistic

_coin_bytes = import_module("discreet.noise.reports.coin_bytes")  # the file; the door offers the function
THIRD = Chance(a=Fraction(1, 3))
CHANCES = [
    logistic(Fraction(3, 2)),
    logistic(Fraction(1, 4)),
    logistic(Fraction(40)),
    Chance(a=Fraction(1), d=Fraction(1), x=Fraction(5)),  # e^5/(e^5 + 1)
    THIRD,
    Chance(a=Fraction(1, 2)),
    Chance(a=Fraction(1, 10**9)),
    Chance(a=Fraction(999, 1000)),
    Chance(a=Fraction(1, 2), b=Fraction(1, 2), x=Fraction(400)),  # a half and 10^-174: many digits tell it from a half
]


@cache
def enclosure(chance: Chance) -> tuple[Fraction, Fraction]:
    """Both ends of a chance, from the exponential itself rather than from its digits."""
    if chance.x == 0:
        return chance.a / chance.c, chance.a / chance.c
    ends = [(chance.a + chance.b * e) / (chance.c + chance.d * e) for e in enclose_exp(chance.x, 80, 400)]
    return min(ends), max(ends)


@cache
def cumulated(p: Fraction) -> list[Fraction]:
    """P(pattern < b) by adding up the patterns, for b = 0..256."""
    sums = [Fraction(0)]
    for pattern in range(256):
        ones = pattern.bit_count()
        sums.append(sums[-1] + p**ones * (1 - p) ** (8 - ones))
    assert sums[-1] == 1
    return sums


@pytest.mark.parametrize("chance", CHANCES)
def test_the_digits_are_exact(chance: Chance) -> None:
    low, high = enclosure(chance)
    from_low, from_high = cumulated(low), cumulated(high)
    for n in (2, 16, 40):
        for b, digits in enumerate(below(chance, n)):
            shown = Fraction(int.from_bytes(digits, "big"), 256**n)
            # F falls with p: the truth lies between the ends, and what is shown is its beginning.
            assert shown <= from_high[b] <= from_low[b] < shown + Fraction(1, 256**n) or (from_low[b] == 1)


@pytest.mark.parametrize("chance", CHANCES)
def test_the_table_and_the_comparison_give_every_pattern_its_probability(chance: Chance) -> None:
    """Feed U = each two digits, settled or continued: the shares of the interval are those of the law."""
    table = tables(chance, 16)
    low, high = enclosure(chance)
    bounds = list(zip(cumulated(high), cumulated(low), strict=True))
    for b in range(256):
        entries = np.flatnonzero(table.settled == b)
        if len(entries):
            assert np.array_equal(entries, np.arange(entries[0], entries[-1] + 1))
            assert bounds[b][1] <= Fraction(int(entries[0]), 65536)
            assert Fraction(int(entries[-1]) + 1, 65536) <= bounds[b + 1][0]
    cut = np.flatnonzero(table.settled < 0)
    assert 1 <= len(cut) <= 255
    for t in cut.tolist():
        assert table.first[t] < table.last[t]
        tied = range(int(table.first[t]) + 1, int(table.last[t]) + 1)
        assert all(int.from_bytes(table.digits[b, :2].tobytes(), "big") == t for b in tied)
        # A U just above, or just below, the boundary b (in its 16th digit) is of pattern b on, or below it.
        for b in (tied[0], tied[-1]):
            at = int.from_bytes(table.digits[b].tobytes(), "big")
            for u, above in ((at + 1, True), (at - 1, False)):
                if 0 <= u < 256**16 and u >> 112 == t:
                    out = np.zeros(1, np.uint8)
                    stream = np.frombuffer(u.to_bytes(16, "big"), np.uint8)
                    position, done, state = fill_bytes(*table, stream, 0, out, 0)
                    if state == kernels.FINISHED:
                        assert done == 1
                        assert position <= 16
                        assert (out[0] >= b) == above
                    else:  # ties with a neighbour of b, all 16 digits long
                        assert state == kernels.MORE_DIGITS


def test_a_tie_to_the_last_digit_asks_for_more_digits_and_reads_the_same_bytes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance = logistic(Fraction(3, 2))
    few, many = tables(chance, 4), tables(chance, 16)
    whole = many.digits[77]
    assert fill_bytes(*few, whole[:4].copy(), 0, np.zeros(1, np.uint8), 0) == (0, 0, kernels.MORE_DIGITS)
    assert fill_bytes(*few, whole[:3].copy(), 0, np.zeros(1, np.uint8), 0) == (0, 0, kernels.MORE_BYTES)
    wanted = coin_bytes(chance, (20_000,), rng=5)
    monkeypatch.setattr(draw, "_DIGITS", 2)  # a tie of two digits is common
    asked: list[int] = []
    real = _coin_bytes.tables

    def spy(c: Chance, precision: int) -> object:
        asked.append(precision)
        return real(c, precision)

    monkeypatch.setattr(_coin_bytes, "tables", spy)
    assert np.array_equal(coin_bytes(chance, (20_000,), rng=5), wanted)
    assert 8 in asked


@pytest.mark.parametrize("chance", [CHANCES[0], CHANCES[1], CHANCES[3], THIRD])
def test_patterns_follow_their_law(chance: Chance) -> None:
    """Chi-square over the 256 patterns, rare ones pooled by their number of ones; false alarm 1e-6."""
    draws = 400_000
    seen = np.bincount(coin_bytes(chance, (draws,), rng=11), minlength=256)
    p = float(sum(enclosure(chance)) / 2)
    ones = np.bitwise_count(np.arange(256, dtype=np.uint8))
    expected = draws * p**ones * (1 - p) ** (8 - ones)
    rare = expected < 10
    seen = np.append(seen[~rare], seen[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 10:
        seen, expected = seen[:-1], expected[:-1]
    assert ((seen - expected) ** 2 / expected).sum() < chi2.ppf(1 - 1e-6, len(expected) - 1)


@pytest.mark.parametrize("x", [12, 3])
def test_rare_coins(x: int) -> None:
    """Coins near 0 and near 1: the number of odd bits within 5 standard errors."""
    for chance in (logistic(Fraction(x)), Chance(a=Fraction(1), d=Fraction(1), x=Fraction(x))):
        bits = np.bitwise_count(coin_bytes(chance, (2_000_000,), rng=2)).sum()
        n, p = 16_000_000, float(sum(enclosure(chance)) / 2)
        assert abs(bits - n * p) < 5 * (n * p * (1 - p)) ** 0.5


def test_certain_coins() -> None:
    assert not coin_bytes(Chance(), (100_000,), rng=1).any()
    assert (coin_bytes(Chance(a=Fraction(1)), (100_000,), rng=1) == 255).all()


def test_bits_of_a_byte_are_independent_of_each_other() -> None:
    bits = np.unpackbits(coin_bytes(logistic(Fraction(1)), (200_000,), rng=3)).reshape(-1, 8)
    correlation = np.corrcoef(bits.T) - np.eye(8)
    assert np.abs(correlation).max() < 6 / np.sqrt(200_000)


def test_the_stream_is_read_front_to_back() -> None:
    chance = logistic(Fraction(2))
    together, apart = generator(9), generator(9)
    all_at_once = coin_bytes(chance, (5, 40), together)
    one_by_one = [coin_bytes(chance, (1,), apart)[0] for _ in range(200)]
    assert all_at_once.dtype == np.uint8
    assert np.array_equal(all_at_once.ravel(), one_by_one)
    assert together.bytes(8).tolist() == apart.bytes(8).tolist()
    assert coin_bytes(chance, (0, 7), 1).shape == (0, 7)


def test_a_constant_in_disguise_is_read_as_the_rational_it_is() -> None:
    """(1 + e^-1)/(2 + 2 e^-1) is 1/2 whatever e^-1: its digits must not be searched for ever."""
    disguised = Chance(a=Fraction(1), b=Fraction(1), c=Fraction(2), d=Fraction(2), x=Fraction(1))
    assert below(disguised, 16) == below(Chance(a=Fraction(1, 2)), 16)


def test_entropy_a_coin() -> None:
    """Two bytes and seldom a third for eight coins."""
    stream, whole = generator(7), generator(7)
    coin_bytes(logistic(Fraction(3, 2)), (100_000,), stream)
    after = stream.bytes(16).tobytes()
    used = whole.bytes(210_000).tobytes().find(after)
    assert 200_000 <= used < 201_000
