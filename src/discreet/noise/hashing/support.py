"""Count which reports support which candidates, on all cores."""

import os
from typing import Any

import numpy as np

from discreet.core import IntArray, map_threads
from discreet.noise.hashing import _support_kernels as kernels

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
        kernels.count_support(points, functions[rows], buckets[rows], np.uint64(width), k0, k1, kernels.SLACK, counts)
        return counts

    return np.asarray(sum(map_threads(part, range(threads), threads)), np.int64)


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
