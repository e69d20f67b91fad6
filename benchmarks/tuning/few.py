"""Few rows for many columns: which synopsis `auto` takes for private k-means; generated tables only.

    python -m benchmarks.tuning.few [--part cells|rule|held-out|held-out-delta|plane] [--tables 96] [--seeds 2]

Tables of thirteen kinds (`generated.py`), 4 to 200 columns, x = N ε over the rows that a mean needs from 1 to 150. The
figure is the k-means cost over that of plain k-means.

cells
    The number of cells of a coarse grid: CELLS_PER_MEAN and CELLS_FOR_ROWS of `auto`, as one rule for both.
rule
    Every method on every table, and the rules that choose between them by x, columns, clusters and the noisy counts of
    rows near the middle, around it and near 0: LIFT_FROM, LIFT_AXES, LIFT_WHERE, RICH_WHERE, TREE_AXES, TREE_FROM. A
    rule is simulated with fresh noise on the counts, and judged on the half of the tables that it was not found on.
held-out, held-out-delta
    `auto`, each of its methods and one private mean on tables that nothing was tuned on: other seeds, and five more
    kinds (`generated.HELD_OUT`); pure ε, or with δ = 1e-6 from 12 columns on.
plane
    BELIEVED, on two and three columns.

Real data play no part, but CELLS_FOR_ROWS was chosen after a look at the digits of ``studies/measures/few_rows.py``,
and LIFT_WHERE around the middle after one at the published tables of ``many_dimensions.py``, among values that do
equally well here; the kind "spectra" was added because of the latter. Results go to results/tune_few.json, other
parts' kept.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import time
import warnings
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from benchmarks._bench import RESULTS, save
from benchmarks.tuning.generated import HELD_OUT, Table
from discreet import Domain, GridSynopsis, PrivateKMeans, engines
from discreet.clustering import cluster_synopsis
from discreet.clustering.central import auto, lift, of_synopsis
from discreet.core.budget import Epsilon
from discreet.errors import DiscreetWarning
from discreet.evaluation import nicv

SHAPES = (
    "round", "unequal", "background", "chain", "skewed", "scores", "tubes", "heavy", "sparse", "narrow", "answers",
    "images", "spectra",
)  # fmt: skip
FLAT = tuple(shape for shape in SHAPES if shape not in ("narrow", "answers", "images", "spectra")) + (
    "s_like",
    "patients",
)
#: What makes `auto` take a method.
FORCED: dict[str, dict[str, Any]] = {
    "grid": {"has_rows_to_lift": lambda *_: False, "is_rich": lambda *_: False},
    "tree": {"has_rows_to_lift": lambda *_: False, "is_rich": lambda *_: True},
    "lift": {"has_rows_to_lift": lambda *_: True},
    "one mean": {
        "has_rows_to_lift": lambda *_: False,
        "is_rich": lambda *_: False,
        "coarse_parts": lambda domain, _: [1] * len(domain),
    },
}
#: Those that `auto` is compared with.
OWN = ("grid", "tree", "lift")
#: Candidates: (CELLS_PER_MEAN, CELLS_FOR_ROWS), and those of the rule.
CELLS = [(1.0, math.inf), (2.0, math.inf), (1.0, 2.0), (1.0, 4.0), (1.0, 12.0), (2.0, 4.0), (0.0, 0.0)]
RULES: dict[str, list[Any]] = {
    "LIFT_FROM": [2.0, 3.0, 4.0], "LIFT_AXES": [128, 192, 256], "TREE_FROM": [3.0, 5.0, 7.0], "TREE_AXES": [12, 35, 60],
    "LIFT_WHERE": [
        (0.1, 0.4, 0.5), (0.1, 0.2, 0.5), (0.2, 0.15, 0.5), (0.2, 0.2, 0.5), (0.4, 0.4, 0.8), (1.0, 1.0, 1.0),
    ],
    "RICH_WHERE": [(0.05, 0.5), (0.1, 0.5), (0.25, 0.25), (1.0, 1.0)],
}  # fmt: skip
BELIEVED = (1.0, 1.05, 1.1, 1.2, 1.5, math.inf)


def cell(number: int, seed: int, fewest: int = 4) -> tuple[Table, float]:
    """Return a table and a budget to tune on."""
    return drawn(number, seed, SHAPES, (0.1, 0.2, 0.5, 1.0), fewest, 500, 2e6)


def drawn(
    number: int, seed: int, shapes: tuple[str, ...], budgets: tuple[float, ...], fewest: int, least: int, most: float
) -> tuple[Table, float]:
    """Draw a table of so many rows at least, so many numbers at most, and a budget."""
    rng = np.random.default_rng([seed, number])
    d = int(np.rint(np.exp(rng.uniform(math.log(fewest), math.log(200)))))
    k = int(np.rint(np.exp(rng.uniform(math.log(2), math.log(40)))))
    epsilon, x = float(rng.choice(budgets)), float(np.exp(rng.uniform(0, math.log(150))))
    n = int(np.clip(x * auto.rows_for_a_mean(d) / epsilon, least, min(40_000, most / d)))
    return Table(shapes[number % len(shapes)], n, d, k, float(rng.choice([3.0, 6.0, 12.0]))), epsilon


def fresh(number: int, seed: int, fewest: int = 4) -> tuple[Table, float]:
    """Return a held-out table and a budget: fewer rows at larger ε, as noise depends on N ε."""
    return drawn(number, seed, SHAPES + HELD_OUT, (0.3, 0.7, 1.5), fewest, 200, 5e5)


def flat(number: int, seed: int) -> tuple[Table, float]:
    """Return a table of two or three columns and a budget."""
    rng = np.random.default_rng([seed, number])
    shape, d, k = FLAT[number % len(FLAT)], int(rng.integers(2, 4)), int(rng.integers(3, 26))
    separation = float(rng.choice([4.0, 8.0, 16.0]))
    if shape in ("s_like", "patients"):
        d, k, separation = 2, 15, float(rng.integers(1, 5))
    epsilon, x = float(rng.choice([0.05, 0.1, 0.2, 0.5])), float(np.exp(rng.uniform(math.log(10), math.log(300))))
    return Table(shape, int(np.clip(x * k / epsilon, 500, 40_000)), d, k, separation), epsilon


@contextlib.contextmanager
def using(**wanted: Any) -> Iterator[None]:
    """Set constants for a while."""
    held = [
        (module, name, getattr(module, name)) for name in wanted for module in (auto, lift) if hasattr(module, name)
    ]
    for module, name, _ in held:
        setattr(module, name, wanted[name])
    try:
        yield
    finally:
        for module, name, old in held:
            setattr(module, name, old)


def fitted(
    X: np.ndarray, k: int, epsilon: float, seed: int, method: str, delta: float = 0.0, **constants: Any
) -> tuple[float, str]:
    """Return the cost of private centres, and the method that was taken."""
    domain = Domain.box([0.0] * X.shape[1], 1.0)
    model = PrivateKMeans(k, epsilon, domain, delta=delta or None, random_state=seed)
    with using(**FORCED.get(method, {}), **constants):
        centers = model.fit(X).cluster_centers_
    said = model.synopsis_.guarantee.parameters
    return float(nicv(X, centers)), said["method"]


def facts(table: Table, X: np.ndarray, epsilon: float) -> dict[str, Any]:
    """Return what a rule goes by: x, z, columns, clusters, and the shares of the rows in the parts of the domain."""
    x = table.n * epsilon * 0.97 / auto.rows_for_a_mean(table.d)
    domain = Domain.box([0.0] * table.d, 1.0)
    read = auto.parts_of(domain, "none")
    shares = [] if read is None else (read(engines.open(X, domain)) / table.n).round(4).tolist()
    known = {"x": x, "z": x / table.k, "d": table.d, "k": table.k, "n": table.n, "shares": shares}
    return {"table": table.name, "epsilon": epsilon, **known}


def plain(X: np.ndarray, k: int) -> float:
    """Return the cost of plain k-means."""
    return float(nicv(X, KMeans(k, n_init=3, random_state=0).fit(X).cluster_centers_))


def cells(number: int, seeds: int) -> dict[str, Any]:
    """Return the costs of coarse grids by the rule for their cells."""
    table, epsilon = cell(number, 2041, auto.MANY_AXES)
    X = table.rows()
    least = plain(X, table.k)

    def mean(a: float, b: float) -> float:
        made = [
            fitted(X, table.k, epsilon, s, "grid", CELLS_PER_MEAN=a, CELLS_FOR_ROWS=b)[0] for s in range(2, 2 + seeds)
        ]
        return float(np.mean(made)) / least

    return {**facts(table, X, epsilon), "costs": {f"cells {a:g} {b:g}": mean(a, b) for a, b in CELLS}}


def methods(table: Table, epsilon: float, seeds: int, delta: float = 0.0, first: int = 0) -> dict[str, Any]:
    """Return the costs of `auto`, of its methods and of one private mean.

    With the same seed `auto` draws the same noise as the method that it takes, which is not run again.
    """
    X = table.rows()
    names = ["grid", "tree", *(["lift"] if table.d >= auto.MANY_AXES else []), "one mean"]
    costs: dict[str, list[float]] = {name: [] for name in ("auto", *names)}
    taken: list[str] = []
    for seed in range(first, first + seeds):
        found, method = fitted(X, table.k, epsilon, seed, "auto", delta)
        costs["auto"].append(found)
        taken.append(method)
        for name in names:
            costs[name].append(found if name == method else fitted(X, table.k, epsilon, seed, name, delta)[0])
    least = plain(X, table.k)
    said = {name: float(np.mean(each)) / least for name, each in costs.items()}
    return {**facts(table, X, epsilon), "taken": {m: taken.count(m) for m in dict.fromkeys(taken)}, "costs": said}


def rule(number: int, seeds: int) -> dict[str, Any]:
    """Return the costs of all methods on a table to find a rule on."""
    return methods(*cell(number, 2041), seeds, first=2)


def held_out(number: int, seeds: int) -> dict[str, Any]:
    """Return the costs of all methods on a table that nothing was tuned on."""
    return methods(*fresh(number, 2054), seeds)


def held_out_delta(number: int, seeds: int) -> dict[str, Any]:
    """Return the same with a δ, on many columns."""
    return methods(*fresh(number, 2055, auto.MANY_AXES), seeds, 1e-6)


def plane(number: int, seeds: int) -> dict[str, Any]:
    """Return the costs of "checked" by the value of BELIEVED, on the same releases."""
    table, epsilon = flat(number, 2037)
    X, k = table.rows(), table.k
    least, costs, held = plain(X, k), dict.fromkeys(BELIEVED, 0.0), of_synopsis.BELIEVED
    for seed in range(seeds):
        parts = int(auto.choose(table.n, Domain.box([0.0] * table.d, 1.0), k, epsilon).settings["rule"])
        grid = GridSynopsis(rule=parts, leaf_means=False)
        released = PrivateKMeans(k, epsilon, Domain.box([0.0] * table.d, 1.0), grid, random_state=seed).release(X)
        for value in BELIEVED:
            of_synopsis.BELIEVED = value
            costs[value] += float(nicv(X, cluster_synopsis(released, k, refine="checked").centers)) / least / seeds
    of_synopsis.BELIEVED = held
    return {"table": table.name, "epsilon": epsilon, "costs": {f"believed {v:g}": c for v, c in costs.items()}}


def means(runs: list[dict[str, Any]], base: str) -> dict[str, list[float]]:
    """Return the geometric mean of each figure over a base, and the factor of its 95 % interval."""
    found = {}
    for name in dict.fromkeys(name for run in runs for name in run["costs"]):
        logs = np.log([run["costs"][name] / run["costs"][base] for run in runs if name in run["costs"]])
        wide = 1.96 * float(logs.std(ddof=1)) / math.sqrt(len(logs)) if len(logs) > 1 else math.inf
        found[name] = [round(float(np.exp(logs.mean())), 4), round(float(np.exp(wide)), 4), len(logs)]
    return found


@cache
def unit_box(n_axes: int) -> Domain:
    """Return the domain of a table."""
    return Domain.box([0.0] * n_axes, 1.0)


def chosen(run: dict[str, Any], drawn: np.ndarray) -> str:
    """Return what `auto` takes by noisy counts."""
    n, price = float(np.maximum(drawn, 0).sum()), Epsilon(Fraction(97, 100) * Fraction(str(run["epsilon"])))
    where = auto.most_rows(drawn, n, 2 / (0.03 * run["epsilon"]) ** 2)
    if run["d"] >= auto.MANY_AXES and auto.has_rows_to_lift(n, unit_box(run["d"]), run["k"], price, where):
        return "lift"
    z = n * price.shown / run["k"] / auto.rows_for_a_mean(run["d"])
    return "tree" if auto.is_rich(z, run["d"], run["k"], None, where) else "grid"


def rules(runs: list[dict[str, Any]], draws: int = 4) -> dict[str, Any]:
    """Return costs over the best method's for the rule in use, the best rules, and rules found on other tables.

    Rules differ from the one in use in up to two constants.
    """
    named = {"LIFT_WHERE": ("narrow", "around middle", "near zero"), "RICH_WHERE": ("narrow", "near zero")}
    options = {
        name: [dict(zip(named[name], v, strict=True)) if name in named else v for v in values]
        for name, values in RULES.items()
    }
    tried: list[dict[str, Any]] = [{}]
    tried += [{name: v} for name, values in options.items() for v in values]
    for one, two in itertools.combinations(options, 2):
        tried += [{one: v, two: w} for v in options[one] for w in options[two]]
    rng = np.random.default_rng(0)
    noisy = [
        np.array(run["shares"]) * run["n"] + rng.laplace(0, 1 / (0.03 * run["epsilon"]), (draws, auto.N_PARTS))
        for run in runs
    ]
    best = [min(run["costs"][m] for m in OWN if m in run["costs"]) for run in runs]
    costs = np.empty((len(tried), len(runs)))
    for i, rule in enumerate(tried):
        with using(**rule):
            taken = [np.mean([run["costs"][chosen(run, one)] for one in q]) for run, q in zip(runs, noisy, strict=True)]
        costs[i] = np.log(np.array(taken) / best)
    half = np.arange(len(runs)) // len(SHAPES) % 2 == 0
    picked = np.where(half, costs[costs[:, ~half].mean(1).argmin()], costs[costs[:, half].mean(1).argmin()])
    apart, order = costs[0] - picked, costs.mean(axis=1).argsort(kind="stable")
    wide = 1.96 * float(apart.std(ddof=1)) / math.sqrt(max(len(runs), 2))
    return {
        "tables": len(runs),
        "in use": [float(np.exp(costs[0].mean())), float((costs[0] <= math.log(1.03)).mean())],
        "best": [
            [tried[i], float(np.exp(costs[i].mean())), float((costs[i] <= math.log(1.03)).mean())] for i in order[:8]
        ],
        "log of in use over one found on other tables": [float(apart.mean()), wide],
    }


def verdict(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return on how many held-out tables `auto` is within 3 % of the best of its methods, and not above one mean."""
    costs = [run["costs"] for run in runs]
    best = [min(v for name, v in c.items() if name not in ("auto", "one mean")) for c in costs]
    near = [c["auto"] <= 1.03 * b for c, b in zip(costs, best, strict=True)]
    below = [c["auto"] <= c["one mean"] for c in costs]
    both = [a and b for a, b in zip(near, below, strict=True)]
    nearly = [c["auto"] <= 1.03 * c["one mean"] for c in costs]
    over = np.log([c["auto"] / b for c, b in zip(costs, best, strict=True)])
    return {
        "tables": len(runs), "within 3 % of the best": float(np.mean(near)),
        "not above one mean": float(np.mean(below)), "both": float(np.mean(both)),
        "not 3 % above one mean": float(np.mean(nearly)), "mean over the best": float(np.exp(over.mean())),
        "worst over the best": float(np.exp(over.max())),
    }  # fmt: skip


