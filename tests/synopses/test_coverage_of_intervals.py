"""Intervals of counts cover the truth about as often as they say, on public tables where they are here."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from studies.measures import coverage


def test_intervals_of_counts_cover_the_truth_on_an_invented_table() -> None:
    data = dc.datasets.patients(5000, random_state=7)
    rows = np.asarray(data.domain.clamp(data.X))
    asked = coverage.drawn(data.domain, rows, 60, 3)
    for made in coverage.releases(data.domain, rows, 2).values():
        found = coverage.measure(len(rows), made, asked)
        assert found["coverage"] >= 0.9
        assert found["noise_alone_coverage"] < found["coverage"]  # the other part matters
        assert found["width"] < 0.2  # and does not cover by saying nothing


def test_intervals_of_means_quantiles_and_shares_cover_the_truth_where_rows_lie_smoothly() -> None:
    data = dc.datasets.patients(5000, random_state=7)
    rows, name = np.asarray(data.domain.clamp(data.X)), data.domain.names[1]
    for made in coverage.releases(data.domain, rows, 2).values():
        told = []
        for box, n in coverage.drawn(data.domain, rows, 25, 4):
            if n < 100:
                continue
            inside = np.ones(len(rows), dtype=bool)
            for column, (low, high) in box.items():
                x = rows[:, data.domain.position(column)]
                inside &= (x >= low) & (x < high)
            x = rows[inside, 1]
            at = float(np.quantile(x, 0.3))
            answers = (made.mean(name, box), made.quantile(name, 0.5, box), made.cdf(name, at, box))
            truths = (x.mean(), np.median(x), (x <= at).mean())
            for answer, truth in zip(answers, truths, strict=True):
                low, high = answer.interval(0.95)
                told.append(low <= truth <= high)
        assert len(told) > 30
        assert np.mean(told) >= 0.9


@pytest.mark.slow
def test_intervals_of_counts_cover_the_truth_on_ten_tables() -> None:
    here = dc.datasets.available()
    if all(name in here for name in coverage.PUBLIC):
        held = [(name, *coverage.table(name)) for name in coverage.PUBLIC]
    else:
        held = list(coverage.generated())[:10]
    covered = {}
    for seed, (name, domain, rows) in enumerate(held):
        parts = list(coverage.measured(name, domain, rows, 200, seed))
        covered[name] = float(np.mean([part["coverage"] for part in parts]))
    assert np.mean(list(covered.values())) >= 0.93, covered
    assert min(covered.values()) >= 0.88, covered  # 0.9 of 200 boxes, less a standard error of their share
