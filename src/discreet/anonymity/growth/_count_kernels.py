"""Count the rows of a node by bin, with the sums that the criteria need; sort the rows of a small node.

If the place of a bin is its number and a row is bytes in whole words, sums are added in *lanes*: every other byte of a
word in a field of 16 bits, so that two additions serve eight columns. A field holds the sum of 256 bytes; then it is
added to the real sums.

Arguments that are None are branches that are not compiled: ``sums`` if the criterion needs none, ``packed`` and
``up_to`` without lanes.
"""

from typing import Any

import numpy as np

from discreet.core import inlined, jit

#: Nodes below this size may be sorted, not counted.
SMALL = 64
#: The lanes of a node below this size have room for all of its rows.
SHORT = 256
#: The counts of a node of at least this size are kept: of its sides only the smaller one is counted then.
KEPT = 512
#: Keys of a small node: as they come, sorted, and one larger than any.
RAW, SORTED, LARGEST = 0, 1, 2
#: Rows of whole numbers: bin and size of a group; bin, records and last group to the left of a cut; where the next row
#: of a bin goes; sums of a group by column.
GROUP_BIN, GROUP_SIZE, CUT_BIN, CUT_LEFT, CUT_GROUP, SLOT, GROUP_SUMS = 0, 1, 2, 3, 4, 5, 6
#: Rows of fractions: share of the cell to the left of a cut, its gain, its tie-break; sums to the left by column.
SHARE, GAIN, TIE, CUT_SUMS = 0, 1, 2, 3
#: Of a node, by column: sums of places, lowest and highest bins, the columns in turn; and the places of one row.
TOTAL, LOWEST, HIGHEST, TURN, PLACE = 0, 1, 2, 3, 4
#: Every other byte of a word.
BYTES = np.uint64(0x00FF00FF00FF00FF)
EIGHT = np.uint64(8)


@inlined
def lane(field: int, m: int) -> Any:
    """Return the sum of column m that its word of lanes holds; it is word `word_of(m)`."""
    return np.int64((field >> np.uint64(16 * ((m & 7) >> 1))) & np.uint64(0xFFFF))


@inlined
def word_of(m: int) -> int:
    return 2 * (m >> 3) + (m & 1)


@inlined
def settle(packed: Any, sums: Any, d: int) -> None:
    """Add lanes to the sums, and empty them."""
    for m in range(d):
        sums[m] += lane(packed[word_of(m)], m)
    for w in range(packed.size):
        packed[w] = 0


@inlined
def count_in_lanes(
    rows: Any, words: Any, a: int, b: int, j0: int, j1: int, d: int, counts: Any, sums: Any, slot: int, packed: Any
) -> None:
    one = words.shape[1] == 1
    for i in range(a, b):
        low, high = words[i, 0] & BYTES, (words[i, 0] >> EIGHT) & BYTES
        for j in range(j0, j1):
            bin_, at = rows[i, j], j - j0
            counts[slot, at, bin_] += 1
            packed[at, bin_, 0] += low
            packed[at, bin_, 1] += high
            if not one:
                for w in range(1, words.shape[1]):
                    packed[at, bin_, 2 * w] += words[i, w] & BYTES
                    packed[at, bin_, 2 * w + 1] += (words[i, w] >> EIGHT) & BYTES
            if counts[slot, at, bin_] & 255 == 0:
                settle(packed[at, bin_], sums[slot, at, bin_], d)


@inlined
def count_block(
    rows: Any, words: Any, a: int, b: int, j0: int, j1: int, cells: Any, top: int, places: Any, node: Any,
    counts: Any, sums: Any, slot: int, packed: Any,
) -> None:  # fmt: skip
    """Fill the histograms of columns ``j0 .. j1 - 1`` over the bins of the cell ``cells[top]``, at a place of many."""
    d = cells.shape[2]
    for j in range(j0, j1):
        for p in range(cells[top, 0, j], cells[top, 1, j] + 1):
            counts[slot, j - j0, p] = 0
            if sums is not None and (packed is None or b - a >= SHORT):
                for m in range(d):
                    sums[slot, j - j0, p, m] = 0
            if packed is not None:
                for w in range(packed.shape[2]):
                    packed[j - j0, p, w] = 0
    if packed is not None:
        count_in_lanes(rows, words, a, b, j0, j1, d, counts, sums, slot, packed)
    else:
        for i in range(a, b):
            if sums is not None:
                for m in range(d):
                    node[PLACE, m] = places[m, rows[i, m]]
            for j in range(j0, j1):
                bin_ = rows[i, j]
                counts[slot, j - j0, bin_] += 1
                if sums is not None:
                    for m in range(d):
                        sums[slot, j - j0, bin_, m] += node[PLACE, m]


@inlined
def keep_counts(
    rows: Any, words: Any, a: int, b: int, cells: Any, top: int, places: Any, node: Any, n_sensitive: int,
    counts: Any, sums: Any, slot: int, packed: Any, tallies: Any,
) -> None:  # fmt: skip
    """Count a node so that its counts can be kept and subtracted: nothing is left in lanes."""
    d = cells.shape[2]
    count_block(rows, words, a, b, 0, d, cells, top, places, node, counts, sums, slot, packed)
    if packed is not None:
        for j in range(d):
            for p in range(cells[top, 0, j], cells[top, 1, j] + 1):
                if b - a < SHORT:  # not emptied before
                    for m in range(d):
                        sums[slot, j, p, m] = 0
                settle(packed[j, p], sums[slot, j, p], d)
    if tallies is not None:
        for s in range(tallies.shape[1]):
            tallies[slot, s] = 0
        for i in range(a, b):
            for q in range(d, d + n_sensitive):
                tallies[slot, rows[i, q]] += 1


