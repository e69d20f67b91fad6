"""Weighted least squares over a tree: every noisy count above the leaves helps to estimate the leaves.

The estimates with the smallest variance that add up exactly follow from two linear passes (Hay et al. 2010 for equal
variances; any fan-out and any variances here):

    up:    Z = Σ z_u and T = Σ t_u over the children; z = (y/s + Z/T) / (1/s + 1/T), t = 1 / (1/s + 1/T) down:  x_u =
    z_u + (t_u/T) (x - Z),  V_u = t_u - t_u²/T + (t_u/T)² V

A count that let the tree go on is biased, E[c | split] = n + E[Z | Z >= T + 1 - n]. It is lowered by that bias at n =
Z, the estimate from the nodes below, whose noise is independent of c.
"""

import math

import numpy as np

from discreet.core import FloatArray, IntArray
from discreet.noise.integer import DiscreteGaussian, DiscreteLaplace
from discreet.synopses.boxes.tables import TreeTable


def rate_of(variance: float) -> float:
    """Return the ε at which discrete Laplace noise on a count has this variance; inf for 0.

    The variance is 2α/(1-α)² = 1/(2 sinh²(ε/2)).
    """
    return 2 * math.asinh(1 / math.sqrt(2 * variance)) if variance > 0 else math.inf


def least_squares(
    tree: TreeTable, weights: FloatArray, variances: FloatArray, *, gaussian: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Return the consistent estimate of every node and its variance.

    ``weights`` and ``variances`` are those of the leaves; ``gaussian`` says that tests had Gaussian noise. Of the nodes
    that were cut, those with an estimate take part; a leaf's own stop count does not.
    """
    n = tree.n_nodes
    leaf = tree.leaf >= 0
    z, t = np.zeros(n), np.zeros(n)
    z[leaf], t[leaf] = weights[tree.leaf[leaf]], variances[tree.leaf[leaf]]
    below, below_variance = np.zeros(n), np.zeros(n)
    levels = [np.flatnonzero(tree.depth == depth) for depth in range(tree.height + 1)]
    for nodes in reversed(levels):
        cut = nodes[~leaf[nodes]]
        y, s = _corrected(tree, cut, below[cut], gaussian), _usable_variance(tree, cut)
        gain = _ratio(below_variance[cut], below_variance[cut] + s)
        z[cut] = below[cut] + gain * (np.where(gain > 0, y, below[cut]) - below[cut])
        t[cut] = (1 - gain) * below_variance[cut]
        parents = tree.parent[nodes]
        if nodes[0] > 0:
            np.add.at(below, parents, z[nodes])
            np.add.at(below_variance, parents, t[nodes])
    x, V = z.copy(), t.copy()
    for nodes in levels[1:]:
        parents = tree.parent[nodes]
        share = _ratio(t[nodes], below_variance[parents])
        x[nodes] = z[nodes] + share * (x[parents] - below[parents])
        V[nodes] = t[nodes] * (1 - share) + share**2 * V[parents]
    return x, V


def _usable_variance(tree: TreeTable, nodes: IntArray) -> FloatArray:
    return np.where(np.isfinite(tree.estimate[nodes]), tree.variance[nodes], np.inf)


def _corrected(tree: TreeTable, nodes: IntArray, expected: FloatArray, gaussian: bool) -> FloatArray:
    """Return the estimates of nodes without the bias of having been found above their threshold."""
    y = tree.estimate[nodes].copy()
    tested = np.isfinite(y) & np.isfinite(tree.threshold[nodes]) & np.isfinite(tree.variance[nodes])
    for variance in np.unique(tree.variance[nodes][tested]):
        same = tested & (tree.variance[nodes] == variance)
        rate = rate_of(float(variance))
        law: DiscreteLaplace | DiscreteGaussian = DiscreteLaplace(1 / rate if math.isfinite(rate) else 0)
        if gaussian and variance > 0:
            law = DiscreteGaussian(math.sqrt(variance))
        # The count is whole and exceeds the threshold: Z >= floor(T) + 1 - n, with n at least 0.
        least = np.floor(tree.threshold[nodes][same]) + 1 - np.maximum(np.rint(expected[same]), 0)
        y[same] -= law.mean_above(least)
    return y


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return part / whole, 0 where the whole is 0 (no noise at all) or infinite."""
    safe = np.where((whole > 0) & np.isfinite(whole), whole, 1.0)
    return np.where((whole > 0) & np.isfinite(whole), part / safe, 0.0)
