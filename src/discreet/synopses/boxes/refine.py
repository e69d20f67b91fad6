"""Refinement of a synopsis: named steps of post-processing, without a price.

A synopsis keeps its weights as they were drawn. Before they are used, noise that can be recognised as noise is taken
out: `consistent` uses the counts that a tree drew on its way, `means` what all leaves say of where rows are, `project`
finds the nearest weights that could be counts, `threshold` drops leaves that noise alone explains. All return a new
synopsis under the same promise, and its guarantee lists what was done. (The fit of a mixture needs k-means:
`discreet.clustering.fit_mixture`.)

On the same grid these choices moved the error of private k-means by up to nine times, more than the size of the grid
did.
"""

import math
from dataclasses import replace

import numpy as np

from discreet.core import FloatArray, checks, later
from discreet.errors import InvalidArgument
from discreet.synopses.boxes.consistency import least_squares, rate_of
from discreet.synopses.boxes.projection import check_synopsis, projected_weights
from discreet.synopses.publishing import TYPICAL_OFFSET
from discreet.synopses.synopsis import Synopsis

special = later("scipy.special")

__all__ = ["consistent", "means", "project", "threshold"]

#: Where all rows lie along an axis: this share of them anywhere, the others as a Gaussian whose variance is so many
#: times that of the leaves' means (``benchmarks/tuning/places.py``). Rounds in which both are found.
ANYWHERE, INFLATED, _ROUNDS = 0.1, 1.5, 3


