"""Plans for a number: predicted errors are those of collections."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import discreet as dc
from command_line import output
from discreet.errors import InvalidArgument


def test_the_predicted_error_of_the_median_is_that_of_collections() -> None:
    """25 seeded collections from the reference bell; their spread within a factor of 1.6 of the plan."""
    plan = dc.local.plan_numbers(2, 20_000, 1, 4096, scale="log")
    m = plan.best.make()
    errors = []
    for seed in range(25):
        values = np.exp(np.random.default_rng(seed).normal(math.log(64), math.log(4096) / 8, 20_000))
        errors.append(math.log(float(m.estimate(m.aggregate(m.encode(values, rng=seed))).quantile(0.5)) / 64))
    assert plan.best.median_error is not None
    assert 1 / 1.6 < math.sqrt(np.mean(np.square(errors))) / plan.best.median_error < 1.6
    larger = dc.local.plan_numbers(2, 2 * 10**8, 1, 4096, scale="log").best.median_error
    assert larger is not None
    assert larger < plan.best.median_error / 20


def test_means_have_the_error_of_their_law_and_the_shell_shows_the_plan() -> None:
    plan = dc.local.plan_numbers(1, 10_000, 0, 10)
    means = [row for row in plan.rows if row.estimates == "mean"]
    assert [row.settings["method"] for row in means] == ["hybrid", "duchi", "piecewise"]
    assert means[0].mean_error == pytest.approx(math.sqrt(dc.local.MeanResponse(1, 0, 10).variance(10_000)))
    words = (
        "sketch",
        "plan",
        "--epsilon",
        "2",
        "--low",
        "1",
        "--high",
        "60000",
        "--scale",
        "log",
        "--reports",
        "100000",
    )
    assert "square-wave" in output(*words)
    assert json.loads(output(*words, "--json"))[0]["mechanism"] == "square-wave"
    for left_out, fault in ((("--low", "1"), "high"), ((), "domain.size")):
        with pytest.raises(InvalidArgument, match=fault):
            output("sketch", "plan", "--epsilon", "2", *left_out, "--reports", "1000")


def test_direct_response_is_the_best_oracle_up_to_about_twice_e_to_epsilon() -> None:
    for epsilon in (1, 2, 3, 4):
        limit = 2 * math.exp(epsilon)
        for d, wins in ((int(limit), True), (int(1.3 * limit) + 2, False)):
            direct = dc.local.DirectResponse(epsilon, d).variance(1)
            other = min(dc.local.SubsetSelection(epsilon, d).variance(1), dc.local.LocalHashing(epsilon).variance(1))
            assert (direct <= other * (1 + 1e-9)) == wins


def test_a_plan_prints_as_a_table() -> None:
    """One line per mechanism under the heads, with columns in line."""
    plan = dc.local.plan_numbers(epsilon=2, n=100_000, low=1, high=60_000, scale="log")
    head, *lines = str(plan).splitlines()
    assert len(lines) == len(plan.rows)
    for line, row in zip(lines, plan.to_rows(), strict=True):
        assert all(line[head.index(name) :].startswith(cell) for name, cell in row.items())
