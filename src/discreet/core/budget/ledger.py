"""The ledger: every use of the data is recorded and paid for, in exact rational arithmetic.

Steps on the same rows add up (*sequential*). Steps on disjoint parts of the rows cost as much as the most expensive
part (*parallel*), because adding or removing one row changes one part. This holds if the parts are fixed in advance or
come from a paid step. Both may be nested. The budget of a later step may depend on earlier *outputs*, as long as no
path overspends (adaptive composition); the ledger enforces that.
"""

from __future__ import annotations

import math
import threading
from fractions import Fraction
from typing import Any, Literal

from discreet.core import checks
from discreet.core.budget.draws import Draw
from discreet.core.budget.lines import KINDS, Kind, Line, add_up, spending
from discreet.core.budget.prices import zcdp_to_epsilon
from discreet.core.checks import Budget, Exact
from discreet.core.output import html
from discreet.errors import BudgetExceeded, InvalidArgument, InvalidType

__all__ = ["KINDS", "Entry", "Kind", "Ledger", "Line", "Scope", "add_up", "spending"]


class Entry:
    """A line in the making: its price is charged, its noise may still be drawn."""

    def __init__(self, label: str, amount: Exact, kind: Kind, *, unused: bool = False, law: str = "") -> None:
        self.label, self.amount, self.kind, self.unused, self.law = label, amount, kind, unused, law
        self.draws: list[Draw] = []
        #: What the price is in, and what a release that it paid for promises: to whom, and whether it can be repeated.
        self.counted_in, self.promised_to, self.seeded = "epsilon", "", False
        #: The lines of a release that this one paid for as a whole.
        self.parts: tuple[Line, ...] = ()

    def detail(self, lines: tuple[Line, ...], accounting: str, unit: str, *, seeded: bool) -> None:
        """Put the lines of the release that this charge paid for below it, if they are in its unit."""
        self.promised_to, self.seeded = unit, seeded
        if accounting != self.counted_in:
            return
        spent = add_up(lines)
        if self.amount != math.inf and spent < self.amount:
            lines = (*lines, Line("unused", self.amount - spent, unused=True))
        if add_up(lines) == self.amount:
            self.parts = lines

    @property
    def line(self) -> Line:
        return Line(self.label, self.amount, self.kind, self.parts, tuple(self.draws), self.unused, self.law)


