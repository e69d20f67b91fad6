"""Compare the pruned density tree with mlpack's, by integrated squared error.

    python -m studies.measures.density_quality [--seeds 20] [--rows 2000]

Six generated sets have a density that is known: mixtures of products of one-dimensional laws, so that the probability
of every leaf, and with it the error, is exact. Three real sets have none: there the loss on held-out rows is compared,
which is the error up to a constant. mlpack is taken twice: with the price of a leaf that its cross-validation chose,
and with the price that is best on the truth (on a real set: on the very rows held out), which no method could know.
Ours has the price that its cross-validation chose, on its usual grid, and once more on one of 1,024 steps; its box is
the declared one, mlpack's that of the rows. Make's ``bench-tables`` has the environment. Results go to
results/density_quality.json.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before any library reads it

import numpy as np
from scipy import stats
from sklearn import datasets as bundled

from discreet import Domain
from discreet.anonymity import DensityTree
from studies.measures._measure import save, show

LEAF = 5
#: Points of the quadrature of a product of two laws.
POINTS = 20_000


@dataclass
class Leaves:
    """Boxes with their mass: a density that is constant on each."""

    low: Any
    high: Any
    mass: Any

    @property
    def volume(self) -> Any:
        return np.prod(self.high - self.low, axis=1)

    @property
    def squares(self) -> float:
        """The integral of the squared density."""
        return float((self.mass**2 / self.volume).sum())


class Mixture:
    """A mixture of products of laws, each law cut to [0, 1]."""

    def __init__(self, weights: list[float], parts: list[list[Any]]) -> None:
        self.weights, self.parts = np.array(weights) / sum(weights), parts
        self.d = len(parts[0])
        self.ends = [[(law.cdf(0.0), law.cdf(1.0)) for law in part] for part in parts]
        self.squares = self._squares()

    def draw(self, n: int, rng: Any) -> Any:
        which = rng.choice(len(self.parts), n, p=self.weights)
        X = np.empty((n, self.d))
        for m, part in enumerate(self.parts):
            rows = np.flatnonzero(which == m)
            for j, law in enumerate(part):
                below, above = self.ends[m][j]
                X[rows, j] = law.ppf(below + rng.random(len(rows)) * (above - below))
        return X.clip(0, np.nextafter(1, 0))

    def masses(self, low: Any, high: Any) -> Any:
        """Return the probability of every box, exactly."""
        total = np.zeros(len(low))
        for m, part in enumerate(self.parts):
            product = np.full(len(low), self.weights[m])
            for j, law in enumerate(part):
                below, above = self.ends[m][j]
                product *= (law.cdf(high[:, j].clip(0, 1)) - law.cdf(low[:, j].clip(0, 1))) / (above - below)
            total += product
        return total

    def error(self, leaves: Leaves) -> float:
        """Return the integrated squared error."""
        cross = float((self.masses(leaves.low, leaves.high) * leaves.mass / leaves.volume).sum())
        return leaves.squares - 2 * cross + self.squares

    def _squares(self) -> float:
        at = (np.arange(POINTS) + 0.5) / POINTS
        values = [
            [law.pdf(at) / (b - a) for law, (a, b) in zip(part, ends, strict=True)]
            for part, ends in zip(self.parts, self.ends, strict=True)
        ]
        total = 0.0
        for w, one in zip(self.weights, values, strict=True):
            for v, two in zip(self.weights, values, strict=True):
                total += w * v * np.prod([(f * g).mean() for f, g in zip(one, two, strict=True)])
        return float(total)


def normal(centre: float, width: float) -> Any:
    return stats.norm(centre, width)


def uniform(low: float, high: float) -> Any:
    return stats.uniform(low, high - low)


def boxes(*corners: tuple[float, float, float, float]) -> Mixture:
    parts = [[uniform(a, b), uniform(c, d)] for a, b, c, d in corners]
    return Mixture([0.5, 0.3, 0.2], [*parts, [uniform(0, 1), uniform(0, 1)]])


def generated() -> dict[str, Mixture]:
    five = np.random.default_rng(5).uniform(0.15, 0.85, (5, 3))
    return {
        "two Gaussians, d = 2": Mixture([1, 1], [[normal(c, 0.1) for c in at] for at in ((0.3, 0.35), (0.7, 0.65))]),
        "skewed, d = 2": Mixture([1], [[stats.lognorm(0.8, scale=0.12), stats.expon(scale=0.15)]]),
        "boxes at round numbers, d = 2": boxes((0.1, 0.4, 0.2, 0.9), (0.5, 0.6, 0.0, 0.5)),
        # Sharp edges between the points of our grid, which has hundredths: the worst case for a public grid.
        "boxes at odd numbers, d = 2": boxes((0.1137, 0.4061, 0.2079, 0.8943), (0.5218, 0.6354, 0.0, 0.4775)),
        "three peaks, d = 1": Mixture([2, 2, 1], [[normal(0.25, 0.08)], [normal(0.6, 0.1)], [normal(0.9, 0.015)]]),
        "five clusters, d = 3": Mixture([1] * 5, [[normal(c, 0.08) for c in at] for at in five]),
    }


def real() -> dict[str, tuple[Any, Any, Any]]:
    """Return rows and declared bounds: what the columns mean, in round numbers."""
    breast, iris, wine = bundled.load_breast_cancer().data, bundled.load_iris().data, bundled.load_wine().data
    return {
        "breast: radius, texture": (breast[:, :2], [5, 5], [30, 40]),
        "iris: petals": (iris[:, 2:], [0, 0], [8, 3]),
        "wine: alcohol, flavanoids": (wine[:, [0, 6]], [10, 0], [16, 6]),
    }


def ours(X: Any, low: Any, high: Any, seed: int, **settings: Any) -> DensityTree:
    model = DensityTree(LEAF, domain=Domain.box(low, high), criterion="cell", pruning="folds", random_state=seed)
    return model.set_params(**settings).fit(X)


def our_leaves(model: DensityTree) -> Leaves:
    tree = model.tree_
    first, last = (cells[tree.leaves] for cells in tree.cells)
    edges = [np.array(grid.edges) for grid in tree.grids]
    low = np.stack([e[first[:, j]] for j, e in enumerate(edges)], 1)
    high = np.stack([e[last[:, j] + 1] for j, e in enumerate(edges)], 1)
    return Leaves(low, high, model.leaf_counts_ / model.leaf_counts_.sum())


@dataclass
class Node:
    """A node of mlpack's tree: its box, its share of the rows, and its children."""

    low: Any
    high: Any
    mass: float
    below: tuple[Node, ...]

    @property
    def error(self) -> float:
        return -(self.mass**2) / float(np.prod(self.high - self.low))


