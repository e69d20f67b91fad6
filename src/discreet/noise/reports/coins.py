"""Bernoulli draws and k-ary randomised response with exact chances."""

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import IntArray, checks
from discreet.noise.stream import kernels
from discreet.noise.stream.draw import byte_width, draw, fill
from discreet.noise.stream.thresholds import Chance, ExactChance, digit_table


def bernoulli(p: checks.Number, size: int | tuple[int, ...] | None = None, rng: object = None) -> Any:
    """Draw ones with probability exactly ``p``, zeros otherwise.

    Parameters
    ----------
    p : float or Fraction
        A number from 0 to 1, taken as the exact rational it denotes (0.1 is 1/10).
    size : int or tuple of int, optional
        Shape of the result; None returns one Python int.
    rng : None, int or Generator
        See `discreet.noise.generator`.

    Privacy
    -------
    None by itself: a building block.

    Examples
    --------
    >>> bernoulli(0.25, size=10, rng=3).tolist()
    [0, 0, 0, 0, 0, 0, 0, 1, 0, 1]
    """
    return toss(Chance(a=checks.probability("p", p, closed=True)), checks.shape("size", size), rng)


def toss(chance: ExactChance, shape: tuple[int, ...] | None, rng: object) -> Any:
    """Draw ones with an exact chance that may involve e^(-x): what mechanisms use."""

    def kernel(precision: int, *state: Any) -> tuple[int, int, int]:
        return fill(kernels.coins, digit_table((chance,), precision), *state)

    return draw(kernel, shape, rng, bytes_each=1.01)


def keep_chance(n_values: int, epsilon: checks.Exact) -> Chance:
    """Return the chance e^ε/(e^ε + k - 1) with which randomised response keeps a value."""
    if isinstance(epsilon, float):  # infinity
        return Chance(a=Fraction(1))
    return Chance(a=Fraction(1), d=Fraction(n_values - 1), x=epsilon)


def randomized_response(values: npt.ArrayLike, *, n_values: int, epsilon: float, rng: object = None) -> IntArray:
    """Report each value truthfully with probability e^ε/(e^ε + k - 1), else one of the others at random.

    Parameters
    ----------
    values : array of int
        Codes ``0 .. n_values - 1``, one per user. Codes outside are clamped and what is not a whole number counts as 0,
        each by itself.
    n_values : int
        Number of values k, at least 2.
    epsilon : float
        Budget of each user. ``math.inf`` reports the truth.
    rng : None, int or Generator
        See `discreet.noise.generator`.

    Privacy
    -------
    Neighbours: any two values of one user (local model). A report r has probability e^ε/(e^ε + k - 1) under the value
    r and 1/(e^ε + k - 1) under every other; the ratio is exactly e^ε. Price: ε per report.

    Examples
    --------
    >>> randomized_response([0, 1, 2, 2, 1, 0], n_values=3, epsilon=1.0, rng=5).tolist()
    [0, 0, 0, 2, 1, 2]
    """
    k = checks.whole("n_values", n_values, low=2, high=2**62)
    budget = checks.budget("epsilon", epsilon)
    codes = checks.whole_array("values", values)
    return respond(np.clip(codes, 0, k - 1), k, keep_chance(k, budget), rng)


def respond(truth: IntArray, n_values: int, keep: ExactChance, rng: object) -> IntArray:
    """Keep each number with an exact chance, else draw one of the others below ``n_values``: what laws use."""
    flat, (width, mask) = truth.ravel(), byte_width(n_values - 1)

    def kernel(precision: int, *state: Any) -> tuple[int, int, int]:
        return fill(kernels.respond, digit_table((keep,), precision), flat, n_values - 1, width, mask, *state)

    out: IntArray = draw(kernel, truth.shape, rng, bytes_each=1.01 + width)
    return out
