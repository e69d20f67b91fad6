"""Feature maps: releases as vectors of numbers, chosen by the type of the release.

A map may lose information. The audit then sees less, but never claims too much. Texts become numbers by a hash.
"""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import FloatArray
from discreet.errors import InvalidArgument, InvalidType

#: Numbers of one release that are looked at.
WIDEST = 4096
#: Whole numbers from here on are compared exactly: noise may take them to where doubles are farther apart than 1.
_LARGE = 2**52


class FeatureMap:
    """A map from releases to rows of numbers; by default it treats the releases of a batch one by one."""

    names: tuple[str, ...]

    def __call__(self, release: Any) -> Any:
        """Return the features of one release, in the order of the names."""
        raise NotImplementedError

    def batch(self, releases: Any) -> FloatArray:
        """Return the features of many releases, one row each."""
        return np.array([self(r) for r in releases], np.float64).reshape(len(releases), len(self.names))


class NumberFeatures(FeatureMap):
    """Length, sum and entries of a number or an array of numbers; texts by a hash, which ``texts`` undoes.

    A double does not separate whole numbers beyond 2^53, so what it rounds away is a feature of its own there.
    """

    def __init__(self, first: Any) -> None:
        self.texts: dict[float, str] = {}
        flat = flatten(first, self._number)
        self.worded = bool(self.texts)
        self.scalar = _is_scalar(first)
        self.size = 1 if self.scalar else min(max(len(flat), 1), WIDEST)
        entries = tuple(f"entry {i}" for i in range(self.size))
        self.names = ("value",) if self.scalar else ("length", "sum", *entries)
        self.head = len(self.names) - self.size
        self.exact = bool(flatten(first, _is_large).any())
        if self.exact:
            self.names += tuple(f"what a double rounds away of {name}" for name in self.names[self.head :])

    def __call__(self, release: Any) -> FloatArray:
        flat = flatten(release, self._number)
        found = np.full(len(self.names), np.nan)
        if self.scalar and len(flat) != 1:
            return found
        if not self.scalar:
            found[0], found[1] = len(flat), _sum(flatten(release, _addend) if self.worded else flat)
        found[self.head : self.head + len(flat)][: self.size] = flat[: self.size]
        if self.exact:
            found[self.head + self.size :][: len(flat)] = flatten(release, rounded_away)[: self.size]
        return found

    def _number(self, value: Any) -> float:
        code = number_of(value)
        if isinstance(value, str) and len(self.texts) < WIDEST:
            self.texts[code] = value
        return code

    def batch(self, releases: Any) -> FloatArray:
        if self.exact or not isinstance(releases, np.ndarray) or releases.dtype.kind not in "buif":
            return super().batch(releases)
        table = releases.reshape(len(releases), -1).astype(np.float64)
        if self.scalar:
            return table[:, :1]
        head = np.column_stack([np.full(len(table), table.shape[1]), table.sum(axis=1)])
        rest = np.full((len(table), max(self.size - table.shape[1], 0)), np.nan)
        return np.concatenate([head, table[:, : self.size], rest], axis=1)


