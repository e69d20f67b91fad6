"""Maximum likelihood: the raw estimate inside, a closed form, the fixed point, and refusals with a reason."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.local.oracles.direct import DirectResponse
from discreet.local.oracles.hadamard_response import HadamardResponse
from discreet.local.oracles.likelihood import fit
from discreet.local.oracles.local_hashing import LocalHashing
from discreet.local.oracles.projective import ProjectiveGeometry
from discreet.local.oracles.subset import SubsetSelection
from discreet.local.oracles.unary import UnaryEncoding


def same(x: Any) -> Any:
    return x


def test_an_interior_likelihood_solution_is_the_raw_estimate() -> None:
    m = DirectResponse(1, 5)
    counts = m.aggregate(m.encode(np.repeat(np.arange(5), [4000, 2500, 1500, 1200, 800]), rng=3))
    raw = m.estimate(counts)
    assert raw.count.min() > 0
    found = m.estimate(counts, consistency="likelihood")
    assert found.consistency == "likelihood"
    assert np.abs(found.frequency - raw.frequency).max() < 1e-5
    assert np.array_equal(found.std_error, raw.std_error)
    tight = fit(counts.counters["reports"], 5, math.exp(1), same, same, gap=1e-10)
    assert np.abs(tight - raw.frequency).max() < 1e-8


def direct_solution(messages: Any, epsilon: float) -> Any:
    """Direct response in closed form: c_x/λ - 1/(e^ε - 1) where positive, with λ so that the shares add up to one."""
    seen, least = messages / messages.sum(), 1 / math.expm1(epsilon)
    falling = np.sort(seen)[::-1]
    for kept in range(len(seen), 0, -1):
        level = falling[:kept].sum() / (1 + kept * least)
        if falling[kept - 1] / level >= least:
            break
    return np.maximum(seen / level - least, 0)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3, 8, 30])
def test_likelihood_of_direct_response_in_closed_form(epsilon: float) -> None:
    m = DirectResponse(epsilon, 60)
    counts = m.aggregate(m.encode(np.minimum(np.arange(3000) % 90, 59), rng=1))
    found = m.estimate(counts, consistency="likelihood").frequency
    assert found == pytest.approx(direct_solution(counts.counters["reports"], epsilon), abs=1e-6)


def test_the_likelihood_solution_obeys_the_fixed_point() -> None:
    """A geometry, on the border of the simplex: D = 1 where a share is positive, below 1 elsewhere (C.18.3)."""
    m = ProjectiveGeometry(1, 30)
    counts = m.aggregate(m.encode([0] * 300 + [1] * 200 + [2] * 100, rng=1))
    shares = m.estimate(counts, consistency="likelihood").frequency
    chances = np.stack([m.report_law(x)[1] for x in range(30)])
    sent = counts.counters["messages"] / 600
    ratio = chances @ (sent / (shares @ chances))
    assert ratio.max() < 1 + 1e-7
    assert np.all(shares[ratio < 1 - 1e-3] < 1e-4)
    assert ratio @ shares == pytest.approx(1)
    assert np.sum(shares < 1e-9) > 5


@pytest.mark.parametrize(
    ("m", "at_most"),
    [(DirectResponse(0.5, 40), 0.5), (SubsetSelection(3, 40, size=1), 2), (ProjectiveGeometry(1, 30), 0.5)],
)
def test_likelihood_estimates_are_counts(m: Any, at_most: float) -> None:
    d = m.choices.size
    truth = np.zeros(d)
    truth[:3] = [1200, 600, 200]
    values = np.repeat(np.arange(d), truth.astype(int))
    raw = tidy = 0.0
    for seed in range(5):
        counts = m.aggregate(m.encode(values, rng=seed))
        found = m.estimate(counts, consistency="likelihood")
        assert found.count.min() >= 0
        assert found.count.sum() == pytest.approx(2000)
        assert m.estimate(counts, [2, 1], consistency="likelihood").count == pytest.approx(found.count[[2, 1]])
        tidy += ((found.count - truth) ** 2).sum()
        raw += ((m.estimate(counts).count - truth) ** 2).sum()
    assert tidy < at_most * raw
    assert m.estimate(m.empty(), consistency="likelihood").count.tolist() == [0] * d


@pytest.mark.parametrize(
    ("m", "why"),
    [
        (UnaryEncoding(1, 5), "sums of bits"),
        (SubsetSelection(1, 9, size=3), "not the reports"),
        (HadamardResponse(1, 8), "sums of signs"),
        (LocalHashing(1, key=1), "no table of messages"),
    ],
)
def test_likelihood_is_refused_with_a_reason_where_it_cannot_be(m: Any, why: str) -> None:
    with pytest.raises(dc.errors.InvalidArgument, match=why):
        m.estimate(m.aggregate(m.encode([1, 2], rng=1)), [1], consistency="likelihood")
