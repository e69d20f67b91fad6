"""Numbers times random factors: which moments stay, which come back, and what is not promised."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.anonymity import MultiplicativeNoise
from discreet.errors import InvalidArgument, InvalidType

DOMAIN = dc.Domain({"x": (-100, 100), "y": (0, 1000)})


def columns(n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    shared = rng.normal(0, 1, n)
    return {"x": 10 + 8 * shared, "y": np.clip(400 + 90 * shared + 60 * rng.normal(0, 1, n), 1, 999)}


@pytest.mark.parametrize("kind", ["lognormal", "normal"])
@pytest.mark.parametrize("spread", [0.1, 0.5])
def test_means_and_covariances_stay_and_variances_come_back(kind: str, spread: float) -> None:
    n = 40_000
    before = columns(n)
    method = MultiplicativeNoise(spread, domain=DOMAIN, kind=kind)
    release = method.fit_transform(pa.table(before), random_state=6, order="input")
    after = {name: release.table[name].to_numpy() for name in before}
    for name, x in before.items():
        factor = after[name] / x
        squares = (x**2).mean()
        # Given the table the mean of n products has the variance s² mean(x²)/n; six standard deviations are allowed.
        assert abs(after[name].mean() - x.mean()) < 6 * spread * math.sqrt(squares / n)
        assert factor.mean() == pytest.approx(1, abs=6 * spread / math.sqrt(n))
        assert factor.std() == pytest.approx(spread, rel=0.05)
        assert after[name].var() == pytest.approx(x.var() + spread**2 * squares, rel=0.05)
        mean, variance = method.recovered(after[name])
        assert mean == after[name].mean()
        assert variance == pytest.approx(x.var(), rel=0.05 if spread == 0.1 else 0.1)
    cross = np.cov(after["x"], after["y"], ddof=0)[0, 1]
    assert cross == pytest.approx(np.cov(before["x"], before["y"], ddof=0)[0, 1], rel=0.06 if spread == 0.1 else 0.2)
    assert (factor > 0).all() or kind == "normal"


def test_estimates_are_right_on_average_over_the_noise() -> None:
    x = np.array([0.0, 2.0, 3.0, 10.0, -4.0])
    method = MultiplicativeNoise(0.5, domain=dc.Domain({"x": (-100, 100)}))
    table = pa.table({"x": x})
    drawn = [
        method.recovered(method.fit_transform(table, random_state=seed).table["x"].to_numpy()) for seed in range(120)
    ]
    means, variances = np.array(drawn).T
    for found, wanted in ((means, x.mean()), (variances, x.var())):
        assert abs(found.mean() - wanted) < 5 * found.std() / math.sqrt(120)  # a false alarm once in two million runs


def test_zeros_signs_and_missing_values_stay() -> None:
    domain = dc.Domain({"x": {"bounds": [-10, 10], "missing": "own"}})
    table = pa.table({"x": [0.0, -3.0, None, 5.0]})
    method = MultiplicativeNoise(0.9, domain=domain)
    for seed in range(5):
        shown = method.fit_transform(table, order="input", random_state=seed).table["x"].to_pylist()
        assert shown[0] == 0
        assert shown[1] < 0 < shown[3]
        assert shown[2] is None


def test_the_lognormal_law_is_the_one_that_is_documented() -> None:
    table = pa.table({"x": np.full(20_000, 1.0)})
    method = MultiplicativeNoise(0.3, domain=dc.Domain({"x": (0, 4)}))
    logs = np.log(method.fit_transform(table, random_state=3).table["x"].to_numpy())
    variance = math.log1p(0.09)
    assert logs.mean() == pytest.approx(-variance / 2, abs=6 * math.sqrt(variance / 20_000))
    assert logs.var() == pytest.approx(variance, rel=0.06)


def test_rounding_clipping_and_promise_are_those_of_added_noise() -> None:
    table = pa.table({"x": [10.0, 50.0, 100.0] * 40})
    domain = dc.Domain({"x": (0, 100)})
    shown = MultiplicativeNoise(0.5, domain=domain, grid=20, clip=True).fit_transform(table, random_state=2)
    assert set(shown.table["x"].to_pylist()) <= set(range(0, 101, 5))
    free = MultiplicativeNoise(0.5, domain=domain, grid=20).fit_transform(table, random_state=2).table["x"].to_numpy()
    assert free.max() > 100
    facts = shown.guarantee.parameters
    assert (facts["spread"], facts["kind"], facts["clip"]) == (0.5, "lognormal", True)
    assert facts["required"] == facts["reached"] == {"k": None}
    assert "no stated property" in str(shown.guarantee)
    assert shown.guarantee.seeded
    assert facts["disclosure"] == shown.disclosure


def test_true_moments_are_recovered_from_values_and_not_from_a_name() -> None:
    with pytest.raises(InvalidType, match=r"must be the published numbers of a column, got 'pay'; try recovered"):
        MultiplicativeNoise(0.1).recovered("pay")


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (MultiplicativeNoise(0.0, domain=DOMAIN), "spread must be"),
        (MultiplicativeNoise("much", domain=DOMAIN), "spread must be"),
        (MultiplicativeNoise(domain=DOMAIN, kind="white"), "kind must be"),
        (MultiplicativeNoise(domain=DOMAIN, clip="yes"), "clip must be"),
        (MultiplicativeNoise(), "domain must be"),
        (MultiplicativeNoise(domain={"x": ["a", "b"]}), "noise needs them"),
        (MultiplicativeNoise(domain={"x": {"bounds": ["2000-01-01", "2020-12-31"]}}), "dates and times have none"),
    ],
)
def test_what_cannot_be_multiplied_is_refused(method: Any, words: str) -> None:
    with pytest.raises((InvalidArgument, InvalidType), match=words):
        method.fit(pa.table({"x": [1.0, 2.0], "y": [1.0, 2.0]}))
