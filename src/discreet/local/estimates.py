"""Estimated counts of candidates, with errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core import BoolArray, FloatArray, Frames, Guarantee, checks, later
from discreet.errors import InvalidArgument, MissingExtra

special = later("scipy.special")

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: ``interval(level)`` gives the lower and upper ends for counts.
Interval = Callable[[float], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False)
class Estimate(Frames):
    """Estimated counts of candidates among ``n`` reporters, with their errors.

    Raw estimates are unbiased and may be negative or exceed ``n``. Errors are over the noise (and the hash key), for
    fixed values of the reporters.

    Attributes
    ----------
    candidates : list
        The values.
    count : ndarray of float
        Estimated number of reporters who hold each.
    std_error : ndarray of float
        Standard error of `count`.
    n : int
        Number of reports.
    guarantee : Guarantee
        The promise to every reporter.
    consistency : str or None
        The post-processing, None for raw estimates.
    tried : int or None
        Number of values that were tested to find these; None if all are here.

    Examples
    --------
    >>> import discreet as dc
    >>> m = dc.local.DirectResponse(epsilon=2, domain=["cat", "dog", "emu"])
    >>> pets = ["cat"] * 600 + ["dog"] * 300 + ["emu"] * 100
    >>> found = m.estimate(m.aggregate(m.encode(pets, rng=1)))
    >>> found.count.round().tolist(), found.std_error.round().tolist()
    ([627.0, 287.0, 86.0], [17.0, 16.0, 15.0])
    >>> found.frequency.round(2).tolist()
    [0.63, 0.29, 0.09]
    >>> [ends.round().tolist() for ends in found.interval(0.95)]
    [[593.0, 257.0, 57.0], [661.0, 319.0, 115.0]]
    """

    candidates: list[Any]
    count: FloatArray
    std_error: FloatArray
    n: int
    guarantee: Guarantee
    consistency: str | None = None
    tried: int | None = None
    _ends: Interval | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.candidates)

    @property
    def frequency(self) -> FloatArray:
        """Share of the reporters, `count` over `n`."""
        return np.asarray(self.count / max(self.n, 1))

    def interval(self, level: float = 0.95, *, of: str = "count") -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper ends of confidence intervals, for the count or the frequency."""
        confidence = float(checks.probability("level", level))
        unit = checks.choice("of", of, ("count", "frequency"))
        if self._ends is None:
            reach = float(special.ndtri(0.5 + confidence / 2)) * self.std_error
            low, high = self.count - reach, self.count + reach
        else:
            low, high = self._ends(confidence)
        by = 1 if unit == "count" else max(self.n, 1)
        return low / by, high / by

    def top(self, k: int) -> Estimate:
        """Return the ``k`` candidates with the largest estimates, largest first."""
        order = np.argsort(-self.count, kind="stable")[: checks.whole("k", k)]
        return self._pick(order)

    def _pick(self, places: npt.NDArray[np.intp]) -> Estimate:
        ends = self._ends

        def picked(level: float) -> tuple[FloatArray, FloatArray]:
            assert ends is not None
            low, high = ends(level)
            return low[places], high[places]

        return replace(
            self,
            candidates=[self.candidates[i] for i in places],
            count=self.count[places],
            std_error=self.std_error[places],
            tried=max(len(self), self.tried or 0),
            _ends=None if ends is None else picked,
        )

    def significant(self, level: float = 0.05, *, control: str = "any") -> Estimate:
        """Return the candidates whose estimates noise alone does not explain.

        Parameters
        ----------
        level : float
            The bound of ``control``.
        control : {"any", "share"}
            "any": any absent candidate is among them with probability at most about ``level`` (Bonferroni). "share": at
            most about a share ``level`` of them is absent, on average (Benjamini, Hochberg 1995); this finds more.

        Examples
        --------
        >>> import discreet as dc
        >>> m = dc.local.DirectResponse(epsilon=2, domain=20)
        >>> found = m.estimate(m.aggregate(m.encode([0, 1, 2, 3, 4] * 40, rng=1)))
        >>> len(found.significant()), len(found.significant(0.1, control="share"))
        (3, 5)
        """
        if checks.choice("control", control, ("any", "share")) == "any":
            return self._pick(np.flatnonzero(~self.may_be_noise(level)))
        bound = float(checks.probability("level", level))
        sure = self.std_error > 0
        chance = np.where(sure, special.ndtr(-self.count / np.where(sure, self.std_error, 1.0)), self.count <= 0)
        tried = max(len(self), self.tried or 0, 1)
        passing = np.flatnonzero(np.sort(chance) <= bound * np.arange(1, len(self) + 1) / tried)
        return self._pick(np.flatnonzero(chance <= np.sort(chance)[passing[-1]]) if len(passing) else passing)

    def noise_cut(self, level: float = 0.05) -> float:
        """Return z: any absent value exceeds z standard errors with probability ``level``."""
        chance = float(checks.probability("level", level))
        return float(special.ndtri(1 - chance / max(len(self), self.tried or 0, 1)))

    def may_be_noise(self, level: float = 0.05) -> BoolArray:
        """Return which estimates noise alone may explain.

        Examples
        --------
        >>> import discreet as dc
        >>> m = dc.local.DirectResponse(epsilon=2, domain=["cat", "dog", "emu"])
        >>> found = m.estimate(m.aggregate(m.encode(["cat"] * 600 + ["dog"] * 300, rng=1)))
        >>> found.may_be_noise().tolist()
        [False, False, True]
        """
        return np.asarray(~(self.count > self.noise_cut(level) * self.std_error))

    def consistent(self, how: str) -> Estimate:
        """Return estimates that are possible counts: see `discreet.local.consistent`."""
        from discreet.local.consistency import consistent

        if self.consistency is not None:
            raise InvalidArgument("how", how, f"applied to raw estimates, not to {self.consistency!r} ones")
        return replace(self, count=consistent(self.count, self.n, how, self.std_error), consistency=how)

    def to_arrow(self) -> pa.Table:
        """Return a table: candidate, count, standard error, frequency, and the ends of a 95 % interval."""
        low, high = self.interval(0.95)
        columns = {"count": self.count, "std_error": self.std_error, "frequency": self.frequency}
        try:
            names = pa.array(self.candidates)
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # candidates of several kinds
            names = pa.array([str(c) for c in self.candidates])
        table = pa.table({"candidate": names, **columns, "lower": low, "upper": high})
        promise = {"discreet.guarantee": self.guarantee.to_json()}
        return table.replace_schema_metadata(promise)

    def plot(self, k: int = 30) -> Figure:
        """Draw the ``k`` largest estimates with their 95 % intervals."""
        shown = self.top(k)
        try:
            from plotly.graph_objects import Bar, Figure
        except ImportError:
            raise MissingExtra("drawing estimates", "plot") from None
        share = 100 * shown.frequency
        low, high = (100 * end for end in shown.interval(0.95, of="frequency"))
        errors = {"type": "data", "array": np.maximum(high - share, 0), "arrayminus": np.maximum(share - low, 0)}
        bars = Bar(
            x=share,
            y=[str(c) for c in shown.candidates],
            orientation="h",
            error_x={**errors, "color": "#334155"},
            marker_color="#4f7cac",
            hovertemplate="%{y}: %{x:.2f} %<extra></extra>",
        )
        promise = f"ε = {shown.guarantee.epsilon:g} per report, {shown.n:,} reports"
        if shown.guarantee.seeded:
            promise += " (seeded: not for publication)"
        figure = Figure(bars)
        figure.update_layout(
            title={"text": f"Estimated shares with 95 % intervals<br><sup>{promise}</sup>"},
            xaxis_title="share of the reporters, %",
            yaxis={"autorange": "reversed", "type": "category"},
            template="simple_white",
            height=180 + 22 * len(shown),
            margin={"l": 120, "r": 30, "t": 80, "b": 60},
        )
        figure.update_xaxes(zeroline=True, zerolinecolor="#94a3b8")
        return figure

    def __repr__(self) -> str:
        return f"<estimates of {len(self)} candidates from {self.n} reports>"
