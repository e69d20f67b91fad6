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

from discreet.core import Categorical, Domain, FloatArray, later
from discreet.engines.passes import COEFFICIENT, MOST_COEFFICIENT, MomentsPass
from discreet.models.estimator import NoScore, Regression, check_target
from discreet.models.moments import publish
from discreet.models.solving import Centred, centred, slopes, solver, step
from discreet.synopses import OpenRelease
from discreet.synopses.queries import wide

special = later("scipy.special")
#: Share of the budget for the moments, and number of gradients, which share the rest.
MOMENTS, STEPS = Fraction(1, 3), 2
#: Bounds of the standard deviation of the margin that the start can have, and of a mean chance.
MOST_SPREAD, LEAST_CHANCE = 3.0, 1e-3
#: Prior width of a step, relative to the coefficients; the least one.
STEP_WIDTH, LEAST_WIDTH = 0.5, 0.1
#: Share by which the Hessian of normal features is off on other rows, for intervals; chosen on generated tables.
WRONG = 0.35
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(48)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


class PrivateLogisticRegression(Regression, mixins=("ClassifierMixin",)):
    """Logistic regression with differential privacy, for a target of two declared categories.

    Attributes
    ----------
    coef_ : array of shape (1, features)
        Coefficients of the log-odds of the second category, ``classes_[1]``, in the units of the columns;
        `coef_names_` says whose.
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
    `predict` and `predict_proba` are exact functions of the user's own rows, a table or a path: for the holder of the
    rows, not for publication. There is no ``score``. Rows with a missing value take no part.

    Privacy
    -------
    Neighbours: add or remove one row. Features are clamped to -1..1 by their declared bounds. A third of the budget
    pays for the moments. The coefficients that follow are public by then. The rest pays for two gradients at public
    coefficients: a row adds (y - p) z, of which every entry is at most 1 (`discreet.models.moments.publish`).
    Everything else is post-processing. If the domain declares a person as the unit, at most ``unit.rows`` rows of a
    person are used, and the noise is that of ε/rows, or ρ/rows².

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

    _share = MOMENTS
    score = NoScore()

    def _solve(self, opening: OpenRelease) -> tuple[dict[str, Any], list[FloatArray]]:
        found = centred(self.moments_)
        theta, second = normal_start(found), found.spread + np.outer(found.means[:-1], found.means[:-1])
        for i in range(STEPS):
            whole = np.rint(np.clip(theta, -MOST_COEFFICIENT, MOST_COEFFICIENT) * COEFFICIENT)
            job, theta = MomentsPass(self._design, whole.astype(np.int64)), whole / COEFFICIENT
            price = opening.gate.left / (STEPS - i)
            self.gradient_, noise = publish(opening, f"gradient {i + 1}", job, price)
            hessian = normal_hessian(found, theta)
            width = max(STEP_WIDTH * math.sqrt(float(np.mean(theta[1:] ** 2))), LEAST_WIDTH)
            self._last = theta, hessian, noise
            theta = theta + step(hessian, self.gradient_, noise, width, second)
        own = self._contrasts() @ theta
        self.intercept_, self.coef_, self._theta = own[:1], own[np.newaxis, 1:], theta
        self.classes_ = np.array(self.domain_.columns[-1].categories)  # type: ignore[union-attr]
        return {"target": self.domain_.names[-1]}, [self.gradient_]

    def decision_function(self, X: Any) -> FloatArray:
        """Return the log-odds of the second category; NaN for a row with a missing value. Not for publication."""
        return np.asarray(self._spread(X) @ self._theta, np.float64)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the chances of both categories. Not for publication."""
        chance = special.expit(self.decision_function(X))
        return np.column_stack([1 - chance, chance])

    def predict(self, X: Any) -> Any:
        """Return the likelier category of each row; the first for a row with a missing value. Not for publication."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def _ends(self, level: float, contrasts: FloatArray) -> tuple[FloatArray, FloatArray]:
        start, hessian, noise = self._last
        inverse, unseen = solver(hessian, contrasts)
        along, full, z = contrasts @ inverse, inverse @ self.gradient_, wide(level)
        curve, length = np.einsum("ij,ij->i", contrasts, along), (along**2).sum(axis=1)
        # Noise of an entry of the Hessian, which is that of the moments, by what it adds to the step; then the error of
        # the Hessian itself, as a share of it: |a'H⁻¹EH⁻¹g| is at most the share times the lengths of a and step in H.
        blur = self.moments_.variance * (hessian[0, 0] / max(self.moments_.values[0], 1.0)) ** 2
        spread = curve + noise * length + blur * (length * (full @ full) + (along @ full) ** 2)
        spread += WRONG**2 * curve * float(full @ hessian @ full)
        sure = 1 - z * math.sqrt(2 * blur) * length / np.maximum(curve, 1e-300)  # of the slope of the gradient
        error = z * np.sqrt(np.maximum(spread, 0.0)) / np.where(sure > 0, sure, 1.0)
        error[unseen | (sure <= 0)] = math.inf
        middle = contrasts @ (start + full)
        return middle - error, middle + error

    def _fits(self, domain: Domain, epsilon: Any) -> None:
        last = domain.columns[-1]
        known = list(last.categories) if isinstance(last, Categorical) else []
        two = known[:2] if len(known) > 2 else ["no", "yes"]
        fix = f"domain={{..., {last.name!r}: {two!r}}}" if known else "PrivateLinearRegression for numbers"
        more = " (rows with another value than these two are left out)" if len(known) > 2 else ""
        check_target(domain, f"two declared categories{more}", fix, 2)
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
    mu, cover = found.means[:-1], found.spread
    spread = math.sqrt(max(float(theta @ cover @ theta), 1e-12))
    along = cover @ theta / spread  # z = mu + along u + a rest that is independent of the normal u
    chance = special.expit(mu @ theta + spread * _NODES)
    weights = _WEIGHTS * chance * (1 - chance)
    zero, one, two = (float(weights @ _NODES**power) for power in range(3))
    mixed = np.outer(mu, along)
    rest = cover + np.outer(mu, mu)
    return found.n * (zero * rest + (two - zero) * np.outer(along, along) + one * (mixed + mixed.T))
