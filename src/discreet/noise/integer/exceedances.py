"""The large values among very many discrete Laplace draws, without drawing the others.

Each of n draws exceeds the cutoff τ >= 0 with probability p = α^(τ+1)/(1+α), α = e^(-1/scale), independently. The gaps
between those that do are geometric, so the walk jumps from one to the next; the value of each is τ + 1 plus a geometric
variable with ratio α. Time and memory grow with the number of large values, not with n.

The sampler of geometric gaps needs a ratio e^(-x) with rational x, and 1 - p is none. So the walk uses an x slightly
above -ln(1 - p), hence a hit chance q = 1 - e^(-x) above p, and keeps each hit with an exact coin p/q.
"""

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.core import IntArray, checks, jit
from discreet.noise.integer.laplace import check_scale, draw_geometric
from discreet.noise.reports.coins import toss
from discreet.noise.stream import watch
from discreet.noise.stream.generator import generator
from discreet.noise.stream.thresholds import agreed_digits, enclose_exp

_CONTEXT = Context(prec=60)
#: A longer gap is cut here, without a hit at its end: the rest is drawn anew, because gaps are memoryless.
_STRIDE = 2**61
_PORTION = 2**20
#: Gaps have 61 binary digits, so they are at most about 2^58 long; the coin makes hits rarer.
_SMALLEST_RATE = Fraction(1, 2**58)


def exceedances(scale: checks.Number, cutoff: int, size: int, rng: object = None) -> tuple[IntArray, IntArray]:
    """Return where discrete Laplace draws exceed a cutoff (ascending places), and their values, drawn exactly.

    ``scale`` and ``rng`` are those of `discrete_laplace`; scale 0, no noise, has none. ``cutoff`` is at least 0.
    ``size`` is the number of draws, below 2**63; only the large ones are made.

    Privacy
    -------
    Same law as ``discrete_laplace(scale, size)`` followed by leaving out the values up to the cutoff; see there.

    Examples
    --------
    >>> places, values = exceedances(scale=1.0, cutoff=25, size=10**12, rng=3)
    >>> len(places), int(values.min())
    (6, 26)
    """
    exact = check_scale("scale", scale)
    cutoff = checks.whole("cutoff", cutoff)
    size = checks.whole("size", size, high=2**63 - 1)
    stream = generator(rng)
    watch.drew("laplace", exact, size, rng)
    nothing = np.empty(0, np.int64)
    if exact == 0:
        return nothing, nothing
    coin = KeepChance(1 / exact, cutoff, rate(1 / exact, cutoff))
    expected = float(coin.x) * size
    places, position = [nothing], 0
    while position < size:
        gaps = draw_geometric(1 / coin.x, (int(min(1.1 * expected + 16, _PORTION)),), stream)
        hits, position = _walk(gaps, position, size)
        places.append(hits)
    hits = np.concatenate(places)
    kept = hits[toss(coin, (len(hits),), stream) == 1]
    return kept, cutoff + 1 + draw_geometric(exact, (len(kept),), stream)


@lru_cache(maxsize=256)
def rate(epsilon: Fraction, cutoff: int) -> Fraction:
    """Return a rational above -ln(1 - p), p the chance of noise above a cutoff; the relative excess is about 2^-64."""
    c = _CONTEXT
    step = c.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    # Not the operators: they would round to the precision of the caller's context.
    down = step.copy_negate()
    p = c.divide(c.exp(c.multiply(down, Decimal(cutoff + 1))), c.add(Decimal(1), c.exp(down)))
    # ln(1 - p) loses digits to cancellation when p is small; the first terms of its series do not.
    if p < Decimal("1e-12"):
        exact = sum((Fraction(p) ** k / k for k in range(1, 6)), Fraction(0))
    else:
        exact = -Fraction(c.ln(c.subtract(Decimal(1), p)))
    if exact < _SMALLEST_RATE:
        return _SMALLEST_RATE
    bits = 64 - math.floor(math.log2(exact))
    return Fraction(math.ceil(exact * 2**bits) + 1, 2**bits)


@dataclass(frozen=True)
class KeepChance:
    """The chance p/q = α^(τ+1) / ((1 + α)(1 - e^(-x))) with which the walk keeps a hit, by its exact digits.

    Its digits are found as those of a `Chance` are. It is not a digit boundary c: α^(τ+1) = c (1 + α)(1 - e^(-x)) would
    be a linear relation between e to different rational powers, which Lindemann and Weierstrass rule out.
    """

    epsilon: Fraction
    cutoff: int
    x: Fraction

    def digits(self, n: int) -> bytes:
        def enclose(precision: int) -> tuple[Fraction, Fraction]:
            powers = self.epsilon, self.epsilon * (self.cutoff + 1), self.x
            alpha, top, miss = (enclose_exp(y, n, precision) for y in powers)
            return top[0] / ((1 + alpha[1]) * (1 - miss[0])), top[1] / ((1 + alpha[0]) * (1 - miss[1]))

        return agreed_digits(n, enclose, 3 * n + 80)


@jit
def _walk(gaps: IntArray, position: int, size: int) -> tuple[IntArray, int]:  # pragma: no cover
    """Walk from a position to its hits by gaps; return the hits and the position after the last one."""
    hits = np.empty(gaps.size, np.int64)
    n = 0
    for gap in gaps:
        # A gap of a stride or more says only that the next stride is empty; the rest is drawn anew.
        if gap >= _STRIDE and size - position > _STRIDE:
            position += _STRIDE
            continue
        if gap >= size - position:
            return hits[:n], size
        hits[n] = position + gap
        position += gap + 1
        n += 1
        if position >= size:
            return hits[:n], size
    return hits[:n], position
