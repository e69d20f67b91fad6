"""The exponential mechanism (McSherry and Talwar 2007), with accurate chances for every outcome.

The textbook form draws with probability proportional to exp(ε score / span). Doubles can break it in three ways:
weights underflow to zero, cumulative sums lose the small ones, and a uniform number with 53 bits cannot hit an
interval shorter than 2^-53. Here log-weights are clamped 700 below the best, weights are added in a tree of sums
(`_scaled_kernels.py`) and every comparison uses a uniform number with full precision at every scale. So each outcome
is drawn with its true probability up to a factor e^(±2η), η = 3000 * 2^-53. The mechanism runs with ε - 4η and costs ε.
"""

import math
from fractions import Fraction
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.core import AnyArray, FloatArray, IntArray, checks
from discreet.errors import InvalidArgument
from discreet.noise.choice import _scaled_kernels as _scaled
from discreet.noise.stream import watch
from discreet.noise.stream.generator import Generator, generator

#: Scaled numbers, such as a tree of sums: mantissas and exponents.
Scaled: TypeAlias = tuple[FloatArray, IntArray]

#: Log-weights below the best one by more than this count as this far below.
CLAMP = 700.0
#: How far a log-weight may be off. Three roundings of a number up to 700, an exponential, a product, and five
#: roundings on each of at most 64 levels of the tree: 2100 + 10 + 320 < 3000 units of 2^-53. Public: no row enters.
ETA = Fraction(3000, 2**53)
#: Whole numbers that differ by more count as this far apart: a double can hold it.
_LARGEST = 2**1023
#: Larger budgets run as this one (and cost what was asked); it keeps every rate a finite double.
LARGEST_EPSILON = Fraction(2**100)


def exponential(
    scores: npt.ArrayLike, *, epsilon: float, span: float, counts: npt.ArrayLike | None = None, rng: object = None
) -> int:
    """Choose an outcome: return ``i`` with probability proportional to ``counts[i] * exp(epsilon * scores[i] / span)``.

    Parameters
    ----------
    scores : array of float, shape (n,)
        The score of each outcome, higher is better. NaN counts as the lowest score, infinity as the largest finite
        number. Whole numbers are taken exactly if all scores are such, anything else as doubles; ``span`` must hold for
        these.
    epsilon : float
        Budget of the choice. ``math.inf`` chooses uniformly among the best outcomes, without privacy.
    span : float
        Public bound: if one row is added, the changes of all scores are in one interval of this width. It is 2Δ for
        scores of sensitivity Δ, and Δ if a row can only raise them.
    counts : array of int, shape (n,), optional
        The number of outcomes that each entry stands for. Default 1; negative numbers count as 0.
    rng : None, int or Generator
        See `discreet.noise.generator`.

    Privacy
    -------
    Neighbours: add or remove one row. Let the row change score i by d_i, a <= d_i <= a + span. Each weight is
    multiplied by e^(ε d_i / span), between e^(ε a / span) and e^ε times that; so is their sum; so the probability of
    an outcome, their ratio, changes by a factor within e^(±ε). Clamping changes nothing: with s the score and M the
    best one, max(s, M - const) changes by an amount in the same interval. Grouping equal scores by ``counts`` changes
    nothing either: the range and its measure stay those of the public outcomes. Chances are accurate to e^(±2η), so
    ε - 4η is run. Price: ε.

    Examples
    --------
    >>> exponential([3, 10, 4], epsilon=2.0, span=1.0, rng=1)
    1
    """
    budget = checks.budget("epsilon", epsilon)
    width = checks.positive("span", span)
    values = checks.numeric_column("scores", scores)
    sizes = np.ones(len(values)) if counts is None else checks.numeric_column("counts", counts)
    if not len(values):
        raise InvalidArgument("scores", "no scores", "at least one score", "scores=[0.0]")
    if len(sizes) != len(values):
        raise InvalidArgument("counts", "another number of them", "one number per score", "counts=None")
    sizes = np.clip(np.nan_to_num(sizes), 0, 2.0**62)
    if not sizes.any():
        raise InvalidArgument("counts", "zeros only", "the sizes of groups of a non-empty range", "counts=None")
    whole = _whole(scores)
    if whole is not None:
        top = whole[sizes > 0].max()
        below = np.where(whole < top, whole, top)
        if whole.dtype == object:
            losses = np.minimum(top - below, _LARGEST).astype(np.float64)
        else:  # modulo 2^64, hence exactly
            losses = (top.astype(np.uint64) - below.astype(np.uint64)).astype(np.float64)
    else:
        values = np.nan_to_num(values, nan=-np.finfo(float).max)
        with np.errstate(over="ignore"):
            losses = np.minimum(np.maximum(values[sizes > 0].max() - values, 0.0), np.finfo(float).max)
    return pick(weigh(losses, sizes, rate(budget, width)), generator(rng))


