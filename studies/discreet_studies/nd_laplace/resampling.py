"""The true rate of resampling, which `discreet.metric.NDLaplace` bounds by twice that of the noise."""

import math

import numpy as np
from scipy import integrate

from discreet.core import checks


def resampled_rate(rate: float, dimension: int, points: int = 33) -> float:
    """Return the true rate of resampling in the unit cube: the largest of rate + |∇ ln A(x)|, for 1 or 2 dimensions.

    Two close points on the face of the cube, and a result far behind the nearer one, reach it.

    Parameters
    ----------
    rate : float
        Rate of the noise.
    dimension : {1, 2}
        Dimension of the cube.
    points : int
        Number of points of the cube's edge that are tried.

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

    In polar coordinates around x, with R(φ) the distance to the edge of the square in direction φ, A is the mean over φ
    of the Gamma(2) probability 1 - (1 + rR) e^(-rR). Its gradient is that of the density, integrated over the square: ∫
    r f(z - x) (z - x)/‖z - x‖ dz, again with the Gamma(2) probability for the length.
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
