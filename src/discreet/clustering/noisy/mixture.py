"""Gaussian clusters behind a known isotropic Laplace noise: fitted under the law, in any dimension.

The noise of rate ε in d dimensions is a Gaussian of random width: with v = χ²/ε² of d + 1 degrees of freedom and g
standard normal, sqrt(v)·g has a density proportional to e^(-ε|z|) (Gómez-Sánchez-Manzano, Gómez-Villegas and Marín
2008). So every record has a latent width, as in the EM of a t-mixture. The integral over v is a trapezoid sum in log v.
Means climb by weighted least squares, covariances by Fisher scoring, with the true record integrated out. A prior holds
the means where noise drowns the clusters: they are spread as the true records are as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.clustering.noisy import _kernels as kernels
from discreet.core import FloatArray, IntArray, later

stats = later("scipy.stats")

Bounds = tuple[FloatArray, FloatArray]

#: Nodes of the noise's width. The log density is right to 0.01 up to the longest hundredth of the noise,
#: from 3 columns on up to the longest ten-thousandth (0.2 off there in one column).
_NODES = 16
#: No variance of a cluster falls below this part of the whole spread: below all resolution, and numbers stay finite.
_NARROWEST = 1e-4
#: The prior of the shares is worth this many times noise/spread records.
_SHARE_RECORDS = 20.0
#: A gain of the log likelihood per record below which the climb has arrived.
_ARRIVED = 1e-5


def width_nodes(dimension: int, rate: float, n_nodes: int = _NODES) -> tuple[FloatArray, FloatArray]:
    """Return nodes of the squared width v and the logarithms of their weights (which add up to 1)."""
    law = stats.chi2(dimension + 1)
    logs = np.linspace(np.log(law.ppf(1e-5)), np.log(law.isf(1e-10)), n_nodes)
    weights = law.logpdf(np.exp(logs)) + logs
    weights -= np.logaddexp.reduce(weights)
    return np.exp(logs) / rate**2, weights


@dataclass(frozen=True, eq=False)
class Components:
    """Gaussian clusters of true records: shares, means, and covariances by their axes (columns) and variances.

    ``score`` is the logarithm of likelihood times prior.
    """

    shares: FloatArray
    means: FloatArray
    axes: FloatArray
    variances: FloatArray
    score: float = -np.inf

    @classmethod
    def round(cls, shares: FloatArray, means: FloatArray, variance: float) -> Components:
        """Build round clusters of one variance."""
        k, d = means.shape
        axes = np.repeat(np.eye(d)[np.newaxis], k, axis=0)
        return cls(shares, np.ascontiguousarray(means), axes, np.full((k, d), variance))


@dataclass(frozen=True)
class CovarianceForm:
    """The form of the covariances. ``tied``: one for all clusters; ``round``: equal in every direction."""

    tied: bool
    round: bool

    def parameters(self, k: int, d: int) -> int:
        """Count the free numbers of a mixture of this form."""
        one = 1 if self.round else d * (d + 1) // 2
        return k - 1 + k * d + (one if self.tied else k * one)


#: From few to many parameters.
FORMS = (
    CovarianceForm(tied=True, round=True),
    CovarianceForm(tied=False, round=True),
    CovarianceForm(tied=True, round=False),
    CovarianceForm(False, False),
)


@dataclass(frozen=True, eq=False)
class ClusterPrior:
    """A prior of the clusters: means around a point with a precision, and equal shares."""

    mean: FloatArray
    precision: FloatArray
    records: float

    def log_density(self, c: Components) -> float:
        """Return the logarithm up to a constant."""
        gaps = c.means - self.mean
        shares = np.log(np.maximum(c.shares, 1e-300)).mean() * self.records
        return float(shares - 0.5 * np.einsum("jb,bc,jc->", gaps, self.precision, gaps))


class NoisyRecords:
    """Noisy records, the nodes of the law, and the box that true records lie in (None: unknown)."""

    def __init__(self, z: FloatArray, rate: float, box: Bounds | None) -> None:
        self.z, self.rate, self.box = np.ascontiguousarray(z), rate, box
        d = z.shape[1]
        self.nodes, self.log_nodes = width_nodes(d, rate)
        self.noise = (d + 1) / rate**2
        self.spread = max(float(np.mean(np.var(z, axis=0))) - self.noise, _NARROWEST * self.noise, 1e-200)
        self.floor = _NARROWEST * self.spread

    def part(self, rows: IntArray) -> NoisyRecords:
        """Return some of the records."""
        return NoisyRecords(self.z[rows], self.rate, self.box)

    def inside(self, points: FloatArray) -> FloatArray:
        """Move points into the box."""
        return points if self.box is None else np.clip(points, *self.box)

    def step(self, c: Components, form: CovarianceForm, prior: ClusterPrior | None) -> Components:
        """Take one step; the score in the result is that of the components *before* it."""
        k, d = c.means.shape
        precision, table = self._tables(c)
        if form.round:
            score, mass, pull, by, top, bottom = kernels.round_sums(
                self.z, c.means, c.variances[:, 0].copy(), table, self.nodes
            )
            known = (by + 1e-300)[:, np.newaxis, np.newaxis] * np.eye(d)
            if form.tied:
                top, bottom = np.full(k, top.sum()), np.full(k, bottom.sum())
            axes, variances = c.axes, np.repeat((top / np.maximum(bottom, 1e-300))[:, np.newaxis], d, axis=1)
        else:
            score, mass, pull, weight, square, per = kernels.sums(self.z, c.means, c.axes, precision, table, self.nodes)
            pull = np.einsum("jba,ja->jb", c.axes, pull)
            known = np.einsum("jba,ja,jca->jbc", c.axes, weight + 1e-300, c.axes)
            if form.tied:  # all have the same axes, so that the sums may be added
                square, per = (np.repeat(s.sum(axis=0)[np.newaxis], k, axis=0) for s in (square, per))
            inner = square / np.maximum(per, 1e-300)
            inner = np.tril(inner) + np.swapaxes(np.tril(inner, -1), 1, 2)
            variances, axes = np.linalg.eigh(c.axes @ inner @ np.swapaxes(c.axes, 1, 2))
        if prior is not None:
            pull, known = pull + (prior.mean - c.means) @ prior.precision, known + prior.precision
            score, mass = score + prior.log_density(c), mass + prior.records / k
        means = self.inside(c.means + _solved(known, pull))
        shares = (mass + 1e-300) / (mass + 1e-300).sum()
        return Components(shares, means, np.ascontiguousarray(axes), np.maximum(variances, self.floor), float(score))

    def climb(
        self, start: Components, form: CovarianceForm, steps: int, prior: ClusterPrior | None = None
    ) -> Components:
        """Step until the score stands still; return the best components met, with their score."""
        best, now, last = start, start, -np.inf
        for _ in range(steps):
            then = self.step(now, form, prior)
            if then.score > best.score:
                best = replace(now, score=then.score)
            if abs(then.score - last) < _ARRIVED * len(self.z):
                break
            last, now = then.score, then
        return best

    def whole(self) -> tuple[Components, ClusterPrior]:
        """Fit one cluster to all records, round or not as the Bayesian information criterion says; the prior of it."""
        n = len(self.z)
        middle = self.inside(np.median(self.z, axis=0)[np.newaxis])
        start = Components.round(np.ones(1), middle, max(self.spread, 0.05 * self.noise))
        plain = self.climb(start, FORMS[0], 50)
        shaped = self.climb(plain, FORMS[2], 50)
        found = plain if criterion(plain, FORMS[0], n) <= criterion(shaped, FORMS[2], n) else shaped
        variances = found.variances[0]
        if self.box is not None:  # more than the box holds is noise
            variances = np.minimum(variances, float(((self.box[1] - self.box[0]) ** 2).max()) / 4)
        axes = found.axes[0]
        precision = (axes / variances) @ axes.T
        return found, ClusterPrior(found.means[0], precision, _SHARE_RECORDS * self.noise / float(variances.max()))

    def shrunk(self, whole: Components) -> FloatArray:
        """Return the best linear guess of the true records, given their spread as a whole."""
        axes, variances = whole.axes[0], whole.variances[0]
        gain = (axes * (variances / (variances + self.noise))) @ axes.T
        return self.inside(whole.means[0] + (self.z - whole.means[0]) @ gain)

    def draws(self, c: Components, rows: IntArray, uniforms: FloatArray, normals: FloatArray) -> FloatArray:
        """Draw true records given some noisy ones: shape (records, draws, columns)."""
        precision, table = self._tables(c)
        z = np.ascontiguousarray(self.z[rows])
        return self.inside(
            kernels.posterior_draws(z, c.means, c.axes, c.variances, precision, table, self.nodes, uniforms, normals)
        )

    def _tables(self, c: Components) -> tuple[FloatArray, FloatArray]:
        table = kernels.tables(np.log(np.maximum(c.shares, 1e-300)), c.variances, self.nodes, self.log_nodes)
        return 1 / (c.variances[:, np.newaxis] + self.nodes[:, np.newaxis]), table


def best_form(
    records: NoisyRecords, start: Components, prior: ClusterPrior, steps: int
) -> tuple[CovarianceForm, Components]:
    """Let the covariances be of every form in turn; keep the one with the best Bayesian information criterion."""
    found = [(FORMS[0], start)]
    for form in FORMS[1:] if records.z.shape[1] > 1 else FORMS[1:2]:
        found.append((form, records.climb(found[-1][1] if form == FORMS[3] else start, form, steps, prior)))
    return min(found, key=lambda pair: criterion(pair[1], pair[0], len(records.z)))


def criterion(c: Components, form: CovarianceForm, n: int) -> float:
    """Return the Bayesian information criterion."""
    return form.parameters(*c.means.shape) * float(np.log(n)) - 2 * c.score


def _solved(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Solve by eigenvalues: a component without records has a matrix next to 0, and stays where it is."""
    values, axes = np.linalg.eigh(matrices)
    turned = np.einsum("jba,jb->ja", axes, vectors)
    solved: FloatArray = np.where(values > 1e-200, turned / np.maximum(values, 1e-200), 0.0)
    return np.asarray(np.einsum("jba,ja->jb", axes, solved))
