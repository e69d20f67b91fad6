"""Remaps: the very places that were given, whatever the units, the number of columns and the weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.metric import NDLaplace


def test_remaps_return_the_very_places() -> None:
    domain = {"x": (0.1, 3.1), "y": (-0.3, 0.4)}
    stations = np.array([[0.1, 0.1], [0.3, 0.2], [1.7, -0.1], [3.1, 0.4]])
    rows = np.linspace([0.1, -0.3], [3.1, 0.4], 500)
    noisy = NDLaplace(1, 0.1, domain, "grid", grid=stations, random_state=1).transform(rows)
    assert {tuple(row) for row in noisy.tolist()} == {tuple(row) for row in stations.tolist()}
    turned = NDLaplace(1, 0.1, domain, "clip", scaling=[[1.0, 0.7], [0.3, 3.0]], random_state=1).transform(rows)
    assert (turned >= [0.1, -0.3]).all()
    assert (turned <= [3.1, 0.4]).all()


@pytest.mark.parametrize(
    ("d", "settings"),
    [(50, {"radius": 1e-7}), (300, {}), (60, {"scaling": "none", "domain": (0, 1e6), "radius": 1e5})],
)
def test_the_bayes_remap_in_many_columns(d: int, settings: dict[str, Any]) -> None:
    rows = np.linspace(0, 1, 8 * d).reshape(8, d)
    options: dict[str, Any] = {"domain": (0, 1), "radius": 0.1, **settings}
    high = options["domain"][1]
    noisy = NDLaplace(remap="bayes", prior=rows * high, random_state=1, **options).transform(rows * high)
    assert np.isfinite(noisy).all()
    assert (noisy >= -1e-6 * high).all()
    assert (noisy <= (1 + 1e-6) * high).all()


def test_the_bayes_remap_does_not_depend_on_units() -> None:
    rows = np.random.default_rng(1).beta(2, 5, (200, 3))
    small = NDLaplace(1, 0.1, (0, 1), "bayes", scaling="none", prior=rows, random_state=2).transform(rows)
    large = NDLaplace(1, 1024e87, (0, 1024e88), "bayes", scaling="none", prior=rows * 1024e88, random_state=2)
    assert large.transform(rows * 1024e88) / 1024e88 == pytest.approx(small, abs=2e-3)


def test_weights_whose_sum_is_beyond_doubles() -> None:
    rows = np.linspace(0, 1, 20).reshape(10, 2)
    noisy = [
        NDLaplace(domain=(0, 1), remap="bayes", prior=(rows, np.full(10, w)), random_state=1).transform(rows)
        for w in (1.0, 1e308)
    ]
    assert noisy[0] == pytest.approx(noisy[1])


def test_a_prior_of_one_place_is_believed():
    m = dc.metric.NDLaplace(1, 0.1, dc.Domain.box(0, [1, 1]), remap="bayes", prior=[[0.25, 0.75]], random_state=1)
    found = m.transform(np.full((20, 2), 0.5))
    assert np.abs(found - [0.25, 0.75]).max() < 0.05
