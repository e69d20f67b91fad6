"""Square wave: the whole distribution of one number, from one small report per user.

Li, Wang, Lopuhaä-Zwakenberg, Škorić, Li (2020), on integers. A report is more likely near the value, so near misses are
informative too. The collector fits the distribution by maximum likelihood.
"""

import math
from functools import cached_property
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import FloatArray, IntArray, checks, jit, option
from discreet.errors import InvalidArgument
from discreet.local.mechanism import REPORT_EPSILON, OneNumber
from discreet.local.numbers.distributions import Distribution
from discreet.local.numbers.means import numbers
from discreet.local.numbers.scales import HIGH, LOW, Scale
from discreet.local.wire.bits import Rows
from discreet.noise import Generator
from discreet.noise.reports import Window, half_width, square_wave
from discreet.noise.stream import resample

_MOST_STEPS = 10_000
_LEAST_GAIN = 1e-3


class SquareWave(OneNumber):
    """Report a point that is e^ε times as likely near the value's bucket as elsewhere.

    The range is cut into d buckets, of equal width or of equal ratio. A report is one of d + 2h points; the 2h + 1
    points around the value's bucket have the larger probability. A missing value becomes a random bucket.

    Privacy
    -------
    Neighbours: any two values of one user. Every point has probability Q = 1/((2h+1)E + d - 1) or E·Q under every
    value: the ratio is exactly e^ε. Points and probabilities are exact, so floating point leaks nothing. Cost: ε per
    report.

    Examples
    --------
    >>> m = SquareWave(epsilon=1, low=0, high=120, buckets=64)
    >>> m.reach, m.report_bits
    (16, 7)
    >>> found = m.estimate(m.aggregate(m.encode([30.0] * 5000 + [70.0] * 5000, rng=1)))
    >>> round(found.mean)
    51
    """

    NAME = "square-wave"
    FIELD = "point"

    epsilon: float = REPORT_EPSILON
    low: float = LOW
    high: float = HIGH
    buckets: int = option(default=256, low=2, high=2**16, help="Number d of buckets; a power of 2 on a log scale.")
    scale: str = option(
        default="linear", choices=("linear", "log"), help="Buckets of equal width, or of equal ratio.",
        details="Use log for times and sizes, which span several powers of ten.",
    )  # fmt: skip
    reach: int | None = option(
        default=None, low=0, high=2**16, help="Half-width h of the window, in buckets.",
        details="None: the most informative one, ⌊B d⌋ with B = (εE - E + 1)/(2E(E - 1 - ε)), E = e^ε.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        d = self.buckets
        public = Scale.read(self.low, self.high, log=self.scale == "log")
        if public.log and d & (d - 1):
            fix = f"buckets={1 << d.bit_length() - 1}"
            raise InvalidArgument("buckets", d, "a power of 2 on a log scale", fix)
        reach = int(half_width(self._exact) * d) if self.reach is None else self._within("reach", high=d)
        self._set(low=public.low, high=public.high, reach=reach)

    @cached_property
    def public(self) -> Scale:
        """The scale of the buckets."""
        return Scale(self.low, self.high, self.scale == "log")

    @cached_property
    def law(self) -> Window:
        return square_wave(self._exact, self.buckets, self.reach)

    @property
    def _counters(self) -> int:
        return self.law.size

    @cached_property
    def edges(self) -> FloatArray:
        """The ends of the buckets."""
        return self.public.edges(self.buckets)

    def buckets_of(self, values: Any) -> IntArray:
        """Return the bucket of every value, -1 for anything but a number."""
        read = numbers(values)
        return np.where(np.isnan(read), -1, np.searchsorted(self.public.cuts(self.buckets), read, side="right"))

    def _encode(self, values: Any, stream: Generator) -> Rows:
        places = self.buckets_of(values)
        missing = places < 0
        if missing.any():
            places[missing] = noise.below(self.buckets, size=int(missing.sum()), rng=stream)
        return self.layout.pack(point=self.law.draw(places, stream))

    def estimate(self, counts: Any, *, method: str = "ems") -> Distribution:  # type: ignore[override]
        """Estimate the distribution of the reporters' values.

        Parameters
        ----------
        counts : Counts
            The result of `aggregate`.
        method : {"ems", "em"}
            "em" is maximum likelihood, stopped when a step gains little. "ems" smooths after every step: better for
            smooth distributions, worse for spikes.
        """
        how = checks.choice("method", method, ("em", "ems"))
        counts = self._own(counts)
        reports = counts.counters["reports"]
        shares, steps = self._fit(reports[None], how)

        def refit(replicates: int, rng: object) -> FloatArray:
            return self._fit(resample(self._chances(shares[0]), counts.n, replicates, rng), how)[0]

        name = "maximum likelihood" if how == "em" else "smoothed maximum likelihood"
        fitted = name, int(steps[0]), self.scale
        facts = shares[0], self.edges, counts.n, counts.guarantee
        return Distribution(*facts, *fitted, refit, self._share_error(counts.n))

    def _share_error(self, n: int) -> float:
        """Return the standard error of the share of values whose windows hold the same reports, if few have them.

        Of n reports, a share of width·far is in a window by chance, and a value there adds (near - far)·width.
        """
        law = self.law
        return float(min(1.0, math.sqrt(law.far * law.width / max(n, 1)) / ((law.near - law.far) * law.width)))

    def simulated(self, shares: FloatArray, n: int, times: int, rng: object = None) -> list[Distribution]:
        """Return the estimates of simulated collections of ``n`` reports from a population with these shares."""
        fits, steps = self._fit(resample(self._chances(shares), n, times, rng), "ems")
        facts = self.edges, n, self.guarantee, "smoothed maximum likelihood"
        return [Distribution(fit, *facts, int(k), self.scale) for fit, k in zip(fits, steps, strict=True)]

    def _chances(self, shares: FloatArray) -> FloatArray:
        """Return the probability of every report, given the shares of the buckets."""
        law, running = self.law, np.concatenate([[0.0], np.cumsum(shares)])
        points = np.arange(law.size)
        held = running[np.minimum(points + 1, len(shares))] - running[np.maximum(points - law.width + 1, 0)]
        return np.asarray(law.far + (law.near - law.far) * held)

    def _fit(self, reports: IntArray, method: str) -> tuple[FloatArray, IntArray]:
        shares, steps = np.empty((len(reports), self.buckets)), np.zeros(len(reports), np.int64)
        # Reports are more informative with larger budgets, so plain EM may stop earlier.
        gain = _LEAST_GAIN * (np.exp(self.epsilon) if method == "em" else 1.0)
        law = self.law
        table = reports.astype(np.float64)
        _window_em(table, law.width, law.near, law.far, method == "ems", gain, _MOST_STEPS, shares, steps)
        return shares, steps

    def variance(self, n: int, f: Any = 0) -> Any:
        """Refuse: a fit has no closed variance; see `Distribution.interval`."""
        raise InvalidArgument("mechanism", self.NAME, "one with a closed variance", "found.interval(0.95)")

    def report_law(self, value: Any) -> tuple[Rows, Any]:
        self._listable("buckets", self.law.size)
        place = int(self.buckets_of([value])[0])
        points = self.layout.pack(point=np.arange(self.law.size))
        if place >= 0:
            return points, self.law.probabilities(place)
        return points, np.mean([self.law.probabilities(i) for i in range(self.buckets)], axis=0)


@jit
def _window_em(
    counts: Any, width: int, near: float, far: float, smooth: bool, gain: float, most: int, out: Any, steps: Any
) -> None:  # pragma: no cover
    """Fit every row of ``counts``: shares of the d values whose windows start at report 0, 1, ... d - 1.

    A fit stops when the log-likelihood grows by less than ``gain``, or after ``most`` steps. With M(j, i) = P if j is
    in the window of i, else Q, both products of a step, M x and Mᵀ r, are differences of running sums: O(d), not O(d²).
    """
    n_reports, d = counts.shape[1], out.shape[1]
    before, ratio = np.zeros(d + 1), np.zeros(n_reports + 1)
    for k in range(counts.shape[0]):
        x = np.full(d, 1.0 / d)
        last = -math.inf
        for step in range(most):
            for i in range(d):
                before[i + 1] = before[i] + x[i]
            likelihood = 0.0
            for j in range(n_reports):
                # The values whose window holds report j are j - width + 1 .. j.
                held = before[min(j + 1, d)] - before[max(j - width + 1, 0)]
                chance = far + (near - far) * max(held, 0.0)
                ratio[j + 1] = ratio[j] + counts[k, j] / chance
                if counts[k, j] > 0:
                    likelihood += counts[k, j] * math.log(chance)
            if likelihood - last < gain or ratio[n_reports] == 0.0:
                break
            last = likelihood
            total = 0.0
            for i in range(d):
                x[i] *= far * ratio[n_reports] + (near - far) * (ratio[i + width] - ratio[i])
                total += x[i]
            for i in range(d):
                x[i] /= total
            if smooth:
                left = x[0]
                for i in range(d):
                    here = x[i]
                    x[i] = (left + 2 * here + (x[i + 1] if i + 1 < d else here)) / 4
                    left = here
            steps[k] = step + 1
        out[k] = x
