"""The result of a search for heavy hitters."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.core import checks
from discreet.errors import InvalidType
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
    >>> found.recall({"cool": 5000, "link": 3000, "hobb": 2000, "odd": 1}, k=3), found.precision({"cool": 5000})
    (1.0, 0.3333333333333333)
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

    def recall(self, truth: Any, k: int = 20) -> float:
        """Return the share of the k truly most frequent values that were found.

        ``truth`` is a mapping of value to count, or a list with the most frequent value first. Values are normalised as
        the reports are.
        """
        head = self._head(truth, k)
        return len(head & set(self.strings)) / max(len(head), 1)

    def precision(self, truth: Any, k: int | None = None) -> float:
        """Return the share of the values found that someone holds; 1 if nothing was found.

        With ``k``, the share of the k largest found that are among the k truly most frequent.
        """
        if k is None:
            found, real = self.strings, {v for v, count in _counted(truth, self.finder).items() if count > 0}
        else:
            found, real = self.strings[: checks.whole("k", k, low=1)], self._head(truth, k)
        return sum(v in real for v in found) / len(found) if found else 1.0

    def _head(self, truth: Any, k: int) -> set[Any]:
        counts = _counted(truth, self.finder)
        return set(sorted(counts, key=lambda v: -counts[v])[: checks.whole("k", k, low=1)])

    def __repr__(self) -> str:
        return f"<{len(self)} heavy hitters among {self.tried} candidates, {self.estimate.n} reports>"

    def __str__(self) -> str:
        lines = [repr(self)[1:-1], *(f"  {stage}" for stage in self.stages)]
        return "\n".join([*lines, f"  {self.note}"] if self.note else lines)


def _counted(truth: Any, finder: Any) -> dict[Any, float]:
    """Add up the truth by normalised value."""
    if isinstance(truth, (str, bytes)) or not isinstance(truth, Iterable):
        raise InvalidType("truth", type(truth).__name__, "a mapping of value to count, or a list", "{'cat': 10}")
    values = list(truth)
    listed = not isinstance(truth, Mapping)
    counts = truth.values() if isinstance(truth, Mapping) else range(len(values), 0, -1)
    out: dict[Any, float] = {}
    for value, count in zip(finder.normalise(values), counts, strict=True):
        if value not in out or not listed:
            out[value] = out.get(value, 0.0) + float(count)
    return out
