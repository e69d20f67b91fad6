"""Exact discrete Gaussian noise, by rejection from the discrete Laplace law.

Wanted: Pr[Z = z] ∝ e^(-z²/(2σ²)) on the integers (Canonne, Kamath, Steinke 2020). For a whole number c >= 1,

    z² = (2c - 1)|z| - c(c - 1) + (|z| - c)(|z| - c + 1),

so a discrete Laplace draw of scale 2σ²/(2c - 1) accepted with probability e^(-S/(2σ²)) has the wanted law, where
S = (|z| - c)(|z| - c + 1) is a whole number, never negative. With its hexadecimal digits, S = Σ v_j 16^j, the draw is
accepted if independent exact coins e^(-v_j 16^j/(2σ²)) are all heads. With c near σ about three draws of four are
accepted, with c = 1 nearly all if σ is small.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.core import ByteArray, checks
from discreet.noise.integer.laplace import check_scale, coin_chances, laplace_table
from discreet.noise.stream import kernels, watch
from discreet.noise.stream.draw import draw, fill
from discreet.noise.stream.thresholds import digit_rows, exponential_decay

#: |z| < 2^62, so S has at most 31 hexadecimal digits.
_PLACES = 31


def discrete_gaussian(sigma: checks.Number, size: int | tuple[int, ...] | None = None, rng: object = None) -> Any:
    """Draw integers with probability proportional to ``exp(-z² / (2 sigma²))``, exactly.

    Parameters
    ----------
    sigma : float or Fraction
        Taken as the exact rational it denotes. The standard deviation is ``sigma`` to many digits from 1 on and
        smaller below. 0 means no noise, no privacy.
    size, rng
        See `discrete_laplace`.

    Privacy
    -------
    Neighbours: add or remove one row. An integer vector that a row moves by at most Δ in Euclidean norm, with one
    draw added to each coordinate, is ρ-zCDP with ρ = Δ²/(2 sigma²) (Canonne, Kamath, Steinke 2020, theorem 4). Counts
    over disjoint cells have Δ = 1. Price: ρ; a zCDP `Ledger` states the (ε, δ) it amounts to.

    Examples
    --------
    >>> discrete_gaussian(sigma=3.0, size=8, rng=7).tolist()
    [1, -3, 3, 0, -2, 1, -2, 1]
    """
    exact = check_scale("sigma", sigma)
    shape = checks.shape("size", size)
    watch.drew("gaussian", exact, 1 if shape is None else math.prod(shape), rng)
    if exact == 0:
        return 0 if shape is None else np.zeros(shape, np.int64)
    c, scale = proposal(exact)

    def kernel(precision: int, *state: Any) -> tuple[int, int, int]:
        return fill(kernels.gaussian, laplace_table(scale, precision), _accept_table(exact, precision), c, *state)

    bits = len(coin_chances(scale)) - 2
    return draw(kernel, shape, rng, bytes_each=1.35 * (bits + 4) + bits / 2)


def proposal(sigma: Fraction) -> tuple[int, Fraction]:
    """Return the whole number c of the method above and the scale of the Laplace draw."""
    c = max(1, round(sigma + Fraction(1, 2)))
    return c, 2 * sigma**2 / (2 * c - 1)


@lru_cache(maxsize=64)
def _accept_table(sigma: Fraction, precision: int) -> ByteArray:
    """Return the digits of e^(-v 16^j/(2σ²)), in row 16 j + v."""
    unit = 1 / (2 * sigma**2)
    return digit_rows([exponential_decay(unit * (v << 4 * j)) for j in range(_PLACES) for v in range(16)], precision)
