"""Which of two candidate records is behind a noisy point? The game that the promise of a metric mechanism is about."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.special import gammainc, gammaln

from discreet import noise
from discreet.core import FloatArray, checks
from discreet.errors import InvalidType
from discreet.evaluation.attacks import draws
from discreet.evaluation.attacks.laws import LawSpace, records
from discreet.evaluation.attacks.roc import ScoredAttack


def advantage_bound(level: float) -> float:
    """Return the most that any mechanism at this level allows: true minus false positive rate tanh(level/2).

    Parameters
    ----------
    level : float
        Privacy loss between the two candidates: rate times distance.

    Examples
    --------
    >>> round(advantage_bound(1.0), 3)
    0.462
    """
    return math.tanh(float(checks.positive("level", level)) / 2)


def best_advantage(level: float, dimension: int) -> float:
    """Return the advantage of the best attack on isotropic Laplace noise: the total variation of the two laws.

    The best attack says "the nearer one". It is right if the noise along the line between the candidates stays below
    half of their distance D, so the advantage is P(ρ |cos θ| < D/2) with radius ρ ~ Gamma(n, 1/rate) and angle θ of
    density proportional to sinⁿ⁻² θ, integrated over the angle numerically; 1 - exp(-level/2) on the line.

    Parameters
    ----------
    level : float
        Rate times distance.
    dimension : int
        Number of coordinates n.

    Examples
    --------
    >>> [round(best_advantage(1.0, n), 3) for n in (1, 2, 3, 5, 7, 10)]
    [0.393, 0.296, 0.242, 0.185, 0.155, 0.129]
    """
    half = float(checks.positive("level", level)) / 2
    n = checks.whole("dimension", dimension, low=1)
    if n == 1:
        return -math.expm1(-half)

    def inside(angle: float) -> float:
        return float(gammainc(n, half / max(math.cos(angle), 1e-300))) * math.sin(angle) ** (n - 2)

    # The chance changes where cos(angle) is about half/n: cut there, so that no bend is missed however narrow.
    bends = {math.acos(min(1.0, half / n * 10.0**k)) for k in range(-2, 4)}
    ends = sorted({0.0, math.pi / 2} | bends)
    total = sum(quad(inside, a, b, limit=200, epsabs=1e-13)[0] for a, b in pairwise(ends))
    whole = math.sqrt(math.pi) / 2 * math.exp(gammaln((n - 1) / 2) - gammaln(n / 2))
    return min(float(total) / whole, 1.0)


def distinguishing_attack(
    mechanism: Any = None,
    *,
    first: Any,
    second: Any,
    metric: Any = None,
    rate: Any = None,
    trials: int = 20_000,
    confidence: float = 0.95,
    random_state: Any = None,
) -> ScoredAttack:
    """Release two candidate records many times and tell by the likelihood ratio which one each point came from.

    Parameters
    ----------
    mechanism : object with transform, or callable; optional
        What perturbs rows. By default noise of the law is drawn here, which shows what the law allows.
    first, second : sequence of d numbers
        The candidates.
    metric, rate
        See `membership_attack`. By default the mechanism's own law and scale, where it has them.
    trials : int, default 20000
        Releases of each.
    confidence : float, default 0.95
        Of the intervals.
    random_state : None, int or Generator
        For noise drawn here, not for that of the mechanism.

    Returns
    -------
    ScoredAttack
        The score is rate (|z - second| - |z - first|); 0 is the threshold, known beforehand. ``facts`` holds
        ``level`` (rate times distance), ``best`` (see `best_advantage`) and ``bound`` (see `advantage_bound`). An
        advantage whose interval lies above the bound refutes the promise.

    Examples
    --------
    >>> found = distinguishing_attack(first=[0, 0], second=[0.1, 0], rate=20, random_state=1)
    >>> low, high = found.advantage_interval
    >>> low < found.facts["best"] < high
    True
    """
    pair = records("first and second", np.atleast_2d([np.ravel(first), np.ravel(second)]))
    n = checks.whole("trials", trials, low=10)
    level = float(checks.probability("confidence", confidence))
    stream = noise.generator(random_state)
    if metric is None and rate is None and hasattr(mechanism, "law"):
        metric = mechanism
    space = LawSpace.of(metric, rate, pair.shape[1])
    places = space.scale(pair)
    perturb = _perturber(mechanism, space, stream)

    def score(points: FloatArray) -> FloatArray:
        gaps = [np.linalg.norm(points - place, axis=1) for place in places]
        found: FloatArray = space.law.rate * (gaps[1] - gaps[0])
        return found

    # In one call: a seeded mechanism would give both the same noise in two.
    found = np.split(score(perturb(np.repeat(pair, n, axis=0))), 2)
    loss = space.law.rate * float(np.linalg.norm(places[0] - places[1]))
    facts = {
        "level": loss,
        "best": best_advantage(loss, pair.shape[1]) if loss else 0.0,
        "bound": advantage_bound(loss) if loss else 0.0,
    }
    return ScoredAttack("distinguishing", found[0], found[1], 0.0, None, None, None, level, facts)


def _perturber(mechanism: Any, space: LawSpace, stream: noise.Generator) -> Callable[[FloatArray], FloatArray]:
    """Return what takes raw rows to released points of the scaled space."""
    if mechanism is None:
        rate, n = space.law.rate, space.law.dimension
        return lambda rows: space.scale(rows) + draws.isotropic(len(rows), n, rate, stream)
    release = getattr(mechanism, "transform", mechanism)
    if not callable(release):
        raise InvalidType("mechanism", type(mechanism).__name__, "a mechanism with transform, or a callable")
    return lambda rows: space.scale(records("mechanism", release(rows), rows.shape[1]))
