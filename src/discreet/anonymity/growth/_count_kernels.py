"""Count the rows of a node by bin, with the sums that the criteria need; sort the rows of a small node.

If the place of a bin is its number and a row is bytes in whole words, sums are added in *lanes*: every other byte of a
word in a field of 16 bits, so that two additions serve eight columns. A field holds the sum of 256 bytes; then it is
added to the real sums.
"""

from typing import Any

import numpy as np

from discreet.core import inlined, jit

#: Nodes below this size may be sorted, not counted.
SMALL = 64
#: The lanes of a node below this size have room for all of its rows.
SHORT = 256
#: Keys of a small node: as they come, sorted, and one larger than any.
RAW, SORTED, LARGEST = 0, 1, 2
#: Every other byte of a word.
BYTES = np.uint64(0x00FF00FF00FF00FF)
EIGHT = np.uint64(8)


@inlined
def lane(field: int, m: int) -> Any:  # pragma: no cover
    """Return the sum of column m that its word of lanes holds; it is word `word_of(m)`."""
    return np.int64((field >> np.uint64(16 * ((m & 7) >> 1))) & np.uint64(0xFFFF))


@inlined
def word_of(m: int) -> int:  # pragma: no cover
    """Return which word of lanes has column m."""
    return 2 * (m >> 3) + (m & 1)


@jit
def settle(packed: Any, sums: Any, d: int) -> None:  # pragma: no cover
    """Add lanes to the sums, and empty them."""
    for m in range(d):
        sums[m] += lane(packed[word_of(m)], m)
    packed[:] = 0


@jit
def total_in_lanes(rows: Any, a: int, b: int, total: Any) -> None:  # pragma: no cover
    """Write the sums of the bins of all rows."""
    words = rows.view(np.uint64)
    held = np.zeros(2 * words.shape[1], np.uint64)
    total[:] = 0
    for start in range(a, b, 256):
        for i in range(start, min(start + 256, b)):
            for w in range(words.shape[1]):
                held[2 * w] += words[i, w] & BYTES
                held[2 * w + 1] += (words[i, w] >> EIGHT) & BYTES
        settle(held, total, total.size)


@jit
def count_in_lanes(
    rows: Any, a: int, b: int, j0: int, j1: int, d: int, counts: Any, sums: Any, packed: Any
) -> None:  # pragma: no cover
    """Count rows by bin and add up the bins of all columns, in lanes."""
    words = rows.view(np.uint64)
    one = words.shape[1] == 1
    for i in range(a, b):
        low, high = words[i, 0] & BYTES, (words[i, 0] >> EIGHT) & BYTES
        for j in range(j0, j1):
            bin_, at = rows[i, j], j - j0
            counts[at, bin_] += 1
            packed[at, bin_, 0] += low
            packed[at, bin_, 1] += high
            if not one:
                for w in range(1, words.shape[1]):
                    packed[at, bin_, 2 * w] += words[i, w] & BYTES
                    packed[at, bin_, 2 * w + 1] += (words[i, w] >> EIGHT) & BYTES
            if counts[at, bin_] & 255 == 0:
                settle(packed[at, bin_], sums[at, bin_], d)


@jit
def count_block(
    rows: Any, a: int, b: int, j0: int, j1: int, first: Any, last: Any, places: Any, work: Any
) -> None:  # pragma: no cover
    """Fill the histograms of columns ``j0 .. j1 - 1`` over the bins of the cell."""
    d = places.shape[0]
    counts, sums, packed = work.counts, work.sums, work.packed
    summed, laned = sums.shape[2] > 0, packed.shape[2] > 0
    for j in range(j0, j1):
        low, high = first[j], last[j] + 1
        counts[j - j0, low:high] = 0
        if summed and not (laned and b - a < SHORT):
            sums[j - j0, low:high, :] = 0
        if laned:
            packed[j - j0, low:high, :] = 0
    if laned:
        count_in_lanes(rows, a, b, j0, j1, d, counts, sums, packed)
        return
    place = np.empty(d, np.int64)
    for i in range(a, b):
        if summed:
            for m in range(d):
                place[m] = places[m, rows[i, m]]
        for j in range(j0, j1):
            bin_ = rows[i, j]
            counts[j - j0, bin_] += 1
            if summed:
                for m in range(d):
                    sums[j - j0, bin_, m] += place[m]


