"""From noisy moments to coefficients and intervals. Post-processing throughout.

Noise on X'X is noise on an equation, (X'X) θ = X'y, whose variance is known. So coefficients are the mean of a normal
posterior, averaged over prior widths by their likelihood, near what the noisy variance of y allows. Intervals need no
prior: they hold every value that the equation, with its noise, does not contradict (Fieller 1954).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.core import BoolArray, FloatArray, later
from discreet.models.moments import Moments
from discreet.synopses.queries import wide

special = later("scipy.special")
#: Prior variance of the mean of a column in -1..1.
MEAN_PRIOR = 0.1
#: Prior widths that are tried, in powers of 2 of what the variance of y allows; the likeliest beforehand is 0.
WIDTHS, SPREAD = np.arange(-6.0, 2.1, 0.5), 0.5 / math.log(2)
#: Standard errors that an eigenvalue of a noisy scatter matrix is off by; chosen on generated tables.
OFF = 4.0
#: The least residual variance, in squares of half a range.
LEAST_RESIDUAL = 1e-6
MOST_CHANGE = 1.0


@dataclass(frozen=True, eq=False)
class Centred:
    """Means and centred sums of squares of features in -1..1, with the variances of their noise.

    ``scatter`` is shrunk: its diagonal towards its mean, the rest towards 0, by how far both exceed their noise.
    """

    n: float
    means: FloatArray
    scatter: FloatArray
    variances: FloatArray
    last: FloatArray
    last_variances: FloatArray

    @property
    def spread(self) -> FloatArray:
        """The covariances of features, with the intercept first, which has none."""
        return np.pad(self.scatter / self.n, ((1, 0), (1, 0)))


def centred(moments: Moments, last: bool = True) -> Centred:
    """Centre noisy moments; with ``last`` the last column is the target, kept apart and not shrunk."""
    M, W = moments.matrix, moments.variances
    n = max(float(M[0, 0]), 1.0)
    means = _means(moments, n)
    C = M - n * np.outer(means, means)
    V = W + np.outer(means**2, W[0]) + np.outer(W[0], means**2)
    x = slice(1, len(M) - 1 if last else len(M))
    scatter, spread = _shrunk(C[x, x], V[x, x])
    return Centred(n, means, scatter, spread, C[1:, -1], V[1:, -1])


def _means(moments: Moments, n: float) -> FloatArray:
    """Return the means of features, that of the intercept first.

    A sum of products is n times a covariance and n times two means. So where covariances, whose size the products
    themselves show, are small against the noise, all products of a column inform about its mean, not only its sum.
    """
    M, W = moments.matrix, np.maximum(moments.variances, 1e-12)
    seen = (moments.design.places >= 0) & ~np.eye(len(M), dtype=bool)
    inner = seen.copy()
    inner[0] = inner[:, 0] = False
    means = np.append(1.0, M[0, 1:] / n * MEAN_PRIOR / (MEAN_PRIOR + W[0, 1:] / n**2))
    for _ in range(10):
        rest = (M - n * np.outer(means, means))[inner]
        spread = max(float((rest**2 - W[inner]).mean()), 0.0) if len(rest) else 0.0
        weight = n * means * np.where(seen, 1 / (W + spread * inner), 0.0)
        found = (weight * M).sum(axis=1) / (weight @ (n * means) + 1 / MEAN_PRIOR)
        means[1:] = (means[1:] + np.clip(found[1:], -1, 1)) / 2
    return means


def _shrunk(C: FloatArray, V: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shrink a noisy scatter matrix, and move it to the nearest one without negative eigenvalues."""
    size, own, noise = len(C), np.diag(C), np.diag(V)
    rest = ~np.eye(size, dtype=bool)
    middle = max(float(own.mean()), math.sqrt(float(noise.mean()) / size), 1e-9)
    keep = _kept(float(noise.mean()), float(((own - middle) ** 2).mean())) if size > 1 else 1.0
    share = _kept(float(V[rest].mean()), float((C[rest] ** 2).mean())) if size > 1 else 1.0
    out, spread = share * C, share * V
    np.fill_diagonal(out, middle + keep * (own - middle))
    np.fill_diagonal(spread, keep * noise + (1 - keep) * noise.mean() / size)
    return positive(out), spread


def _kept(noise: float, seen: float) -> float:
    return 1.0 if not noise else max(0.0, 1 - noise / max(seen, 1e-300))


