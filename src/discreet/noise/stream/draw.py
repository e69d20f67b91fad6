"""Run a kernel: give it random bytes, extend its digit tables on a tie, shape its result."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import ByteArray, IntArray
from discreet.noise.stream import kernels
from discreet.noise.stream.generator import generator

#: ``kernel(precision, buffer, position, out, done)`` with ``precision`` digits per coin.
Kernel = Callable[[int, ByteArray, int, IntArray, int], tuple[int, int, int]]

_DIGITS = 16


def draw(
    kernel: Kernel, shape: tuple[int, ...] | None, rng: object, *, bytes_each: float, dtype: npt.DTypeLike = np.int64
) -> Any:
    """Return ``shape`` draws of a kernel as an array, or a Python int if the shape is None."""
    out = np.empty(1 if shape is None else math.prod(shape), dtype)
    done, precision = 0, _DIGITS

    def step(buffer: ByteArray, position: int) -> tuple[int, bool]:
        nonlocal done, precision
        while True:
            position, done, state = kernel(precision, buffer, position, out, done)
            if state != kernels.MORE_DIGITS:
                return position, state == kernels.FINISHED
            precision *= 4

    if len(out):
        generator(rng).run(step, expected=int(bytes_each * 1.05 * len(out)) + 8)
    return int(out[0]) if shape is None else out.reshape(shape)