@inlined
def groups_by_count(at: int, first: int, last: int, short: bool, work: Any) -> int:  # pragma: no cover
    """List the occupied bins of a counted column."""
    n_groups, laned = 0, work.packed.shape[2] > 0
    for bin_ in range(first, last + 1):
        size = work.counts[at, bin_]
        if size == 0:
            continue
        work.group_bin[n_groups] = bin_
        work.group_size[n_groups] = size
        if short:
            for w in range(work.packed.shape[2]):
                before = work.up_to[n_groups - 1, w] if n_groups > 0 else np.uint64(0)
                work.up_to[n_groups, w] = before + work.packed[at, bin_, w]
        else:
            for m in range(work.sums.shape[2]):
                held = lane(work.packed[at, bin_, word_of(m)], m) if laned else 0
                work.group_sums[m, n_groups] = work.sums[at, bin_, m] + held
        n_groups += 1
    return n_groups


@inlined
def sum_to_cuts(n_cuts: int, short: bool, work: Any) -> None:  # pragma: no cover
    """Write the sums of what lies to the left of every cut; doubles hold them exactly."""
    group, found = work.cut_group, work.cut_sums
    for m in range(found.shape[0]):
        running, g = 0, 0
        for c in range(n_cuts):
            if short:
                found[m, c] = lane(work.up_to[group[c], word_of(m)], m)
                continue
            while g <= group[c]:
                running += work.group_sums[m, g]
                g += 1
            found[m, c] = running


@inlined
def sorts(size: int, first: Any, last: Any) -> bool:  # pragma: no cover
    """Return whether a node is sorted: it is small, and its cell has many bins."""
    if size >= SMALL:
        return False
    width = 0
    for m in range(first.size):
        width += last[m] - first[m]
    return bool(width >= 4 * size * first.size)


@jit
def make_keys(keys: Any, largest: int) -> Any:  # pragma: no cover
    """Return room for keys, with one larger than any."""
    keys[LARGEST, 0] = largest
    return keys


@inlined
def sort_keys(rows: Any, a: int, size: int, j: int, first: int, keys: Any) -> None:  # pragma: no cover
    """Sort the rows of a small node by their bins: every key finds its place by counting the smaller ones.

    Loops of a fixed length become a few instructions on whole vectors.
    """
    for i in range(size):
        keys[RAW, i] = (np.int64(rows[a + i, j]) - first) * SMALL + i
    room = 16 if size <= 16 else 32 if size <= 32 else 48 if size <= 48 else SMALL
    for i in range(size, room):
        keys[RAW, i] = keys[LARGEST, 0]
    for i in range(size):
        key, smaller = keys[RAW, i], keys.dtype.type(0)
        if room == 16:
            for p in range(16):
                smaller = keys.dtype.type(smaller + (keys[RAW, p] < key))
        elif room == 32:
            for p in range(32):
                smaller = keys.dtype.type(smaller + (keys[RAW, p] < key))
        elif room == 48:
            for p in range(48):
                smaller = keys.dtype.type(smaller + (keys[RAW, p] < key))
        else:
            for p in range(SMALL):
                smaller = keys.dtype.type(smaller + (keys[RAW, p] < key))
        keys[SORTED, smaller] = key


@inlined
def groups_of_keys(
    rows: Any, a: int, size: int, first: int, places: Any, keys: Any, work: Any
) -> int:  # pragma: no cover
    """List the occupied bins of a column of a small node whose keys are sorted."""
    d = places.shape[0]
    laned = work.packed.shape[2] > 0
    summed = work.sums.shape[2] > 0 and not laned
    words, held = rows.view(np.uint64), work.packed[0, 0]
    held[:] = 0
    n_groups, before = -1, np.int64(-1)
    for p in range(size):
        bin_ = np.int64(keys[SORTED, p]) >> 6  # // SMALL
        i = a + (np.int64(keys[SORTED, p]) & (SMALL - 1))
        work.order[p] = i
        fresh = bin_ != before
        if fresh:
            before = bin_
            n_groups += 1
            work.group_bin[n_groups] = bin_ + first
            work.group_size[n_groups] = 0
        work.group_size[n_groups] += 1
        if laned:
            for w in range(words.shape[1]):
                held[2 * w] += words[i, w] & BYTES
                held[2 * w + 1] += (words[i, w] >> EIGHT) & BYTES
                work.up_to[n_groups, 2 * w], work.up_to[n_groups, 2 * w + 1] = held[2 * w], held[2 * w + 1]
        elif summed:
            for m in range(d):
                value = places[m, rows[i, m]]
                work.group_sums[m, n_groups] = value + (0 if fresh else work.group_sums[m, n_groups])
    return n_groups + 1
