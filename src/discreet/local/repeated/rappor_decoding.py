"""Decoding of RAPPOR: weighted least squares on the bits of all cohorts, with a column for unlisted values.

Cohort i has N_i reports, c_ij of them with bit j set. y_ij = (c_ij/N_i - p*)/(q* - p*) estimates the share of the
cohort that sets bit j. X is the 0/1 matrix of the bits that a candidate sets in each cohort, with one more column, the
constant φ = 1 - (1 - 1/B)^h, for everyone who holds no candidate. y = Xθ + noise is fitted with the weights N_i. The
variance of θ̂ = Ay, A = (XᵀWX)⁻¹XᵀW, is the diagonal of

    A (D + blockdiag(X_i Σ X_iᵀ/N_i) + U) Aᵀ - Σ/n,   Σ = diag θ - θθᵀ,
    D = diag([x q*(1-q*) + (1-x) p*(1-p*)]/(N_i (q*-p*)²)),  x = Xθ̂ clipped to [0, 1].

D is the noise; the Σ terms are the random split into cohorts. U = diag(φ(1-φ)(Θ/N_i + S)) is the part of unlisted
values that the constant column misses; Θ is their share, S the sum of their squared shares, estimated from the
residuals.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import FloatArray, later
from discreet.errors import InvalidArgument
from discreet.local.estimates import Estimate
from discreet.local.repeated.rappor_law import RapporLaw
from discreet.local.repeated.rappor_lists import LEAST_COHORTS, MOST_SOLVED
from discreet.noise import HashFamily

linalg = later("scipy.linalg")
sparse = later("scipy.sparse")

#: Below this reciprocal condition doubles cannot separate the candidates' columns.
_SINGULAR = 1e-10


@dataclass(frozen=True, eq=False)
class RapporEstimate(Estimate):
    """Estimates, with the number of reporters who hold none of the candidates.

    For long lists, ``stability`` is the share of random halves of the cohorts in which a lasso selects each candidate.
    """

    unlisted: float = 0.0
    unlisted_error: float = 0.0
    stability: FloatArray | None = None

    def _pick(self, places: npt.NDArray[np.intp]) -> Estimate:
        kept = None if self.stability is None else self.stability[places]
        return replace(super()._pick(places), stability=kept)  # type: ignore[call-arg]


@dataclass(frozen=True)
class NormalEquations:
    """The normal equations of one set of counters and candidates.

    ``weights`` holds N_i/n of the cohorts with reports, ``design`` X without its last column, ``shares`` y with one row
    per cohort, ``n`` the number of reports.
    """

    law: RapporLaw
    weights: FloatArray
    design: Any
    shares: FloatArray
    n: int

    def normal(self) -> tuple[FloatArray, FloatArray]:
        """Return XᵀWX and XᵀWy."""
        phi, design = self.law.filled, self.design
        weights = np.repeat(self.weights, self.law.bits)
        weighted = design.multiply(weights[:, None]).tocsr()
        last = phi * weighted.sum(axis=0)
        corner = phi**2 * self.law.bits  # the weights of the cohorts add up to 1
        full = np.block([[(design.T @ weighted).toarray(), last[:, None]], [last[None, :], np.array([[corner]])]])
        y = self.shares.ravel()
        return full, np.append(weighted.T @ y, phi * float(weights @ y))

    def fit(self) -> tuple[FloatArray, FloatArray]:
        """Return the fitted shares, the unlisted one last, and their standard errors."""
        matrix, right = self.normal()
        inverse = _inverse(matrix)
        theta = inverse @ right
        phi, n, candidates = self.law.filled, self.n, len(theta) - 1
        one, zero = (v / self.law.gap**2 for v in self.law.variances())
        unlisted = min(max(theta[-1], 0.0), 1.0) * phi * (1 - phi)
        noise, split, spread = np.zeros(candidates + 1), np.zeros(candidates + 1), np.zeros(candidates + 1)
        excess = freedom = 0.0
        for cohort, (w, y) in enumerate(zip(self.weights, self.shares, strict=True)):
            x, reports = self.design[cohort * self.law.bits : (cohort + 1) * self.law.bits], w * n
            seen = x @ inverse[:-1] + phi * inverse[-1]  # X_i (XᵀWX)⁻¹
            fitted = x @ theta[:-1] + phi * theta[-1]
            bit = np.clip(fitted, 0, 1)
            own = (bit * one + (1 - bit) * zero + unlisted) / reports
            # X_i Σ X_iᵀ
            both = (x.multiply(theta[:-1]) @ x.T).toarray() + phi**2 * theta[-1] - np.outer(fitted, fitted)
            noise += (w**2 * own) @ seen**2
            spread += w**2 * (seen**2).sum(axis=0)
            split += w / n * np.einsum("jv,jv->v", both @ seen, seen)
            # What is left of a unit of variance in this row after the fit: one minus its leverage.
            left = w * (1 - w * (np.asarray(x.multiply(seen[:, :-1]).sum(axis=1)).ravel() + phi * seen[:, -1]))
            excess += float((w * (y - fitted) ** 2).sum() - left @ (own + np.diag(both) / reports))
            freedom += float(left.sum())
        split -= (theta - theta**2) / n
        unexplained = max(excess / freedom, 0.0) if freedom > 0 else 0.0
        return theta, np.sqrt(noise + np.maximum(split, 0.0) + unexplained * spread)


def system(law: RapporLaw, family: HashFamily, labels: list[Any], reports: Any, ones: Any) -> NormalEquations:
    """Set up the equations; refuse candidates that the bits cannot separate.

    ``family`` has ``law.hashes`` functions per cohort, cohort by cohort; ``reports`` and ``ones`` are N_i and c_ij.
    """
    used = np.flatnonzero(reports)
    rows = len(used) * law.bits
    if min(rows // 2, MOST_SOLVED) < len(labels):
        expected = (
            f"at most half as many as cohorts times bits, here {min(rows // 2, MOST_SOLVED)}, unless reports come from "
            f"{LEAST_COHORTS} cohorts or more (here {len(used)})"
        )
        raise InvalidArgument("candidates", f"{len(labels)} values", expected, "fewer candidates, or more cohorts")
    functions = family.n_functions // law.hashes, law.hashes, len(labels)
    bits = family.all(labels).reshape(functions)[used] + law.bits * np.arange(len(used))[:, None, None]
    columns = np.broadcast_to(np.arange(len(labels)), bits.shape).ravel()
    design = sparse.csr_array((np.ones(len(columns)), (bits.ravel(), columns)), shape=(rows, len(labels)))
    design.data[:] = 1.0  # entries of one place were added up: two hashes on one bit count once
    held = np.asarray(reports, np.float64)[used]
    shares = (np.asarray(ones, np.float64)[used] / held[:, None] - float(law.p_star)) / law.gap
    return NormalEquations(law, held / held.sum(), design, shares, int(held.sum()))


def _inverse(matrix: FloatArray) -> FloatArray:
    """Invert the normal matrix, or refuse."""
    try:
        factor, low = linalg.cho_factor(matrix)
        condition, _ = linalg.lapack.dpocon(factor, np.abs(matrix).sum(axis=0).max())
    except linalg.LinAlgError:
        condition = 0.0
    if condition < _SINGULAR:
        expected = "told apart by the bits of the cohorts: the equations have no one solution"
        raise InvalidArgument("candidates", f"{len(matrix) - 1} values", expected, "no value twice, or more cohorts")
    return np.asarray(linalg.cho_solve((factor, low), np.eye(len(matrix))))
