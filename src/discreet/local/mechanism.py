"""What all local mechanisms share: the verbs, the parameters as plain data, the register by name.

A mechanism is a frozen object of public parameters. From them follow, in one place, the exact chances with which a
client randomises and the constants with which a collector undoes the bias, so the two cannot disagree.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import fields
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar, TypeVar

import numpy as np

from discreet import noise
from discreet.core import BoolArray, Budget, Guarantee, IntArray, checks
from discreet.errors import DiscreetError, FormatError, InvalidArgument, InvalidType
from discreet.local.estimates import Estimate
from discreet.local.wire import binary
from discreet.local.wire.bits import Layout, Rows, bits_for
from discreet.local.wire.counts import Counts
from discreet.local.wire.reports import Reports
from discreet.noise import Generator
from discreet.noise.reports import ReportLaw

M = TypeVar("M", bound="Mechanism")

#: No local budget beyond this protects anything; the constants stay finite numbers up to it.
LARGEST_EPSILON = 200
#: Below this, differences of chances would lose the digits that estimates need, and no number of reports would help.
SMALLEST_EPSILON = Fraction(1, 10**6)
#: A budget in a header: nothing that takes long to read, such as 1e-99999999, and nothing that is not written so here.
_RATIONAL = re.compile(r"\d{1,400}(/\d{1,400})?")
_LONGEST = 10**400
#: `report_law` refuses to list more reports than this.
MOST_REPORTS = 2**20

#: The file of every mechanism, which is loaded when the mechanism is asked for.
_HOMES = {
    "mean-response": "numbers.means",
    "mean-vector": "numbers.mean_vectors",
    "square-wave": "numbers.square_wave",
    "direct-response": "oracles.direct",
    "hadamard-response": "oracles.hadamard_response",
    "local-hashing": "oracles.local_hashing",
    "projective-geometry": "oracles.projective",
    "subset-selection": "oracles.subset",
    "unary-encoding": "oracles.unary",
    "bit-flip": "repeated.bit_flip",
    "rappor": "repeated.rappor",
    "count-mean-sketch": "sketches.count_mean",
    "hadamard-sketch": "sketches.hadamard",
    "prefix-extension": "strings.prefix",
    "fragment-puzzle": "strings.puzzle",
}
_BY_NAME: dict[str, type[Mechanism]] = {}


class Mechanism:
    """A local randomiser with its estimator. Subclasses are frozen dataclasses whose fields are the parameters."""

    #: The name in headers and on the command line.
    NAME: ClassVar[str] = ""
    #: What must hold beyond the mathematics; goes into the guarantee.
    ASSUMES: ClassVar[tuple[str, ...]] = ("every user sends one report",)

    #: Why what the collector keeps allows no maximum likelihood, where there is more to say than that it does not.
    NO_LIKELIHOOD: ClassVar[str] = ""

    epsilon: float

    def __init_subclass__(cls) -> None:
        if cls.NAME:
            _BY_NAME[cls.NAME] = cls

    # ---- what a subclass says about itself

    @cached_property
    def layout(self) -> Layout:
        """The fields of a report."""
        raise NotImplementedError

    @cached_property
    def randomiser(self) -> ReportLaw:
        """The law that every report is drawn from and priced by."""
        raise NotImplementedError

    def _encode(self, values: Any, stream: Generator) -> Rows:
        """Randomise values, one packed report per row."""
        raise NotImplementedError

    @property
    def _counters(self) -> int:
        """How many counters there are, where there is one table of them."""
        raise NotImplementedError

    def _zeros(self) -> dict[str, IntArray]:
        """Return the counters before any report."""
        raise NotImplementedError

    def _add(self, counters: dict[str, IntArray], rows: Rows) -> int:
        """Count reports in place and return how many could be; the others are impossible and leave no trace."""
        raise NotImplementedError

    @property
    def _limits(self) -> dict[str, int]:
        """The fields whose numbers must be below some limit."""
        raise InvalidArgument("mechanism", self.NAME, "one whose reports can be checked one by one")

    def possible(self, rows: Rows) -> BoolArray:
        """Tell which packed reports a device can have made: those that `aggregate` counts. Nothing is counted here."""
        return self.layout.below(rows, self._limits)

    def _estimate(self, counts: Counts, candidates: Any) -> Estimate:
        """Estimate raw, unbiased counts."""
        raise NotImplementedError

    def report_law(self, value: Any) -> tuple[Rows, Any]:
        """Return every report with positive probability and that probability, given the value; small settings only."""
        raise InvalidArgument("mechanism", self.NAME, "one whose reports can be listed", "a smaller setting")

    def variance(self, n: int, f: Any = 0) -> Any:
        """Return the variance of the estimated count of a value that ``f`` of ``n`` reporters hold."""
        raise NotImplementedError

    def total_variation(self) -> float:
        """Return the largest total variation between the reports of two values; used by `discreet.local.shuffled`."""
        return math.tanh(float(self.epsilon) / 2)

    # ---- the verbs

    def encode(self, values: Any, users: Any = None, *, rng: object = None) -> Reports:
        """Randomise values: what leaves the devices.

        Parameters
        ----------
        values : list, array, Arrow array or series
            One value per user. No value causes an error.
        users : array, optional
            For mechanisms that remember: a key per user. Others refuse it.
        rng : None, int or Generator
            None is the operating system's entropy, as on a device. Anything else marks the reports as seeded.

        Returns
        -------
        Reports
        """
        if users is not None:
            raise InvalidArgument("users", "given", "None: this mechanism remembers nothing of a user", "users=None")
        stream = noise.generator(rng)
        return Reports(self, self._encode(values, stream), seeded=stream.seeded)

    def empty(self) -> Counts:
        """Return counts of no reports, to add to."""
        return Counts(self, self._zeros())

    def aggregate(self, reports: Any) -> Counts:
        """Count reports.

        Parameters
        ----------
        reports : Reports, bytes, ndarray of uint8, an iterable of these, or a table
            Reports of this mechanism. An iterable is counted one by one, so it may be longer than memory. A table (a
            path to Parquet, an Arrow table, a Spark frame) has one packed report per row, in a column of bytes: its
            only one, or the one called ``report``.

        Returns
        -------
        Counts
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
            What `aggregate` gave.
        candidates : list or array, optional
            The values asked for. None asks for all, where the values are declared.
        consistency : None, "simplex", "base-cut", "norm-cut" or "likelihood"
            None leaves the raw, unbiased estimates, which may be negative. See `discreet.local.consistent`.

        Returns
        -------
        Estimate
        """
        counts = self._own(counts)
        if consistency == "likelihood":
            return self._likelihood(counts, candidates)
        raw = self._estimate(counts, candidates)
        return raw if consistency is None else raw.consistent(consistency)

    def _likelihood(self, counts: Counts, candidates: Any) -> Estimate:
        """Estimate by maximum likelihood; a choice of those mechanisms whose law is simple enough."""
        why = f"here: {self.NO_LIKELIHOOD}" if self.NO_LIKELIHOOD else "for this mechanism"
        options = f"None, 'simplex', 'base-cut' or 'norm-cut' {why}"
        raise InvalidArgument("consistency", "likelihood", options, "consistency='simplex'")

    def _own(self, counts: Any) -> Counts:
        """Refuse what is not the counts of this mechanism."""
        if not isinstance(counts, Counts):
            raise InvalidType("counts", type(counts).__name__, "Counts", "counts=m.aggregate(reports)")
        self.same_as(counts.mechanism, "counts")
        return counts

    # ---- what it is

    @property
    def _exact(self) -> Fraction:
        """The budget as it was written."""
        return Fraction(self.epsilon.exact)  # type: ignore[attr-defined]

    @property
    def report_bits(self) -> int:
        """Bits of one report, without framing."""
        return self.layout.bits

    @cached_property
    def guarantee(self) -> Guarantee:
        """What every reporter is promised."""
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
        facts: dict[str, Any] = {"mechanism": self.NAME}
        for field in fields(self):  # type: ignore[arg-type]
            facts[field.name] = _plain(field.name, getattr(self, field.name))
        return facts

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
        """Tell whether ``n`` reports can have left these counters. Here: none of them is negative."""
        return all(within(array) for array in counters.values())


def local_budget(name: str, value: object) -> Budget:
    """Check the budget of a report: positive, finite, exact, and of a size that means something."""
    expected = f"a positive number, at least {float(SMALLEST_EPSILON):g} and at most {LARGEST_EPSILON}"
    number = checks.exact(name, value, expected, f"{name}=1.0")
    if not SMALLEST_EPSILON <= number <= LARGEST_EPSILON or number.denominator >= _LONGEST:
        raise InvalidArgument(name, value, expected, f"{name}=1.0")
    return Budget(number)


def public_key(value: object) -> int:
    """Check a hash key, or draw one."""
    if value is None:
        return int.from_bytes(noise.generator().bytes(16).tobytes(), "little")
    return checks.whole("key", value, high=2**128 - 1)


def within(counters: IntArray, most: Any = None) -> bool:
    """Tell whether counters are at least 0 and, where given, at most a number.

    Examples
    --------
    >>> within(np.array([0, 3])), within(np.array([0, 3]), 2), within(np.array([-1]))
    (True, False, False)
    """
    return bool(counters.min(initial=0) >= 0 and (most is None or counters.max(initial=0) <= most))


def rows_within(cells: IntArray, most: IntArray) -> bool:
    """Tell whether the cells of every row are at least 0 and at most that row's number."""
    return within(cells) and bool((cells.max(axis=1) <= most).all())


