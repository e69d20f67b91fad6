"""Unbiased reports of one number in a public range: Duchi, piecewise, hybrid.

A value in [low, high] is first put on a public grid of 2^31 steps: a *place*, an integer from 0 to 2^31, stands for t =
place/2^30 - 1 in [-1, 1]. All probabilities are exact functions of the place, so floating point leaks nothing. E = e^ε.

*Duchi* (Duchi, Jordan, Wainwright 2018): a sign, + with probability 1/2 + θ t/2, θ = (E - 1)/(E + 1); it stands for
±1/θ. *Piecewise* (Wang and others 2019) on integers: one of 2M + 1 points; a window of W = 2w + 1 of them around the
centre (M - w) t has E times the probability of the others. The centre is rounded at random to a neighbouring integer,
so its mean is exact. A point y in -M..M stands for y/((P - Q) W (M - w)). *Hybrid*: piecewise with probability
1 - e^(-ε/2), else Duchi; all Duchi if ε <= 0.61. The choice does not depend on the value.

Each has a ratio of exactly E between the probabilities of a report under t = 1 and t = -1, and no larger one anywhere:
the random rounding is a mixture over centres, and every centre has probabilities between Q and E Q.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from discreet.core import FloatArray, IntArray, inlined, jit
from discreet.noise.reports.laws import Coin, GroupLaw, ReportLaw
from discreet.noise.stream.draw import byte_width, draw
from discreet.noise.stream.kernels import FINISHED, _below_one, _toss, _why
from discreet.noise.stream.thresholds import Chance, chance_value, digit_table, exponential_decay

#: A place on the public grid is a whole number from 0 to 2 HALF; it stands for t = place/HALF - 1.
HALF_BITS = 30
HALF = 1 << HALF_BITS

#: What a report of a number is: a sign, a point, or either.
SIGNS, POINTS, EITHER = 0, 1, 2

_HEADS, _OUT_OF_BYTES = 1, -1


@inlined
def _window_one(
    table: Any, row: int, start: int, width: int, others: int, sizes: Any, buffer: Any, position: int
) -> tuple[int, int, int]:  # pragma: no cover
    """One point of a window of ``width`` points from ``start`` on heads, else one of the ``others`` round it."""
    side, position = _toss(table, row, buffer, position)
    if side < 0:
        return side, 0, position
    if side == _HEADS:
        point, position = _below_one(width, sizes[0], sizes[1], buffer, position)
        found = start + point
    else:
        point, position = _below_one(others, sizes[2], sizes[3], buffer, position)
        found = point + width * (point >= start)
    if point < 0:
        return _OUT_OF_BYTES, 0, position
    return _HEADS, found, position


@inlined
def _sign_one(table: Any, row: int, place: int, buffer: Any, position: int) -> tuple[int, int, int]:  # pragma: no cover
    """One sign: on heads 1 with chance place/(2 HALF), else a fair coin."""
    side, position = _toss(table, row, buffer, position)
    if side < 0:
        return side, 0, position
    ticket, position = _below_one(2 * HALF, 4, 2 * HALF - 1, buffer, position)
    if ticket < 0:
        return _OUT_OF_BYTES, 0, position
    return _HEADS, int(ticket < (place if side == _HEADS else HALF)), position


@inlined
def _point_one(
    table: Any, row: int, place: int, reach: int, width: int, others: int, sizes: Any, buffer: Any, position: int
) -> tuple[int, int, int]:  # pragma: no cover
    """One point of the integer piecewise law: the window's start is rounded up or down at random, exact in the mean."""
    # The centre (M - w) t and the start, M - w above it, scaled by HALF: (M - w)(place - HALF) + (M - w) HALF.
    scaled = reach * place
    ticket, position = _below_one(HALF, 4, HALF - 1, buffer, position)
    if ticket < 0:
        return _OUT_OF_BYTES, 0, position
    start = (scaled >> HALF_BITS) + int(ticket < (scaled & (HALF - 1)))
    return _window_one(table, row, start, width, others, sizes, buffer, position)


@jit
def windows(
    table: Any, starts: Any, width: int, others: int, sizes: Any, buffer: Any, position: int, out: Any, done: int
) -> tuple[int, int, int]:  # pragma: no cover
    for i in range(done, out.shape[0]):
        side, found, after = _window_one(table, 0, starts[i], width, others, sizes, buffer, position)
        if side < 0:
            return position, i, _why(side)
        out[i] = found
        position = after
    return position, out.shape[0], FINISHED


