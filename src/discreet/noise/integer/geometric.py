"""Exact geometric variables, from the same coins as discrete Laplace noise (`laplace.py`)."""

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.core import ByteArray, checks
from discreet.noise.integer.laplace import check_scale, coin_chances
from discreet.noise.stream import kernels
from discreet.noise.stream.draw import draw
from discreet.noise.stream.thresholds import digit_table


def geometric(scale: checks.Number, size: int | tuple[int, ...] | None = None, rng: object = None) -> Any:
    """Draw integers g >= 0 with probability ``(1 - a) a^g``, ``a = e^(-1/scale)``, exactly.

    Parameters
    ----------
    scale : float or Fraction
        Taken as the exact rational it denotes. 0 gives zeros.
    size, rng
        See `discrete_laplace`.

    Privacy
    -------
    None by itself: a building block. The difference of two independent draws is discrete Laplace noise; given that
    such noise exceeds an integer τ >= 0, its excess over τ + 1 has this law.

    Examples
    --------
    >>> geometric(scale=3.0, size=8, rng=5).tolist()
    [1, 1, 2, 2, 2, 3, 2, 3]
    """
    exact = check_scale("scale", scale)
    shape = checks.shape("size", size)
    if exact == 0:
        return 0 if shape is None else np.zeros(shape, np.int64)
    return draw_geometric(exact, shape, rng)


def draw_geometric(scale: Fraction, shape: tuple[int, ...] | None, rng: object) -> Any:
    """Draw at scales up to 2^58. Values below 2^61 are exact; larger ones become some number of at least 2^61."""

    def kernel(precision: int, *state: Any) -> tuple[int, int, int]:
        return kernels.geometric(geometric_table(scale, precision), *state)

    return draw(kernel, shape, rng, bytes_each=len(coin_chances(scale)) + 0.1)


@lru_cache(maxsize=256)
def geometric_table(scale: Fraction, precision: int) -> ByteArray:
    """Return the digits of the coins: low binary digits, then the high part."""
    return digit_table(coin_chances(scale)[1:], precision)
