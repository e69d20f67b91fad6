"""The distribution of true records, given noisy ones and any known law: EM over candidate places.

The weights π of candidates q maximise Π_i Σ_j π_j f(z_i - q_j); EM repeats π_j ← mean_i of π_j f_ij/Σ_k π_k f_ik. With
a public grid of candidates this is the usual server-side deconvolution; beyond three columns a grid is out of reach and
the candidates are noisy records moved part of the way to their middle.
"""

from collections.abc import Callable

import numpy as np

from discreet.core import FloatArray

LogDensity = Callable[[FloatArray], FloatArray]

#: Numbers held at a time when densities are computed.
_PORTION = 2**21
#: Records that the EM looks at: more are gathered in cells first.
_MOST_RECORDS = 4000
#: Ways from the middle of the records to a noisy one at which candidates lie.
_WAYS = (0.1, 0.3, 0.5, 0.7, 0.9)


def densities(z: FloatArray, places: FloatArray, log_density: LogDensity) -> FloatArray:
    """Return f(z_i - q_j), each row divided by its largest entry (which cancels everywhere)."""
    out = np.empty((len(z), len(places)))
    rows = max(1, _PORTION // max(1, places.size))
    for start in range(0, len(z), rows):
        offsets = z[start : start + rows, np.newaxis] - places
        logs = np.asarray(log_density(offsets.reshape(-1, places.shape[1]))).reshape(offsets.shape[:2])
        highest = logs.max(axis=1, keepdims=True)
        out[start : start + rows] = np.exp(logs - np.where(np.isfinite(highest), highest, 0.0))
    return out


def weights_by_em(f: FloatArray, masses: FloatArray, steps: int) -> FloatArray:
    """Run EM on a matrix of densities (records by candidates) from equal weights; ``masses`` weigh the records."""
    masses = masses / masses.sum()
    weights = np.full(f.shape[1], 1 / f.shape[1])
    for _ in range(steps):
        mixed = f @ weights
        weights = weights * (f.T @ (masses / np.where(mixed > 0, mixed, np.inf)))
        total = weights.sum()
        if not total > 0:  # no candidate explains any record
            return np.full(f.shape[1], 1 / f.shape[1])
        weights /= total
    return weights


def grid(low: FloatArray, high: FloatArray, per_axis: int) -> FloatArray:
    """Return a regular grid over the box, borders included."""
    axes = [np.linspace(a, b, per_axis) for a, b in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(low))


def scattered(z: FloatArray, n_candidates: int) -> FloatArray:
    """Return candidates where no grid fits: records moved towards their median by several shares of the way."""
    middle = np.median(z, axis=0)
    per_way = max(1, n_candidates // len(_WAYS))
    places = [
        middle + way * (z[i :: max(1, len(z) // per_way)][:per_way] - middle)
        for i, way in enumerate(_WAYS)
        if i < len(z)
    ]
    return np.concatenate(places)


def gathered(z: FloatArray, most: int = _MOST_RECORDS) -> tuple[FloatArray, FloatArray]:
    """Replace records by the means of small cells, at most about ``most``, and their numbers."""
    if len(z) <= most:
        return z, np.ones(len(z))
    middle, unit = np.median(z, axis=0), np.maximum(np.subtract(*np.percentile(z, [84, 16], axis=0)), 1e-300)
    per_unit = 2.0 * most ** (1 / z.shape[1])
    while True:
        _, cell, count = np.unique(
            np.floor((z - middle) / unit * per_unit), axis=0, return_inverse=True, return_counts=True
        )
        if len(count) <= most:
            break
        per_unit *= 0.8
    cell = cell.ravel()
    sums = np.column_stack([np.bincount(cell, column, minlength=len(count)) for column in z.T])
    return sums / count[:, np.newaxis], count.astype(np.float64)


def deconvolve(
    z: FloatArray, places: FloatArray, log_density: LogDensity, *, steps: int = 100, rounds: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Return candidates that got weight, and their weights (which add up to 1).

    In a second round the records' posterior means are the candidates: nearer to the true records than the first ones.
    """
    records, masses = gathered(z)
    for left in range(rounds - 1, -1, -1):
        f = densities(records, places, log_density)
        weights = weights_by_em(f, masses, steps)
        if left:
            mixed = (f @ weights)[:, np.newaxis]
            places = np.where(mixed > 0, (f * weights) @ places / np.where(mixed > 0, mixed, 1.0), records)
    kept = weights > 1e-9
    return places[kept], weights[kept] / weights[kept].sum()
