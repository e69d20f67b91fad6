"""Refinement of a synopsis: named steps of post-processing, without a price.

A synopsis keeps its weights as they were drawn. Each step returns a new synopsis under the same promise, and its
guarantee lists what was done. The fit of a mixture needs k-means: `discreet.clustering.fit_mixture`. On the same grid
these steps moved the error of private k-means by up to nine times, more than the size of the grid did.
"""

import math
from dataclasses import replace

import numpy as np

from discreet.core import FloatArray, later
from discreet.errors import InvalidType
from discreet.synopses.boxes.consistency import least_squares, rate_of
from discreet.synopses.publishing import TYPICAL_OFFSET
from discreet.synopses.synopsis import Synopsis

special = later("scipy.special")

__all__ = ["consistent", "means", "project", "threshold"]

#: Where all rows lie along an axis: this share of them anywhere, the others as a Gaussian whose variance is so many
#: times that of the leaves' means (``benchmarks/tuning/places.py``). Rounds in which both are found.
ANYWHERE, INFLATED, _ROUNDS = 0.1, 1.5, 3
#: Least typical offset of a mean from its guess, in half widths: noise hides a smaller one.
LEAST_OFFSET = 0.02
#: The share of the rows that `threshold` keeps at least (``benchmarks/tuning/auto.py --section refine``): within noise
#: of the best value on grids, where tight clusters want less and strong noise wants more.
KEPT = 0.95


def consistent(synopsis: Synopsis) -> Synopsis:
    """Make leaves agree with the counts above them: weighted least squares over the tree.

    The tree's counts are used up, so doing this twice changes nothing more. Without a tree, the leaves are moved to add
    up to the better estimate of the total. A list of survivors (`Synopsis.hidden`) is incomplete and stays as it is.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.synopses import BoxSynopsis, refine
    >>> s = BoxSynopsis(dc.Domain.box(0, 1), lower=[[0], [0.5]], upper=[[0.5], [1]], weights=[10, 20],
    ...              variances=[2.0, 2.0], total=36, total_variance=2.0, guarantee=dc.Guarantee("central"))
    >>> refine.consistent(s).weights.tolist()
    [13.0, 23.0]
    """
    check_synopsis(synopsis)
    if "consistent" in synopsis.guarantee.parameters.get("refined", ()):
        return synopsis  # its counts are used up
    if synopsis.hidden is not None or not synopsis.n_leaves:
        return synopsis.replace(note="consistent: not applicable to a list of survivors")
    if synopsis.tree is not None and not np.isfinite(synopsis.tree.estimate).any():
        return synopsis.replace(note="consistent: no usable counts above the leaves")
    weights, variances = synopsis.weights.astype(np.float64), synopsis.variances
    if synopsis.tree is None:
        whole = variances.sum()
        share = variances / whole if whole > 0 else np.zeros_like(variances)
        gap = synopsis.total - weights.sum() if whole > 0 else 0.0
        spread = variances * (1 - share) + share**2 * min(synopsis.total_variance, float(whole))
        return synopsis.replace(weights=weights + share * gap, variances=spread, note="consistent")
    tree = synopsis.tree
    gaussian = synopsis.guarantee.parameters.get("noise") == "gaussian"
    x, V = least_squares(tree, weights, variances, gaussian=gaussian)
    order = np.flatnonzero(tree.leaf >= 0)[np.argsort(tree.leaf[tree.leaf >= 0])]
    spent = replace(tree, estimate=np.full(tree.n_nodes, np.nan), variance=np.full(tree.n_nodes, np.inf))
    return synopsis.replace(
        weights=x[order],
        variances=np.maximum(V[order], 0.0),
        total=float(x[0]),
        total_variance=max(float(V[0]), 0.0),
        tree=spent,
        note="consistent",
    )


