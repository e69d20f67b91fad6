"""Small synopses made by hand: a grid, a tree, and a list of surviving cells."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import discreet as dc
from discreet.synopses import BoxSynopsis, HiddenCells, Synopsis, TreeTable

PEOPLE = dc.Domain({"age": (0, 100), "sex": {"categories": ["f", "m"], "missing": "own"}})


NAN = math.nan


def promise(epsilon: float = 1.0, **details: Any) -> dc.Guarantee:
    ledger = dc.Ledger(epsilon=epsilon)
    ledger.spend("number of rows", Fraction(str(epsilon)) / 4)
    ledger.spend("count in every leaf", ledger.remaining, "parallel")
    return dc.Guarantee.from_ledger(ledger, model="central", assumptions=["the bounds are public"], **details)


def people(**changes: Any) -> Synopsis:
    """Return two age groups that mix the sexes, and the rows whose sex is missing."""
    parts: dict[str, Any] = {
        "lower": [[0, 0], [50, 0], [0, NAN]],
        "upper": [[50, 2], [100, 2], [100, NAN]],
        "weights": [60, 40, -3],
        "variances": [4.0, 4.0, 4.0],
        "guarantee": promise(),
    }
    return BoxSynopsis(PEOPLE, **{**parts, **changes})


def small_tree() -> TreeTable:
    return TreeTable(
        parent=[-1, 0, 0],
        depth=[0, 1, 1],
        leaf=[-1, 0, 1],
        axis=[0, -1, -1],
        lower=[[0, 0], [0, 0], [50, 0]],
        upper=[[100, 2], [50, 2], [100, 2]],
        estimate=[97.0, NAN, NAN],
        variance=[8.0, math.inf, math.inf],
        threshold=[3.0, NAN, NAN],
    )


def with_tree() -> Synopsis:
    return BoxSynopsis(
        PEOPLE,
        lower=[[0, 0], [50, 0]],
        upper=[[50, 2], [100, 2]],
        weights=[60.5, 40.25],
        variances=[4.0, 3.0],
        points=[[20, 1], [70, 0.9]],
        guarantee=promise(),
        total=99.5,
        total_variance=2.5,
        tree=small_tree(),
        uncut=["sex"],
    )


def survivors() -> Synopsis:
    return people(hidden=HiddenCells(10**14, cutoff=12, variance=4.0), weights=[60, 40, 13], total=150.0)


KINDS: dict[str, Callable[[], Synopsis]] = {"grid": people, "tree": with_tree, "survivors": survivors}
