"""Flipped bitmaps: noisy bitmaps of items that may be published, and their merging.

Merging (Hehir, Ting, Cormode 2023). Let a bit x of one bitmap be flipped with probability p = 1/(1 + e^e), y of another
with p' = 1/(1 + e^e'). From the readings (a, b) a bit is drawn that is 1 with probability

    c(a, b) = 1 - q - (1 - 2q) u(a) u'(b),    u(0) = (1-p)/(1-2p),  u(1) = -p/(1-2p),  u' likewise for p'.

The mean of u(a) is 1 if x = 0 and 0 if x = 1, so the drawn bit is "x or y", flipped with probability q: a merged bitmap
is again a flipped bitmap, in any order of merging. The smallest q for which all c are probabilities has c(0, 0) = 0: q
= 1/(1 + e^m), 1 - e^-m = (1 - e^-e)(1 - e^-e').
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import noise
from discreet.core import ByteArray, Guarantee, Line, at_most, checks, normal_width
from discreet.errors import DiscreetError, FormatError, InvalidArgument, InvalidType
from discreet.local.distinct.likelihood import PatternLaw
from discreet.local.wire import binary
from discreet.mechanisms import flip_draw
from discreet.noise.reports import coin_bytes
from discreet.noise.stream import Chance

if TYPE_CHECKING:
    from discreet.local.distinct.sketch import DistinctSketch

_LEAST_FLIP = 1e-6
#: More would have nothing but noise in them.
_MOST_MERGED = 2**16
#: Bits of two bitmaps with coins of their own do not agree more often by this many standard errors; and of how many
#: bitmaps all pairs are compared.
_TOO_ALIKE, _MOST_COMPARED = 8.0, 64


@dataclass(frozen=True)
class DistinctEstimate:
    """An estimated number of different items.

    The estimate is nearly unbiased and may be negative if few items are counted with much noise. Errors are over noise
    and hash key, for fixed items.

    Attributes
    ----------
    count, std_error : float
        The estimate and its standard error.
    guarantee : Guarantee
        The promise of all bitmaps that were used.

    Examples
    --------
    >>> import discreet as dc
    >>> found = dc.local.DistinctSketch(2.0, key=7).sketch(range(50_000), rng=1).estimate()
    >>> round(found.count), round(found.std_error), [round(end) for end in found.interval(0.95)]
    (50174, 756, [48693, 51655])
    """

    count: float
    std_error: float
    guarantee: Guarantee

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of a confidence interval."""
        reach = normal_width(float(checks.probability("level", level))) * self.std_error
        return self.count - reach, self.count + reach


