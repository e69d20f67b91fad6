"""Tune the constants of private k-means in many dimensions (`clustering/central/lift.py`), on generated tables only.

    python -m benchmarks.tuning.lift [--cells 60] [--seeds 1] [--minutes 14] [--only AXES OVER] [--family few]

Tables (`generated.py`: balanced and not, tight and not, stray rows, heavy tails, correlated columns, sparse ones, few
overlapping clusters on a small part of the bounds) of 12 to 800 columns, 3 to 64 clusters (2 to 16 of the last kind)
and 1,000 to 80,000 rows, and budgets with and without a δ, are drawn at random, the same in every run; the family "few"
has 12 to 32 columns, 2 to 12 clusters, 1,000 to 20,000 rows and budgets without δ, where boxes rival. Every candidate
value of a constant runs on every one of them, with the same rows and seed as the values in use. Figures are geometric
means of the k-means cost over that of the values in use, with the 95 % interval over tables; a value in use stays
unless another one is better by more than its interval.

`method` has boxes and a projection for everything. From these pairs of costs follows what `auto` does with a δ: of all
rules "a projection from z = N ε/k over the rows that a mean needs", the one with the least mean (`rules`), printed
beside that in use (`LIFT_FROM`, `LIFT_AXES`, `LIFT_FROM_GAUSSIAN`), with the interval of their difference, also for
rules found on one half of the tables and used on the other. Another rule is taken where that last interval lies above
0. Where rows are is left out here: `few.py` has the rule for pure ε.

Real data play no part. Results go to results/tune_lift.json after every table; those of other constants are kept.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks._bench import RESULTS, save, show
from benchmarks.tuning.generated import Table
from discreet import Domain, PrivateKMeans
from discreet.clustering.central import auto, lift, shrinking
from discreet.core.budget.prices import Wanted

SHAPES = ("round", "unequal", "background", "tubes", "heavy", "sparse", "scores", "narrow")
CANDIDATES: dict[str, list[Any]] = {
    "method": ["boxes", "lift"],
    "AXIS_ROWS": [6.0, 24.0],
    "FEWEST_AXES": [6, 10],
    "MOST_AXES": [12, 20],
    "OVER": [1.5, 2.0, 3.0],
    "SHARES.first radius": [0.005, 0.02],
    "SHARES.centre": [0.03, 0.1],
    "SHARES.radius": [0.007, 0.03],
    "SHARES.projection": [0.18, 0.36],
    "SHARES.lift": [0.15, 0.35],
    "SHARES.last radius": [0.007, 0.03],
    "FIRST_QUANTILE": [0.5, 0.8],
    "QUANTILE": [0.8, 0.97],
    "LAST_QUANTILE": [0.6, 0.9],
    "OCTAVES": [4, 8],
    "LATER_OCTAVES": [2, 5],
    "SURE": [4.0, 16.0],
    "RADIUS_ROWS": [12.0, 48.0],
    "RADIUS_MORE": [2.0, 8.0],
    "LIFT_NOISE": [0.2, 0.5, 0.8, 3.0],
    "RICH_ON_AXES": [6.0],
    "DIRECT_SHARE": [0.12, 0.3],
    "DIRECT_CENTRE": [0.06, 0.25],
    "DIRECT_QUANTILE": [0.5, 0.85],
    "GROUP_NOISE": [0.03, 0.3, 1e9],
    "STEP_NOISE": [0.001, 0.016],
    "LAST_WEIGHT": [1, 4],
    "PRIOR": [1.0, 16.0],
    "WIDE": [1.7, 2.8],
}
#: Candidates of the rule by which `auto` takes a projection.
RULES = [
    {"LIFT_FROM": pure, "LIFT_AXES": axes, "LIFT_FROM_GAUSSIAN": relaxed}
    for pure in (0.5, 1.0, 2.0, 3.0, 5.0)
    for axes in (0, 32, 64, 96, 128, 160, 240)
    for relaxed in (0.0, 0.1, 0.3, 0.75, 2.0)
]


def cells(number: int, family: str = "many") -> Iterator[tuple[Table, float, float]]:
    """Yield tables and budgets."""
    yield from _few(number) if family == "few" else _many(number)


def _few(number: int) -> Iterator[tuple[Table, float, float]]:
    rng = np.random.default_rng(2027)
    for i in range(number):
        d, k = int(rng.integers(12, 33)), int(rng.integers(2, 13))
        n = int(np.exp(rng.uniform(math.log(1000), math.log(20_000))))
        separation = float(rng.choice([3.0, 6.0, 12.0]))
        yield Table(SHAPES[i % len(SHAPES)], n, d, k, separation), float(rng.choice([0.05, 0.1, 0.2, 0.5, 1.0])), 0.0


def _many(number: int) -> Iterator[tuple[Table, float, float]]:
    rng = np.random.default_rng(2026)
    for i in range(number):
        shape = SHAPES[i % len(SHAPES)]
        d = int(np.rint(np.exp(rng.uniform(math.log(12), math.log(800)))))
        k = int(np.rint(np.exp(rng.uniform(*np.log([2, 16] if shape == "narrow" else [3, 64])))))
        n = int(min(np.exp(rng.uniform(math.log(1000), math.log(80_000))), 2e6 / d))
        separation = float(rng.choice([3.0, 6.0, 12.0]))
        epsilon = float(rng.choice([0.1, 0.2, 0.5, 1.0, 2.0]))
        yield Table(shape, n, d, k, separation), epsilon, float(rng.choice([0.0, 1e-6]))


@contextlib.contextmanager
def using(name: str, value: Any) -> Iterator[None]:
    """Set a constant for a while."""
    held: Any = next((module for module in (shrinking, auto) if hasattr(module, name)), lift)
    if name == "method":
        wanted: dict[str, Any] = {"has_rows_to_lift": lambda *_: value == "lift"}
        held = auto
    elif name.startswith("SHARES."):
        wanted = {"SHARES": {**lift.SHARES, name.partition(".")[2]: value}}
    else:
        wanted = {name: value}
    kept = {key: getattr(held, key) for key in wanted}
    for key, new in wanted.items():
        setattr(held, key, new)
    yield
    for key, old in kept.items():
        setattr(held, key, old)


def cost(X: np.ndarray, centers: np.ndarray) -> float:
    """Return the k-means cost."""
    squares, total = (centers**2).sum(axis=1), 0.0
    for start in range(0, len(X), 8192):
        rows = X[start : start + 8192]
        total += float(((rows**2).sum(axis=1) + (squares - 2 * rows @ centers.T).min(axis=1)).sum())
    return total


def fitted(X: np.ndarray, k: int, epsilon: float, delta: float, seed: int) -> float:
    """Return the cost of private centres."""
    domain = Domain.box([0.0] * X.shape[1], 1.0)
    model = PrivateKMeans(k, epsilon=epsilon, delta=delta or None, domain=domain, random_state=seed)
    return cost(X, model.fit(X).cluster_centers_)


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return geometric means and intervals of all candidates."""
    found: dict[str, Any] = {}
    for name in dict.fromkeys(name for run in runs for name in run["ratios"]):
        logs = np.log([run["ratios"][name] for run in runs if name in run["ratios"]])
        wide = 1.96 * logs.std(ddof=1) / math.sqrt(len(logs)) if len(logs) > 1 else math.inf
        found[name] = {"mean": float(np.exp(logs.mean())), "times": float(np.exp(wide)), "tables": len(logs)}
    return found