@jit
def numbers(
    kind: int, table: Any, places: Any, reach: int, width: int, others: int, sizes: Any, buffer: Any, position: int,
    out: Any, done: int,
) -> tuple[int, int, int]:  # fmt: skip  # pragma: no cover
    """Signs, points, or either by a first coin: a point on heads, else a sign, which is numbered after all points."""
    for i in range(done, out.shape[0]):
        pointed, row, before, after = kind == POINTS, 0, 0, position
        if kind == EITHER:
            side, after = _toss(table, 0, buffer, position)
            if side < 0:
                return position, i, _why(side)
            pointed, row, before = side == _HEADS, 1 if side == _HEADS else 2, width + others
        if pointed:
            side, found, after = _point_one(table, row, places[i], reach, width, others, sizes, buffer, after)
        else:
            side, found, after = _sign_one(table, row, places[i], buffer, after)
            found += before
        if side < 0:
            return position, i, _why(side)
        out[i] = found
        position = after
    return position, out.shape[0], FINISHED


#: Up to this budget the hybrid is all Duchi.
_ALL_SIGNS = Fraction(61, 100)


def numbers_sent(d: int, epsilon: Fraction) -> int:
    """Return how many of d numbers a report should contain, k = max(1, min(d, ⌊ε/2.5⌋)), with ε/k each.

    With less than 2.5 a number's report is mostly noise (Wang and others 2019).
    """
    return max(1, min(d, int(epsilon / Fraction(5, 2))))


def places_of(values: FloatArray, low: Any, high: Any) -> IntArray:
    """Put values on the public grid: clamped to the bounds, the middle for anything but a number."""
    share = (np.clip(values, low, high) - low) / (high - low)
    return np.asarray(np.rint(np.nan_to_num(share, nan=0.5) * (2 * HALF)), np.int64)


@dataclass(frozen=True)
class Window(GroupLaw):
    """A point among ``size``; a window of ``width`` of them has e^ε times the probability of the others."""

    epsilon: Fraction
    width: int
    size: int

    @property
    def sizes(self) -> tuple[int, int]:
        return self.width, self.size - self.width

    @cached_property
    def near(self) -> float:
        """The probability of each point of the window."""
        return chance_value(self.inside) / self.width

    @cached_property
    def far(self) -> float:
        """The probability of each other point."""
        inner, outer = map(Fraction, self.sizes)
        return chance_value(Chance(b=outer, c=inner, d=outer, x=self.epsilon)) / int(outer)

    @cached_property
    def bytes(self) -> IntArray:
        """Bytes and mask of a point of the window, and of another one."""
        return np.array([part for size in self.sizes for part in byte_width(size)], np.int64)

    def draw(self, starts: IntArray, rng: object) -> IntArray:
        """Draw a point for every window, given by its first point."""

        def kernel(precision: int, *state: Any) -> tuple[int, int, int]:
            table = digit_table((self.inside,), precision)
            return windows(table, starts, *self.sizes, self.bytes, *state)

        out: IntArray = draw(kernel, starts.shape, rng, bytes_each=4.0)
        return out

    def probabilities(self, start: int) -> FloatArray:
        """Return the probability of every point when the window starts at ``start``."""
        chances = np.full(self.size, self.far)
        chances[start : start + self.width] = self.near
        return chances


class WindowedLaw(ReportLaw):
    """A law whose report is a point; a window that depends on the value is more likely."""

    window: Window

    @property
    def coins(self) -> dict[str, Coin]:
        """The coin of the window; choosing the window at random mixes windows and does not raise the ratio."""
        return self.window.coins

    def ratio(self, heads: Mapping[str, Fraction]) -> Fraction:
        return self.window.ratio(heads)

    @property
    def pull(self) -> float:
        """(P - Q) W: by how much a window moves the mean of the points."""
        return (self.window.near - self.window.far) * self.window.width


@dataclass(frozen=True)
class DuchiLaw(ReportLaw):
    """A sign: report 0 is minus, 1 is plus."""

    epsilon: Fraction

    @property
    def second(self) -> tuple[float, float]:
        """The two numbers with which E[value²] = second[0] + second[1] t²."""
        return float(self.values[1] ** 2), 0.0

    @property
    def informed(self) -> Chance:
        """The probability θ = (E - 1)/(E + 1) that the report depends on the value."""
        return Chance(a=Fraction(1), b=Fraction(-1), d=Fraction(1), x=self.epsilon)

    @property
    def coins(self) -> dict[str, Coin]:
        return {"informed": Coin(self.informed, up=False)}

    def ratio(self, heads: Mapping[str, Fraction]) -> Fraction:
        """Return the ratio of the probabilities of a sign at the two ends, (1 + θ)/(1 - θ)."""
        return (1 + heads["informed"]) / (1 - heads["informed"])

    @cached_property
    def values(self) -> FloatArray:
        """The number of each report."""
        c = 1 / chance_value(self.informed)
        return np.array([-c, c])

    def draw(self, places: IntArray, rng: object) -> IntArray:
        return _draw(SIGNS, (self.informed,), places, rng, bytes_each=5.01)

    def probabilities(self, place: int) -> FloatArray:
        """Return the probability of every report given the place."""
        sure = chance_value(self.informed)
        minus = chance_value(Chance(b=Fraction(1), d=Fraction(1), x=self.epsilon))  # 1/(E + 1), all of it at t = 1
        up = place / (2 * HALF)
        return np.array([minus + sure * (1 - up), minus + sure * up])

    def variance(self, t: Any) -> Any:
        return self.second[0] - np.square(t)


