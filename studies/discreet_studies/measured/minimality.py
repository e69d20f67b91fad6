"""Minimality: an attacker who knows the algorithm also learns from the cuts that an anonymous table does not show.

A cell that could have been cut but was not tells that a cut would have broken l or t, and so something of the sensitive
values inside (R. Wong and others, 2007). The attacker here knows the quasi-identifiers of everybody in the table, the
method and its settings, and the release: the cells and the sensitive values in each. Values of a cell could be dealt
to its rows in any way; the attacker deals them at random, runs the method, and keeps the deals that give the published
cells. If the values were drawn for everybody alike, the kept deals are the exact posterior.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from discreet import noise
from discreet.anonymity.growth import enforce
from discreet.anonymity.methods import Partitioner
from discreet.anonymity.release import Table
from discreet.anonymity.risk import check_blind, growth_rules
from discreet.core import IntArray, checks
from discreet.errors import InvalidArgument, InvalidType

#: Fewer deals than this make nobody certain.
_FEW = 50


@dataclass(frozen=True)
class MinimalityResult:
    """What the cells told beyond the values in them.

    Attributes
    ----------
    rows, cells : int
        Size of the release.
    deals : int
        Deals that gave the published cells; all figures rest on them.
    accepted : float
        Their share of those tried: 1 if the cells do not depend on who has which value.
    baseline : float
        Chance of guessing a row's value from its cell alone, mean over rows: the share of the commonest value.
    attacker : float
        Chance with what the cells tell as well. The guess is made by one half of the deals and judged by the other, so
        that few deals do not look like knowledge.
    worst : float
        The largest gain of one row: how much more likely a value of it is than its share in the cell says. Row and
        value are picked by one half of the deals and judged by the other.
    right, right_by_cell : float
        Share of the rows whose true value the attacker, and the cell's commonest value, guess.
    certain : float
        Share of the rows for which every deal that fits says the same, although the cell has several values; none is
        called so by fewer than 50 deals.
    """

    rows: int
    cells: int
    deals: int
    accepted: float
    baseline: float
    attacker: float
    worst: float
    right: float
    right_by_cell: float
    certain: float

    @property
    def advantage(self) -> float:
        """What the cuts add to the chance of a right guess, mean over rows."""
        return self.attacker - self.baseline

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        return {**asdict(self), "advantage": self.advantage}


def minimality_attack(model: Any, data: Any, *, deals: int = 1000, random_state: Any = 0) -> MinimalityResult:
    """Guess sensitive values from a release and from how it was made.

    Parameters
    ----------
    model : DensityTree or strict Mondrian
        The method with its settings; one sensitive column.
    data : array, data frame, table or path
        The records. Small tables: every deal runs the method once, and few deals fit where there are many cells.
    deals : int
        How many are tried.
    random_state : None, int, Generator or NumPy generator
        For the deals; one of NumPy is faster.

    Examples
    --------
    >>> import discreet as dc
    >>> import pyarrow as pa
    >>> domain = dc.Domain({"age": (0, 8), "ill": {"categories": ["no", "yes"], "role": "sensitive"}})
    >>> table = pa.table({"age": [1.0, 1, 5, 5], "ill": ["no", "no", "yes", "yes"]})
    >>> found = minimality_attack(dc.anonymity.Mondrian(2, 2, domain=domain), table, deals=400)
    >>> found.cells, found.baseline     # one cell of two and two; a cut at 4 would leave a side without diversity
    (1, 0.5)
    >>> found.accepted < 0.5
    True
    """
    if not isinstance(model, Partitioner):
        raise InvalidType("model", type(model).__name__, "a DensityTree or a strict Mondrian", "model=DensityTree(k=5)")
    tries = checks.whole("deals", deals, low=2)
    draw = _drawing(random_state)
    table, tiers = model._read(data)
    if len(table.sensitive) != 1:
        raise InvalidArgument("model", f"{len(table.sensitive)} sensitive columns", "of one sensitive column", "one")
    shown, cell = _published(model, table, tiers)
    codes = table.sensitive[0].codes
    values = len(table.sensitive[0].labels)
    by_cell = np.argsort(cell, kind="stable")
    halves = np.zeros((2, table.n, values), np.int64)
    every, fits = np.arange(table.n), 0
    for _ in range(tries):
        dealt = np.empty_like(codes)
        dealt[by_cell] = codes[by_cell[np.lexsort((draw(table.n), cell[by_cell]))]]
        other = replace(table, sensitive=(replace(table.sensitive[0], codes=dealt),))
        if np.array_equal(_published(model, other, tiers)[0], shown):
            halves[fits % 2, every, dealt] += 1
            fits += 1
    return _result(codes, cell, halves, fits, tries)


def _drawing(random_state: Any) -> Callable[[int], Any]:
    """Return what draws numbers by which to order rows."""
    if hasattr(random_state, "bit_generator"):
        return lambda n: random_state.random(n)
    stream = noise.generator(random_state)
    return lambda n: noise.below(2**62, size=n, rng=stream)


def _published(model: Partitioner, table: Table, tiers: Any) -> tuple[IntArray, IntArray]:
    """Return what a release shows of every row's cell, and the number of the cell."""
    rules = growth_rules(model.rules_, model.blind)
    grown = model._grow(table, tiers, rules)
    cells = enforce(grown.tree, grown.leaf, rules, table.sensitive).cells(grown.tree)
    if model.blind:
        check_blind(model.rules_, cells.of, table.sensitive)
    return np.hstack([cells.first[cells.of], cells.last[cells.of]]), cells.of


def _result(codes: Any, cell: IntArray, halves: IntArray, fits: int, tries: int) -> MinimalityResult:
    n, values = len(codes), halves.shape[2]
    held = np.zeros((int(cell.max()) + 1, values))
    np.add.at(held, (cell, codes), 1)
    share = (held / held.sum(axis=1, keepdims=True))[cell]
    guess = share.argmax(axis=1)
    attacker, chosen, certain, worst = share.max(axis=1), guess, np.zeros(n, bool), 0.0
    if fits >= 2:
        rows = np.arange(n)
        posterior = halves / halves.sum(axis=2, keepdims=True)
        found, gains = [], []
        for one, other in ((0, 1), (1, 0)):
            found.append(posterior[other][rows, posterior[one].argmax(axis=1)])
            gains.append((posterior[other] - share).ravel()[(posterior[one] - share).argmax()])
        attacker, worst = (found[0] + found[1]) / 2, float(np.mean(gains))
        whole = halves.sum(axis=0)
        chosen = whole.argmax(axis=1)
        certain = (whole.max(axis=1) == fits) & (share.max(axis=1) < 1) & (fits >= _FEW)
    return MinimalityResult(
        rows=n,
        cells=int(cell.max()) + 1,
        deals=fits,
        accepted=fits / tries,
        baseline=float(share.max(axis=1).mean()),
        attacker=float(attacker.mean()),
        worst=worst,
        right=float((chosen == codes).mean()),
        right_by_cell=float((guess == codes).mean()),
        certain=float(certain.mean()),
    )
