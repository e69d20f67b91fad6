"""Private counts of different items: a bitmap with flipped bits.

Hehir, Ting, Cormode, "Sketch-Flip-Merge: Mergeable Sketches for Private Distinct Counting" (ICML 2023). Central model:
a holder of data publishes one bitmap of its items. An item sets one bit of many, and a coin on every bit hides it. (A
register of HyperLogLog is a maximum: its noise would be as large as the register.)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import noise
from discreet.core import (
    PERSON,
    PERSON_NEIGHBOURS,
    BoolArray,
    DeclaredValue,
    FloatArray,
    Person,
    WordArray,
    checks,
    option,
)
from discreet.core.budget import Epsilon, Wanted
from discreet.engines.tables import person_key
from discreet.errors import InvalidArgument
from discreet.local.distinct.bitmaps import FlippedBitmap
from discreet.local.distinct.items import item_column, item_words
from discreet.local.distinct.likelihood import PatternLaw
from discreet.local.mechanism import KEY, MOST_REPORTS, REPORT_EPSILON, SMALLEST_EPSILON, local_budget, public_key
from discreet.local.wire.bits import Rows
from discreet.local.wire.parameters import from_plain, to_plain, written_budget
from discreet.mechanisms import Gate, flipped_bits
from discreet.noise import PublicRandomness


class DistinctSketch(DeclaredValue):
    """Count different items with privacy: public settings that all holders share.

    Privacy
    -------
    Neighbours: add or remove one item, with all its rows; with ``items``, one person with all their rows. An item sets
    exactly one bit, however often it occurs and however it is spelled: the hash of its key gives one bucket and one
    level (``7``, `` 7`` and ``7.0`` have one key, `discreet.engines.tables.same`). Without it the bitmap differs in at
    most one bit. A person sets at most ``items`` bits. Which items of a person are used depends on their own rows and a
    random key only. Every bit is flipped with probability 1/(1 + e^e), e = ε/items, by an exact coin: the ratio is at
    most e^e per bit and e^ε in total. Price: ε per bitmap. Bitmaps of several holders or days add up for anyone who is
    in several of them.

    Nothing depends on the number of rows or items: the bitmap has a fixed size, no row causes an error, and missing
    items are left out. The key is public; privacy does not depend on it.

    Examples
    --------
    >>> m = DistinctSketch(1.0, buckets=1024, key=7)
    >>> clinic = m.sketch(["ann", "bob", "ann"] + [f"p{i}" for i in range(20_000)], rng=1)
    >>> found = clinic.estimate()
    >>> bool(abs(found.count - 20_002) < 2 * found.std_error), round(m.std_error(20_002))
    (True, 1088)
    >>> print(clinic.guarantee.unit)
    one item, with all its rows
    """

    NAME = "distinct-sketch"

    epsilon: Any = replace(REPORT_EPSILON, help="Budget of one bitmap: for one item, or with ``items`` for one person.")
    buckets: int = option(
        default=4096, low=8, high=2**24, help="Number of bits per level, a power of two.",
        details=(
            "Relative errors of large counts fall with its square root, absolute errors of small counts grow with it; "
            "see `std_error`."
        ),
    )  # fmt: skip
    levels: int = option(
        default=24, low=1, high=40, help="Number of levels, each with half as many items as the one before.",
        details="Counts up to about buckets times 2^levels can be distinguished.",
    )  # fmt: skip
    items: Any = option(
        default=None, takes="whole", low=1, high=2**20,
        help="Largest number of different items that are used per person.",
        details="The unit of privacy is then a person, and `sketch` needs to know whose item it is. None: an item.",
    )  # fmt: skip
    key: Any = replace(KEY, details="None draws one. Bitmaps can be compared only if they were made with one key.")

    def __post_init__(self) -> None:
        checked = self.read_options()
        wide, most = checked["buckets"], checked["items"]
        if wide & (wide - 1):
            raise InvalidArgument("buckets", wide, "a power of two", f"buckets={2 ** (wide.bit_length() - 1)}")
        checked |= {"epsilon": local_budget("epsilon", self.epsilon), "key": public_key(self.key)}
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if most is not None:  # the budget of a bit must not be too small either
            if self.exact < most * SMALLEST_EPSILON:
                least = f"{float(SMALLEST_EPSILON):g}"
                expected = f"so few that each has at least {least} of epsilon={float(self.exact):g}"
                raise InvalidArgument("items", most, expected, f"items={self.exact // SMALLEST_EPSILON}")
            local_budget("epsilon", self.exact / most)

    @property
    def exact(self) -> Fraction:
        """The budget as an exact number."""
        return Fraction(self.epsilon.exact)

    @property
    def unit(self) -> str:
        """The unit of privacy."""
        return "one item, with all its rows" if self.items is None else f"{PERSON} (at most {self.items:,} items used)"

    @property
    def neighbours(self) -> str:
        """The neighbour relation."""
        return PERSON_NEIGHBOURS if self.items is not None else "add or remove one item, with all its rows"

    @cached_property
    def rates(self) -> FloatArray:
        """The probability that an item sets one given bit, by level."""
        levels = np.minimum(np.arange(1, self.levels + 1), self.levels - 1)
        return np.asarray(0.5**levels / self.buckets)

    def at(self, epsilon: Fraction) -> DistinctSketch:
        """Return the same settings with another budget."""
        return self if epsilon == self.exact else replace(self, epsilon=epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return to_plain(self)

    @classmethod
    def from_dict(cls, facts: Any) -> DistinctSketch:
        """Rebuild settings from `to_dict`."""
        return from_plain(cls, facts)

    @staticmethod
    def read(text: Any) -> Fraction:
        """Read a budget of a header."""
        return Fraction(local_budget("epsilon", written_budget("epsilon", text)).exact)

    def std_error(self, n: float, *, merged: int = 1) -> float:
        """Return the expected standard error of a count of ``n`` items, from one bitmap or a merged one.

        Examples
        --------
        >>> [round(DistinctSketch(1.0, key=7).std_error(10**power)) for power in (2, 4, 6, 8)]
        [108, 279, 27416, 2743739]
        """
        size, parts = checks.finite("n", n), checks.whole("merged", merged, low=1)
        if size < 0:
            raise InvalidArgument("n", n, "a number of at least 0", "n=1000")
        bitmap = FlippedBitmap(self, np.zeros((0, 0), np.uint8), epsilons=[self.exact] * parts, seeded=False)
        law = PatternLaw(self.rates, self.buckets, np.array([bitmap.flip]))
        variance = float(law.covariance(np.array([size]))[0, 0])
        return float(np.sqrt(max(variance, 0.0)))

    def sketch(self, items: Any, persons: Any = None, *, ledger: Any = None, rng: object = None) -> FlippedBitmap:
        """Make the bitmap of a holder's items, which may be published.

        Parameters
        ----------
        items : list, array, Arrow array or series; or an iterator of these
            Numbers, text or bytes, in any order, any number of times. Missing ones are left out. Equal numbers, also as
            text, are one item. An iterator is read part by part.
        persons : the same, optional
            Whose item it is, if a person is the unit. Items without a person are left out.
        ledger : Ledger or Account, optional
            Charged before the items are read.
        rng : None, int or Generator
            None uses the operating system's entropy. Anything else marks the bitmap as seeded.
        """
        if (persons is None) != (self.items is None):
            expected = "given: one per item" if persons is None else "None, as the unit is an item"
            fix = "persons=users" if persons is None else "DistinctSketch(epsilon, items=8)"
            raise InvalidArgument("persons", "None" if persons is None else "given", expected, fix)
        unit: Any = "row"
        if self.items is not None:  # an account of rows refuses a promise to persons, and the other way round
            unit = Person(getattr(ledger, "person", None) or "persons", rows=self.items)
        wanted, job = Wanted(Epsilon(self.exact)), "distinct items"
        gate = Gate.open(wanted, unit=unit, random_state=rng, ledger=ledger, job=job)
        bits = np.zeros(self.levels * self.buckets, bool)
        if persons is not None:
            self._set(bits, self._used(items, persons, gate.free))
            gate.bound(unit)
        else:
            for part in items if isinstance(items, Iterator) else (items,):
                self._set(bits, self._words(part))
        rows = np.packbits(bits.reshape(self.levels, -1), axis=1, bitorder="little")
        rows = flipped_bits(gate, job, rows, gate.left.pure())
        made = FlippedBitmap(self, rows, seeded=gate.seeded)
        gate.book(replace(gate.promise({}), digest=f"sha256:{hashlib.sha256(made.to_bytes()).hexdigest()}"))
        return made

    def _words(self, items: Any) -> WordArray:
        words, missing = item_words(items, self.key)
        return words[~missing]

    def _set(self, bits: BoolArray, words: WordArray) -> None:
        """Set the bit of every item: low bits of its fingerprint are the bucket, the next ones the level."""
        bucket = (words & np.uint64(self.buckets - 1)).astype(np.int64)
        rest = words >> np.uint64(self.buckets.bit_length() - 1)
        # Ones below the lowest one: how often in a row a fair coin came down tails.
        level = np.bitwise_count((rest & (~rest + np.uint64(1))) - np.uint64(1))
        bits[np.minimum(level.astype(np.int64), self.levels - 1) * self.buckets + bucket] = True

    def _used(self, items: Any, persons: Any, random: PublicRandomness) -> WordArray:
        """Return the items that are used: those of each person with the smallest keyed hash."""
        whole = not isinstance(items, Iterator)
        pairs = [(items, persons)] if whole else zip_longest(items, persons, fillvalue=[])
        parts = [(*item_words(i, self.key), person_key(item_column(p, "persons"))) for i, p in pairs]
        parts = parts or [(*item_words([], self.key), person_key([]))]
        words, missing = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        whose = pa.concat_arrays([part[2] for part in parts])
        if len(whose) != len(words):
            raise InvalidArgument("persons", "another number", "one person per item", "persons of the same rows")
        known = np.asarray(whose.is_valid()) & ~missing
        names = whose.filter(known).dictionary_encode()
        person, words = np.asarray(names.indices, np.int64), words[known]
        secret = random.root()
        own = noise.fingerprint(names.dictionary, secret)[person]
        rank = noise.fingerprint(own ^ words, secret)
        order = np.lexsort((words, rank, person))
        person, words = person[order], words[order]
        new = np.append(True, (person[1:] != person[:-1]) | (words[1:] != words[:-1]))[: len(words)]
        person, words = person[new], words[new]
        used: WordArray = words[np.arange(len(words)) - np.searchsorted(person, person) < self.items]
        return used

    def sketch_law(self, items: Any) -> tuple[Rows, FloatArray]:
        """Return every bitmap, packed and flat, and its probability given the items; for small settings."""
        size = self.levels * self.buckets
        if size > 20 or self.items is not None:
            raise InvalidArgument("buckets", self.buckets, f"so small that there are at most {MOST_REPORTS} bitmaps")
        bits = np.zeros(size, bool)
        self._set(bits, self._words(items))
        patterns = (np.arange(2**size)[:, None] >> np.arange(size) & 1).astype(np.uint8)
        flip = FlippedBitmap(self, bits, seeded=False).flip
        chances = np.where(patterns == bits, 1 - flip, flip).prod(axis=1)
        return np.packbits(patterns, axis=1, bitorder="little"), chances
