"""Stored randomness: coins and uniform numbers that follow from keys."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from discreet.core import AnyArray, ByteArray, IntArray
from discreet.noise.reports import _prf_kernels as kernels
from discreet.noise.stream.draw import below
from discreet.noise.stream.generator import Generator

Keys: TypeAlias = ByteArray


def flip(keys: Keys, threshold: int, n_bits: int, rows: ByteArray) -> None:
    """Flip each of the first ``n_bits`` bits of every packed row in place, as its key (16 bytes) decides.

    The probability is ``threshold`` / 2^64.
    """
    kernels.stored_coins(_words(keys), np.uint64(threshold), n_bits, rows)


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
