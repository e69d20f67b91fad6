"""Private bounds, for a column without a public range."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import FloatArray, IntArray, Person, checks
from discreet.core.budget import Epsilon, Wanted
from discreet.errors import InvalidArgument, InvalidType
from discreet.mechanisms.gate import Gate
from discreet.noise.choice import at_most, per_value
from discreet.noise.integer import LARGEST_SCALE
from discreet.noise.stream import generator


def private_bounds(
    values: npt.ArrayLike,
    *,
    epsilon: float,
    exponents: tuple[int, int] = (-32, 32),
    beta: float = 0.01,
    ledger: Any = None,
    persons: Any = None,
    rows: int | None = None,
    rng: object = None,
) -> tuple[float, float]:
    """Return private lower and upper bounds of a column, each 0 or a power of two with a sign.

    Publishes a noisy histogram over public bins, one per power of two and sign. The bounds are the outer edges of the
    outermost bins above a threshold. About as many rows as the threshold may be outside at either end and will be
    clamped: declare bounds for small tables.

    Parameters
    ----------
    values : array of float, shape (n,)
        The data. NaN rows are left out.
    epsilon : float
        Budget. ``math.inf`` takes all occupied bins, without privacy.
    exponents : pair of int, default (-32, 32)
        Public range of magnitudes, ``2**-32`` to ``2**32``: 64 bins per sign. Values beyond fall in the outermost bins.
    beta : float, default 0.01
        Probability that empty bins widen the bounds.
    ledger : Ledger or Account, optional
        Charged ``epsilon`` under the label "bounds", before the data are read.
    persons, rows
        As in `discreet.noise.quantiles`: the person of each value, and the most values used per person.
    rng : None, int or Generator
        See `discreet.noise.generator`.

    Returns
    -------
    low, high : float
        ``low < high``. If no bin passes, the whole public range.

    Privacy
    -------
    Neighbours: add or remove one row, which changes the count of one bin by 1: independent discrete Laplace noise of
    scale 1/ε on all bins is ε-DP. Threshold and bounds are computed from public numbers and noisy counts. Price: ε.
    With ``persons``, add or remove one person: the mechanism runs on the values used, at ε/rows, so the price is ε per
    person.

    Examples
    --------
    >>> incomes = np.random.default_rng(0).lognormal(10, 0.5, 20_000)
    >>> private_bounds(incomes, epsilon=0.5, rng=1)
    (4096.0, 131072.0)
    """
    budget = checks.budget("epsilon", epsilon)
    each, most = per_value(budget, persons, rows)
    if each * LARGEST_SCALE < 1:
        raise InvalidArgument("epsilon", epsilon, f"at least {1 / LARGEST_SCALE:.0e}", "epsilon=0.1")
    smallest, largest = _exponents(exponents)
    tau = threshold(2 * (largest - smallest), each, float(checks.probability("beta", beta)))
    # An account of rows refuses a promise to persons, and the other way round.
    unit = "row" if most is None else Person(getattr(ledger, "person", None) or "persons", rows=most)
    wanted, stream = Wanted(Epsilon(budget)), generator(rng)
    Gate.check(wanted, ledger=ledger, unit=unit, job="bounds")
    column = checks.numeric_column("values", values)
    gate = Gate.open(wanted, unit=unit, random_state=stream, ledger=ledger, job="bounds", artifact=False)
    kept = at_most(column, persons, most, gate.free)
    if isinstance(unit, Person):
        gate.bound(unit)
    noisy = gate.counts("bounds", magnitude_counts(kept, smallest, largest), gate.left).values
    gate.settle()
    passing = np.flatnonzero(noisy > tau)
    edges = magnitude_edges(smallest, largest)
    if not len(passing):
        return float(edges[0]), float(edges[-1])
    return float(edges[passing[0]]), float(edges[passing[-1] + 1])


def threshold(n_bins: int, epsilon: checks.Exact, beta: float) -> int:
    """Return τ = ceil(ln(B / (β (1+α))) / ε) - 1 for B bins, α = e^(-ε): some empty bin exceeds it with chance <= β.

    For the noise Z of one bin, Pr[Z > τ] = α^(τ+1) / (1+α) <= β / B.
    """
    rate = float(epsilon)
    if rate == math.inf:
        return 0
    return math.ceil(math.log(n_bins / (beta * (1 + math.exp(-rate)))) / rate) - 1


def magnitude_edges(smallest: int, largest: int) -> FloatArray:
    """Return the edges of the public bins, from left to right; the two innermost bins meet at 0."""
    outer = np.ldexp(1.0, np.arange(smallest + 1, largest + 1))
    return np.concatenate([-outer[::-1], [0.0], outer])


def magnitude_counts(values: FloatArray, smallest: int, largest: int) -> IntArray:
    """Count rows by sign and power of two, in the order of `magnitude_edges`; a magnitude is in [2^e, 2^(e+1))."""
    kept = values[~np.isnan(values)]
    per_sign = largest - smallest
    _, exponent = np.frexp(np.clip(kept, -(2.0**largest), 2.0**largest))  # |x| in [2^(exponent-1), 2^exponent)
    magnitude = np.clip(exponent - 1 - smallest, 0, per_sign - 1)
    magnitude[kept == 0] = 0
    bins = np.where(kept >= 0, per_sign + magnitude, per_sign - 1 - magnitude)
    return np.bincount(bins, minlength=2 * per_sign)


def _exponents(value: object) -> tuple[int, int]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise InvalidType("exponents", value, "a pair of whole numbers", "exponents=(-32, 32)")
    smallest = checks.whole("exponents[0]", value[0], low=-1000, high=1000)
    largest = checks.whole("exponents[1]", value[1], low=-1000, high=1000)
    if smallest >= largest:
        raise InvalidArgument("exponents", value, "an increasing pair", "exponents=(-32, 32)")
    return smallest, largest
