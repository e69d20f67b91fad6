"""Random orders: of rows that are all there, and of rows that come in batches and do not fit into memory.

Every row gets a uniform number of 62 bits when it comes, and rows are sorted by it; rows with the same number, should
there be any, are then shuffled among themselves with fresh draws. The order is *exactly* uniform. The numbers are
independent and alike, so, given which numbers were drawn, every way to deal them out to the rows is equally likely: all
orders of rows with different numbers are. Within a group of equal ones the fresh draws make all orders equally likely.

A row's number depends on its place in the stream of rows and on nothing else, so batches do not matter, and sorting
piece by piece (all rows whose number begins with 0, then with 1, ...) gives what sorting all at once gives.
"""

from typing import Any

import numpy as np

from discreet.core import IntArray, WordArray, checks
from discreet.noise.hashing.hash_kernels import TAG_BYTES, siphash_bytes
from discreet.noise.stream.generator import Generator, _from_bit_generator, generator
from discreet.noise.stream.uniform import below

#: Of the numbers that rows are sorted by.
BITS = 62


class RowOrder:
    """A uniformly random order of rows that come in batches.

    Parameters
    ----------
    rng : None, int or Generator
        See `discreet.noise.generator`.

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
        """Return the places of rows with these numbers, in rising order; equal ones in random order.

        Call it once for every row: for all at once, or for one range of numbers after the other, the lowest first.
        """
        order = np.argsort(numbers, kind="stable")
        ranked = numbers[order]
        equal = np.flatnonzero(ranked[1:] == ranked[:-1])
        if len(equal):  # of a million rows, with a chance of one in ten million
            starts = equal[np.append(True, np.diff(equal) > 1)]
            ends = equal[np.append(np.diff(equal) > 1, True)] + 2
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
                order[start:end] = order[start:end][self._few(end - start)]
        return np.asarray(order, np.int64)

    def _few(self, n: int) -> IntArray:
        """Return a uniform order of a few things, by swapping each with one that is not yet passed."""
        order = np.arange(n)
        for i in range(n - 1):
            j = i + below(n - i, rng=self._stream)
            order[i], order[j] = order[j], order[i]
        return order


def permutation(n: int, rng: object = None) -> IntArray:
    """Return the numbers 0 .. n - 1 in an order that is exactly uniform.

    Parameters
    ----------
    n : int
        How many.
    rng : None, int or Generator
        See `discreet.noise.generator`.

    Examples
    --------
    >>> permutation(6, rng=3).tolist()
    [1, 0, 2, 4, 5, 3]
    """
    order = RowOrder(rng)
    return order.sort(order.numbers(checks.whole("n", n, low=0)))


def beside(rng: Any, stream: Generator) -> Generator:
    """Return a second stream for the same ``rng``: what is drawn from one does not move the other.

    For a seed it is independent of ``stream``, which that seed made. A secure stream serves both purposes. Of any other
    repeatable one, 32 bytes are taken now.

    Examples
    --------
    >>> first = generator(7)
    >>> beside(7, first).bytes(4).tolist() == generator(7).bytes(4).tolist()
    False
    """
    if not stream.seeded:
        return stream
    if isinstance(rng, (int, np.integer)):
        seeds = np.random.SeedSequence(checks.whole("rng", rng), spawn_key=(1,))
    else:
        seeds = np.random.SeedSequence(stream.bytes(32).tolist())
    return Generator(_from_bit_generator(np.random.Philox(seeds)), seeded=True)


def order_key(rng: Any) -> WordArray:
    """Draw the key by which `keyed_order` numbers rows: two words.

    Examples
    --------
    >>> order_key(1).tolist() == order_key(1).tolist(), len(order_key(None))
    (True, 2)
    """
    return generator(rng).bytes(16).view(np.uint64)


def keyed_order(words: WordArray, key: WordArray) -> IntArray:
    """Return the numbers that rows are sorted by where many processes number them and some may do so twice.

    The number of a row is a SipHash of what it holds and of which of the rows that hold the same it is. Anyone who numbers
    it, however often and in whatever order rows come, finds the same. Under a secret key numbers of different rows
    cannot be told from independent uniform ones of 64 bits, so the order is uniform, as that of `RowOrder` is.

    Parameters
    ----------
    words : ndarray of uint64, shape (rows, words)
        The rows; no two are equal.
    key : ndarray of two words
        From `order_key`.

    Examples
    --------
    >>> rows = np.array([[3, 0], [3, 1], [9, 0]], np.uint64)
    >>> numbers = keyed_order(rows, order_key(1))
    >>> keyed_order(rows[::-1], order_key(1)).tolist() == numbers[::-1].tolist()
    True
    """
    n, width = words.shape
    found = np.empty(n, np.uint64)
    data = np.ascontiguousarray(words).view(np.uint8).reshape(-1)
    siphash_bytes(data, np.arange(n + 1, dtype=np.int64) * 8 * width, TAG_BYTES, key[0], key[1], found)
    return found.view(np.int64)
