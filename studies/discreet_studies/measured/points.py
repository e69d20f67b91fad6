"""Two attacks on perturbed points: which of two records is behind a point, and what repeated reports reveal."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.special import gammainc, gammaln

from discreet import noise
from discreet.core import FloatArray, checks, normal_width
from discreet.errors import InvalidType
from discreet.evaluation import ScoredAttack
from discreet.evaluation.attacks import LawSpace, draws, records

#: Steps towards a geometric median.
_ROUNDS = 200


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


@dataclass(frozen=True, eq=False)
class AveragingResult(ScoredAttack):
    """Errors against the number of reports. The scores are minus the errors of the likeliest point of all reports.

    Attributes
    ----------
    repeats : tuple of int
        Numbers of reports.
    mean_errors, likely_errors : ndarray
        Mean distance from the truth, of the mean of the reports and of their likeliest origin.
    half_widths : ndarray
        Of the interval around each of ``likely_errors``.
    shares : ndarray
        Of people found within ``within`` by the likeliest point.
    expected_noise : float
        n/rate.

    Examples
    --------
    >>> found = averaging_attack(None, np.zeros((200, 2)), rate=10, repeats=(1, 16), random_state=1)
    >>> bool(found.likely_errors[1] < found.likely_errors[0] / 3)
    True
    """

    repeats: tuple[int, ...] = ()
    mean_errors: FloatArray = field(default_factory=lambda: np.empty(0))
    likely_errors: FloatArray = field(default_factory=lambda: np.empty(0))
    half_widths: FloatArray = field(default_factory=lambda: np.empty(0))
    shares: FloatArray = field(default_factory=lambda: np.empty(0))
    expected_noise: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        return {
            **super().to_dict(),
            "repeats": list(self.repeats),
            "mean_errors": self.mean_errors.tolist(),
            "likely_errors": self.likely_errors.tolist(),
            "half_widths": self.half_widths.tolist(),
            "shares_within": self.shares.tolist(),
        }

    def __str__(self) -> str:
        steps = ", ".join(f"{m}: {e:.4g}" for m, e in zip(self.repeats, self.likely_errors, strict=True))
        text = f"{self.name}: mean error by number of reports {steps}; n/rate is {self.expected_noise:.4g}"
        return text + "; all reports about a person are the same" if self.facts.get("same") else text

    __repr__ = __str__


def averaging_attack(
    mechanism: Any,
    originals: Any,
    *,
    metric: Any = None,
    rate: Any = None,
    repeats: Sequence[int] = (1, 2, 4, 8, 16, 32),
    within: float | None = None,
    confidence: float = 0.95,
    random_state: Any = None,
) -> AveragingResult:
    """Let every person report several times with fresh noise, and find them from all reports together.

    Parameters
    ----------
    mechanism : object with transform, or callable, or None
        What perturbs rows, with fresh noise at every call; one with a fixed seed, or one that remembers what it said,
        repeats itself and gives nothing more away. None draws noise of the law here.
    originals : array of shape (n, d)
        The true records.
    metric, rate
        See `distinguishing_attack`.
    repeats : sequence of int
        Numbers of reports to try.
    within : float, optional
        A guess this near in the scaled space is a success; by default a quarter of n/rate.
    confidence : float, default 0.95
        Of the intervals.
    random_state : None, int or Generator
        For noise drawn here and for the control.

    Returns
    -------
    AveragingResult
        Its rates are those at the most reports. The control holds each guess against somebody else; the baseline is
        a single report.

    Notes
    -----
    Under noise with density exp(-rate distance), the likeliest origin of reports is the point of least total distance
    to them, their geometric median. With m reports the error falls as 1/√m, and the privacy loss is m times that of
    one: the ledger charges for every report because this attack exists.

    Examples
    --------
    >>> people = np.random.default_rng(1).random((300, 3))
    >>> found = averaging_attack(None, people, rate=20, repeats=(1, 4, 16, 64), random_state=1)
    >>> bool((np.diff(found.likely_errors) < 0).all())
    True
    """
    truth = records("originals", originals, least=2)
    counts = _counts(repeats)
    level = float(checks.probability("confidence", confidence))
    stream = noise.generator(random_state)
    if metric is None and rate is None and hasattr(mechanism, "law"):
        metric = mechanism
    space = LawSpace.of(metric, rate, truth.shape[1])
    perturb = _perturber(mechanism, space, stream)
    reports = np.stack([perturb(truth) for _ in range(counts[-1])], axis=1)
    guesses = [(reports[:, :m].mean(axis=1), geometric_medians(reports[:, :m])) for m in counts]

    # From here on the evaluator speaks, who knows the truth.
    places = space.scale(truth)
    near = space.expected_noise / 4 if within is None else float(checks.positive("within", within))
    errors = [[np.linalg.norm(guess - places, axis=1) for guess in pair] for pair in guesses]
    wide = normal_width(level) / np.sqrt(len(truth))
    mixed = draws.others(len(truth), stream)
    control = -np.linalg.norm(guesses[-1][1][mixed] - places, axis=1)
    single = -np.linalg.norm(reports[:, 0] - places, axis=1)
    mistaken = -np.linalg.norm(reports[mixed, 0] - places, axis=1)
    blind = ScoredAttack("one report", single, mistaken, -near, confidence=level)
    return AveragingResult(
        "averaging",
        -errors[-1][1],
        control,
        -near,
        None,
        None,
        blind,
        level,
        {"within": near, "same": counts[-1] > 1 and bool((reports == reports[:, :1]).all())},
        counts,
        np.array([pair[0].mean() for pair in errors]),
        np.array([pair[1].mean() for pair in errors]),
        np.array([wide * pair[1].std(ddof=1) for pair in errors]),
        np.array([(pair[1] <= near).mean() for pair in errors]),
        space.expected_noise,
    )


def _counts(repeats: Any) -> tuple[int, ...]:
    if isinstance(repeats, (str, bytes)) or not isinstance(repeats, Sequence) or not len(repeats):
        raise InvalidType("repeats", repeats, "a list of whole numbers", "repeats=(1, 4, 16)")
    return tuple(sorted({checks.whole("repeats", m, low=1) for m in repeats}))


def geometric_medians(reports: FloatArray) -> FloatArray:
    """Return the point of least total distance to each person's reports, shape (people, reports, columns).

    Where the guess is on a report, that report pulls with at most its weight (Vardi and Zhang 2000).
    """
    guess: FloatArray = reports.mean(axis=1)
    for _ in range(_ROUNDS):
        gaps = reports - guess[:, None]
        far = np.linalg.norm(gaps, axis=2)
        here = far < 1e-12
        weight = np.divide(1.0, far, out=np.zeros_like(far), where=~here)
        pull, total = (weight[:, :, None] * gaps).sum(axis=1), weight.sum(axis=1)
        force = np.linalg.norm(pull, axis=1)
        step = np.maximum(1 - np.divide(here.sum(axis=1), force, out=np.ones_like(force), where=force > 0), 0)
        moved = pull * np.divide(step, total, out=np.zeros_like(total), where=total > 0)[:, None]
        guess = guess + moved
        if float(np.abs(moved).max(initial=0.0)) < 1e-9:
            break
    return guess
