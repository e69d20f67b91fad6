"""The promise of two merged synopses, and the cells that they do not list."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.core import Guarantee, Kind, Line, add_up
from discreet.errors import InvalidArgument
from discreet.synopses.boxes.tables import HiddenCells

DISJOINT = "no person is in more than one of the merged tables (declared by the user)"


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


def joint_hidden(sides: Sequence[tuple[int, HiddenCells | None]]) -> HiddenCells | None:
    """Describe the unlisted cells of two synopses, given their numbers of leaves, by what holds for both.

    A cell that is left out lies below the larger cutoff. That all listed ones lie above it holds only if both sides
    leave cells out by the same cutoff.
    """
    known = [hidden for _, hidden in sides if hidden is not None]
    if not known:
        return None
    return HiddenCells(
        n_cells=sum(leaves if hidden is None else hidden.n_cells for leaves, hidden in sides),
        cutoff=max(h.cutoff for h in known),
        variance=max(h.variance for h in known),
        only_above=len(known) == 2 and known[0].cutoff == known[1].cutoff and all(h.only_above for h in known),
    )
