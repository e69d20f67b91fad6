"""The constants of `DensityClusters`, tried on generated shapes: moons, rings, spirals, Gaussians apart and touching.

    python -m benchmarks.tuning.density [--tables 60]

Wanted: the largest mean adjusted Rand index of rows against the shape they were drawn from, outliers given to the
nearest cluster. Rows without any cluster are among the tables: one cluster is right there, and counts as 1.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from benchmarks._bench import save, show
from discreet import Domain, GridSynopsis, datasets
from discreet.clustering import DensityClusters

PROMINENCE, CONTRAST = (2.0, 3.0, 4.0, 6.0), (1.0, 1.2, 1.4, 1.6, 2.0)
SHAPES = ("moons", "rings", "spirals", "apart", "touching", "even", "one")


def drawn(number: int) -> tuple[str, np.ndarray, np.ndarray, float]:
    """Return a shape, rows in the unit square, which part each belongs to, and an ε."""
    rng = np.random.default_rng([33, number])
    shape, n = SHAPES[number % len(SHAPES)], int(rng.choice([4000, 8000, 16000]))
    epsilon, seed, spread = float(rng.choice([0.2, 0.5, 1.0])), int(rng.integers(2**31)), rng.uniform(0.04, 0.09)
    if shape == "moons":
        X, labels = make_moons(n, noise=spread, random_state=seed)
    elif shape == "rings":
        X, labels = make_circles(n, factor=0.4, noise=spread, random_state=seed)
    elif shape == "spirals":
        labels, at = np.arange(n) % 2, np.sqrt(rng.uniform(0.05, 1, n))
        turn = 3 * np.pi * at + np.pi * labels
        X = (at * np.array([np.cos(turn), np.sin(turn)])).T + rng.normal(0, spread / 2, (n, 2))
    elif shape in ("apart", "touching"):
        apart = rng.uniform(6, 10) if shape == "apart" else rng.uniform(4, 5)
        data = datasets.mixture(n, 2, int(rng.integers(3, 12)), separation=apart, random_state=seed)
        X, labels = data.X, data.labels
    else:
        X = rng.random((n, 2)) if shape == "even" else rng.normal(0, 1, (n, 2)) * rng.uniform(0.4, 1, 2)
        labels = np.zeros(n, np.int64)
    low, span = X.min(axis=0), np.ptp(X, axis=0)
    return shape, 0.05 + 0.9 * (X - low) / span, np.asarray(labels), epsilon


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=63)
    arguments = parser.parse_args()
    scores: dict[tuple[float, float], dict[str, list[float]]] = {}
    for number in range(arguments.tables):
        shape, X, labels, epsilon = drawn(number)
        made = GridSynopsis(epsilon, Domain.box([0, 0], 1), n_clusters=8, random_state=number).fit(X).synopsis_
        some = slice(0, 2000)
        for prominence, contrast in product(PROMINENCE, CONTRAST):
            found = DensityClusters(prominence, contrast, outliers=False).fit(made)
            score = adjusted_rand_score(labels[some], found.predict(X[some]))
            scores.setdefault((prominence, contrast), {}).setdefault(shape, []).append(float(score))
    results = [
        {"prominence": p, "contrast": c, "mean": float(np.mean([v for part in by.values() for v in part])),
         **{shape: float(np.mean(by[shape])) for shape in SHAPES if shape in by}}
        for (p, c), by in scores.items()
    ]  # fmt: skip
    results.sort(key=lambda r: -r["mean"])
    heads = ["prominence", "contrast", "mean", *SHAPES]
    show("Adjusted Rand index", heads, [[r.get(h, "") for h in heads] for r in results])
    save("tune_density", {"tables": arguments.tables, "results": results}, "discreet", "numpy", "scikit-learn")


if __name__ == "__main__":
    main()
