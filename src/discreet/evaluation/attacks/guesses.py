"""What an attack that guesses values reached: how far off it was, and how often near enough."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.core.arrays import FloatArray
from discreet.evaluation.attacks.roc import ScoredAttack


def _none() -> FloatArray:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class GuessResult(ScoredAttack):
    """What guessing reached. Scores are minus the distance of the guess from the truth; rates count those near enough.

    The advantage is over the control: people of whom the release says nothing. The gain is over the baseline: the same
    people, guessed without the release.

    Attributes
    ----------
    errors, control_errors, prior_errors : ndarray
        Distances from the truth: of the attack, of the control, and of the guess without the release.

    Examples
    --------
    >>> errors = np.array([0.1, 0.2, 0.9]), np.array([0.8, 0.7]), np.array([0.5, 0.6, 0.4])
    >>> blind = ScoredAttack("without", -errors[2], -errors[2], -0.3)
    >>> found = GuessResult.of("guess", errors, 0.3, blind, 0.95, {})
    >>> round(found.mean_error, 2), round(found.gain, 2), round(found.relative_to_prior, 2)
    (0.4, 0.67, 0.8)
    """

    errors: FloatArray = field(default_factory=_none)
    control_errors: FloatArray = field(default_factory=_none)
    prior_errors: FloatArray = field(default_factory=_none)

    @classmethod
    def of(
        cls,
        name: str,
        errors: tuple[FloatArray, FloatArray, FloatArray],
        within: float,
        blind: ScoredAttack,
        confidence: float,
        facts: dict[str, Any],
        **more: Any,
    ) -> Any:
        """Make one from the errors of attack, control and baseline. Nearness is fixed, so everybody is judged."""
        named = {"errors": errors[0], "control_errors": errors[1], "prior_errors": errors[2], **more}
        facts = {**facts, "within": within}
        return cls(name, -errors[0], -errors[1], -within, None, None, blind, confidence, facts, **named)

    @property
    def mean_error(self) -> float:
        """Mean distance of the guess from the truth."""
        return float(self.errors.mean())

    @property
    def relative_to_prior(self) -> float:
        """Mean error over that of guessing without the release: 1 is no better than not having it."""
        alone = float(self.prior_errors.mean())
        return self.mean_error / alone if alone else math.nan

    @property
    def gain(self) -> float:
        """Share guessed near enough, less the share without the release."""
        return self.attack.value - (0.0 if self.blind is None else self.blind.attack.value)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        found = {
            **super().to_dict(),
            "mean_error": self.mean_error,
            "control_error": float(self.control_errors.mean()),
            "prior_error": float(self.prior_errors.mean()),
            "relative_to_prior": self.relative_to_prior,
            "gain": self.gain,
        }
        return found if self.blind is None else {**found, "without_release": self.blind.attack.to_dict()}

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the figures for a table: measure, value, meaning."""
        found = [
            ("mean error", f"{self.mean_error:.4g}", "distance of the guess from the truth"),
            ("of the prior's error", f"{self.relative_to_prior:.3f}", "1: no better than without the release"),
        ]
        if self.blind is not None:
            found.append(("without the release", str(self.blind.attack), "share guessed near enough"))
        return found + super().rows()

    def __str__(self) -> str:
        alone = "" if self.blind is None else f", {self.blind.attack} without the release"
        return (
            f"{self.name}: mean error {self.mean_error:.4g}, {self.relative_to_prior:.3f} of that without the release; "
            f"within {-self.threshold:.4g}: {self.attack} of the people, {self.control} of the control{alone}"
        )

    __repr__ = __str__