def consistent(synopsis: Synopsis) -> Synopsis:
    """Make leaves agree with the counts above them: weighted least squares over the tree.

    Leaf weights become the linear unbiased estimates of smallest variance given all usable counts of the tree, and
    their variances shrink accordingly. Stop counts are used where a node was cut, without the bias of having been found
    large. Without a tree, the leaves are moved to add up to the better estimate of the total. A list of survivors
    (`Synopsis.hidden`) is incomplete, so nothing can be inferred from its sum: it stays as it is.

    Parameters
    ----------
    synopsis : Synopsis
        With weights as drawn. The tree's counts are used up: in the result they are missing, so doing this twice
        changes nothing more.

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


def means(synopsis: Synopsis, anywhere: float = ANYWHERE, inflated: float = INFLATED) -> Synopsis:
    """Shrink noisy means of leaves towards where rows of their box are likely, instead of to its middle.

    A leaf of few rows publishes a mean that is mostly noise, so it was shrunk to the middle of its box
    (`discreet.synopses.publishing`). Declared bounds are wide, and the middle of a wide box is a poor guess of where
    its rows are. Where all rows are is known better, along each axis: most of them as a Gaussian with the mean and the
    spread of the leaves that stand out of the noise, the others anywhere. The guess is the mean of that law inside the
    box: near the mean of all rows where they are close together, in the middle where they are not, or where the box is
    far away. How far that guess holds, between it and the middle, is fitted along each axis to the means themselves,
    which mostly heavy leaves tell. How far a mean is shrunk stays as it was.

    Parameters
    ----------
    synopsis : Synopsis
        With means of leaves as they were published; without, it is returned as it is.
    anywhere : float, default 0.1
        The share of rows that lie anywhere.
    inflated : float, default 1.5
        The variance of the others, in units of that of the leaves' means.

    Privacy
    -------
    Post-processing of released means, counts and public variances.
    """
    half = (synopsis.upper - synopsis.lower) / 2
    middle = synopsis.lower + half
    placed = np.isfinite(middle).all(axis=1) & (half > 0).all(axis=1)
    weights = synopsis.weights[placed].astype(np.float64)
    heavy = weights > 2 * np.sqrt(synopsis.variances[placed])
    plain = np.array_equal(synopsis.points, synopsis.lower + (synopsis.upper - synopsis.lower) / 2, equal_nan=True)
    if plain or not (synopsis.variances > 0).all() or not heavy.any():
        return synopsis
    middle, half, span = middle[placed], half[placed], synopsis.domain.high - synopsis.domain.low
    kept = TYPICAL_OFFSET**2 / (TYPICAL_OFFSET**2 + synopsis.variances[placed] / np.maximum(weights, 1.0) ** 2)
    kept = kept[:, np.newaxis]
    drawn = (synopsis.points[placed] - middle) / kept  # before it was shrunk, but for what was clamped
    known = kept / half**2  # one over the variance of a mean, that of the rows' own place included, but for a factor
    points, share = synopsis.points[placed], weights[heavy] / weights[heavy].sum()
    for _ in range(_ROUNDS):
        center = share @ points[heavy]
        spread = np.sqrt(inflated * (share @ (points[heavy] - center) ** 2) + (1e-3 * span) ** 2)
        guess = _likely((middle - half - center) / spread, (middle + half - center) / spread, anywhere, span / spread)
        guess = center + spread * guess - middle
        holds = (known * drawn * guess).sum(axis=0) / np.maximum((known * guess**2).sum(axis=0), 1e-12)
        guess *= np.clip(holds, 0.0, 1.0)
        points = middle + np.clip(guess + kept * (drawn - guess), -half, half)
    moved = synopsis.points.copy()
    moved[placed] = points
    return synopsis.replace(points=moved, note="means")


def _likely(low: FloatArray, high: FloatArray, anywhere: float, span: FloatArray) -> FloatArray:
    """Return the mean, between two ends, of a standard Gaussian mixed with rows that lie anywhere on a span."""
    # From the nearer tail: a difference of two numbers next to 1 has no digits left.
    inside = (1 - anywhere) * np.where(
        low > 0, special.ndtr(-low) - special.ndtr(-high), special.ndtr(high) - special.ndtr(low)
    )
    pulled = (1 - anywhere) * (np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)) / math.sqrt(2 * math.pi)
    even = anywhere * (high - low) / span
    out: FloatArray = (pulled + even * (low + high) / 2) / (inside + even)
    return out


def project(synopsis: Synopsis) -> Synopsis:
    """Find the nearest non-negative weights that add up to the estimated number of rows.

    Minimises Σ (w - y)²/s over w >= 0, Σ w = `Synopsis.total`: w = max(0, y - λ s),
    Setting negative weights to zero instead would invent E[max(Z, 0)] rows in every empty leaf.

    In a grid that lists survivors only, the hidden cells would be zero as well if λ s exceeds the cutoff; then the
    result is that of the whole grid. Otherwise the survivors are scaled to the total.
    """
    weights, note = projected_weights(synopsis)
    return synopsis.replace(weights=weights, note=note)


def threshold(synopsis: Synopsis, *, cut: float | str = "auto", keep_share: float = 0.95) -> Synopsis:
    """Drop the leaves whose weight noise alone explains: their weight becomes 0.

    Parameters
    ----------
    synopsis : Synopsis
        With weights as drawn, or consistent ones.
    cut : {"auto", "noise"} or float
        "noise" cuts at ln(cells) / ε of each leaf's noise, which among empty leaves only about one in the whole
        synopsis exceeds. "auto" lowers that cut where it would take too many rows along: the leaves that stay,
        heaviest first, hold at least ``keep_share`` of the estimated total. A number cuts at a multiple of the noise's
        standard deviation.
    keep_share : float, default 0.95
        See "auto". Chosen on generated tables (``benchmarks/tuning/auto.py --section refine``): on grids of counts and
        of means it is within noise of the best value both where clusters are tight, which want less, and where noise is
        strong, which wants more. Trees do not feel it.
    """
    check_synopsis(synopsis)
    share = float(checks.probability("keep_share", keep_share, closed=True))
    y = synopsis.weights.astype(np.float64)
    if isinstance(cut, str):
        limit, shown = noise_cut(synopsis), "ln(cells)/epsilon"
        if checks.choice("cut", cut, ("auto", "noise")) == "auto":
            limit, shown = (
                np.minimum(limit, share_cut(synopsis, share)),
                f"{shown}, at least {share:g} of the rows kept",
            )
    else:
        deviations = checks.finite("cut", cut, fix='cut="auto"')
        if deviations < 0:
            raise InvalidArgument("cut", cut, '"auto", "noise" or standard deviations, zero or more', 'cut="auto"')
        limit, shown = deviations * np.sqrt(synopsis.variances), f"{deviations:g} standard deviations"
    kept = np.where((y > 0) & (y >= limit), y, 0.0)
    return synopsis.replace(weights=kept, note=f"threshold: {shown}")


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
