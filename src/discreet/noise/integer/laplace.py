"""Exact discrete Laplace noise (the two-sided geometric law), from coins.

Write α = e^(-1/scale), Pr[Z = z] = (1-α)/(1+α) α^|z|.

1. Z is not 0 with probability 2α/(1+α) = 2/(1 + e^(1/scale)): one coin.
2. Given that, |Z| - 1 is geometric, Pr[G = g] = (1-α) α^g, and the sign is a fair coin.
3. The binary digits of G are independent: α^g is a product over them, so digit k is 1 with probability
   1/(1 + e^(2^k/scale)).
4. By the same product, floor(G / 2^K) is independent of the K low digits and geometric with ratio α^(2^K): count the
   heads of a coin e^(-2^K/scale) before its first tails. K is chosen so that this coin rarely comes up.

All coins are exact (`thresholds.py`), hence so is Z. Steps 2 to 4 cost about log2(scale) + 5 bytes.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.core import ByteArray, checks
from discreet.errors import InvalidArgument
from discreet.noise.stream import kernels, watch
from discreet.noise.stream.draw import draw, fill
from discreet.noise.stream.thresholds import Chance, digit_table, exponential_decay, logistic

#: Beyond this, counts in 64-bit integers would lose their meaning before the noise does.
LARGEST_SCALE = 10**12


def discrete_laplace(scale: checks.Number, size: int | tuple[int, ...] | None = None, rng: object = None) -> Any:
    """Draw integers with probability proportional to ``exp(-|z| / scale)``, exactly.

    Parameters
    ----------
    scale : float or Fraction
        Noise scale, sensitivity / ε. Taken as the exact rational it denotes (0.1 is 1/10). 0 means ε = ∞: no noise,
        no privacy.
    size : int or tuple of int, optional
        Shape of the result; None returns one Python int.
    rng : None, int or Generator
        None draws from the operating system; an int seeds a repeatable experiment. See `discreet.noise.generator`.

    Privacy
    -------
    Neighbours: add or remove one row. A count changes by at most 1, and
    ``Pr[Z = z] / Pr[Z = z + 1] <= e^(1/scale)`` for every z, so ``count + Z`` with scale 1/ε is ε-differentially
    private. A vector of counts over disjoint cells with one draw each costs the same ε: a row is in one cell. Sums
    with sensitivity Δ need scale Δ/ε. Price: ε.

    Examples
    --------
    >>> discrete_laplace(scale=2.0, size=8, rng=7).tolist()
    [1, 1, 5, 1, 0, -3, 0, 3]
    """
    exact = check_scale("scale", scale)
    shape = checks.shape("size", size)
    watch.drew("laplace", exact, 1 if shape is None else math.prod(shape), rng)
    if exact == 0:
        return 0 if shape is None else np.zeros(shape, np.int64)
    bits = len(coin_chances(exact)) - 2

    def kernel(precision: int, *state: Any) -> tuple[int, int, int]:
        return fill(kernels.laplace, laplace_table(exact, precision), *state)

    return draw(kernel, shape, rng, bytes_each=bits + 3.1)


def check_scale(name: str, scale: object) -> Fraction:
    """Check a noise scale: 0 (no noise) or a positive number up to `LARGEST_SCALE`, exact."""
    expected = f"a number from 0 (no noise) to {LARGEST_SCALE:.0e}"
    exact = checks.exact(name, scale, expected, f"{name}=1.0")
    if not 0 <= exact <= LARGEST_SCALE:
        raise InvalidArgument(name, scale, expected, f"{name}=1.0")
    return exact


def coin_chances(scale: Fraction) -> tuple[Chance, ...]:
    """Return the coins of the method above: not zero, the low binary digits, the high part."""
    bits = 0
    while 2**bits < 5 * scale:
        bits += 1
    low = (logistic(2**k / scale) for k in range(bits))
    return Chance(b=Fraction(2), d=Fraction(1), x=1 / scale), *low, exponential_decay(2**bits / scale)


@lru_cache(maxsize=256)
def laplace_table(scale: Fraction, precision: int) -> ByteArray:
    return digit_table(coin_chances(scale), precision)


def draw_geometric(scale: Fraction, shape: tuple[int, ...] | None, rng: object) -> Any:
    """Draw integers g >= 0 with probability ``(1 - a) a^g``, ``a = e^(-1/scale)``, exactly, at scales up to 2^58.

    Values below 2^61 are exact; larger ones become some number of at least 2^61. No privacy by itself: given that
    discrete Laplace noise exceeds an integer τ >= 0, its excess over τ + 1 has this law.
    """

    def kernel(precision: int, *state: Any) -> tuple[int, int, int]:
        return fill(kernels.geometric, geometric_table(scale, precision), *state)

    return draw(kernel, shape, rng, bytes_each=len(coin_chances(scale)) + 0.1)


@lru_cache(maxsize=256)
def geometric_table(scale: Fraction, precision: int) -> ByteArray:
    """Return the digits of the coins: low binary digits, then the high part."""
    return digit_table(coin_chances(scale)[1:], precision)
