"""Check that the rows of a released table keep the declared public facts: functions, and impossible combinations."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet import engines
from discreet.core import Date, Domain, Function, Impossible, by_days, held
from discreet.engines.passes import AxisGrids, GroupedMarginal, MarginalsPass
from discreet.synopses.marginals import public_grid


def broken_facts(table: Any, domain: Domain) -> tuple[str, ...]:
    """Return the declared facts, in words, that some row of a released table breaks.

    It costs no budget because its result is not released.
    """
    every: list[Function | Impossible] = [*domain.facts.functions, *domain.facts.impossible]
    told = zip(domain.facts.sentences, every, strict=True)
    return tuple(text for text, fact in told if _broken(table, domain, fact))


def _broken(table: Any, domain: Domain, fact: Function | Impossible) -> bool:
    source = engines.open(table)
    if isinstance(fact, Impossible):
        columns = {name: domain.column(name) for name, _ in fact.stretches}
        kept = []
        for impossible in (None, [dict(fact.written)]):  # what a pass leaves out because of it has it
            grid = public_grid(Domain(columns, impossible=impossible))
            alone = GroupedMarginal([0], [np.zeros(grid.sizes[0], np.int64)])
            kept.append(int(source.marginals(MarginalsPass(grid, (alone,)))[0].sum()))
        return kept[0] != kept[1]
    columns = {name: domain.column(name) for name in (fact.source, fact.column)}
    grid = public_grid(Domain(columns, functions={fact.column: {fact.source: dict(fact.written)}}))
    size = grid.sizes[1]
    follows = np.full(grid.sizes[0], size - 1, np.int64)  # of missing values the last cell, where they have one
    for low, high, place in fact.pieces:
        follows[held(grid.domain.columns[0], *grid.boxes(0), [(low, high)])] = _cell(grid, place)
    pair = GroupedMarginal([0, 1], [follows, np.arange(size)])  # the cell that a source leads to, and the one there
    found = source.marginals(MarginalsPass(grid, (pair,)))[0]
    expected, cell = np.divmod(np.flatnonzero(found), size)
    return bool((expected != cell).any())


def _cell(grid: AxisGrids, place: float) -> int:
    """Return the cell of a place on the axis of the dependent column."""
    column, (lower, upper) = grid.domain.columns[1], grid.boxes(1)
    if isinstance(column, Date):
        lower, upper = by_days(column, lower), by_days(column, upper)
    # A bound of real numbers is a cell without width, and is no other place's.
    return int(np.flatnonzero(((lower <= place) & (place < upper)) | ((lower == place) & (upper == place)))[0])
