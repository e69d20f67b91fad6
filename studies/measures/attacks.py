"""What attacks find in perturbed points, by level: the table of docs/attacks.md.

    python -m studies.measures.attacks [--releases 20] [--people 1000]

Four clusters of people in the unit square or in five columns; as many others and public records. ε is the level at a
distance of a tenth of the box. Every figure is a mean over fresh people and fresh noise, with a 95 % interval.
"""

from __future__ import annotations

import argparse

import numpy as np

import discreet as dc
from studies.measures._measure import save, show

LEVELS = (0.1, 1.0, 5.0, 20.0, 100.0, 1000.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=20)
    parser.add_argument("--people", type=int, default=1000)
    args = parser.parse_args()
    results, rows = [], []
    for d in (2, 5):
        for level in LEVELS:
            found: dict[str, list[float]] = {}
            for seed in range(args.releases):
                for name, value in _once(d, level, args.people, seed).items():
                    found.setdefault(name, []).append(value)
            row = {"columns": d, "epsilon": level, "releases": args.releases, "people": args.people}
            for name, values in found.items():
                mean, half = float(np.mean(values)), 1.96 * float(np.std(values, ddof=1)) / len(values) ** 0.5
                row[name] = {"mean": mean, "interval": [mean - half, mean + half]}
            results.append(row)
            rows.append([f"{d} columns, ε = {level:g}", *(row[name]["mean"] for name in found)])
            names = list(found)
    show("Attacks on perturbed points", ["release", *names], rows)
    save("attacks", {"results": results}, "discreet", "numpy")


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
