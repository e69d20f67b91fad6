"""The study of persons: its attack finds who is there where only rows are hidden, and not where persons are."""

from __future__ import annotations

import numpy as np
import pytest

from discreet_studies.persons import study


@pytest.mark.slow
def test_the_attack_finds_a_person_with_many_rows_behind_a_promise_about_rows_only() -> None:
    rows, domain = study.table("invented")
    who, each = np.unique(rows[:, 0], return_counts=True)
    target = float(who[np.argmax(each)])
    found = study.attack(rows, domain, study.ROW, 1.0, target, 20)
    assert found == {"advantage": 1.0, "target_rows": 500.0}
    hidden = study.attack(rows, domain, "1", 0.01, target, 60)
    assert abs(hidden["advantage"]) < 0.6  # of 30 runs on each side; beyond in one of 10,000 seeds


def test_the_error_is_that_of_shares() -> None:
    rows, domain = study.table("invented")
    exact = study.measure({"data": "invented", "what": "error", "unit": study.ROW, "epsilon": 1e6, "seed": 0})
    assert exact["error"] == pytest.approx(0, abs=1e-9)
    bounded = study.measure({"data": "invented", "what": "error", "unit": "1", "epsilon": 1e6, "seed": 0})
    one = np.array([rows[rows[:, 0] == w][0] for w in np.unique(rows[:, 0])])
    expected = study._weighted(rows, domain, 1 / np.bincount(rows[:, 0].astype(int))[rows[:, 0].astype(int)])
    true = study.cells(rows, domain)
    bias = np.abs(expected / len(one) - true / true.sum()).sum() / 2
    assert bounded["error"] == pytest.approx(bias, abs=0.05)
