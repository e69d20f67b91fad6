"""What an attacker knows of the noise: its law, and the space in which distances are measured. Both are public."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from discreet.core import FloatArray, checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.metric import IsotropicLaw


@runtime_checkable
class NoiseLaw(Protocol):
    """The law of noise added to points: what everybody may know of it.

    Anything that has the three will do, such as the ``law`` of a metric mechanism. Offsets are in the scaled space.
    """

    @property
    def dimension(self) -> int:
        """Number of coordinates."""

    @property
    def rate(self) -> float:
        """Privacy loss for each unit of distance."""

    def log_density(self, offsets: Any) -> Any:
        """Return the log density of offsets, one row each."""


@dataclass(frozen=True)
class LawSpace:
    """The law, and how raw rows come to the space it lives in."""

    law: NoiseLaw
    scale: Callable[[Any], FloatArray]

    @property
    def expected_noise(self) -> float:
        """Mean length of the noise: n/rate."""
        return self.law.dimension / self.law.rate

    @classmethod
    def of(cls, metric: Any, rate: Any, dimension: int) -> LawSpace:
        """Read the two ways of saying it: a mechanism or a law, or a rate for rows that are scaled already."""
        if metric is None:
            if rate is None:
                raise InvalidArgument("rate", None, "given when no metric is", "rate=epsilon / radius")
            return cls(IsotropicLaw(dimension, float(checks.positive("rate", rate))), _as_is)
        if rate is not None:
            raise InvalidArgument("rate", rate, "left out when a metric is given: it has its own", "rate=None")
        law = metric if isinstance(metric, NoiseLaw) else getattr(metric, "law", None)
        if not isinstance(law, NoiseLaw):
            kind = type(metric).__name__
            raise InvalidType("metric", kind, "a mechanism with a law and scale(X), or a law", "metric=None, rate=20.0")
        if law.dimension != dimension:
            raise InvalidArgument("metric", f"{law.dimension} columns", f"about {dimension} columns, as the records")
        if not 0 < law.rate < math.inf:
            raise InvalidArgument("metric", f"rate {law.rate}", "noise with a positive finite rate", "rate=1e6")
        if not _falls_with_distance(law):
            raise InvalidArgument("metric", type(law).__name__, "a law whose density falls as exp(-rate distance)")
        return cls(law, getattr(metric, "scale", None) or _as_is)


def _as_is(rows: Any) -> FloatArray:
    return np.asarray(rows, np.float64)


def _falls_with_distance(law: NoiseLaw) -> bool:
    """Check a law on a few offsets: the attacks' kernels know the isotropic Laplace law only."""
    offsets = np.zeros((4, law.dimension))
    offsets[1, 0], offsets[2, -1], offsets[3] = 1 / law.rate, -2 / law.rate, 1 / law.rate
    wanted = -law.rate * np.linalg.norm(offsets, axis=1)
    found = np.asarray(law.log_density(offsets), np.float64)
    return bool(np.allclose(found - found[0], wanted, rtol=1e-6, atol=1e-9))


def records(name: str, value: Any, width: int | None = None, least: int = 1) -> FloatArray:
    """Read people as a table of finite numbers. This is evaluation: rows may be refused."""
    if hasattr(value, "to_numpy") and hasattr(value, "columns") and not isinstance(value, np.ndarray):
        value = value.to_numpy()
    try:
        matrix = np.array(value, dtype=np.float64)  # a copy: the caller's rows stay his
    except (TypeError, ValueError):
        raise InvalidType(name, type(value).__name__, "a table of numbers", f"{name}=np.zeros((n, d))") from None
    if matrix.ndim != 2 or (width is not None and matrix.shape[1] != width):
        wanted = "two-dimensional" if width is None else f"a table with {width} columns"
        raise InvalidArgument(name, matrix.shape, wanted, f"{name}=np.zeros((n, {width or 'd'}))")
    if not np.isfinite(matrix).all():
        raise InvalidArgument(name, "gaps or infinite numbers", "a table of finite numbers", "leaving those rows out")
    if len(matrix) < least:
        raise InvalidArgument(name, f"{len(matrix)} rows", f"at least {least} rows", "more records")
    return matrix
