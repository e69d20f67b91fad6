"""Few rows for many columns: the cells of a coarse grid, and when a projection is better; generated tables only.

    python -m benchmarks.tuning.few [--tables 96] [--minutes 10] [--held-out] [--plane]

Tables of twelve kinds (`generated.py`), 4 to 200 columns, x = N ε over the rows that a mean needs from 1 to 150. Every
one is clustered by each method and value, with the same seeds; the figure is the k-means cost over that of plain
k-means. Tuning gives CELLS_PER_MEAN, GROUP_NOISE and the rule for a projection (`discreet.clustering.central`): a rule
is judged on the half of the tables that it was not found on. ``--held-out`` draws other tables and compares `auto` with
the best of its own methods and with one private mean. ``--plane`` takes two and three columns, and gives BELIEVED.
Real data play no part here, but NARROW, CELLS_PER_MEAN and BELIEVED were chosen among values that do about equally well
after a look at the tables of ``studies/measures/few_rows.py``. Results go to results/tune_few.json, other parts' kept.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from benchmarks._bench import RESULTS, save
from benchmarks.tuning.generated import Table
from discreet import Domain, GridSynopsis, PrivateKMeans
from discreet.clustering import cluster_synopsis
from discreet.clustering.central import auto, lift, of_synopsis
from discreet.evaluation import nicv

SHAPES = (
    "round", "unequal", "background", "chain", "skewed", "scores", "tubes", "heavy", "sparse", "narrow", "answers",
    "images",
)  # fmt: skip
FLAT = tuple(shape for shape in SHAPES if shape not in ("narrow", "answers", "images")) + ("s_like", "patients")
#: What is set, besides the method, for each figure of the tuning.
GRIDS = {f"cells {v:g}": {"CELLS_PER_MEAN": v} for v in (0.5, 1.0, 2.0, 4.0, 1e9)}
LIFTS = {f"groups {v:g}": {"GROUP_NOISE": v} for v in (0.1, 1e9)}
#: Candidates of the rule for a projection (`auto.choose`).
NAMES = ("LIFT_FROM", "LIFT_AXES", "NARROW", "NARROW_FROM")
RULES = [
    dict(zip(NAMES, values, strict=True))
    for values in itertools.product((2.0, 3.0, 5.0), (0, 64, 96, 128), (0.0, 0.45, 0.5, 0.6, 0.7, 0.8), (0, 2, 5, 10))
]
BELIEVED = (1.0, 1.05, 1.1, 1.2, 1.5, math.inf)


def cell(number: int, seed: int, fewest: int = 4) -> tuple[Table, float]:
    """Return a table and a budget."""
    rng = np.random.default_rng([seed, number])
    d = int(np.rint(np.exp(rng.uniform(math.log(fewest), math.log(200)))))
    k = int(np.rint(np.exp(rng.uniform(math.log(2), math.log(40)))))
    epsilon, x = float(rng.choice([0.1, 0.2, 0.5, 1.0])), float(np.exp(rng.uniform(0, math.log(150))))
    n = int(np.clip(x * auto.rows_for_a_mean(d) / epsilon, 500, min(40_000, 2e6 / d)))
    return Table(SHAPES[number % len(SHAPES)], n, d, k, float(rng.choice([3.0, 6.0, 12.0]))), epsilon


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


def fitted(X: np.ndarray, k: int, epsilon: float, seed: int, method: str, **constants: Any) -> float:
    """Return the cost of private centres."""
    forced: dict[str, dict[str, Any]] = {
        "grid": {"may_lift": lambda domain: False, "RICH": math.inf},
        "tree": {"may_lift": lambda domain: False, "RICH": 0.0},
        "lift": {"LIFT_FROM": 0.0, "LIFT_AXES": 0}, "auto": {},
    }  # fmt: skip
    domain = Domain.box([0.0] * X.shape[1], 1.0)
    if method == "one mean":
        model = PrivateKMeans(1, epsilon, domain, GridSynopsis(rule=1, leaf_means=True), random_state=seed)
    else:
        model = PrivateKMeans(k, epsilon, domain, random_state=seed)
    with using(**forced.get(method, {}), **constants):
        return float(nicv(X, model.fit(X).cluster_centers_))


def facts(table: Table, X: np.ndarray, epsilon: float) -> dict[str, Any]:
    """Return what a rule goes by: x, z, columns, and how far rows are from the middle or 0, in half diagonals."""
    x = table.n * epsilon / auto.rows_for_a_mean(table.d)
    far = min(float(np.quantile(np.linalg.norm(X - place, axis=1), lift.FIRST_QUANTILE)) for place in (0.0, 0.5))
    far /= math.sqrt(table.d) / 2
    return {"table": table.name, "epsilon": epsilon, "x": x, "z": x / table.k, "d": table.d, "far": far}


def plain(X: np.ndarray, k: int) -> float:
    """Return the cost of plain k-means."""
    return float(nicv(X, KMeans(k, n_init=3, random_state=0).fit(X).cluster_centers_))


def tune(number: int, seeds: int) -> dict[str, Any]:
    """Return the costs of one table by method and value."""
    table, epsilon = cell(number, 2035, auto.MANY_AXES)
    X = table.rows()
    wanted = {name: ("grid", values) for name, values in GRIDS.items()}
    wanted |= {name: ("lift", values) for name, values in LIFTS.items()} | {"tree": ("tree", {})}
    least = plain(X, table.k)
    costs = {
        name: float(np.mean([fitted(X, table.k, epsilon, s, method, **values) for s in range(seeds)])) / least
        for name, (method, values) in wanted.items()
    }
    return {**facts(table, X, epsilon), "costs": costs}


def held_out(number: int, seeds: int) -> dict[str, Any]:
    """Return the costs of `auto`, its methods and one private mean on a table that nothing was tuned on."""
    table, epsilon = cell(number, 2036)
    X = table.rows()
    methods = ["auto", "grid", "tree", "one mean", *(["lift"] if table.d >= auto.MANY_AXES else [])]
    least = plain(X, table.k)
    costs = {m: float(np.mean([fitted(X, table.k, epsilon, s, m) for s in range(seeds)])) / least for m in methods}
    return {**facts(table, X, epsilon), "costs": costs}


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


def rules(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return mean costs of the rule in use, of the best one, and of one found on the other half of the tables."""
    pairs = runs
    gain = np.log([run["costs"]["groups 0.1"] / run["costs"]["cells 1"] for run in pairs])

    def logs(rule: dict[str, float]) -> Any:
        return np.where([_lifts(run, rule) for run in pairs], gain, 0.0)

    used = {name: float(getattr(auto, name)) for name in RULES[0]}
    costs = np.array([logs(rule) for rule in RULES])
    half = np.arange(len(pairs)) // len(SHAPES) % 2 == 0
    picked = np.where(half, costs[costs[:, ~half].mean(1).argmin()], costs[costs[:, half].mean(1).argmin()])
    apart = logs(used) - picked
    order = costs.mean(axis=1).argsort(kind="stable")
    return {
        "tables": len(pairs), "in use": used, "best": [RULES[i] for i in order[:8]],
        "projections alone": float(np.exp(gain.mean())),
        "the better of both": float(np.exp(np.minimum(gain, 0).mean())),
        "mean of that in use": float(np.exp(logs(used).mean())),
        "mean of the best": float(np.exp(costs[order[0]].mean())),
        "log of in use over one found on other tables": [
            float(apart.mean()), 1.96 * float(apart.std(ddof=1)) / math.sqrt(max(len(pairs), 2))
        ],
    }  # fmt: skip


