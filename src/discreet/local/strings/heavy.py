"""The result of a search for heavy hitters."""

from dataclasses import dataclass
from typing import Any

from discreet.local.estimates import Estimate


@dataclass(frozen=True)
class Stage:
    """One step of a search: the candidates tested and kept.

    ``z`` is the cut in standard errors of an absent value, None if only the largest were kept; ``sigma`` is that error,
    as a count among all reporters. ``capped``: more passed the cut than were kept.
    """

    label: str
    epsilon: float
    reports: int
    tried: int
    kept: int
    z: float | None
    sigma: float
    capped: bool

    @property
    def threshold(self) -> float | None:
        """The cut as a count among all reporters."""
        return None if self.z is None else self.z * self.sigma

    def __str__(self) -> str:
        cut = "the largest" if self.threshold is None else f"above {self.threshold:,.0f} (z = {self.z:.2f})"
        more = ", the cap reached" if self.capped else ""
        return (
            f"{self.label}: ε = {self.epsilon:g}, {self.reports:,} reports, {self.tried:,} candidates, "
            f"{cut}: {self.kept:,} kept{more}"
        )


@dataclass(frozen=True, eq=False)
class HeavyHitters:
    """The frequent values that a search found, largest first.

    Made by ``discover`` of `FragmentPuzzle` and `PrefixExtension`.

    Attributes
    ----------
    estimate : Estimate
        The values found with estimated counts, standard errors, intervals, and the guarantee.
    stages, note : tuple of Stage, str
        The steps of the search, and the reason if it stopped early, else "".
    finder : mechanism
        The mechanism that collected the reports.

    Examples
    --------
    >>> from discreet.local import PrefixExtension
    >>> m = PrefixExtension(epsilon=4, length=4, key=7)
    >>> words = ["cool"] * 5000 + ["link"] * 3000 + ["hobb"] * 2000
    >>> found = m.discover(m.aggregate(m.encode(words, rng=1)))
    >>> found.strings
    ['cool', 'link', 'hobb']
    """

    estimate: Estimate
    stages: tuple[Stage, ...]
    finder: Any
    note: str = ""

    @property
    def strings(self) -> list[Any]:
        """The values found, largest estimate first: texts or whole numbers."""
        return self.estimate.candidates

    @property
    def tried(self) -> int:
        """Number of candidates tested in all stages."""
        return sum(stage.tried for stage in self.stages)

    def __len__(self) -> int:
        return len(self.estimate)

    def __repr__(self) -> str:
        return f"<{len(self)} heavy hitters among {self.tried} candidates, {self.estimate.n} reports>"

    def __str__(self) -> str:
        lines = [repr(self)[1:-1], *(f"  {stage}" for stage in self.stages)]
        return "\n".join([*lines, f"  {self.note}"] if self.note else lines)
