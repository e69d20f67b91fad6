"""The gate: the one place where central noise is drawn, and where it is paid.

A publishing call takes values, their sensitivity, a price and a label. It writes the ledger line, reads the values,
computes the scale and draws: no line without a draw, no draw without a line. Prices are *per row*. If the unit is a
person with at most r rows, or weights give a row up to r copies, a line states the unit's price, r times the row's in ε
and r² times in ρ, because r rows change the table one after the other (Bun and Steinke 2016, proposition 1.9). A whole
budget is reserved before any row is read (`open`), durably if an account pays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from discreet import noise
from discreet.accounts import Reservation, check_ledger, reserve
from discreet.core import Entry, FloatArray, Guarantee, IntArray, Kind, Ledger, Person, Scope
from discreet.core.budget import Approx, Draw, Epsilon, Price, Rho, Wanted
from discreet.errors import BudgetExceeded
from discreet.mechanisms.laws import COUNT, Law, Moves, law_for
from discreet.noise import PublicRandomness
from discreet.noise.choice import ManyRuns, choose_many, joint_cuts, rate, weights_of
from discreet.noise.stream import watch
from discreet.noise.vector import isotropic


class Noisy(NamedTuple):
    """Published values, and the law of their noise."""

    values: Any
    law: Law

    @property
    def variance(self) -> float:
        """The variance of the noise on every number."""
        return self.law.variance


@dataclass
class _Book:
    """The state that a gate shares with its parts."""

    ledger: Ledger
    stream: noise.Generator
    person: Person | None = None
    bounded: bool = False
    copies: int = 1
    reserved: Reservation | None = None
    charged: Entry | None = None
    held: list[Entry] = field(default_factory=list)


class Gate:
    """A budget, and the only way to spend it on data. Make one with `Gate.open`.

    Examples
    --------
    >>> gate = Gate.open(Wanted.read(1.0, None, None), random_state=3)
    >>> noisy = gate.counts("age", np.array([10, 0, 7]), gate.left / 2)
    >>> noisy.values.tolist(), gate.left
    ([10, -2, 3], Epsilon(1/2))
    >>> gate.counts("town", np.array([10]), Epsilon(1))
    Traceback (most recent call last):
    ...
    discreet.errors.BudgetExceeded: 'town' needs epsilon 1 but only 0.5 of 1 is left; spend less or open a larger ledger
    """

    def __init__(self, book: _Book, scope: Scope, limited: Scope) -> None:
        self._book, self._scope, self._limited = book, scope, limited

    @classmethod
    def open(
        cls,
        wanted: Wanted | Approx | float,
        *,
        gaussian: bool = False,
        unit: Any = None,
        random_state: Any = None,
        ledger: Any = None,
        job: str = "release",
        asked: Mapping[str, Any] | None = None,
        artifact: bool = True,
        copies: int = 1,
    ) -> Gate:
        """Reserve a whole budget, before any row is read; `BudgetExceeded` if ``ledger`` does not hold it.

        Parameters
        ----------
        wanted : float, Wanted or Approx
            The budget, for one unit; a number is an ε.
        gaussian : bool, default False
            True spends it in ρ.
        unit : "row" or Person
            The unit of privacy. If it is a person, nothing can be priced before `bound` is called;
            `discreet.synopses.open_release` leaves out rows beyond the bound and calls it.
        random_state : None, int or Generator
            None is secure.
        ledger : Ledger or Account, optional
            Charged with the whole budget.
        job, asked : str, mapping
            Written into the account.
        artifact : bool, default True
            False if the release leaves no file.
        copies : int, default 1
            Most copies of a row, where weights say how often it is counted.
        """
        wanted = wanted if isinstance(wanted, (Wanted, Approx)) else Wanted.read(wanted, None, None)
        own, stream = cls._ledger(wanted, gaussian=gaussian), noise.generator(random_state)
        charged = reserve(ledger, job, own, unit=unit, asked=asked, artifact=artifact)
        book = _Book(own, stream, unit if isinstance(unit, Person) else None, copies=copies)
        if isinstance(charged, Entry):
            book.charged = charged
        else:
            book.reserved = charged
        watching = watch.watcher()
        if watching is not None:
            watching.opened(stream)
        return cls(book, own, own)

    @classmethod
    def check(cls, wanted: Wanted | Approx, *, gaussian: bool = False, ledger: Any, unit: Any, job: str) -> None:
        """Raise what `open` would, and write nothing."""
        check_ledger(ledger, cls._ledger(wanted, gaussian=gaussian), unit, job)

    @staticmethod
    def _ledger(wanted: Wanted | Approx, *, gaussian: bool = False) -> Ledger:
        if isinstance(wanted, Approx):
            return Ledger(wanted.epsilon.amount, delta=wanted.delta)
        if gaussian and wanted.rho is not None:
            return Ledger(rho=wanted.rho.amount, delta=wanted.delta)
        return Ledger(wanted.pure.amount)

    # ---- what there is to spend

    @property
    def pure(self) -> bool:
        """True if prices are in ε; in ρ otherwise."""
        return self._scope.unit == "epsilon"

    @property
    def left(self) -> Epsilon | Rho:
        """The budget left, per row."""
        spare = self._limited.left
        if self.pure:
            return Epsilon(spare if isinstance(spare, float) else spare / self._rows(Epsilon))
        return Rho(Fraction(spare) / self._rows(Rho))

    @property
    def whole(self) -> Epsilon | Rho:
        """The budget left, per unit."""
        spare = self._limited.left
        return Epsilon(spare) if self.pure else Rho(Fraction(spare))

    @property
    def person(self) -> Person | None:
        """The unit, if it is a person."""
        return self._book.person

    @property
    def seeded(self) -> bool:
        """True if the noise can be repeated."""
        return self._book.stream.seeded

    @property
    def charged_at_once(self) -> bool:
        """True if a ledger in memory paid the whole budget: unlike an account, it gets nothing back."""
        return self._book.charged is not None

    @property
    def free(self) -> PublicRandomness:
        """Randomness of the same stream that touches no data."""
        return PublicRandomness(self._book.stream)

    def bound(self, person: Person) -> None:
        """State that the rows are bounded: what is counted from now on holds no more rows of a person than this."""
        known = self._book.person
        if known is None or self._book.bounded or person.rows == "auto" or known.rows not in ("auto", person.rows):
            raise TypeError("the rows of a person are bounded once, by the number that was declared or selected")
        self._book.person, self._book.bounded = person, True

    def _rows(self, unit: type, *, apart: bool = False) -> int:
        """Return the factor of a unit: its rows in ε; in ρ the largest sum of squares of its rows per cell."""
        person, copies = self._book.person, self._book.copies
        if person is not None and not self._book.bounded:
            raise TypeError(
                "rows of persons have no price before they are bounded: open the release with "
                "discreet.synopses.open_release, which leaves out rows beyond the bound, or do it and call Gate.bound"
            )
        if unit is Epsilon:
            return copies if person is None else person.l1 * copies
        return copies**2 if person is None else person.l2_squared(grouped=apart) * copies**2

    def share(self, label: str, price: Price) -> Gate:
        """Return a gate with a limit of its own, whose lines are a group of this one.

        Use it in a ``with`` statement. What is left when it closes is charged as a line *unused*.
        """
        amount = self._amount(price)
        self._scope.check_amount(label, amount)
        scope = self._scope.sequential(label, amount)
        return Gate(self._book, scope, scope)

    def pure_share(self, label: str, price: Price) -> Gate:
        """Set a share aside for pure ε steps. In ρ their sum is at most √(2ρ), and the group costs (Σε)²/2."""
        if isinstance(price, Epsilon) and self.pure:
            return self.share(label, price)
        scope = self._scope.pure(label, self._unit_amount(price.pure(), Epsilon))
        return Gate(self._book, scope, scope)

    def sequential(self, label: str) -> Gate:
        """Open a group of lines that add up."""
        return Gate(self._book, self._scope.sequential(label), self._limited)

    def parallel(self, label: str) -> Gate:
        """Open a group whose members use disjoint rows: it costs as much as its most expensive member.

        The partition of the rows must be public or follow from earlier lines.
        """
        return Gate(self._book, self._scope.parallel(label), self._limited)

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, failed: Any, *_: object) -> None:
        spare = self._scope.left
        if self._scope is self._limited and not isinstance(spare, float) and spare > 0 and failed is None:
            self._scope.charge("unused", spare, unused=True)

    # ---- charging

    def _amount(self, price: Price) -> Any:
        """Convert a price per row to a price per unit, in the currency of the ledger."""
        if isinstance(price, Rho):
            if self.pure:
                raise TypeError("a budget in epsilon cannot pay a price in rho")
            return self._unit_amount(price, Rho)
        if not isinstance(price, Epsilon):
            raise TypeError(f"a price is an Epsilon or a Rho, got {type(price).__name__}")
        amount = self._unit_amount(price, Epsilon)
        return amount if self.pure else Epsilon(amount).as_rho().amount

    def _unit_amount(self, price: Price, unit: type) -> Any:
        return price.amount if price.infinite else price.amount * self._rows(unit)

    def check_price(self, label: str, price: Price) -> None:
        """Raise what a charge of this price would, and charge nothing."""
        self._scope.check_amount(label, self._amount(price))

    def hold(self, label: str, price: Price, kind: Kind = "parallel", *, per: str = "row") -> Hold:
        """Charge a line whose noise is drawn later; a promise before that fails."""
        if not price:
            raise BudgetExceeded(f"{label!r} cannot be published: the budget is used up")
        if per == "unit":
            amount = price.amount if self.pure or isinstance(price, Rho) else price.as_rho().amount
        else:
            amount = self._amount(price)
        entry = self._scope.charge(label, amount, kind)
        self._book.held.append(entry)
        return Hold(self, entry, price, per)

    # ---- publishing

    def counts(self, label: str, values: Any, price: Price, *, apart: bool = False) -> Noisy:
        """Publish the counts of disjoint cells, or one count.

        ``values`` are counts, or a function that reads them after the charge. In a ρ budget a price in ε is a pure
        step, charged ε²/2. With ``apart`` no cell holds rows from two of a person's groups: a person changes a cell by
        at most ``per_group``, and Gaussian noise is narrower.

        Privacy
        -------
        Neighbours: add or remove one row, or one person. A row changes one count by 1: `law_for`. Price: as given.
        """
        kind: Kind = "parallel" if callable(values) or np.ndim(values) else "sequential"
        return self.hold(label, price, kind).numbers(values, COUNT, apart=apart)

    def numbers(
        self, label: str, values: Any, price: Price, moves: Moves, kind: Kind = "sequential", *, apart: bool = False
    ) -> Noisy:
        """Publish whole numbers with independent noise; ``moves`` bounds the total change by one row."""
        return self.hold(label, price, kind).numbers(values, moves, apart=apart)

    def vectors(self, label: str, table: Any, price: Price, moves: Moves, *, apart: bool = False) -> Noisy:
        """Publish one vector per disjoint cell, each with a joint draw; ``moves`` bounds the change by one row."""
        return self.hold(label, price).vectors(table, moves, apart=apart)

    def sparse_counts(self, label: str, cells: Any, price: Epsilon, cutoff: int) -> tuple[IntArray, IntArray, Law]:
        """Publish the counts above a cutoff among more cells than can be listed.

        ``cells`` are the raw counts of the occupied cells (`CellCounts`), or a function that reads them. The cutoff, at
        least 0, must not depend on the rows. Returns the cells whose noisy count exceeds it, ascending, those counts,
        and the law of the noise, which is always Laplace.

        Privacy
        -------
        Neighbours: add or remove one row. The result has the law of discrete Laplace noise of scale 1/ε on all cells
        followed by a cutoff, which is post-processing. Occupied cells get their noise one by one. Empty ones are
        drawn from the exact law of those that exceed the cutoff; hits on occupied cells are discarded, so each empty
        cell is listed independently with the right chance. Sorting hides which cells were occupied. Price: ε.
        """
        hold, law, stream = self.hold(label, price), law_for(price), self._book.stream
        found = cells() if callable(cells) else cells
        with hold.drawing(law.draw(self._rows(Epsilon), found.n_cells)):
            noisy = found.counts + noise.discrete_laplace(law.scale, len(found.counts), stream)
            hits, weights = noise.exceedances(law.scale, cutoff, found.n_cells, stream)
        place = np.searchsorted(found.cells, hits)
        empty = np.append(found.cells, -1)[place] != hits
        kept = noisy > cutoff
        listed = np.concatenate([found.cells[kept], hits[empty]])
        order = np.argsort(listed)
        return listed[order], np.concatenate([noisy[kept], weights[empty]])[order], law

    def choose(self, label: str, scores: Any, price: Price, span: int, sizes: Any = None, *, per: str = "row") -> int:
        """Choose an outcome by its score, higher is better: the exponential mechanism.

        ``scores`` may be a function that reads them. If one row is added, the changes of all scores are in an interval
        of width ``span`` (with ``per="unit"``: one unit). ``sizes`` says how many outcomes each score stands for. A
        price in ρ pays for ε = √(8ρ): the loss of one choice ranges over an interval of width ε.

        Privacy
        -------
        `discreet.noise.exponential`. Price: as given.
        """
        return self.hold(label, price, "sequential", per=per).choose(scores, span, sizes)

    def choose_each(self, label: str, losses: FloatArray, sizes: IntArray, price: Epsilon, spans: Any) -> IntArray:
        """Choose one outcome in each of the disjoint boxes by the exponential mechanism.

        Row i of ``losses`` says how far each score of box i is below the best one, row i of ``sizes`` how many outcomes
        each entry stands for (0 for none). ``spans``, one for all boxes or one per box, are as in `choose`.

        Privacy
        -------
        Neighbours: add or remove one row, which is in one box. `discreet.noise.exponential` in each. Price: ε, once.
        """
        hold, (n, width) = self.hold(label, price), losses.shape
        with hold.drawing(_choice(price, self._rows(Epsilon), n)):
            if isinstance(spans, Fraction):
                factors: Any = rate(price.amount, spans)
            else:
                known = {span: rate(price.amount, span) for span in set(spans)}
                factors = np.array([known[span] for span in spans]).reshape(n, 1)
            weights = weights_of(losses, sizes, factors)
            return np.asarray(
                choose_many(weights.ravel(), np.arange(n + 1) * width, self._book.stream) - np.arange(n) * width
            )

    def cuts(self, label: str, runs: ManyRuns, n_cuts: int, price: Epsilon) -> tuple[IntArray, IntArray]:
        """Choose lines that cut each of the disjoint boxes at equally spaced quantiles.

        Returns the lines of all boxes, one box after the other, and the number of lines per box. A box with no more
        lines than cuts is cut at all of them, without reading rows.

        Privacy
        -------
        As `discreet.noise.quantiles`, in each box; a row is in one box. Price: ε, once.
        """
        hold = self.hold(label, price)
        numbers = np.minimum(n_cuts, runs.n_lines - 1)
        chosen = runs.n_lines - 1 > n_cuts
        lines = np.tile(np.arange(1, n_cuts + 1), (len(chosen), 1))
        with hold.drawing(_choice(price, self._rows(Epsilon), int(chosen.sum()))):
            lines[chosen] = joint_cuts(runs.only(chosen), n_cuts, price.amount, self._book.stream)
        return lines[np.arange(n_cuts) < numbers[:, np.newaxis]], numbers

    def quantiles(
        self, label: str, groups: Any, qs: Any, price: Epsilon, n_cells: int, kind: Kind = "parallel"
    ) -> IntArray:
        """Choose the quantiles ``qs`` of disjoint groups among the lines of a public grid, one row per group.

        ``groups()`` returns the occupied cells of each group, and their counts.

        Privacy
        -------
        Neighbours: add or remove one row, which is in one group. `discreet.noise.quantiles_from_counts` in each. Price:
        ε, once.
        """
        hold = self.hold(label, price, kind)
        found = groups()
        with hold.drawing(_choice(price, self._rows(Epsilon), len(found))):
            grid: Any = {"epsilon": price.amount, "low": 0, "high": n_cells, "n_cells": n_cells}
            made = [
                noise.quantiles_from_counts(counts, qs, cells=cells, rng=self._book.stream, **grid)
                for cells, counts in found
            ]
        return np.rint(np.array(made).reshape(len(found), -1)).astype(np.int64)

    @contextmanager
    def stated(self, label: str, price: Approx, law: str) -> Iterator[noise.Generator]:
        """Charge an (ε, δ) step whose law has no scale, and yield the stream to draw from.

        The price is per unit: such a step has no factor for the rows of a person.
        """
        entry = self._scope.charge(label, price.epsilon.amount, "parallel", delta=price.delta)
        draw = Draw(law, epsilon=price.epsilon.amount, delta=price.delta)
        entry.draws.append(draw)
        with watch.reason(self._book.stream, draw):
            yield self._book.stream

    # ---- the promise

    def promise(self, parameters: Mapping[str, Any], **facts: Any) -> Guarantee:
        """Return the guarantee of the lines so far; ``facts`` are fields of a `Guarantee`."""
        book = self._book
        if any(not entry.draws for entry in book.held):
            raise RuntimeError("a promise is made while a line waits for its noise")
        if not self.pure:
            parameters = {**parameters, "noise": "gaussian"}
        if book.reserved is not None:
            parameters = {**parameters, "account": book.reserved.facts}
        if book.person is None and isinstance(getattr(facts.get("domain"), "unit", None), Person):
            raise TypeError(
                "the domain protects persons and this gate prices rows: open the release with "
                "discreet.synopses.open_release, which bounds the rows of each person"
            )
        if book.person is not None:
            facts |= {"unit": book.person.describe(), "neighbours": book.person.neighbours}
        made = Guarantee(
            "central", ledger=self._scope.lines, accounting=self._scope.unit, parameters=parameters,
            delta=0.0 if self._scope.unit != book.ledger.unit else book.ledger.delta,
            seeded=book.stream.seeded, **facts,
        )  # fmt: skip
        watching = watch.watcher()
        if watching is not None and self._scope is book.ledger:
            watching.promised(book.ledger, made)
        return made

    def book(self, promise: Guarantee) -> Guarantee:
        """Record the publication in the account or ledger that paid, if there is one."""
        if self._book.reserved is not None:
            self._book.reserved.book(promise)
        elif self._book.charged is not None:
            self._book.charged.detail(promise.ledger, promise.accounting, promise.unit, seeded=promise.seeded)
        return promise

    def settle(self) -> None:
        """Finish a release that leaves no artifact."""
        self.book(self.promise({}))


class Hold:
    """A charged line whose noise is not drawn yet."""

    def __init__(self, gate: Gate, entry: Entry, price: Price, per: str = "row") -> None:
        self._gate, self._entry, self.price, self._per = gate, entry, price, per
        self._filled: set[str] = set()

    def law(self, moves: Moves, dimension: int = 1) -> Law:
        """Return the law of the noise, given the sensitivity."""
        return law_for(self.price, moves, dimension)

    def drawing(self, draw: Draw, form: str = "") -> Any:
        """State the draw in the line; draw within a ``with`` statement.

        A line is filled once: with numbers, with vectors, or with both on disjoint cells (``form``).
        """
        if form in self._filled or (self._filled and not form):
            raise RuntimeError(f"the noise of {self._entry.label!r} was drawn already")
        self._filled.add(form)
        self._entry.draws.append(draw)
        return watch.reason(self._gate._book.stream, draw)

    def numbers(self, values: Any, moves: Moves = COUNT, *, apart: bool = False) -> Noisy:
        """Draw noise for whole numbers: see `Gate.numbers` and `Gate.counts`."""
        gate, found = self._gate, values() if callable(values) else values
        price, rows = self._shared(apart)
        law = law_for(price, moves)
        size = found.shape if isinstance(found, np.ndarray) else None
        with self.drawing(law.draw(rows, 1 if size is None else math.prod(size)), "numbers"):
            return Noisy(found + _drawn(law, size, gate._book.stream), law)

    def _shared(self, apart: bool) -> tuple[Price, int]:
        """Return the price per row and the rows of a unit; in ρ fewer count if its groups are apart."""
        price, gate = self.price, self._gate
        rows = gate._rows(Rho if isinstance(price, Rho) else Epsilon, apart=apart)
        return (price * Fraction(gate._rows(Rho), rows) if apart and isinstance(price, Rho) else price), rows

    def choose(self, scores: Any, span: int, sizes: Any = None) -> int:
        """Draw a choice: see `Gate.choose`."""
        gate, price = self._gate, self.price
        epsilon = price.choice() if isinstance(price, Rho) else price
        found = scores() if callable(scores) else scores
        rows = 1 if self._per == "unit" else gate._rows(Epsilon)
        with self.drawing(_choice(epsilon, rows, 1, span=span)):
            amount: Any = epsilon.amount
            return noise.exponential(found, epsilon=amount, span=span, counts=sizes, rng=gate._book.stream)

    def vectors(self, table: Any, moves: Moves, *, apart: bool = False) -> Noisy:
        """Draw noise for vectors: see `Gate.vectors`, and `Gate.counts` for ``apart``."""
        gate, found = self._gate, table() if callable(table) else table
        price, rows = self._shared(apart)
        law = law_for(price, moves, found.shape[1])
        with self.drawing(law.draw(rows, len(found)), "vectors"):
            drawn = _drawn(law, found.shape, gate._book.stream)
        drawn += found
        return Noisy(drawn, law)


def _drawn(law: Law, size: tuple[int, ...] | None, stream: noise.Generator) -> Any:
    if law.name == "gaussian":
        return noise.discrete_gaussian(law.scale, size, stream)
    if law.name == "laplace":
        return noise.discrete_laplace(law.scale, size, stream)
    assert size is not None
    if law.name == "max-norm":
        return noise.max_norm_laplace(law.scale, size[1], size[0], stream)
    if law.scale == 0:
        return np.zeros(size, np.int64)
    return isotropic.isotropic_laplace(size[0], size[1], law.scale, stream)


def _choice(epsilon: Epsilon, rows: int, number: int, span: int = 1) -> Draw:
    """Return the draw that a line states for choices: scores with a span have the rate ε/span."""
    scale = Fraction(0) if epsilon.infinite else Fraction(span) / Fraction(epsilon.amount)
    return Draw("choice", scale, Fraction(span), rows, number)
