"""Audits from a single run, with many made-up records that are each included by a coin toss.

Steinke, Nasr and Jagielski, "Privacy auditing with one (1) training run" (2023). One run gives as many trials as
there are canaries, with a looser bound.
"""

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import BoolArray, checks, later
from discreet.errors import InvalidArgument, InvalidType
from discreet.evaluation.audits.bounds import read_claim, read_delta
from discreet.noise.stream import numpy_stream, root_of

stats = later("scipy.stats")

_SHARES = (1.0, 0.5, 0.25, 0.1)
_LARGEST = 60.0


@dataclass(frozen=True)
class OneRunResult:
    """Result of one run with canaries.

    Attributes
    ----------
    epsilon_lower : float
        The true ε is at least this.
    claimed : float or None
        The claim.
    confidence, delta : float
        Confidence of the bound, and δ of the claim.
    canaries, guesses, correct : int
        Canaries, those guessed in or out, and correct guesses.

    Examples
    --------
    >>> OneRunResult(0.7, 1.0, 0.99, 0.0, 1000, 500, 370).passed
    True
    """

    epsilon_lower: float
    claimed: float | None
    confidence: float
    delta: float
    canaries: int
    guesses: int
    correct: int

    @property
    def passed(self) -> bool | None:
        """True if the bound is within the claim. A pass is not a proof."""
        return None if self.claimed is None else self.epsilon_lower <= self.claimed

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        return {**asdict(self), "passed": self.passed}

    def to_json(self, *, indent: int | None = None) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        text = (
            f"ε is at least {self.epsilon_lower:.4g} with {self.confidence:.4g} confidence: {self.correct:,} of "
            f"{self.guesses:,} guesses about {self.canaries:,} canaries were right"
        )
        if self.claimed is not None:
            text += f"; claimed {self.claimed:.6g}: " + ("not refuted" if self.passed else "REFUTED")
        return text if self.passed is False else text + ". This is not a proof of privacy."


def one_run_epsilon(
    canaries: int, guesses: int, correct: int, *, confidence: float = 0.99, delta: float = 0.0
) -> float:
    """Return the lower bound on ε from the number of correct guesses.

    Parameters
    ----------
    canaries, guesses, correct : int
        m canaries, r of them guessed, v of those correctly.
    confidence : float, default 0.99
        Confidence of the bound.
    delta : float, default 0
        The δ of the claim.

    Notes
    -----
    Each canary is included with probability 1/2, independently. Under ε-differential privacy the odds of each coin,
    given the release and all other coins, are between e^-ε and e^ε. So the number of correct guesses is dominated by a
    binomial W of r trials with probability e^ε/(1 + e^ε). Under (ε, δ) the release may also reveal F canaries with E[F]
    <= 2 m δ, and

        Pr[v or more correct] <= Pr[W >= v] + 2 m δ · max over i >= 1 of Pr[v - i <= W < v] / i

    (theorem 5.2 of the paper). The bound is the largest ε at which this is at most 1 - confidence.

    Examples
    --------
    >>> round(one_run_epsilon(1000, 1000, 731), 3), round(one_run_epsilon(1000, 1000, 731, delta=1e-5), 3)
    (0.833, 0.832)
    """
    m = checks.whole("canaries", canaries, low=1)
    r = checks.whole("guesses", guesses, low=0, high=m)
    v = checks.whole("correct", correct, low=0, high=r)
    miss = 1 - float(checks.probability("confidence", confidence))
    slack = read_delta(delta)
    return _bound(m, r, v, miss, slack)


def _bound(m: int, r: int, v: int, miss: float, delta: float) -> float:
    if v == 0 or tail(m, r, v, 0.0, delta) > miss:
        return 0.0
    low, high = 0.0, _LARGEST
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(m, r, v, middle, delta) <= miss else (low, middle)
    return low


