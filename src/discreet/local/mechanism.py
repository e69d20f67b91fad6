"""The interface that all local mechanisms share: encode, aggregate, estimate.

A mechanism is a frozen object of public parameters. One law per mechanism holds the exact probabilities with which a
client randomises; the collector corrects the bias with the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from discreet import noise
from discreet.core import BoolArray, Budget, DeclaredValue, Guarantee, IntArray, checks, option
from discreet.errors import FormatError, InvalidArgument, InvalidType
from discreet.local.estimates import CHOICES, Estimate
from discreet.local.wire import parameters
from discreet.local.wire.bits import Layout, Rows, bits_for
from discreet.local.wire.counts import Counts
from discreet.local.wire.parameters import mechanism_from_dict, mechanisms
from discreet.local.wire.reports import Reports
from discreet.noise import Generator
from discreet.noise.reports import ReportLaw

__all__ = ["Mechanism", "OneNumber", "mechanism_from_dict", "mechanisms"]

M = TypeVar("M", bound="Mechanism")

#: A larger local budget protects nothing.
LARGEST_EPSILON = 200
#: With a smaller one, differences of probabilities lose the digits that estimates need.
SMALLEST_EPSILON = Fraction(1, 10**6)
_LONGEST = 10**400
#: Most reports that `report_law` lists.
MOST_REPORTS = 2**20

REPORT_EPSILON: Any = option(
    takes="number", low=float(SMALLEST_EPSILON), high=LARGEST_EPSILON, example=1.0,
    expected=f"a positive number, at least {float(SMALLEST_EPSILON):g} and at most {LARGEST_EPSILON}",
    help="Privacy budget of one report.",
)  # fmt: skip
VALUES: Any = option(
    help="Number of values (0..d-1), or a list of labels.", details="Other values are replaced by a random one.",
    example=["yes", "no"],
)  # fmt: skip
KEY: Any = option(
    default=None, takes="whole", low=0, high=2**128 - 1, example=7,
    help="Public key of the hash functions, the same on all devices.", details="None draws one.",
)  # fmt: skip


class Mechanism(DeclaredValue):
    """A local randomiser with its estimator. Subclasses declare their parameters as options."""

    #: The name in headers and on the command line.
    NAME: ClassVar[str] = ""
    ASSUMES: ClassVar[tuple[str, ...]] = ("every user sends one report",)
    #: The name of the counters, where there is one table of them.
    COUNTER: ClassVar[str] = "reports"

    if TYPE_CHECKING:

        @property
        def epsilon(self) -> float:
            """Privacy budget of one report."""

        @property
        def law(self) -> Any:
            """The probabilities by which the collector corrects the bias, if there is one such law."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "NAME" in cls.__dict__:
            parameters.register(cls)

    def __post_init__(self) -> None:
        for name, value in self.read_options().items():
            if name.startswith("epsilon"):
                value = local_budget(name, value)
            self._set(**{name: public_key(value) if name == "key" else value})

    def _within(self, name: str, **bounds: Any) -> Any:
        """Check one option with bounds that depend on other options."""
        return replace(self.declared[name], **bounds).read(getattr(self, name))

    @cached_property
    def layout(self) -> Layout:
        """The fields of a report."""
        raise NotImplementedError

    @property
    def randomiser(self) -> ReportLaw:
        """The law that reports are drawn from and that prices them."""
        law: ReportLaw = self.law
        return law

    def _encode(self, values: Any, stream: Generator) -> Rows:
        """Randomise values, one packed report per row."""
        raise NotImplementedError

    @property
    def _counters(self) -> Any:
        """Number or shape of the counters, where there is one table of them."""
        raise NotImplementedError

    def _zeros(self) -> dict[str, IntArray]:
        """Return the counters before any report."""
        return {self.COUNTER: np.zeros(self._counters, np.int64)}

    def _add(self, counters: dict[str, IntArray], rows: Rows) -> None:
        """Count valid reports in place."""
        raise NotImplementedError

    @property
    def _limits(self) -> dict[str, int]:
        """Fields whose numbers must be below a limit."""
        return {}

    def possible(self, rows: Rows) -> BoolArray:
        """Return which packed reports are valid: those that `aggregate` counts."""
        return self.layout.below(rows, self._limits)

    def _estimate(self, counts: Counts, candidates: Any) -> Estimate:
        """Estimate raw, unbiased counts."""
        raise NotImplementedError

    def report_law(self, value: Any) -> tuple[Rows, Any]:
        """Return every report and its probability given the value; for small settings."""
        raise InvalidArgument("mechanism", self.NAME, "one whose reports can be listed", "a smaller setting")

    def _listable(self, name: str, reports: float) -> None:
        """Refuse to list too many reports; ``name`` is the option that should be smaller."""
        if reports > MOST_REPORTS:
            raise InvalidArgument(
                name, getattr(self, name), f"small enough to list all reports, at most {MOST_REPORTS}"
            )

    def variance(self, n: int, f: Any = 0) -> Any:
        """Return the variance of the estimated count of a value that ``f`` of ``n`` reporters hold."""
        raise NotImplementedError

    @property
    def stores(self) -> bool:
        """True if devices store responses: the reports of one device can then be recognised."""
        return False

    def total_variation(self) -> float | None:
        """Return the total variation between the reports of two values, if it is the same for any two; else None."""
        return None

    def encode(self, values: Any, users: Any = None, *, rng: object = None) -> Reports:
        """Randomise values on the devices.

        Parameters
        ----------
        values : list, array, Arrow array or series
            One value per user. No value causes an error.
        users : array, optional
            A key per user, for mechanisms with memory. Others refuse it.
        rng : None, int or Generator
            None uses the operating system's entropy. Anything else marks the reports as seeded.
        """
        if users is not None:
            raise InvalidArgument("users", "given", "None: this mechanism remembers nothing of a user", "users=None")
        stream = noise.generator(rng)
        return Reports(self, self._encode(values, stream), seeded=stream.seeded)

    def empty(self) -> Counts:
        """Return counts of no reports, to add to."""
        return Counts(self, self._zeros())

    def aggregate(self, reports: Any) -> Counts:
        """Count reports at the collector.

        Parameters
        ----------
        reports : Reports, bytes, ndarray of uint8, an iterable of these, or a table
            Reports of this mechanism. An iterable may be longer than memory. A table (a path to Parquet, an Arrow
            table, a Spark frame) has one packed report per row, in its only column or the one named ``report``.
        """
        from discreet.local.wire import stored_reports

        if stored_reports.holds_table(reports):
            return stored_reports.count_stored(self, reports)
        counts = self.empty()
        single = isinstance(reports, (Reports, bytes, bytearray, memoryview, np.ndarray))
        if not single and not isinstance(reports, Iterable):
            raise InvalidType("reports", type(reports).__name__, "Reports or their bytes", "reports=m.encode(values)")
        for part in [reports] if single else reports:
            counts.add(part)
        return counts

    def estimate(self, counts: Any, candidates: Any = None, *, consistency: str | None = None) -> Estimate:
        """Estimate how many reporters hold each candidate.

        Parameters
        ----------
        counts : Counts
            The result of `aggregate`.
        candidates : list or array, optional
            The values to estimate. None means all declared values.
        consistency : None, "simplex", "base-cut" or "norm-cut"
            None returns raw, unbiased estimates, which may be negative. See `discreet.local.consistent`.
        """
        if consistency is not None:
            consistency = checks.choice("consistency", consistency, CHOICES)
        raw = self._estimate(self._own(counts), candidates)
        return raw if consistency is None else raw.consistent(consistency)

    def _own(self, counts: Any) -> Counts:
        """Refuse anything but counts of this mechanism."""
        if not isinstance(counts, Counts):
            raise InvalidType("counts", type(counts).__name__, "Counts", "counts=m.aggregate(reports)")
        self.same_as(counts.mechanism, "counts")
        return counts

    @property
    def _exact(self) -> Fraction:
        """The budget as an exact number."""
        return Fraction(self.epsilon.exact)  # type: ignore[attr-defined]

    @property
    def report_bits(self) -> int:
        """Bits of one report, without framing."""
        return self.layout.bits

    @cached_property
    def guarantee(self) -> Guarantee:
        """The promise to every reporter."""
        facts = {"unit": self._unit(), "parameters": self.to_dict(), "assumptions": self.ASSUMES}
        return Guarantee.of_law(self.randomiser, model="local", **facts)

    def _unit(self) -> str:
        return "one report of one user"

    def same_as(self, other: Mechanism, what: str) -> None:
        """Refuse reports or counts that were made with other parameters."""
        if self == other:
            return
        mine, theirs = self.to_dict(), other.to_dict()
        odd = sorted(k for k in mine.keys() | theirs.keys() if mine.get(k) != theirs.get(k))
        first = odd[0] if odd and self.NAME == other.NAME else "mechanism"
        raise InvalidArgument(
            what, f"{first}={theirs.get(first)}", f"made with the same parameters ({first}={mine.get(first)})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return name and parameters as plain data; budgets as exact rationals in text, keys in hexadecimal."""
        return parameters.to_plain(self)

    @classmethod
    def from_dict(cls: type[M], facts: dict[str, Any]) -> M:
        """Rebuild a mechanism from `to_dict`."""
        mechanism = mechanism_from_dict(facts)
        if not isinstance(mechanism, cls):
            raise FormatError(f"not a {cls.NAME or 'local mechanism'}: it is a {mechanism.NAME}")
        return mechanism

    def _set(self, **values: Any) -> None:
        """Store checked parameters of a frozen object."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _merge(self, one: dict[str, IntArray], two: dict[str, IntArray]) -> dict[str, IntArray]:
        return {name: array + two[name] for name, array in one.items()}

    def _unpack_counters(self, numbers: IntArray, n: int) -> dict[str, IntArray]:
        """Shape the numbers of a saved state like the counters."""
        try:
            zeros = self._zeros()
        except MemoryError:
            raise FormatError("a state damaged: its parameters ask for more counters than memory holds") from None
        wanted = sum(zero.size for zero in zeros.values())
        if wanted != numbers.size:
            raise FormatError(f"a state damaged: {numbers.size} counters where its parameters ask for {wanted}")
        counters, place = {}, 0
        for name, zero in zeros.items():
            counters[name] = numbers[place : place + zero.size].reshape(zero.shape)
            place += zero.size
        return counters

    def _possible(self, counters: dict[str, IntArray], n: int) -> bool:
        """Return whether ``n`` reports can give these counters. Here: none of them is negative."""
        return all(within(array) for array in counters.values())


def local_budget(name: str, value: object) -> Budget:
    """Check the privacy budget of a report."""
    declared = replace(REPORT_EPSILON, name=name)
    number: Fraction = declared.read(value)
    if number.denominator >= _LONGEST:
        raise declared.wrong(value)
    return Budget(number)


def public_key(value: object) -> int:
    """Check a hash key, or draw one."""
    if value is None:
        return int.from_bytes(noise.generator().bytes(16).tobytes(), "little")
    key: int = replace(KEY, name="key").read(value)
    return key


def within(counters: IntArray, most: Any = None) -> bool:
    """Return whether counters are at least 0 and, if given, at most a number."""
    return bool(counters.min(initial=0) >= 0 and (most is None or counters.max(initial=0) <= most))


def rows_within(cells: IntArray, most: IntArray) -> bool:
    """Return whether the cells of every row are at least 0 and at most that row's number."""
    return within(cells) and bool((cells.max(axis=1) <= most).all())


def adds_up(counters: IntArray, total: int) -> bool:
    """Return whether counters are at least 0 and have this sum. A sum of 64-bit integers could overflow."""
    return within(counters) and abs(float(counters.sum(dtype=np.float64)) - total) <= total * 2.0**-50


def count_places(counters: IntArray, places: IntArray) -> None:
    """Add 1 to a counter each time its place is listed. A short list costs no pass over all counters."""
    if len(places) > len(counters) >> 4:
        counters += np.bincount(places, minlength=len(counters))
    else:
        np.add.at(counters, places, 1)


class OneNumber(Mechanism):
    """A mechanism whose report is one number. The collector counts how often each was sent."""

    FIELD: ClassVar[str] = "report"

    @cached_property
    def layout(self) -> Layout:
        return Layout(((self.FIELD, bits_for(self._counters)),))

    @property
    def _limits(self) -> dict[str, int]:
        return {self.FIELD: self._counters}

    def _add(self, counters: dict[str, IntArray], rows: Rows) -> None:
        count_places(counters[self.COUNTER], self.layout.unpack(rows, self.FIELD))

    def _possible(self, counters: dict[str, IntArray], n: int) -> bool:
        return adds_up(counters[self.COUNTER], n)
