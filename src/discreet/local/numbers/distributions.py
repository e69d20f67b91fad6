"""Estimated distributions of numbers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import BoolArray, FloatArray, Guarantee, checks, normal_width
from discreet.errors import InvalidArgument
from discreet.local.estimates import drawn

#: ``refit(replicates, rng)`` returns the shares of bootstrap samples, one per row.
Refit = Callable[[int, object], FloatArray]
#: Intervals of quantiles are compared at these levels, whatever was asked for.
_DECILES = np.linspace(0.1, 0.9, 9)


@dataclass(frozen=True, eq=False)
class Distribution:
    """An estimated distribution over the buckets of a public range.

    The fit is biased. Within a bucket, values (on a log scale, their logarithms) are assumed to be uniform.

    Attributes
    ----------
    shares : ndarray of float
        Estimated share of the reporters in each bucket; at least 0, with sum 1.
    edges : ndarray of float
        The ends of the buckets.
    n : int
        Number of reports.
    guarantee : Guarantee
        The promise to every reporter.
    method, steps : str, int
        The method of estimation, and the steps of the fit.
    scale : str
        "linear" or "log".
    share_error : float
        Standard error of the share of values near one end, from the number of reports and the mechanism alone. A
        quantile with a smaller share beyond it has no interval.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.local import SquareWave
    >>> m = SquareWave(epsilon=2, low=0, high=100, buckets=20)
    >>> ages = np.repeat([25.0, 40.0, 61.0], 4000)
    >>> found = m.estimate(m.aggregate(m.encode(ages, rng=1)))
    >>> round(found.mean), found.quantile([0.25, 0.5, 0.75]).round().tolist()
    (44, [31.0, 43.0, 58.0])
    >>> low, high = found.interval(0.95, of="mean", replicates=50, rng=2)
    >>> bool(low < found.mean < high)
    True
    """

    shares: FloatArray
    edges: FloatArray
    n: int
    guarantee: Guarantee
    method: str
    steps: int
    scale: str = "linear"
    _refit: Refit | None = field(default=None, repr=False)
    share_error: float = 0.0

    def __len__(self) -> int:
        return len(self.shares)

    @property
    def middles(self) -> FloatArray:
        """The mean of each bucket."""
        if self.scale == "log":
            return np.asarray(np.diff(self.edges) / np.diff(np.log(self.edges)))
        return np.asarray((self.edges[1:] + self.edges[:-1]) / 2)

    @property
    def mean(self) -> float:
        """Estimated mean."""
        return float(self.shares @ self.middles)

    @property
    def std(self) -> float:
        """Estimated standard deviation of the middles."""
        return float(np.sqrt(self.shares @ (self.middles - self.mean) ** 2))

    def cdf(self, x: Any) -> FloatArray:
        """Return the estimated share of values of at most ``x``."""
        place = np.clip(np.asarray(x, np.float64), self.edges[0], self.edges[-1])
        return np.asarray(np.interp(self._even(place), self._even(self.edges), _running(self.shares)))

    def quantile(self, q: Any) -> FloatArray:
        """Return the estimated quantiles at the levels ``q``."""
        return self._quantiles(self.shares, _levels(q))

    def _even(self, x: Any) -> FloatArray:
        """Return numbers on the scale on which buckets have equal widths."""
        return np.asarray(np.log(x) if self.scale == "log" else x)

    def _quantiles(self, shares: FloatArray, q: FloatArray) -> FloatArray:
        return self._uneven(_quantiles(shares, self._even(self.edges), q))

    def _uneven(self, x: FloatArray) -> FloatArray:
        """Return numbers of that scale as values."""
        return np.clip(np.exp(x), self.edges[0], self.edges[-1]) if self.scale == "log" else x

    def interval(
        self, level: float = 0.95, *, of: str = "shares", q: Any = 0.5, replicates: int = 200, rng: object = None
    ) -> tuple[Any, Any]:
        """Return bootstrap intervals for the population that the reporters are a sample of.

        Reports are drawn from the fit and fitted again. The spread of the results and their distance from the fit, the
        bias of fitting, both widen the interval. Detail finer than the noise is lost: trust means, quantiles and sums
        over many buckets more than single shares. Intervals of quantiles grow with the level. They are NaN where the
        share of values beyond the quantile is below ``share_error``: such a tail cannot be told from noise.

        Parameters
        ----------
        level : float
            Coverage, between 0 and 1.
        of : {"shares", "cdf", "mean", "quantile"}
            The share of every bucket, the share up to every edge, the mean, or the quantiles at ``q``.
        q : float or array
            Levels of the quantiles.
        replicates : int
            Bootstrap samples.
        rng : None, int or Generator
            Randomness of the resampling.
        """
        kind = checks.choice("of", of, ("shares", "cdf", "mean", "quantile"))
        levels = _levels(q)
        again = self._again(replicates, rng)
        if kind == "quantile":
            return self._quantile_interval(levels, level, again)
        what: dict[str, Callable[[FloatArray], Any]] = {
            "shares": np.asarray, "cdf": _running, "mean": lambda shares: shares @ self.middles,
        }  # fmt: skip
        return self._interval(what[kind], level, again, numbers=kind == "mean")

    def seen(self, q: Any) -> BoolArray:
        """Return which quantiles have an interval: the share beyond them is not below the error of a share."""
        levels = _levels(q)
        return np.asarray(np.minimum(levels, 1 - levels) >= self.share_error)

    def _quantile_interval(self, levels: FloatArray, level: float, again: FloatArray) -> tuple[Any, Any]:
        """Return intervals of quantiles; a bound of a lower quantile holds for the higher ones too, and vice versa."""
        every = np.unique(np.concatenate([np.ravel(levels), _DECILES]))
        every = every[self.seen(every)]
        low, high = self._interval(lambda shares: self._quantiles(shares, every), level, again, numbers=True)
        low, high = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
        place, seen = np.searchsorted(every, levels), self.seen(levels)
        place = np.minimum(place, max(len(every) - 1, 0))
        found = (
            np.where(seen, end[place], np.nan) if len(every) else np.full(levels.shape, np.nan) for end in (low, high)
        )
        return tuple(found)  # type: ignore[return-value]

    def _again(self, replicates: int, rng: object) -> FloatArray:
        """Return the shares of fits to reports that are drawn from this fit."""
        times = checks.whole("replicates", replicates, low=2, high=1_000_000)
        if self._refit is None:
            raise InvalidArgument("self", "a distribution without reports", "one that a mechanism estimated")
        return self._refit(times, rng)

    def _interval(
        self, what: Callable[[FloatArray], Any], level: float, again: FloatArray, *, numbers: bool = False
    ) -> tuple[Any, Any]:
        """Return the interval of a function of the shares; that of a number is found on the distribution's scale."""
        reach = normal_width(float(checks.probability("level", level)))
        even = self._even if numbers else np.asarray
        own, found = even(what(self.shares)), even(np.stack([what(row) for row in again]))
        unbiased, error = 2 * own - found.mean(axis=0), found.std(axis=0, ddof=1)
        low, high = np.minimum(own, unbiased) - reach * error, np.maximum(own, unbiased) + reach * error
        if not numbers:
            return np.clip(low, 0, 1), np.clip(high, 0, 1)
        first, last = even(self.edges[[0, -1]])
        return tuple(self._uneven(np.clip(end, first, last)) for end in (low, high))  # type: ignore[return-value]

    def summary(self, quantiles: Any = (0.25, 0.5, 0.75), *, bins: int = 24, replicates: int = 100) -> dict[str, Any]:
        """Return mean, quantiles and a histogram of at most so many bins, with 95 % intervals, as plain data.

        Examples
        --------
        >>> from discreet.local import SquareWave
        >>> m = SquareWave(epsilon=2, low=1, high=60_000, scale="log")
        >>> found = m.estimate(m.aggregate(m.encode([120.0, 180.0, 270.0] * 10_000, rng=1))).summary([0.5])
        >>> [round(found["quantiles"][0][key]) for key in ("lower", "value", "upper")], len(found["histogram"])
        ([173, 177, 180], 16)
        """
        again = self._again(replicates, 0)
        levels, d = _levels(np.atleast_1d(quantiles)), len(self)
        equal = max(k for k in range(1, bins + 1) if d % k == 0)
        bins = equal if equal > bins // 2 else min(bins, d)  # of equal widths, if that leaves enough of them
        first = np.arange(bins) * d // bins
        merged: Any = partial(np.add.reduceat, indices=first)
        ends = self.edges[[*first, d]].tolist()
        mean = self._interval(lambda shares: shares @ self.middles, 0.95, again, numbers=True)
        at = self._quantile_interval(levels, 0.95, again)
        parts = self._interval(merged, 0.95, again)
        columns = zip(levels.tolist(), self.quantile(levels).tolist(), *map(_known, at), strict=True)
        rows = zip(ends, ends[1:], merged(self.shares).tolist(), *(end.tolist() for end in parts), strict=False)
        return {
            "mean": self.mean, "lower": float(mean[0]), "upper": float(mean[1]),
            "quantiles": [dict(zip(("level", "value", "lower", "upper"), row, strict=True)) for row in columns],
            "histogram": [dict(zip(("from", "to", "share", "lower", "upper"), row, strict=True)) for row in rows],
            "scale": self.scale,
        }  # fmt: skip

    def to_arrow(self) -> pa.Table:
        """Return a table: the ends of every bucket and its share."""
        table = pa.table({"low": self.edges[:-1], "high": self.edges[1:], "share": self.shares})
        return table.replace_schema_metadata({"discreet.guarantee": self.guarantee.to_json()})

    def plot(self) -> Any:
        """Draw the shares as bars, with the mean."""
        bars = {
            "x": (self.edges[1:] + self.edges[:-1]) / 2, "y": 100 * self.shares, "width": np.diff(self.edges),
            "marker": {"color": "#4f7cac", "line": {"width": 0}},
            "customdata": np.stack([self.edges[:-1], self.edges[1:]], axis=1),
            "hovertemplate": "%{customdata[0]:.4g} to %{customdata[1]:.4g}: %{y:.2f} %<extra></extra>",
        }  # fmt: skip
        figure = drawn(bars, "Estimated distribution", self.guarantee, f"{self.n:,} reports, {self.method}")
        figure.add_vline(x=self.mean, line={"color": "#334155", "dash": "dot"}, annotation_text=f"mean {self.mean:.4g}")
        ends = [float(np.log10(end)) if self.scale == "log" else float(end) for end in self.edges[[0, -1]]]
        figure.update_layout(
            xaxis={"title": "value", "type": self.scale, "range": ends},
            yaxis_title="share of the reporters, %", bargap=0, height=420,
        )  # fmt: skip
        return figure

    def __repr__(self) -> str:
        return f"<distribution over {len(self)} buckets from {self.n} reports, mean {self.mean:.4g}>"


def _known(ends: FloatArray) -> list[float | None]:
    return [None if np.isnan(end) else float(end) for end in ends]


def _levels(q: Any) -> FloatArray:
    levels = checks.numeric_column("q", np.atleast_1d(q)).reshape(np.shape(q))
    if not np.all((levels >= 0) & (levels <= 1)):
        raise InvalidArgument("q", q, "shares from 0 to 1", "q=[0.25, 0.5, 0.75]")
    return levels


def _running(shares: FloatArray) -> FloatArray:
    total = np.concatenate([[0.0], np.cumsum(shares)])
    return np.asarray(total / total[-1])


def _quantiles(shares: FloatArray, edges: FloatArray, q: FloatArray) -> FloatArray:
    running = _running(shares)
    place = np.minimum(np.searchsorted(running[1:], q, side="left"), len(shares) - 1)
    span = running[place + 1] - running[place]
    within = np.clip((q - running[place]) / np.where(span > 0, span, 1.0), 0, 1)
    return np.asarray(edges[place] + within * (edges[place + 1] - edges[place]))