def tail(m: int, r: int, v: int, epsilon: float, delta: float) -> float:
    """Return the bound on the probability of v or more correct guesses under (ε, δ); see `one_run_epsilon`."""
    chance = 1 / (1 + math.exp(-epsilon))
    found = float(stats.binom.sf(v - 1, r, chance))
    if delta:
        gained = np.cumsum(stats.binom.pmf(np.arange(v - 1, -1, -1), r, chance))
        found += 2 * m * delta * float((gained / np.arange(1, v + 1)).max(initial=0.0))
    return min(found, 1.0)


def one_run_audit(
    mechanism: Callable[..., Any],
    data: Any,
    canaries: Any,
    score: Callable[[Any, Any], Any],
    *,
    guesses: int | None = None,
    confidence: float = 0.99,
    epsilon: float | None = None,
    delta: float = 0.0,
    random_state: object = None,
) -> OneRunResult:
    """Bound ε from one run on the data with a random half of the canaries included.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(data, rng)``; run once. Neighbours differ by one row added or removed.
    data : array or list, or None
        The other rows; None if there are only canaries.
    canaries : array or list
        Made-up rows, fixed before the run, as different from the data and each other as possible.
    score : callable
        ``score(release, canaries)`` returns a number per canary; higher means "included".
    guesses : int, optional
        How many canaries to guess: half of them with the highest scores (in), half with the lowest (out). By default
        all, a half, a quarter and a tenth are tried, each bound with a quarter of the error probability.
    confidence, epsilon, delta
        As in `audit`.
    random_state : None, int or Generator
        Seed of the coins and the run.

    Examples
    --------
    >>> def release(rows, rng):              # each row through a bit that is right with probability 0.9: ε = ln 9
    ...     there = np.isin(np.arange(400), rows)
    ...     return there ^ (rng.random(400) < 0.1)
    >>> found = one_run_audit(release, None, np.arange(400), lambda bits, rows: bits[rows], random_state=1)
    >>> found.canaries, 1.4 < found.epsilon_lower < 2.197
    (400, True)
    """
    if not callable(mechanism) or not callable(score):
        name, value = ("score", score) if callable(mechanism) else ("mechanism", mechanism)
        raise InvalidType(name, value, "a function", f"{name}=lambda *args: ...")
    if not hasattr(canaries, "__len__") or len(canaries) < 2:
        raise InvalidArgument("canaries", canaries, "an array or list of at least 2 rows", "canaries=np.eye(100)")
    m = len(canaries)
    level = float(checks.probability("confidence", confidence))
    claimed = read_claim(epsilon)
    slack = read_delta(delta)
    if guesses is None:
        tried = sorted({max(2, 2 * int(m * share / 2)) for share in _SHARES}, reverse=True)
    else:
        tried = [checks.whole("guesses", guesses, low=1, high=m)]
    root = root_of(random_state)
    coins = noise.bernoulli(0.5, size=m, rng=root % 2**63).astype(bool)
    release = mechanism(_with(data, canaries, coins), numpy_stream(root, 1))
    found = np.asarray(score(release, canaries), np.float64).ravel()
    if len(found) != m:
        raise InvalidArgument("score", len(found), f"a function that returns {m} numbers, one a canary")
    order = np.argsort(np.where(np.isnan(found), -np.inf, found) + 0.0, kind="stable")
    best = (-1.0, tried[0], 0)
    for r in tried:
        outs, ins = order[: r // 2], order[m - (r - r // 2) :]
        correct = int((~coins[outs]).sum() + coins[ins].sum())
        best = max(best, (_bound(m, r, correct, (1 - level) / len(tried), slack), r, correct))
    return OneRunResult(best[0], claimed, level, slack, m, best[1], best[2])


def _with(data: Any, canaries: Any, coins: BoolArray) -> Any:
    """Return the data with the included canaries."""
    if isinstance(canaries, np.ndarray):
        chosen = canaries[coins]
        return chosen if data is None else np.concatenate([np.asarray(data), chosen])
    drawn = [c for c, coin in zip(canaries, coins.tolist(), strict=True) if coin]
    return drawn if data is None else [*data, *drawn]