class Scope:
    """A place to spend from: the ledger itself or a group within it. See `Ledger`."""

    def __init__(
        self, ledger: Ledger | None, parent: Scope | None, label: str, kind: Kind, limit: Exact = math.inf
    ) -> None:
        self._ledger: Ledger = ledger if ledger is not None else self  # type: ignore[assignment]
        self._parent, self._label, self._kind, self._limit = parent, label, kind, limit
        self._total: Exact = Fraction(0)
        self._parts: list[Entry | Scope] = []
        self._members: set[str] = set()

    @property
    def unit(self) -> Literal["epsilon", "rho"]:
        """Unit of this group: "epsilon" or "rho"."""
        return "epsilon" if self._kind == "pure" or self._parent is None else self._parent.unit

    def spend(
        self,
        label: str,
        epsilon: Any = None,
        kind: Kind = "sequential",
        *,
        rho: Any = None,
        law: str = "",
        delta: Any = 0,
    ) -> Exact:
        """Charge one step of your own mechanism, before it touches the data.

        The line is marked *external*: you have to prove that the price is right. The methods of this package charge and
        draw in one call (`discreet.mechanisms`).
        """
        kind = checks.choice("kind", kind, KINDS[:2])
        price, amount = self.priced(label, epsilon, rho)
        self.charge(label, amount, kind, delta=delta, law=law)
        return price

    def charge(
        self,
        label: str,
        amount: Exact,
        kind: Kind = "sequential",
        *,
        delta: Any = 0,
        unused: bool = False,
        law: str = "",
    ) -> Entry:
        """Write a line, in this group's unit, for noise that the caller (`discreet.mechanisms`) draws at once."""
        _check_label(label)
        share = self._ledger._share(delta)
        with self._ledger._lock:
            self._check_new(label)
            self._ledger._check_share(label, share)
            for place, total in self._after(label, amount):
                place._total = total
            entry = Entry(label, amount, kind, unused=unused, law=law)
            entry.counted_in = self.unit
            self._append(label, entry)
            self._ledger._delta_spent += share
        return entry

    def check(self, label: str, epsilon: Any = None, *, rho: Any = None, delta: Any = 0) -> None:
        """Raise what `spend` would raise, without charging. Methods check, look at the form of the data, then spend."""
        _, amount = self.priced(label, epsilon, rho)
        self._ledger._check_share(label, self._ledger._share(delta))
        self.check_amount(label, amount)

    def check_amount(self, label: str, amount: Exact) -> None:
        """Raise what `charge` would, without charging anything."""
        with self._ledger._lock:
            self._check_new(label)
            self._after(label, amount)

    def priced(self, label: str, epsilon: Any, rho: Any) -> tuple[Exact, Exact]:
        """Return what a step costs as given, and in the ledger's unit."""
        _check_label(label)
        if (epsilon is None) == (rho is None):
            raise InvalidArgument("epsilon", epsilon, "given, or rho, but not both", 'spend("count", 0.1)')
        if rho is not None:
            if self.unit == "epsilon":
                raise InvalidArgument("rho", rho, "left out in a pure epsilon ledger", "Ledger(rho=0.5, delta=1e-6)")
            price = checks.budget("rho", rho)
            return price, price
        price = checks.budget("epsilon", epsilon)
        return price, price if self.unit == "epsilon" else price * price / 2

    def _after(self, label: str, amount: Exact) -> list[tuple[Scope, Exact]]:
        """Return what the groups from here to the root would cost after a step; raise if that is too much."""
        totals: list[tuple[Scope, Exact]] = []
        place: Scope | None = self
        grown, added = amount, amount  # the member that grows: what it costs then, and how much that is more
        while place is not None:
            before = place._total
            total = max(before, grown) if place._kind == "parallel" else before + added
            if total > place._limit:
                left = place._limit - before
                raise BudgetExceeded(
                    f"{label!r} needs {place.unit} {_short(amount)} but only {_short(left)} of {_short(place._limit)} "
                    "is left; spend less or open a larger ledger"
                )
            grown = place._cost(total)
            # An infinite total cannot grow, and inf - inf is undefined.
            added = grown - place._cost(before) if before != math.inf else Fraction(0)
            totals.append((place, total))
            place = place._parent
        if totals[-1][0] is not self._ledger:
            raise InvalidType("scope", self, "a group opened on its ledger", "ledger.parallel(...)")
        return totals

    def _cost(self, total: Exact) -> Exact:
        """Return what so much spent here costs the group above: pure ε steps cost (Σε)²/2 in zCDP."""
        return total * total / 2 if self._kind == "pure" and self._parent is not None else total

    def sequential(self, label: str, limit: Exact = math.inf) -> Scope:
        """Open a group whose steps add up, at most to a limit."""
        return self._open(label, "sequential", limit)

    def pure(self, label: str, limit: Exact) -> Scope:
        """Open a group of pure ε steps in a zCDP ledger: they add up to a limit in ε, and cost (Σε)²/2."""
        if self.unit == "epsilon":
            raise InvalidArgument("kind", "pure", "used in a zCDP ledger only", f"sequential({label!r})")
        return self._open(label, "pure", limit)

    def parallel(self, label: str) -> Scope:
        """Open a group whose members work on disjoint rows: it costs as much as its most expensive member.

        A label may not be repeated: if it meant the same rows, the second step would seem free.
        """
        return self._open(label, "parallel")

    def _open(self, label: str, kind: Kind, limit: Exact = math.inf) -> Scope:
        _check_label(label)
        scope = Scope(self._ledger, self, label, kind, limit)
        with self._ledger._lock:
            self._check_new(label)
            self._append(label, scope)
        return scope

    def _check_new(self, label: str) -> None:
        """Refuse a second member of the same name in a parallel group: disjoint rows have names of their own."""
        if self._kind == "parallel" and label.strip() in self._members:
            expected = f"new in the parallel group {self._label!r}, whose members are on disjoint rows"
            fix = "a label of its own for other rows, or one sequential group for several steps on the same rows"
            raise InvalidArgument("label", label, expected, fix)

    def _append(self, label: str, part: Entry | Scope) -> None:
        self._parts.append(part)
        self._members.add(label.strip())

    def __copy__(self) -> Scope:
        raise InvalidType("ledger", self, "one and the same: a copy could spend its budget again", "one Ledger")

    def __reduce__(self) -> Any:
        return self.__copy__()

    def __sklearn_clone__(self) -> Scope:
        return self  # estimators that are cloned charge the same ledger

    def __enter__(self) -> Scope:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    @property
    def spent(self) -> Budget:
        """Cost of this group so far."""
        return Budget(self._total)

    @property
    def lines(self) -> tuple[Line, ...]:
        """Lines of this group, in order."""
        return tuple(
            x.line if isinstance(x, Entry) else Line(x._label, x._cost(x._total), x._kind, x.lines)
            for x in list(self._parts)
            if isinstance(x, Entry) or x._total > 0
        )

    @property
    def left(self) -> Exact:
        """Remaining amount by this group's own limit."""
        return math.inf if self._limit == math.inf else self._limit - self._total


