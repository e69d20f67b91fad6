"""Answers of a synopsis: counts, shares and figures, with the two parts of their errors.

The noise was drawn on purpose and its size is known. The assumption that rows lie evenly inside a leaf is not exact,
and what it may err by is estimated from neighbouring leaves (`discreet.synopses.queries.evenness`). Where leaves are
rows of a model, the second part is the model's own (`discreet.synopses.marginals.measured`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, SupportsFloat

from discreet.core import EMPTY_UP_TO, checks, noise_width
from discreet.errors import InvalidArgument, InvalidType
from discreet.synopses.queries.evenness import is_part

if TYPE_CHECKING:
    from discreet.synopses.queries.evenness import Terms
    from discreet.synopses.synopsis import Synopsis


def wide(level: float) -> float:
    """Return how many standard errors an interval reaches to each side."""
    level = checks.finite("level", level)
    if not 0 < level < 1:
        raise InvalidArgument("level", level, "between 0 and 1", "level=0.95")
    return noise_width(level)


def assumption(modelled: bool) -> str:
    """Return what the second part of an error comes from, in one word."""
    return "model" if modelled else "evenness"


def known(figure: float | None) -> float | None:
    """Return a figure as JSON can have it: None if it is not finite."""
    return figure if figure is not None and math.isfinite(figure) else None


def rows_text(total: float, weighted: bool = False) -> str:
    """Write a noisy number of rows for a reader: noise may make it negative, and no table has less than no rows."""
    return f"about {max(total, 0.0):,.0f} {'weighted ' * weighted}rows"


def empty_text(total: float, variance: float) -> str:
    """Return a warning if a noisy number of rows is within its noise of zero; nothing otherwise. Post-processing."""
    error = math.sqrt(variance)
    if total > EMPTY_UP_TO * error:
        return ""
    return (
        f"the number of rows cannot be told from zero ({rows_text(total)}, standard error {error:,.1f}). The table may "
        'be small for this budget, have few rows with a value in every column (declare missing = "own" to keep the '
        "others), or be unreadable as the schema declares it: look at decimal signs, dates and the spelling of "
        "categories"
    )


@dataclass(frozen=True)
class Figure:
    """A number with an error of two parts: what a mean, a share or a quantile is answered by.

    Attributes
    ----------
    value : float
        The estimate.
    noise_error : float
        Standard deviation of what the noise does to it.
    evenness_error : float or None
        Estimated standard deviation of what the assumption does that rows lie evenly inside a leaf; None where it was
        left out. With ``modelled`` (`MarginalSynopsis`) it is how far the model may be off, and is shown as
        `model_error`.
    limits : tuple of float
        What the truth cannot be beyond; `interval` ends there.
    remark : str
        The note of the counts behind it (`Count.note`).

    Examples
    --------
    >>> answer = Figure(41.5, 3.0, 4.0)
    >>> answer, answer.std_error, [round(end, 1) for end in answer.interval(0.95)]
    (Figure(41.5 ± 5: noise 3, non-uniformity 4), 5.0, [30.9, 52.1])
    >>> answer.noise_alone()
    Figure(41.5 ± 3, noise alone)
    """

    value: float
    noise_error: float
    evenness_error: float | None = 0.0
    limits: tuple[float, float] = field(default=(-math.inf, math.inf), kw_only=True, compare=False)
    remark: str = field(default="", kw_only=True, compare=False)
    modelled: bool = field(default=False, kw_only=True, compare=False)

    @property
    def model_error(self) -> float | None:
        """Estimated standard deviation of what the model gets wrong; 0 where no model answered."""
        return self.evenness_error if self.modelled else 0.0

    @property
    def _assumed(self) -> str:
        return assumption(self.modelled)

    @property
    def _source(self) -> str:
        return "model" if self.modelled else "non-uniformity"

    @property
    def std_error(self) -> float:
        """Standard error: both parts together, or the noise alone where the other was left out."""
        return math.hypot(self.noise_error, self.evenness_error or 0.0)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of an interval that covers the truth with about this probability.

        The noise is covered exactly; the rest is estimated from neighbouring leaves (``docs/queries.md`` has measured
        coverage).
        """
        reach, (least, most) = wide(level) * self.std_error, self.limits
        if math.isinf(reach):
            return self.limits
        low, high = self.value - reach, self.value + reach
        return min(max(low, least), most), max(min(high, most), least)

    @property
    def note(self) -> str:
        """A caveat about the error; empty if it is mostly noise."""
        if self.remark:
            return self.remark
        if self.evenness_error is None:
            return "the error is that of the noise alone"
        if self.evenness_error <= self.noise_error:
            return ""
        if self.modelled:
            return "most of the error is a guess at how far the model is off"
        more = "" if isinstance(self, Count) else "; where many share one value it may be too small"
        return f"most of the error is a guess at how rows lie inside leaves{more}"

    def noise_alone(self) -> Any:
        """Return the same answer with the error of the noise alone; its text states that."""
        return replace(self, evenness_error=None)

    def __float__(self) -> float:
        return self.value

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data; None for an error that was left out or is not known."""
        facts = {name: known(getattr(self, name)) for name in ("value", "std_error", "noise_error")}
        facts[f"{self._assumed}_error"] = known(self.evenness_error)
        return {**facts, "note": self.remark} if self.remark else facts

    def _error(self) -> str:
        if math.isinf(self.std_error):
            return f"{self.value:.6g}, error not known"
        text = f"{self.value:.6g} ± {self.std_error:.3g}"
        if self.evenness_error is None:
            return f"{text}, noise alone"
        if self.evenness_error == 0:
            return text
        return f"{text}: noise {self.noise_error:.3g}, {self._source} {self.evenness_error:.3g}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._error()}{self.remark and '; ' + self.remark})"

    def _repr_html_(self) -> str:
        from discreet.core import facts

        low, high = self.interval(0.95)
        told = {"95 %": f"{low:,.6g} to {high:,.6g}", "noise": f"± {self.noise_error:,.3g}"}
        gone = self.evenness_error is None
        if getattr(self, "unlisted", 0):
            told["not listed"] = f"up to {self.unlisted:,.0f} more"  # type: ignore[attr-defined]
        told[self._source] = "left out: noise alone" if gone else f"± {self.evenness_error:,.3g}"
        if self.note and not gone:
            told["note"] = self.note
        return facts(f"{type(self).__name__}: {self.value:,.6g} ± {self.std_error:,.3g}", told)


@dataclass(frozen=True, repr=False)
class Count(Figure):
    """An estimated number of rows; noise may make it negative. Not rounded or cut off: sums stay unbiased.

    Counts can be added, subtracted and multiplied by numbers, with the errors of the result: what two counts of one
    synopsis share is known to be shared. A count over another is their ratio. ``unlisted`` is the estimated number of
    rows in cells that the synopsis does not list. Any of them may be in the box: the upper end of `interval` includes
    them.

    Examples
    --------
    >>> answer = Count(41.5, 2.0)
    >>> float(answer), answer, Count(41.5, 2.0, unlisted=30)
    (41.5, Count(41.5 ± 2), Count(41.5 ± 2, and up to 30 more in cells that are not listed))
    """

    unlisted: float = 0.0
    #: The questions, by synopsis; they show what two counts share.
    asked: tuple[tuple[Synopsis, Terms], ...] = field(default=(), compare=False)
    #: What a reader should know of it; mostly nothing.
    note: str = field(default="", compare=False)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of an interval; rows in unlisted cells widen it upwards.

        Neither end of a count, or of a sum of counts, is below zero; those of a difference may be.
        """
        low, high = super().interval(level)
        low, high = low, high + self.unlisted
        if self._no_rows_taken_away:
            low, high = max(low, 0.0), max(high, 0.0)
        return low, high

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data; ``unlisted`` only where there may be such rows."""
        facts = super().to_dict()
        facts = {**facts, "unlisted": self.unlisted} if self.unlisted > 0 else facts
        return {**facts, "note": self.note} if self.note else facts

    def __repr__(self) -> str:
        more = f", and up to {self.unlisted:,.6g} more in cells that are not listed" if self.unlisted > 0 else ""
        return f"Count({self._error()}{more}{self.note and '; ' + self.note})"

    def __add__(self, other: object) -> Count:
        return self._with(other, 1.0, 1.0)

    def __sub__(self, other: object) -> Count:
        return self._with(other, 1.0, -1.0)

    def __radd__(self, other: object) -> Count:  # sum() begins with 0
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __neg__(self) -> Count:
        return self * -1

    def __mul__(self, factor: object) -> Count:
        if isinstance(factor, Figure) or not isinstance(factor, SupportsFloat):
            return NotImplemented
        by = checks.finite("factor", float(factor))
        asked = tuple((s, tuple((by * c, q) for c, q in terms)) for s, terms in self.asked)
        uneven = None if self.evenness_error is None else abs(by) * self.evenness_error
        return Count(
            by * self.value, abs(by) * self.noise_error, uneven, max(by, 0.0) * self.unlisted, asked, self.note,
            modelled=self.modelled,
        )  # fmt: skip

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Figure:
        if not isinstance(other, Count):
            return self * (1 / checks.positive("divisor", other))
        if not other.value:
            return Figure(math.nan, math.inf, math.inf, limits=self._limits_over(other))
        # To first order the error of a/b is that of (a - r b)/b, with r = a/b: what both share counts once.
        ratio = self.value / other.value
        rest = self._with(other, 1.0, -ratio)
        uneven = None if rest.evenness_error is None else rest.evenness_error / abs(other.value)
        limits = self._limits_over(other)
        noisy = rest.noise_error / abs(other.value)
        return Figure(ratio, noisy, uneven, limits=limits, remark=rest.note, modelled=rest.modelled)

    def _limits_over(self, other: Count) -> tuple[float, float]:
        """Return what the ratio to another count cannot be beyond: a part of some rows is a share of them."""
        if not self._no_rows_taken_away or not other._no_rows_taken_away:
            return -math.inf, math.inf
        part = len(self.asked) == len(other.asked) == 1 and self.asked[0][0] is other.asked[0][0]
        return 0.0, 1.0 if part and is_part(self.asked[0][1], other.asked[0][1]) else math.inf

    @property
    def _no_rows_taken_away(self) -> bool:
        return bool(self.asked) and all(c >= 0 for _, terms in self.asked for c, _ in terms)

    def _with(self, other: object, own: float, its: float) -> Count:
        if not isinstance(other, Count):
            raise InvalidType("other", type(other).__name__, "another count", "s.count(age=(0, 30))")
        if not self.asked or not other.asked:
            raise InvalidArgument("other", other, "a count that a synopsis gave", "s.count(age=(0, 30))")
        sums: dict[Synopsis, Terms] = {}
        for by, count in ((own, self), (its, other)):
            for synopsis, terms in count.asked:
                sums[synopsis] = (*sums.get(synopsis, ()), *((by * c, q) for c, q in terms))
        # Releases are drawn apart: their errors are independent, and within one what is shared counts once.
        parts = [synopsis._added(terms) for synopsis, terms in sums.items()]
        made = Count(
            sum(p.value for p in parts),
            math.hypot(*(p.noise_error for p in parts)),
            math.hypot(*(p.evenness_error or 0.0 for p in parts)),
            sum(p.unlisted for p in parts),
            tuple(sums.items()),
            "; ".join(dict.fromkeys(text for note in (self.note, other.note) if note for text in note.split("; "))),
            modelled=self.modelled or other.modelled,
        )
        return replace(made, evenness_error=None) if None in (self.evenness_error, other.evenness_error) else made
