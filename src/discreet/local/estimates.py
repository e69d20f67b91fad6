"""Estimated counts of candidates, with errors; and consistency, which turns them into possible counts.

Consistency is post-processing without privacy cost. It adds bias: for sums over many candidates, use raw estimates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core import BoolArray, FloatArray, Frames, Guarantee, checks, later, normal_width, plotly, portable
from discreet.errors import InvalidArgument

special = later("scipy.special")

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: ``interval(level)`` gives the lower and upper ends for counts.
Interval = Callable[[float], tuple[FloatArray, FloatArray]]
CHOICES = ("simplex", "base-cut", "norm-cut")
_CUT_LEVEL = 0.05


def family_wise(level: float, candidates: int) -> float:
    """Return z: any of so many absent values exceeds z standard errors with probability ``level`` (Bonferroni)."""
    return float(special.ndtri(1 - level / max(candidates, 1)))


@dataclass(frozen=True, eq=False)
class Estimate(Frames):
    """Estimated counts of candidates among ``n`` reporters, with their errors.

    Raw estimates are unbiased and may be negative or exceed ``n``. Errors are over the noise (and the hash key), for
    fixed values of the reporters.

    Attributes
    ----------
    candidates : list
        The values.
    count, std_error : ndarray of float
        Estimated number of reporters who hold each, and its standard error.
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

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper ends of confidence intervals for the counts."""
        confidence = float(checks.probability("level", level))
        if self._ends is not None:
            return self._ends(confidence)
        reach = normal_width(confidence) * self.std_error
        return self.count - reach, self.count + reach

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
        return family_wise(float(checks.probability("level", level)), max(len(self), self.tried or 0))

    def may_be_noise(self, level: float = 0.05) -> BoolArray:
        """Return which estimates noise alone may explain."""
        return np.asarray(~(self.count > self.noise_cut(level) * self.std_error))

    def consistent(self, how: str) -> Estimate:
        """Return estimates that are possible counts: see `discreet.local.consistent`."""
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
        return table.replace_schema_metadata({"discreet.guarantee": self.guarantee.to_json()})

    def plot(self, k: int = 30) -> Figure:
        """Draw the ``k`` largest estimates with their 95 % intervals."""
        shown, unit = self.top(k), 100 / max(self.n, 1)
        low, high = shown.interval(0.95)
        ends = {"array": np.maximum(high - shown.count, 0), "arrayminus": np.maximum(shown.count - low, 0)}
        bars = {
            "x": unit * shown.count, "y": [str(c) for c in shown.candidates], "orientation": "h",
            "error_x": {"type": "data", "color": "#334155", **{name: unit * end for name, end in ends.items()}},
            "marker_color": "#4f7cac", "hovertemplate": "%{y}: %{x:.2f} %<extra></extra>",
        }  # fmt: skip
        figure = drawn(bars, "Estimated shares with 95 % intervals", self.guarantee, f"{self.n:,} reports")
        figure.update_layout(
            xaxis_title="share of the reporters, %", yaxis={"autorange": "reversed", "type": "category"},
            height=180 + 22 * len(shown), margin={"l": 120},
        )  # fmt: skip
        return figure

    def __repr__(self) -> str:
        return f"<estimates of {len(self)} candidates from {self.n} reports>"

    def __str__(self) -> str:
        shown = self.top(min(6, len(self)))
        each = zip(shown.candidates, shown.count, shown.std_error, strict=True)
        lines = [f"{candidate!s:.40}: {count:,.0f} ± {error:,.0f}" for candidate, count, error in each]
        return "\n".join([repr(self).strip("<>"), *lines, *(["..."] if len(self) > len(lines) else [])])


def drawn(bars: dict[str, Any], title: str, guarantee: Guarantee, what: str) -> Figure:
    """Draw bars under a title that states the promise."""
    go = plotly("estimates")
    promise = f"ε = {guarantee.epsilon:g} per report, {what}"
    if guarantee.seeded:
        promise += " (seeded: not for publication)"
    figure: Figure = portable(go.Figure(go.Bar(**bars)))
    margin = {"l": 60, "r": 30, "t": 80, "b": 60}
    figure.update_layout(title={"text": f"{title}<br><sup>{promise}</sup>"}, template="simple_white", margin=margin)
    return figure


def consistent(count: npt.ArrayLike, n: int, how: str = "simplex", std_error: Any = None) -> FloatArray:
    """Make estimated counts non-negative, with the sum ``n``.

    Parameters
    ----------
    count : array of float
        Raw estimates of *all* values.
    n : int
        The sum.
    how : {"simplex", "base-cut", "norm-cut"}
        "simplex": the nearest non-negative counts with sum ``n``: all are shifted by one number, negatives become zero
        (norm-sub). "norm-cut": the largest are kept up to the sum ``n``, the others become zero. "base-cut": those
        within the noise become zero; the sum is not fixed.
    std_error : array of float, optional
        Standard errors; needed by "base-cut".

    Examples
    --------
    >>> consistent([70.0, 40.0, -6.0, -4.0], 100).tolist()
    [65.0, 35.0, 0.0, 0.0]
    >>> consistent([70.0, 40.0, -6.0, -4.0], 100, "norm-cut").tolist()
    [70.0, 30.0, 0.0, 0.0]
    >>> consistent([70.0, 40.0, -6.0, -4.0], 100, "base-cut", std_error=[20.0] * 4).tolist()
    [70.0, 0.0, 0.0, 0.0]
    """
    how = checks.choice("how", how, CHOICES)
    raw = checks.numeric_column("count", count)
    total = checks.whole("n", n)
    if not len(raw):
        return raw
    if how == "base-cut":
        if std_error is None:
            raise InvalidArgument("std_error", None, "the standard errors, for a base cut", "std_error=found.std_error")
        return np.where(raw > family_wise(_CUT_LEVEL, len(raw)) * np.asarray(std_error), raw, 0.0)
    order = np.argsort(-raw, kind="stable")
    falling = raw[order]
    sums = np.cumsum(np.maximum(falling, 0.0) if how == "norm-cut" else falling)
    if how == "simplex":
        # The shift when the j largest stay positive; the right j is the last whose smallest does stay so.
        shifts = (total - sums) / np.arange(1, len(raw) + 1)
        last = int(np.flatnonzero(falling + shifts > 0)[-1]) if total else 0
        return np.maximum(raw + shifts[last], 0.0) if total else np.zeros(len(raw))
    kept = np.clip(total - (sums - np.maximum(falling, 0.0)), 0.0, np.maximum(falling, 0.0))
    out = np.empty(len(raw))
    out[order] = kept
    return out
