"""What a promise to persons costs, and what a promise about rows is worth to somebody with many. Our own experiment.

A grid of 16 x 16 cells is released with the number of rows taken as public: once with one row as the unit, and with one
person of whom at most 1 to 64 rows are used. The *error* is half the sum of the differences between the released shares
of the cells (negative counts taken as none) and those of all rows: what bounding leaves out counts as error.

The *attack* is on a person. Whoever attacks knows everybody else's rows and all rows of the target, though not which of
them are used, and asks whether the target is in the table. They take the likelihood ratio of the released cells, with
each cell of the target moved by what is expected to be used there. Half of the runs with and without the target choose
the threshold, the other half tell the advantage: true less false alarms. What a promise of ε allows is
(e^ε - 1)/(e^ε + 1); with 75 runs on each side an advantage is uncertain by about 0.15.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from discreet import Domain, GridSynopsis, Person
from discreet.core import FloatArray
from discreet.datasets import is_here, load, numbers, read_file
from discreet.noise import DiscreteLaplace
from discreet_studies.harness.study import Numbers, Setting, Study
from discreet_studies.persons.findings import NUMBERS, ROW, doubts, findings, notes, pictures, tables

PARTS = 16
BOUNDS, QUICK_BOUNDS = (1, 2, 4, 8, 16, 32, 64), (1, 8)
EPSILONS, QUICK_EPSILONS = (0.5, 1.0, 2.0), (1.0,)
ATTACKED = (ROW, "1", "8", "64")
SEEDS, RUNS, QUICK_RUNS = 5, 150, 40
GEOLIFE = "scikit-mobility-geolife/geolife_sample.csv.gz"


def _tables(quick: bool) -> list[str]:
    here = [] if quick else [n for n, f in _FILES.items() if is_here(f)]
    return ["invented", *here]


_FILES = {"gowalla": "gowalla-nyc/gowalla_nyc_checkins.csv.gz", "geolife": GEOLIFE}


def settings(quick: bool) -> list[Setting]:
    """Return every table, unit and ε: an error for each seed, and attacks on persons with most and with few rows."""
    units = [ROW, *map(str, QUICK_BOUNDS if quick else BOUNDS)]
    budgets = QUICK_EPSILONS if quick else EPSILONS
    found: list[Setting] = []
    for data in _tables(quick):
        found += [
            {"data": data, "what": "error", "unit": unit, "epsilon": e, "seed": seed}
            for unit in units
            for e in budgets
            for seed in range(2 if quick else SEEDS)
        ]
        found += [
            {"data": data, "what": "attack", "unit": unit, "epsilon": 1.0, "target": target, "runs": runs}
            for unit in (units if quick else ATTACKED[::2] if data == "geolife" else ATTACKED)
            for target in (("most rows", "median") if data != "geolife" else ("most rows",))
            for runs in (QUICK_RUNS if quick else RUNS,)
        ]
    return found


def absent() -> list[str]:
    """Return tables that have no file here."""
    return [name for name, file in _FILES.items() if not is_here(file)]


@lru_cache(maxsize=2)
def table(name: str) -> tuple[FloatArray, Domain]:
    """Return persons and coordinates, and the declared columns."""
    who: Any
    box: dict[str, tuple[float, float]]
    if name == "invented":
        rng = np.random.default_rng(0)
        rows = np.minimum(rng.zipf(1.8, 3000), 500)
        home = rng.uniform(0.1, 0.9, (len(rows), 2))
        who = np.repeat(np.arange(len(rows)), rows)
        places, box = np.clip(home[who] + rng.normal(0, 0.05, (len(who), 2)), 0, 1), {"x": (0, 1), "y": (0, 1)}
    elif name == "gowalla":
        data = load("gowalla")
        assert data.labels is not None
        who, places, box = data.labels, data.X, {c.name: (c.low, c.high) for c in data.domain}
    else:
        held = read_file(GEOLIFE, name)
        who = numbers(held["uid"])
        places, box = (
            np.column_stack([numbers(held["lat"]), numbers(held["lng"])]),
            {"x": (39.4, 41.1), "y": (115, 118)},
        )
    domain = Domain({"who": {"role": "person"}, **box})
    return np.column_stack([who.astype(float), places]), domain


def release(rows: FloatArray, domain: Domain, unit: str, epsilon: float, seed: int) -> FloatArray:
    """Return the released cells."""
    declared = domain.with_unit("row" if unit == ROW else Person("who", rows=int(unit)))
    grid = GridSynopsis(epsilon, declared, PARTS, n_rows=len(rows), leaf_means=False, random_state=seed)
    return np.asarray(grid.fit(rows).synopsis_.weights, np.float64)


def cells(rows: FloatArray, domain: Domain) -> FloatArray:
    """Return the raw cells."""
    return release(rows, domain, ROW, math.inf, 0)


def measure(setting: Setting) -> Numbers:
    """Measure the error of one release, or the advantage of an attack over many."""
    rows, domain = table(str(setting["data"]))
    unit, epsilon = str(setting["unit"]), float(setting["epsilon"])
    each = np.unique(rows[:, 0], return_counts=True)
    facts = {"n": float(len(rows)), "persons": float(len(each[0])), "most": float(each[1].max())}
    if setting["what"] == "error":
        true, out = cells(rows, domain), np.maximum(release(rows, domain, unit, epsilon, int(setting["seed"])), 0)
        return {**facts, "error": float(np.abs(out / max(out.sum(), 1) - true / true.sum()).sum() / 2)}
    order = np.argsort(each[1], kind="stable")
    target = each[0][order[-1 if setting["target"] == "most rows" else len(order) // 2]]
    return {**facts, **attack(rows, domain, unit, epsilon, float(target), int(setting["runs"]))}


def attack(rows: FloatArray, domain: Domain, unit: str, epsilon: float, target: float, runs: int) -> Numbers:
    """Return the advantage of the attack on a person, and how many rows the target has."""
    own = rows[:, 0] == target
    without, theirs = cells(rows[~own], domain), cells(rows[own], domain)
    if unit != ROW:
        # What is used of the others is another choice every time: the attacker knows what is expected.
        limit = int(unit)
        each = np.unique(rows[~own, 0], return_inverse=True, return_counts=True)
        share = np.minimum(1, limit / each[2])[each[1]]
        without = _weighted(rows[~own], domain, share)
        theirs = theirs * min(1.0, limit / own.sum())
    law = DiscreteLaplace((1 if unit == ROW else int(unit)) / epsilon)
    scores = []
    for table_, seed in ((rows, 0), (rows[~own], 10**6)):
        out = np.array([release(table_, domain, unit, epsilon, seed + run) for run in range(runs)])
        gap = np.abs(out - without) - np.abs(out - without - theirs)
        scores.append(gap.sum(axis=1) / float(law.scale))
    half = runs // 2
    cuts = np.concatenate([s[:half] for s in scores])
    gains = [(scores[0][:half] >= cut).mean() - (scores[1][:half] >= cut).mean() for cut in cuts]
    cut = cuts[int(np.argmax(gains))]
    hits, alarms = ((s[half:] >= cut).mean() for s in scores)
    return {"advantage": float(hits - alarms), "target_rows": float(own.sum())}


def _weighted(rows: FloatArray, domain: Domain, share: FloatArray) -> FloatArray:
    """Return the expected number of used rows by cell."""
    places = [
        np.clip(((rows[:, j] - c.low) / (c.high - c.low) * PARTS).astype(int), 0, PARTS - 1)
        for j, c in enumerate(domain) if j > 0
    ]  # fmt: skip
    return np.asarray(np.bincount(places[0] * PARTS + places[1], share, PARTS**2), np.float64)


STUDY = Study(
    "persons",
    "Persons: what a promise to people costs, and what one about rows is worth to them",
    "Cho, Myers and Leskovec (2011) and Zheng et al. (2010) for the tables; the protocol is our own",
    settings,
    measure,
    findings,
    notes,
    pictures,
    absent,
    numbers=NUMBERS,
    packages=("numpy", "discreet"),
    tables=tables,
    doubts=doubts,
)
