"""How many levels a tree with ``max_depth="auto"`` has below its first tested one; on generated tables alone.

    python -m benchmarks.tuning.depth

Every table is released with each number of further levels, and clustered; shown is NICV over that of the best number
for the same table and seed: the geometric mean, and the largest. Gives DEEPER of
`discreet.synopses.boxes.tree.settings`.
"""

from __future__ import annotations

import numpy as np

from benchmarks._bench import save, show
from benchmarks.tuning.generated import Table
from discreet import Domain, TreeSynopsis
from discreet.clustering import cluster_synopsis
from discreet.evaluation import nicv
from discreet.synopses.boxes.tree import settings

DEEPER = range(5)
PARTITIONERS = ("binary", "median", "quantile")
SHAPES = ("round", "unequal", "skewed")


def main() -> None:
    rows, facts = [], {}
    for partitioner in PARTITIONERS:
        ratios = []
        for n, d, k in ((5_000, 2, 10), (10_000, 4, 6)):
            for shape in SHAPES:
                X, domain = Table(shape, n, d, k).rows(), Domain.box([0] * d, 1)
                ratios += [
                    [cost(X, domain, k, epsilon, partitioner, more) for more in DEEPER] for epsilon in (0.1, 1.0)
                ]
        found = np.array(ratios) / np.min(ratios, axis=1, keepdims=True)
        means, worst = np.exp(np.log(found).mean(0)), found.max(0)
        rows.append([partitioner, *(f"{m:.3f} ({w:.2f})" for m, w in zip(means, worst, strict=True))])
        facts[partitioner] = {"mean": means.round(4).tolist(), "worst": worst.round(4).tolist()}
    show("cost over the best, by further levels: mean (worst)", ["partitioner", *map(str, DEEPER)], rows)
    save("tune_depth", {"further_levels": list(DEEPER), "tables": len(ratios), "ratios": facts}, "discreet")


def cost(X: np.ndarray, domain: Domain, k: int, epsilon: float, partitioner: str, deeper: int) -> float:
    """Return the mean cost, over two seeds, of centres found in a tree with that many further levels."""
    settings.DEEPER[partitioner] = deeper
    found = []
    for seed in range(2):
        tree = TreeSynopsis(epsilon, domain, partitioner, max_depth="auto", n_clusters=k, random_state=seed).fit(X)
        found.append(nicv(X, cluster_synopsis(tree.synopsis_, k).centers))
    return float(np.mean(found))


if __name__ == "__main__":
    main()
