"""Linear regression from private moments.

All that least squares needs is sums of products, published at once. Relatives: Wang 2018 (AdaSSP), which spends a part
of the budget on the smallest eigenvalue to choose a ridge; here the ridge follows from the noise itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core import Categorical, Declared, Domain, FloatArray
from discreet.core import options as shared
from discreet.errors import InvalidArgument
from discreet.models.estimator import COLUMNS, TARGET, Coefficients, PrivateModel, contrasts, names_of, units_of
from discreet.models.moments import publish_moments
from discreet.models.solving import centred, intervals, slopes


class PrivateLinearRegression(Declared, PrivateModel, mixins=("RegressorMixin",)):
    """Least squares with differential privacy: noisy sums of products, then a regularised solution.

    Attributes
    ----------
    coef_ : array of shape (features,)
        Coefficients in the units of the columns; `coef_names_` says whose. A category's is relative to the first
        declared one.
    intercept_ : float
    moments_ : Moments
        What was released. Everything else follows from it.
    residual_std_ : float
        Estimated standard deviation of the residuals.
    guarantee_ : Guarantee
        Its promise.

    Notes
    -----
    `predict` and `score` are exact functions of the user's own rows: for the holder of the rows, not for publication.
    Rows with a missing value take no part.

    Privacy
    -------
    Neighbours: add or remove one row. Features and target are clamped to -1..1 by their declared bounds. The release is
    one vector of sums of products (`discreet.models.moments.publish_moments`): with d columns, target included, a row
    changes at most (d + 1)(d + 2)/2 of them, each by at most 1. One draw of noise pays for all. The rest is
    post-processing. If the domain declares a person as the unit, at most ``unit.rows`` rows of a person are used, and
    the noise is that of ε/rows, or ρ/rows².

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

    epsilon: float = shared.EPSILON
    domain: Any = shared.DOMAIN
    target: str | None = TARGET
    columns: Any = COLUMNS
    random_state: Any = shared.RANDOM_STATE
    rho: Any = shared.RHO
    delta: Any = shared.DELTA
    expect_rows: int | None = shared.EXPECT_ROWS
    check_first: float | None = shared.CHECK_FIRST
    ledger: Any = shared.LEDGER

    def fit(self, X: Any, y: Any = None) -> PrivateLinearRegression:
        """Publish the moments and solve. ``X`` has the target among its columns, or ``y`` holds it."""
        opening, design = self._open(X, y)
        moments = publish_moments(opening, design, opening.gate.left)
        found = centred(moments)
        scaled, self._residual = slopes(found)
        self.moments_, self._weighted = moments, opening.weights is not None
        centres, halves = units_of(design)
        self.residual_std_ = float(np.sqrt(self._residual) * halves[-1])
        self.coef_ = scaled * halves[-1] / halves[:-1]
        self._middle = float(centres[-1])
        flat = found.means[-1] - found.means[1:-1] @ scaled
        self.intercept_ = float(self._middle + halves[-1] * flat - self.coef_ @ centres[:-1])
        self.coef_names_ = names_of(design)[:-1]
        self._finish(X, opening, design, {"target": opening.domain.names[-1]}, moments.values)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return predictions within the declared bounds; NaN for a row with a missing value. Not for publication."""
        rows = self._spread(X, lambda z: z[:, 1:])
        centres, halves = units_of(self._design)
        made = self.intercept_ + (rows * halves[:-1] + centres[:-1]) @ self.coef_
        return np.asarray(np.clip(made, self.domain_.low[-1], self.domain_.high[-1]), np.float64)

    def coefficients(self, level: float = 0.95) -> Coefficients:
        """Return the coefficients with intervals, of the intercept first.

        An interval accounts for noise and for the choice of rows, with residuals of equal variance. Estimates are
        regularised and intervals are not, so an estimate need not be in the middle, nor inside where noise is large.
        """
        if self._weighted:
            raise InvalidArgument("level", level, "left out: rows counted by weight have no intervals", "coef_")
        low, high = intervals(self.moments_, self._residual, level, contrasts(self._design))
        _, halves = units_of(self._design)
        centre = np.append(self._middle, np.zeros(len(self.coef_)))
        values = np.append(self.intercept_, self.coef_)
        names = ("(intercept)", *self.coef_names_)
        return Coefficients(names, values, centre + halves[-1] * low, centre + halves[-1] * high, level)

    def _fits(self, domain: Domain, epsilon: Any) -> None:
        last = domain.columns[-1]
        if isinstance(last, Categorical):
            fix = "PrivateLogisticRegression" if len(last.categories) == 2 else "a target with bounds"
            raise InvalidArgument("target", last.name, "the name of a column of numbers", fix)
        super()._fits(domain, epsilon)
