"""Kernels that distinguish persons, give each row of a person a random number, and keep the smallest numbers.

All engines use these, so they keep the same rows. All integers are unsigned: Numba turns a mix of signed and unsigned
64-bit integers into floats.
"""

from typing import Any

import numpy as np

from discreet.core import inlined, jit
from discreet.noise.hashing import absorb, begin, finish

_u64 = np.uint64
_ZERO, _ONE, _R33, _R56 = _u64(0), _u64(1), _u64(33), _u64(56)
_M1, _M2 = _u64(0xFF51AFD7ED558CCD), _u64(0xC4CEB9FE1A85EC53)
_SMALL = 24
_LARGEST = _u64(2**63 - 1)
#: Words of an entry before its coordinates: the person (two), the row, and how many equal rows it stands for.
HEAD = 4


@inlined
def permuted(x: Any, k0: Any, k1: Any) -> Any:
    """Return the place of a word, or of every word of an array, in a keyed permutation."""
    x = x ^ k0
    x ^= x >> _R33
    x *= _M1
    x ^= x >> _R33
    x *= _M2
    x ^= x >> _R33
    return x ^ k1


@jit
def number_words(numbers: Any, k0: Any, k1: Any, out: Any) -> None:
    """Give every whole number a word of its own: a keyed permutation, so two of them never share one."""
    for i in range(numbers.size):
        out[i] = permuted(_u64(numbers[i]), k0, k1)


@jit
def plain_texts(data: Any, offsets: Any, numbers: Any, kinds: Any) -> None:
    """Classify texts: whole numbers in their shortest form (1), other texts that are their own key (2), the rest (0).

    A text is its own key (`discreet.engines.tables.same`) if it has visible ASCII characters and single inner blanks
    only, and is neither a number nor a word for NaN or infinity. A digit first and a colon later may be a time.
    """
    for i in range(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
        size, kinds[i] = end - start, 0
        if size == 0:
            continue
        value, first = _ZERO, start
        if data[start] == 45 and size > 1:  # a minus
            first = start + 1
        digits = end - first <= 19 and (data[first] != 48 or size == 1)
        plain, odd, colon = True, False, False
        for at in range(start, end):
            c = data[at]
            number = 48 <= c <= 57
            if at >= first:
                digits = digits and number
                if digits:
                    value = value * _u64(10) + _u64(c - 48)
            if c == 32:
                plain = plain and at > start and at + 1 < end and data[at - 1] != 32
            else:
                plain = plain and 33 <= c <= 126
            colon = colon or c == 58
            odd = odd or not (number or c == 43 or c == 45 or c == 46 or c == 69 or c == 101)
        c = data[start]
        word = size <= 9 and (c == 43 or c == 45 or c == 73 or c == 105 or c == 78 or c == 110)
        if digits and (value <= _LARGEST or (first > start and value == _LARGEST + _ONE)):
            numbers[i], kinds[i] = np.int64(_ZERO - value if first > start else value), 1
        elif plain and odd and not word and not (colon and 48 <= c <= 57):
            kinds[i] = 2


@jit
def fill_entries(x: Any, words: Any, low: Any, high: Any, own: Any, p0: Any, p1: Any, kept: Any, key: Any) -> Any:
    """Clamp coordinates in place, give every row its word, and mark the rows that a missing value drops.

    ``words`` is ``x`` as integers: the bits of clamped coordinates, with one zero and one NaN. The word of a row is
    SipHash-2-4 of person and coordinates, so equal rows of a person share it.
    """
    n, d = x.shape
    r = np.empty(n, np.uint64)
    last = _u64(8 * (d + 2)) << _R56
    for i in range(n):
        v0, v1, v2, v3 = begin(key[4], key[5])
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, p0[i])
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, p1[i])
        for j in range(d):
            value = x[i, j]
            if value != value:
                if not own[j]:
                    kept[i] = False
                x[i, j] = np.nan
            elif value < low[j]:
                x[i, j] = low[j]
            elif value > high[j]:
                x[i, j] = high[j]
            elif value == 0.0:
                x[i, j] = 0.0
            v0, v1, v2, v3 = absorb(v0, v1, v2, v3, words[i, j])
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, last)
        r[i] = finish(v0, v1, v2, v3)
    return r


@jit
def part_entries(p0: Any, p1: Any, r: Any, words: Any, kept: Any, bits: int) -> Any:
    """Lay kept rows out as entries, ordered by the first bits of their person; return also where each part begins."""
    shift = _u64(64 - bits)
    starts = np.zeros((1 << bits) + 1, np.int64)
    for i in range(p0.size):
        if kept[i]:
            starts[np.int64(p0[i] >> shift) + 1] += 1
    for part in range(1 << bits):
        starts[part + 1] += starts[part]
    places = starts.copy()
    d = words.shape[1]
    out = np.empty((starts[-1], HEAD + d), np.uint64)
    for i in range(p0.size):
        if kept[i]:
            part = int(p0[i] >> shift)
            at = places[part]
            places[part] = at + 1
            out[at, 0], out[at, 1], out[at, 2], out[at, 3] = p0[i], p1[i], r[i], _ONE
            for j in range(d):
                out[at, HEAD + j] = words[i, j]
    return out, starts


@jit
def group_words(p1: Any, words: Any, columns: Any, key: Any) -> Any:
    """Return a word for every group of a person: a hash of the second word of the person and the group's columns."""
    out = np.empty(p1.size, np.uint64)
    last = _u64(8 * (columns.size + 1)) << _R56
    for i in range(p1.size):
        v0, v1, v2, v3 = begin(key[2], key[3])
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, p1[i])
        for j in columns:
            v0, v1, v2, v3 = absorb(v0, v1, v2, v3, words[i, j])
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, last)
        out[i] = finish(v0, v1, v2, v3)
    return out