class FlippedBitmap(binary.Kept):
    """A bitmap of items whose bits were flipped by coins. Made by `DistinctSketch.sketch`.

    Attributes
    ----------
    parameters : DistinctSketch
        Its settings; for a merged one, with the smallest budget of its parts.
    epsilons : tuple of Fraction
        The budgets of all parts, in order.
    rows : ndarray of uint8
        Packed bits, one row per level.
    seeded : bool
        True if coins can be repeated. Such a bitmap must not be published.

    Examples
    --------
    >>> import discreet as dc
    >>> m = dc.local.DistinctSketch(2.0, key=7)
    >>> north, south = m.sketch(range(40_000), rng=1), m.sketch(range(30_000, 90_000), rng=2)
    >>> both = north.merge(south, rng=3)
    >>> round(both.estimate().count), round(both.estimate().std_error)
    (90068, 1851)
    >>> FlippedBitmap.from_bytes(both.to_bytes()) == both
    True
    """

    def __init__(
        self, parameters: DistinctSketch, rows: ByteArray, *, epsilons: Iterable[Fraction] = (), seeded: bool
    ) -> None:
        self.epsilons = tuple(sorted(epsilons)) or (parameters.exact,)
        self.parameters, self.rows, self.seeded = parameters.at(self.epsilons[0]), rows, seeded

    @cached_property
    def odds(self) -> float:
        """e^-m, the odds of a flipped bit: 1 - e^-m is the product of 1 - e^-ε over the parts, ε that of one bit."""
        bits = (float(e / (self.parameters.items or 1)) for e in self.epsilons)
        return -math.expm1(sum(math.log1p(-math.exp(-e)) for e in bits))

    @property
    def flip(self) -> float:
        """The probability that a bit was flipped."""
        return self.odds / (1 + self.odds)

    @property
    def model_flip(self) -> float:
        """The same for estimates, large enough that every reading is possible."""
        return max(self.flip, _LEAST_FLIP)

    @cached_property
    def guarantee(self) -> Guarantee:
        """The promise. The costs add up for anyone whose items several holders have."""
        return promise([self])

    def merge(self, *others: FlippedBitmap, rng: object = None) -> FlippedBitmap:
        """Return a flipped bitmap of the union, with more noise than its parts.

        Estimates from the parts themselves are more accurate: see `DistinctOverlap`.

        Parameters
        ----------
        *others : FlippedBitmap
            Made with the same buckets, levels, items and key. Budgets may differ. The same bitmap twice, one together
            with a merged one that contains it, or two of one seed are refused if their bits show it.
        rng : None, int or Generator
            Source of the coins of merging. Anything but None marks the result as seeded.

        Privacy
        -------
        Post-processing: no cost beyond that of the parts, which add up for anyone who is in several of them. About one
        item, the merged bitmap alone reveals less than any one part: ε* with 1 - e^-ε* = Π (1 - e^-ε) over the parts. A
        person can have other items used by every holder, up to ``items`` times the number of parts bits of the merged
        bitmap, each at the price of one. The guarantee states it.
        """
        stream, merged = noise.generator(rng), self
        check_together([self, *others], "others")
        for other in others:
            merged = _merged(merged, other, stream)
        return merged

    def same_as(self, other: Any, what: str) -> FlippedBitmap:
        """Refuse bitmaps that were made with other settings or another key."""
        if not isinstance(other, FlippedBitmap):
            raise InvalidType(what, type(other).__name__, "bitmaps", "m.sketch(items)")
        mine, theirs = (bitmap.parameters.to_dict() for bitmap in (self, other))
        odd = [name for name in mine if mine[name] != theirs[name] and name != "epsilon"]
        if odd:
            expected = f"made with the same parameters ({odd[0]}={mine[odd[0]]})"
            raise InvalidArgument(what, f"{odd[0]}={theirs[odd[0]]}", expected, "one DistinctSketch for all holders")
        return other

    def estimate(self) -> DistinctEstimate:
        """Estimate the number of different items. This costs no privacy."""
        law = PatternLaw(self.parameters.rates, self.parameters.buckets, np.array([self.model_flip]))
        ones = np.bitwise_count(self.rows).sum(axis=1).astype(np.float64)
        atoms = law.fit(np.stack([self.parameters.buckets - ones, ones], axis=1))
        variance = float(law.covariance(atoms)[0, 0])
        return DistinctEstimate(float(atoms[0]), math.sqrt(max(variance, 0.0)), self.guarantee)

    def to_bytes(self) -> bytes:
        """Return the bitmap as one message; see docs/wire-format.md."""
        header = {**self.parameters.to_dict(), "merged": [str(e) for e in self.epsilons]}
        return binary.write(binary.BITMAP, header, len(self.epsilons), [self.rows.tobytes()], seeded=self.seeded)

    @classmethod
    def from_bytes(cls, data: bytes) -> FlippedBitmap:
        """Read the result of `to_bytes`."""
        from discreet.local.distinct.sketch import DistinctSketch

        message = binary.read(data, binary.BITMAP)
        header = dict(message.header)
        merged = header.pop("merged", None)
        parameters = DistinctSketch.from_dict(header)
        if not isinstance(merged, list) or not 0 < len(merged) == message.n <= _MOST_MERGED:
            raise FormatError("a bitmap damaged: it does not say what was merged")
        try:
            budgets = [parameters.read(e) for e in merged]
        except DiscreetError as error:
            raise FormatError(f"a bitmap damaged: {error}") from None
        if budgets != sorted(budgets) or budgets[0] != parameters.exact or [str(e) for e in budgets] != merged:
            raise FormatError("a bitmap damaged: the budgets of its parts are not in canonical form")
        shape = parameters.levels, parameters.buckets // 8
        if len(message.body) != math.prod(shape):
            raise FormatError(f"a bitmap damaged: {len(message.body)} bytes where {math.prod(shape)} are expected")
        rows = np.frombuffer(message.body, np.uint8).reshape(shape).copy()
        return cls(parameters, rows, epsilons=budgets, seeded=message.seeded)

    def __repr__(self) -> str:
        p, parts = self.parameters, "" if len(self.epsilons) == 1 else f", merged from {len(self.epsilons)}"
        return f"<flipped bitmap of {p.levels} x {p.buckets} bits{parts}>"


