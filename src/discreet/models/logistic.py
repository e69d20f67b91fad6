"""Logistic regression from private moments and private gradients.

If features were normal, the coefficients would be those of the linear regression of the 0/1 target times a number
(Brillinger 1983; Stein's lemma), and that number follows from the moments too. This is the start. Then noisy gradients
of the likelihood on the rows themselves correct it, by Newton steps whose Hessian also follows from the moments. A step
is shrunk as far as its gradient is within its noise.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import Categorical, Declared, Domain, FloatArray, later
from discreet.core import options as shared
from discreet.engines.passes import COEFFICIENT, MOST_COEFFICIENT, GradientPass
from discreet.errors import InvalidArgument
from discreet.models.estimator import COLUMNS, TARGET, Coefficients, PrivateModel, contrasts, names_of
from discreet.models.moments import publish_gradient, publish_moments
from discreet.models.solving import Centred, centred, slopes, step
from discreet.synopses.queries import wide

special = later("scipy.special")
#: Share of the budget for the moments, and number of gradients, which share the rest.
MOMENTS, STEPS = Fraction(1, 3), 2
#: Bounds of the standard deviation of the margin that the start can have, and of a mean chance.
MOST_SPREAD, LEAST_CHANCE = 3.0, 1e-3
#: Prior width of a step, relative to the coefficients; the least one.
STEP_WIDTH, LEAST_WIDTH = 0.5, 0.1
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(48)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


class PrivateLogisticRegression(Declared, PrivateModel, mixins=("ClassifierMixin",)):
    """Logistic regression with differential privacy, for a target of two declared categories.

    Attributes
    ----------
    coef_ : array of shape (1, features)
        Coefficients in the units of the columns; `coef_names_` says whose. A category's is relative to the first
        declared one.
    intercept_ : array of shape (1,)
    classes_ : array of shape (2,)
        The declared categories of the target.
    moments_ : Moments
        The first part of the release.
    gradient_ : array
        The last gradient that was published, in units of one.
    guarantee_ : Guarantee
        Its promise.

    Notes
    -----
    `predict`, `predict_proba` and `score` are exact functions of the user's own rows: for the holder of the rows, not
    for publication. Rows with a missing value take no part.

    Privacy
    -------
    Neighbours: add or remove one row. Features are clamped to -1..1 by their declared bounds. A third of the budget
    pays for the moments (`discreet.models.moments.publish_moments`). The coefficients that follow are public by then.
    The rest pays for two gradients at public coefficients: a row adds (y - p) z, of which every entry is at most 1
    (`discreet.models.moments.publish_gradient`). Everything else is post-processing. If the domain declares a person as
    the unit, at most ``unit.rows`` rows of a person are used, and the noise is that of ε/rows, or ρ/rows².

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(20, 70, 5000)
    >>> ill = rng.random(5000) < 1 / (1 + np.exp(-(age - 50) / 10))
    >>> domain = Domain({"age": (20, 70), "ill": [False, True]})
    >>> model = PrivateLogisticRegression(1.0, domain, random_state=0).fit(np.column_stack([age, ill]))
    >>> model.predict([[25.0], [65.0]]).tolist()
    [False, True]
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

    def fit(self, X: Any, y: Any = None) -> PrivateLogisticRegression:
        """Publish moments and gradient, and solve. ``X`` has the target among its columns, or ``y`` holds it."""
        opening, design = self._open(X, y)
        self.moments_ = publish_moments(opening, design, opening.gate.left * MOMENTS)
        found = centred(self.moments_)
        theta = normal_start(found)
        mean = found.means[1:-1]
        second = _bordered(1.0, mean, found.scatter / found.n + np.outer(mean, mean))
        for i in range(STEPS):
            theta = np.rint(np.clip(theta, -MOST_COEFFICIENT, MOST_COEFFICIENT) * COEFFICIENT) / COEFFICIENT
            job = GradientPass(design, (theta * COEFFICIENT).astype(np.int64))
            price = opening.gate.left / (STEPS - i)
            self.gradient_, noise = publish_gradient(opening, job, price, f"gradient {i + 1}")
            hessian = normal_hessian(found, theta)
            width = max(STEP_WIDTH * math.sqrt(float(np.mean(theta[1:] ** 2))), LEAST_WIDTH)
            free, theta = theta, theta + step(hessian, self.gradient_, noise, width, second)
        inverse = np.linalg.pinv(hessian, hermitian=True)
        self._free = free + inverse @ self.gradient_, inverse @ (hessian + noise * np.eye(len(theta))) @ inverse
        self._weighted = opening.weights is not None
        own = contrasts(design) @ theta
        self.intercept_, self.coef_ = own[:1], own[np.newaxis, 1:]
        self.coef_names_ = names_of(design)[:-1]
        self.classes_ = np.array(opening.domain.columns[-1].categories)  # type: ignore[union-attr]
        self._theta = theta
        payload = np.append(self.moments_.values, self.gradient_)
        self._finish(X, opening, design, {"target": opening.domain.names[-1]}, payload)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return the log-odds of the second category; NaN for a row with a missing value. Not for publication."""
        return self._spread(X, lambda z: z @ self._theta)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the chances of both categories. Not for publication."""
        chance = special.expit(self.decision_function(X))
        return np.column_stack([1 - chance, chance])

    def predict(self, X: Any) -> Any:
        """Return the likelier category of each row; the first for a row with a missing value. Not for publication."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def coefficients(self, level: float = 0.95) -> Coefficients:
        """Return the coefficients with intervals, of the intercept first.

        An interval accounts for the noise of the gradient and for the choice of rows, not for the noise of the Hessian.
        The guide states how often intervals held the coefficient in trials. Estimates are regularised and intervals are
        not, so an estimate need not be in the middle.
        """
        reach = wide(level)
        if self._weighted:
            raise InvalidArgument("level", level, "left out: rows counted by weight have no intervals", "coef_")
        rows, (middle, cover) = contrasts(self._design), self._free
        error = reach * np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, cover, rows), 0.0))
        names, values = ("(intercept)", *self.coef_names_), np.append(self.intercept_, self.coef_)
        return Coefficients(names, values, rows @ middle - error, rows @ middle + error, level)

    def _fits(self, domain: Domain, epsilon: Any) -> None:
        last = domain.columns[-1]
        if not isinstance(last, Categorical) or len(last.categories) != 2:
            expected = "the name of a column of two declared categories"
            raise InvalidArgument("target", last.name, expected, f'domain={{..., {last.name!r}: ["no", "yes"]}}')
        super()._fits(domain, epsilon)


def normal_start(found: Centred) -> FloatArray:
    """Return the coefficients, intercept first, that fit the moments if features are jointly normal.

    With slopes γ of the linear regression they are kγ, where k E[σ'(m)] = 1 and E[σ(m)] is the mean of the target, m
    the normal margin. Where no k is large enough, the margin has standard deviation `MOST_SPREAD`.
    """
    gamma, _ = slopes(found)
    spread = math.sqrt(max(float(gamma @ found.scatter @ gamma) / found.n, 1e-12))
    mean = float(np.clip(found.means[-1], LEAST_CHANCE, 1 - LEAST_CHANCE))
    low, high = 0.0, MOST_SPREAD / spread
    for _ in range(60):
        k = (low + high) / 2
        chance = special.expit(_offset(mean, k * spread) + k * spread * _NODES)
        low, high = (k, high) if k * float(_WEIGHTS @ (chance * (1 - chance))) < 1 else (low, k)
    slope = (low + high) / 2 * gamma
    return np.append(_offset(mean, (low + high) / 2 * spread) - found.means[1:-1] @ slope, slope)


def _offset(mean: float, spread: float) -> float:
    """Return the mean of a normal margin with this standard deviation and this mean chance."""
    low, high = -40.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        above = float(_WEIGHTS @ special.expit(middle + spread * _NODES)) > mean
        low, high = (low, middle) if above else (middle, high)
    return (low + high) / 2


def normal_hessian(found: Centred, theta: FloatArray) -> FloatArray:
    """Return the expected Hessian Σ p(1 - p) zz' at coefficients, intercept first, if features are jointly normal."""
    mu, cover, slope = found.means[1:-1], found.scatter / found.n, theta[1:]
    spread = math.sqrt(max(float(slope @ cover @ slope), 1e-12))
    along = cover @ slope / spread  # x = mu + along z + a rest that is independent of z
    chance = special.expit(theta[0] + mu @ slope + spread * _NODES)
    weights = _WEIGHTS * chance * (1 - chance)
    zero, one, two = (float(weights @ _NODES**power) for power in range(3))
    first = zero * mu + one * along
    inner = zero * (cover - np.outer(along, along) + np.outer(mu, mu)) + two * np.outer(along, along)
    inner += one * (np.outer(mu, along) + np.outer(along, mu))
    return found.n * _bordered(zero, first, inner)


def _bordered(corner: float, side: FloatArray, inner: FloatArray) -> FloatArray:
    """Return a symmetric matrix with the row of the intercept first."""
    return np.block([[np.full((1, 1), corner), side[np.newaxis]], [side[:, np.newaxis], inner]])
