"""Where rows of a leaf lie that publishes a noisy mean: what means are shrunk to, tried on generated tables.

    python -m benchmarks.tuning.places [--tables 40]
    python -m benchmarks.tuning.places --trees [--tables 40]

A mean is shrunk because it is noisy. To the middle of its box, as it is published; or, which clustering may do
afterwards, towards where rows of that box are likely: along each axis some share of all rows lies anywhere, the others
as a Gaussian with the mean and the spread of the leaves (`refine.means`). Tables are in 4 to 11 columns: of the shapes
of `benchmarks.tuning.generated`, some in bounds much wider than the rows; columns with long tails; a few rows far away;
clusters of unequal size with long tails. The figure is the cost on the rows over that of the middles.

``--trees``: whether leaves of a PrivTree should have means at all, which is decided before they are counted. Rows of
such a tree, evenly shared among its leaves, over the rows that a mean needs; and what means cost or gain there.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import defaultdict

import numpy as np

from benchmarks._bench import save, show
from benchmarks.tuning.generated import Table
from discreet import Domain, PrivateKMeans, TreeSynopsis
from discreet.clustering import cluster_synopsis
from discreet.clustering.central import auto
from discreet.evaluation import nicv
from discreet.synopses import refine
from discreet.synopses.boxes.tree import levels

KINDS = ("tight bounds", "wide bounds", "skewed", "far rows", "unbalanced")
#: Shares, and factors on the variance, that are tried; None is the middle of every box.
TRIED = (None, (0.02, 1.5), (0.1, 1.5), (0.3, 1.5), (0.1, 3.0), (0.02, 3.0))


def draw(kind: str, number: int) -> tuple[np.ndarray, int, float]:
    """Draw rows in the unit box, a number of clusters and an ε."""
    rng = np.random.default_rng([number, KINDS.index(kind)])
    d, n = int(rng.integers(4, 12)), int(rng.choice([5000, 20_000, 50_000]))
    k = int(rng.choice([2, 3, 5, 8]))
    z = math.exp(rng.uniform(math.log(6), math.log(150)))
    shape = str(rng.choice(["round", "unequal", "tubes", "background", "scores", "chain"]))
    if kind == "skewed":
        shape = "skewed"
    if kind == "unbalanced":
        shape = "heavy"
    X = Table(shape, n + number, d, k, float(rng.choice([4, 6, 8, 16]))).rows()
    if kind == "wide bounds":
        width = np.exp(rng.uniform(-3, 0, d))
        X = rng.uniform(0, 1 - width) + X * width
    if kind == "far rows":
        X = 0.3 * rng.random(d) + 0.4 * X
        far = rng.random(len(X)) < 0.01
        X[far] = np.clip(
            rng.choice(rng.random((3, d)), int(far.sum())) + rng.normal(0, 0.05, (int(far.sum()), d)), 0, 1
        )
    return X, k, z * auto.rows_for_a_mean(d) * k / len(X)


def trees(tables: int) -> None:
    """Compare trees with means and without, by how many rows each leaf has on average."""
    bins, logs = (0.0, 0.125, 0.25, 0.5, 1.0, math.inf), defaultdict(list)
    start, before = time.time(), levels.CROWDED
    for number in range(tables):
        for kind in KINDS:
            X, k, epsilon = draw(kind, number)
            domain, d = Domain.box([0] * X.shape[1], 1), X.shape[1]
            for share in (0.06, 0.25, 0.5):
                costs, tree = [], TreeSynopsis(epsilon, domain, "privtree", 40, shares=(share, 0, 1 - share),
                                               leaf_means=True, random_state=number)  # fmt: skip
                for levels.CROWDED in (1e-9, 1e9):
                    made = tree.fit(X).synopsis_
                    costs.append(nicv(X, cluster_synopsis(made, k).centers))
                full = len(X) / made.n_leaves / (auto.rows_for_a_mean(d) / (epsilon * (1 - share) * 0.97))
                at = next(i for i in range(1, len(bins)) if full < bins[i]) - 1
                logs[at].append(math.log(costs[1] / costs[0]))
    levels.CROWDED = before
    rows = [[f"{bins[i]:g} to {bins[i + 1]:g}", f"{np.mean(v):+.3f}", f"{np.mean(np.array(v) < 0):.0%}", str(len(v))]
            for i, v in sorted(logs.items())]  # fmt: skip
    show("Logarithm of the cost with means over that without", ["rows in a leaf, in means", "mean", "won", "n"], rows)
    facts = {"tables_of_each_kind": tables, "rows": rows, "seconds": round(time.time() - start)}
    save("tune_tree_means", facts, "discreet", "numpy")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=60, help="of each kind")
    parser.add_argument("--trees", action="store_true", help="whether leaves of a tree should have means")
    arguments = parser.parse_args()
    if arguments.trees:
        return trees(arguments.tables)
    start, logs = time.time(), defaultdict(list)
    for number in range(arguments.tables):
        for kind in KINDS:
            X, k, epsilon = draw(kind, number)
            domain = Domain.box([0] * X.shape[1], 1)
            released = PrivateKMeans(k, epsilon, domain, random_state=number).release(X)
            last = auto.refinement_for(released, k)[-1]
            costs = {}
            for share in TRIED:
                if share is not None:
                    refine.ANYWHERE, refine.INFLATED = share
                steps = [last] if share is None else ["means", last]
                costs[share] = nicv(X, cluster_synopsis(released, k, refine=steps).centers)
            for share, cost in costs.items():
                logs[kind, share].append(math.log(cost / costs[None]))
    means = {kind: {str(b): float(np.mean(logs[kind, b])) for b in TRIED} for kind in KINDS}
    worst = {kind: {str(b): float(np.max(logs[kind, b])) for b in TRIED} for kind in KINDS}
    errors = {kind: {str(b): float(np.std(logs[kind, b])) / arguments.tables**0.5 for b in TRIED} for kind in KINDS}
    rows = [[kind, *(f"{means[kind][str(b)]:+.3f} ± {errors[kind][str(b)]:.3f}" for b in TRIED[1:])] for kind in KINDS]
    show("Logarithm of the cost over that of middles", ["tables", *(str(b) for b in TRIED[1:])], rows)
    facts = {"tables_of_each_kind": arguments.tables, "log_cost": means, "std_error": errors, "worst": worst}
    save("tune_places", {**facts, "seconds": round(time.time() - start)}, "discreet", "numpy")


if __name__ == "__main__":
    main()