@dataclass(frozen=True)
class PiecewiseLaw(WindowedLaw):
    """A point of -M..M, numbered from 0; ``half`` is w, None for the best."""

    epsilon: Fraction
    steps: int
    half: int | None = None

    @cached_property
    def window(self) -> Window:  # type: ignore[override]
        """The window of W = 2w + 1 points."""
        half = best_half(self.epsilon, self.steps) if self.half is None else self.half
        return Window(self.epsilon, 2 * half + 1, 2 * self.steps + 1)

    @property
    def reach(self) -> int:
        """The largest distance of a centre from 0, M - w."""
        return self.steps - self.window.width // 2

    @cached_property
    def values(self) -> FloatArray:
        return np.arange(-self.steps, self.steps + 1) / (self.pull * self.reach)

    @cached_property
    def second(self) -> tuple[float, float]:
        """The two numbers with which E[value²] = second[0] + second[1] t², for the worst rounding of the centre."""
        return self._flat + 0.25 / (self.pull * self.reach**2), 1 / self.pull

    @cached_property
    def _flat(self) -> float:
        m, w = self.steps, self.window.width // 2
        # Sums of squares: over the window round 0, W w(w + 1)/3; over all points, M(M + 1)(2M + 1)/3.
        squares = self.pull * w * (w + 1) / 3 + self.window.far * m * (m + 1) * (2 * m + 1) / 3
        return squares / (self.pull * self.reach) ** 2

    def draw(self, places: IntArray, rng: object) -> IntArray:
        return _draw(POINTS, (self.window.inside,), places, rng, bytes_each=7.0, points=self)

    def probabilities(self, place: int) -> FloatArray:
        """Return the probability of every report given the place, over the rounding of the centre."""
        start, rest = divmod(self.reach * place, HALF)
        down = self.window.probabilities(start)
        return down if not rest else down + (self.window.probabilities(start + 1) - down) * (rest / HALF)

    def variance(self, t: Any) -> Any:
        """Return the variance of a report's value given t, over the rounding of the centre."""
        centre = self.reach * np.asarray(t, np.float64)
        rest = centre - np.floor(centre)
        return self._flat + (centre**2 + rest * (1 - rest)) / (self.pull * self.reach**2) - np.square(t)


@dataclass(frozen=True)
class HybridLaw(ReportLaw):
    """A point or a sign: first the points of the piecewise law, then minus and plus."""

    epsilon: Fraction
    steps: int
    half: int | None = None

    @cached_property
    def points(self) -> PiecewiseLaw:
        return PiecewiseLaw(self.epsilon, self.steps, self.half)

    @cached_property
    def signs(self) -> DuchiLaw:
        return DuchiLaw(self.epsilon)

    @property
    def choice(self) -> Chance:
        """The probability 1 - e^(-ε/2) of a point."""
        return Chance(a=Fraction(1), b=Fraction(-1), x=self.epsilon / 2)

    @property
    def coins(self) -> dict[str, Coin]:
        return {"choice": Coin(self.choice, up=False), **self.points.coins, **self.signs.coins}

    def ratio(self, heads: Mapping[str, Fraction]) -> Fraction:
        """Return the larger ratio of the two laws: the choice between them does not depend on the value."""
        return max(self.points.ratio(heads), self.signs.ratio(heads))

    @property
    def _shares(self) -> tuple[float, float]:
        return chance_value(self.choice), chance_value(exponential_decay(self.epsilon / 2))

    @cached_property
    def values(self) -> FloatArray:
        return np.concatenate([self.points.values, self.signs.values])

    @property
    def second(self) -> tuple[float, float]:
        a, b = self._shares
        (point, growth), (sign, _) = self.points.second, self.signs.second
        return a * point + b * sign, a * growth

    def draw(self, places: IntArray, rng: object) -> IntArray:
        chances = (self.choice, self.points.window.inside, self.signs.informed)
        return _draw(EITHER, chances, places, rng, bytes_each=8.0, points=self.points)

    def probabilities(self, place: int) -> FloatArray:
        a, b = self._shares
        return np.concatenate([a * self.points.probabilities(place), b * self.signs.probabilities(place)])

    def variance(self, t: Any) -> Any:
        a, b = self._shares
        return a * self.points.variance(t) + b * self.signs.variance(t)


