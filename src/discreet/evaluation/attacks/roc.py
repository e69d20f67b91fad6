"""Results of attacks that score people: curve, rates at a fixed threshold, intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from discreet import noise
from discreet.core import BoolArray, FloatArray, Told, checks, later, normal_width, wilson
from discreet.errors import InvalidArgument
from discreet.evaluation.attacks import draws


@dataclass(frozen=True)
class Rate:
    """A share of successes with its Wilson interval.

    Examples
    --------
    >>> rate = Rate(8, 10)
    >>> rate.value, [round(x, 4) for x in rate.interval]
    (0.8, [0.4902, 0.9433])
    """

    successes: int
    trials: int
    confidence: float = 0.95

    @property
    def value(self) -> float:
        """The share; 0 without trials."""
        return self.successes / self.trials if self.trials else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end; 0 and 1 without trials."""
        low, high = wilson(self.successes, self.trials, self.confidence)
        return float(low), float(high)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {"successes": self.successes, "trials": self.trials, "rate": self.value, "interval": list(self.interval)}

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.3f} ({low:.3f} to {high:.3f})"


@dataclass(frozen=True)
class AttackResult(Told):
    """Result of an attack on a released table.

    Attributes
    ----------
    name, confidence
        The attack, and the confidence of all intervals.
    attack, control, baseline : Rate
        Success on people whose records were released, on people whose records were not, and of random guesses. The
        control is None without a control group; the risk is then over the baseline.
    facts
        Further results as plain data.

    Examples
    --------
    >>> result = AttackResult("linkability", Rate(60, 100), Rate(20, 100), Rate(1, 100))
    >>> round(result.risk, 3), [round(x, 3) for x in result.risk_interval]
    (0.5, [0.366, 0.621])
    """

    name: str
    attack: Rate
    control: Rate | None
    baseline: Rate
    confidence: float = 0.95
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def _others(self) -> Rate:
        return self.baseline if self.control is None else self.control

    @property
    def risk(self) -> float:
        """(attack - control)/(1 - control): what the release adds. May be below 0; 0 if the control always succeeds."""
        a, c = self.attack.value, self._others.value
        return (a - c) / (1 - c) if c < 1 else 0.0

    @property
    def risk_interval(self) -> tuple[float, float]:
        """Interval of the risk, from the Wilson ends of both rates as independent errors.

        The distances to the Wilson ends, times the slopes 1/(1 - c) and (1 - a)/(1 - c)² of the risk, are squared and
        added, separately for the lower and the upper end (as Zou and Donner 2008 do for a difference).
        """
        a, c = self.attack.value, self._others.value
        if c >= 1:
            return 0.0, 1.0
        (a_low, a_high), (c_low, c_high) = self.attack.interval, self._others.interval
        by_attack, by_control = 1 / (1 - c), (1 - a) / (1 - c) ** 2
        low = self.risk - math.hypot((a - a_low) * by_attack, (c_high - c) * by_control)
        high = self.risk + math.hypot((a_high - a) * by_attack, (c - c_low) * by_control)
        return max(low, -1.0), min(high, 1.0)

    @property
    def better_than_guessing(self) -> bool:
        """True if the attack on released people beats the baseline beyond both intervals."""
        return self.attack.interval[0] > self.baseline.interval[1]

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        return {
            "attack": self.name,
            "confidence": self.confidence,
            "on_released": self.attack.to_dict(),
            "on_control": None if self.control is None else self.control.to_dict(),
            "baseline": self.baseline.to_dict(),
            "risk": self.risk,
            "risk_interval": list(self.risk_interval),
            "better_than_guessing": self.better_than_guessing,
            **self.facts,
        }

    @property
    def verdict(self) -> str:
        """The result in a sentence."""
        a, c = _percent(self.attack.value), _percent(self._others.value)
        over = "on others" if self.control else "by guessing"
        said = f"{a} of the attempts succeed on people in the release, {c} {over}"
        return f"{said}: the release {'helps' if self.risk_interval[0] > 0 else 'does not measurably help'}."

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the figures as a table: measure, value, meaning."""
        over = "baseline" if self.control is None else "control"
        found = [
            ("risk", _ends(self.risk, self.risk_interval), f"(attack - {over})/(1 - {over}): what the release adds"),
            ("on released people", str(self.attack), "share of successes"),
            ("on the control group", str(self.control), "share of successes though not released"),
            ("baseline", str(self.baseline), "share of successes by guessing"),
        ]
        if self.control is None:
            del found[2]
        if "bound" in self.facts:
            meaning = "the largest share that the promise allows"
            found.append(("allowed by epsilon", f"{self.facts['bound']:.3f}", meaning))
        return found

    def __str__(self) -> str:
        low, high = self.risk_interval
        text = (
            f"{self.name}: risk {self.risk:.3f} ({low:.3f} to {high:.3f}); success {self.attack} on released people, "
            f"{'' if self.control is None else f'{self.control} on others, '}{self.baseline} by guessing"
        )
        return text if self.better_than_guessing else text + "; no better than guessing"


metrics = later("sklearn.metrics")
special = later("scipy.special")
stats = later("scipy.stats")

#: What an attacker who must rarely be wrong still finds.
LOW_RATES = (0.01, 0.001)


class Roc(NamedTuple):
    """A receiver operating characteristic: shares called members at falling thresholds, from (0, 0) to (1, 1)."""

    fpr: FloatArray
    tpr: FloatArray
    thresholds: FloatArray


@dataclass(frozen=True, eq=False)
class ScoredAttack(Told):
    """Result of an attack that scores people. High scores mean "in the release", or "guessed well".

    Attributes
    ----------
    name, confidence, facts
        The attack, the confidence of all intervals, and further results as plain data.
    scores, control_scores : ndarray
        Scores of people in the release, and of others.
    threshold : float
        People with at least this score are called a success. Fixed without the people it is judged on.
    judged, judged_control : ndarray of bool
        People it is judged on; the others fixed the threshold.
    blind : ScoredAttack or None
        Baseline: the same people attacked without the release.

    Examples
    --------
    >>> found = ScoredAttack("by age", np.array([3.0, 2.0, 1.0]), np.array([0.0, 1.5]), 1.7)
    >>> round(found.advantage, 3), round(found.auc, 3), round(found.tpr_at(0.01), 3)
    (0.667, 0.833, 0.667)
    """

    name: str
    scores: FloatArray
    control_scores: FloatArray
    threshold: float
    judged: BoolArray | None = None
    judged_control: BoolArray | None = None
    blind: ScoredAttack | None = None
    confidence: float = 0.95
    facts: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse scores that are not numbers: they would compare as chance."""
        gone = int(np.isnan(self.scores).sum() + np.isnan(self.control_scores).sum())
        if gone:
            total = len(self.scores) + len(self.control_scores)
            expected = f"numbers for all {total:,} people ({self.name})"
            raise InvalidArgument("scores", f"NaN for {gone:,} of them", expected, "leaving those records out")

    @property
    def attack(self) -> Rate:
        """True positive rate: share of the judged people in the release that are called so."""
        return _called(self.scores, self.judged, self.threshold, self.confidence)

    @property
    def control(self) -> Rate:
        """False positive rate: share of the judged others that are called so."""
        return _called(self.control_scores, self.judged_control, self.threshold, self.confidence)

    @property
    def advantage(self) -> float:
        """True minus false positive rate at the threshold, on the judged people. May be below 0."""
        return self.attack.value - self.control.value

    @property
    def advantage_interval(self) -> tuple[float, float]:
        """Interval of the advantage from the Wilson ends of both rates (Newcombe 1998, method 10)."""
        (a_low, a_high), (c_low, c_high) = self.attack.interval, self.control.interval
        a, c = self.attack.value, self.control.value
        low = self.advantage - math.hypot(a - a_low, c_high - c)
        high = self.advantage + math.hypot(a_high - a, c - c_low)
        return max(low, -1.0), min(high, 1.0)

    @property
    def baseline(self) -> float:
        """Advantage without the release; 0 if there is no baseline."""
        return 0.0 if self.blind is None else self.blind.advantage

    @property
    def roc(self) -> Roc:
        """The curve over all scores."""
        return roc_curve(self.scores, self.control_scores)

    @property
    def auc(self) -> float:
        """Area under the curve: the chance that a person in the release scores higher; ties count half."""
        return float(_placements(self.scores, self.control_scores).mean())

    @property
    def auc_interval(self) -> tuple[float, float]:
        """Interval of the area, on log odds (DeLong et al. 1988); by the rule of three where it is 0 or 1."""
        m, n, area = len(self.scores), len(self.control_scores), self.auc
        if area in (0.0, 1.0) or min(m, n) < 2:
            gap = min(-math.log(1 - self.confidence) / min(m, n), 1.0)
            return max(area - gap, 0.0), min(area + gap, 1.0)
        one = _placements(self.scores, self.control_scores).var(ddof=1) / m
        two = _placements(self.control_scores, self.scores).var(ddof=1) / n
        # On the scale of log odds: near the ends the plain interval is too short, and goes beyond them.
        half = normal_width(self.confidence) * math.sqrt(one + two) / (area * (1 - area))
        middle = float(special.logit(area))
        return float(special.expit(middle - half)), float(special.expit(middle + half))

    def tpr_at(self, fpr: float) -> float:
        """Return the share of people found at the threshold with at most this false positive rate."""
        share = float(checks.probability("fpr", fpr, closed=True))
        curve = self.roc
        return float(curve.tpr[np.searchsorted(curve.fpr, share + 1e-12, side="right") - 1])

    def tpr_interval(self, fpr: float) -> tuple[float, float]:
        """Return an interval of `tpr_at` that covers the error of the rate and that of the threshold.

        Order statistics of the control's scores bound the true threshold. The shares found at those two get their
        Wilson ends. Each step uses half of the error probability.
        """
        share = float(checks.probability("fpr", fpr))
        n, miss = len(self.control_scores), 1 - self.confidence
        few, many = (int(k) for k in stats.binom.ppf([miss / 4, 1 - miss / 4], n, share))
        falling = np.append(np.sort(self.control_scores)[::-1], -np.inf)
        # At most `few` controls lie above the strict threshold, at least `many` at or above the lax one.
        strict = np.inf if few == 0 else float(falling[few - 1])
        low = Rate(int((self.scores > strict).sum()), len(self.scores), 1 - miss / 2).interval[0]
        high = Rate(int((self.scores >= falling[min(many, n)]).sum()), len(self.scores), 1 - miss / 2).interval[1]
        return low, high

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data, without the curve."""
        found: dict[str, Any] = {
            "attack": self.name,
            "confidence": self.confidence,
            "advantage": self.advantage,
            "advantage_interval": list(self.advantage_interval),
            "on_released": self.attack.to_dict(),
            "on_control": self.control.to_dict(),
            "auc": self.auc,
            "auc_interval": list(self.auc_interval),
            "tpr_at": {str(f): self.tpr_at(f) for f in LOW_RATES},
            "tpr_at_interval": {str(f): list(self.tpr_interval(f)) for f in LOW_RATES},
            "baseline_advantage": self.baseline,
            "better_than_chance": self.better_than_chance,
        }
        if self.blind is not None:
            found["baseline_interval"] = list(self.blind.advantage_interval)
        return {**found, **self.facts}

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the figures as a table: measure, value, meaning."""
        found = [
            ("advantage", _ends(self.advantage, self.advantage_interval), "true minus false positive rate"),
            ("on released people", str(self.attack), "share called so at the threshold"),
            ("on the control group", str(self.control), "share called so though not released"),
            ("area under the curve", _ends(self.auc, self.auc_interval), "0.5 is guessing"),
        ]
        found += [
            (f"found at {f:.1%} false", _ends(self.tpr_at(f), self.tpr_interval(f)), "by one who must rarely be wrong")
            for f in LOW_RATES
        ]
        if self.blind is not None:
            text = _ends(self.blind.advantage, self.blind.advantage_interval)
            found.append(("baseline", text, "advantage without the release"))
        return found

    @property
    def better_than_chance(self) -> bool:
        """True if the interval of the advantage is above 0 or that of the area above 0.5.

        Each errs upwards with half of the error probability, so both together keep the confidence.
        """
        return self.advantage_interval[0] > 0 or self.auc_interval[0] > 0.5

    @property
    def _against_chance(self) -> str:
        if self.advantage_interval[0] > 0:
            return "the attack is better than chance. The interval of the advantage is above 0."
        if self.better_than_chance:
            return "the attack is better than chance. The interval of the area under the curve is above 0.5."
        return "the attack is no better than chance. Neither the advantage nor the area has an interval above chance."

    @property
    def verdict(self) -> str:
        """The result in a sentence, and the interval that it follows from."""
        a, c = _percent(self.attack.value), _percent(self.control.value)
        return f"{a} of the people in the release are called so, and {c} of others: {self._against_chance}"

    def plot(self) -> Any:
        """Draw the curve and that of the baseline; needs the extra 'plot'."""
        from discreet.evaluation.plots import draw_roc

        return draw_roc(self)

    def __str__(self) -> str:
        low, high = self.advantage_interval
        text = (
            f"{self.name}: advantage {self.advantage:.3f} ({low:.3f} to {high:.3f}), area {self.auc:.3f}, "
            f"{self.tpr_at(0.01):.3f} found at 1 % false positives; {len(self.scores):,} people in the release, "
            f"{len(self.control_scores):,} others; {self.baseline:.3f} without the release"
        )
        return text if self.better_than_chance else text + "; no better than guessing"

    __repr__ = __str__


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _ends(value: float, interval: tuple[float, float]) -> str:
    return f"{value:.3f} ({interval[0]:.3f} to {interval[1]:.3f})"


