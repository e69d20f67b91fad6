"""The functions of `kernels` for few rows, with NumPy: compiling those takes seconds. The results are the same."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import IntArray, WordArray
from discreet.engines.persons import kernels
from discreet.noise.hashing import absorb, begin, finish

_NUMBER, _TEXT = r"^(0|-?[1-9][0-9]{0,18})$", r"^[!-~]+( [!-~]+)*$"
#: Words for NaN and infinity, if they are short; times of day.
_WORD, _TIME = r"^[-+IiNn]", r"^[0-9].*:"


def _hash(k0: Any, k1: Any, *columns: WordArray) -> WordArray:
    """Return SipHash-2-4 of every row of words."""
    v0, v1, v2, v3 = (np.full(len(columns[0]), word) for word in begin(k0, k1))  # arrays: absorbed in place
    for words in (*columns, np.uint64(8 * len(columns)) << np.uint64(56)):
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, words)
    return np.asarray(finish(v0, v1, v2, v3), np.uint64)


def number_words(numbers: IntArray, k0: Any, k1: Any, out: WordArray) -> None:
    out[:] = kernels.permuted(numbers.view(np.uint64), k0, k1)


def plain_texts(data: Any, offsets: Any, numbers: Any, kinds: Any) -> None:
    places = pa.py_buffer(np.ascontiguousarray(offsets))
    texts = pa.LargeStringArray.from_buffers(len(kinds), places, pa.py_buffer(data))
    own, word, whole = (pc.match_substring_regex(texts, pattern) for pattern in (_TEXT, _WORD, _NUMBER))
    own = pc.and_not(own, pc.and_(word, pc.less_equal(pc.binary_length(texts), 9)))
    own = pc.and_not(own, pc.match_substring_regex(texts, _TIME))
    own = pc.and_(own, pc.match_substring_regex(texts, r"[^-+0-9.Ee]"))
    kinds[:] = np.where(own.to_numpy(zero_copy_only=False), 2, 0)
    for i in np.flatnonzero(whole.to_numpy(zero_copy_only=False)).tolist():
        if -(2**63) <= (value := int(texts[i].as_py())) < 2**63:
            numbers[i], kinds[i] = value, 1


def fill_entries(x: Any, words: Any, low: Any, high: Any, own: Any, p0: Any, p1: Any, kept: Any, key: Any) -> Any:
    gone = np.isnan(x)
    kept &= ~(gone & ~own).any(axis=1)
    x[:] = np.where(gone, np.nan, np.where(x < low, low, np.where(x > high, high, x + 0.0)))
    return _hash(key[4], key[5], p0, p1, *words.T)


def part_entries(p0: Any, p1: Any, r: Any, words: Any, kept: Any, bits: int) -> Any:
    parts = (p0 >> np.uint64(64 - bits)).astype(np.int64)[kept]
    order = np.flatnonzero(kept)[np.argsort(parts, kind="stable")]
    starts = np.append(0, np.cumsum(np.bincount(parts, minlength=1 << bits)))
    return np.column_stack([p0, p1, r, np.ones_like(r), words])[order], starts


def group_words(p1: Any, words: Any, columns: Any, key: Any) -> Any:
    return _hash(key[2], key[3], p1, *words[:, columns].T)


def sort_entries(p0: Any, p1: Any, r: Any) -> Any:
    return np.lexsort((r, p1, p0))  # all entries of one part share their first bits, which the kernel leaves out


def merge_equal(order: Any, p0: Any, p1: Any, r: Any, counts: Any) -> Any:
    new = np.ones(len(order), np.bool_)
    new[1:] = np.any([word[order[1:]] != word[order[:-1]] for word in (p0, p1, r)], axis=0)
    first = np.flatnonzero(new)
    return order[first], np.add.reduceat(counts[order], first) if len(first) else counts[:0]


def rows_of_persons(order: Any, p0: Any, p1: Any, counts: Any, most: int) -> Any:
    _, rows = merge_equal(order, p0, p1, np.zeros_like(p0), counts)
    return np.bincount(np.minimum(rows.astype(np.int64), most) - 1, minlength=most)


def keep_smallest(kept: Any, sums: Any, p0: Any, p1: Any, r: Any, limit: int, key: Any) -> Any:
    """Number equal rows and hash them all; then each is an entry for the text of the kernel, which chooses."""
    often = sums.astype(np.int64)
    number = np.arange(often.sum()) - np.repeat(np.cumsum(often) - often, often)
    at = np.repeat(kept, often)
    ranks = np.where(number == 0, r[at], _hash(key[6], key[7], r[at], number.astype(np.uint64)))
    choose = getattr(kernels.keep_smallest, "py_func", kernels.keep_smallest)
    chosen, ranks = choose(np.arange(len(at)), np.ones(len(at), np.uint64), p0[at], p1[at], ranks, limit, key)
    return at[chosen], ranks
