"""What the published n-dimensional Laplace noise did, fault by fault, so that its figures can be met again.

None of this protects anybody and none of it can be reached from the product: `discreet.metric.NDLaplace` draws the
direction uniformly, and what follows it sees the noisy point only.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet import noise
from discreet.core import BoolArray, Domain, FloatArray
from discreet.evaluation.attacks import draws
from discreet.metric import Piecewise


def published_noise(rows: int, columns: int, rate: float, stream: noise.Generator) -> FloatArray:
    """Draw noise as the published code did: right in two columns, wrong in three and in more.

    The radius is right everywhere: Gamma(n, 1/rate). In three columns the two angles changed places. In four and more
    the coordinates of a random unit vector, numbers of about 1/√n, were taken for angles: the cosines are then near 1
    and every further sine makes the rest smaller.

    Examples
    --------
    >>> drawn = published_noise(20_000, 7, 1.0, noise.generator(1))
    >>> float(drawn[:, 0].mean().round(1)), bool(drawn[:, -1].std() < 0.01)
    (6.5, True)
    """
    if columns == 2:
        return draws.isotropic(rows, 2, rate, stream)
    if columns == 3:
        return swapped_angles(rows, rate, stream)
    return vector_as_angles(rows, columns, rate, stream)


def swapped_angles(rows: int, rate: float, stream: noise.Generator) -> FloatArray:
    """Draw in three columns with the polar angle uniform on a whole turn and the azimuth as a polar angle should be."""
    first, second = draws.uniforms((2, rows), stream)
    polar, azimuth = 2 * math.pi * first, np.arccos(1 - 2 * second)
    unit = [np.sin(polar) * np.sin(azimuth), np.sin(polar) * np.cos(azimuth), np.cos(polar)]
    return np.asarray(np.stack(unit, axis=1) * _radius(rows, 3, rate, stream)[:, None])


def vector_as_angles(rows: int, columns: int, rate: float, stream: noise.Generator) -> FloatArray:
    """Draw in any number of columns with the coordinates of a unit vector in place of angles."""
    angles = draws.directions(rows, columns, stream)
    behind = np.cumprod(np.sin(angles[:, 1:]), axis=1)
    unit = np.cos(np.roll(angles, -1, axis=1))
    unit[:, 1:] *= behind
    return np.asarray(unit * _radius(rows, columns, rate, stream)[:, None])


def _radius(rows: int, columns: int, rate: float, stream: noise.Generator) -> FloatArray:
    return np.asarray(-np.log(draws.uniforms((rows, columns), stream)).sum(axis=1) / rate)


def uniform_polar_excess(angle: float) -> float:
    """Return how many times too likely a direction this near to a pole is if the polar angle is drawn uniformly.

    Examples
    --------
    >>> [round(uniform_polar_excess(angle), 1) for angle in (0.1, 0.01, 0.001)]
    [6.4, 63.7, 636.6]
    """
    return (1 / math.pi) / (math.sin(angle) / 2)


def lost_points(values: FloatArray) -> FloatArray:
    """Return a table that lost decimal points: a number below 1 with just three decimals became a whole number.

    So did a spreadsheet with the published Seeds table: 0.871 reads 871 there, 0.8811 is still 0.8811.

    Examples
    --------
    >>> lost_points(np.array([[0.871, 0.8811], [0.9, 14.88]])).tolist()
    [[871.0, 0.8811], [0.9, 14.88]]
    """
    thousandths = np.round(values * 1000)
    three = np.isclose(values * 1000, thousandths, atol=1e-6) & (np.mod(thousandths, 10) != 0)
    found: FloatArray = np.where((values > 0) & (values < 1) & three, thousandths, values)
    return found


def to_nearest_record(noisy: FloatArray, raw: FloatArray, grid: int = 0) -> FloatArray:
    """Move points outside the data's own box to the nearest raw record, or to the nearer of it and a grid of the box.

    Both the box and the targets are private data.

    Examples
    --------
    >>> raw = np.array([[0.0, 0.0], [1.0, 2.0]])
    >>> to_nearest_record(np.array([[0.5, 0.5], [9.0, 9.0]]), raw).tolist()
    [[0.5, 0.5], [1.0, 2.0]]
    """
    low, high = raw.min(axis=0), raw.max(axis=0)
    targets = raw
    if grid:
        axes = [np.linspace(a, b, grid) for a, b in zip(low, high, strict=True)]
        targets = np.concatenate([raw, np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, raw.shape[1])])
    outside: BoolArray = ((noisy <= low) | (noisy >= high)).any(axis=1)
    gaps = np.linalg.norm(noisy[outside, None, :] - targets[None, :, :], axis=2)
    found = noisy.copy()
    found[outside] = targets[gaps.argmin(axis=1)]
    return found


def column_laplace(X: FloatArray, epsilon: float, domain: Domain, seed: int) -> FloatArray:
    """Add discrete Laplace noise to every column: ε between any two rows of the box, in the sum of the ranges.

    Rows are rounded to a lattice of about 1/1024 of the noise, of which the box has L steps over all columns; the scale
    of the noise is L/ε steps.

    Examples
    --------
    >>> noisy = column_laplace(np.full((2000, 2), 0.5), 8.0, Domain.box([0, 0], [1, 1]), 1)
    >>> round(float(np.abs(noisy - 0.5).mean()), 2)
    0.25
    """
    d, low, high = len(domain), domain.low, domain.high
    step = 2.0 ** math.floor(math.log2(min(d / epsilon, 1.0) / 1024))
    inside = np.clip(np.where(np.isnan(X), (low + high) / 2, X), low, high)
    places = np.rint((inside - low) * (1 / (high - low) / step)).astype(np.int64)
    most = np.rint((high - low) * (1 / (high - low) / step)).astype(np.int64)
    stream, scale = noise.generator(seed), Fraction(int(most.sum())) / Fraction(epsilon)
    for start in range(0, len(places), 1 << 17):
        part = places[start : start + (1 << 17)]
        part += noise.discrete_laplace(scale, size=part.shape, rng=stream)
    return np.asarray(low + places * (step * (high - low)))


def whole_budget_on_every_column(X: FloatArray, epsilon: float, seed: int) -> FloatArray:
    """Perturb by the piecewise mechanism with all of ε on each column: a row then costs ε times the columns."""
    domain = Domain.box(X.min(axis=0), X.max(axis=0))
    return np.asarray(Piecewise(epsilon * X.shape[1], domain, random_state=seed).transform(X))