def _whole(scores: Any) -> AnyArray | None:
    """Return scores as whole numbers if all are: large ones would be rounded as doubles, and differ by too much."""
    try:
        array = np.asarray(scores)
    except (ValueError, OverflowError):  # a list of odd things
        return None
    if array.dtype.kind in "iu":
        return array
    if isinstance(scores, np.ndarray) and array.dtype != object:
        return None
    listed = scores if isinstance(scores, (list, tuple)) else array
    # NumPy calls a duration an integer.
    if not all(isinstance(each, Integral) and not isinstance(each, np.timedelta64) for each in listed):
        return None
    return np.array([int(each) for each in listed], dtype=object)


def rate(epsilon: checks.Exact, span: Fraction, eta: Fraction = ETA, *, fix: str = "epsilon=0.1") -> float:
    """Return the factor of the scores, (ε - 4η) / span rounded down, or infinity for ε = ∞."""
    watch.drew("choice", Fraction(0) if isinstance(epsilon, float) else 1 / epsilon, 1, None)
    if isinstance(epsilon, float):
        return math.inf
    run = min(epsilon, LARGEST_EPSILON) - 4 * eta
    if run <= 0:
        raise InvalidArgument(
            "epsilon", float(epsilon), f"larger than {float(4 * eta):.3g}, what rounding may cost", fix
        )
    return math.nextafter(float(run / span), 0.0)


def weights_of(losses: FloatArray, sizes: AnyArray, factors: FloatArray | float) -> FloatArray:
    """Return ``sizes * exp(-factors * losses)``, losses >= 0, the best 0; an infinite factor keeps the best only."""
    best = losses <= 0
    with np.errstate(over="ignore", invalid="ignore"):  # 0 times infinity, where the exponent is 0 anyway
        decayed = np.exp(-np.minimum(np.where(best, 0.0, losses * factors), CLAMP))
    return np.asarray(sizes * np.where(best | np.isfinite(factors), decayed, 0.0))


def weigh(losses: FloatArray, counts: AnyArray, factor: float) -> Scaled:
    """Return the tree of sums of `weights_of`."""
    sums: Scaled = _scaled.sums_of(weights_of(losses, counts, factor))
    return sums


def pick(sums: Scaled, source: Generator) -> int:
    """Draw a leaf of a tree of sums in proportion to its weight."""
    return int(_scaled.descend(*sums, *uniforms((len(sums[0]) // 2).bit_length(), source)))


def uniforms(n: int, source: Generator) -> Scaled:
    """Draw ``n`` uniform numbers of (0, 1) as scaled numbers, with 53 significant bits at every magnitude.

    The number of leading zero bits is that of a stream of coin flips; 52 further bits follow the first one. Hence
    Pr[U < p] is exactly p for every p that a scaled number can hold.
    """
    words = source.bytes(16 * n).view("<u8").reshape(n, 2)
    flips, power = words[:, 0].copy(), np.full(n, -1, np.int64)
    while not flips.all():  # sixty-four tails in a row
        zero = np.flatnonzero(flips == 0)
        flips[zero] = source.bytes(8 * len(zero)).view("<u8")
        power[zero] -= 64
    power -= 64 - bit_lengths(flips)
    exponents = (power + 256) // 512
    fractions = 1 + (words[:, 1] >> np.uint64(12)).astype(np.float64) / 2**52
    return np.ldexp(fractions, power - 512 * exponents), exponents


def bit_lengths(numbers: npt.NDArray[np.integer]) -> IntArray:
    """Return the bit lengths of positive whole numbers; exact, unlike a logarithm."""
    rest = numbers.astype(np.uint64)
    bits = np.zeros(len(rest), np.int64)
    for step in (32, 16, 8, 4, 2, 1):
        large = rest >= np.uint64(1) << np.uint64(step)
        bits[large] += step
        rest = np.where(large, rest >> np.uint64(step), rest)
    return bits + (rest > 0)
