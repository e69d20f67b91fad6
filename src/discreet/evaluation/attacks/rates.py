"""Success rates of attacks with intervals, and the risk beyond a control group."""

import math
from dataclasses import dataclass
from typing import Any

from discreet.core import wilson


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
class AttackResult:
    """Result of an attack on a released table.

    Attributes
    ----------
    name, confidence
        The attack, and the confidence of all intervals.
    attack, control, baseline : Rate
        Success on people whose records were released, on people whose records were not, and of random guesses.

    Examples
    --------
    >>> result = AttackResult("linkability", Rate(60, 100), Rate(20, 100), Rate(1, 100))
    >>> round(result.risk, 3), [round(x, 3) for x in result.risk_interval]
    (0.5, [0.366, 0.621])
    """

    name: str
    attack: Rate
    control: Rate
    baseline: Rate
    confidence: float = 0.95

    @property
    def risk(self) -> float:
        """(attack - control)/(1 - control): what the release adds. May be below 0; 0 if the control always succeeds."""
        a, c = self.attack.value, self.control.value
        return (a - c) / (1 - c) if c < 1 else 0.0

    @property
    def risk_interval(self) -> tuple[float, float]:
        """Interval of the risk, from the Wilson ends of both rates as independent errors.

        The distances to the Wilson ends, times the slopes 1/(1 - c) and (1 - a)/(1 - c)² of the risk, are squared and
        added, separately for the lower and the upper end (as Zou and Donner 2008 do for a difference).
        """
        a, c = self.attack.value, self.control.value
        if c >= 1:
            return 0.0, 1.0
        (a_low, a_high), (c_low, c_high) = self.attack.interval, self.control.interval
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
            "on_control": self.control.to_dict(),
            "baseline": self.baseline.to_dict(),
            "risk": self.risk,
            "risk_interval": list(self.risk_interval),
            "better_than_guessing": self.better_than_guessing,
        }

    def __str__(self) -> str:
        low, high = self.risk_interval
        text = (
            f"{self.name}: risk {self.risk:.3f} ({low:.3f} to {high:.3f}); success {self.attack} on released people, "
            f"{self.control} on others, {self.baseline} by guessing"
        )
        return text if self.better_than_guessing else text + "; no better than guessing"
