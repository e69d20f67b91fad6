"""Positive numbers of any size with full relative precision, and a weighted draw among them (jitted loops).

A number is ``mantissa * 2**(512 * exponent)`` with a mantissa in [2^-256, 2^256): a plain double next to a 64-bit
integer. Sums and products have relative error 2^-53 at every magnitude, so weights as far apart as e^(-10^6) keep
all their digits where a double would be zero. Zero is mantissa 0 with the exponent `NOTHING`. The form is unique,
hence numbers compare by exponent, then mantissa.

The draw walks down a *tree of sums*: leaves n..2n-1 hold the n weights, node i the sum of nodes 2i and 2i+1, node 1
the total. At each node the lighter child is taken with probability light / total. Every chance is a ratio of sums of
positive numbers, log2(n) additions deep, so the least likely outcome is met with full relative precision too, and
the error does not grow with the number of outcomes, as it would in cumulative sums.
"""

import math
from typing import Any

import numpy as np

from discreet.core import inlined, jit

#: The exponent of zero; far below that of any product formed here.
NOTHING = -(1 << 40)

_STEP = 512
_LARGE, _SMALL = 2.0 ** (_STEP // 2), 2.0 ** -(_STEP // 2)
_UP, _DOWN = 2.0**_STEP, 2.0**-_STEP

# 512 ln 2 in two parts: the first has 31 bits, so its product with a step count below 2^22 is exact.
_NATS_HIGH, _NATS_LOW = 354.8913562297821, 2.1690989392943534e-07
_NATS = _NATS_HIGH + _NATS_LOW
#: Beyond this exponent e^-x is taken as zero.
_FARTHEST = 1e9


@inlined
def settle(m: float, e: int) -> tuple[float, int]:  # pragma: no cover
    """Bring a mantissa in [2^-768, 2^768) back into its interval."""
    if m >= _LARGE:
        return m * _DOWN, e + 1
    if m < _SMALL:
        if m == 0.0:
            return 0.0, NOTHING
        return m * _UP, e - 1
    return m, e


@inlined
def times(m: float, e: int, m2: float, e2: int) -> tuple[float, int]:  # pragma: no cover
    """Multiply."""
    return settle(m * m2, e + e2)


@inlined
def plus(m: float, e: int, m2: float, e2: int) -> tuple[float, int]:  # pragma: no cover
    """Add. What is 2^512 times smaller cannot show in the sum."""
    if e == e2:
        return settle(m + m2, e)
    if e == e2 + 1:
        return settle(m + m2 * _DOWN, e)
    if e2 == e + 1:
        return settle(m2 + m * _DOWN, e2)
    return (m, e) if e > e2 else (m2, e2)


@inlined
def less(m: float, e: int, m2: float, e2: int) -> bool:  # pragma: no cover
    """Compare."""
    return e < e2 or (e == e2 and m < m2)


@inlined
def decay(x: float) -> tuple[float, int]:  # pragma: no cover
    """Return e^-x for x >= 0, with relative error at most (2.1 x + 4) 2^-53."""
    if x < 0.5 * _NATS:
        return math.exp(-x), 0
    if x > _FARTHEST:
        return 0.0, NOTHING
    steps = math.floor(x / _NATS)
    rest = (x - steps * _NATS_HIGH) - steps * _NATS_LOW
    return settle(math.exp(-rest), -int(steps))


@jit
def decayed(x: float) -> tuple[float, int]:  # pragma: no cover
    """`decay`, to be called from outside the kernels."""
    return decay(x)


@jit
def sums_of(weights: Any) -> tuple[Any, Any]:  # pragma: no cover
    """Return the tree of sums of non-negative doubles."""
    n = len(weights)
    m, e = np.zeros(2 * n), np.full(2 * n, NOTHING)
    for i in range(n):
        mantissa, exponent = settle(weights[i], 0)
        m[n + i], e[n + i] = settle(mantissa, exponent)
    sum_up(m, e)
    return m, e


@jit
def sum_up(m: Any, e: Any) -> None:  # pragma: no cover
    """Fill the inner nodes of a tree whose leaves are set."""
    for i in range(len(m) // 2 - 1, 0, -1):
        m[i], e[i] = plus(m[2 * i], e[2 * i], m[2 * i + 1], e[2 * i + 1])


@inlined
def fork(m: Any, e: Any, node: int) -> tuple[int, float, int]:  # pragma: no cover
    """Return the lighter child of a node and the chance of taking it."""
    light = 2 * node
    if less(m[light + 1], e[light + 1], m[light], e[light]):
        light += 1
    chance, exponent = settle(m[light] / m[node], e[light] - e[node])
    return light, chance, exponent


@jit
def descend(m: Any, e: Any, um: Any, ue: Any) -> int:  # pragma: no cover
    """Walk from the root to a leaf, with one uniform number of (0, 1) per level; return the leaf's place."""
    n = len(m) // 2
    node = level = 1
    while node < n:
        light, chance, exponent = fork(m, e, node)
        node = light if less(um[level - 1], ue[level - 1], chance, exponent) else light ^ 1
        level += 1
    return node - n