def adds_up(counters: IntArray, total: int) -> bool:
    """Tell whether counters are at least 0 and have this sum. Not summed as 64-bit numbers: those could wrap around.

    Examples
    --------
    >>> adds_up(np.array([2, 3]), 5), adds_up(np.array([7, -2]), 5), adds_up(np.full(4, 2**62), 0)
    (True, False, False)
    """
    return within(counters) and abs(float(counters.sum(dtype=np.float64)) - total) <= total * 2.0**-50


def count_places(counters: IntArray, places: IntArray) -> None:
    """Add 1 to a counter for every time its place is listed; few of them do not cost a pass over all counters."""
    if len(places) > len(counters) >> 4:
        counters += np.bincount(places, minlength=len(counters))
    else:
        np.add.at(counters, places, 1)


class OneNumber(Mechanism):
    """A mechanism whose report is one number: the collector counts how often each was sent."""

    #: What the number, and the counters of all numbers, are called.
    FIELD: ClassVar[str] = "report"
    COUNTER: ClassVar[str] = "reports"

    @cached_property
    def layout(self) -> Layout:
        """One number."""
        return Layout(((self.FIELD, bits_for(self._counters)),))

    @property
    def _limits(self) -> dict[str, int]:
        return {self.FIELD: self._counters}

    def _zeros(self) -> dict[str, IntArray]:
        return {self.COUNTER: np.zeros(self._counters, np.int64)}

    def _add(self, counters: dict[str, IntArray], rows: Rows) -> int:
        sent, counted = self.layout.unpack(rows, self.FIELD), counters[self.COUNTER]
        sent = sent[sent < len(counted)]
        count_places(counted, sent)
        return len(sent)

    def _possible(self, counters: dict[str, IntArray], n: int) -> bool:
        return adds_up(counters[self.COUNTER], n)


