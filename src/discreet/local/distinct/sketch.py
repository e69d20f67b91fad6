"""How many different items there are, counted with privacy: a bitmap whose bits are flipped.

Hehir, Ting, Cormode, "Sketch-Flip-Merge: Mergeable Sketches for Private Distinct Counting" (ICML 2023). In the central
model: a holder of data (a clinic, a shop, a day) makes one bitmap of its items and gives it away; anybody can then
merge bitmaps of several holders, and ask how many items are in one and in another, or in one and not in another.

Why bitmaps. A private HyperLogLog would need noise on its registers, and a register is a maximum: one item alone can
lift it from 0 to its full height, so noise that hides one item would have to be as large as a register can be. Here an
item sets one bit of many, and a coin on every bit hides it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import noise
from discreet.core import PERSON, PERSON_NEIGHBOURS, BoolArray, FloatArray, Person, WordArray, checks
from discreet.core.budget import Epsilon, Wanted
from discreet.engines.tables import person_key
from discreet.errors import DiscreetError, FormatError, InvalidArgument
from discreet.local.distinct.bitmaps import FlippedBitmap
from discreet.local.distinct.items import item_column, item_words
from discreet.local.distinct.likelihood import PatternLaw
from discreet.local.mechanism import MOST_REPORTS, SMALLEST_EPSILON, local_budget, public_key, written_budget
from discreet.local.wire.bits import Rows
from discreet.mechanisms import Gate, flipped_bits
from discreet.noise import PublicRandomness

_MOST_BUCKETS, _MOST_LEVELS, _MOST_ITEMS = 2**24, 40, 2**20


@dataclass(frozen=True)
class DistinctSketch:
    """Count different items with privacy: public settings that all holders share.

    Parameters
    ----------
    epsilon : float
        Budget of one bitmap: for one item, or with ``items`` for one person.
    buckets : int, default 4096
        Bits of a level, a power of two from 8. Relative errors of large counts fall with the root of it, absolute
        errors of small counts grow with the root of it; see `std_error`.
    levels : int, default 24
        How many levels there are; a level has half as many items as the one before. Counts up to about buckets times
        2^levels can be told apart.
    items : int, optional
        If the unit of privacy is a person: at most this many different items of each are used, and `sketch` is told
        whose item it is. None: the unit is an item. If items are persons (a count of different patients), that is a
        person.
    key : int, optional
        Public key of the hash; drawn if None. Bitmaps can be compared only if they were made with one key.

    Privacy
    -------
    Neighbours: add or remove one item, with all its rows; with ``items``, one person with all their rows. An item sets
    one bit, however often it occurs and however it is spelled, and no other: the hash of its key gives it one bucket
    and one level (``7``, `` 7`` and ``7.0`` have one key, `discreet.engines.tables.same`). So without it the bitmap
    differs in at most one bit (in none, if another item sets that bit too). A person with at most ``items`` items sets
    that many bits at most: what is used of a person is a function of their own rows and a random key, so nobody else's
    bits change. Every bit is turned over with chance 1/(1 + e^e), e = ε/items, by an exact coin: a reading of one bit
    is at most e^e times as likely with the one bit as with the other, and readings are independent, so no bitmap is
    more than e^ε times as likely for one neighbour as for the other. Price: ε per bitmap. Bitmaps of several holders,
    or of several days, add up for whoever is in several of them.

    Nothing depends on the number of rows or items: the bitmap has one size, no row makes a call fail, and missing items
    are left out one by one. The key is public; that others can work out which bit an item sets is allowed for.

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

    epsilon: Any
    buckets: int = 4096
    levels: int = 24
    items: int | None = None
    key: Any = None

    def __post_init__(self) -> None:
        wide = checks.whole("buckets", self.buckets, low=8, high=_MOST_BUCKETS)
        if wide & (wide - 1):
            raise InvalidArgument("buckets", wide, "a power of two", f"buckets={2 ** (wide.bit_length() - 1)}")
        most = None if self.items is None else checks.whole("items", self.items, low=1, high=_MOST_ITEMS)
        checked = {
            "epsilon": local_budget("epsilon", self.epsilon),
            "buckets": wide,
            "levels": checks.whole("levels", self.levels, low=1, high=_MOST_LEVELS),
            "items": most,
            "key": public_key(self.key),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if most is not None:  # the budget of a bit must mean something too
            if self.exact < most * SMALLEST_EPSILON:
                least = f"{float(SMALLEST_EPSILON):g}"
                expected = f"so few that each has at least {least} of epsilon={float(self.exact):g}"
                raise InvalidArgument("items", most, expected, f"items={self.exact // SMALLEST_EPSILON}")
            local_budget("epsilon", self.exact / most)

    # ---- what it is

    @property
    def exact(self) -> Fraction:
        """The budget as it was written."""
        return Fraction(self.epsilon.exact)

    @property
    def unit(self) -> str:
        """The unit of privacy, as a promise names it."""
        return "one item, with all its rows" if self.items is None else f"{PERSON} (at most {self.items:,} items used)"

    @property
    def neighbours(self) -> str:
        """The neighbour relation."""
        return PERSON_NEIGHBOURS if self.items is not None else "add or remove one item, with all its rows"

    @cached_property
    def rates(self) -> FloatArray:
        """The chance that an item sets one given bit, by level."""
        levels = np.minimum(np.arange(1, self.levels + 1), self.levels - 1)
        return np.asarray(0.5**levels / self.buckets)

    def at(self, epsilon: Fraction) -> DistinctSketch:
        """Return the same settings with another budget."""
        return self if epsilon == self.exact else replace(self, epsilon=epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        facts = {name: getattr(self, name) for name in ("buckets", "levels", "items")}
        key = self.key.to_bytes(16, "little").hex()
        return {"mechanism": self.NAME, "epsilon": str(self.exact), **facts, "key": key}

    @classmethod
    def from_dict(cls, facts: Any) -> DistinctSketch:
        """Rebuild settings from `to_dict`."""
        wanted = {"mechanism", "epsilon", "buckets", "levels", "items", "key"}
        if not isinstance(facts, dict) or set(facts) != wanted or facts["mechanism"] != cls.NAME:
            raise FormatError(f"not a {cls.NAME}: fields missing or unknown")
        try:
            key = int.from_bytes(bytes.fromhex(facts["key"]), "little")
            settings = {name: facts[name] for name in ("buckets", "levels", "items")}
            made = cls(cls.read(facts["epsilon"]), key=key, **settings)
        except (DiscreetError, TypeError, ValueError) as error:
            raise FormatError(f"{cls.NAME} damaged: {error}") from None
        if made.to_dict() != facts:
            raise FormatError(f"{cls.NAME} damaged: its parameters are not in canonical form")
        return made

    @staticmethod
    def read(text: Any) -> Fraction:
        """Read a budget of a header."""
        return Fraction(local_budget("epsilon", written_budget("epsilon", text)).exact)

    def std_error(self, n: float, *, merged: int = 1) -> float:
        """Return the standard error to expect of a count of ``n`` items, from one bitmap or one merged from several.

        Examples
        --------
        >>> [round(DistinctSketch(1.0, key=7).std_error(10**power)) for power in (2, 4, 6, 8)]
        [108, 279, 27416, 2743739]
        """
        size, parts = checks.finite("n", n), checks.whole("merged", merged, low=1)
        if size < 0:
            raise InvalidArgument("n", n, "a number of at least 0", "n=1000")
        bitmap = FlippedBitmap(self, np.zeros((0, 0), np.uint8), epsilons=[self.exact] * parts, seeded=False)
        variance = float(
            PatternLaw(self.rates, self.buckets, np.array([bitmap.flip])).covariance(np.array([size]))[0, 0]
        )
        return float(np.sqrt(max(variance, 0.0)))

    # ---- the verb

    def sketch(self, items: Any, persons: Any = None, *, ledger: Any = None, rng: object = None) -> FlippedBitmap:
        """Make the bitmap of a holder's items: what may leave the holder.

        Parameters
        ----------
        items : list, array, Arrow array or series; or an iterator of these
            Numbers, text or bytes, in any order, any number of times. Missing ones are left out. Numbers and texts that
            read as such are one item if they are equal, whoever holds them. An iterator is read part by part, so that
            there may be more items than memory holds.
        persons : the same, optional
            Whose item it is, where a person is the unit: one per item, and in parts if items are; told apart by the
            same rule. Items without a person are left out.
        ledger : Ledger or Account, optional
            Charged before the items are touched.
        rng : None, int or Generator
            None is the operating system's entropy. Anything else marks the bitmap as seeded.

        Returns
        -------
        FlippedBitmap
        """
        if (persons is None) != (self.items is None):
            expected = "given: one per item" if persons is None else "None, as the unit is an item"
            fix = "persons=users" if persons is None else "DistinctSketch(epsilon, items=8)"
            raise InvalidArgument("persons", "None" if persons is None else "given", expected, fix)
        unit: Any = "row"
        if self.items is not None:  # an account of rows refuses a promise to persons, and the other way round
            unit = Person(getattr(ledger, "person", None) or "persons", rows=self.items)
        wanted, job = Wanted(Epsilon(self.exact)), "distinct items"
        gate = Gate.open(wanted, unit=unit, random_state=rng, ledger=ledger, job=job, artifact=False)
        bits = np.zeros(self.levels * self.buckets, bool)
        if persons is not None:
            self._set(bits, self._used(items, persons, gate.free))
        else:
            for part in items if isinstance(items, Iterator) else (items,):
                self._set(bits, self._words(part))
        rows = np.packbits(bits.reshape(self.levels, -1), axis=1, bitorder="little")
        rows = flipped_bits(gate, job, rows, gate.left.pure())
        gate.settle()
        return FlippedBitmap(self, rows, seeded=gate.seeded)

    def _words(self, items: Any) -> WordArray:
        words, missing = item_words(items, self.key)
        return words[~missing]

    def _set(self, bits: BoolArray, words: WordArray) -> None:
        """Set the bit of every item, given by its fingerprint: the low bits are the bucket, the next ones the level."""
        bucket = (words & np.uint64(self.buckets - 1)).astype(np.int64)
        rest = words >> np.uint64(self.buckets.bit_length() - 1)
        # Ones below the lowest one: how often in a row a fair coin came down tails.
        level = np.bitwise_count((rest & (~rest + np.uint64(1))) - np.uint64(1))
        bits[np.minimum(level.astype(np.int64), self.levels - 1) * self.buckets + bucket] = True

    def _used(self, items: Any, persons: Any, random: PublicRandomness) -> WordArray:
        """Return the items that are used: of everybody those of the smallest keyed hash of person and item."""
        whole = not isinstance(items, Iterator)
        pairs = [(items, persons)] if whole else zip_longest(items, persons, fillvalue=[])
        parts = [(*item_words(i, self.key), person_key(item_column(p, "persons"))) for i, p in pairs]
        parts = parts or [(*item_words([], self.key), person_key([]))]
        words, missing = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        whose = pa.concat_arrays([part[2] for part in parts])
        if len(whose) != len(words):
            raise InvalidArgument(
                "persons", "another number of them", "one person per item", "persons of the same rows"
            )
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
        assert self.items is not None
        used: WordArray = words[np.arange(len(words)) - np.searchsorted(person, person) < self.items]
        return used

    def sketch_law(self, items: Any) -> tuple[Rows, FloatArray]:
        """Return every bitmap, packed and flat, and its chance given the items; small settings only."""
        size = self.levels * self.buckets
        if size > 20 or self.items is not None:
            raise InvalidArgument("buckets", self.buckets, f"so small that there are at most {MOST_REPORTS} bitmaps")
        bits = np.zeros(size, bool)
        self._set(bits, self._words(items))
        patterns = (np.arange(2**size)[:, None] >> np.arange(size) & 1).astype(np.uint8)
        flip = FlippedBitmap(self, bits, seeded=False).flip
        chances = np.where(patterns == bits, 1 - flip, flip).prod(axis=1)
        return np.packbits(patterns, axis=1, bitorder="little"), chances
