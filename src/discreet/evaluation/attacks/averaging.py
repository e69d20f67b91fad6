"""What several noisy reports about one person give away together: why every repeat must be charged."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import FloatArray, checks, normal_width
from discreet.errors import InvalidType
from discreet.evaluation.attacks import draws
from discreet.evaluation.attacks.distinguishing import _perturber
from discreet.evaluation.attacks.laws import LawSpace, records
from discreet.evaluation.attacks.pairs import geometric_medians
from discreet.evaluation.attacks.roc import ScoredAttack


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

    def plot(self) -> Any:
        """Draw errors against the number of reports; needs the extra 'plot'."""
        from discreet.evaluation.plots import draw_averaging

        return draw_averaging(self)

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