def mechanism_from_dict(facts: Any) -> Mechanism:
    """Rebuild any local mechanism from its plain data.

    Examples
    --------
    >>> from discreet.local import DirectResponse
    >>> m = DirectResponse(epsilon=1, domain=5)
    >>> mechanism_from_dict(m.to_dict()) == m
    True
    """
    if not isinstance(facts, dict) or not isinstance(facts.get("mechanism"), str):
        raise FormatError("not a local mechanism: the field 'mechanism' is missing")
    if facts["mechanism"] in _HOMES:
        import_module(f"discreet.local.{_HOMES[facts['mechanism']]}")
    kind = _BY_NAME.get(facts["mechanism"])
    if kind is None:
        known = ", ".join(sorted(mechanisms()))
        raise FormatError(f"mechanism {facts['mechanism']!r} is not known here; known: {known}")
    wanted = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    if set(facts) - {"mechanism"} != wanted:
        odd = sorted((set(facts) - {"mechanism"}) ^ wanted)
        raise FormatError(f"{kind.NAME} damaged: fields missing or unknown: {', '.join(odd)}")
    try:
        mechanism = kind(**{name: _read(name, facts[name]) for name in wanted})
        same = binary.canonical(mechanism.to_dict()) == binary.canonical(facts)
    except (DiscreetError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError) as error:
        raise FormatError(f"{kind.NAME} damaged: {error}") from None
    if not same:
        raise FormatError(f"{kind.NAME} damaged: its parameters are not in canonical form")
    return mechanism


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, Budget):
        return str(value.exact)
    if isinstance(value, Fraction):
        return str(value)
    if name == "key":
        return value.to_bytes(16, "little").hex()
    if isinstance(value, Mechanism):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain("", v) for v in value]
    return value


def _read(name: str, value: Any) -> Any:
    if name.startswith("epsilon") and isinstance(value, str):
        return written_budget(name, value)
    if name == "key":
        if not isinstance(value, str) or len(value) != 32:
            raise FormatError("the key must be 32 hexadecimal digits")
        return int.from_bytes(bytes.fromhex(value), "little")
    if isinstance(value, dict):
        return mechanism_from_dict(value)
    if isinstance(value, list):
        return tuple(_read("", v) for v in value)
    return value


def written_budget(name: str, text: Any) -> Fraction:
    """Read a budget as headers have it.

    Examples
    --------
    >>> written_budget("epsilon", "1/2")
    Fraction(1, 2)
    """
    if not isinstance(text, str) or not _RATIONAL.fullmatch(text) or text.endswith("/0"):
        raise FormatError(f"{name} must be a rational number such as 1/2")
    return Fraction(text)


def mechanisms() -> dict[str, type[Mechanism]]:
    """Return all local mechanisms by name.

    Examples
    --------
    >>> "direct-response" in mechanisms()
    True
    """
    for home in _HOMES.values():
        import_module(f"discreet.local.{home}")
    return {name: _BY_NAME[name] for name in [*_HOMES, *(_BY_NAME.keys() - _HOMES.keys())]}
