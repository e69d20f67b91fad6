"""The fast path of Laplace noise on the sphere: doubles with a bound on their error, as in `_isotropic_kernels.py`.

A try takes four words of 64 random bits, each the leading digits of a uniform real number: the bearing β = 2πu, two for
a Gamma(2) length t = -ln(u_1 u_2), one that accepts θ = t·scale if it is below sin θ/θ (and θ < π).

A point at latitude φ moved by the angle θ at the bearing β. Let n = sin θ cos β (north), e = sin θ sin β (east),
u = cos θ (up); X = u cos φ - n sin φ is the coordinate away from the axis on φ's own meridian, ϱ = √(X² + e²) the new
distance from the axis, and q = ϱ - X, which for X > 0 is e²/(ϱ + X), without cancellation. Then

- the latitude grows by δ with sin δ = n - q sin φ and cos δ = u + q cos φ;
- the longitude grows by the angle of (X, e).

Away from the poles both are right to a few units in *their own* last place, however small the step, so the lattice's
size does not matter. Every quantity carries a bound on its error. The library's functions are assumed to be right to 4
units in the last place; the bounds allow more. A value nearer to a rounding boundary (or to the border of acceptance)
than twice its bound is not decided here.
"""

import math
from typing import Any

import numpy as np

from discreet.core import jit
from discreet.noise.vector._isotropic_kernels import _TINY, _uniform

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
