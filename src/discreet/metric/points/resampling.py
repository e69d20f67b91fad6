"""Drawing again until the point lies in the box, and what that really costs.

The law of the result is f(z|x)/A(x), where A(x) is the chance that a noisy x lies in the box. A(x) changes by a factor
of up to e^(rate D) over a distance D, so the rate of the whole is at most twice that of the noise. It is no
post-processing: it looks at the raw point again, and a point in a corner takes longer. `clip` costs nothing.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy import integrate

from discreet import noise
from discreet.core import FloatArray, IntArray, checks
from discreet.errors import InvalidArgument
from discreet.noise.vector import IsotropicNoise, isotropic_laplace

#: If fewer than this share of a corner's noise ends in the box, drawing would take for ever.
_LEAST_ACCEPTANCE = 1e-3


def resample(places: IntArray, scale: Fraction, corners: Sequence[FloatArray], stream: noise.Generator) -> IntArray:
    """Draw noise for every place until all lie between two corners; in rounds over those that do not yet."""
    low, high = corners
    _check_acceptance(scale, high - low)
    found = places.copy()
    waiting = np.arange(len(places))
    while len(waiting):
        tried = np.ascontiguousarray(places[waiting])
        IsotropicNoise.draw(tried.shape[1], scale, stream).add(tried)
        inside = ((tried >= low) & (tried <= high)).all(axis=1)
        found[waiting[inside]] = tried[inside]
        waiting = waiting[~inside]
    return found


def _check_acceptance(scale: Fraction, widths: FloatArray) -> None:
    # Public draws with a fixed seed: the answer depends on the arguments alone.
    drawn = np.abs(isotropic_laplace(20_000, len(widths), scale, rng=1))
    share = float((drawn <= widths).all(axis=1).mean()) / 2 ** len(widths)
    if share < _LEAST_ACCEPTANCE:
        expected = f"another one here: noise in a corner ends in the box with a chance of {share:.1g} only"
        raise InvalidArgument("remap", "resample", expected, 'remap="clip"')


def resampled_rate(rate: float, dimension: int, points: int = 33) -> float:
    """Return the true rate of resampling in the unit cube: the largest of rate + |∇ ln A(x)|, for 1 or 2 dimensions.

    Two points near each other on the face of the cube, and a result far behind the nearer one, reach it. At most
    2·rate, which the guarantee charges.

    Parameters
    ----------
    rate : float
        Of the noise.
    dimension : {1, 2}
        Of the cube.
    points : int
        How many points of the cube's edge are tried.

    Examples
    --------
    >>> resampled_rate(3.0, 1), round(resampled_rate(2.0, 2) / 2.0, 2)
    (6.0, 1.91)
    """
    rate = float(checks.positive("rate", rate))
    if checks.whole("dimension", dimension, low=1, high=2) == 1:
        # A(x) = 1 - (e^(-rx) + e^(-r(1-x)))/2; at x = 0 its slope is r A(0) for every rate.
        return 2 * rate
    return rate + max(_slope(rate, t) for t in np.linspace(0.0, 0.5, points))


def _slope(rate: float, t: float) -> float:
    """Return |∇ ln A| at the point (0, t) of the unit square's edge.

    In polar coordinates round x: with R(φ) the distance to the edge of the square in direction φ, A is the mean over φ
    of the Gamma(2) chance 1 - (1 + rR) e^(-rR). Its gradient is that of the density, integrated over the square:
    ∫ r f(z - x) (z - x)/‖z - x‖ dz, again with the Gamma(2) chance for the length.
    """

    def reach(phi: float) -> float:
        c, s = math.cos(phi), math.sin(phi)
        sides = [1 / c if c > 1e-15 else math.inf]
        sides.append((1 - t) / s if s > 1e-15 else (t / -s if s < -1e-15 else math.inf))
        return min(sides)

    def chance(phi: float) -> float:
        x = rate * reach(phi)
        return 1 - (1 + x) * math.exp(-x)

    corners = [math.atan2(-t, 1.0), math.atan2(1 - t, 1.0)]
    span = (-math.pi / 2, math.pi / 2)
    inside = integrate.quad(chance, *span, points=corners)[0]
    across = integrate.quad(lambda p: chance(p) * math.cos(p), *span, points=corners)[0]
    along = integrate.quad(lambda p: chance(p) * math.sin(p), *span, points=corners)[0]
    return float(rate * math.hypot(across, along) / inside)
