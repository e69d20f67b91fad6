"""Run a kernel: give it random bytes, extend its digit tables on a tie, shape its result."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import ByteArray, IntArray, checks, few
from discreet.noise.stream import kernels
from discreet.noise.stream.generator import generator

#: ``kernel(precision, buffer, position, out, done)`` with ``precision`` digits per coin.
Kernel = Callable[[int, ByteArray, int, IntArray, int], tuple[int, int, int]]

_DIGITS = 16
#: Draws that a process makes without a kernel. The interpreter makes as many in a tenth of the time of compiling one.
_MOST_PLAIN = 1 << 13
_plain_draws = [0]


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


def fill(kernel: Callable[..., tuple[int, int, int]], *given: Any) -> tuple[int, int, int]:
    """Call a kernel, or its Python text while the process has made few draws: the same bytes, the same draws."""
    *tables, buffer, position, out, done = given
    most = _MOST_PLAIN - _plain_draws[0]
    if out.size - done > most or not few(kernel, out.size - done):
        return kernel(*given)
    _plain_draws[0] += out.size - done
    # Items of a memoryview are Python's whole numbers, which do not overflow.
    views = [x.data if isinstance(x, np.ndarray) else x for x in (*tables, buffer)]
    state: tuple[int, int, int] = getattr(kernel, "py_func", kernel)(*views, position, out, done)
    return state


def byte_width(bound: int) -> tuple[int, int]:
    """Return the number of bytes of a number below ``bound``, and the mask of its bits."""
    bits = max(1, (bound - 1).bit_length())
    return -(-bits // 8), (1 << bits) - 1


def _few_below(
    bound: int, width: int, mask: int, buffer: ByteArray, position: int, out: IntArray, done: int
) -> tuple[int, int, int]:
    """Do what `kernels.below` does, with the same bytes; it need not be compiled."""
    tries = buffer[position : len(buffer) - (len(buffer) - position) % width].reshape(-1, width)
    values = np.zeros(len(tries), np.int64)
    for byte in tries.T:
        values = (values << 8) | byte
    values &= mask
    good = np.flatnonzero(values < bound)[: out.size - done]
    end = done + len(good)
    out[done:end] = values[good]
    position += width * (int(good[-1]) + 1) if len(good) else 0
    return position, end, kernels.FINISHED if end == out.size else kernels.MORE_BYTES


def below(bound: int, size: int | tuple[int, ...] | None = None, rng: object = None) -> Any:
    """Draw uniform integers from ``0 .. bound - 1``.

    Bits are masked to the length of the bound (up to 2**62) and drawn again while too large, so every value has
    probability exactly 1/bound. (A remainder would favour small values.) ``size`` and ``rng``: see `discrete_laplace`.

    Examples
    --------
    >>> below(6, size=5, rng=1).tolist()
    [2, 0, 3, 5, 1]
    """
    bound = checks.whole("bound", bound, low=1, high=2**62)
    shape = checks.shape("size", size)
    width, mask = byte_width(bound)

    def kernel(_: int, *state: Any) -> tuple[int, int, int]:
        law = _few_below if few(kernels.below, state[2].size) else kernels.below
        return law(bound, width, mask, *state)

    return draw(kernel, shape, rng, bytes_each=width * (mask + 1) / bound)
