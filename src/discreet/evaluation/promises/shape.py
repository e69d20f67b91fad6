"""Check the form of the facts in a promise, so that readers need no further checks."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet import engines
from discreet.core import Date, Domain, Function, Impossible, by_days, held
from discreet.engines.passes import AxisGrids, GroupedMarginal, MarginalsPass
from discreet.synopses.marginals import public_grid


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _share(value: Any) -> bool:
    return _number(value) and 0 <= value <= 1


def _level(value: Any) -> bool:
    return _number(value) or value == "inf"


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


#: Fields of an anonymous table's promise. Each may be absent; "*" stands for any name, [x] for a list of x.
_SHAPE: dict[str, Any] = {
    "output": _text,
    "identifiers": _text,
    "k_counts": _text,
    "rows": _whole,
    "cells": _whole,
    "quasi_identifiers": [_text],
    "labels": {"*": {"*": [_text]}},
    "kept": {"columns": [_text], "k": _whole, "unique": _share},
    "required": {
        "k": _whole,
        "probabilistic_k": _whole,
        "l": {"kind": _text, "least": _number, "c": _number, "counts": _text},
        "t": {"kind": _text, "most": _number, "counts": _text},
        "k_by_columns": {"least": _whole, "columns": [[_text]]},
    },
    "reached": {
        "k": _whole,
        "probabilistic_k": _whole,
        "l": {"*": _level},
        "t": {"*": _number},
        "l_kind": _text,
        "t_kind": {"*": _text},
        "largest_share": _share,
        "k_by_columns": {"least": _whole, "columns": [[_text]]},
    },
}
#: Fields without which others mean nothing.
_NEEDED = {"kept": ("columns",), "k_by_columns": ("least", "columns")}


def misshapen(facts: Mapping[str, Any], *, syntactic: bool) -> str:
    """Return the name of a fact whose form is wrong; empty if all are right."""
    for name, value in facts.items():
        if not _plain(value) or not _plain(name):
            return str(name).encode("ascii", "backslashreplace").decode()
        if syntactic and not _fits(value, _SHAPE.get(name), name):
            return name
    return ""


def _fits(value: Any, shape: Any, name: str = "") -> bool:
    if shape is None or (value is None and name == "k"):  # where no k is promised
        return True
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(v, shape[0]) for v in value)
    if isinstance(shape, dict):
        if not isinstance(value, dict) or any(value.get(key) is None for key in _NEEDED.get(name, ())):
            return False
        every = shape.get("*")
        if name == "kept" and ("k" in value) != ("unique" in value):
            return False
        return all(_fits(v, every or shape.get(key), key) for key, v in value.items())
    return bool(shape(value))


def _plain(value: Any) -> bool:
    """Return True if data can be shown: texts that can be encoded, and numbers that a float can hold."""
    if isinstance(value, Mapping):
        return all(_plain(part) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return all(map(_plain, value))
    if isinstance(value, str):
        return not any("\ud800" <= letter <= "\udfff" for letter in value)
    return not _number(value) or abs(value) <= sys.float_info.max


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
