"""Crowds of simulated devices for the tests of the memoised mechanisms."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.local import Counts
from discreet.local.repeated.memo import Memo
from discreet.local.repeated.rappor import Rappor

MEMO = Memo(b"a secret of 32 bytes for testing")
OTHER = Memo(b"another secret of so many bytes!")


class Crowd:
    """A memoised mechanism whose every value comes from a user of its own."""

    def __init__(self, mechanism: Any) -> None:
        self.mechanism = mechanism

    def __getattr__(self, name: str) -> Any:
        return getattr(self.mechanism, name)

    def encode(self, values: Any, rng: Any = None) -> Any:
        return self.mechanism.encode(values, users=range(len(values)), memo=MEMO, rng=rng)


def zipf(n_values: int, total: int) -> Any:
    """Return how many of ``total`` hold each value, falling like 1/rank."""
    held = np.floor(total / np.arange(1, n_values + 1) / (1 / np.arange(1, n_values + 1)).sum()).astype(np.int64)
    held[0] += total - held.sum()
    return held


def simulate(m: Rappor, values: list[int], held: Any, rng: np.random.Generator) -> Counts:
    """Draw the counters from their law, given how many reporters hold each value."""
    split = np.stack([rng.multinomial(k, np.full(m.cohorts, 1 / m.cohorts)) for k in held], axis=1)
    sets = np.zeros((m.cohorts, m.bits, len(values)))
    buckets = m.family.all(values).reshape(m.cohorts, m.hashes, -1)
    for number in range(m.hashes):
        np.put_along_axis(sets, buckets[:, number][:, None, :], 1.0, axis=1)
    set_bits = np.rint(sets @ split[:, :, None])[:, :, 0].astype(np.int64)
    reports = split.sum(axis=1)
    ones = rng.binomial(set_bits, float(m.law.q_star))
    ones += rng.binomial(reports[:, None] - set_bits, float(m.law.p_star))
    return Counts(m, {"reports": reports, "ones": ones}, n=int(reports.sum()))
