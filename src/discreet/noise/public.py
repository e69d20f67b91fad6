"""Randomness that touches no data: seeds, keys, orders, public directions. It costs no budget.

Noise that hides data is drawn by `discreet.mechanisms` alone.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import IntArray
from discreet.noise.integer.gaussian import discrete_gaussian
from discreet.noise.stream.draw import below
from discreet.noise.stream.generator import Generator, generator, numpy_stream
from discreet.noise.stream.watch import reason

__all__ = ["PublicRandomness", "numpy_stream"]


class PublicRandomness:
    """Draws that hide no data: they may be published, or are keys. ``stream``: see `generator`."""

    def __init__(self, stream: object = None) -> None:
        self._stream: Generator = generator(stream)

    @property
    def seeded(self) -> bool:
        """True if the draws can be repeated."""
        return self._stream.seeded

    def below(self, bound: int, size: Any = None) -> Any:
        """Return uniform whole numbers from 0 to ``bound - 1``."""
        with reason(self._stream, None):
            return below(bound, size=size, rng=self._stream)

    def seed(self) -> int:
        """Return a seed for computations that only see released values."""
        return int(self.below(2**31))

    def key(self, words: int) -> npt.NDArray[np.uint64]:
        """Return a secret key of 64-bit words."""
        halves = self.below(2**32, size=2 * words).astype(np.uint64)
        return np.asarray((halves[:words] << np.uint64(32)) | halves[words:])

    def bytes(self, n: int) -> bytes:
        with reason(self._stream, None):
            return self._stream.bytes(n).tobytes()

    def root(self) -> int:
        """Return the number that all streams of one simulation are derived from (`numpy_stream`)."""
        return int.from_bytes(self.bytes(16), "little")

    def normals(self, shape: tuple[int, ...]) -> IntArray:
        """Return discrete Gaussian numbers with σ = 1000: directions of a public projection."""
        with reason(self._stream, None):
            return np.asarray(discrete_gaussian(1000.0, shape, self._stream))