MeanLaw: TypeAlias = DuchiLaw | PiecewiseLaw | HybridLaw


def best_half(epsilon: Fraction, steps: int) -> int:
    """Return w for which 2w + 1 is the odd number next to (2M + 1)/(√E + 1)."""
    wanted = (2 * steps + 1) * chance_value(Chance(b=Fraction(1), d=Fraction(1), x=epsilon / 2))
    return min(max(round((wanted - 1) / 2), 0), steps - 1)


def mean_law(method: str, epsilon: Fraction, steps: int, half: int | None = None) -> MeanLaw:
    """Return the law of a method: ``"duchi"``, ``"piecewise"`` or ``"hybrid"``."""
    if method == "piecewise":
        return PiecewiseLaw(epsilon, steps, half)
    if method == "duchi" or epsilon <= _ALL_SIGNS:
        return DuchiLaw(epsilon)
    return HybridLaw(epsilon, steps, half)


def _draw(
    kind: int,
    chances: tuple[Chance, ...],
    places: IntArray,
    rng: object,
    *,
    bytes_each: float,
    points: PiecewiseLaw | None = None,
) -> IntArray:
    """Draw a report for every place: signs, points of a law, or either."""
    law = (0, 0, 0, np.zeros(4, np.int64))
    if points is not None:
        law = (points.reach, *points.window.sizes, points.window.bytes)

    def kernel(precision: int, *state: Any) -> tuple[int, int, int]:
        return numbers(kind, digit_table(chances, precision), places, *law, *state)

    out: IntArray = draw(kernel, places.shape, rng, bytes_each=bytes_each)
    return out


# The square wave on integers: a report near a value's bucket is e^ε times as likely as one far from it.
# Li, Wang, Lopuhaä-Zwakenberg, Škorić, Li (2020).


def half_width(epsilon: Fraction) -> Fraction:
    """Return B = (εE - E + 1)/(2E(E - 1 - ε)), the half-width of the window as a share of the range.

    Computed with enough digits that the differences keep 30 of them.
    """
    size = max(len(str(epsilon.denominator)) - len(str(epsilon.numerator)) + 1, 0)
    context = Context(prec=150 + 4 * size)
    x = context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    e = Fraction(context.exp(x))
    x_exact = Fraction(x)
    return (x_exact * e - e + 1) / (2 * e * (e - 1 - x_exact))


def square_wave(epsilon: Fraction, buckets: int, reach: int | None = None) -> Window:
    """Return the law of a point, given a bucket: 2h + 1 of d + 2h points are more likely; by default h = ⌊B d⌋."""
    reach = int(half_width(epsilon) * buckets) if reach is None else reach
    return Window(epsilon, 2 * reach + 1, buckets + 2 * reach)


@dataclass(frozen=True)
class SquareWaveLaw(WindowedLaw):
    """The square wave for places on the public grid of `discreet.noise.reports.means`.

    A report stands for the middle of its bucket, buckets beyond the ends included. Its mean is c t plus the rounding of
    t to a bucket, where c = (P - Q) W.
    """

    epsilon: Fraction
    buckets: int

    @cached_property
    def window(self) -> Window:  # type: ignore[override]
        return square_wave(self.epsilon, self.buckets)

    @cached_property
    def values(self) -> FloatArray:
        """The number of each report, on [-1, 1] and somewhat beyond."""
        middle = (self.window.size - 1) / 2
        return np.asarray((np.arange(self.window.size) - middle) * (2 / self.buckets), np.float64)

    def bucket(self, places: Any) -> Any:
        return np.minimum(np.asarray(places, np.int64) * self.buckets // (2 * HALF), self.buckets - 1)

    def draw(self, places: IntArray, rng: object) -> IntArray:
        return self.window.draw(self.bucket(places), rng)

    def probabilities(self, place: int) -> FloatArray:
        return self.window.probabilities(int(self.bucket(place)))

    def variance(self, t: Any) -> Any:
        """Return the variance of a report's value given t, in closed form."""
        place = np.rint((np.asarray(t, np.float64) + 1) * HALF)
        w, size = self.window.width, self.window.size
        centre = self.bucket(place) - (self.buckets - 1) / 2
        step = self.values[1] - self.values[0]
        # Squares of W points round a centre: W centre² + W(W² - 1)/12; of all points: L(L² - 1)/12.
        squares = self.pull * (centre**2 + (w * w - 1) / 12) + self.window.far * size * (size**2 - 1) / 12
        return step**2 * (squares - (self.pull * centre) ** 2)
