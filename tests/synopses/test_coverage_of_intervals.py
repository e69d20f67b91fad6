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