def _lifts(run: dict[str, Any], rule: dict[str, float]) -> bool:
    """Return whether a rule takes a projection for a table."""
    if run["z"] >= max(rule["LIFT_FROM"], rule["LIFT_AXES"] / run["d"]):
        return True
    return bool(run["far"] < rule["NARROW"] * run["x"] / (run["x"] + rule["NARROW_FROM"]))


def verdict(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return on how many held-out tables `auto` is within 3 % of the best of its methods, and not above one mean."""
    costs = [run["costs"] for run in runs]
    best = [min(v for name, v in c.items() if name not in ("auto", "one mean")) for c in costs]
    near = [c["auto"] <= 1.03 * b for c, b in zip(costs, best, strict=True)]
    below = [c["auto"] <= c["one mean"] for c in costs]
    nearly = [c["auto"] <= 1.03 * c["one mean"] for c in costs]
    over = np.log([c["auto"] / b for c, b in zip(costs, best, strict=True)])
    return {
        "tables": len(runs), "within 3 % of the best": float(np.mean(near)),
        "not above one mean": float(np.mean(below)),
        "not 3 % above one mean": float(np.mean(nearly)), "mean over the best": float(np.exp(over.mean())),
        "worst over the best": float(np.exp(over.max())),
    }  # fmt: skip


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=96)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--plane", action="store_true")
    given = parser.parse_args()
    part, measure = ("held out", held_out) if given.held_out else ("plane", plane) if given.plane else ("tuning", tune)
    until, runs = time.monotonic() + 60 * given.minutes, []
    for number in range(given.tables):
        if time.monotonic() > until:
            break
        runs.append(measure(number, given.seeds))
        print({a: b if isinstance(b, str) else np.round(b, 2) for a, b in runs[-1].items() if a != "costs"},
              {a: round(b, 3) for a, b in runs[-1]["costs"].items()}, flush=True)  # fmt: skip
    found: dict[str, Any] = {"seeds": given.seeds}
    if given.held_out:
        found["verdict"] = verdict(runs)
    else:
        found["means"] = means(runs, "believed 1.1" if given.plane else "cells 1")
        if not given.plane:
            found["rules"] = rules(runs)
    print(json.dumps(found, indent=1))
    place = RESULTS / "tune_few.json"
    before = json.loads(place.read_text())["parts"] if place.exists() else {}
    save("tune_few", {"parts": {**before, part: {**found, "runs": runs}}}, "discreet", "numpy", "scikit-learn")


if __name__ == "__main__":
    main()