def main() -> None:
    """Run and print."""
    parts = {"cells": cells, "rule": rule, "held-out": held_out, "held-out-delta": held_out_delta, "plane": plane}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=tuple(parts), default="held-out")
    parser.add_argument("--tables", type=int, default=96)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=10.0, help="begin no table after so many; run again to go on")
    given = parser.parse_args()
    warnings.simplefilter("ignore", DiscreetWarning)  # some tables have too few rows
    place, until = RESULTS / "tune_few.json", time.monotonic() + 60 * given.minutes
    before = json.loads(place.read_text())["parts"] if place.exists() else {}
    old = before.get(given.part, {})
    runs = old["runs"] if old.get("seeds") == given.seeds else []
    for number in range(len(runs), given.tables):
        if time.monotonic() > until:
            break
        runs.append(parts[given.part](number, given.seeds))
        print(runs[-1]["table"], {a: round(b, 3) for a, b in runs[-1]["costs"].items()}, flush=True)
        before[given.part] = {"seeds": given.seeds, **summary(given.part, runs), "runs": runs}
        save("tune_few", {"parts": before}, "discreet", "numpy", "scikit-learn")
    if given.part == "rule":
        before["rule"] = {"seeds": given.seeds, "rules": rules(runs), "runs": runs}
        save("tune_few", {"parts": before}, "discreet", "numpy", "scikit-learn")
    print(json.dumps({a: b for a, b in before[given.part].items() if a != "runs"}, indent=1))


def summary(part: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of a part."""
    if part in ("cells", "plane"):
        return {"means": means(runs, "believed 1.1" if part == "plane" else "cells 1 inf")}
    return {"verdict": verdict(runs)}


if __name__ == "__main__":
    main()