def means(synopsis: Synopsis) -> Synopsis:
    """Shrink noisy means of leaves towards where rows of their box are likely, instead of to its middle.

    A mean of few rows is mostly noise, so it was shrunk to the middle of its box (`discreet.synopses.publishing`), a
    poor guess in a wide box. A better guess is the mean, inside the box, of a law along each axis: most rows as a
    Gaussian with the mean and the spread of the leaves that stand out of the noise, the others anywhere. How far that
    guess holds is fitted to the means themselves, and how far means lie from it is what they show beyond their noise
    (at most `TYPICAL_OFFSET`). A synopsis without means is returned as it is.
    """
    half = (synopsis.upper - synopsis.lower) / 2
    middle = synopsis.lower + half
    placed = np.isfinite(middle).all(axis=1) & (half > 0).all(axis=1)
    weights = synopsis.weights[placed].astype(np.float64)
    if not synopsis.has_means or not (synopsis.variances > 0).all() or not (weights > 0).any():
        return synopsis
    heavy = (weights > 2 * np.sqrt(synopsis.variances[placed])) | (weights >= weights.max())
    middle, half, span = middle[placed], half[placed], synopsis.domain.high - synopsis.domain.low
    noise = (synopsis.variances[placed] / np.maximum(weights, 1.0) ** 2)[:, np.newaxis]  # of a mean, in half widths
    kept = TYPICAL_OFFSET**2 / (TYPICAL_OFFSET**2 + noise)
    drawn = (synopsis.points[placed] - middle) / kept  # before it was shrunk, but for what was clamped
    known = kept / half**2  # one over the variance of a mean, that of the rows' own place included, but for a factor
    points, share = synopsis.points[placed], weights[heavy] / weights[heavy].sum()
    for _ in range(_ROUNDS):
        center = share @ points[heavy]
        spread = np.sqrt(INFLATED * (share @ (points[heavy] - center) ** 2) + (1e-3 * span) ** 2)
        guess = _likely((middle - half - center) / spread, (middle + half - center) / spread, span / spread)
        guess = center + spread * guess - middle
        holds = (known * drawn * guess).sum(axis=0) / np.maximum((known * guess**2).sum(axis=0), 1e-12)
        guess *= np.clip(holds, 0.0, 1.0)
        seen = float(share @ (((drawn - guess) / half) ** 2 - noise)[heavy].mean(axis=1))
        typical = min(max(seen, LEAST_OFFSET**2), TYPICAL_OFFSET**2)
        kept = typical / (typical + noise)
        points = middle + np.clip(guess + kept * (drawn - guess), -half, half)
    moved = synopsis.points.copy()
    moved[placed] = points
    return synopsis.replace(points=moved, note="means")


def _likely(low: FloatArray, high: FloatArray, span: FloatArray) -> FloatArray:
    """Return the mean, between two ends, of a standard Gaussian mixed with rows that lie anywhere on a span."""
    # From the nearer tail: a difference of two numbers next to 1 has no digits left.
    inside = (1 - ANYWHERE) * np.where(
        low > 0, special.ndtr(-low) - special.ndtr(-high), special.ndtr(high) - special.ndtr(low)
    )
    pulled = (1 - ANYWHERE) * (np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)) / math.sqrt(2 * math.pi)
    even = ANYWHERE * (high - low) / span
    out: FloatArray = (pulled + even * (low + high) / 2) / (inside + even)
    return out


def project(synopsis: Synopsis) -> Synopsis:
    """Find the nearest non-negative weights that add up to the estimated number of rows.

    Minimises Σ (w - y)²/s over w >= 0, Σ w = `Synopsis.total`. Setting negative weights to zero instead would invent
    E[max(Z, 0)] rows in every empty leaf. In a grid that lists survivors only, the hidden cells would be zero as well
    if λ s exceeds the cutoff; then the result is that of the whole grid. Otherwise survivors are scaled to the total.
    """
    weights, note = projected_weights(synopsis)
    return synopsis.replace(weights=weights, note=note)


