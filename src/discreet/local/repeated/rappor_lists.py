"""Decoding of RAPPOR for long lists of candidates: a lasso, with errors that hold.

With more candidates than half of cohorts times bits, the equations of `rappor_decoding` have no stable solution. A
lasso path finds the common ones. For errors, split the cohorts into two halves, fit b on one half, and take the
residual of the other. With X_cj(r) = 1 if candidate j sets bit r in cohort c, φ the probability of that, and B bits,
every cohort c of the other half gives for every candidate

    t_cj = b_j + Σ_r (X_cj(r) - φ) (y_c(r) - Σ_i b_i X_ci(r)) / (B φ (1 - φ)).

Over the hash functions, (X_cj - φ) has mean 0 and is independent of all other values, of the noise, and of b, which
other cohorts gave. So the mean of t_cj is the share θ_j, however good the lasso is; a good b only lowers its variance.
The spread of t_cj over cohorts is the error. Every random split is used both ways (Shah, Samworth 2013), and t_cj is
averaged over splits. The *stability* of a candidate is the share of halves in which a lasso selects it with a penalty
that noise alone seldom passes (Meinshausen, Bühlmann 2010). b is the point of the path with the least Mallows' C_p.
"""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import BoolArray, FloatArray, IntArray
from discreet.errors import InvalidArgument
from discreet.local.repeated.rappor_law import RapporLaw
from discreet.noise import HashFamily

#: Splits of the cohorts into halves. More would hardly change the estimates.
_SPLITS = 10
#: Errors come from the spread over cohorts: fewer would not give any.
LEAST_COHORTS = 16
#: Reports in few large cohorts are no better than few cohorts: as many as there would be of one size, n²/ΣN².
_LEAST_EVEN = 8
#: A fit looks at no more candidates than this, those that agree best with the bits; and at no more of their bits.
_MOST_FITTED, _MOST_BITS = 2000, 2 * 10**7
#: The equations are solved for no more candidates than this: time grows with the cube.
MOST_SOLVED = 4096
#: Cohorts times hashes times candidates: what fits memory.
_MOST_PLACES = 3 * 10**7
_PATH = 25


@dataclass(frozen=True)
class _Design:
    """The bits that candidates set, by cohort, hash and candidate; ``again`` marks those that a lower hash set."""

    bits: IntArray
    again: BoolArray
    width: int
    phi: float

    def dense(self, cohorts: IntArray, columns: IntArray) -> FloatArray:
        """Return X - φ for some cohorts and candidates, one row per bit, in Fortran order for the lasso."""
        full = np.full((len(columns), len(cohorts), self.width), -self.phi)
        for bits in self.bits[cohorts].swapaxes(0, 1):  # hash by hash
            full[np.arange(len(columns))[:, None], np.arange(len(cohorts)), bits[:, columns].T] = 1 - self.phi
        return full.reshape(len(columns), -1).T

    def products(self, cohorts: IntArray, left: FloatArray) -> FloatArray:
        """Return Σ_r (X_cj(r) - φ) left_c(r) for some cohorts and all candidates."""
        rows = np.arange(len(cohorts))[:, None]
        total = np.repeat(-self.phi * left.sum(axis=1)[:, None], self.bits.shape[2], axis=1)
        for number in range(self.bits.shape[1]):
            found = left[rows, self.bits[cohorts, number]]
            total += np.where(self.again[cohorts, number], 0.0, found)
        return total


