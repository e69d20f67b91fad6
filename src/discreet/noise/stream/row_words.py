"""Random words of rows, computed from a key and the row's number, so that any core can compute any row."""

import os
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from discreet.core import WordArray, map_threads
from discreet.noise.stream.cipher import chacha20
from discreet.noise.stream.generator import generator

T = TypeVar("T")

#: Words drawn at a time, so that they stay in a core's cache.
_WORDS_AT_ONCE = 1 << 14
#: Below this number of words threads cost more than they save.
_THREADED = 1 << 18


def row_key(rng: object) -> npt.NDArray[np.uint32]:
    """Draw a key. ``rng``: see `discreet.noise.generator`."""
    return generator(rng).bytes(32).view("<u4").astype(np.uint32)


def row_words(
    key: npt.NDArray[np.uint32], per_row: int, first: int, rows: int, more: int = 0, attempt: int = 0
) -> WordArray:
    """Return the words of some rows, row by row.

    ``more`` = 1, 2, ... gives the words of further digits, ``attempt`` = 1, 2, ... those of further tries.
    """
    start = first * per_row
    skipped = start % 8
    blocks = np.empty((-(-(skipped + rows * per_row) // 8), 16), np.uint32)
    chacha20(key, start // 8, (more, attempt), blocks)
    words: WordArray = blocks.astype("<u4", copy=False).view("<u8").ravel()
    return words[skipped : skipped + rows * per_row].astype(np.uint64, copy=False)


def settle(
    key: npt.NDArray[np.uint32],
    words: WordArray,
    row: int,
    decide: Callable[[list[int], int], T | None],
    attempt: int = 0,
) -> T:
    """Call ``decide(words, bits)`` with longer and longer words of a row, until it returns something."""
    longer, bits = [int(w) for w in words], 64
    for more in range(1, 64):
        found = decide(longer, bits)
        if found is not None:
            return found
        further = row_words(key, len(longer), row, 1, more, attempt)
        longer, bits = [(w << 64) + int(v) for w, v in zip(longer, further, strict=True)], bits + 64
    raise ArithmeticError("4096 digits did not settle a rounding")  # pragma: no cover


def in_chunks(rows: int, per_row: int, work: Callable[[int, int], None]) -> None:
    """Call ``work(start, stop)`` for chunks of rows, on all cores if there are enough of them."""
    chunk = max(_WORDS_AT_ONCE // per_row // 8 * 8, 8)
    starts = range(0, rows, chunk)
    cores = 1 if rows * per_row < _THREADED else os.cpu_count() or 1
    map_threads(lambda start: work(start, min(start + chunk, rows)), starts, cores)
