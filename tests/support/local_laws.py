"""Checks for every local mechanism: the exact law of its reports, and sampler and estimator against it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import chi2

from discreet.local import Counts


def keys(rows: Any) -> list[bytes]:
    return [row.tobytes() for row in rows]


def laws(mechanism: Any, values: Sequence[Any]) -> dict[bytes, list[float]]:
    """The probability of every report under each of the values."""
    table: dict[bytes, list[float]] = {}
    for i, value in enumerate(values):
        rows, chances = mechanism.report_law(value)
        assert len(rows) == len(chances)
        assert abs(math.fsum(chances) - 1) < 1e-12
        assert np.all(np.asarray(chances) > 0)
        listed = keys(rows)
        assert len(set(listed)) == len(listed), "a report is listed twice"
        for key, chance in zip(listed, chances, strict=True):
            table.setdefault(key, [0.0] * len(values))[i] += float(chance)
    return table


def check_ratio(mechanism: Any, values: Sequence[Any], epsilon: float | None = None) -> None:
    """The worst ratio of two values' chances is e^ε exactly, and every report is possible under every value."""
    worst = 1.0
    for chances in laws(mechanism, values).values():
        assert min(chances) > 0, "a report that one value can make and another cannot"
        worst = max(worst, max(chances) / min(chances))
    wanted = float(mechanism.epsilon) if epsilon is None else epsilon
    assert abs(math.log(worst) - wanted) < 1e-12, (math.log(worst), wanted)


def check_sampler(mechanism: Any, value: Any, *, draws: int = 200_000, rng: int = 1) -> None:
    """The reports drawn follow the law: chi-square over all reports (rare ones pooled), at level 1e-6."""
    rows, chances = mechanism.report_law(value)
    place = {key: i for i, key in enumerate(keys(rows))}
    seen = np.zeros(len(rows))
    got = mechanism.encode([value] * draws, rng=rng).rows
    drawn, times = np.unique(got, axis=0, return_counts=True)
    for key, count in zip(keys(drawn), times, strict=True):
        assert key in place, "a report that the law calls impossible"
        seen[place[key]] += count
    expected = np.asarray(chances) * draws
    rare = expected < 10
    seen = np.append(seen[~rare], seen[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    seen, expected = seen[expected > 0], expected[expected > 0]
    if expected[-1] < 10 and len(expected) > 1:
        seen[-2], expected[-2] = seen[-2] + seen[-1], expected[-2] + expected[-1]
        seen, expected = seen[:-1], expected[:-1]
    statistic = float(((seen - expected) ** 2 / expected).sum())
    assert statistic < chi2.ppf(1 - 1e-6, max(len(expected) - 1, 1)), statistic


def check_unbiased_exactly(mechanism: Any, values: Sequence[Any], *, variance: bool = True) -> None:
    """By enumeration: one report's estimate has mean 1 for the value held, 0 for the others, and the stated variance.

    For mechanisms whose estimate needs no average over hash keys.
    """
    everything: dict[bytes, Any] = {}
    for value in values:
        rows, _ = mechanism.report_law(value)
        everything.update(zip(keys(rows), rows, strict=True))
    listed = list(everything)
    one = {k: mechanism.estimate(mechanism.aggregate(everything[k][None]), list(values)).count for k in listed}
    for i, value in enumerate(values):
        rows, chances = mechanism.report_law(value)
        estimates = np.array([one[k] for k in keys(rows)])
        mean = (np.asarray(chances)[:, None] * estimates).sum(axis=0)
        truth = np.eye(len(values))[i]
        assert np.allclose(mean, truth, atol=1e-9), (value, mean)
        if variance:
            spread = (np.asarray(chances)[:, None] * (estimates - truth) ** 2).sum(axis=0)
            stated = [mechanism.variance(1, f=1 if j == i else 0) for j in range(len(values))]
            assert np.allclose(spread, stated, rtol=1e-9), (value, spread, stated)


def check_state(mechanism: Any, values: Sequence[Any], *, users: Any = None) -> None:
    """Merging equals counting together; saving and loading changes nothing; a foreign state is refused."""
    reports = mechanism.encode(values, rng=3) if users is None else mechanism.encode(values, users=users, rng=3)
    half = len(reports) // 2
    whole = mechanism.aggregate(reports)
    assert mechanism.aggregate(reports[:half]) + mechanism.aggregate(reports[half:]) == whole
    assert mechanism.aggregate([reports[:half], reports[half:].to_bytes()]) == whole
    assert Counts.from_bytes(whole.to_bytes()) == whole
    assert type(reports).from_bytes(reports.to_bytes()) == reports
    assert whole.n == len(reports)
    assert whole.seeded
    assert whole.guarantee.seeded
    assert not mechanism.guarantee.seeded
    assert len(reports.rows[0]) == -(-mechanism.report_bits // 8)
