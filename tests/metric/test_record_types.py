"""The promise is about records as their owner holds them: with times of day, and with whole numbers beyond doubles.

Exact, as in `test_lattice_rounding`: distances of the raw values in fractions, of the lattice places that the library
computes for them, and the exact law of the noise between places.
"""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.metric import NDLaplace, Trajectory
from discreet.metric.geometry.lattice import to_places
from discreet.metric.rows import read_rows
from discreet.metric.trajectory import _UsersSoFar

YEAR = dc.Domain({"d": {"bounds": ("2020-01-01", "2021-01-01")}})
MIDNIGHT = dt.datetime(2020, 6, 2)
SECOND = dt.timedelta(seconds=1)
EARLY = 1_700_000_000_000_000_000


def level(mechanism: Any, table: pa.Table, domain: dc.Domain) -> tuple[float, Any]:
    """Return the true level between the places of two records, and the promised one."""
    mechanism.transform(table)
    facts = mechanism.guarantee_.parameters
    numbers, _ = mechanism._mechanisms(domain)
    rows, _ = read_rows(table, domain)
    places = to_places(rows, numbers.scaling, float(numbers.step))
    moved = (places[0] - places[1]).astype(float) * float(numbers.step)
    return float(np.linalg.norm(moved) * facts["noise_rate"]), facts


FORMS = {
    "time stamps": lambda times: pa.array(times),
    "text": lambda times: pa.array([str(t) for t in times]),
    "iso": lambda times: pa.array([t.isoformat() for t in times]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("scaling", "unit"), [("none", 1.0), ("box", 366.0), ([7.0], 7.0)])
@pytest.mark.parametrize("days", [0.0001, 0.25, 3.5])
def test_times_around_midnight_cost_no_more_than_is_promised(form: str, scaling: Any, unit: float, days: float) -> None:
    apart = dt.timedelta(days=days)
    times = [MIDNIGHT - SECOND, MIDNIGHT - SECOND + apart]
    mechanism = NDLaplace(epsilon=1.0, radius=days / unit, domain=YEAR, scaling=scaling)
    found, facts = level(mechanism, pa.table({"d": FORMS[form](times)}), YEAR)
    assert found <= 1.0 + 1e-9
    assert facts["rounding"] >= 1 / unit
    assert facts["noise_rate"] == pytest.approx(1 / (days / unit + facts["rounding"]))
    assert any("of dates the day" in line for line in mechanism.guarantee_.assumptions)


@pytest.mark.parametrize("form", ["text", "arrow"])
def test_times_within_a_second_cost_no_more_than_is_promised(form: str) -> None:
    domain = dc.Domain({"t": dc.Time()})
    times = [dt.time(8, 0, 0, 700_000), dt.time(8, 0, 1, 200_000)]
    column = pa.array(times if form == "arrow" else [t.isoformat() for t in times])
    mechanism = NDLaplace(epsilon=1.0, radius=0.5, domain=domain, scaling="none")
    found, facts = level(mechanism, pa.table({"t": column}), domain)
    assert found <= 1.0
    assert facts["rounding"] >= 1
    assert any("of times the whole second" in line for line in mechanism.guarantee_.assumptions)


def test_a_matrix_adds_the_day_of_every_date_column() -> None:
    two = dc.Domain({"a": {"bounds": ("2020-01-01", "2021-01-01")}, "b": {"bounds": ("2020-01-01", "2021-01-01")}})
    table = pa.table({n: pa.array([MIDNIGHT - SECOND, MIDNIGHT + SECOND]) for n in ("a", "b")})
    found, facts = level(NDLaplace(1.0, 0.5, two, scaling=[[1.0, 1.0], [0.0, 2.0]]), table, two)
    assert found <= 1.0
    assert facts["rounding"] >= 8**0.5  # a day in both columns is the vector (2, 2) of the metric


def test_the_noise_of_a_week_grows_by_a_day_and_numbers_are_left_as_they_were() -> None:
    week = NDLaplace(1.0, 7, YEAR, scaling="none")
    assert 1 / week.law.rate == pytest.approx(8, rel=1e-3)
    assert 1 / NDLaplace(1.0, 7, {"x": (0, 366)}, scaling="none").law.rate == pytest.approx(7, rel=1e-4)
    assert week.rate == pytest.approx(1 / 7)
    plain = NDLaplace(1.0, 7, {"x": (0, 366)}).fit().guarantee_
    assert not any("read" in line and "lattice" in line for line in plain.assumptions)


@pytest.mark.parametrize("form", [pa.int64(), pa.string(), pa.decimal128(24, 2)])
@pytest.mark.parametrize("scaling", ["none", "box"])
def test_whole_numbers_that_doubles_cannot_tell_apart_cost_no_more_than_is_promised(
    form: pa.DataType, scaling: str
) -> None:
    domain = dc.Domain({"t": (float(EARLY), float(EARLY + 2**20))})
    radius = 2.0 if scaling == "none" else 2.0 / 2**20
    for offset in (127, 128, 129, 383, 1000):
        table = pa.table({"t": pa.array([EARLY + offset, EARLY + offset + 2]).cast(form)})
        mechanism = NDLaplace(epsilon=1.0, radius=radius, domain=domain, scaling=scaling)
        found, facts = level(mechanism, table, domain)
        assert found <= 1.0 + 1e-9
    assert facts["rounding"] >= 256 * radius / 2
    assert any("read as doubles" in line for line in mechanism.guarantee_.assumptions)


def test_the_test_of_a_trajectory_makes_up_for_the_day_as_well() -> None:
    walker = NDLaplace(1.0, 0.25, YEAR, scaling="none", random_state=1)
    plan = Trajectory(walker, threshold=20, test_epsilon=0.5, budget=10)
    numbers, point = plan._drawing(YEAR)
    run = _UsersSoFar(plan, numbers, point, 1)
    rows, _ = read_rows(pa.table({"d": pa.array([MIDNIGHT - SECOND, MIDNIGHT + SECOND])}), YEAR)
    last = rows[:1] - 30.0
    counts = [int(run._far_counts(row[None], last)[0]) for row in rows]
    assert Fraction(abs(counts[0] - counts[1])) / run._tests.scale <= plan.test_epsilon
    report = plan.report(pa.table({"d": pa.array([MIDNIGHT])}), users=["a"])
    assert report.guarantee.parameters["rounding"] >= 1
    assert any("of dates the day" in line for line in report.guarantee.assumptions)