class PointFeatures(FeatureMap):
    """Coordinates of points, and the distance of the nearest one to the differing records."""

    def __init__(self, first: Any, records: Sequence[FloatArray]) -> None:
        points = np.atleast_2d(np.asarray(first, np.float64))
        self.records, self.columns = tuple(records), points.shape[1]
        self.rows = min(len(points), max(WIDEST // max(self.columns, 1), 1))
        coordinates = [f"point {i} column {c}" for i in range(self.rows) for c in range(self.columns)]
        near = [f"distance to differing record {i}" for i in range(len(self.records))]
        self.names = ("points", *near, *coordinates)

    def __call__(self, release: Any) -> FloatArray:
        points = np.asarray(release, np.float64).reshape(-1, self.columns)
        found = np.full(len(self.names), np.nan)
        found[0] = len(points)
        for i, record in enumerate(self.records):
            gaps = np.linalg.norm(points - record, axis=1)
            found[1 + i] = gaps.min() if len(points) else np.nan
        flat = points[: self.rows].ravel()
        found[1 + len(self.records) : 1 + len(self.records) + len(flat)] = flat
        return found

    def batch(self, releases: Any) -> FloatArray:
        if not isinstance(releases, np.ndarray) or releases.dtype.kind not in "buif" or releases.ndim < 2:
            return super().batch(releases)
        points = releases.reshape(len(releases), -1, self.columns).astype(np.float64)
        if points.shape[1] < self.rows:
            return super().batch(list(points))
        near = [np.linalg.norm(points - record, axis=2).min(axis=1) for record in self.records]
        flat = points[:, : self.rows].reshape(len(points), -1)
        return np.column_stack([np.full(len(points), points.shape[1]), *near, flat])


class OwnFeatures(FeatureMap):
    """A user's function; with batches it gets the whole batch."""

    def __init__(self, function: Callable[[Any], Any], first: Any, batch: bool) -> None:
        self.function = function
        found = self._read(function(first))
        width = found.size // max(len(found), 1) if batch and found.ndim > 1 else (1 if batch else found.size)
        if not width:
            raise InvalidArgument("features", function, "a function that returns at least one number", "features=None")
        self.names = tuple(getattr(function, "names", ())) or tuple(f"feature {i}" for i in range(width))
        if len(self.names) != width:
            raise InvalidArgument("features", self.names, f"{width} names, one a feature", "leaving out names")

    def _read(self, found: Any) -> FloatArray:
        try:
            return np.asarray(found, np.float64)
        except (TypeError, ValueError):
            kind = type(found).__name__
            raise InvalidType("features", kind, "a function that returns numbers", "features=None") from None

    def __call__(self, release: Any) -> FloatArray:
        found = self._read(self.function(release)).ravel()
        if len(found) != len(self.names):
            raise InvalidArgument("features", len(found), f"always {len(self.names)} numbers", "padding with NaN")
        return found

    def batch(self, releases: Any) -> FloatArray:
        found = self._read(self.function(releases))
        if found.size != len(releases) * len(self.names) or len(found) != len(releases):
            expected = f"{len(releases)} rows of {len(self.names)} numbers for a batch of {len(releases)} releases"
            raise InvalidArgument("features", found.shape, expected, "features(batch) -> array of shape (size, k)")
        return found.reshape(len(releases), -1)


def flatten(release: Any, number: Callable[[Any], float] | None = None) -> FloatArray:
    """Return all numbers of a release in a row: missing ones as NaN, texts by their hash, mappings by sorted key.

    ``number`` reads a single value; by default `number_of`.
    """
    number = number or number_of
    as_doubles = number not in (rounded_away, _is_large)
    if isinstance(release, np.ndarray) and release.dtype.kind in "buif" and as_doubles:
        return release.ravel().astype(np.float64)
    if isinstance(release, (pa.Array, pa.ChunkedArray)):
        release = release.to_pylist()
    if isinstance(release, np.ndarray):
        release = release.tolist()
    if isinstance(release, Mapping):
        keys = sorted(release, key=repr)
        parts = [np.array([number(repr(keys))]), *(flatten(release[k], number) for k in keys)]
        return np.concatenate(parts)
    if isinstance(release, (set, frozenset)):
        release = sorted(release, key=repr)
    if isinstance(release, (list, tuple)):
        return np.concatenate([flatten(x, number) for x in release]) if release else np.empty(0)
    return np.array([number(release)])


def number_of(value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, (int, float, Real, np.bool_)):
        try:
            return float(value)
        except OverflowError:
            return math.inf if str(value)[0] != "-" else -math.inf  # a whole number beyond all doubles
    return word_code(value if isinstance(value, str) else repr(value))


def _addend(value: Any) -> float:
    return 0.0 if isinstance(value, str) else number_of(value)


def _is_large(value: Any) -> float:
    return float(isinstance(value, Integral) and abs(int(value)) >= _LARGE)


def rounded_away(value: Any) -> float:
    """Return the difference between a whole number and its double; a hash of the number if that is not exact either."""
    if not isinstance(value, Integral) or abs(int(value)) < _LARGE:
        return 0.0
    whole, double = int(value), number_of(value)
    rest = whole - int(double) if math.isfinite(double) else whole
    return float(rest) if abs(rest) < 2 * _LARGE else word_code(str(whole))


def word_code(text: str) -> float:
    """Return 52 bits of a hash of a text, as a number."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return float(int.from_bytes(digest, "big") >> 12)


def _is_scalar(release: Any) -> bool:
    if isinstance(release, (np.ndarray, np.generic)):
        return release.ndim == 0
    return not isinstance(release, (list, tuple, Mapping, set, frozenset, pa.Array, pa.ChunkedArray))


def _sum(flat: FloatArray) -> float:
    with np.errstate(all="ignore"):
        return float(flat.sum())