def positive(matrix: FloatArray) -> FloatArray:
    """Return the nearest symmetric matrix without negative eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T, np.float64)


def slopes(found: Centred) -> tuple[FloatArray, float]:
    """Return regularised slopes of the last column on the others, and the residual variance."""
    V, b, noise = found.variances, found.last[:-1], found.last_variances[:-1]
    C = _lifted(found.scatter, OFF * math.sqrt(float(noise.mean())))
    whole, n, p = float(found.last[-1]), found.n, len(found.last) - 1
    ceiling = max(whole / n, LEAST_RESIDUAL)
    allowed = max(whole, math.sqrt(float(found.last_variances[-1])), LEAST_RESIDUAL * n)
    width = min(math.sqrt(allowed / max(float(np.trace(C)), 1e-9)), 2 / math.sqrt(p))
    likely, made, residual = np.empty(len(WIDTHS)), np.empty((len(WIDTHS), p)), np.empty(len(WIDTHS))
    for i, power in enumerate(WIDTHS):
        prior, left = (width * 2.0**power) ** 2, ceiling
        error = noise + prior * V.sum(axis=1)
        for _ in range(2):
            made[i], likely[i] = _posterior(C, b, np.diag(error) + left * C, prior)
            left = float(np.clip((whole - 2 * b @ made[i] + made[i] @ C @ made[i]) / n, LEAST_RESIDUAL, ceiling))
        residual[i] = left
    likely -= (WIDTHS / SPREAD) ** 2 / 2
    share = np.exp(likely - likely.max())
    share /= share.sum()
    return share @ made, float(share @ residual)


def _lifted(matrix: FloatArray, error: float) -> FloatArray:
    """Return a matrix whose eigenvalues are the means of what they can have been: normal around them, above 0."""
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, 0.0)
    if error:
        x = values / error
        values = values + error * np.exp(-(x**2) / 2 - math.log(2 * math.pi) / 2 - special.log_ndtr(x))
    return np.asarray((vectors * values) @ vectors.T, np.float64)


def _posterior(A: FloatArray, b: FloatArray, error: FloatArray, prior: float) -> tuple[FloatArray, float]:
    """Return the posterior mean of θ in b = Aθ + error, with θ normal of variance ``prior``, and the log-likelihood."""
    total = prior * A @ A.T + error
    total[np.diag_indices(len(b))] += 1e-12 * (1 + np.trace(total))
    solved = np.linalg.solve(total, b)
    return prior * A.T @ solved, -0.5 * float(np.linalg.slogdet(total)[1] + b @ solved)


def step(H: FloatArray, gradient: FloatArray, variance: float, width: float, second: FloatArray) -> FloatArray:
    """Return a Newton step with noise: shrunk to 0 as far as the gradient does not exceed its noise.

    ``second`` are mean products of features: by them, margins change by at most `MOST_CHANGE` in root mean square, as
    far as a Hessian can be trusted.
    """
    error = variance * np.eye(len(H)) + H
    found = [_posterior(H, gradient, error, (width * 2.0**power) ** 2) for power in WIDTHS]
    likely = [each[1] - (power / SPREAD) ** 2 / 2 / 16 for each, power in zip(found, WIDTHS, strict=True)]
    made = found[int(np.argmax(likely))][0]
    change = math.sqrt(max(float(made @ second @ made), 0.0))
    return made * min(1.0, MOST_CHANGE / max(change, 1e-300))


def solver(A: FloatArray, contrasts: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the inverse of a symmetric matrix where it has one, and which contrasts it leaves open."""
    inverse = np.asarray(np.linalg.pinv(A, 1e-12, hermitian=True), np.float64)
    rest = np.abs(contrasts - contrasts @ A @ inverse).max(axis=1)
    return inverse, np.asarray(rest > 1e-4 * np.abs(contrasts).max(axis=1), np.bool_)


def intervals(moments: Moments, residual: float, level: float, contrasts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends of intervals of sums a'θ, one for each row a of ``contrasts``; infinite where they are hidden.

    For the right θ, intercept included, the vector b - Aθ has mean 0. Its variance is that of the residuals, σ²A, and
    of the noise, which is a quadratic in θ. The interval of a'θ holds the values t for which (a'A⁻¹b - t)² is at most
    z² times that variance along A⁻¹a; θ follows t as covariances say. That is a quadratic inequality in t.
    """
    M, k, z = moments.matrix, len(moments.matrix) - 1, wide(level) ** 2
    A, b = M[:k, :k], M[:k, k]
    inverse, unseen = solver(A, contrasts)
    theta, sampling = inverse @ b, residual * positive(A)
    whole = np.append(theta, -1.0)
    rows = np.array([moments.weights(each, whole) for each in np.eye(k + 1)[:k]])
    cover = inverse @ (sampling + moments.variance * rows @ rows.T) @ inverse
    low, high = np.full(len(contrasts), -math.inf), np.full(len(contrasts), math.inf)
    for i, a in enumerate(contrasts):
        w, spread = inverse @ a, float(a @ cover @ a)
        along = np.append(cover @ a / max(spread, 1e-300), 0.0)
        first, second = (moments.weights(np.append(w, 0.0), each) for each in (whole, along))
        fixed = float(w @ sampling @ w) + moments.variance * float(first @ first)
        slope, curve = moments.variance * float(first @ second), moments.variance * float(second @ second)
        quadratic, linear = 1 - z * curve, -z * slope  # quadratic t² + 2 linear t - z fixed <= 0
        if quadratic > 0 and not unseen[i]:
            reach = math.sqrt(linear**2 + quadratic * z * fixed)
            low[i], high[i] = a @ theta + (np.array([-reach, reach]) - linear) / quadratic
    return low, high