def projected_weights(synopsis: Synopsis) -> tuple[FloatArray, str]:
    """Return the weights of `project`, and a note that says how they were found."""
    check_synopsis(synopsis)
    y, total = synopsis.weights.astype(np.float64), synopsis.total
    if synopsis.hidden is None:
        return nearest_weights(y, synopsis.variances, total)[0], "project"
    weights, shift = nearest_weights(y, np.ones_like(y), total)  # all counts have the same noise, so λ is in rows
    if y.sum() >= total and shift >= synopsis.hidden.cutoff:
        return weights, "project"
    return scaled(np.maximum(y, 0.0), total), "project: survivors scaled to the total"


def nearest_weights(y: FloatArray, s: FloatArray, total: float) -> tuple[FloatArray, float]:
    """Return w = max(0, y - λ s) with Σ w = total, and λ.

    Weights without noise (s = 0) stay, as far as they are positive; with none but those, all are scaled.
    """
    if total <= 0 or not y.size:
        return np.zeros_like(y), math.inf
    exact = s <= 0
    if exact.any():
        fixed = np.where(exact, np.maximum(y, 0.0), 0.0)
        if exact.all() or fixed.sum() >= total:
            return scaled(fixed, total), 0.0
        fixed[~exact], shift = nearest_weights(y[~exact], s[~exact], total - float(fixed.sum()))
        return fixed, shift
    order = np.argsort(-(y / s), kind="stable")
    shifts = (np.cumsum(y[order]) - total) / np.cumsum(s[order])
    last = int(np.flatnonzero(y[order] / s[order] > shifts)[-1])
    shift = float(shifts[last])
    return np.maximum(y - shift * s, 0.0), shift


def scaled(weights: FloatArray, total: float) -> FloatArray:
    """Scale weights to a total; all zero stays all zero."""
    present = float(weights.sum())
    return weights * (max(total, 0.0) / present) if present > 0 else weights


def threshold(synopsis: Synopsis) -> Synopsis:
    """Drop the leaves whose weight noise alone explains: their weight becomes 0.

    Cuts at ln(cells)/ε of each leaf's noise, which among empty leaves only about one in the whole synopsis exceeds. The
    cut is lowered where it would drop too many rows: the leaves that stay hold at least `KEPT` of the estimated total.
    """
    check_synopsis(synopsis)
    y = synopsis.weights.astype(np.float64)
    limit = np.minimum(noise_cut(synopsis), share_cut(synopsis, KEPT))
    kept = np.where((y > 0) & (y >= limit), y, 0.0)
    return synopsis.replace(weights=kept, note=f"threshold: ln(cells)/epsilon, at least {KEPT:g} of the rows kept")


def noise_cut(synopsis: Synopsis) -> FloatArray:
    """Return ln(cells)/ε for each leaf, ε that of a count with the leaf's noise variance."""
    cells = synopsis.n_leaves if synopsis.hidden is None else synopsis.hidden.n_cells
    levels, which = np.unique(synopsis.variances, return_inverse=True)
    each = np.array([math.log(max(cells, 1)) / rate_of(float(v)) for v in levels])
    return each[which] if len(levels) else np.empty(0)


def share_cut(synopsis: Synopsis, share: float) -> float:
    """Return the largest weight at which the leaves of at least that weight hold a share of the total."""
    heaviest = np.sort(synopsis.weights.astype(np.float64))[::-1]
    enough = np.flatnonzero(np.cumsum(heaviest) >= share * synopsis.total)
    return max(float(heaviest[enough[0]]), 0.0) if enough.size else 0.0


def check_synopsis(synopsis: object) -> None:
    """Refuse what is not a synopsis."""
    if not isinstance(synopsis, Synopsis):
        raise InvalidType("synopsis", type(synopsis).__name__, "a Synopsis", "GridSynopsis(...).fit(data).synopsis_")
