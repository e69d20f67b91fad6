"""Reconstruction attacks: the best guess of a record from its noisy point, the public noise and public records."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from discreet import noise
from discreet.core import FloatArray, checks
from discreet.errors import InvalidArgument
from discreet.evaluation.attacks import draws
from discreet.evaluation.attacks.laws import LawSpace, records
from discreet.evaluation.attacks.pairs import posterior
from discreet.evaluation.attacks.roc import ScoredAttack

_BLENDS = np.linspace(0.0, 1.0, 11)
#: Public records that the attacker tries the attack on.
_REHEARSED = 1000


@dataclass(frozen=True, eq=False)
class GuessResult(ScoredAttack):
    """Result of guessing. Scores are minus the distance of the guess from the truth; rates count near guesses.

    The advantage is over the control: people about whom the release says nothing. The gain is over the baseline: the
    same people, guessed without the release.

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

    errors: FloatArray = field(default_factory=lambda: np.empty(0))
    control_errors: FloatArray = field(default_factory=lambda: np.empty(0))
    prior_errors: FloatArray = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(
        cls, name: str, errors: tuple[FloatArray, FloatArray, FloatArray], within: float, blind: ScoredAttack,
        confidence: float, facts: dict[str, Any], **more: Any,
    ) -> Self:  # fmt: skip
        """Make a result from the errors of attack, control and baseline. Everyone is judged."""
        named = {"errors": errors[0], "control_errors": errors[1], "prior_errors": errors[2], **more}
        facts = {**facts, "within": within}
        return cls(name, -errors[0], -errors[1], -within, None, None, blind, confidence, facts, **named)

    @property
    def mean_error(self) -> float:
        """Mean distance of the guess from the truth."""
        return float(self.errors.mean())

    @property
    def relative_to_prior(self) -> float | None:
        """Mean error divided by that without the release: at 1 the release does not help.

        None if the guess without the release has no error, as for a constant column: nothing is left to reveal.
        """
        alone = float(self.prior_errors.mean())
        return self.mean_error / alone if alone else None

    @property
    def gain(self) -> float:
        """Share of near guesses minus that without the release."""
        return self.attack.value - (0.0 if self.blind is None else self.blind.attack.value)

    @property
    def verdict(self) -> str:
        """The result in a sentence, and the interval that it follows from."""
        alone = 0.0 if self.blind is None else self.blind.attack.value
        said = (
            f"{100 * self.attack.value:.3g} % of the people are guessed well, {100 * alone:.3g} % without the release"
        )
        return f"{said}: {self._against_chance}"

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
        """Return the figures as a table: measure, value, meaning."""
        share, meaning = "not known", "without the release there is no error"
        if self.relative_to_prior is not None:
            share, meaning = f"{self.relative_to_prior:.3f}", "1: no better than without the release"
        found = [
            ("mean error", f"{self.mean_error:.4g}", "distance of the guess from the truth"),
            ("of the prior's error", share, meaning),
        ]
        if self.blind is not None:
            found.append(("without the release", str(self.blind.attack), "share guessed near enough"))
        return found + super().rows()

    def __str__(self) -> str:
        alone = "" if self.blind is None else f", {self.blind.attack} without the release"
        share = "with no error" if self.relative_to_prior is None else f"{self.relative_to_prior:.3f} of that"
        return (
            f"{self.name}: mean error {self.mean_error:.4g}, {share} without the release; "
            f"within {-self.threshold:.4g}: {self.attack} of the people, {self.control} of the control{alone}"
        )

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class ReconstructionResult(GuessResult):
    """Result of a reconstruction. Distances are in the scaled space.

    The control compares the guesses with somebody else's record. ``expected_noise`` is n/rate, the mean distance of a
    point from its record.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people, public = rng.random((2, 300, 2))
    >>> found = reconstruction_attack(people, people, reference=public, rate=1e4, random_state=1)
    >>> found.attack.value, found.mean_error < 0.001
    (1.0, True)
    """

    expected_noise: float = 1.0

    @property
    def relative_to_noise(self) -> float:
        """Mean error divided by n/rate: 1 is no better than the point itself."""
        return self.mean_error / self.expected_noise

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        return {**super().to_dict(), "relative_to_noise": self.relative_to_noise}

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the figures as a table: measure, value, meaning."""
        noise_row = ("of the noise", f"{self.relative_to_noise:.3f}", "1: no better than the point itself")
        return [noise_row, *super().rows()]

    def __str__(self) -> str:
        return f"{super().__str__()}; {self.relative_to_noise:.3f} of the noise's mean length"

    __repr__ = __str__


def reconstruction_attack(
    released: Any, originals: Any, *, reference: Any, metric: Any = None, rate: Any = None,
    within: float | None = None, confidence: float = 0.95, random_state: Any = None,
) -> ReconstructionResult:  # fmt: skip
    """Guess every record from its noisy point: the posterior mean.

    Parameters
    ----------
    released, originals : array of shape (n, d)
        Points, and the records behind them, row by row. The attack sees the points only.
    reference : array of shape (m, d)
        Public records of the same kind of people, as the prior; none of the originals.
    metric, rate, confidence, random_state
        See `membership_attack`.
    within : float, optional
        A guess this near, in the scaled space, is a success. By default a quarter of the mean distance of public
        records from the guess made from them alone.

    Notes
    -----
    If the noise is finer than the gaps between public records, they are a poor prior. So the attacker tries the attack
    on public records first, and uses the mixture of posterior guess and plain point that did best there.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people, public = rng.normal(0.5, 0.1, (2, 500, 2))
    >>> noisy = people + rng.normal(0, 0.3, people.shape)
    >>> found = reconstruction_attack(noisy, people, reference=public, rate=6.0, random_state=1)
    >>> found.relative_to_noise < 0.5, 0.9 < found.relative_to_prior < 1.1
    (True, True)
    """
    level = float(checks.probability("confidence", confidence))
    stream = noise.generator(random_state, "random_state")
    truth = records("originals", originals, least=2)
    given = records("released", released, truth.shape[1])
    if len(given) != len(truth):
        raise InvalidArgument("released", f"{len(given)} rows", f"one point for each of the {len(truth)} originals")
    space = LawSpace.of(metric, rate, truth.shape[1])
    public = space.scale(records("reference", reference, truth.shape[1], least=4))
    guesses, blend = reconstruct(space.scale(given), public, space.law.rate, stream)

    # The evaluator judges, who knows the truth.
    places = space.scale(truth)
    alone = public.mean(axis=0)
    near = 0.25 * float(_lengths(public - alone).mean()) if within is None else float(checks.positive("within", within))
    errors = _lengths(guesses - places)
    control = _lengths(guesses[draws.others(len(truth), stream)] - places)
    prior = _lengths(alone - places)
    # Without a point everybody gets the same guess: held against others it does as well.
    blind = ScoredAttack("without the release", -prior, -prior, -near, confidence=level)
    facts, more = {"share_of_posterior": blend}, {"expected_noise": space.expected_noise}
    return ReconstructionResult.of("reconstruction", (errors, control, prior), near, blind, level, facts, **more)


def reconstruct(
    points: FloatArray, public: FloatArray, rate: float, stream: noise.Generator
) -> tuple[FloatArray, float]:
    chosen = draws.half(len(public), stream)
    rehearsed = public[chosen][:_REHEARSED]
    noisy = rehearsed + draws.isotropic(len(rehearsed), public.shape[1], rate, stream)
    tried = posterior(noisy, public[~chosen], rate)
    losses = [float((_lengths(noisy + a * (tried - noisy) - rehearsed) ** 2).mean()) for a in _BLENDS]
    blend = float(_BLENDS[int(np.argmin(losses))])
    return points + blend * (posterior(points, public, rate) - points), blend


def _lengths(rows: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(rows, axis=1))
