"""The cost of repeated reports for each of many users.

In the metric model reports about one user add up: k reports at rate ε per unit of distance are one at rate kε. The cost
depends on the number of reports only, so a refusal reveals nothing about a place.
"""

from __future__ import annotations

import json
import math
import re
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core import (
    AnyArray,
    BoolArray,
    Exact,
    FloatArray,
    Guarantee,
    as_it_is,
    check_name,
    checks,
    read_ledger,
    read_whole,
    write_whole,
    written_amount,
)
from discreet.engines.tables import same_text
from discreet.errors import BudgetExceeded, DiscreetError, FormatError, InvalidArgument, InvalidType

_FORMAT, _VERSION = "discreet.user-ledger", 1
#: Amounts are whole multiples of a unit; beyond this they are kept as Python's unbounded integers.
_LARGEST = 2**62


class _UserAmounts:
    """Users and their spending, in whole units of 1/denominator; users are sorted."""

    def __init__(self) -> None:
        self.users: AnyArray = np.empty(0, np.int64)
        self.units: AnyArray = np.empty(0, np.int64)

    def find(self, users: AnyArray) -> AnyArray:
        """Return the spending of sorted, distinct users, in units."""
        found = np.zeros(len(users), self.units.dtype)
        if len(self.users):
            places = np.minimum(np.searchsorted(self.users, users), len(self.users) - 1)
            known = self.users[places] == users
            found[known] = self.units[places[known]]
        return found

    def put(self, users: AnyArray, units: AnyArray) -> None:
        """Store the spending of sorted, distinct users."""
        if not len(self.users):
            self.users, self.units = users, units
            return
        everyone = np.concatenate([users, self.users])
        both = np.concatenate([units, self.units])
        self.users, first = np.unique(everyone, return_index=True)  # the first of two is the new one
        self.units = both[first]