def peer(X: Any, *, pruned: bool) -> Node:
    """Grow mlpack's tree. Its folds are blocks of rows as they come; ours here come in no order."""
    import mlpack

    model = mlpack.det(training=X, min_leaf_size=LEAF, max_leaf_size=2 * LEAF, skip_pruning=not pruned, folds=10)
    facts = model["output_model"].get_cpp_params()
    return _read(next(iter(facts.values())), len(X))


def _read(facts: Any, n: int) -> Node:
    children = [facts[k]["smartPointer"]["ptr_wrapper"]["data"] for k in ("value0", "value1") if k in facts]
    return Node(
        np.ravel(facts["minVals"]),
        np.ravel(facts["maxVals"]),
        (facts["end"] - facts["start"]) / n,
        tuple(_read(c, n) for c in children),
    )


def leaves_of(root: Node, collapsed: set[int] = frozenset()) -> Leaves:  # type: ignore[assignment]
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        if node.below and id(node) not in collapsed:
            stack.extend(node.below)
        else:
            found.append(node)
    return Leaves(
        np.stack([t.low for t in found]), np.stack([t.high for t in found]), np.array([t.mass for t in found])
    )


def path_of(root: Node) -> list[Leaves]:
    """Return every subtree that is best at some price, by the definition: collapse the weakest link, all of equal."""
    collapsed: set[int] = set()
    path = [leaves_of(root)]
    while id(root) not in collapsed and root.below:
        links: dict[int, float] = {}
        _links(root, collapsed, links)
        least = min(links.values())
        collapsed |= {t for t, g in links.items() if g <= least * (1 + 1e-12)}
        path.append(leaves_of(root, collapsed))
    return path


