"""What attacks find in perturbed points, by level, and in other releases: the figures of docs/attacks.md.

    python -m studies.measures.attacks [--releases 20] [--people 1000] [--only points|others]

Four clusters of people in the unit square or in five columns; as many others and public records. ε is the level at a
distance of a tenth of the box. Every figure is a mean over fresh people and fresh noise, with a 95 % interval.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

import discreet as dc
from discreet_studies.measured.forest_attack import forest_attack
from discreet_studies.measured.membership import shadow_attack
from discreet_studies.measured.points import averaging_attack
from studies.measures._measure import RESULTS, save, show

LEVELS = (0.1, 1.0, 5.0, 20.0, 100.0, 1000.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=20)
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--only", choices=["points", "others"], help="keep what the result file says of the rest")
    args = parser.parse_args()
    held = json.loads((RESULTS / "attacks.json").read_text()) if args.only else {}
    if args.only != "others":
        held["results"] = points(args.releases, args.people)
    if args.only != "points":
        held["others"] = others(args.releases)
    save("attacks", {name: held[name] for name in ("results", "others")}, "discreet", "numpy", "scikit-learn")


def points(releases: int, people: int) -> list[dict[str, Any]]:
    """Attack perturbed points at every level."""
    results, rows, names = [], [], []
    for d in (2, 5):
        for level in LEVELS:
            found: dict[str, list[float]] = {}
            for seed in range(releases):
                for name, value in _once(d, level, people, seed).items():
                    found.setdefault(name, []).append(value)
            row = {"columns": d, "epsilon": level, "releases": releases, "people": people}
            row |= {name: _interval(values) for name, values in found.items()}
            results.append(row)
            rows.append([f"{d} columns, ε = {level:g}", *(row[name]["mean"] for name in found)])
            names = list(found)
    show("Attacks on perturbed points", ["release", *names], rows)
    return results


def others(releases: int) -> list[dict[str, Any]]:
    """Attack centres without noise, forests as published, repeated reports and anonymous tables."""
    results = []
    for what, people, attack in OTHERS:
        row = {"attack": what, "releases": releases, "people": people}
        results.append(row | _interval([attack(people, seed) for seed in range(releases)]))
        print(results[-1], flush=True)
    return results


def _interval(values: list[float]) -> dict[str, Any]:
    mean, half = float(np.mean(values)), 1.96 * float(np.std(values, ddof=1)) / len(values) ** 0.5
    return {"mean": mean, "interval": [mean - half, mean + half]}


def _centres(k: int, method: str) -> Callable[[int, int], float]:
    def release(rows: np.ndarray, seed: int) -> np.ndarray:
        return KMeans(k, n_init=1, random_state=seed).fit(rows).cluster_centers_

    def attack(n: int, seed: int) -> float:
        people, strangers, public = (_crowd(n, 2, 3 * seed + i) for i in range(3))
        if method == "shadow":
            found = shadow_attack(release(people, seed), people, strangers, release, public, random_state=seed)
        else:
            found = dc.evaluation.membership_attack(
                release(people, seed), people, strangers, kind="centers", random_state=seed
            )
        return found.advantage

    return attack


def _forest(epsilon: float | None, noisy_shadows: bool = False) -> Callable[[int, int], float]:
    def attack(n: int, seed: int) -> float:
        mechanism = dc.metric.NDLaplace(epsilon or 1.0, 0.1, dc.Domain.box([0, 0], [1, 1]))
        perturb = mechanism.transform if epsilon else None
        more = {"repeats": 1, "noisy_shadows": noisy_shadows, "random_state": seed}
        return forest_attack(_crowd(n, 2, seed), perturb, **more).advantage

    return attack


def _repeated(reports: int) -> Callable[[int, int], float]:
    def attack(n: int, seed: int) -> float:
        more = {"rate": 20.0, "repeats": (reports,), "random_state": seed}
        return float(averaging_attack(None, _crowd(n, 2, seed), **more).likely_errors[0])

    return attack


def _singled_out(k: int) -> Callable[[int, int], float]:
    def attack(n: int, seed: int) -> float:
        people, strangers = (dc.datasets.people(n, seed=2 * seed + i) for i in (0, 1))
        table = people.table
        if k > 1:
            tree = dc.anonymity.DensityTree(k, domain=people.domain, random_state=seed)
            table = tree.fit_transform(table).table
        return dc.evaluation.singling_out(table, people.table, strangers.table, random_state=seed).risk

    return attack


#: Attack, people and one run of it: advantages but for repeats (mean error) and tables (risk beyond the control).
OTHERS: list[tuple[str, int, Callable[[int, int], float]]] = [
    ("4 centres, by distance", 500, _centres(4, "likelihood")),
    ("4 centres, by shadows", 500, _centres(4, "shadow")),
    ("100 centres, by distance", 500, _centres(100, "likelihood")),
    ("forest, no noise", 800, _forest(None)),
    ("forest, ε = 1", 800, _forest(1.0)),
    ("forest, ε = 1, shadows on noisy records", 800, _forest(1.0, noisy_shadows=True)),
    ("1 report at rate 20", 500, _repeated(1)),
    ("32 reports at rate 20", 500, _repeated(32)),
    ("singling out, verbatim", 2000, _singled_out(1)),
    ("singling out, k = 2", 2000, _singled_out(2)),
    ("singling out, k = 5", 2000, _singled_out(5)),
    ("singling out, k = 20", 2000, _singled_out(20)),
]


def _crowd(n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(5).random((4, d)) * 0.7 + 0.15
    return np.clip(centers[rng.integers(0, 4, n)] + rng.normal(0, 0.05, (n, d)), 0, 1)


def _once(d: int, level: float, n: int, seed: int) -> dict[str, float]:
    people, others, public = (_crowd(n, d, 3 * seed + i) for i in range(3))
    domain = dc.Domain.box(np.zeros(d), np.ones(d))
    mechanism = dc.metric.NDLaplace(level, 0.1, domain, random_state=seed)
    noisy = mechanism.transform(people)
    common = {"metric": mechanism, "reference": public, "random_state": seed}
    member = dc.evaluation.membership_attack(noisy, people, others, **common)
    place = dc.evaluation.reconstruction_attack(noisy, people, **common)
    column = dc.evaluation.attribute_attack(noisy, people, others, column=1, **common)
    return {
        "membership advantage": member.advantage,
        "found at 1 % false": member.tpr_at(0.01),
        "error / noise": place.relative_to_noise,
        "error / prior": place.relative_to_prior,
        "attribute gain": column.gain,
    }


if __name__ == "__main__":
    main()
