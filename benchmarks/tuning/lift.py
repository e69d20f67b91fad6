"""Tune the constants of private k-means in many dimensions (`clustering/central/lift.py`), on generated tables only.

    python -m benchmarks.tuning.lift [--cells 40] [--seeds 1] [--minutes 14] [--only AXES OVER]

Tables (`generated.py`: balanced and not, tight and not, stray rows, heavy tails, correlated columns, sparse ones) of 12
to 800 columns and 3 to 64 clusters, and budgets with and without a δ, are drawn at random, the same in every run. Every
candidate value of a constant runs on every one of them, with the same rows and seed as the values in use. Figures are
geometric means of the k-means cost over that of the values in use, with the 95 % interval over tables; a value in use
stays unless another one is better by more than its interval. `method` has what was chosen without a projection, by
z = N ε/k over the rows that a mean needs: where that is better on average, `auto` takes it (`LIFT_FROM`, `LIFT_AXES`).
Real data play no part. Results go to results/tune_lift.json after every table.
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
from discreet.clustering.central import auto, lift

SHAPES = ("round", "unequal", "background", "tubes", "heavy", "sparse", "scores")
CANDIDATES: dict[str, list[Any]] = {
    "method": ["boxes", "lift"],
    "AXIS_ROWS": [6.0, 24.0],
    "FEWEST_AXES": [6, 10],
    "MOST_AXES": [12, 20, 24],
    "OVER": [1.5, 2.0, 3.0],
    "SHARES.projection": [0.18, 0.36],
    "SHARES.lift": [0.15, 0.35],
    "SHARES.centre": [0.03, 0.1],
    "QUANTILE": [0.7, 0.8, 0.97],
    "LAST_QUANTILE": [0.5, 0.6, 0.9],
    "LIFT_NOISE": [0.5, 3.0],
    "DIRECT_SHARE": [0.12, 0.3],
    "DIRECT_QUANTILE": [0.5, 0.85],
    "STEP_NOISE": [0.001, 0.016],
    "MOST_STEPS": [1, 2, 5],
    "LAST_WEIGHT": [1, 4],
    "PRIOR": [1.0, 16.0],
    "WIDE": [1.7, 2.8],
}


def cells(number: int) -> Iterator[tuple[Table, float, float]]:
    """Yield tables and budgets."""
    rng = np.random.default_rng(2026)
    for i in range(number):
        d = int(np.rint(np.exp(rng.uniform(math.log(12), math.log(800)))))
        k = int(np.rint(np.exp(rng.uniform(math.log(3), math.log(64)))))
        n = int(min(np.exp(rng.uniform(math.log(3000), math.log(80_000))), 6e6 / d))
        separation = float(rng.choice([3.0, 6.0, 12.0]))
        epsilon = float(rng.choice([0.2, 0.5, 1.0, 2.0]))
        yield Table(SHAPES[i % len(SHAPES)], n, d, k, separation), epsilon, float(rng.choice([0.0, 1e-6]))


@contextlib.contextmanager
def using(name: str, value: Any) -> Iterator[None]:
    """Set a constant for a while."""
    if name == "method":
        kept, auto.MANY_AXES = auto.MANY_AXES, {"boxes": 10**9, "lift": 0}[value]
        froms, auto.LIFT_FROM, auto.LIFT_AXES = (auto.LIFT_FROM, auto.LIFT_AXES), 0.0, 0
        yield
        auto.MANY_AXES, (auto.LIFT_FROM, auto.LIFT_AXES) = kept, froms
    elif name.startswith("SHARES."):
        key = name.partition(".")[2]
        kept, lift.SHARES[key] = lift.SHARES[key], value
        yield
        lift.SHARES[key] = kept
    else:
        kept = getattr(lift, name)
        setattr(lift, name, value)
        yield
        setattr(lift, name, kept)


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


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=14.0)
    parser.add_argument("--only", nargs="*", default=list(CANDIDATES))
    given = parser.parse_args()
    until = time.monotonic() + 60 * given.minutes
    place = RESULTS / "tune_lift.json"
    before = json.loads(place.read_text())["runs"] if place.exists() else []
    runs: list[dict[str, Any]] = []
    for table, epsilon, delta in cells(given.cells):
        if time.monotonic() > until:
            break
        X = table.rows()
        for seed in range(given.seeds):
            base = fitted(X, table.k, epsilon, delta, seed)
            ratios = {}
            # With a δ and many axes there is no other method: trees and their rules are written for a pure ε.
            for name in given.only if not delta else [n for n in given.only if n != "method"]:
                for value in CANDIDATES[name]:
                    with using(name, value):
                        ratios[f"{name} {value}"] = fitted(X, table.k, epsilon, delta, seed) / base
            z = table.n * epsilon / table.k / auto.rows_for_a_mean(table.d)
            facts = {"table": table.name, "epsilon": epsilon, "delta": delta, "seed": seed, "z": z}
            runs.append({**facts, "ratios": ratios})
            print(facts, ratios.get("method boxes"), flush=True)
        only = set(given.only)
        kept = [run for run in before if not {name.split(" ")[0] for name in run["ratios"]} & only]
        save("tune_lift", {"runs": kept + runs, "summary": summary(runs)}, "discreet", "numpy")
    rows = [[name, f["mean"], f["times"], f["tables"]] for name, f in summary(runs).items()]
    show("Cost over that of the values in use", ["candidate", "mean", "interval ×/÷", "tables"], rows)


if __name__ == "__main__":
    main()