class Ledger(Scope):
    """A privacy budget and the record of its spending.

    Parameters
    ----------
    epsilon : float or Fraction
        Budget of a pure ε ledger. Floats are read as written: ``0.1`` is exactly 1/10. ``math.inf`` is a run without
        privacy; the guarantee states it.
    rho : float or Fraction
        Instead of ``epsilon``: budget of a zCDP ledger.
    delta : float or Fraction
        With ``rho``, the δ at which `epsilon` is stated. With ``epsilon``, what the δ of (ε, δ) steps may add up to;
        left out, such steps are refused.

    Examples
    --------
    >>> ledger = Ledger(epsilon=1.0)
    >>> price = ledger.spend("count", 0.25)
    >>> ledger.remaining
    0.75
    >>> print(ledger)
    step       composition   epsilon
    count      external         0.25
    spent                       0.25
    remaining                   0.75
    """

    def __init__(self, epsilon: Any = None, *, rho: Any = None, delta: Any = None) -> None:
        if (epsilon is None) == (rho is None):
            raise InvalidArgument("epsilon", epsilon, "given, or rho with delta, but not both", "Ledger(epsilon=1.0)")
        if rho is not None and delta is None:
            raise InvalidArgument("delta", delta, "given together with rho", "Ledger(rho=0.5, delta=1e-6)")
        super().__init__(None, None, "ledger", "sequential")
        self._lock = threading.Lock()
        self._unit: Literal["epsilon", "rho"] = "epsilon" if rho is None else "rho"
        self._limit = checks.budget(self._unit, epsilon if rho is None else rho)
        # A fraction comes from the package itself, which has warned of a large delta already.
        self._delta = Fraction(0)
        if delta is not None:
            self._delta = checks.probability("delta", delta) if isinstance(delta, Fraction) else checks.slack(delta)
        self._delta_spent = Fraction(0)

    @property
    def unit(self) -> Literal["epsilon", "rho"]:
        """Unit of the ledger."""
        return self._unit

    @property
    def total(self) -> Budget:
        """The budget the ledger was opened with."""
        return Budget(self._limit)

    @property
    def remaining(self) -> Budget:
        """Remaining budget."""
        return Budget(self.left)

    @property
    def delta(self) -> float:
        """The δ of the guarantee: the one given with ρ, or what the steps of an ε ledger have added up to."""
        return float(self._delta_spent if self._unit == "epsilon" else self._delta)

    @property
    def releases(self) -> list[Entry]:
        """The charges of whole releases, which say to whom they promise and whether they were seeded."""
        return [entry for entry in self._parts if isinstance(entry, Entry) and entry.promised_to]

    @property
    def delta_limit(self) -> Fraction:
        """The δ that the ledger was opened with, exactly; 0 without one."""
        return self._delta

    @property
    def epsilon(self) -> float:
        """The ε that the spent budget amounts to, at `delta`."""
        return self.spent if self._unit == "epsilon" else zcdp_to_epsilon(self.spent, self._delta)

    def _share(self, delta: Any) -> Fraction:
        share = checks.delta_share(delta)
        if share and (self._unit == "rho" or not self._delta):
            what = "0 in a zCDP ledger" if self._unit == "rho" else "0 in a ledger that was opened without one"
            raise InvalidArgument("delta", delta, what, "Ledger(epsilon=1.0, delta=1e-6)")
        return share

    def _check_share(self, label: str, share: Fraction) -> None:
        if share and self._delta_spent + share > self._delta:
            raise BudgetExceeded(
                f"{label!r} needs delta {_short(share)} but only {_short(self._delta - self._delta_spent)} of "
                f"{_short(self._delta)} is left; spend less or open a larger ledger"
            )

    def split(self, *weights: Any) -> tuple[Fraction, ...]:
        """Divide what remains in the given proportions, exactly."""
        if not weights:
            raise InvalidArgument("weights", weights, "at least one positive number", "split(1, 2)")
        shares = [checks.positive("weights", w, fix="split(1, 2)") for w in weights]
        rest = self.remaining.exact
        if isinstance(rest, float):
            raise InvalidArgument("weights", weights, "used with a finite budget only", "Ledger(epsilon=1.0)")
        return tuple(rest * w / sum(shares) for w in shares)

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the readable table: step, composition, cost; groups indented."""
        body = [
            ("  " * depth + line.label, "external" if line.external else line.kind, _short(line.amount))
            for top in self.lines
            for depth, line in top.walk()
        ]
        ends = [("spent", "", _short(self._total)), ("remaining", "", _short(self.remaining.exact))]
        if self._delta_spent:
            ends.append(("delta spent", f"of {_short(self._delta)}", _short(self._delta_spent)))
        return [*body, *ends]

    def __str__(self) -> str:
        table = [("step", "composition", self.unit), *self.rows()]
        widths = [max(len(row[i]) for row in table) for i in range(3)]
        return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c:>{widths[2]}}".rstrip() for a, b, c in table)

    def _repr_html_(self) -> str:
        return html.table(repr(self).strip("<>"), ["step", "composition", self._unit], self.rows())

    def __repr__(self) -> str:
        return f"<Ledger {self.unit}: {_short(self._total)} of {_short(self._limit)} spent>"


def _check_label(label: object) -> None:
    if not isinstance(label, str):
        raise InvalidType("label", label, "text saying what the budget is for", '"count"')
    if not label.strip():
        raise InvalidArgument("label", label, "text saying what the budget is for", '"count"')


def _short(amount: Exact) -> str:
    return f"{float(amount):.6g}"
