"""Resampling of counts for bootstrap intervals: plain simulation after a release, on which no privacy rests."""

from __future__ import annotations

import numpy as np

from discreet.core.arrays import AnyArray, IntArray
from discreet.noise.stream.generator import generator


def resample(counts: AnyArray, replicates: int, rng: object = None) -> IntArray:
    """Draw whole samples anew: rows of counts with the total of ``counts`` and its shares as chances.

    Examples
    --------
    >>> again = resample(np.array([60, 30, 10]), replicates=4, rng=1)
    >>> again.shape, again.sum(axis=1).tolist()
    ((4, 3), [100, 100, 100, 100])
    """
    seed = int.from_bytes(generator(rng).bytes(32).tobytes(), "little")
    total = int(counts.sum())
    shares = counts / max(total, 1) if total else np.full(len(counts), 1 / max(len(counts), 1))
    stream = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed)))
    return stream.multinomial(total, shares, size=replicates)
