"""What an audit found: a lower bound on ε, the event that shows it, and what it would have seen."""

import json
import math
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from discreet.evaluation.audits.bounds import Power, power_curve

_NO_PROOF = "This is no proof of privacy: only these two inputs, these features and this many runs were looked at."


@dataclass(frozen=True, eq=False)
class AuditResult:
    """What an audit found.

    Attributes
    ----------
    epsilon_lower : float
        The true ε is at least this (with the stated δ), unless the confidence failed.
    claimed : float or None
        The ε that was claimed.
    confidence : float
        Of the bound, over everything: choosing the event, both rates, both directions.
    delta : float
        Of the promise.
    trials : int
        Runs on each of the two inputs, as many as took place.
    counted : int
        Runs on each input on which the event was counted; the others chose it.
    event : str
        The event, in words.
    likelier : {"data", "neighbour"}
        The input under which the event is the more frequent one.
    counts : dict
        How often it came up: ``data``, ``neighbour``.
    estimate : float
        ln((p - δ)/q) from the shares themselves: no bound, for orientation. Infinite if it never came up on one side.
    power : Power
        What a run of this size would have caught; computed when it is asked for.
    features : tuple of str
        What was looked at.
    seconds : float
        How long it took.

    Examples
    --------
    >>> import discreet as dc
    >>> def count(data, rng):
    ...     return len(data) + dc.noise.discrete_laplace(scale=1, rng=rng)
    >>> found = dc.evaluation.audit(count, [1, 2], [1], trials=4000, epsilon=1, random_state=1)
    >>> found.passed, 0.7 < found.epsilon_lower < 1, found.counted
    (True, True, 2000)
    """

    epsilon_lower: float
    claimed: float | None
    confidence: float
    delta: float
    trials: int
    counted: int
    event: str
    likelier: str
    counts: dict[str, int]
    estimate: float
    features: tuple[str, ...] = field(default=(), repr=False)
    seconds: float = field(default=0.0, repr=False)

    @property
    def passed(self) -> bool | None:
        """Whether the bound is within the claim; None if nothing was claimed. A pass is no proof."""
        return None if self.claimed is None else self.epsilon_lower <= self.claimed

    @cached_property
    def power(self) -> Power:
        """What a run of this size would have caught."""
        claimed = self.claimed if self.claimed is not None and math.isfinite(self.claimed) else 0.0
        return power_curve(
            self.counted,
            self.counts["data"],
            self.counts["neighbour"],
            claimed=claimed,
            miss=1 - self.confidence,
            delta=self.delta,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        more = {"passed": self.passed, "power": self.power.to_dict(), "features": list(self.features)}
        return {**asdict(self), **more}

    def to_json(self, *, indent: int | None = None) -> str:
        """Return `to_dict` as JSON; infinite numbers become null."""
        return json.dumps(_finite(self.to_dict()), indent=indent, ensure_ascii=False)

    def plot(self) -> Any:
        """Draw the chance of catching a leak against its size; needs the extra 'plot'."""
        from discreet.evaluation.plots import draw_power

        return draw_power(self)

    def __str__(self) -> str:
        promise = f" at δ = {self.delta:.3g}" if self.delta else ""
        text = f"ε is at least {self.epsilon_lower:.4g}{promise} with {self.confidence:.4g} confidence"
        if self.claimed is not None:
            text += f"; claimed {self.claimed:.6g}: " + ("not refuted" if self.passed else "REFUTED")
        rates = f"{self.counts['data']:,} and {self.counts['neighbour']:,} of {self.counted:,} runs on the two inputs"
        text += f". Event: {self.event}, in {rates} ({self.trials:,} runs on each in all)."
        if self.passed is False:
            return text
        reach = self.power.detectable
        if math.isfinite(reach):
            against = "claim" if self.claimed is not None else "value 0"
            text += f" A true ε of {reach:.3g} in an event this frequent would exceed the {against} nine times in ten."
        return f"{text} {_NO_PROOF}"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
