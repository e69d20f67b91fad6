"""Directions near a given one: PrivUnit, on whole numbers (Bhowmick and others 2018; Asi, Feldman, Talwar 2022).

The law. N is isotropic Laplace noise rounded to whole numbers (`isotropic.py`), given that it is not 0. Given a
direction k, a vector of whole numbers, N is *in the cap* if its angle with k is at most arccos γ:
⟨N, k⟩ >= γ ‖N‖ ‖k‖. With chance p the report is N given that it is in the cap, else N given that it is not.

Privacy. With q_k the chance of the cap, P(n) is p μ(n)/q_k in the cap and (1 - p) μ(n)/(1 - q_k) outside. Were N's
direction uniform, q_k would be the cap's share q of the sphere, and with p/(1 - p) = e^ε q/(1 - q) the ratio would be
e^ε. Rounding moves N by at most √n/2, its angle by at most (π/4) √n/‖Y‖, so q_k differs from q by at most
c (π/2) √n E[1/‖Y‖] = c (π/2) √n/((n - 1) s) < 0.71/s, where s is the noise's scale and c the largest density of an
angle (for ‖Y‖ < √n/2 this exceeds 1, and leaving 0 out moves it by less than 1/s²). So q - 1/s < q_k < q + 1/s for
every k. The coin uses q' = (1 - 1e-9) q - 1/s, the 1e-9 for q's own digits: p/(1 - p) = e^ε q'/(1 - q'). As q' <= q_k
for every k, p/q_k · (1 - q_k')/(1 - p) <= e^ε for any two directions: no promise rests on floating point. Two
directions whose caps both hold n, or both do not, differ by less than 1 + 4/(s q'), below e^ε for the budgets allowed.

Exactness. The coin is exact (`thresholds.py`), N is exact, and the inner product is compared in doubles with a bound on
their error; cases that they leave open are decided in whole numbers.

Which cap. Given ε, p follows from q; the mean of N/‖N‖ is m k/‖k‖, m = A(γ) (p/q - (1 - p)/(1 - q)), with A(γ) =
(1 - γ²)^((n-1)/2) Γ(n/2)/(√π (n - 1) Γ((n-1)/2)), and the mean squared error of N/(m ‖N‖) is 1/m² - 1. γ makes m
largest. A cap below 2^-10 of the sphere would take too long to hit, so γ stops there.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from discreet.core import FloatArray, IntArray, jit, later
from discreet.noise.reports.coins import toss
from discreet.noise.reports.laws import Coin, ReportLaw, either_way
from discreet.noise.stream.generator import Generator, generator
from discreet.noise.stream.thresholds import Chance, chance_value
from discreet.noise.vector.isotropic import IsotropicNoise

optimize = later("scipy.optimize")
special = later("scipy.special")

#: γ is a multiple of 1/UNIT.
UNIT = 1 << 30
#: The smallest share of the sphere that a cap may have.
LEAST_SHARE = 2.0**-10
#: Coordinates drawn at a time.
_AT_ONCE = 1 << 20

_FINISHED, _OPEN = 0, 1


def vector_scale(dimension: int) -> int:
    """Return the scale s of the vectors that directions are taken from.

    Doubles cannot round a share of them that grows with s n². With this s, deciding those exactly costs less than
    drawing, up to 128 dimensions.
    """
    return 1 << max(24 - math.floor(2 * math.log2(max(dimension / 16, 1))), 18)


def cap_share(gamma: float, dimension: int) -> float:
    """Return the share of the sphere in n dimensions at an angle of at most arccos γ, for γ >= 0."""
    return 0.5 * float(special.betainc((dimension - 1) / 2, 0.5, (1 - gamma) * (1 + gamma)))


@dataclass(frozen=True)
class CapLaw(ReportLaw):
    """The law of a report about a direction in n dimensions."""

    epsilon: Fraction
    dimension: int

    @cached_property
    def gamma(self) -> Fraction:
        """The cosine of the cap's angle."""
        n, epsilon = self.dimension, float(self.epsilon)
        most = optimize.brentq(lambda g: cap_share(g, n) - LEAST_SHARE, 0.0, 1.0, xtol=1e-12)

        def loss(gamma: float) -> float:
            share = cap_share(gamma, n)
            return float(np.logaddexp(math.log1p(-share), epsilon + math.log(share)) - self._log_lift(gamma))

        tried = np.linspace(0.0, most, 201)
        best = int(np.argmin([loss(g) for g in tried]))
        ends = tried[max(best - 1, 0)], tried[min(best + 1, 200)]
        found = optimize.minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-9}).x
        return Fraction(max(round(found * UNIT), 1), UNIT)

    def _log_lift(self, gamma: float) -> float:
        # ln A(γ), see above.
        n = self.dimension
        front = special.gammaln(n / 2) - special.gammaln((n - 1) / 2) - math.log(n - 1) - math.log(math.pi) / 2
        return float(front + (n - 1) / 2 * math.log((1 - gamma) * (1 + gamma)))

    @cached_property
    def share(self) -> float:
        """The cap's share of the sphere, q."""
        return cap_share(float(self.gamma), self.dimension)

    @cached_property
    def least_share(self) -> Fraction:
        """The least share of any cap, q', which the coin is made for."""
        return Fraction(self.share) * (1 - Fraction(1, 10**9)) - Fraction(1, vector_scale(self.dimension))

    @property
    def inside(self) -> Chance:
        """The chance p of a report in the cap, e^ε q'/(e^ε q' + 1 - q')."""
        return Chance(a=self.least_share, c=self.least_share, d=1 - self.least_share, x=self.epsilon)

    @property
    def coins(self) -> dict[str, Coin]:
        return {"inside": Coin(self.inside, up=False)}

    def ratio(self, heads: Mapping[str, Fraction]) -> Fraction:
        """Return the largest ratio of the chances of a vector inside a cap of the least share and outside one."""
        share = self.least_share
        return either_way(heads["inside"] * (1 - share) / ((1 - heads["inside"]) * share))

    @property
    def chance(self) -> float:
        """p as a number."""
        return chance_value(self.inside)

    @cached_property
    def shrink(self) -> float:
        """The length of the mean of a report, as a unit vector: m."""
        others = 1 - self.least_share
        outside = chance_value(Chance(b=others, c=self.least_share, d=others, x=self.epsilon))
        return math.exp(self._log_lift(float(self.gamma))) * (self.chance / self.share - outside / (1 - self.share))

    @property
    def error(self) -> float:
        """The mean squared error of an unbiased report about a unit vector, 1/m² - 1."""
        return self.shrink**-2 - 1

    def draw(self, directions: IntArray, rng: object = None) -> IntArray:
        """Draw a report for every direction (rows of whole numbers below 2^31, none all 0)."""
        stream = rng if isinstance(rng, Generator) else generator(rng)
        out = np.empty(directions.shape, np.int64)
        wanted = toss(self.inside, (len(directions),), stream)
        source = IsotropicNoise.draw(self.dimension, Fraction(vector_scale(self.dimension)), stream)
        most = max(_AT_ONCE // self.dimension // 8 * 8, 8)
        row, first = 0, 0
        while row < len(out):
            heads = int(wanted[row:].sum())
            # A vector in the opposite cap serves as well, turned round: N and -N are equally likely.
            expected = heads / (2 * self.share) + (len(out) - row - heads) / (1 - self.share)
            candidates = np.zeros((min(int(expected * 1.05) // 8 * 8 + 16, most), self.dimension), np.int64)
            source.add(candidates, first)
            first += len(candidates)
            row = self._take(candidates, directions, wanted, row, out)
        return out

    def _take(self, candidates: IntArray, directions: IntArray, wanted: IntArray, row: int, out: IntArray) -> int:
        """Assign candidates to rows, in order, until either are used up; return the next row."""
        used = 0
        while True:
            used, row, state = _take_rows(candidates, used, directions, wanted, float(self.gamma), row, out)
            if state == _FINISHED:
                return row
            n, k = candidates[used].tolist(), directions[row].tolist()
            used += 1
            turned = -1 if wanted[row] and sum(a * b for a, b in zip(n, k, strict=True)) < 0 else 1
            if any(n) and in_cap([turned * x for x in n], k, self.gamma) == bool(wanted[row]):
                out[row] = np.multiply(n, turned)
                row += 1


@lru_cache(maxsize=256)
def cap_law(epsilon: Fraction, dimension: int) -> CapLaw:
    """Return the law; its cap is computed once."""
    return CapLaw(epsilon, dimension)


def in_cap(n: list[int], k: list[int], gamma: Fraction) -> bool:
    """Return whether ⟨n, k⟩ >= γ ‖n‖ ‖k‖, γ >= 0, in whole numbers."""
    product = sum(a * b for a, b in zip(n, k, strict=True))
    lengths = sum(a * a for a in n) * sum(b * b for b in k)
    return product >= 0 and product**2 * gamma.denominator**2 >= gamma.numerator**2 * lengths


@jit
def _take_rows(
    candidates: Any, used: int, directions: Any, wanted: Any, gamma: float, row: int, out: Any
) -> tuple[int, int, int]:  # pragma: no cover
    """Assign candidates to rows; stop with `_OPEN` at one that doubles cannot decide, or that is 0.

    A sum of n products of doubles is right to n units of 2^-53 of the sum of their sizes, which is at most the product
    of the lengths; the lengths themselves are right to (n + 2)/2 such units each. The bound is more than twice that.
    """
    n = out.shape[1]
    slack = 4 * (n + 4) * 2.0**-53
    while used < candidates.shape[0] and row < out.shape[0]:
        product, squares, own = 0.0, 0.0, 0.0
        for j in range(n):
            x, y = np.float64(candidates[used, j]), np.float64(directions[row, j])
            product += x * y
            squares += x * x
            own += y * y
        lengths = math.sqrt(squares) * math.sqrt(own)
        turned = 1
        if wanted[row] and product < 0:
            turned = -1
        gap = turned * product - gamma * lengths
        if abs(gap) <= slack * lengths:
            return used, row, _OPEN
        if (gap > 0) == (wanted[row] == 1):
            for j in range(n):
                out[row, j] = turned * candidates[used, j]
            row += 1
        used += 1
    return used, row, _FINISHED


def unit(vectors: IntArray) -> FloatArray:
    """Return vectors of whole numbers, none all 0, at length 1."""
    rows = vectors.astype(np.float64)
    rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return rows
