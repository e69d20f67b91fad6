"""The square wave on integers: a report near a value's bucket is e^ε times as likely as one far from it.

Li, Wang, Lopuhaä-Zwakenberg, Škorić, Li (2020).
"""

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core import FloatArray, IntArray
from discreet.noise.reports.means import HALF, Window, WindowedLaw


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


def square_wave(epsilon: Fraction, buckets: int) -> Window:
    """Return the law of a point, given a bucket: 2h + 1 of d + 2h points are more likely, h = ⌊B d⌋."""
    reach = int(half_width(epsilon) * buckets)
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
