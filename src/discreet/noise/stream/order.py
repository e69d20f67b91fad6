"""Random orders of rows, also of rows that come in batches and do not fit into memory.

Every row gets a uniform number of 62 bits, and rows are sorted by it; rows with equal numbers are then shuffled with
fresh draws. The order is *exactly* uniform, because the numbers are independent and identically distributed. A row's
number depends only on its place in the stream of rows. So batches do not matter, and sorting range by range gives the
same order as sorting all rows at once.
"""

from typing import Any

import numpy as np

from discreet.core import IntArray, WordArray, checks
from discreet.noise.hashing.hash_kernels import TAG_BYTES, siphash_bytes
from discreet.noise.stream.draw import below
from discreet.noise.stream.generator import Generator, _from_bit_generator, generator

#: The length of the numbers that rows are sorted by.
BITS = 62


class RowOrder:
    """A uniformly random order of rows that come in batches. ``rng``: see `generator`.

    Examples
    --------
    >>> order = RowOrder(rng=1)
    >>> numbers = np.concatenate([order.numbers(2), order.numbers(3)])       # a batch of two rows, one of three
    >>> order.sort(numbers).tolist() == permutation(5, rng=1).tolist()
    True
    """

    #: Bits of a row's number.
    bits = BITS

    def __init__(self, rng: object = None) -> None:
        self._stream = generator(rng)

    def numbers(self, n: int) -> IntArray:
        """Return the numbers of the next ``n`` rows."""
        return np.asarray(below(1 << self.bits, size=n, rng=self._stream), np.int64)

    def sort(self, numbers: IntArray) -> IntArray:
        """Return the places of rows in the order of their numbers; equal ones in random order.

        Call it once for all rows, or for one range of numbers after another, the lowest first.
        """
        order = np.argsort(numbers, kind="stable")
        ranked = numbers[order]
        equal = np.flatnonzero(ranked[1:] == ranked[:-1])
        if len(equal):  # for a million rows, with a chance of one in ten million
            starts = equal[np.append(True, np.diff(equal) > 1)]
            ends = equal[np.append(np.diff(equal) > 1, True)] + 2
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
                order[start:end] = order[start:end][self._few(end - start)]
        return np.asarray(order, np.int64)

    def _few(self, n: int) -> IntArray:
        """Return a uniform order of a few things (Fisher and Yates)."""
        order = np.arange(n)
        for i in range(n - 1):
            j = i + below(n - i, rng=self._stream)
            order[i], order[j] = order[j], order[i]
        return order


def permutation(n: int, rng: object = None) -> IntArray:
    """Return the numbers 0 .. n - 1 in an order that is exactly uniform. ``rng``: see `generator`.

    Examples
    --------
    >>> permutation(6, rng=3).tolist()
    [1, 0, 2, 4, 5, 3]
    """
    order = RowOrder(rng)
    return order.sort(order.numbers(checks.whole("n", n, low=0)))


def second_stream(rng: Any, stream: Generator) -> Generator:
    """Return a second stream for the same ``rng``: draws from one do not change the draws from the other.

    For a seed, it is independent of ``stream``, which that seed made. A secure stream is returned as it is. From any
    other repeatable stream, 32 bytes are taken now as a seed.
    """
    if not stream.seeded:
        return stream
    if isinstance(rng, (int, np.integer)):
        seeds = np.random.SeedSequence(checks.whole("rng", rng), spawn_key=(1,))
    else:
        seeds = np.random.SeedSequence(stream.bytes(32).tolist())
    return Generator(_from_bit_generator(np.random.Philox(seeds)), seeded=True)


def order_key(rng: Any) -> WordArray:
    """Draw the key of `keyed_order`: two words."""
    return generator(rng).bytes(16).view(np.uint64)


def keyed_order(words: WordArray, key: WordArray) -> IntArray:
    """Return numbers to sort rows by, if many processes number rows and some may do so twice.

    The number of a row is a keyed SipHash of its words, so it does not depend on who computes it, how often, or in
    which order. Under a secret key, the numbers of different rows cannot be distinguished from independent uniform
    numbers of 64 bits, so the order is uniform, as that of `RowOrder`. No two rows of ``words`` may be equal.
    """
    n, width = words.shape
    found = np.empty(n, np.uint64)
    data = np.ascontiguousarray(words).view(np.uint8).reshape(-1)
    siphash_bytes(data, np.arange(n + 1, dtype=np.int64) * 8 * width, TAG_BYTES, key[0], key[1], found)
    return found.view(np.int64)
