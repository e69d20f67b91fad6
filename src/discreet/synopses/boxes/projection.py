"""The nearest weights that could be counts: non-negative, and adding up to the number of rows. Post-processing."""

from __future__ import annotations

import math

import numpy as np

from discreet.core import FloatArray
from discreet.errors import InvalidType
from discreet.synopses.synopsis import Synopsis


def check_synopsis(synopsis: object) -> None:
    """Refuse what is not a synopsis."""
    if not isinstance(synopsis, Synopsis):
        raise InvalidType("synopsis", type(synopsis).__name__, "a Synopsis", "GridSynopsis(...).fit(data).synopsis_")


def projected_weights(synopsis: Synopsis) -> tuple[FloatArray, str]:
    """Return the weights of `refine.project`, and a note that says how they were found."""
    check_synopsis(synopsis)
    y, total = synopsis.weights.astype(np.float64), synopsis.total
    if synopsis.hidden is None:
        return nearest_weights(y, synopsis.variances, total)[0], "project"
    # All counts have the same noise, so λ is in rows.
    weights, shift = nearest_weights(y, np.ones_like(y), total)
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