class UserLedger:
    """The cost of every user's reports and its limits, for life and per period.

    Parameters
    ----------
    lifetime : float
        The most that all reports of one user may cost together.
    per_period : float, optional
        The most in one period (a day, a month), which is named when reports are charged.

    Privacy
    -------
    Neighbours: two histories of one user, whose places at any time are at most the mechanism's radius apart. Reports
    within the limit cost at most ``lifetime`` together, by composition. A refusal depends on how often the user
    reported before, which is public, and not on any place. The ledger counts ε at one distance in one metric: that of
    the first mechanism charged to it.

    Examples
    --------
    >>> import discreet as dc
    >>> ledger = UserLedger(lifetime=2)
    >>> mechanism = dc.metric.NDLaplace(epsilon=1, radius=0.1, domain=(0, 1))
    >>> places, who = np.array([[0.2, 0.3], [0.3, 0.4], [0.8, 0.1]]), ["ann", "ann", "bob"]
    >>> noisy = mechanism.transform(places, users=who, ledger=ledger)
    >>> ledger.spent(["ann", "bob", "cy"]).tolist()
    [2.0, 1.0, 0.0]
    >>> mechanism.transform(places[:1], users=["ann"], ledger=ledger)
    Traceback (most recent call last):
    ...
    discreet.errors.BudgetExceeded: reports of epsilon 1 are too many for 1 of 1 users, one of whom has 0 of 2 left \
for life; leave out the rows that ledger.allowed(users, 1) refuses
    """

    def __init__(self, lifetime: Any, per_period: Any = None) -> None:
        self._lifetime = checks.positive("lifetime", lifetime, fix="lifetime=10")
        self._per_period = None if per_period is None else checks.positive("per_period", per_period, fix="per_period=1")
        self._denominator = 1
        self._metric: str | None = None
        self._life = _UserAmounts()
        self._periods: dict[str, _UserAmounts] = {}
        self._lock = threading.Lock()

    @property
    def promise(self) -> str:
        """Words of a guarantee about it."""
        most = as_it_is(float(self._lifetime))
        return f"rows of one user add up; the user ledger lets them cost at most {most} together"

    def charge(self, users: Any, epsilon: Any, *, period: str | None = None, metric: str | None = None) -> None:
        """Charge one report for every entry of ``users``, before it is made; all or none.

        A user may occur often. ``period`` is needed if there is a limit per period; perturbers fill in ``metric``, that
        of ε, which is the same for all reports. `BudgetExceeded` if it is too much for someone: nothing is charged
        then, and no report must be made.
        """
        price = self._price(epsilon)
        names, counts = np.unique(read_names(users), return_counts=True)
        with self._lock:
            self._check_metric(metric)
            self._check_kind(names)
            units = self._units(price)
            tallies = self._tallies(period)
            after = []
            for tally, limit, where in tallies:
                before = tally.find(names)
                most = math.floor(limit * self._denominator)
                rooms = (most - before) // max(units, 1)
                if (counts > rooms).any():
                    left = float(Fraction(int((most - before)[counts > rooms][0]), self._denominator))
                    raise BudgetExceeded(
                        f"reports of epsilon {float(price):.6g} are too many for {int((counts > rooms).sum())} of "
                        f"{len(names)} users, one of whom has {left:.6g} of {float(limit):.6g} left {where}; leave out "
                        f"the rows that ledger.allowed(users, {float(price):.6g}) refuses"
                    )
                after.append(before + counts.astype(before.dtype) * units)
            for (tally, _, _), now in zip(tallies, after, strict=True):
                tally.put(names, now)
            if period is not None and self._per_period is not None:
                self._periods.setdefault(period, tallies[-1][0])
            self._metric = self._metric or metric

    def allowed(self, users: Any, epsilon: Any, *, period: str | None = None) -> BoolArray:
        """Return which reports could be charged, earlier ones of a user first. Nothing is charged."""
        price = self._price(epsilon)
        given = read_names(users)
        names, own = np.unique(given, return_inverse=True)
        order = np.argsort(own, kind="stable")
        counts = np.bincount(own, minlength=len(names))
        rank = np.empty(len(given), np.int64)
        rank[order] = np.arange(len(given)) - np.repeat(np.cumsum(counts) - counts, counts)
        fits = np.ones(len(given), bool)
        with self._lock:
            self._check_kind(names)
            units = self._units(price)
            for tally, limit, _ in self._tallies(period):
                rooms = (math.floor(limit * self._denominator) - tally.find(names)) // max(units, 1)
                fits &= np.asarray(rank < rooms[own], bool)
        return fits

    def spent(self, users: Any = None, *, period: str | None = None) -> FloatArray:
        """Return the spending of users (all users by default): ever, or in one period."""
        with self._lock:
            tally = self._life if period is None else self._periods.get(period, _UserAmounts())
            if users is None:
                units = tally.units
            else:
                names, own = np.unique(read_names(users), return_inverse=True)
                self._check_kind(names)
                units = tally.find(names)[own]
            return np.array([float(Fraction(int(x), self._denominator)) for x in units], np.float64)

    def exact(self, user: Any) -> Fraction:
        """Return the exact spending of one user."""
        with self._lock:
            return Fraction(int(self._life.find(read_names([user]))[0]), self._denominator)

    @property
    def users(self) -> AnyArray:
        """All users who have been charged, sorted."""
        return self._life.users.copy()

    def _price(self, epsilon: Any) -> Fraction:
        price = checks.exact("epsilon", epsilon, "a finite positive number", "epsilon=1.0")
        if price <= 0:
            raise InvalidArgument("epsilon", epsilon, "a finite positive number", "epsilon=1.0")
        return price

    def _units(self, price: Fraction) -> int:
        """Return a price in units, after refining the unit if needed."""
        common = math.lcm(self._denominator, price.denominator)
        factor = common // self._denominator
        large = max(self._lifetime, self._per_period or 0) * common > _LARGEST or price * common > _LARGEST
        for tally in (self._life, *self._periods.values()):
            if large and tally.units.dtype != object:
                tally.units = tally.units.astype(object)
            if factor > 1:
                tally.units = tally.units * factor
        self._denominator = common
        return int(price * common)

    def _tallies(self, period: str | None) -> list[tuple[_UserAmounts, Fraction, str]]:
        found = [(self._life, self._lifetime, "for life")]
        if self._per_period is not None:
            if not isinstance(period, str) or not period:
                raise InvalidType("period", period, "text: this ledger has a limit per period", "period='2025-06-01'")
            tally = self._periods.get(period, _UserAmounts())
            tally.units = tally.units.astype(self._life.units.dtype, copy=False)
            found.append((tally, self._per_period, f"in period {period!r}"))
        return found

    def _check_metric(self, metric: str | None) -> None:
        if self._metric is not None and metric is not None and _bare(metric) != _bare(self._metric):
            raise InvalidArgument(
                "ledger", self._metric, f"one for {metric}: amounts at other distances do not add up",
                "a UserLedger of its own for this mechanism",
            )  # fmt: skip

    def _check_kind(self, names: AnyArray) -> None:
        known = self._life.users
        if len(known) and len(names) and known.dtype.kind != names.dtype.kind:
            kinds = {"i": "whole numbers", "U": "text"}
            raise InvalidType("users", kinds[names.dtype.kind], f"{kinds[known.dtype.kind]}, as before in this ledger")

    def to_json(self) -> str:
        """Return the ledger as JSON, amounts as exact rationals. It says who reported how often: keep it safe."""
        with self._lock:
            tallies = {"": self._life, **self._periods}
            facts = {
                "format": _FORMAT,
                "version": _VERSION,
                "lifetime": str(self._lifetime),
                "per_period": None if self._per_period is None else str(self._per_period),
                "metric": self._metric,
                "denominator": str(self._denominator),
                "spent": {name: [t.users.tolist(), [str(int(x)) for x in t.units]] for name, t in tallies.items()},
            }
        return json.dumps(facts, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> UserLedger:
        """Read what `to_json` wrote."""
        facts = read_ledger(text, "user ledger", _FORMAT, _VERSION)
        try:
            limits = (facts[name] for name in ("lifetime", "per_period"))
            ledger = cls(*(None if limit is None else written_amount(limit) for limit in limits))
            ledger._denominator = _units(facts["denominator"], low=1)
            ledger._metric = None if facts["metric"] is None else str(facts["metric"])
            small = max(ledger._lifetime, ledger._per_period or 0) * ledger._denominator <= _LARGEST
            for name, (users, amounts) in facts["spent"].items():
                tally = _UserAmounts()
                names, units = read_names(users), np.array([_units(x) for x in amounts], object)
                if len(names) != len(units) or (names[1:] <= names[:-1]).any():
                    raise FormatError("users and amounts do not fit together")
                tally.users, tally.units = names, units.astype(np.int64) if small else units
                if name == "":
                    ledger._life = tally
                else:
                    ledger._periods[name] = tally
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, DiscreetError) as error:
            raise FormatError(f"the user ledger is damaged: {error}") from None
        return ledger

    def save(self, path: str | Path) -> None:
        """Write the ledger to a file, whole or not at all. Only its owner may read it (mode 600)."""
        check_name(path)
        write_whole(path, self.to_json(), private=True)

    @classmethod
    def load(cls, path: str | Path) -> UserLedger:
        """Read a ledger from a file."""
        return cls.from_json(read_whole(path))

    def __repr__(self) -> str:
        return f"<UserLedger: {len(self._life.users):,} users, {float(self._lifetime):.6g} each for life>"


