r"""Sets of codes such as postcodes: texts of a public pattern or list, numbered in the order of their signs.

A prefix is a run of neighbouring numbers, by which codes are counted, cut and printed: ``010**``. A pattern is written
as a regular expression of signs, classes and repeats: ``\d{5}``, ``[A-Z]\d{2}(\.\d)?``. Only its end may be optional.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.arrays import FloatArray, IntArray

#: A sign or a class of signs, and how often it stands there.
_ATOM = re.compile(r"(\\d|\\[^\w]|\[[^\]\\^]+\]|[\w ./:-])(?:\{(\d+)(?:,(\d+))?\}|(\?))?", re.ASCII)
_SIGNS = string.ascii_letters + string.digits + " ./:-_#+()"
#: Stands for the rest of a code. So no code may hold it.
REST = "*"


@dataclass(frozen=True)
class CodeSet:
    """The codes of a pattern (the ``signs`` that each place may have, the ``lengths`` of codes) or of a sorted list."""

    signs: tuple[str, ...] = ()
    lengths: tuple[int, ...] = ()
    listed: tuple[str, ...] = ()

    @cached_property
    def _after(self) -> list[int]:
        """By length of a prefix of the pattern, the number of codes that begin with it."""
        found = [1]
        for i in range(len(self.signs) - 1, -1, -1):
            found.insert(0, (i in self.lengths) + len(self.signs[i]) * found[0])
        return found

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.listed) or self._after[0]

    @cached_property
    def longest(self) -> int:
        """Signs of the longest code."""
        return max(map(len, self.listed)) if self.listed else len(self.signs)

    @cached_property
    def digits(self) -> int:
        """Length to which numbers are filled up with zeros; 0 if codes do not begin with digits of one length."""
        if self.listed:
            return len(self.listed[0]) if all(c.isdigit() and len(c) == self.longest for c in self.listed) else 0
        least = min(self.lengths)
        return least if all(s.isdigit() for s in self.signs[:least]) else 0

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """The lengths of prefixes that divide codes further, up to the longest code."""
        if not self.listed:
            return tuple(i for i in range(1, self.longest + 1) if len(self.signs[i - 1]) > 1 or i == self.longest)
        counts = [len(self.borders(i)) for i in range(self.longest + 1)]
        return tuple(i for i in range(1, self.longest + 1) if counts[i] > counts[i - 1]) or (self.longest,)

    def count(self, length: int) -> int:
        """Return the number of prefixes of a length; shorter codes count as such."""
        if self.listed:
            return len(self.borders(length))
        found, ended = 1, 0
        for i in range(min(length, self.longest)):
            ended += found * (i in self.lengths)
            found *= len(self.signs[i])
        return found + ended

    def borders(self, length: int) -> IntArray:
        """Return the number of the first code of each prefix of a length, rising."""
        if self.listed:
            starts = [c[:length] for c in self.listed]
            return np.flatnonzero([True, *(a != b for a, b in pairwise(starts))])
        nodes, ended = np.zeros(1, np.int64), []
        for i in range(min(length, self.longest)):
            short = i in self.lengths
            ended += [nodes] * short
            nodes = (nodes[:, None] + short + np.arange(len(self.signs[i])) * self._after[i + 1]).ravel()
        return np.sort(np.concatenate([*ended, nodes]))

    def finest(self, most: int) -> IntArray:
        """Return the first code of each prefix, of the longest prefixes that are at most so many."""
        return self.borders(max((n for n in self.cuts if self.count(n) <= most), default=0))

    def even(self, most: int) -> int:
        """Return the number of prefixes that divide the codes evenly, at most so many; ``most`` if none do."""
        fits = [] if self.listed else [n for n in map(self.count, self.cuts) if n <= most and self.size % n == 0]
        return max(fits, default=most)

    def numbers(self, texts: pa.LargeBinaryArray) -> FloatArray:
        """Return the numbers of codes, NaN for other texts.

        Codes of digits are also found if zeros at their beginning were lost: 1067 and 1067.0 are 01067.
        """
        trimmed = pc.ascii_trim_whitespace(texts.fill_null(b"").view(pa.large_string())).view(pa.large_binary())
        found = self._exact(trimmed)
        if self.digits and len(rest := np.flatnonzero(np.isnan(found))):
            held = trimmed.take(pa.array(rest))
            short = np.asarray(
                pc.match_substring_regex(held, pattern=rf"\A[0-9]{{1,{self.digits}}}(\.0+)?\z"), np.bool_
            )
            plain = pc.replace_substring_regex(held.filter(pa.array(short)).cast(pa.large_string()), r"\.0+\z", "")
            found[rest[short]] = self._exact(pc.ascii_lpad(plain, self.digits, "0").cast(pa.large_binary()))
        return found

    def _exact(self, texts: pa.LargeBinaryArray) -> FloatArray:
        if self.listed:
            places = pc.index_in(texts, value_set=self._values)
            return np.where(places.is_null(), np.nan, np.asarray(places.fill_null(0), np.float64))
        n = len(texts)
        if not n:
            return np.empty(0)
        starts = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + n + 1]
        sizes, numbers = np.diff(starts), np.zeros(n, np.int64)
        good = np.isin(sizes, self.lengths)
        letters = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
        for i, signs in enumerate(self.signs):
            table = np.full(256, -1, np.int64)
            table[list(signs.encode())] = np.arange(len(signs))
            rows = np.flatnonzero(good & (sizes > i))
            place = table[letters[starts[rows] + i]]
            numbers[rows] += (i in self.lengths) + place * self._after[i + 1]
            good[rows] = place >= 0
        return np.where(good, numbers, np.nan)

    @cached_property
    def _values(self) -> pa.Array:
        return pa.array([c.encode() for c in self.listed], pa.large_binary())

    def texts(self, numbers: FloatArray) -> pa.Array:
        """Return the codes of numbers, NaN as null."""
        gone = np.isnan(numbers)
        rest = np.clip(np.where(gone, 0, numbers), 0, self.size - 1).astype(np.int64)
        if self.listed:
            return pa.array(self.listed, pa.string()).take(pa.array(rest, mask=gone))
        letters = np.zeros((len(rest), self.longest), np.uint8)
        more = np.ones(len(rest), bool)
        for i, signs in enumerate(self.signs):
            if i in self.lengths:
                more &= rest > 0
                rest -= more
            place, rest = np.divmod(rest, self._after[i + 1])
            letters[:, i] = np.where(more, np.frombuffer(signs.encode(), np.uint8)[np.where(more, place, 0)], 0)
        return pa.array(letters.view(f"S{self.longest}").ravel().astype(str), pa.string(), mask=gone)

    def text(self, number: float) -> str:
        """Return one code."""
        if self.listed:
            return self.listed[int(number)]
        rest, code = int(number), ""
        for i, signs in enumerate(self.signs):
            if i in self.lengths:
                if not rest:
                    break
                rest -= 1
            place, rest = divmod(rest, self._after[i + 1])
            code += signs[place]
        return code

    def span(self, prefix: str) -> tuple[int, int] | None:
        """Return the first and the last number of the codes that begin with a text; None if there are none."""
        if self.listed:
            first, behind = bisect_left(self.listed, prefix), bisect_left(self.listed, prefix + chr(0x10FFFF))
            return (first, behind - 1) if first < behind else None
        first = 0
        for i, sign in enumerate(prefix):
            if i >= self.longest or sign not in self.signs[i]:
                return None
            first += (i in self.lengths) + self.signs[i].index(sign) * self._after[i + 1]
        return first, first + self._after[len(prefix)] - 1

    def label(self, first: int, last: int) -> str:
        """Return how a run of codes is printed: ``01067``, ``010**``, ``010** to 012**``, or ``*`` for all."""
        if last - first + 1 == self.size:
            return REST
        ends = []
        for code in (self.text(first), self.text(last)):
            held = ((n, self.span(code[:n])) for n in range(1, len(code) + 1))
            inside = ((n, s) for n, s in held if s and first <= s[0] and s[1] <= last)
            n, s = next(inside, (len(code), (first, first)))
            ends.append(code if s[0] == s[1] else code[:n].ljust(self.longest, REST))
            if s == (first, last):
                return ends[-1]
        return " to ".join(ends)

    def meant(self, text: str) -> tuple[int, int] | None:
        """Return the first and last number that a printed or typed text stands for; None if it is none of these."""
        if " to " in text:
            low, high = map(self.meant, text.split(" to ", 1))
            return (low[0], high[1]) if low and high else None
        if text.endswith(REST):
            return self.span(text.rstrip(REST))
        found = self.numbers(pa.array([text.encode("utf-8", "surrogatepass")], pa.large_binary()))[0]
        return None if np.isnan(found) else (int(found), int(found))


@lru_cache(maxsize=64)
def of_pattern(pattern: str) -> CodeSet | None:
    """Read a pattern; None if it is not one."""
    head, group, tail = pattern.removeprefix("^").removesuffix("$").partition("(")
    signs, lengths, at = list[str](), list[int](), 0
    while found := _ATOM.match(head, at):
        at = found.end()
        classed = _class(found[1])
        least, most = (0, 1) if found[4] else (int(found[2] or 1), int(found[3] or found[2] or 1))
        if not classed or lengths or most < max(least, 1) or len(signs) + most > 32:
            return None
        lengths = list(range(len(signs) + least, len(signs) + most + 1)) if least < most else []
        signs += [classed] * most
    if at < len(head) or not signs or (group and (lengths or not tail.endswith(")?"))):
        return None
    if group:
        more = of_pattern(tail[:-2])
        if more is None:
            return None
        lengths = [len(signs), *(len(signs) + n for n in more.lengths)]
        signs += more.signs
    made = CodeSet(tuple(signs), tuple(n for n in lengths if n) or (len(signs),))
    return made if 1 < made.size < 2**51 else None


def _class(atom: str) -> str:
    """Return the signs that an atom stands for, sorted; empty if it is not one."""
    if atom == r"\d":
        return string.digits
    if len(atom) < 3:
        return atom[-1] if atom[-1] in _SIGNS else ""
    found, body = set[str](), atom[1:-1]
    for one in re.finditer(r"(.)-(.)|(.)", body):
        found |= {one[3]} if one[3] else set(map(chr, range(ord(one[1]), ord(one[2]) + 1)))
    return "".join(sorted(found)) if found and found <= set(_SIGNS) else ""


def of_list(codes: Iterable[str]) -> CodeSet | None:
    """Sort a list of codes; None if it holds fewer than two, or a text that cannot be a code."""
    found: Sequence[str] = sorted(set(codes))
    odd = any(not c or c != c.strip() or REST in c or " to " in c or not c.isprintable() for c in found)
    return None if odd or len(found) < 2 else CodeSet(listed=tuple(found))
