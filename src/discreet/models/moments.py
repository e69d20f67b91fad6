"""Publication of moments: noisy sums of the products of all pairs of features."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.core import Domain, FloatArray, IntArray
from discreet.core.budget import Epsilon, Price, Rho
from discreet.engines.passes import UNIT, Design, GradientPass, MomentsPass, batch_rows
from discreet.mechanisms import Law, Moves, law_for
from discreet.synopses import OpenRelease


@dataclass(frozen=True, eq=False)
class Moments:
    """Noisy sums of products of features in -1..1: the published values, and the variance of their noise.

    Examples
    --------
    >>> design = Design(Domain({"x": (0, 10)}))
    >>> Moments(design, np.array([4.0, 2.0, -1.0]), 0.5).matrix.tolist()  # n, Σx and Σ(2x² - 1)
    [[4.0, 2.0], [2.0, 1.5]]
    """

    design: Design
    values: FloatArray
    variance: float

    @property
    def matrix(self) -> FloatArray:
        """The sums as a symmetric matrix; the first row is that of the intercept."""
        places, own = self.design.places, np.flatnonzero(self.design.squares)
        out = np.where(places >= 0, self.values[places], 0.0)
        out[own, own] = (out[own, own] + self.values[0]) / 2
        return np.asarray(out, np.float64)

    @property
    def variances(self) -> FloatArray:
        """The variance of the noise on each entry of the matrix."""
        own = np.flatnonzero(self.design.squares)
        out = np.where(self.design.places >= 0, self.variance, 0.0)
        out[own, own] /= 2  # half of the sum of two
        return np.asarray(out, np.float64)

    def weights(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return the weight of each published value in ``left' M right``: its noise follows from these."""
        places, own = self.design.places, np.flatnonzero(self.design.squares)
        shares = np.outer(left, right)
        halves = shares[own, own] / 2
        shares[own, own] = halves
        known = places >= 0
        out = np.bincount(places[known], shares[known], minlength=len(self.values))
        out[0] += halves.sum()
        return np.asarray(out, np.float64)


def publish_moments(opening: OpenRelease, design: Design, price: Price) -> Moments:
    """Publish the moments of a table.

    Privacy
    -------
    Neighbours: add or remove one row. In units of UNIT² it changes at most ``design.moved`` sums, each by at most 1
    (`Design`): by 1 in maximum norm, ``moved`` in L1 norm and √moved in Euclidean norm. In ε one draw of the noise with
    the least variance of these three is enough, in ρ Gaussian noise. Price: as given, once.
    """
    found = _publish(opening, "moments", MomentsPass(design), design.size, design.moved, price)
    return Moments(design, *found)


def publish_gradient(opening: OpenRelease, job: GradientPass, price: Price, label: str) -> tuple[FloatArray, float]:
    """Publish the gradient of the logistic likelihood at public coefficients; return it with its noise variance.

    Privacy
    -------
    Neighbours: add or remove one row. It adds (y - p) z with |y - p| <= 1 and |z_j| <= 1. Of the categories of a column
    one is not 0. So with c feature columns at most c + 1 sums change, each by at most 1 in units of UNIT², and noise is
    that of `publish_moments`. Price: as given, once.
    """
    return _publish(opening, label, job, len(job.coefficients), len(job.domain), price)


def _publish(
    opening: OpenRelease, label: str, job: MomentsPass | GradientPass, size: int, moved: int, price: Price
) -> tuple[FloatArray, float]:
    moves, _ = best_noise(price, size, moved)

    def read() -> IntArray:
        rows = batch_rows(len(job.design.terms) + 1)
        return job.result(opening.source.run(job, rows))[np.newaxis]

    found = opening.gate.vectors(label, read, price, moves)
    return found.values[0] / float(UNIT) ** 2, found.variance / float(UNIT) ** 4


def best_noise(price: Price, size: int, moved: int) -> tuple[Moves, Law]:
    """Return the sensitivity whose noise has the least variance, for sums in units of UNIT², and its law."""
    square = moved * UNIT**4
    if isinstance(price, Rho):
        ways = [Moves(l2_squared=square)]
    else:
        ways = [Moves(l1=moved * UNIT**2), Moves(linf=UNIT**2), Moves(l2_squared=square)]
    laws = [(moves, law_for(price, moves, size)) for moves in ways]
    drawn = [each for each in laws if each[1].drawable] or laws[:1]
    return min(drawn, key=lambda each: each[1].variance)


def gaussian_better(design_of: Callable[[Domain], Design]) -> Callable[[Domain, Epsilon, Rho], bool]:
    """Return a rule that decides by public values whether Gaussian noise is narrower."""

    def better(domain: Domain, pure: Epsilon, rho: Rho) -> bool:
        design = design_of(domain)
        least = best_noise(pure, design.size, design.moved)[1].variance
        return best_noise(rho, design.size, design.moved)[1].variance < (least or math.inf)

    return better
