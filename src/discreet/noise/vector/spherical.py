"""Laplace noise on the sphere, rounded to a lattice of latitudes and longitudes, exactly.

The law. Given a lattice point x, Z is a point of the sphere with density proportional to e^(-a·angle(x, z)), with the
same constant for every x. So the bearing from x is uniform, and the angle has density proportional to sin θ e^(-aθ) on
[0, π]: a planar length θ, with density a² θ e^(-aθ), kept with chance sin θ/θ. The result is the lattice point m in
whose cell Z is.

P(m | x) is the integral of that density over the cell of m, and by the triangle inequality the density changes by at
most e^(a·angle(x, x')) from x to x'. So P(m | x) <= e^(a·angle(x, x')) P(m | x'): exactly, whatever the shape of the
cells, near the poles and across the date line. It is drawn exactly, as in `isotropic.py`; rejection depends on the
noise only, never on x.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import IntArray, jit
from discreet.noise.stream.row_words import in_chunks, row_key, row_words, settle
from discreet.noise.vector.decimals import arctan2, cos_sin, pi
from discreet.noise.vector.isotropic import _TINY, _uniform

# The fast path of Laplace noise on the sphere: doubles with a bound on their error, as in `isotropic.py`.
#
# A try takes four words of 64 random bits, each the leading digits of a uniform real number: the bearing β = 2πu, two
# for a Gamma(2) length t = -ln(u_1 u_2), one that accepts θ = t·scale if it is below sin θ/θ (and θ < π).
#
# A point at latitude φ moved by the angle θ at the bearing β. Let n = sin θ cos β (north), e = sin θ sin β (east),
# u = cos θ (up); X = u cos φ - n sin φ is the coordinate away from the axis on φ's own meridian, ϱ = √(X² + e²) the new
# distance from the axis, and q = ϱ - X, which for X > 0 is e²/(ϱ + X), without cancellation. Then
#
# - the latitude grows by δ with sin δ = n - q sin φ and cos δ = u + q cos φ;
# - the longitude grows by the angle of (X, e).
#
# Away from the poles both are right to a few units in *their own* last place, however small the step, so the lattice's
# size does not matter. Every quantity carries a bound on its error. The library's functions are assumed to be right to
# 4 units in the last place; the bounds allow more. A value nearer to a rounding boundary (or to the border of
# acceptance) than twice its bound is not decided here.

#: Words of a try.
WORDS = 4
#: Outcomes of a try.
DONE, REJECTED, OPEN = 0, 1, 2


@jit
def shifts(words: Any, at: int, scale: float, sine: float, cosine: float, size: float) -> Any:  # pragma: no cover
    """Return the outcome of one try, then the shift of latitude and longitude in steps, each with its bound.

    ``sine`` and ``cosine`` are those of the latitude, right to 16·2^-53 of themselves; ``size`` is steps per radian.
    """
    beta = 2 * math.pi * _uniform(words[at])
    u1, u2, coin = _uniform(words[at + 1]), _uniform(words[at + 2]), _uniform(words[at + 3])
    if u1 < _TINY or u2 < _TINY or u1 * u2 == 1.0:
        return OPEN, 0.0, 0.0, 0.0, 0.0
    t = -math.log(u1 * u2)
    theta = t * scale
    e_theta = scale * (_TINY / u1 + _TINY / u2 + (t + 2) * 32 * _TINY) + theta * 4 * _TINY
    if abs(theta - math.pi) <= 2 * e_theta + 2.0**-50:
        return OPEN, 0.0, 0.0, 0.0, 0.0
    if theta > math.pi:
        return REJECTED, 0.0, 0.0, 0.0, 0.0
    s, u = math.sin(theta), math.cos(theta)
    edge = s / theta
    if abs(coin - edge) <= 2 * (e_theta + 2.0**-49):  # the slope of sin θ/θ is below 1
        return OPEN, 0.0, 0.0, 0.0, 0.0
    if coin > edge:
        return REJECTED, 0.0, 0.0, 0.0, 0.0
    e_s, e_u = e_theta + 8 * _TINY * s, e_theta * min(theta + e_theta, 1.0) + 8 * _TINY
    cos_b, sin_b = math.cos(beta), math.sin(beta)
    north, east = s * cos_b, s * sin_b
    e_north, e_east = e_s * abs(cos_b) + (s + e_s) * 2.0**-48, e_s * abs(sin_b) + (s + e_s) * 2.0**-48
    x = u * cosine - north * sine
    e_x = e_u * cosine + e_north * abs(sine) + 32 * _TINY * (abs(u * cosine) + abs(north * sine) + e_north * abs(sine))
    rho = math.sqrt(x * x + east * east)
    e_rho = e_x + e_east + 8 * _TINY * rho
    away = rho + abs(x)
    if away <= 4 * (e_rho + e_x):
        # At a pole: q is as small as its own error, and longitude is open.
        q, e_q = 0.0, 2 * (rho + abs(x) + e_rho + e_x)
    elif x > 0:
        r = east / away
        q = east * r
        e_q = abs(r) * e_east + (abs(east) + e_east) * 2 * (e_east + abs(r) * (e_rho + e_x)) / away + 16 * _TINY * q
    else:
        q = rho - x
        e_q = e_rho + e_x + 4 * _TINY * q
    a, b = north - sine * q, u + cosine * q
    e_a = e_north + abs(sine) * e_q + 32 * _TINY * (abs(sine) * q + abs(north))
    e_b = e_u + cosine * e_q + 32 * _TINY * (cosine * q + abs(u))
    if b < 0 and abs(a) <= 4 * (e_a + e_b):
        return OPEN, 0.0, 0.0, 0.0, 0.0  # from pole to pole: the sign of the angle is open
    lat = math.atan2(a, b)
    e_lat = 2 * (e_a * abs(b) + e_b * abs(a) + e_a * e_b) + 8 * _TINY * abs(lat)
    lon, e_lon = math.atan2(east, x), math.inf
    if rho > 8 * (e_x + e_east):
        e_lon = 2 * (e_east * abs(x) + e_x * abs(east) + e_x * e_east) / (rho * rho) + 8 * _TINY * abs(lon)
    y, z = lat * size, lon * size
    return DONE, y, e_lat * size + 8 * _TINY * abs(y), z, e_lon * size + 8 * _TINY * abs(z)


@jit
def move_rows(
    words: Any, rows: Any, scale: float, quarter: int, step: float, places: Any, status: Any
) -> None:  # pragma: no cover
    """Move the ``rows`` of ``places`` (latitude, longitude in steps), and write the outcomes into ``status``.

    ``quarter`` is the number of steps in 90 degrees, ``step`` a step in radians.
    """
    size = 1 / step
    for row in rows:
        latitude = places[row, 0]
        sine = math.sin(latitude * step)
        cosine = math.sin((quarter - abs(latitude)) * step)  # exact at the poles, and right in its last places
        found, y, e_y, z, e_z = shifts(words, row * WORDS, scale, sine, cosine, size)
        status[row] = found
        if found != DONE:
            continue
        if abs(y - math.floor(y) - 0.5) <= 2 * e_y:
            status[row] = OPEN
            continue
        new = latitude + np.int64(math.floor(y + 0.5))
        if abs(new) >= quarter:
            places[row, 0], places[row, 1] = (quarter if new > 0 else -quarter), 0
            continue
        if not abs(z - math.floor(z) - 0.5) > 2 * e_z:
            status[row] = OPEN
            continue
        longitude = places[row, 1] + np.int64(math.floor(z + 0.5))
        if longitude >= 2 * quarter:
            longitude -= 4 * quarter
        elif longitude < -2 * quarter:
            longitude += 4 * quarter
        places[row, 0], places[row, 1] = new, longitude


#: The exact result of a rejected try; None means that more digits are needed.
REFUSED = "rejected"


class SphericalNoise:
    """The noise of every row of a table of latitudes and longitudes: a function of a secret key and the row's number.

    ``scale`` is 1/a in radians, 1/(rate · radius of the sphere); ``quarter`` the number of lattice steps in 90 degrees.
    """

    def __init__(self, scale: Fraction, quarter: int, key: npt.NDArray[np.uint32]) -> None:
        self.scale = scale
        self.quarter = quarter
        self._key = key

    @classmethod
    def draw(cls, scale: Fraction, quarter: int, rng: object = None) -> SphericalNoise:
        """Draw a key and return its noise. ``rng``: see `discreet.noise.generator`."""
        return cls(scale, quarter, row_key(rng))

    def move(self, places: IntArray, first: int = 0) -> None:
        """Move lattice places (latitude, longitude in steps) by the noise of rows ``first``, ``first + 1``, ..."""
        in_chunks(len(places), WORDS, lambda a, b: self._move_chunk(places[a:b], first + a))

    def _move_chunk(self, places: IntArray, first: int) -> None:
        waiting = np.arange(len(places))
        status = np.zeros(len(places), np.uint8)
        step = float(np.pi / 2 / self.quarter)
        attempt = 0
        while len(waiting):
            words = row_words(self._key, WORDS, first, len(places), attempt=attempt)
            move_rows(words, waiting, float(self.scale), self.quarter, step, places, status)
            for row in waiting[status[waiting] == OPEN]:
                own, here = words[row * WORDS : (row + 1) * WORDS], tuple(places[row].tolist())
                decide: Any = partial(
                    moved, scale=self.scale, quarter=self.quarter, latitude=here[0], longitude=here[1]
                )
                found: tuple[int, int] | str = settle(self._key, own, first + int(row), decide, attempt)
                if isinstance(found, str):  # refused
                    status[row] = REJECTED
                else:
                    places[row] = found
            waiting = waiting[status[waiting] == REJECTED]
            attempt += 1


def moved(
    words: Sequence[int], bits: int, scale: Fraction, quarter: int, latitude: int, longitude: int
) -> tuple[int, int] | str | None:
    """Evaluate one try in decimals: the new place, `REFUSED`, or None if the digits leave it open."""
    found = exact_shifts(words, bits, scale, quarter, latitude)
    if found is None or isinstance(found, str):
        return found
    y, e_y, z, e_z = found
    north = _settled(y, e_y)
    if north is None:
        return None
    new = latitude + north
    if abs(new) >= quarter:
        return (quarter if new > 0 else -quarter), 0
    east = None if e_z is None else _settled(z, e_z)
    if east is None:
        return None
    return new, (longitude + east + 2 * quarter) % (4 * quarter) - 2 * quarter


def _settled(value: Decimal, bound: Decimal) -> int | None:
    low = (value - bound + Decimal("0.5")).to_integral_value(decimal.ROUND_FLOOR)
    high = (value + bound + Decimal("0.5")).to_integral_value(decimal.ROUND_FLOOR)
    return int(low) if low == high else None


def exact_shifts(
    words: Sequence[int], bits: int, scale: Fraction, quarter: int, latitude: int
) -> tuple[Decimal, Decimal, Decimal, Decimal | None] | str | None:
    """Evaluate the shifts of latitude and longitude in steps, with their bounds (None for longitude at a pole)."""
    # With thirty decimal digits to spare, rounding is negligible against a gap, which every bound includes.
    with decimal.localcontext(decimal.Context(prec=bits // 3 + 30)):
        gap = Decimal(1) / (1 << bits)
        if words[1] == 0 or words[2] == 0:
            return None
        turn, u1, u2, coin = ((Decimal(w) + Decimal("0.5")) * gap for w in words)
        factor = Decimal(scale.numerator) / Decimal(scale.denominator)
        theta = -(u1.ln() + u2.ln()) * factor
        e_theta = (gap / u1 + gap / u2 + gap) * factor
        if abs(theta - pi()) <= 2 * e_theta + gap:
            return None
        if theta > pi():
            return REFUSED
        u, s = cos_sin(theta)
        edge = s / theta
        if abs(coin - edge) <= 2 * (e_theta + gap):
            return None
        if coin > edge:
            return REFUSED
        cos_b, sin_b = cos_sin(2 * pi() * turn)
        step = pi() / 2 / quarter
        sine, cosine = cos_sin(latitude * step)[1], cos_sin((quarter - abs(latitude)) * step)[1]
        e_u, e_n = e_theta * min(theta + e_theta, Decimal(1)) + gap * s, e_theta + 8 * (s + e_theta) * gap
        north, east = s * cos_b, s * sin_b
        x = u * cosine - north * sine
        e_x = e_u * cosine + e_n * abs(sine)
        rho = (x * x + east * east).sqrt()
        e_rho = e_x + e_n
        away = rho + abs(x)
        if away <= 4 * (e_rho + e_x):
            return None
        q = east * east / away if x > 0 else rho - x
        r = min(abs(east) / away, Decimal(1))
        e_q = e_rho + e_x
        if x > 0:
            e_q = r * e_n + (abs(east) + e_n) * 2 * (e_n + r * (e_rho + e_x)) / away
        a, b = north - sine * q, u + cosine * q
        e_a, e_b = e_n + abs(sine) * e_q, e_u + cosine * e_q
        if b < 0 and abs(a) <= 4 * (e_a + e_b):
            return None
        lat, e_lat = arctan2(a, b), 2 * (e_a * abs(b) + e_b * abs(a) + e_a * e_b)
        e_lon = None
        if rho > 8 * (e_x + e_n):
            e_lon = 2 * (e_n * (abs(x) + abs(east)) + e_x * (abs(east) + e_n)) / (rho * rho) / step
        return lat / step, e_lat / step, arctan2(east, x) / step, e_lon