@inlined
def take_counts(cells: Any, top: int, but: int, counts: Any, sums: Any, tallies: Any, slot: int, fewer: int) -> None:
    """Subtract counts over a cell. In the column of the cut, ``but``, the cell has its bins to itself."""
    d = cells.shape[2]
    for j in range(d):
        if j == but:
            continue
        for p in range(cells[top, 0, j], cells[top, 1, j] + 1):
            counts[slot, j, p] -= counts[fewer, j, p]
            if sums is not None:
                for m in range(d):
                    sums[slot, j, p, m] -= sums[fewer, j, p, m]
    if tallies is not None:
        for s in range(tallies.shape[1]):
            tallies[slot, s] -= tallies[fewer, s]


@inlined
def groups_by_count(
    at: int, first: int, last: int, short: bool, counts: Any, sums: Any, slot: int, packed: Any, up_to: Any, held: Any
) -> int:
    n_groups = 0
    for bin_ in range(first, last + 1):
        size = counts[slot, at, bin_]
        if size == 0:
            continue
        held[GROUP_BIN, n_groups] = bin_
        held[GROUP_SIZE, n_groups] = size
        if packed is not None:
            if short:
                for w in range(packed.shape[2]):
                    before = up_to[n_groups - 1, w] if n_groups > 0 else np.uint64(0)
                    up_to[n_groups, w] = before + packed[at, bin_, w]
            else:
                for m in range(sums.shape[3]):
                    # Counts that are kept have no lanes: these are of another node.
                    more = lane(packed[at, bin_, word_of(m)], m) if slot == counts.shape[0] - 1 else 0
                    held[GROUP_SUMS + m, n_groups] = sums[slot, at, bin_, m] + more
        elif sums is not None:
            for m in range(sums.shape[3]):
                held[GROUP_SUMS + m, n_groups] = sums[slot, at, bin_, m]
        n_groups += 1
    return n_groups


@inlined
def sum_to_cuts(n_cuts: int, d: int, short: bool, up_to: Any, held: Any, rated: Any) -> None:
    """Write the sums of what lies to the left of every cut; doubles hold them exactly."""
    for m in range(d):
        running, g = 0, 0
        for c in range(n_cuts):
            if up_to is not None and short:
                rated[CUT_SUMS + m, c] = lane(up_to[held[CUT_GROUP, c], word_of(m)], m)
                continue
            while g <= held[CUT_GROUP, c]:
                running += held[GROUP_SUMS + m, g]
                g += 1
            rated[CUT_SUMS + m, c] = running


@inlined
def sorts(size: int, cells: Any, top: int) -> bool:
    """Return whether a node is sorted: it is small, and its cell has many bins."""
    if size >= SMALL:
        return False
    width = 0
    for m in range(cells.shape[2]):
        width += cells[top, 1, m] - cells[top, 0, m]
    return bool(width >= 4 * size * cells.shape[2])


def make_keys(n_bins: int) -> Any:
    """Return room for keys, with one larger than any; short ones if there are few bins."""
    kind = np.uint16 if n_bins <= 1 << 10 else np.uint32
    keys = np.zeros((3, SMALL), kind)
    keys[LARGEST, 0] = np.iinfo(kind).max
    return keys


@jit
def sort_keys(rows: Any, a: int, size: int, j: int, first: int, keys: Any) -> None:
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
    rows: Any, words: Any, a: int, size: int, first: int, places: Any, keys: Any, order: Any, sums: Any, up_to: Any,
    held: Any,
) -> int:  # fmt: skip
    """List the occupied bins of a column of a small node whose keys are sorted."""
    n_groups, before = -1, np.int64(-1)
    if up_to is not None:
        last = up_to.shape[0] - 1  # so many groups there are not
        for w in range(up_to.shape[1]):
            up_to[last, w] = 0
    for p in range(size):
        bin_ = np.int64(keys[SORTED, p]) >> 6  # // SMALL
        i = a + (np.int64(keys[SORTED, p]) & (SMALL - 1))
        order[p] = i
        fresh = bin_ != before
        if fresh:
            before = bin_
            n_groups += 1
            held[GROUP_BIN, n_groups] = bin_ + first
            held[GROUP_SIZE, n_groups] = 0
        held[GROUP_SIZE, n_groups] += 1
        if up_to is not None:
            for w in range(words.shape[1]):
                up_to[last, 2 * w] += words[i, w] & BYTES
                up_to[last, 2 * w + 1] += (words[i, w] >> EIGHT) & BYTES
                up_to[n_groups, 2 * w] = up_to[last, 2 * w]
                up_to[n_groups, 2 * w + 1] = up_to[last, 2 * w + 1]
        elif sums is not None:
            for m in range(sums.shape[3]):
                value = places[m, rows[i, m]]
                held[GROUP_SUMS + m, n_groups] = value + (0 if fresh else held[GROUP_SUMS + m, n_groups])
    return n_groups + 1
