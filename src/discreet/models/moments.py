"""Publication of moments: noisy sums of the products of all pairs of features."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.core import Domain, FloatArray
from discreet.core.budget import Epsilon, Price, Rho
from discreet.engines.passes import UNIT, Design, MomentsPass, batch_rows
from discreet.mechanisms import Law, Moves, law_for
from discreet.synopses import OpenRelease


@dataclass(frozen=True, eq=False)
class Moments:
    """Noisy sums of products of features in -1..1: the published values, and the variance of their noise.

    Rows that count by weight are counted in the steps of their weights.

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
        return self._spread(self.values, self.values[0])

    @property
    def variances(self) -> FloatArray:
        """The variance of the noise on each entry of the matrix; that of a square is half the sum of two."""
        return self._spread(np.full(len(self.values), self.variance), 0.0)

    def weights(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return the weight of each published value in ``left' M right``: its noise follows from these."""
        places, own, shares = self.design.places, self.design.squares, np.outer(left, right)
        shares[own, own] /= 2
        known = places >= 0
        out = np.bincount(places[known], shares[known], minlength=len(self.values))
        out[0] += shares[own, own].sum()
        return np.asarray(out, np.float64)

    def _spread(self, values: FloatArray, first: float) -> FloatArray:
        places, own = self.design.places, self.design.squares
        out = np.where(places >= 0, values[places], 0.0)
        out[own, own] = (out[own, own] + first) / 2
        return np.asarray(out, np.float64)


def publish(opening: OpenRelease, label: str, job: MomentsPass, price: Price) -> tuple[FloatArray, float]:
    """Publish the moments of a table, or a gradient at public coefficients; return it with its noise variance.

    Privacy
    -------
    Neighbours: add or remove one row. In units of UNIT² it changes at most ``moved`` sums, each by at most 1: by 1 in
    maximum norm, ``moved`` in L1 norm and √moved in Euclidean norm. For moments see `Design`. To a gradient it adds
    (y - p) z with |y - p| <= 1 and |z_j| <= 1, and of the categories of a column one is not 0: with c feature columns
    c + 1 sums change. In ε one draw of the noise with the least variance of these three is enough, in ρ Gaussian noise.
    Price: as given, once.
    """
    design = job.design
    wide = (design.size, design.moved) if job.coefficients is None else (len(job.coefficients), len(design.domain))
    rows = batch_rows(len(design.places))
    found = opening.gate.vectors(
        label, lambda: job.result(opening.source.run(job, rows))[np.newaxis], price, best_noise(price, *wide)[0]
    )
    return found.values[0] / float(UNIT) ** 2, found.variance / float(UNIT) ** 4


def best_noise(price: Price, size: int, moved: int) -> tuple[Moves, Law]:
    """Return the sensitivity whose noise has the least variance, for sums in units of UNIT², and its law."""
    ways = [Moves(l2_squared=moved * UNIT**4)]
    if not isinstance(price, Rho):
        ways = [Moves(l1=moved * UNIT**2), Moves(linf=UNIT**2), *ways]
    laws = [(moves, law_for(price, moves, size)) for moves in ways]
    return min((each for each in laws if each[1].drawable), key=lambda each: each[1].variance, default=laws[0])


def gaussian_better(domain: Domain, pure: Epsilon, rho: Rho) -> bool:
    """Decide by public values whether Gaussian noise is narrower."""
    design = Design(domain)
    least, normal = (best_noise(price, design.size, design.moved)[1] for price in (pure, rho))
    return normal.drawable and normal.variance < (least.variance or math.inf)