def _links(node: Node, collapsed: set[int], links: dict[int, float]) -> tuple[float, int]:
    if not node.below or id(node) in collapsed:
        return node.error, 1
    below = [_links(child, collapsed, links) for child in node.below]
    error, leaves = sum(e for e, _ in below), sum(m for _, m in below)
    links[id(node)] = (node.error - error) / (leaves - 1)
    return error, leaves


def held_out(leaves: Leaves, test: Any) -> float:
    """Return the loss on held-out rows: the integrated squared error up to a constant."""
    density = leaves.mass / leaves.volume
    last = leaves.high == leaves.high.max(axis=0)  # the outermost boxes hold their upper end
    total = 0.0
    for x in test:
        inside = ((x >= leaves.low) & ((x < leaves.high) | last & (x == leaves.high))).all(axis=1)
        total += density[np.argmax(inside)] if inside.any() else 0.0
    return leaves.squares - 2 * total / len(test)


def row(name: str, kind: str, found: dict[str, list[float]]) -> dict[str, Any]:
    """Return means with 95 % intervals, and those of the paired differences."""
    facts: dict[str, Any] = {"set": name, "measure": kind, "seeds": len(found["ours"])}
    for who, values in found.items():
        facts[who] = {"mean": float(np.mean(values)), "half_width": half_width(values)}
    for other in ("mlpack", "mlpack_best"):
        gap = np.subtract(found["ours"], found[other])
        facts[f"ours_minus_{other}"] = {"mean": float(gap.mean()), "half_width": half_width(gap)}
    return facts


def half_width(values: Any) -> float:
    n = len(values)
    return float(stats.t.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n))


def one(X: Any, low: Any, high: Any, seed: int, loss: Any) -> dict[str, float]:
    """Return the losses of one draw."""
    theirs = peer(X, pruned=False)
    return {
        "ours": loss(our_leaves(ours(X, low, high, seed))),
        "ours_fine_grid": loss(our_leaves(ours(X, low, high, seed, grid=1024))),
        "mlpack": loss(leaves_of(peer(X, pruned=True))),
        "mlpack_best": min(map(loss, path_of(theirs))),
        "mlpack_whole": loss(leaves_of(theirs)),
    }


def run(seeds: int, n: int) -> list[dict[str, Any]]:
    rows = []
    for name, law in generated().items():
        found: dict[str, list[float]] = {}
        for seed in range(seeds):
            X = law.draw(n, np.random.default_rng(seed))
            for who, value in one(X, np.zeros(law.d), np.ones(law.d), seed, law.error).items():
                found.setdefault(who, []).append(value)
        rows.append(row(name, "integrated squared error", found))
    for name, (data, low, high) in real().items():
        found = {}
        for seed in range(seeds):
            order = np.random.default_rng(seed).permutation(len(data))
            train, test = np.split(data[order], [len(data) * 2 // 3])
            losses = one(train, low, high, seed, lambda leaves, test=test: held_out(leaves, test))
            for who, value in losses.items():
                found.setdefault(who, []).append(value)
        rows.append(row(name, "loss on held-out rows", found))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rows", type=int, default=2000, help="rows of a generated set")
    options = parser.parse_args()
    if find_spec("mlpack") is None:
        print("mlpack is not installed here; see make bench-tables")
        return
    rows = run(options.seeds, options.rows)
    columns = ["ours", "ours_fine_grid", "mlpack", "mlpack_best", "ours_minus_mlpack", "ours_minus_mlpack_best"]
    shown = [[r["set"], *(f"{r[c]['mean']:.3g} ± {r[c]['half_width']:.2g}" for c in columns)] for r in rows]
    show("Density trees: integrated squared error, or loss on held-out rows", ["set", *columns], shown)
    save("density_quality", {"rows": options.rows, "sets": rows}, "mlpack", "numpy", "scipy")


if __name__ == "__main__":
    main()
