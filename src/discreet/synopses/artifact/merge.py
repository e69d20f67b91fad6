"""Two synopses of disjoint tables become one, and their promises are added up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core import Guarantee, Kind, Line, add_up
from discreet.errors import InvalidArgument, InvalidType, SchemaError
from discreet.synopses.artifact.tables import HiddenCells

if TYPE_CHECKING:
    from discreet.synopses.artifact.synopsis import Synopsis

DISJOINT = "no person is in more than one of the merged tables (declared by the user)"


def merge(a: Synopsis, b: Synopsis, disjoint_people: bool) -> Synopsis:
    """Put the leaves side by side under the joint promise. The trees are left out: there is no node above both."""
    from discreet.synopses.artifact.synopsis import Synopsis

    if not isinstance(b, Synopsis):
        raise InvalidType("other", type(b), "a Synopsis", "first.merge(second)")
    if not isinstance(disjoint_people, bool):
        raise InvalidType("disjoint_people", disjoint_people, "True or False", "disjoint_people=False")
    if a.domain != b.domain:
        raise SchemaError(
            f"synopses can be merged over one domain only, got {a.domain} and {b.domain}; "
            "release both with the same declaration"
        )
    if a.measured is not None or b.measured is not None:
        # Rows of two models side by side know no longer what was measured: answers would look surer than they are.
        raise SchemaError(
            "a marginal synopsis cannot be merged: what was measured of one table says nothing of the other; "
            "add answers instead, as in first.count(...) + second.count(...), or put samples together"
        )
    return Synopsis(
        a.domain,
        lower=np.concatenate([a.lower, b.lower]),
        upper=np.concatenate([a.upper, b.upper]),
        weights=np.concatenate([a.weights, b.weights]),
        variances=np.concatenate([a.variances, b.variances]),
        points=np.concatenate([a.points, b.points]),
        guarantee=joint_promise(a.guarantee, b.guarantee, disjoint_people),
        total=a.total + b.total,
        total_variance=a.total_variance + b.total_variance,
        hidden=_hidden(a, b),
        uncut=set(a.uncut) & set(b.uncut),
    )


def joint_promise(a: Guarantee, b: Guarantee, disjoint_people: bool) -> Guarantee:
    """State what the pair of releases promises."""
    for name in ("model", "accounting", "delta", "unit", "neighbours"):
        if getattr(a, name) != getattr(b, name):
            raise InvalidArgument(
                "other",
                getattr(b, name),
                f"a release with the same {name} ({getattr(a, name)!r})",
                "the same method for both",
            )
    kind: Kind = "parallel" if disjoint_people else "sequential"
    sides = tuple(
        Line(label, add_up(side.ledger), "sequential", side.ledger)
        for label, side in (("first table", a), ("second table", b))
        if side.ledger
    )
    lines = (Line("merged tables", add_up(sides, kind), kind, sides),) if sides else ()
    assumptions = list(dict.fromkeys([*a.assumptions, *b.assumptions, *([DISJOINT] if disjoint_people else [])]))
    return Guarantee(
        model=a.model,
        unit=a.unit,
        neighbours=a.neighbours,
        ledger=lines,
        accounting=a.accounting,
        # The δ of (ε, δ) steps adds up, also where people are disjoint. In zCDP it is where ε is stated.
        delta=a.delta if a.accounting == "rho" else a.delta + b.delta,
        parameters={
            "method": "merge",
            "disjoint_people": disjoint_people,
            "merged": [dict(a.parameters), dict(b.parameters)],
        },
        domain=a.domain,
        assumptions=tuple(assumptions),
        seeded=a.seeded or b.seeded,
    )


def _hidden(a: Synopsis, b: Synopsis) -> HiddenCells | None:
    """Describe the cells of both sides together, by what is true of all.

    A cell that is left out lies below the larger cutoff. That all listed ones lie above it holds only if both sides
    leave cells out by the same cutoff.
    """
    sides = [s.hidden for s in (a, b) if s.hidden is not None]
    if not sides:
        return None
    listed = sum(s.n_leaves for s in (a, b) if s.hidden is None)
    return HiddenCells(
        n_cells=listed + sum(h.n_cells for h in sides),
        cutoff=max(h.cutoff for h in sides),
        variance=max(h.variance for h in sides),
        only_above=len(sides) == 2 and sides[0].cutoff == sides[1].cutoff and all(h.only_above for h in sides),
    )