def _merged(one: FlippedBitmap, two: FlippedBitmap, stream: noise.Generator) -> FlippedBitmap:
    if len(one.epsilons) + len(two.epsilons) > _MOST_MERGED:
        raise InvalidArgument("others", "more", f"at most {_MOST_MERGED} bitmaps in total", "fewer bitmaps")
    odds = one.odds + two.odds - one.odds * two.odds
    q = odds / (1 + odds)
    a, b = one.rows, two.rows
    merged = np.zeros_like(a)
    for reads_a, reads_b in ((0, 1), (1, 0), (1, 1)):  # two zeros give 0: that is what makes q the smallest
        chance = 1 - q - (1 - 2 * q) * weight(one.flip, reads_a) * weight(two.flip, reads_b)
        coins = coin_bytes(Chance(a=Fraction(min(max(chance, 0.0), 1.0))), a.shape, stream)
        merged |= (a if reads_a else ~a) & (b if reads_b else ~b) & coins
    seeded = one.seeded or two.seeded or stream.seeded
    return FlippedBitmap(one.parameters, merged, epsilons=one.epsilons + two.epsilons, seeded=seeded)


def check_together(bitmaps: Sequence[FlippedBitmap], what: str) -> None:
    """Refuse bitmaps with different settings or shared coins.

    Two independently flipped bits differ with probability d = p(1-p') + p'(1-p) if they were equal before, else with 1
    - d >= d. If far fewer than a share d differ, the coins are dependent.
    """
    for other in bitmaps[1:]:
        bitmaps[0].same_as(other, what)
    for one, two in combinations(bitmaps[:_MOST_COMPARED], 2):
        p, q, bits = one.flip, two.flip, 8 * one.rows.size
        chance = p * (1 - q) + q * (1 - p)
        differ = int(np.bitwise_count(one.rows ^ two.rows).sum())
        if differ < bits * chance - _TOO_ALIKE * math.sqrt(bits * chance * (1 - chance)):
            expected = "made with coins of their own: not one bitmap twice, one with its merged one, or two of a seed"
            raise InvalidArgument(what, "two that share coins", expected, "m.sketch(items) without rng, each once")


def weight(flip: float, reads: int) -> float:
    """Return u: a number by reading whose mean is 1 if the bit was 0, and 0 if it was 1."""
    return (-flip if reads else 1 - flip) / (1 - 2 * flip)


def promise(bitmaps: Iterable[FlippedBitmap]) -> Guarantee:
    """Return the joint promise of bitmaps: their budgets add up for anyone who is in all of them."""
    used = list(bitmaps)
    parameters = used[0].parameters
    spent = Counter(e for bitmap in used for e in bitmap.epsilons)
    parts = sum(spent.values())
    lines = []
    for epsilon, times in sorted(spent.items()):
        label = "one bitmap" if parts == 1 else f"{times} of {parts} bitmaps"
        price = f" at epsilon {at_most(float(epsilon))}" if len(spent) > 1 else ""
        draw = flip_draw(epsilon, parameters.items or 1, bitmaps=times)
        lines.append(Line(f"{label}, every bit flipped{price}", epsilon * times, "parallel", draws=(draw,)))
    assumes = ["no privacy rests on the hash key, which is public"]
    if parts > 1:
        assumes.append(
            "the price is that of somebody whose items all holders have; one holder's bitmap alone costs what that "
            "holder spent"
        )
        if len(used) == 1:
            # An item sets the same bit for every holder; every holder may use other items of a person.
            alone = -math.log(used[0].odds) * (1 if parameters.items is None else parameters.items * parts)
            assumes.append(f"who sees only the merged bitmap learns at most what epsilon {at_most(alone)} allows")
    return Guarantee(
        "central",
        unit=parameters.unit,
        neighbours=parameters.neighbours,
        ledger=tuple(lines),
        parameters={**parameters.to_dict(), "bitmaps": parts},
        seeded=any(b.seeded for b in used),
        assumptions=tuple(assumes),
    )