def _called(scores: FloatArray, judged: BoolArray | None, threshold: float, confidence: float) -> Rate:
    kept = scores if judged is None else scores[judged]
    return Rate(int((kept >= threshold).sum()), len(kept), confidence)


def _placements(scores: FloatArray, others: FloatArray) -> FloatArray:
    """Return for each score the share of the others below it; ties count half."""
    ranked = np.sort(others)
    below, upto = np.searchsorted(ranked, scores, "left"), np.searchsorted(ranked, scores, "right")
    return np.asarray((below + upto) / (2 * max(len(ranked), 1)))


def roc_curve(scores: FloatArray, control_scores: FloatArray) -> Roc:
    # By rank, since scores may be infinite.
    values, ranks = np.unique(np.concatenate([scores, control_scores]), return_inverse=True)
    truth = np.repeat([1, 0], [len(scores), len(control_scores)])
    fpr, tpr, places = metrics.roc_curve(truth, ranks, drop_intermediate=False)
    return Roc(fpr, tpr, np.append(np.inf, values[places[1:].astype(np.int64)]))


def best_threshold(scores: FloatArray, control_scores: FloatArray) -> float:
    """Return the threshold with the largest true minus false positive rate; infinite if calling no one is best.

    It is the middle between the two scores that it separates.
    """
    curve = roc_curve(scores, control_scores)
    place = int(np.argmax(curve.tpr - curve.fpr))
    if place == 0:
        return math.inf
    here = float(curve.thresholds[place])
    below = float(curve.thresholds[place + 1]) if place + 1 < len(curve.thresholds) else here
    return (here + below) / 2 if math.isfinite(here + below) else here


def split(
    name: str, scores: FloatArray, control_scores: FloatArray, stream: noise.Generator, *, confidence: float,
    halves: tuple[BoolArray, BoolArray] | None = None, blind: ScoredAttack | None = None,
    facts: dict[str, Any] | None = None,
) -> ScoredAttack:  # fmt: skip
    """Fix the threshold on a random half of both groups and judge on the other half."""
    fixed = halves or (draws.half(len(scores), stream), draws.half(len(control_scores), stream))
    threshold = best_threshold(scores[fixed[0]], control_scores[fixed[1]])
    judged = ~fixed[0], ~fixed[1]
    return ScoredAttack(name, scores, control_scores, threshold, *judged, blind, confidence, facts or {})


def score_blindly(
    scorer: Callable[[FloatArray], Any], members: FloatArray, others: FloatArray, stream: noise.Generator
) -> tuple[FloatArray, FloatArray]:
    """Let people be scored in random order, so that their order does not reveal who is a member."""
    people = np.concatenate([members, others])
    order = draws.order(len(people), stream)
    found = np.empty(len(people))
    found[order] = np.asarray(scorer(people[order]), np.float64)
    return found[: len(members)], found[len(members) :]
