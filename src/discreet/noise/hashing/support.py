"""Count which reports support which candidates, on all cores: one polynomial of degree 1 per pair.

A report (function, bucket y) supports a point x if floor(h·width / 2^61) = y for h = a·x + c mod p, p = 2^61 - 1: that
is if (h - lo) mod p < length for the interval lo <= h < lo + length of the bucket. Nearly always 64 bits of the
fraction (h - lo)/p decide, and they take two multiplications. With x = x1·2^31 + x0 and b = a·2^31 mod p,

    g = (h - lo)/p = (a/p)·x0 + (b/p)·x1 + (c - lo)/p   modulo 1,

and with the three factors rounded down to 64 binary digits the sum G falls short of g by less than x0 + x1 + 1 units of
2^-64: by less than SLACK. So, modulo 1 and with the bucket's share L = length/p,

* if x is supported, G + SLACK < L + SLACK (and a unit more for the rounding of L): the report *may* support x;
* if G < L - SLACK, then g < L: the report *surely* supports x.

Both are counted over a batch of reports. If the counts agree, as they do except for one pair in 10^9, they are the
answer. If not, the batch is counted again for that point by the definition. So the result is exact.
"""

import os
from typing import Any

import numpy as np

from discreet.core import IntArray, inlined, jit, map_threads
from discreet.noise.hashing.hash_kernels import PRIME, bucket, coefficient, multiply_add

_u64 = np.uint64
_ZERO, _ONE, _R3, _R31 = _u64(0), _u64(1), _u64(3), _u64(31)
_LOW31, _HALF, _FULL, _FAR = _u64(2**31 - 1), _u64(2**31), _u64(2**61), _u64(2**63)
#: More than 2^31 + 2^30 + 1 units, and less than the share of a bucket, at least 2^32 - 8 units.
SLACK = _u64(13 * 2**28)
#: Reports per batch: their factors stay in the nearest cache.
_BATCH = 512


@jit
def edge(y: Any, width: Any) -> Any:  # pragma: no cover
    """Return the smallest h with floor(h·width / 2^61) >= y, at most p: where the bucket y begins."""
    # With 2^61 = each·width + rest, ceil(y·2^61 / width) needs no more than 64 bits.
    each, rest = _FULL // width, _FULL % width
    return min(y * each + (y * rest + width - _ONE) // width, PRIME)


@inlined
def _fraction(a: Any) -> Any:  # pragma: no cover
    """Return floor(a·2^64 / p) for a below p: as 2^64 = 8 p + 8, that is 8a + floor(8a / p)."""
    return (a << _R3) + (a << _R3) // PRIME


@jit
def add_support(
    points: Any, functions: Any, buckets: Any, width: Any, k0: Any, k1: Any, slack: Any, out: Any
) -> None:  # pragma: no cover
    """Add to ``out``, for every point, the number of functions (of independence 2) that send it to their bucket.

    ``slack`` is `SLACK`; with a larger one more batches are counted again.
    """
    slopes, constants = np.empty(_BATCH, np.uint64), np.empty(_BATCH, np.uint64)
    alpha, beta = np.empty(_BATCH, np.uint64), np.empty(_BATCH, np.uint64)
    gamma, share = np.empty(_BATCH, np.uint64), np.empty(_BATCH, np.uint64)
    margin = slack + slack + _ONE
    for start in range(0, len(functions), _BATCH):
        batch = min(_BATCH, len(functions) - start)
        for i in range(batch):
            c = coefficient(functions[start + i], _ZERO, k0, k1)
            a = coefficient(functions[start + i], _ONE, k0, k1)
            slopes[i], constants[i] = a, c
            y = buckets[start + i]
            if y >= width:  # no such bucket: never supported
                alpha[i], beta[i], gamma[i], share[i] = _ZERO, _ZERO, _FAR, margin
                continue
            lo = edge(y, width)
            alpha[i], beta[i] = _fraction(a), _fraction(multiply_add(a, _HALF, _ZERO))
            gamma[i] = _fraction((c + PRIME - lo) % PRIME) + slack
            share[i] = _fraction(edge(y + _ONE, width) - lo) + _ONE + slack
        for j in range(len(points)):
            x0, x1 = points[j] & _LOW31, points[j] >> _R31
            may, surely = _ZERO, _ZERO
            for i in range(batch):
                g = alpha[i] * x0 + beta[i] * x1 + gamma[i]
                may += _u64(g < share[i])
                surely += _u64(g - slack < share[i] - margin)
            if may != surely:
                may = _ZERO
                for i in range(batch):
                    h = multiply_add(slopes[i], points[j], constants[i])
                    may += _u64(bucket(h, width) == buckets[start + i])
            out[j] += np.int64(may)


#: Below this number of pairs a second thread costs more than it saves.
_WORTH_A_THREAD = 1 << 22


def count_support(points: Any, functions: Any, buckets: Any, width: int, k0: Any, k1: Any) -> IntArray:
    """Return, for every point, the number of functions (of independence 2) that send it to their bucket.

    Threads share the reports. Sums of integers do not depend on the number of threads.
    """
    threads = max(1, min(cores(), len(points) * len(functions) // _WORTH_A_THREAD))
    ends = np.linspace(0, len(functions), threads + 1).astype(np.int64)

    def part(i: int) -> IntArray:
        counts = np.zeros(len(points), np.int64)
        rows = slice(ends[i], ends[i + 1])
        add_support(points, functions[rows], buckets[rows], np.uint64(width), k0, k1, SLACK, counts)
        return counts

    return np.asarray(sum(map_threads(part, range(threads), threads)), np.int64)


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
