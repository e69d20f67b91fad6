"""Corners of the metric room where a promise, a row or a message could get lost."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import FormatError, InvalidArgument, InvalidType, SchemaError
from discreet.metric import ColumnLaplace, NDLaplace, Piecewise, SphericalLaplace, Trajectory, UserLedger, equal_privacy
from discreet.metric.sphere.globe import great_circle
from discreet.noise.vector._isotropic_kernels import add_rows, words_of
from discreet.noise.vector._spherical_kernels import move_rows
from discreet.noise.vector.isotropic import IsotropicNoise, rounded

DATED = dc.Domain({"a": (0, 1), "born": ("2020-01-01", "2021-01-01")})
LARGEST = (1 << 64) - 1


def dated() -> pa.Table:
    return pa.table({"a": [0.5, 0.2], "born": [datetime.date(2020, 5, 5), None]})


@pytest.mark.parametrize("scale", [2.0**60, 2.0**70, 2.0**200])
def test_noise_beyond_whole_numbers_is_not_decided_by_doubles(scale: float) -> None:
    words = np.arange(1, 8 * words_of(2) + 1, dtype=np.uint64) << np.uint64(56)
    places, undecided = np.zeros((8, 2), np.int64), np.zeros(8, bool)
    add_rows(words, scale, places, undecided)
    assert undecided.all()
    assert not places.any()


def test_a_step_far_below_the_noise_is_refused() -> None:
    # Such noise once wrapped round the whole numbers, and left the raw value in sight.
    mechanism = NDLaplace(epsilon=1e-5, radius=1.0, domain=(0, 1), step=1e-14)
    with pytest.raises(InvalidArgument, match=r"step must be at least .*got 1e-14"):
        mechanism.transform(np.zeros((2, 2)))
    far = NDLaplace(epsilon=1e-5, radius=1.0, domain=(0, 1), step=1e-6, random_state=1).transform(np.zeros((500, 2)))
    assert np.linalg.norm(far, axis=1).mean() == pytest.approx(2e5, rel=0.2)


@pytest.mark.parametrize("n", [2, 3])
def test_the_largest_words_are_settled(n: int) -> None:
    words = np.full(words_of(n), LARGEST, np.uint64)
    places, undecided = np.zeros((1, n), np.int64), np.zeros(1, bool)
    add_rows(words, 1000.0, places, undecided)
    assert undecided.all()
    assert rounded([LARGEST] * words_of(n), 64, n, Fraction(1000)) is None  # the direction is not known to a digit
    assert not IsotropicNoise.draw(n, Fraction(1000), rng=1)._settle([LARGEST] * words_of(n), 0).any()


def test_the_largest_words_are_left_open_on_the_sphere() -> None:
    status, places = np.zeros(1, np.uint8), np.zeros((1, 2), np.int64)
    move_rows(np.full(4, LARGEST, np.uint64), np.arange(1), 0.01, 90_000, math.pi / 180_000, places, status)
    assert status[0] == 2
    assert not places.any()


def test_rows_start_anywhere() -> None:
    source = IsotropicNoise.draw(3, Fraction(500), rng=5)
    whole = np.zeros((40, 3), np.int64)
    source.add(whole)
    for first in (1, 5, 13):
        part = np.zeros((40 - first, 3), np.int64)
        source.add(part, first=first)
        assert (part == whole[first:]).all()


def test_dates_count_in_every_figure() -> None:
    mechanism = NDLaplace(epsilon=1, radius=0.1, domain=DATED, random_state=1)
    promise = mechanism.fit().guarantee_
    assert promise.parameters["dimension"] == mechanism.law.dimension == 2
    assert mechanism.scale(dated()).shape == (2, 2)
    noisy = mechanism.transform(dated())
    assert abs(noisy["born"][0].as_py().toordinal() - 719_163 - 18387) < 366
    total = equal_privacy("nd_laplace", 6.0, DATED).fit().guarantee_
    assert total.parameters["epsilon_at_diameter"] == pytest.approx(6)
    reports = Piecewise(epsilon=4, domain=DATED)
    assert reports.n_sent == reports.fit().guarantee_.parameters["reported"] == 2
    assert ColumnLaplace(epsilon=4, domain=DATED).rate == pytest.approx(2)
    table = pa.table({"lat": [1.0], "lon": [2.0], "born": [datetime.date(2020, 5, 5)]})
    world = {"lat": (-90, 90), "lon": (-180, 180), "born": ("2020-01-01", "2021-01-01")}
    with pytest.raises(SchemaError, match="'born'"):
        SphericalLaplace(domain=world).transform(table)


@pytest.mark.parametrize("rows", [[[0.5], ["SECRET", 0.1]], [{"a": "SECRET"}], [["SECRET"], None]])
def test_lists_are_refused_without_quoting_a_row(rows: Any) -> None:
    for report in (
        NDLaplace(domain={"x0": (0, 1)}).transform,
        Trajectory(NDLaplace(domain=(0, 1)), threshold=1, test_epsilon=0.1, budget=9).report,
    ):
        with pytest.raises(InvalidArgument, match="rows of one length") as caught:
            report(rows)
        assert "SECRET" not in str(caught.value)
        assert caught.value.__context__ is None


def test_lists_may_hold_text() -> None:
    mechanism = NDLaplace(domain={"x0": (0, 1), "x1": ["a", "b"]}, category_epsilon=1, random_state=1)
    noisy = mechanism.transform([[0.5, "a"], [None, "b"], ["text", None]])
    assert noisy.shape == (3, 2)
    assert set(noisy[:, 1]) <= {"a", "b"}


def test_one_column_without_rows_or_in_one_dimension() -> None:
    mechanism = NDLaplace(domain={"x0": (0, 1)}, random_state=1)
    assert mechanism.transform([]).shape == (0, 1)
    assert mechanism.transform(np.array([0.1, 0.2])).tolist() == mechanism.transform([[0.1], [0.2]]).tolist()


def test_arrow_columns_keep_their_types() -> None:
    table = pa.table({"a": pa.array([], pa.float64()), "c": pa.array([], pa.string())})
    noisy = NDLaplace(domain={"a": (0, 1), "c": ["x", "y"]}, category_epsilon=1).transform(table)
    assert noisy.schema.types == [pa.float64(), pa.string()]
    mixed = NDLaplace(domain={"c": [1, "x"]}, category_epsilon=1).transform(pa.table({"c": ["1", "x", "x"]}))
    assert set(mixed["c"].to_pylist()) <= {"1", "x"}


@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon": 1e-320, "radius": 1.0},
        {"epsilon": 1e-300, "radius": 1e300},
        {"scaling": 1e-300},
        {"scaling": "none", "domain": (0, 1e200)},
        {"domain": (0, 1e-310)},
    ],
)
def test_sizes_beyond_doubles_are_refused(settings: dict[str, Any]) -> None:
    for kind in (NDLaplace, ColumnLaplace):
        mechanism = kind(**{"domain": (0, 1), "radius": 0.1, **settings})
        with pytest.raises(InvalidArgument, match="must be"):
            mechanism.transform(np.zeros((2, 2)))


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
    large = NDLaplace(1, 1024e97, (0, 1024e98), "bayes", scaling="none", prior=rows * 1024e98, random_state=2)
    assert large.transform(rows * 1024e98) / 1024e98 == pytest.approx(small, abs=2e-3)


def test_weights_whose_sum_is_beyond_doubles() -> None:
    rows = np.linspace(0, 1, 20).reshape(10, 2)
    noisy = [
        NDLaplace(domain=(0, 1), remap="bayes", prior=(rows, np.full(10, w)), random_state=1).transform(rows)
        for w in (1.0, 1e308)
    ]
    assert noisy[0] == pytest.approx(noisy[1])


def test_what_clamping_and_rounding_do_is_said() -> None:
    """Clamping may move two points apart under a matrix, or on a sphere: distances are then those in the box."""
    mixed = NDLaplace(epsilon=1, radius=0.1, domain=dc.Domain.box([0, 0], [1, 1]), scaling=[[1, -1], [0, 0.01]])
    outside, inside = np.array([[1.5, 1.0]]), np.array([[1.0, 0.5]])
    scaling = mixed._numbers(mixed.domain.bounds).scaling
    raw = np.linalg.norm(scaling.apply(outside) - scaling.apply(inside))
    clamped = np.linalg.norm(scaling.forward(outside) - scaling.forward(inside))
    assert clamped > 50 * raw
    town = SphericalLaplace(domain={"lat": (40, 60), "lon": (0, 100)})
    for mechanism, said in ((mixed, True), (town, True), (SphericalLaplace(), False), (NDLaplace(domain=DATED), False)):
        told = " ".join(mechanism.fit().guarantee_.assumptions)
        assert ("within the declared bounds" in told) is said
        assert "lattice of step" in told


def test_a_trajectory_states_the_level_of_the_whole() -> None:
    plan = Trajectory(NDLaplace(1, 0.1, (0, 1), random_state=1), threshold=1, test_epsilon=0.1, budget=8)
    facts = plan.report(np.full((3, 2), 0.5)).guarantee.parameters
    assert facts["epsilon_at_diameter"] == pytest.approx(8 * math.sqrt(2) / 0.1)
    assert facts["point_rate"] == 10
    assert "rate" not in facts


def test_trajectories_of_one_column_and_of_files() -> None:
    plan = Trajectory(NDLaplace(1, 0.1, {"x0": (0, 1)}, random_state=1), threshold=1, test_epsilon=0.1, budget=8)
    found = plan.report(np.zeros(4))
    assert found.places.shape == found.fresh.shape == (4,)
    with pytest.raises(InvalidType, match="X must be"):
        plan.report("people.csv")


def test_a_trajectory_needs_distances_that_doubles_can_tell() -> None:
    # Places at distance 1e-17 of each other are the same or 1e-16 apart, seen from the middle of the box.
    plan = Trajectory(NDLaplace(1e-6, 1e-17, (0, 1)), threshold=1e-16, test_epsilon=0.2, budget=6)
    with pytest.raises(InvalidArgument, match="radius must be larger"):
        plan.report(np.zeros((4, 2)))


@pytest.mark.parametrize("metres", [1e-3, 1.0, 1e3])
def test_distances_near_the_antipode_are_as_right_as_near_ones(metres: float) -> None:
    degrees = np.degrees(metres / 6371008.8)
    near = great_circle([10.0, 20.0], [10.0 + degrees, 20.0])
    far = great_circle([-10.0, -160.0], [10.0 + degrees, 20.0])
    assert near == pytest.approx(metres, abs=1e-8)
    assert math.pi * 6371008.8 - far == pytest.approx(metres, abs=1e-7)


def test_a_ledger_tells_radii_apart_that_look_alike() -> None:
    ledger = UserLedger(lifetime=10)
    NDLaplace(1, 0.1, (0, 1)).transform(np.zeros((1, 2)), users=["ann"], ledger=ledger)
    with pytest.raises(InvalidArgument, match="ledger"):
        NDLaplace(1, 0.1000000001, (0, 1)).transform(np.zeros((1, 2)), users=["ann"], ledger=ledger)


def test_a_ledger_reads_whole_units_only() -> None:
    ledger = UserLedger(lifetime=10)
    ledger.charge(["ann"], 0.5)
    text = ledger.to_json()
    for change in (text.replace('["1"]', '["1/2"]'), text.replace('"denominator": "2"', '"denominator": "1/2"')):
        assert change != text
        with pytest.raises(FormatError, match="whole number of units"):
            UserLedger.from_json(change)


def test_the_picture_states_what_drawing_again_costs() -> None:
    pytest.importorskip("plotly")
    figure = NDLaplace(2, 0.1, dc.Domain.box([0, 0], [1, 1]), "resample").plot(reports=5)
    assert "level 4 at" in figure.layout.title.text
    assert any("up to e^4" in trace.name for trace in figure.data)


def test_columns_that_name_people_are_left_out_and_dates_come_back_as_dates():
    import datetime

    import pandas as pd

    domain = dc.Domain(
        {
            "id": {"bounds": [0, 1000], "role": "identifier"},
            "born": (datetime.date(1950, 1, 1), datetime.date(2000, 1, 1)),
            "x": (0, 1),
        }
    )
    frame = pd.DataFrame({"id": [1, 2], "born": pd.to_datetime(["1970-05-01", "1980-06-01"]), "x": [0.2, 0.4]})
    found = dc.metric.NDLaplace(50, 0.01, domain, random_state=1).transform(frame)
    assert list(found.columns) == ["born", "x"]
    assert np.issubdtype(found["born"].dtype, np.datetime64)
    assert abs((found["born"] - frame["born"]).dt.days).max() < 200


def test_the_lattice_costs_little_of_epsilon_however_small_it_is():
    for epsilon in (1e-4, 1.0):
        for n in (1, 2, 10):
            m = dc.metric.NDLaplace(epsilon, 0.1, dc.Domain.box(0, np.ones(n))).fit()
            facts = m.guarantee_.parameters
            assert facts["rate"] * facts["step"] * n**0.5 <= epsilon / 1024


def test_a_prior_of_one_place_is_believed():
    m = dc.metric.NDLaplace(1, 0.1, dc.Domain.box(0, [1, 1]), remap="bayes", prior=[[0.25, 0.75]], random_state=1)
    found = m.transform(np.full((20, 2), 0.5))
    assert np.abs(found - [0.25, 0.75]).max() < 0.05
