"""Places on the globe: distances, lattice places, and remaps of noisy ones.

Rows are (latitude, longitude) in degrees.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import Box, FloatArray, IntArray, jit, later

spatial = later("scipy.spatial")

#: Mean radius of the earth in metres (IUGG).
EARTH = 6_371_008.8
#: Places of a prior that a guess looks at, and rows at a time.
_NEAREST, _AT_ONCE = 256, 4096


def great_circle(a: Any, b: Any) -> FloatArray:
    """Return the distance in metres between places, (latitude, longitude) in degrees, row by row.

    On a sphere of radius 6,371,008.8 m; distances on the ellipsoid differ by up to 0.56 %. One place goes with any
    number of others.

    Examples
    --------
    >>> great_circle([48.8583, 2.2945], [51.5007, -0.1246]).round(-2)
    np.float64(340500.0)
    """
    (lat_a, lon_a), (lat_b, lon_b) = (np.moveaxis(np.radians(np.asarray(x, np.float64)), -1, 0) for x in (a, b))
    # The haversine is right for places near each other, that of the antipode (1 less the first) for those far apart.
    across, turn = np.cos(lat_a) * np.cos(lat_b), (lon_a - lon_b) / 2
    h = np.sin((lat_a - lat_b) / 2) ** 2 + across * np.sin(turn) ** 2
    rest = np.sin((lat_a + lat_b) / 2) ** 2 + across * np.cos(turn) ** 2
    return np.asarray(2 * EARTH * np.arctan2(np.sqrt(h), np.sqrt(rest)))[()]


def unit_vectors(rows: FloatArray) -> FloatArray:
    """Return places as points of the unit sphere in space."""
    lat, lon = np.radians(rows[:, 0]), np.radians(rows[:, 1])
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)


def from_vectors(vectors: FloatArray) -> FloatArray:
    """Return the places that vectors of any length point to."""
    x, y, z = vectors.T
    return np.asarray(np.degrees(np.stack([np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)], axis=1)))


def cleaned(rows: FloatArray, box: Box) -> FloatArray:
    """Clamp rows to the declared box.

    Longitudes beyond [-180, 180] are first wrapped. Missing and infinite values become the middle.
    """
    middle = box.center
    lat, lon = rows[:, 0], rows[:, 1]
    lat = np.where(np.isnan(lat), middle[0], lat)
    with np.errstate(invalid="ignore"):
        turned = np.fmod(lon, 360)  # exact, and so is taking 360 off what is between 180 and 360
        turned = np.where(np.abs(turned) > 180, turned - np.copysign(360, turned), turned)
        lon = np.where(np.abs(lon) > 180, turned, lon)
    lon = np.where(np.isfinite(lon), lon, middle[1])
    return np.clip(np.stack([lat, lon], axis=1), box.lower, box.upper)


def to_places(rows: FloatArray, quarter: int) -> IntArray:
    """Round clean rows to the lattice with ``quarter`` steps in 90 degrees; a pole has longitude 0."""
    places = np.rint(rows * (quarter / 90)).astype(np.int64)
    places[:, 0] = np.clip(places[:, 0], -quarter, quarter)
    places[places[:, 1] >= 2 * quarter, 1] -= 4 * quarter
    places[np.abs(places[:, 0]) == quarter, 1] = 0
    return places


def rounding_of(quarter: int) -> Fraction:
    """Return c, the most metres by which rounding moves two places apart.

    Latitude and longitude are each rounded by half a step and computed in doubles with an error of at most 180·2^-51
    degrees: by h together. The angle θ between a place and its lattice place has sin²(θ/2) = sin²(Δφ/2) + cos φ cos φ'
    sin²(Δλ/2) <= 2 sin²(h/2), everywhere; at a pole it is Δφ, and across the date line Δλ is the short way round. Two
    places move apart by at most twice that: c = 4 R arcsin(√2 sin(h/2)), rounded up.
    """
    half = math.radians(45 / quarter + 180 * 2.0**-51)
    angle = 4 * math.asin(min(math.sqrt(2) * math.sin(half / 2), 1.0))
    return Fraction(math.ceil(EARTH * angle * (1 + 2.0**-40) * 2.0**40), 1 << 40)


def diameter(box: Box) -> float:
    """Return a bound on the distance of two places of a box: along a meridian, then along the widest parallel."""
    (south, west), (north, east) = box.lower, box.upper
    widest = 1.0 if south <= 0 <= north else math.cos(math.radians(min(abs(south), abs(north))))
    angle = math.radians(north - south) + math.radians(east - west) * widest
    return EARTH * min(angle, math.pi)


def to_rows(places: IntArray, quarter: int) -> FloatArray:
    """Return lattice places in degrees: with a step of 10^-k, the decimals with k digits."""
    return np.asarray(places / (quarter / 90))


def nearest(rows: FloatArray, places: FloatArray) -> FloatArray:
    """Move rows to the nearest of some public places."""
    _, own = spatial.cKDTree(unit_vectors(places)).query(unit_vectors(rows))
    return np.asarray(places[own])


def to_grid(rows: FloatArray, box: Box, per_axis: int) -> FloatArray:
    """Round latitude and longitude to equally spaced values of the declared box, the longitude the short way round."""
    turned = rows.copy()
    middle = box.center[1]
    turned[:, 1] = middle + np.mod(rows[:, 1] - middle + 180, 360) - 180
    widths = box.widths / (per_axis - 1)
    return np.asarray(box.lower + np.clip(np.rint((turned - box.lower) / widths), 0, per_axis - 1) * widths)


def bayes(rows: FloatArray, rate: float, prior: FloatArray, weights: FloatArray) -> FloatArray:
    """Move every row to the best guess of its origin: the mean direction of the prior's places near it.

    A place q has the weight w(q) e^(-rate·distance); the 256 nearest places are used. The mean of the unit vectors,
    scaled to the sphere, minimises the expected squared chord.
    """
    kept = weights > 0
    places, log_mass = unit_vectors(prior[kept]), np.log(weights[kept])
    tree, k = spatial.cKDTree(places), min(_NEAREST, len(places))
    out = np.empty((len(rows), 3))
    for start in range(0, len(rows), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        points = unit_vectors(rows[part])
        chords, own = (x.reshape(len(points), k) for x in tree.query(points, k))
        _bayes(chords, own, rate * EARTH, places, log_mass, out[part])
    return from_vectors(out)


@jit
def _bayes(chords: Any, own: Any, rate: float, places: Any, log_mass: Any, out: Any) -> None:  # pragma: no cover
    n, m = own.shape
    score = np.empty(m)
    for i in range(n):
        best, top = -np.inf, 0
        for j in range(m):
            score[j] = log_mass[own[i, j]] - rate * 2 * math.asin(min(chords[i, j] / 2, 1.0))
            if score[j] > best:
                best, top = score[j], j
        out[i] = 0.0
        for j in range(m):
            w = math.exp(score[j] - best)
            for c in range(3):
                out[i, c] += w * places[own[i, j], c]
        if abs(out[i, 0]) + abs(out[i, 1]) + abs(out[i, 2]) < 1e-12:  # opposite places cancel: the likeliest then
            out[i] = places[own[i, top]]
