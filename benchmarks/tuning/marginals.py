"""The constants of marginal synopses, tried on generated tables: errors of pairs and triples, and of a classifier.

    python -m benchmarks.tuning.marginals NAME=VALUE[,VALUE...] [--tables 0,1,2] [--epsilon 1] [--delta 1e-9] [--rows N]

NAME is a constant of `choice.py`, `field.py` or `release.py` of `discreet.synopses.marginals`, such as COARSENESS. Each
value is tried on every table with two seeds. Tables have 12 columns and more of mixed kinds that depend on four hidden
numbers, with rare categories, heaps of zeros, and a target that six columns and one interaction decide.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._bench import save, show
from discreet import Domain, Integer, MarginalSynopsis
from discreet.core.arrays import IntArray
from discreet.synopses.marginals import choice, field, release
from discreet_studies.synthetic_tables.study import area, errors


def generated(seed: int, n: int = 30_000, more: int = 10_000) -> tuple[IntArray, list[int], list[bool]]:
    """Return codes of every column, the target last, their numbers of values, and whether those are ordered."""
    rng = np.random.default_rng(1000 + seed)
    total, width = n + more, 12 + seed
    hidden = rng.normal(size=(total, 4))
    columns: list[Any] = []
    sizes: list[int] = []
    ordered: list[bool] = []
    for _ in range(width - 1):
        weights = rng.normal(size=4) * (rng.random(4) < 0.5) * 1.3
        if rng.random() < 0.45:
            size = 16
            value = hidden @ weights + np.sin(hidden[:, rng.integers(4)] * 2) * rng.random()
            value = value + rng.normal(size=total) * rng.uniform(0.3, 1.2)
            rank = (np.argsort(np.argsort(value)) / total) ** (power := rng.choice([1.0, 1.0, 3.0, 8.0]))
            rank = np.where(rank < 0.6, 0, rank) if power == 8 else rank
            columns.append(np.minimum((rank * size).astype(int), size - 1))
        else:
            size = int(rng.choice([2, 3, 5, 7, 9, 14, 16, 25, 40]))
            base = -np.log(np.arange(1, size + 1)) * rng.uniform(0.3, 2)
            pull = rng.normal(size=(4, size)) * (weights != 0)[:, None] * rng.uniform(0.3, 1.0)
            columns.append(rng.permutation(size)[(base + hidden @ pull + rng.gumbel(size=(total, size))).argmax(1)])
        sizes.append(size)
        ordered.append(size == 16)
    score = hidden[:, 0] * 0.8
    for j in rng.choice(width - 1, 6, replace=False):
        score += (rng.normal(size=sizes[j]) * 0.7)[columns[j]]
    a, b = rng.choice(width - 1, 2, replace=False)
    score += (rng.normal(size=(sizes[a], sizes[b])) * 0.7)[columns[a], columns[b]]
    chance = 1 / (1 + np.exp(-1.5 * (score - np.quantile(score, 0.75))))
    return np.stack([*columns, rng.random(total) < chance]).astype(np.int64), [*sizes, 2], [*ordered, False]


def tried(seed: int, epsilon: float, delta: float, n: int = 30_000) -> dict[str, float]:
    """Return the errors of two releases of a table."""
    codes, sizes, ordered = generated(seed, n)
    names = [f"c{j}" for j in range(len(sizes))]
    kinds = zip(names, sizes, ordered, strict=True)
    domain = Domain({n: Integer(0, size - 1) if o else list(range(size)) for n, size, o in kinds})
    train, test = (pd.DataFrame(part.T, columns=names) for part in (codes[:, :n], codes[:, n:]))
    found: dict[str, list[float]] = {"pairs": [], "triples": [], "auc": []}
    for draw in (1, 2):
        model = MarginalSynopsis(epsilon, domain, delta=delta, target=names[-1], random_state=draw)
        rows = model.fit(train).synopsis_.sample(len(train), rng=draw).to_pandas()
        real, made = train.to_numpy().T, rows.to_numpy().T.astype(np.int64)
        found["pairs"].append(errors(real, sizes, made, 2))
        found["triples"].append(errors(real, sizes, made, 3))
        found["auc"].append(area(rows, test, domain, names[-1]))
    return {name: float(np.mean(values)) for name, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("constant")
    parser.add_argument("--tables", default="0,1,2")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-9)
    parser.add_argument("--rows", type=int, default=30_000)
    args = parser.parse_args()
    name, _, values = args.constant.partition("=")
    results: list[dict[str, Any]] = []
    for text in values.split(","):
        for module in (choice, field, release):
            if hasattr(module, name):
                exact = isinstance(getattr(module, name), Fraction)
                setattr(module, name, Fraction(text) if exact else float(text))
        tables = [int(seed) for seed in args.tables.split(",")]
        results += [{name: text, "table": seed, **tried(seed, args.epsilon, args.delta, args.rows)} for seed in tables]
    columns = list(results[0])
    show(name, columns, [[row[c] for c in columns] for row in results])
    save(f"marginals_{name.lower()}", {"runs": results}, "numpy", "scikit-learn")


if __name__ == "__main__":
    main()