def check_ledger(ledger: Any) -> None:
    """Refuse anything but a user ledger."""
    if not isinstance(ledger, UserLedger):
        raise InvalidType("ledger", type(ledger).__name__, "a UserLedger, with users", "ledger=UserLedger(lifetime=10)")


def charge_rows(
    ledger: Any, users: Any, rows: int, guarantee: Guarantee, period: Any, metric: str | None = None
) -> None:
    """Charge the price of a guarantee for every row of a table."""
    check_ledger(ledger)
    names = read_names(users)
    if len(names) != rows:
        raise InvalidArgument("users", f"{len(names)} of them", f"one per row, {rows}", "users=table['user']")
    price: Exact = guarantee.spent.exact
    if price == math.inf:
        raise InvalidArgument("epsilon", math.inf, "finite where a user ledger is charged", "epsilon=1.0")
    ledger.charge(names, price, period=period, metric=metric or metric_of(guarantee))


def metric_of(guarantee: Guarantee) -> str:
    """Return the metric and distance of a guarantee's ε."""
    told = guarantee.parameters
    facts = {name: told[name] for name in ("scaling", "radius", "density") if name in told}
    words = guarantee.neighbours
    return f"{words}; {json.dumps(facts, sort_keys=True)}" if facts else words


def _bare(metric: str) -> str:
    """Remove the words about *other* distances: a ledger counts at one."""
    return re.sub(r" \([^()]*in proportion[^()]*\)", "", metric)


def read_names(users: Any) -> AnyArray:
    """Read user names: whole numbers as int64, text in one spelling. Else ``ann`` and ``" ann"`` had two budgets."""
    fix = "users=table['user']"
    if users is None or isinstance(users, (str, bytes, dict)):
        raise InvalidType("users", type(users).__name__, "an array of whole numbers or of text, one per row", fix)
    names = np.asarray(users)
    if names.ndim != 1:
        raise InvalidArgument("users", f"{names.ndim} dimensions", "one-dimensional", fix)
    if names.dtype.kind == "O" and all(isinstance(x, str) for x in names.tolist()):
        names = names.astype(str) if len(names) else np.empty(0, np.int64)
    if not len(names):
        return np.empty(0, np.int64)
    if names.dtype.kind in "iu" and (names.dtype != np.uint64 or names.max() < 2**63):
        return names.astype(np.int64)
    if names.dtype.kind != "U":
        raise InvalidType("users", names.dtype.name, "an array of whole numbers or of text, none missing", fix)
    return np.asarray(same_text(names))


def _units(text: Any, low: int = 0) -> int:
    number = written_amount(text)
    if number.denominator != 1 or number < low:
        raise FormatError("an amount is not a whole number of units")
    return number.numerator
