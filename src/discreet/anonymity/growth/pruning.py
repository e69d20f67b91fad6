"""Pruning: merge leaves whose densities differ too little to pay for another leaf.

The error of a tree is R(T) = -Σ (c/N)²/V over its leaves. With a price α per leaf, the best subtree is found by
collapsing the weakest link, the node with the smallest g(t) = (R(t) - R(T_t))/(leaves - 1). The price is chosen by
least-squares cross-validation: the smallest J(α) = ∫ f² - (2/N) Σ f(x) with f grown without the fold of x. Merging
leaves keeps k, l and t.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import noise
from discreet.anonymity.growth.grid import Bins
from discreet.anonymity.growth.grow import GrownTree, grow_tree
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.risk.coded import CodedColumn
from discreet.core import FloatArray, IntArray, in_order, jit

FOLDS = 10


@dataclass(frozen=True)
class Path:
    """The subtrees of a tree that are best at some price: number i from ``alpha[i]`` on.

    ``error`` is R(T), ``score`` the sum of the held-out densities over the leaves. ``collapsed`` is the first subtree
    in which a node is a leaf.
    """

    alpha: FloatArray
    error: FloatArray
    leaves: IntArray
    score: FloatArray
    collapsed: IntArray

    def at(self, price: FloatArray) -> IntArray:
        return np.searchsorted(self.alpha, price, side="right") - 1


def pruning_path(tree: Tree, counts: IntArray, held_out: IntArray | None = None) -> Path:
    """Collapse weakest links until the root is left.

    ``counts`` are records by node, ``held_out`` held-out records by node; a leaf scores held_out · count/(N · volume).
    """
    n = max(int(counts[0]), 1)
    volumes = tree.volumes()
    density = counts / (n * volumes)
    inner = np.flatnonzero(tree.column >= 0)
    gain = np.zeros(tree.n_nodes)
    # R(t) - R(left) - R(right) = δ²/(N² V r_L r_R), which loses no digits (identity I2).
    share = volumes[inner + 1] / volumes[inner]
    gap = counts[inner + 1] - share * counts[inner]
    gain[inner] = gap * gap / (float(n) ** 2 * volumes[inner] * share * (1 - share))
    scores = density * (held_out if held_out is not None else np.zeros(tree.n_nodes))
    steps, collapsed = _path(tree.column, tree.right, tree.parent, gain, scores)
    alpha, gained, leaves, score = steps.T
    error = -float(density[0] * counts[0] / n) - gained
    return Path(alpha, error, leaves.astype(np.int64), score, collapsed)


def prune(
    grown: GrownTree, bins: Bins, *, sensitive: IntArray | None = None, target: CodedColumn | None = None,
    folds: int = FOLDS, random_state: Any = None, **settings: Any,
) -> GrownTree:  # fmt: skip
    """Prune a grown tree at the price that cross-validation finds best; of equal ones, the one with fewer leaves.

    ``settings`` are further arguments of `grow_tree`. ``random_state`` shuffles the records into folds.
    """
    n = bins.shape[1]
    turn = np.argsort(noise.below(2**62, size=n, rng=noise.generator(random_state, "random_state")), kind="stable")
    fold = np.empty(n, np.int64)
    fold[turn] = np.arange(n) % folds

    def one(number: int) -> Path:
        kept, out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        codes = None if sensitive is None else sensitive[:, kept]
        label = None if target is None else target.take(kept)
        own = bins.take(kept, axis=1)
        part = grow_tree(own, grown.tree.grids, sensitive=codes, target=label, threads=False, **settings)
        tested = np.bincount(part.tree.route(bins.take(out, axis=1)), minlength=part.tree.n_nodes)
        return pruning_path(part.tree, part.counts, part.tree.totals(tested))

    path = pruning_path(grown.tree, grown.counts)
    chosen = choose_price(path, list(in_order(one, range(min(folds, n)))), n)
    tree, _ = grown.tree.collapsed(np.flatnonzero(path.collapsed <= chosen))
    leaf = tree.route(bins)
    return GrownTree(tree, tree.totals(np.bincount(leaf, minlength=tree.n_nodes)), leaf)


def choose_price(path: Path, folds: list[Path], n: int) -> int:
    return int(len(path.alpha) - 1 - np.argmin(risks(path, folds, n)[::-1]))


def risks(path: Path, folds: list[Path], n: int) -> FloatArray:
    """Return J of every subtree: -R(T_i) - (2/N) Σ of the folds' scores at a price inside its range."""
    price = np.empty(len(path.alpha))
    price[1:-1] = np.sqrt(path.alpha[1:-1]) * np.sqrt(path.alpha[2:])
    price[0] = path.alpha[min(1, len(path.alpha) - 1)] / 2
    price[-1] = 2 * path.alpha[-1]
    held = np.zeros(len(price))
    for part in folds:
        held += part.score[part.at(price)]
    found: FloatArray = -path.error - 2 / n * held
    return found


@jit
def _path(column: Any, right: Any, parent: Any, gain: Any, score: Any) -> Any:
    """Collapse weakest links. Every node knows the smallest g below it, so that each is found from the root."""
    n = column.size
    gained, leaves, held = gain.copy(), np.ones(n, np.int64), score.copy()
    link, weakest = np.full(n, np.inf), np.full(n, np.inf)
    collapsed = np.full(n, n + 1)
    leaf = column < 0
    for t in range(n - 1, -1, -1):
        if not leaf[t]:
            a, b = t + 1, right[t]
            gained[t] += gained[a] + gained[b]
            leaves[t] = leaves[a] + leaves[b]
            held[t] = held[a] + held[b]
            link[t] = gained[t] / (leaves[t] - 1)
            weakest[t] = min(link[t], min(weakest[a], weakest[b]))
    steps = np.empty((n // 2 + 2, 4))
    alpha, n_steps = 0.0, 0
    while True:
        if leaf[0] or weakest[0] > alpha * (1.0 + 1e-12):
            steps[n_steps, 0], steps[n_steps, 1], steps[n_steps, 2] = alpha, gained[0], leaves[0]
            steps[n_steps, 3] = held[0]
            n_steps += 1
            if leaf[0]:
                break
            alpha = weakest[0]
        t = 0
        while link[t] > weakest[t]:  # the top-most of equal ones
            t = t + 1 if weakest[t + 1] <= weakest[right[t]] else right[t]
        leaf[t] = True
        collapsed[t] = n_steps
        lost, fewer, change = gained[t], leaves[t] - 1, score[t] - held[t]
        link[t], weakest[t] = np.inf, np.inf
        while t >= 0:
            gained[t] = max(gained[t] - lost, 0.0)
            leaves[t] -= fewer
            held[t] += change
            if not leaf[t]:
                link[t] = gained[t] / (leaves[t] - 1)
                weakest[t] = min(link[t], min(weakest[t + 1], weakest[right[t]]))
            t = parent[t]
    return steps[:n_steps], collapsed