def lifts(run: dict[str, Any], rule: dict[str, float]) -> bool:
    """Tell whether a rule takes a projection for a table."""
    edge = rule["LIFT_FROM_GAUSSIAN"] if run["delta"] else max(rule["LIFT_FROM"], rule["LIFT_AXES"] / run["d"])
    return bool(run["z"] >= edge)


def rules(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the best rule and that in use: mean costs over those of always a projection, and of the better by hand."""
    pairs = [run for run in runs if "method boxes" in run["ratios"]]
    boxes = np.log([run["ratios"]["method boxes"] / run["ratios"]["method lift"] for run in pairs])

    def logs(rule: dict[str, float]) -> Any:
        return np.where([lifts(run, rule) for run in pairs], 0.0, boxes)

    costs = np.array([logs(rule) for rule in RULES])
    best = RULES[int(costs.mean(axis=1).argmin())]
    # A rule found on half of the tables, on the other half: what was picked looks too good where it was picked.
    half = np.arange(len(pairs)) // len(SHAPES) % 2 == 0
    picked = np.where(half, costs[costs[:, ~half].mean(axis=1).argmin()], costs[costs[:, half].mean(axis=1).argmin()])
    used = {name: float(getattr(auto, name)) for name in RULES[0]}

    def over(other: Any) -> list[float]:
        apart = logs(used) - other
        wide = 1.96 * float(apart.std(ddof=1)) / math.sqrt(len(pairs)) if len(pairs) > 1 else math.inf
        return [float(apart.mean()), wide]

    return {
        "tables": len(pairs),
        "best": best,
        "in use": used,
        "mean of the best": float(np.exp(logs(best).mean())),
        "mean of that in use": float(np.exp(logs(used).mean())),
        "log of in use over best": over(logs(best)),
        "log of in use over one found on other tables": over(picked),
        "boxes alone": float(np.exp(boxes.mean())),
        "the better of both": float(np.exp(np.minimum(boxes, 0.0).mean())),
    }


def known(table: Table, epsilon: float, delta: float) -> dict[str, float]:
    """Return what a rule goes by."""
    wanted, domain = Wanted.read(epsilon, None, delta), Domain.box([0.0] * table.d, 1.0)
    gaussian = wanted.rho is not None and lift.gaussian_lift(domain, wanted.pure, wanted.rho)
    like = auto.like_pure(wanted.rho if wanted.rho is not None and gaussian else wanted.pure, table.d)
    z = table.n * like / table.k / auto.rows_for_a_mean(table.d)
    return {"z": z, "d": table.d, "delta": delta if gaussian else 0.0}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=14.0)
    parser.add_argument("--only", nargs="*", default=list(CANDIDATES))
    parser.add_argument("--family", choices=("many", "few"), default="many")
    given = parser.parse_args()
    until = time.monotonic() + 60 * given.minutes
    place = RESULTS / "tune_lift.json"
    before = json.loads(place.read_text())["runs"] if place.exists() else []
    runs: list[dict[str, Any]] = []
    for table, epsilon, delta in cells(given.cells, given.family):
        if time.monotonic() > until:
            break
        X = table.rows()
        for seed in range(given.seeds):
            base = fitted(X, table.k, epsilon, delta, seed)
            ratios = {}
            for name in given.only:
                for value in CANDIDATES[name]:
                    with using(name, value):
                        ratios[f"{name} {value}"] = fitted(X, table.k, epsilon, delta, seed) / base
            facts = {"table": table.name, "epsilon": epsilon, "seed": seed, **known(table, epsilon, delta)}
            runs.append({**facts, "family": given.family, "ratios": ratios})
            print(facts, ratios.get("method boxes"), flush=True)
        only = set(given.only)
        kept = [
            run
            for run in before
            if run.get("family", "many") != given.family
            or not {name.rpartition(" ")[0] for name in run["ratios"]} & only
        ]
        found = {"runs": kept + runs, "summary": summary(kept + runs)}
        save("tune_lift", found, "discreet", "numpy")
    for label, families in {"rules": ("many", "few"), "rules, many": ("many",), "rules, few": ("few",)}.items():
        some = [run for run in kept + runs if run.get("family", "many") in families]
        if sum("method boxes" in run["ratios"] for run in some) >= 2 * len(SHAPES):
            found[label] = rules(some)
            print(label, json.dumps(found[label], indent=1))
    save("tune_lift", found, "discreet", "numpy")
    rows = [
        [name, f["mean"], f["times"], f["tables"]] for name, f in summary(runs).items() if not name.startswith("method")
    ]
    show("Cost over that of the values in use", ["candidate", "mean", "interval ×/÷", "tables"], rows)


if __name__ == "__main__":
    main()
