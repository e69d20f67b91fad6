"""The loops of the denoising mixture: responsibilities, sums for the next step, and draws of the true records.

A record is z = x + sqrt(v) g with g standard normal and v one of a few nodes of the law's scale; x comes from one of K
Gaussians. Given component and node, z is Gaussian with covariance "component + v·identity", which is diagonal in the
component's own axes whatever v is: one rotation serves all nodes.
"""

import numpy as np

from discreet.core import FloatArray, inlined, jit

#: Shares below this are left out of the sums: they cost time and move nothing.
_TINY = 1e-5
#: Logarithms so far below the largest are not worth an exponential: e^-14 is below `_TINY`.
_FAR = 14.0


@jit
def tables(log_weights: FloatArray, spreads: FloatArray, nodes: FloatArray, log_nodes: FloatArray) -> FloatArray:
    """Return log(weight of component · weight of node · normaliser of the Gaussian), by component and node."""
    k, d = spreads.shape
    out = np.empty((k, nodes.size))
    for j in range(k):
        for m in range(nodes.size):
            total = 0.0
            for a in range(d):
                total += np.log(spreads[j, a] + nodes[m])
            out[j, m] = log_weights[j] + log_nodes[m] - 0.5 * total - 0.5 * d * np.log(2.0 * np.pi)
    return out


@inlined
def _terms(
    z: FloatArray,
    i: int,
    means: FloatArray,
    axes: FloatArray,
    precision: FloatArray,
    table: FloatArray,
    turned: FloatArray,
    terms: FloatArray,
) -> float:
    """Fill ``turned`` (offset in each component's axes) and ``terms`` (shares of component and node); log density."""
    k, d = means.shape
    highest = -np.inf
    for j in range(k):
        for a in range(d):
            total = 0.0
            for b in range(d):
                total += axes[j, b, a] * (z[i, b] - means[j, b])
            turned[j, a] = total
        for m in range(table.shape[1]):
            total = 0.0
            for a in range(d):
                total += turned[j, a] * turned[j, a] * precision[j, m, a]
            terms[j, m] = table[j, m] - 0.5 * total
            highest = max(highest, terms[j, m])
    mass = 0.0
    for j in range(k):
        for m in range(table.shape[1]):
            terms[j, m] = np.exp(terms[j, m] - highest) if terms[j, m] > highest - _FAR else 0.0
            mass += terms[j, m]
    for j in range(k):
        for m in range(table.shape[1]):
            terms[j, m] /= mass
    return float(highest + np.log(mass))


@jit
def sums(
    z: FloatArray,
    means: FloatArray,
    axes: FloatArray,
    precision: FloatArray,
    table: FloatArray,
    nodes: FloatArray,
) -> tuple[float, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the log likelihood and, by component, what the next step needs, in the component's own axes.

    The mass; pull and weight of the mean (sums of share·precision·offset and share·precision); and for the covariance
    the sums of share·precision_a·precision_b·(offset_a offset_b - v on the diagonal) and of share·precision_a·
    precision_b, of which the lower triangles are filled.
    """
    k, d = means.shape
    n_nodes = nodes.size
    mass, pull, weight = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    square, per_square = np.zeros((k, d, d)), np.zeros((k, d, d))
    turned, terms = np.empty((k, d)), np.empty((k, n_nodes))
    total = 0.0
    for i in range(z.shape[0]):
        total += _terms(z, i, means, axes, precision, table, turned, terms)
        for j in range(k):
            for m in range(n_nodes):
                share = terms[j, m]
                if share < _TINY:
                    continue
                mass[j] += share
                for a in range(d):
                    p = share * precision[j, m, a]
                    pull[j, a] += p * turned[j, a]
                    weight[j, a] += p
                    square[j, a, a] += p * precision[j, m, a] * (turned[j, a] * turned[j, a] - nodes[m])
                    per_square[j, a, a] += p * precision[j, m, a]
                    for b in range(a):
                        pp = p * precision[j, m, b]
                        square[j, a, b] += pp * turned[j, a] * turned[j, b]
                        per_square[j, a, b] += pp
    return total, mass, pull, weight, square, per_square


@jit
def round_sums(
    z: FloatArray, means: FloatArray, variances: FloatArray, table: FloatArray, nodes: FloatArray
) -> tuple[float, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return what `sums` does for round components (one variance each), of which only the distance matters.

    Pull and weight are by component; the last two are traces: one number a component.
    """
    k, d = means.shape
    n_nodes = nodes.size
    mass, pull, weight = np.zeros(k), np.zeros((k, d)), np.zeros(k)
    square, per_square = np.zeros(k), np.zeros(k)
    precision, terms, gaps = np.empty((k, n_nodes)), np.empty((k, n_nodes)), np.empty(k)
    for j in range(k):
        for m in range(n_nodes):
            precision[j, m] = 1.0 / (variances[j] + nodes[m])
    total = 0.0
    for i in range(z.shape[0]):
        highest = -np.inf
        for j in range(k):
            gap = 0.0
            for b in range(d):
                gap += (z[i, b] - means[j, b]) ** 2
            gaps[j] = gap
            for m in range(n_nodes):
                terms[j, m] = table[j, m] - 0.5 * gap * precision[j, m]
                highest = max(highest, terms[j, m])
        whole = 0.0
        for j in range(k):
            for m in range(n_nodes):
                terms[j, m] = np.exp(terms[j, m] - highest) if terms[j, m] > highest - _FAR else 0.0
                whole += terms[j, m]
        total += highest + np.log(whole)
        for j in range(k):
            first = 0.0
            for m in range(n_nodes):
                share = terms[j, m] / whole
                if share < _TINY:
                    continue
                p = share * precision[j, m]
                mass[j] += share
                first += p
                square[j] += p * precision[j, m] * (gaps[j] - d * nodes[m])
                per_square[j] += p * precision[j, m] * d
            weight[j] += first
            for b in range(d):
                pull[j, b] += first * (z[i, b] - means[j, b])
    return total, mass, pull, weight, square, per_square


@jit
def posterior_draws(
    z: FloatArray,
    means: FloatArray,
    axes: FloatArray,
    spreads: FloatArray,
    precision: FloatArray,
    table: FloatArray,
    nodes: FloatArray,
    uniforms: FloatArray,
    normals: FloatArray,
) -> FloatArray:
    """Draw true records given the noisy ones: component and node by their shares, then a Gaussian in its axes.

    ``uniforms`` has one row per record and one column per draw, ``normals`` one more axis, for the columns.
    """
    k, d = means.shape
    n, n_draws = uniforms.shape
    out = np.empty((n, n_draws, d))
    turned, terms = np.empty((k, d)), np.empty((k, nodes.size))
    cumulative = np.empty(k * nodes.size)
    for i in range(n):
        _terms(z, i, means, axes, precision, table, turned, terms)
        total = 0.0
        for j in range(k):
            for m in range(nodes.size):
                total += terms[j, m]
                cumulative[j * nodes.size + m] = total
        for r in range(n_draws):
            found = min(int(np.searchsorted(cumulative, uniforms[i, r] * total, side="right")), cumulative.size - 1)
            j, m = found // nodes.size, found % nodes.size
            for b in range(d):
                out[i, r, b] = means[j, b]
            for a in range(d):
                gain = spreads[j, a] * precision[j, m, a]
                step = gain * turned[j, a] + np.sqrt(gain * nodes[m]) * normals[i, r, a]
                for b in range(d):
                    out[i, r, b] += axes[j, b, a] * step
    return out
