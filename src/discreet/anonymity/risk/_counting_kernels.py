"""Kernels that number values and combinations as they come, by hash tables with open addressing.

A table has a slot for each of what is known, and as many empty ones. A kernel stops when there is no room for more and
says how far it came; the caller makes room and calls again. Hashes only say where to look first: what is found there is
compared, so that no two values are ever taken for one.
"""

from typing import Any

import numpy as np

from discreet.core import IntArray, SmallIntArray, WordArray, inlined, jit

MISSING, UNKNOWN = -1, -2
_ODD, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_HALF = np.uint64(32)
#: Rows whose slots are looked for before any is used; and a sum of slots that is never reached, so that they are.
_AHEAD, _NEVER = 256, 2**62


@inlined
def _mixed(word: Any) -> Any:
    """Spread the bits of a word: a bijection whose lower bits depend on all."""
    word = (word ^ (word >> _HALF)) * _ODD
    word = (word ^ (word >> _HALF)) * _MIX
    return word ^ (word >> _HALF)


@jit
def number_words(
    words: WordArray, gone: Any, start: int, slots: SmallIntArray, known: WordArray, n: int, add: bool,
    codes: SmallIntArray,
) -> tuple[int, int]:  # fmt: skip
    """Number words from row ``start`` on; return the row where room ended, and how many are known then."""
    last = np.uint64(slots.size - 1)
    for i in range(start, words.size):
        if gone[i]:
            codes[i] = MISSING
            continue
        word = words[i]
        at = _mixed(word) & last
        while slots[at] >= 0 and known[slots[at]] != word:
            at = (at + np.uint64(1)) & last
        if slots[at] >= 0:
            codes[i] = slots[at]
        elif not add:
            codes[i] = UNKNOWN
        else:
            if n == known.size:
                return i, n
            slots[at] = n
            known[n] = word
            codes[i] = n
            n += 1
    return words.size, n


@jit
def number_texts(
    data: Any, offsets: IntArray, start: int, slots: SmallIntArray, hashes: WordArray, ends: IntArray, kept: Any,
    n: int, add: bool, codes: SmallIntArray,
) -> tuple[int, int]:  # fmt: skip
    """Number texts likewise; those that are known lie one behind the other in ``kept``, each up to its end."""
    last = np.uint64(slots.size - 1)
    for i in range(start, offsets.size - 1):
        a, size = offsets[i], offsets[i + 1] - offsets[i]
        own = np.uint64(size)
        for j in range(a, a + size):
            own = (own ^ np.uint64(data[j])) * _ODD
            own ^= own >> _HALF
        at = _mixed(own) & last
        found = -1
        while slots[at] >= 0:
            one = slots[at]
            b = ends[one]
            if hashes[one] == own and ends[one + 1] - b == size:
                j = 0
                while j < size and data[a + j] == kept[b + j]:
                    j += 1
                if j == size:
                    found = one
                    break
            at = (at + np.uint64(1)) & last
        if found >= 0:
            codes[i] = found
        elif not add:
            codes[i] = UNKNOWN
        else:
            if n == hashes.size or ends[n] + size > kept.size:
                return i, n
            slots[at] = n
            hashes[n] = own
            for j in range(size):
                kept[ends[n] + j] = data[a + j]
            ends[n + 1] = ends[n] + size
            codes[i] = n
            n += 1
    return offsets.size - 1, n


@jit
def tally_rows(
    rows: SmallIntArray, counts: IntArray, start: int, slots: SmallIntArray, known: SmallIntArray, held: IntArray,
    n: int,
) -> tuple[int, int]:  # fmt: skip
    """Add counts up by row of numbers likewise: combination i is ``known[i]``, and occurs ``held[i]`` times."""
    last, d = np.uint64(slots.size - 1), rows.shape[1]
    places = np.empty(_AHEAD, np.uint64)
    touched = 0
    for begin in range(start, rows.shape[0], _AHEAD):
        end = min(begin + _AHEAD, rows.shape[0])
        for i in range(begin, end):
            own = _ODD
            for j in range(d):
                own = (own ^ np.uint64(rows[i, j])) * _ODD
                own ^= own >> _HALF
            places[i - begin] = _mixed(own) & last
            touched += slots[places[i - begin]]  # what is far away is fetched for many rows at once
        for i in range(begin, end):
            at = places[i - begin]
            found = -1
            while slots[at] >= 0:
                j = 0
                while j < d and known[slots[at], j] == rows[i, j]:
                    j += 1
                if j == d:
                    found = slots[at]
                    break
                at = (at + np.uint64(1)) & last
            if found < 0:
                if n == held.size:
                    return i, n
                found = n
                slots[at] = n
                for j in range(d):
                    known[n, j] = rows[i, j]
                held[n] = 0
                n += 1
            held[found] += counts[i]
    return rows.shape[0], n if touched < _NEVER else 0


@jit
def place_words(known: WordArray, n: int, slots: SmallIntArray) -> None:
    """Fill the slots of a larger table with words, or with the hashes of texts."""
    last = np.uint64(slots.size - 1)
    for i in range(n):
        at = _mixed(known[i]) & last
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & last
        slots[at] = i


@jit
def place_rows(known: SmallIntArray, n: int, slots: SmallIntArray) -> None:
    """Fill the slots of a larger table of combinations."""
    last = np.uint64(slots.size - 1)
    for i in range(n):
        own = _ODD
        for j in range(known.shape[1]):
            own = (own ^ np.uint64(known[i, j])) * _ODD
            own ^= own >> _HALF
        at = _mixed(own) & last
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & last
        slots[at] = i


@jit
def sort_by(column: SmallIntArray, low: int, size: int, order: SmallIntArray) -> SmallIntArray:
    """Sort places by their numbers in a column, ``low .. low + size - 1``; equal ones stay in the order they have."""
    start = np.zeros(size + 1, np.int64)
    for i in range(column.size):
        start[column[i] - low + 1] += 1
    for i in range(size):
        start[i + 1] += start[i]
    found = np.empty_like(order)
    for i in order:
        found[start[column[i] - low]] = i
        start[column[i] - low] += 1
    return found
