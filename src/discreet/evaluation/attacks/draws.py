"""Random numbers for attacks, from the package's own stream. Attacks need plausible draws, not exact ones.

None of this enters a release. Noise that protects people is drawn in `discreet.noise`.
"""

from typing import Any

import numpy as np

from discreet import noise
from discreet.core import BoolArray, FloatArray, IntArray, later

special = later("scipy.special")

_FINE = 2**52


def uniforms(shape: int | tuple[int, ...], stream: noise.Generator) -> FloatArray:
    return (np.asarray(noise.below(_FINE, size=shape, rng=stream), np.float64) + 0.5) / _FINE


def directions(rows: int, dimension: int, stream: noise.Generator) -> FloatArray:
    normal = special.ndtri(uniforms((rows, dimension), stream))
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))


def isotropic(rows: int, dimension: int, rate: float, stream: noise.Generator) -> FloatArray:
    """Draw offsets with density proportional to exp(-rate |offset|): a Gamma radius in a uniform direction."""
    radius = -np.log(uniforms((rows, dimension), stream)).sum(axis=1) / rate
    return np.asarray(directions(rows, dimension, stream) * radius[:, None])


def order(n: int, stream: noise.Generator) -> IntArray:
    return np.argsort(noise.below(2**62, size=n, rng=stream), kind="stable")


def half(n: int, stream: noise.Generator) -> BoolArray:
    marked = np.zeros(n, bool)
    marked[order(n, stream)[: n // 2]] = True
    return marked


def others(n: int, stream: noise.Generator) -> IntArray:
    """Assign each of n people another one, each exactly once: neighbours on a random ring."""
    ring = order(n, stream)
    found = np.empty(n, np.int64)
    found[ring] = np.roll(ring, 1)
    return found


def seed(stream: noise.Generator) -> int:
    drawn: Any = noise.below(2**31 - 1, rng=stream)
    return int(drawn)
