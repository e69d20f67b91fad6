"""The frontier: on one table, what four privacy models cost the reader and what they leave to an attacker.

Our own experiment, for no publication sets all four side by side. Every model releases the same tables; the same three
things are done with every release, and the same people are attacked in the same way: see `utility.py` and
`attacks.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet_studies.frontier.attacks import AttackTally, coins, releases
from discreet_studies.frontier.findings import findings, notes, pictures
from discreet_studies.frontier.people import adult_is_here, world
from discreet_studies.frontier.utility import utility
from discreet_studies.harness.study import Numbers, Setting, Study

#: Parameters by method: ε of a release (central), of a report (local), at a tenth of the ranges (metric), or k.
GRID: dict[str, tuple[float, ...]] = {
    "raw": (0,),
    "nothing": (0,),
    "grid": (0.01, 0.1, 0.3, 1, 3, 10),
    "privtree": (0.01, 0.1, 0.3, 1, 3, 10),
    "local": (0.5, 1, 2, 4, 6, 8),
    "metric": (2, 4, 8, 16, 32, 64),
    "density-tree": (2, 5, 10, 20, 50, 200),
    "mondrian": (2, 5, 10, 20, 50, 200),
}
_QUICK: dict[str, tuple[float, ...]] = {
    "raw": (0,),
    "nothing": (0,),
    "grid": (0.1, 1, 10),
    "privtree": (0.1, 1, 10),
    "local": (1, 4, 8),
    "metric": (4, 16, 64),
    "density-tree": (2, 10, 50),
    "mondrian": (2, 10, 50),
}
#: Releases of one run, each with a table and coins of its own, and runs.
RELEASES, SEEDS, QUICK_SEEDS = 20, 20, 6


def settings(quick: bool) -> list[Setting]:
    """Return the grid: all parameters on invented patients and, in the full run, on Adult where its file is."""
    tables = ["patients"] if quick or not adult_is_here() else ["patients", "adult"]
    values, seeds = (_QUICK, QUICK_SEEDS) if quick else (GRID, SEEDS)
    return [
        {"table": table, "method": method, "value": value, "seed": seed, "releases": RELEASES}
        for seed in range(seeds)
        for table in tables
        for method, row in values.items()
        for value in row
    ]


def measure(setting: Setting) -> Numbers:
    """Attack many releases of one run, and read the first."""
    seed = int(setting["seed"])
    here = world(str(setting["table"]), seed)
    tally = AttackTally(here)
    numbers: dict[str, float] = {}
    runs = releases(here, str(setting["method"]), float(setting["value"]), int(setting["releases"]), seed)
    for r, (made, others, table) in enumerate(runs):
        tally.add(made, others, coins(here, seed, r))
        if r == 0:
            numbers.update(utility(made, table, here, seed))
    return {**numbers, **tally.numbers()}


def absent() -> Sequence[str]:
    """Return the tables that cannot be had here."""
    return [] if adult_is_here() else ["adult"]


STUDY = Study(
    "frontier",
    "The frontier: utility against attack success, four privacy models on one table",
    "S. Yeom, I. Giacomelli, M. Fredrikson and S. Jha (2018) for membership advantage, N. Carlini and others (2022) "
    "for tables with and without a person by a coin, and M. Giomi and others (2023) for the comparison with people who "
    "are not in the table; to set four models side by side is our own design",
    settings,
    measure,
    findings,
    notes,
    pictures,
    absent,
)
