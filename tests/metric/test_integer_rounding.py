"""Whole numbers are rounded after the noise; before it, rounding would turn a tiny distance into a whole one."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.metric.rows import read_rows


@pytest.mark.parametrize("kind", ["array", "table"])
def test_what_is_read_is_the_value_itself(kind: str) -> None:
    values = np.array([[10.495], [10.505]])
    rows, domain = read_rows(values if kind == "array" else pa.table({"x": values[:, 0]}), {"x": dc.Integer(0, 1000)})
    assert rows[:, 0].tolist() == [10.495, 10.505]
    assert isinstance(domain.column("x"), dc.Integer)


def test_neighbours_within_the_radius_are_distinguished_no_further_than_promised() -> None:
    domain = dc.Domain({"x": dc.Integer(0, 1000)})
    mechanism = dc.metric.NDLaplace(epsilon=1.0, radius=0.01, scaling="none", domain=domain, random_state=1)
    shares = []
    for place in (10.495, 10.505):
        noisy = mechanism.transform(pa.table({"x": np.full(20_000, place)}))["x"].to_numpy()
        shares.append(np.mean(noisy <= 10))
    assert shares[0] < np.e * shares[1] * 1.1


def test_noise_far_beyond_the_bounds_does_not_wrap_around() -> None:
    domain = dc.Domain({"x": dc.Integer(0, 2**50)})
    mechanism = dc.metric.NDLaplace(epsilon=1e-4, radius=1, domain=domain, random_state=1)
    noisy = mechanism.transform(pa.table({"x": np.full(2000, 2**49)}))["x"].to_numpy()
    assert np.abs(noisy).max() <= 2**62
    assert (noisy > 0).mean() == pytest.approx(0.5, abs=0.1)
