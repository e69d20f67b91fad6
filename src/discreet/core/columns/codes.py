r"""Sets of codes such as postcodes: the texts of a public pattern or list, in the order of their signs.

A prefix is a run of neighbours, by which codes are counted, cut and printed: ``010**``. A pattern is an expression
without ``.``, ``*`` and ``+``: ``\d{5}``, ``[A-Z]\d{2}(\.\d)?``.
"""

import itertools
import re
import string
from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property, lru_cache
from os.path import commonprefix
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.arrays import FloatArray, IntArray

#: Codes of a pattern, signs of one of them, and of all together, at most.
MOST, LONGEST, SIGNS = 2**20, 64, 2**24
#: What the parts of a parsed regular expression stand for.
_PARTS: dict[str, Any] = {
    "LITERAL": lambda c: [chr(c)], "RANGE": lambda ends: map(chr, range(ends[0], ends[1] + 1)), "AT": lambda _: [""],
    "CATEGORY": lambda name: {"CATEGORY_DIGIT": string.digits}[str(name)],
}  # fmt: skip


class CodeSet:
    """Codes, numbered in their order."""

    def __init__(self, codes: Iterable[str]) -> None:
        self.codes = tuple(sorted(set(codes)))
        self.size, self.longest = len(self.codes), max(map(len, self.codes), default=0)

    @cached_property
    def _known(self) -> pa.Array:
        return pa.array(self.codes, pa.large_string()).cast(pa.large_binary())

    @cached_property
    def digits(self) -> int:
        """Length to which numbers are filled up with zeros; 0 if codes are not digits of one length."""
        return self.longest if all(c.isdigit() and len(c) == self.longest for c in self.codes) else 0

    @cached_property
    def _shared(self) -> IntArray:
        """The number of signs that each code shares with the one before; -1 for the first."""
        signs = np.array(self.codes).view(np.uint32).reshape(self.size, -1)
        return np.append(-1, np.cumprod(signs[1:] == signs[:-1], axis=1).sum(axis=1))

    def borders(self, length: int) -> IntArray:
        """Return the number of the first code of each prefix of a length, rising."""
        return np.flatnonzero(self._shared < length)

    @cached_property
    def cuts(self) -> dict[int, int]:
        """The lengths of prefixes that divide codes further, and how many prefixes there are."""
        counts = np.cumsum(np.bincount(self._shared + 1))  # by the signs that are shared, and one
        return {n: int(counts[n]) for n in range(1, len(counts)) if counts[n] > counts[n - 1] or n == 1}

    def finest(self, most: int) -> IntArray:
        """Return the first code of each prefix, for the longest prefixes that are at most so many."""
        return self.borders(max((n for n, count in self.cuts.items() if count <= most), default=0))

    def numbers(self, texts: pa.LargeBinaryArray) -> FloatArray:
        """Return the numbers of codes, NaN for other texts. If codes are digits, 1067 and 1067.0 are 01067."""
        trimmed = pc.ascii_trim_whitespace(texts.fill_null(b"").view(pa.large_string())).view(pa.large_binary())
        places = pc.index_in(trimmed, value_set=self._known)
        if self.digits and places.null_count:
            short = pc.match_substring_regex(trimmed, pattern=rf"\A[0-9]{{1,{self.digits}}}(\.0+)?\z")
            plain = pc.replace_substring_regex(pc.if_else(short, trimmed, b"").cast(pa.large_string()), r"\.0+\z", "")
            filled = pc.ascii_lpad(plain, self.digits, "0").cast(pa.large_binary())
            places = pc.coalesce(places, pc.if_else(short, pc.index_in(filled, value_set=self._known), None))
        return np.where(places.is_null(), np.nan, np.asarray(places.fill_null(0), np.float64))

    def texts(self, numbers: FloatArray) -> pa.Array:
        """Return the codes of numbers, NaN as null."""
        gone = np.isnan(numbers)
        rest = np.clip(np.where(gone, 0, numbers), 0, self.size - 1).astype(np.int64)
        return self._known.cast(pa.string()).take(pa.array(rest, mask=gone))

    def span(self, prefix: str) -> tuple[int, int] | None:
        """Return the first and the last number of the codes that begin with a text; None if there are none."""
        first, behind = (bisect_left(self.codes, end) for end in (prefix, prefix + chr(0x10FFFF)))
        return (first, behind - 1) if first < behind else None

    def label(self, first: int, last: int) -> str:
        """Return how a run of codes is printed: ``01067``, ``010**``, ``010** to 012**``, or ``*`` for all."""
        if last - first + 1 == self.size:
            return "*"
        codes = self.codes[first], self.codes[last]
        if first == last or self.span(same := commonprefix(codes)) == (first, last):  # noqa: RUF071
            return codes[0] if first == last else same.ljust(self.longest, "*")
        ends = []
        for code in codes:
            held = ((n, self.span(code[:n]) or (0, self.size)) for n in range(1, len(code) + 1))
            n, s = next(((n, s) for n, s in held if first <= s[0] and s[1] <= last), (len(code), (first, first)))
            ends.append(code if s[0] == s[1] else code[:n].ljust(self.longest, "*"))
        return " to ".join(ends)

    def meant(self, text: str) -> tuple[int, int] | None:
        """Return the first and last number that a printed or typed text stands for; None if it is none of these."""
        if " to " in text:
            low, high = map(self.meant, text.split(" to ", 1))
            return (low[0], high[1]) if low and high else None
        if text.endswith("*"):
            return self.span(text.rstrip("*"))
        found = self.numbers(pa.array([text.encode("utf-8", "surrogatepass")], pa.large_binary()))[0]
        return None if np.isnan(found) else (int(found), int(found))


@lru_cache(maxsize=16)
def code_set(pattern: str, listed: tuple[str, ...]) -> CodeSet | None:
    """Return the codes of a pattern or a list; None if these are not 2 to `MOST` codes that can be printed."""
    try:
        made = CodeSet(_texts(parser.parse(pattern)) if pattern else listed)
    except (re.error, OverflowError, KeyError, RecursionError):
        return None
    odd = "*" in pattern or any(c != c.strip() for c in made.codes) or any("*" in c or " to " in c for c in listed)
    return None if bool(pattern) == bool(listed) or odd or made.size < 2 or not made.codes[0] else made


def _texts(parsed: Iterable[Any]) -> list[str]:
    """Return all texts that a parsed regular expression fits; KeyError for parts without an end, and for others."""
    found, tail, longest = [""], "", 0
    for op, held in parsed:
        kind = str(op)
        if kind == "MAX_REPEAT":
            each, parts = _texts(held[2]), list[str]()
            for n in range(held[0], held[1] + 1):
                if n * max(1, *map(len, each)) > LONGEST or len(each) ** n + len(parts) > MOST:
                    raise OverflowError
                parts += map("".join, itertools.product(each, repeat=n))
        elif kind in ("SUBPATTERN", "BRANCH", "IN"):
            inner = held[3:] if kind == "SUBPATTERN" else held[1] if kind == "BRANCH" else [[one] for one in held]
            parts = [text for one in inner for text in _texts(one)]
        else:
            parts = list(_PARTS[kind](held))
        longest += max(map(len, parts))
        made = len(found) * len(parts)
        if made > MOST or longest > LONGEST or made * longest > SIGNS:
            raise OverflowError
        tails = [tail + part for part in parts]
        # What has one text waits for the next choice: a million codes do not grow by one sign at a time.
        found, tail = (found, tails[0]) if len(tails) == 1 else ([a + b for a in found for b in tails], "")
    return [text + tail for text in found]
