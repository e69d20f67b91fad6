"""Linear regression from private moments.

All that least squares needs is sums of products, published at once. Relatives: Wang 2018 (AdaSSP), which spends a part
of the budget on the smallest eigenvalue to choose a ridge; here the ridge follows from the noise itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core import Domain, FloatArray
from discreet.models.estimator import NoScore, Regression, check_target
from discreet.models.solving import centred, intervals, slopes
from discreet.synopses import OpenRelease


class PrivateLinearRegression(Regression, mixins=("RegressorMixin",)):
    """Least squares with differential privacy: noisy sums of products, then a regularised solution.

    Attributes
    ----------
    coef_ : array of shape (features,)
        Coefficients in the units of the columns; `coef_names_` says whose.
    intercept_ : float
    moments_ : Moments
        What was released. Everything else follows from it.
    residual_std_ : float
        Estimated standard deviation of the residuals.
    guarantee_ : Guarantee
        Its promise.

    Notes
    -----
    `predict` is an exact function of the user's own rows, a table or a path: for the holder of the rows, not for
    publication. There is no ``score``. Rows with a missing value take no part.

    Privacy
    -------
    Neighbours: add or remove one row. Features and target are clamped to -1..1 by their declared bounds. The release is
    one vector of sums of products (`discreet.models.moments.publish`): with d columns, target included, a row changes
    at most (d + 1)(d + 2)/2 of them, each by at most 1. One draw of noise pays for all. The rest is post-processing. If
    the domain declares a person as the unit, at most ``unit.rows`` rows of a person are used, and the noise is that of
    ε/rows, or ρ/rows².

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(20, 70, 5000)
    >>> X = np.column_stack([age, 1000 + 30 * age + rng.uniform(-500, 500, 5000)])
    >>> domain = Domain({"age": (20, 70), "income": (1000, 4000)})
    >>> model = PrivateLinearRegression(1.0, domain, random_state=0).fit(X)
    >>> model.coefficients()
    <Coefficients: (intercept) 1019 [986.4, 1051], age 29.6 [28.92, 30.3]; 95 % intervals>
    """

    score = NoScore()

    def _solve(self, opening: OpenRelease) -> tuple[dict[str, Any], list[FloatArray]]:
        found = centred(self.moments_)
        scaled, self._residual = slopes(found)
        centres, halves = self._design.units
        self.residual_std_ = float(np.sqrt(self._residual) * halves[-1])
        self.coef_ = scaled * halves[-1] / halves[:-1]
        flat = found.means[-1] - found.means[1:-1] @ scaled
        self.intercept_ = float(centres[-1] + halves[-1] * flat - self.coef_ @ centres[:-1])
        return {"target": self.domain_.names[-1]}, []

    def predict(self, X: Any) -> FloatArray:
        """Return predictions within the declared bounds; NaN for a row with a missing value. Not for publication."""
        rows, (centres, halves) = self._spread(X)[:, 1:], self._design.units
        made = self.intercept_ + (rows * halves[:-1] + centres[:-1]) @ self.coef_
        return np.asarray(np.clip(made, self.domain_.low[-1], self.domain_.high[-1]), np.float64)

    def _ends(self, level: float, contrasts: FloatArray) -> tuple[FloatArray, FloatArray]:
        ends = np.array(intervals(self.moments_, self._residual, level, contrasts)) * self._design.units[1][-1]
        ends[:, 0] += self._design.units[0][-1]
        return ends[0], ends[1]

    def _fits(self, domain: Domain, epsilon: Any) -> None:
        check_target(domain, "numbers", "PrivateLogisticRegression for two categories", 0)
        super()._fits(domain, epsilon)