@jit
def _after(a: Any, b: Any, p0: Any, p1: Any, r: Any) -> Any:
    if p0[a] != p0[b]:
        return p0[a] > p0[b]
    if p1[a] != p1[b]:
        return p1[a] > p1[b]
    return r[a] > r[b]


@jit
def sort_entries(p0: Any, p1: Any, r: Any) -> Any:
    """Return the order of entries by person and row.

    Entries are sorted by sixteen bits of the person first. Small groups are then sorted by insertion, large ones by
    merging, so persons with many rows do not make it slow.
    """
    n = p0.size
    order, spare = np.arange(n), np.empty(n, np.int64)
    for shift in (40, 48):
        places = np.zeros(257, np.int64)
        for i in range(n):
            places[np.int64((p0[i] >> _u64(shift)) & _u64(255)) + 1] += 1
        for digit in range(256):
            places[digit + 1] += places[digit]
        for i in range(n):
            at = order[i]
            digit = int((p0[at] >> _u64(shift)) & _u64(255))
            spare[places[digit]] = at
            places[digit] += 1
        order, spare = spare, order
    first = 0
    while first < n:
        end, top = first + 1, (p0[order[first]] >> _u64(40)) & _u64(65535)
        while end < n and (p0[order[end]] >> _u64(40)) & _u64(65535) == top:
            end += 1
        if end - first <= _SMALL:
            for i in range(first + 1, end):
                moved, at = order[i], i
                while at > first and _after(order[at - 1], moved, p0, p1, r):
                    order[at] = order[at - 1]
                    at -= 1
                order[at] = moved
        else:
            piece = order[first:end].copy()
            piece = piece[np.argsort(r[piece], kind="mergesort")]
            piece = piece[np.argsort(p1[piece], kind="mergesort")]
            places = np.argsort(p0[piece], kind="mergesort")
            for i in range(first, end):  # one by one: Numba compiles the error of a wrong shape for two seconds
                order[i] = piece[places[i - first]]
        first = end
    return order


@jit
def merge_equal(order: Any, p0: Any, p1: Any, r: Any, counts: Any) -> Any:
    """Return, of sorted entries, one of each and how many equal rows all of its kind stand for."""
    kept, sums = np.empty(order.size, np.int64), np.empty(order.size, np.uint64)
    n = 0
    for i in range(order.size):
        at = order[i]
        if n and p0[at] == p0[kept[n - 1]] and p1[at] == p1[kept[n - 1]] and r[at] == r[kept[n - 1]]:
            sums[n - 1] += counts[at]
        else:
            kept[n], sums[n] = at, counts[at]
            n += 1
    return kept[:n], sums[:n]


@jit
def rows_of_persons(order: Any, p0: Any, p1: Any, counts: Any, most: int) -> Any:
    """Count persons by how many rows they have: entry i is for i + 1 rows, the last for ``most`` or more."""
    found = np.zeros(most, np.int64)
    rows = _ZERO
    for i in range(order.size):
        at = order[i]
        rows += counts[at]
        if i + 1 == order.size or p0[order[i + 1]] != p0[at] or p1[order[i + 1]] != p1[at]:
            found[np.int64(min(rows, _u64(most))) - 1] += 1
            rows = _ZERO
    return found


@jit
def keep_smallest(kept: Any, sums: Any, p0: Any, p1: Any, r: Any, limit: int, key: Any) -> Any:
    """Keep the rows of every person with the ``limit`` smallest random numbers.

    Of m equal rows, number 0 uses the word of the row, number j > 0 a SipHash of that word and j. Return the entries of
    the kept rows (repeated if kept more than once) and their random numbers.
    """
    out, ranks = np.empty(min(kept.size * 2, 1 << 12) + limit, np.int64), np.empty(0, np.uint64)
    ranks = np.empty(out.size, np.uint64)
    n, first = 0, 0
    tail = _u64(16) << _R56
    while first < kept.size:
        end, begun = first, n
        while end < kept.size and p0[kept[end]] == p0[kept[first]] and p1[kept[end]] == p1[kept[first]]:
            at, number = kept[end], _ZERO
            while number < sums[end]:
                rank = r[at]
                if number > _ZERO:
                    v0, v1, v2, v3 = begin(key[6], key[7])
                    v0, v1, v2, v3 = absorb(v0, v1, v2, v3, r[at])
                    v0, v1, v2, v3 = absorb(v0, v1, v2, v3, number)
                    v0, v1, v2, v3 = absorb(v0, v1, v2, v3, tail)
                    rank = finish(v0, v1, v2, v3)
                number += _ONE
                if n - begun == limit:  # a heap with the largest first, replaced at the root
                    if rank >= ranks[begun]:
                        continue
                    place = 0
                    while True:
                        child = 2 * place + 1
                        if child >= limit:
                            break
                        if child + 1 < limit and ranks[begun + child + 1] > ranks[begun + child]:
                            child += 1
                        if ranks[begun + child] <= rank:
                            break
                        ranks[begun + place], out[begun + place] = ranks[begun + child], out[begun + child]
                        place = child
                    ranks[begun + place], out[begun + place] = rank, at
                    continue
                if n == out.size:
                    out, ranks = np.append(out, np.empty_like(out)), np.append(ranks, np.empty_like(ranks))
                place = n - begun
                n += 1
                while place > 0 and ranks[begun + (place - 1) // 2] < rank:
                    above = (place - 1) // 2
                    ranks[begun + place], out[begun + place] = ranks[begun + above], out[begun + above]
                    place = above
                ranks[begun + place], out[begun + place] = rank, at
            end += 1
        first = end
    return out[:n].copy(), ranks[:n].copy()
