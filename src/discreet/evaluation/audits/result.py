"""The result of an audit: a lower bound on ε, the event that shows it, and the power of the run."""

import json
import math
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from discreet.evaluation.audits.bounds import Power, power_curve

_NO_PROOF = "This is not a proof of privacy: only these two inputs, features and runs were examined."


@dataclass(frozen=True, eq=False)
class AuditResult:
    """Result of an audit.

    Attributes
    ----------
    epsilon_lower : float
        The true ε is at least this, at the stated δ and confidence.
    claimed, confidence, delta
        The claimed ε or None, the confidence of the bound, and the δ of the claim.
    trials, counted : int
        Runs on each input, and those on which the event was counted.
    event, likelier, counts
        The event in words, the input on which it is more frequent, and its occurrences on ``data`` and ``neighbour``.
    estimate : float
        ln((p - δ)/q) from the shares; not a bound. Infinite if the event never occurred on one input.
    features, seconds
        The features that were examined, and the running time.

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
        """True if the bound is within the claim; None without a claim. A pass is not a proof."""
        return None if self.claimed is None else self.epsilon_lower <= self.claimed

    @cached_property
    def power(self) -> Power:
        """The leaks that a run of this size would have detected."""
        claimed = self.claimed if self.claimed is not None and math.isfinite(self.claimed) else 0.0
        hits = self.counts["data"], self.counts["neighbour"]
        return power_curve(self.counted, *hits, claimed=claimed, miss=1 - self.confidence, delta=self.delta)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        more = {"passed": self.passed, "power": self.power.to_dict(), "features": list(self.features)}
        return {**asdict(self), **more}

    def to_json(self, *, indent: int | None = None) -> str:
        """Return `to_dict` as JSON; infinite numbers become null."""
        return json.dumps(_finite(self.to_dict()), indent=indent, ensure_ascii=False)

    def __str__(self) -> str:
        promise = f" at δ = {self.delta:.3g}" if self.delta else ""
        text = f"ε is at least {self.epsilon_lower:.4g}{promise} with {self.confidence:.4g} confidence"
        if self.claimed is not None:
            text += f"; claimed {self.claimed:.6g}: " + ("not refuted" if self.passed else "REFUTED")
        rates = f"{self.counts['data']:,} and {self.counts['neighbour']:,} of {self.counted:,} runs on the two inputs"
        text += f". Event: {self.event}, in {rates} ({self.trials:,} runs on each in total)."
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
