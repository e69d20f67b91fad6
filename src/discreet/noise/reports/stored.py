"""Stored randomness: coins and uniform numbers that follow from keys."""

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from discreet.core import AnyArray, ByteArray, IntArray
from discreet.noise.reports import _prf_kernels as kernels
from discreet.noise.stream.generator import Generator
from discreet.noise.stream.thresholds import Chance
from discreet.noise.stream.uniform import below

Keys: TypeAlias = ByteArray


def threshold(chance: Chance) -> int:
    """Return the least whole number T with T/2^64 at least the probability.

    A word below T flips a bit, so the realised probability exceeds the stated one by less than 2^-64: rounded towards
    privacy.
    """
    if chance.x == 0 or chance.b == chance.d == 0:
        return math.ceil((chance.a + chance.b) / (chance.c + chance.d) * 2**64)
    return int.from_bytes(chance.digits(8), "big") + 1  # not rational, hence not on the grid


def flip(keys: Keys, chance: Chance, n_bits: int, rows: ByteArray) -> None:
    """Flip each of the first ``n_bits`` bits of every packed row in place, as its key decides.

    The probability is at most 1/2 and is rounded as in `threshold`. Keys have 16 bytes.
    """
    kernels.stored_coins(_words(keys), np.uint64(threshold(chance)), n_bits, rows)


def stored_below(keys: Keys, bounds: Sequence[int]) -> IntArray:
    """Return uniform numbers, one column per bound, as the keys decide."""
    out = np.empty((len(keys), len(bounds)), np.int64)
    kernels.stored_below(_words(keys), np.array(bounds, np.uint64), out)
    return out


def subsets(size: int, taken: int, keys: Keys) -> IntArray:
    """Return for every key a subset of ``taken`` numbers out of 0..size-1, ascending, all subsets equally likely."""
    return _floyd(stored_below(keys, range(size - taken + 1, size + 1)), size)


def fresh_subsets(size: int, taken: int, n: int, stream: Generator) -> IntArray:
    """Return ``n`` such subsets from a stream of random bytes."""
    draws = [below(bound, size=n, rng=stream) for bound in range(size - taken + 1, size + 1)]
    return _floyd(np.stack(draws, axis=1), size)


def _floyd(draws: IntArray, size: int) -> IntArray:
    out = np.empty_like(draws)
    kernels.subsets(draws, size, out)
    return out


def _words(keys: Keys) -> AnyArray:
    return np.ascontiguousarray(keys).view("<u8").astype(np.uint64, copy=False)