def decode_list(law: RapporLaw, family: HashFamily, labels: list[Any], reports: Any, ones: Any) -> tuple[Any, ...]:
    """Estimate the shares of a long list of different candidates.

    Returns shares and errors, the same two for unlisted values, and how often each candidate was selected.

    ``family`` has ``law.hashes`` functions per cohort, cohort by cohort; ``reports`` and ``ones`` count the reports of
    every cohort and those with each bit set.
    """
    used = np.flatnonzero(reports)
    n_cohorts = family.n_functions // law.hashes
    if n_cohorts * law.hashes * len(labels) > _MOST_PLACES:
        most = max(_MOST_PLACES // (n_cohorts * law.hashes), min(len(used) * law.bits // 2, MOST_SOLVED))
        raise InvalidArgument("candidates", f"{len(labels)} values", f"at most {most} at once", "candidates in parts")
    words, order = np.unique(noise.fingerprint(labels, family.key), return_index=True)
    if len(words) < len(labels):
        raise InvalidArgument("candidates", f"{len(labels)} values", "different ones", "no value twice")
    sizes = np.asarray(reports, np.float64)[used]
    even = sizes.sum() ** 2 / (sizes**2).sum()
    if even < _LEAST_EVEN:
        expected = (
            f"at most {min(len(used) * law.bits // 2, MOST_SOLVED)}: errors of a longer list come from the spread over "
            f"cohorts, and with reports as uneven as these there is that of {even:.1f} cohorts, not of {_LEAST_EVEN}"
        )
        raise InvalidArgument("candidates", f"{len(labels)} values", expected, "fewer candidates")
    # A path ends a little early, and where depends on the order of its columns.
    labels, place = [labels[i] for i in order], np.argsort(order)
    bits = family.all(labels).reshape(n_cohorts, law.hashes, len(labels))[used]
    again = np.zeros(bits.shape, bool)
    for number in range(1, law.hashes):
        again[:, number] = (bits[:, :number] == bits[:, [number]]).any(axis=1)
    design = _Design(bits, again, law.bits, law.filled)
    raw = (np.asarray(ones, np.float64)[used] / sizes[:, None] - float(law.p_star)) / law.gap
    weights = sizes / sizes.sum()
    y = raw - weights @ raw.mean(axis=1)
    one, zero = (v / law.gap**2 for v in law.variances())
    held = np.clip(raw, 0, 1)
    variance = float(((held * one + (1 - held) * zero) / sizes[:, None]).mean())
    found, chosen = np.zeros((len(used), len(labels))), np.zeros(len(labels))
    for split in range(_SPLITS):
        order = noise.permutation(len(used), rng=split)  # which cohorts go together is no secret and no data
        halves = order[: len(used) // 2], order[len(used) // 2 :]
        for fitted, other in (halves, halves[::-1]):
            columns, fit, selected = _fit(design, fitted, y, variance)
            chosen[selected] += 1
            share = np.zeros(len(labels))
            share[columns] = fit
            left = y[other] - (design.dense(other, columns) @ fit).reshape(len(other), -1)
            found[other] += share + design.products(other, left) / (law.bits * law.filled * (1 - law.filled))
    found /= _SPLITS

    def spread(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        # The mean follows a large cohort, whose own deviation then says little: of one that has a share w of the
        # reports it is 1 - 2w + Σw² of what it is from the truth. (Of equal cohorts: 1 - 1/C.)
        mean, squares = weights @ rows, weights**2
        return mean, np.sqrt((squares / (1 - 2 * weights + squares.sum())) @ (rows - mean) ** 2)

    share, error = spread(found)
    rest, rest_error = spread(1 - found.sum(axis=1, keepdims=True))
    # Most of a long list is absent, and absent values have one error: their median is far more accurate.
    pooled = np.maximum(error, np.median(error))
    stability = chosen[place] / (2 * _SPLITS)
    return share[place], pooled[place], rest[0], rest_error[0], stability


def _fit(design: _Design, cohorts: IntArray, y: FloatArray, variance: float) -> tuple[IntArray, FloatArray, IntArray]:
    """Return some candidates, their fitted shares, and those that a strict penalty selects."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import lasso_path

    target = y[cohorts].ravel()
    rows = len(target)
    agrees = design.products(cohorts, y[cohorts]).sum(axis=0)
    columns = np.sort(np.argsort(-agrees, kind="stable")[: min(_MOST_FITTED, max(1, _MOST_BITS // rows))])
    x = design.dense(cohorts, columns)
    strict = math.sqrt(variance * design.phi * (1 - design.phi) * 2 * math.log(max(len(agrees), 2)) / rows)
    penalties = np.geomspace(max(float(agrees.max()) / rows, 1.01 * strict), strict / 4, _PATH)
    with warnings.catch_warnings():
        # A path that stops a little early is another b, and any b will do.
        warnings.simplefilter("ignore", ConvergenceWarning)
        alphas, fits, _ = lasso_path(x, target, positive=True, alphas=penalties, tol=1e-3)
    misfit = ((target[:, None] - x @ fits) ** 2).sum(axis=0) + 2 * variance * (fits > 0).sum(axis=0)
    selected = columns[fits[:, np.argmin(np.abs(alphas - strict))] > 0]
    return columns, fits[:, np.argmin(misfit)], selected
