"""The nD-Laplace experiments again: clusters and attacks after noise in 2, 3 and n columns, with its faults on and off.

The thesis perturbs every record once and clusters what it gets. Its figures for two columns, and the tables that its
author published for more, are set beside the same runs here: with the sampler and the damaged file that were used then,
and with the mechanism as it should be. Changed throughout: noise is drawn anew in every run (one draw was clustered ten
times), what is not defined is left out instead of counted as 0, and rivals get the same total ε.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

from discreet_studies.harness.study import Numbers, Setting, Study
from discreet_studies.nd_laplace.data import FROM_FILES, MADE, available
from discreet_studies.nd_laplace.findings import findings
from discreet_studies.nd_laplace.measures import PARTS
from discreet_studies.nd_laplace.notes import notes
from discreet_studies.nd_laplace.pictures import pictures
from discreet_studies.nd_laplace.published import BUDGETS, COLUMN_BUDGETS, HEART_BUDGETS

_SHAPES = ("circle", "line", "skewed")
_LEVELS = (0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0)
_REMAPS = ("none", "clip", "grid", "bayes", "resample", "noise-aware")
_RIVALS = ("nd_laplace", "piecewise", "column_laplace", "priv_unit", "square_wave", "whole ε on every column")
_DIGITS = 4


def settings(quick: bool) -> list[Setting]:
    """Return the grid; a quick one has fewer draws, budgets and columns."""
    here = available()
    found: list[Setting] = []

    def add(part: str, seeds: int, **where: Iterable[Any]) -> None:
        for values in product(*where.values()):
            own = {"part": part, **dict(zip(where, values, strict=True))}
            found.extend({**own, "seed": s} for s in range(seeds)) if seeds else found.append(own)

    few = (0.5, 2.0, 5.0, 9.0)
    add("law", 0, level=_LEVELS, columns=(1, 2, 3, 5, 7, 10))
    add("resampling", 0, epsilon=(0.05, 0.5, 1.0, 2.0, 5.0, 9.0))
    add("sampler", 2 if quick else 5, sampler=("published", "right"), columns=(2, 3, 5, 7, 10))
    add("pair", 2 if quick else 5, sampler=("published", "right"), columns=(2, 3, 4, 5, 7, 10), level=(1.0,))
    add("records", 5 if quick else 20, epsilon=(0.05, 0.5, 2.0, 9.0), grid=(0, 10))
    add("points", 8 if quick else 40, units=("box",), epsilon=few if quick else BUDGETS)
    add("points", 5 if quick else 20, units=("raw",), epsilon=few if quick else BUDGETS)
    _tables(add, here, quick)
    _choices(add, 4 if quick else 20)
    for budget in ("none", 9.0) if quick else ("none", 0.05, 1.0, 5.0, 9.0):
        add("forest", 3 if quick else 20, epsilon=(budget,))
    add("boundary", 3 if quick else 10, epsilon=("none", 9.0))
    people = (*(n for n in _SHAPES if n in here and not quick), *MADE[1:])
    add(
        "attack",
        4 if quick else 20,
        set=("crowd",),
        columns=(2, 3, 5, 9),
        by=("rate",),
        size=(1.0, 3.0, 9.0, 27.0),
    )
    add("attack", 4 if quick else 20, set=("crowd",), columns=(2, 3, 5, 9), by=("total",), size=(10.0, 40.0, 160.0))
    add("attack", 3 if quick else 20, set=people, columns=(2,), by=("rate",), size=(1.0, 3.0, 9.0, 27.0))
    budgets = (3.0, 9.0) if quick else (1.0, 3.0, 5.0, 9.0)
    seeds = 4 if quick else 20
    add("remap", seeds, set=("blobs",), epsilon=budgets, remap=(*_REMAPS, "density"))
    # In five columns noise in a corner hardly ever ends in the box: drawing again would take for ever.
    add("remap", seeds, set=("crowd-5",), epsilon=budgets, remap=[m for m in _REMAPS if m != "resample"])
    add("remap", seeds, set=[n for n in ("circle",) if n in here and not quick], epsilon=budgets, remap=_REMAPS)
    totals = (10.0, 40.0) if quick else (5.0, 10.0, 20.0, 40.0)
    if "seeds" in here:
        add("equal", seeds, set=("seeds",), columns=(2, 4, 7), total=totals, mechanism=_RIVALS)
        others = [e for e in COLUMN_BUDGETS if e not in totals and not quick]
        add("equal", seeds, set=("seeds",), columns=(7,), total=others, mechanism=("piecewise", _RIVALS[-1]))
    add("equal", seeds, set=("wine",), columns=(2, 13) if quick else (2, 7, 13), total=totals, mechanism=_RIVALS)
    return found


def _tables(add: Any, here: Sequence[str], quick: bool) -> None:
    """Add the runs over columns: each table with the right sampler and the published one."""
    right, seeds = {"file": ("right",), "units": ("raw",)}, 5 if quick else 20
    for n in range(2, 8) if "seeds" in here else ():
        budgets = (0.5, 3.0) if quick else COLUMN_BUDGETS
        some = {"set": ("seeds",), "columns": (n,), "epsilon": budgets}
        dense = "k-means+hierarchical+optics" if n == 7 and not quick else "k-means+hierarchical"
        for file, sampler in (("lost", "published"), ("right", "published"), ("right", "right")):
            ways = (dense if file == "lost" or sampler == "right" else "k-means+hierarchical",)
            add("columns", seeds, **some, file=(file,), units=("raw",), sampler=(sampler,), ways=ways)
    for n in range(2, 10) if "heart" in here and not quick else ():
        ways = ("k-means+hierarchical" if n == 9 else "k-means",)
        both = ("published", "right")
        add("columns", seeds, set=("heart",), **right, columns=(n,), epsilon=HEART_BUDGETS, sampler=both, ways=ways)
    shapes = [n for n in _SHAPES if n in here and not quick]
    ways = ("k-means+hierarchical",)
    plain = {**right, "sampler": ("right",), "columns": (2,)}
    add("columns", seeds, set=shapes, **plain, epsilon=COLUMN_BUDGETS, ways=ways)
    add("columns", 5, set=shapes, **plain, epsilon=(9.0,), ways=("optics",))
    add("columns", 4 if quick else 10, set=MADE[1:], **plain, epsilon=(1.0, 5.0, 9.0), ways=ways)
    boxed = {"file": ("right",), "units": ("box",), "sampler": ("published", "right"), "ways": ("k-means",)}
    add("columns", seeds, set=("wine",), **boxed, columns=(2, 4, 7, 10, 13), epsilon=(3.0, 9.0))


def _choices(add: Any, seeds: int) -> None:
    """Add the runs that choose parameters on noisy points: figures 7 and 8, both radii, and the number of clusters."""
    noisy = (1.0, 5.0, 9.0)
    for part in ("elbow", "k-distance"):
        add(part, 1, epsilon=("none",), units=("box",))
        add(part, seeds, epsilon=noisy)
    add("k-distance", 1, epsilon=("none",), units=("own",))
    radii = (0.5, 0.9, "k-distance")
    add("radius", 1, epsilon=("none",), units=("box", "own"), radius=radii)
    add("radius", seeds, epsilon=noisy, radius=radii)
    add("choose k", seeds, columns=(2,), epsilon=(5.0, 10.0, 20.0))
    add("choose k", seeds, columns=(5,), epsilon=(20.0, 40.0))


def measure(setting: Setting) -> Numbers:
    """Measure one setting of its part; four digits are kept."""
    return {name: round(float(value), _DIGITS) for name, value in PARTS[str(setting["part"])](setting).items()}


def absent() -> Sequence[str]:
    """Return the tables that cannot be had here."""
    here = available()
    return [name for name in FROM_FILES if name not in here]


STUDY = Study(
    "nd-laplace",
    "nD-Laplace: clusters and attacks after noise in 2, 3 and n columns",
    "nD-Laplace for privacy-preserving clustering of distributed data (draft of a master's thesis, Open University of "
    "the Netherlands, 2023) and the tables of its repository "
    "tjvanderende/privacy-preserved-clustering-with-nD-Laplace",
    settings,
    measure,
    findings,
    notes,
    pictures,
    absent,
)
