"""The public knowledge of an attacker: the distribution of the noise, and the space in which it measures distances."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from discreet.core import FloatArray, checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.evaluation.centers import read_matrix
from discreet.metric import IsotropicLaw


@runtime_checkable
class NoiseLaw(Protocol):
    """The distribution of noise added to points.

    Any object with these three members will do, such as the ``law`` of a metric mechanism. Offsets are in the scaled
    space.
    """

    @property
    def dimension(self) -> int:
        """Number of coordinates."""

    @property
    def rate(self) -> float:
        """Privacy loss per unit of distance."""

    def log_density(self, offsets: Any) -> Any:
        """Return the log density of offsets, one per row."""


@dataclass(frozen=True)
class LawSpace:
    """A distribution of noise, and how raw rows are brought to its space."""

    law: NoiseLaw
    scale: Callable[[Any], FloatArray]

    @property
    def expected_noise(self) -> float:
        return self.law.dimension / self.law.rate

    @classmethod
    def of(cls, metric: Any, rate: Any, dimension: int) -> Self:
        """Read a mechanism or a law, or a rate for rows that are already scaled."""
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
        own = getattr(metric, "scale", None)
        return cls(law, partial(_finite, own) if own else _as_is)


def _finite(scale: Callable[[Any], Any], rows: Any) -> FloatArray:
    """Scale rows, and refuse a domain that does not read them: every person would look alike."""
    found = np.asarray(scale(rows), np.float64)
    if not np.isfinite(found).all():
        expected = "a mechanism that reads records as numbers: declare dates and times by numeric bounds"
        raise InvalidArgument("metric", "a domain that reads them as missing", expected, 'domain={"day": (0, 366)}')
    return found


def _as_is(rows: Any) -> FloatArray:
    return np.asarray(rows, np.float64)


def _falls_with_distance(law: NoiseLaw) -> bool:
    """Check a law on a few offsets: the attacks support the isotropic Laplace law only."""
    offsets = np.zeros((4, law.dimension))
    offsets[1, 0], offsets[2, -1], offsets[3] = 1 / law.rate, -2 / law.rate, 1 / law.rate
    wanted = -law.rate * np.linalg.norm(offsets, axis=1)
    found = np.asarray(law.log_density(offsets), np.float64)
    return bool(np.allclose(found - found[0], wanted, rtol=1e-6, atol=1e-9))


def records(name: str, value: Any, width: int | None = None, least: int = 1) -> FloatArray:
    matrix = read_matrix(name, value, width).copy()
    if not np.isfinite(matrix).all():
        raise InvalidArgument(name, "gaps or infinite numbers", "a table of finite numbers", "leaving those rows out")
    if len(matrix) < least:
        raise InvalidArgument(name, f"{len(matrix)} rows", f"at least {least} rows", "more records")
    return matrix
