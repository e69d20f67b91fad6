"""`NDLaplace`: tables in and out, remapping as post-processing, the promise, and what is refused."""

from __future__ import annotations

import inspect
import json
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import discreet as dc
from discreet.errors import DiscreetError, InvalidArgument, InvalidType
from discreet.metric import NDLaplace, SphericalLaplace
from discreet.metric.remap import maps
from discreet.metric.remap.density import fit_density
from discreet.metric.remap.prior import PlacePrior

DOMAIN = dc.Domain({"x": (0, 10), "y": (-1, 1)})


def _points(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.uniform(0, 10, n), rng.uniform(-1, 1, n)])


def test_noise_has_the_stated_size_in_the_stated_metric():
    X = _points(20_000)
    m = NDLaplace(3, 0.2, DOMAIN, random_state=1)
    moved = m.scale(m.transform(X)) - m.scale(X)
    assert m.rate == pytest.approx(15)
    assert np.linalg.norm(moved, axis=1).mean() == pytest.approx(m.law.expected_error, rel=0.02)
    assert moved.std(axis=0) == pytest.approx(m.law.coordinate_std, rel=0.03)


@pytest.mark.parametrize(
    ("scaling", "stds"),
    [
        ("box", (10, 2)),
        ("none", (1, 1)),
        ([5, 0.5], (5, 0.5)),
        (2.0, (2, 2)),
        (np.array([[0.5, 0], [0, 4]]), (2, 0.25)),
    ],
)
def test_every_form_of_scaling(scaling, stds):
    X = _points(20_000)
    m = NDLaplace(2, 0.1, DOMAIN, scaling=scaling, random_state=1)
    spread = (m.transform(X) - X).std(axis=0)
    assert spread == pytest.approx(np.array(stds) * math.sqrt(3) / 20, rel=0.03)


def test_a_matrix_that_turns_the_axes():
    turn = np.array([[1.0, 1.0], [-1.0, 1.0]])
    X = _points(5000)
    m = NDLaplace(2, 1, DOMAIN, scaling=turn, random_state=1)
    moved = (m.transform(X) - X) @ turn.T
    assert np.linalg.norm(moved, axis=1).mean() == pytest.approx(1.0, rel=0.05)
    assert m.guarantee_.parameters["diameter"] == pytest.approx(np.linalg.norm([12, 12]))


def test_the_guarantee_says_what_was_promised():
    m = NDLaplace(2, 0.1, DOMAIN, random_state=1).fit()
    promise = m.guarantee_
    assert (promise.epsilon, promise.model, promise.seeded) == (2.0, "metric", True)
    assert promise.parameters["rate"] == 20.0
    assert promise.parameters["epsilon_at_diameter"] == pytest.approx(
        20 * math.sqrt(2), rel=1e-4
    )  # less by the lattice
    assert "distance 0.1" in promise.neighbours
    assert dc.Guarantee.from_json(promise.to_json()) == promise
    assert not NDLaplace(2, 0.1, DOMAIN).fit().guarantee_.seeded


def test_resampling_states_twice_the_level_and_stays_in_the_box():
    X = _points()
    m = NDLaplace(0.5, 0.5, DOMAIN, remap="resample", random_state=3)
    Z = m.transform(X)
    assert m.guarantee_.epsilon == 1.0
    assert m.guarantee_.parameters["noise_rate"] == pytest.approx(1, rel=1e-4)
    assert m.guarantee_.parameters["noise_rate"] < 1
    assert m.guarantee_.parameters["rate"] == 2.0
    assert ((Z >= [0, -1]) & (Z <= [10, 1])).all()
    assert any("how long" in a for a in m.guarantee_.assumptions)


def test_resampling_that_would_never_end_is_refused_before_a_row_is_read():
    domain = dc.Domain.box(0, np.ones(10))
    with pytest.raises(InvalidArgument, match="clip"):
        NDLaplace(0.1, 1, domain, remap="resample").transform(np.full((3, 10), 0.5))


def test_clip_and_grid():
    X = _points()
    noisy = NDLaplace(1, 0.2, DOMAIN, random_state=2).transform(X)
    clipped = NDLaplace(1, 0.2, DOMAIN, remap="clip", random_state=2).transform(X)
    assert np.allclose(clipped, np.clip(noisy, [0, -1], [10, 1]))
    gridded = NDLaplace(1, 0.2, DOMAIN, remap="grid", grid=5, random_state=2).transform(X)
    assert set(np.unique(gridded[:, 0].round(9))) == {0, 2.5, 5, 7.5, 10}
    places = np.array([[1.0, 0.5], [9.0, -0.5]])
    found = NDLaplace(1, 0.2, DOMAIN, remap="grid", grid=places, random_state=2).transform(X)
    distance = ((noisy[:, None, :] - places[None]) / [10, 2]) ** 2
    assert np.allclose(found, places[distance.sum(axis=2).argmin(axis=1)])


@pytest.mark.parametrize(
    ("rate", "loss"),
    [
        (8.0, "squared"), (60.0, "squared"), (60.0, "euclidean"),
        pytest.param(1.0, "squared", marks=pytest.mark.slow), pytest.param(1.0, "euclidean", marks=pytest.mark.slow),
        pytest.param(8.0, "euclidean", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_bayes_is_the_best_guess_over_the_prior_density(loss, rate):
    rng = np.random.default_rng(5)
    places = np.concatenate([rng.normal(0.3, 0.05, (300, 2)), np.repeat(rng.uniform(size=(20, 2)), 10, axis=0)])
    prior = PlacePrior(places.clip(0, 1), np.ones(500), "test")
    low, high = np.zeros(2), np.ones(2)
    z = rng.uniform(0.1, 0.9, (6, 2)) + rng.normal(0, 1 / rate, (6, 2))
    found = maps.bayes(z, rate, prior, low, high, loss)
    # The same law, on a fine grid.
    ticks = (np.arange(256) + 0.5) / 256
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    log_p = fit_density(prior.places, prior.weights, low, high, 0.5 / rate).log_at(grid)
    for own, guess in zip(z, found, strict=True):
        share = log_p - rate * np.linalg.norm(grid - own, axis=1)
        share = np.exp(share - share.max())
        share /= share.sum()
        if loss == "squared":
            assert np.linalg.norm(guess - share @ grid) < 0.3 * min(1 / rate, 0.3)
        else:
            best = minimize(
                lambda g, share=share: share @ np.linalg.norm(grid - g, axis=1), guess, method="Nelder-Mead"
            )
            assert share @ np.linalg.norm(grid - guess, axis=1) < best.fun * 1.03


def test_a_flat_prior_leaves_points_where_they_are():
    flat = PlacePrior(np.random.default_rng(0).uniform(size=(5000, 2)), np.ones(5000), "flat")
    z = np.array([[0.5, 0.5], [0.3, 0.6]])
    assert np.abs(maps.bayes(z, 50.0, flat, np.zeros(2), np.ones(2)) - z).max() < 0.003


def test_far_from_everything_a_point_is_moved_into_the_box():
    prior = PlacePrior(np.array([[0.2, 0.2], [0.3, 0.3]]), np.ones(2), "two")
    found = maps.bayes(np.array([[1e6, 0.5]]), 100.0, prior, np.zeros(2), np.ones(2))
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.skipif("gowalla" not in dc.datasets.available(), reason="Gowalla's check-ins are not here")
@pytest.mark.parametrize("level", [2.0, *(pytest.param(e, marks=pytest.mark.slow) for e in (math.log(2), 8.0))])
def test_bayes_lowers_the_error_on_real_places(level):
    data = dc.datasets.load("gowalla")
    rng = np.random.default_rng(0)
    public = np.isin(data.labels, rng.permutation(np.unique(data.labels))[:3500])
    own = data.X[~public][rng.permutation(int((~public).sum()))[:2500]]
    units = [1 / 111_195, 1 / (111_195 * math.cos(math.radians(40.7)))]
    errors = {}
    for method in ("none", "clip", "bayes"):
        m = NDLaplace(
            level, 200, data.domain, remap=method, prior=data.X[public], scaling=units, loss="euclidean", random_state=1
        )
        errors[method] = np.linalg.norm(m.scale(m.transform(own)) - m.scale(own), axis=1).mean()
    assert errors["bayes"] < 0.95 * min(errors["none"], errors["clip"])


def test_bayes_with_weights_a_large_prior_and_a_synopsis():
    rng = np.random.default_rng(1)
    people = np.clip(rng.normal([2, 0.5], [0.5, 0.1], (1000, 2)), [0, -1], [10, 1])
    public = np.clip(rng.normal([2, 0.5], [0.5, 0.1], (20_000, 2)), [0, -1], [10, 1])

    def error(prior):
        m = NDLaplace(1, 0.1, DOMAIN, remap="bayes" if prior is not None else "none", prior=prior, random_state=3)
        return np.linalg.norm(m.scale(m.transform(people)) - m.scale(people), axis=1).mean(), m

    plain, _ = error(None)
    by_points, _ = error(public)
    assert by_points < plain / 2
    by_weights, _ = error((public[:3000], np.ones(3000)))
    assert by_weights == pytest.approx(by_points, rel=0.1)
    synopsis = dc.GridSynopsis(1.0, domain=DOMAIN, rule=16, random_state=0).fit(public).synopsis_
    by_synopsis, m = error(synopsis)
    assert by_synopsis < plain
    assert m.guarantee_.parameters["prior"]["epsilon"] == pytest.approx(1.0)


def test_remaps_have_no_way_in_for_raw_rows():
    for function in (maps.clip, maps.to_grid, maps.nearest_places, maps.bayes):
        names = list(inspect.signature(function).parameters)
        assert names[0] == "points"
        assert not {"X", "rows", "raw", "data"} & set(names)


@pytest.mark.parametrize("method", ["none", "clip", "grid", "bayes"])
def test_remapping_is_a_function_of_the_noisy_point_alone(method, monkeypatch):
    """When the noise is made to cover the rows, other rows give the same result."""
    fixed = np.array([[4000, 9000], [-7000, 500], [123, -45]])

    def cover(self, places, first=0):
        places[:] = fixed

    monkeypatch.setattr("discreet.noise.vector.isotropic.IsotropicNoise.add", cover)
    m = NDLaplace(2, 0.1, DOMAIN, remap=method, prior=[[1.0, 0.0], [5.0, 0.5]])
    assert np.array_equal(m.transform(_points(3, seed=1)), m.transform(np.full((3, 2), np.nan)))


def test_rows_outside_and_missing_follow_the_rule():
    X = np.array([[99.0, 0.0], [np.nan, np.nan], [-np.inf, np.inf], [5.0, 0.0]])
    found = NDLaplace(math.inf, 1, DOMAIN).transform(X)
    assert np.allclose(found, [[10, 0], [5, 0], [0, 1], [5, 0]], atol=1e-9)


def test_whole_numbers_and_days_stay_such_however_large_the_noise():
    """With a radius of 1e20, noise is beyond 64 bits: values stay at the largest that are written, on their side."""
    domain = {"n": dc.Integer(0, 100), "day": ("2024-01-01", "2024-12-31")}
    rows = pd.DataFrame({"n": [1, 50, 99] * 20, "day": pd.to_datetime(["2024-02-01", "2024-05-01", "2024-12-01"] * 20)})
    near = dc.metric.NDLaplace(1, 1.0, domain, random_state=1).transform(rows)
    assert near["n"].dtype == np.int64
    assert near["n"].abs().max() < 10_000
    far = dc.metric.NDLaplace(1e-5, 1e20, dc.Domain({"n": dc.Integer(0, 100)}), random_state=1).transform(rows[["n"]])
    assert far["n"].dtype == np.int64
    assert set(far["n"]) == {-(2**62), 2**62}


def test_no_noise_without_privacy_says_so():
    m = NDLaplace(math.inf, 1, DOMAIN)
    X = _points(50)
    assert np.allclose(m.transform(X), X, atol=1e-9)
    assert m.guarantee_.epsilon == math.inf
    assert "NO privacy" in str(m.guarantee_)


def test_same_noise_whatever_the_table_is_stored_in(tmp_path):
    X = _points(300)
    frame = pd.DataFrame(X, columns=["x", "y"], index=np.arange(300) + 7)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    make = lambda: NDLaplace(2, 0.1, DOMAIN, random_state=5)  # noqa: E731
    plain = make().transform(X)
    as_pandas, as_polars = make().transform(frame), make().transform(pl.DataFrame(frame))
    assert isinstance(as_pandas, pd.DataFrame)
    assert as_pandas.index.tolist() == list(range(300))  # the index was not declared
    assert isinstance(as_polars, pl.DataFrame)
    assert isinstance(make().transform(pa.Table.from_pandas(frame)), pa.Table)
    for found in (as_pandas, as_polars):
        assert np.array_equal(found.to_numpy(), plain)
    for path in ("t.csv", "t.parquet"):
        table = make().transform(tmp_path / path)
        assert np.allclose(np.column_stack([table["x"], table["y"]]), plain)


def test_mixed_tables():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "age": rng.uniform(0, 100, 4000), "sex": rng.choice(["f", "m"], 4000), "vip": rng.choice([True, False], 4000),
        "shop": rng.integers(0, 4, 4000),
    })  # fmt: skip
    frame.loc[:10, "sex"] = None
    domain = {"age": (0, 100), "sex": ["f", "m"], "vip": [True, False], "shop": [0, 1, 2, 3]}
    m = NDLaplace(1, 0.1, domain, category_epsilon={"sex": 1, "vip": 2, "shop": 0.5}, random_state=1)
    found = m.transform(frame)
    assert list(found) == list(frame)
    assert set(found["sex"]) == {"f", "m"}
    assert set(found["shop"]) == {0, 1, 2, 3}
    kept = (found["sex"] == frame["sex"])[11:].mean()
    assert kept == pytest.approx(math.e / (1 + math.e), abs=0.03)
    assert m.guarantee_.epsilon == pytest.approx(4.5)
    assert len(m.guarantee_.ledger) == 4
    array = NDLaplace(1, 0.1, {"a": (0, 1), "c": {"categories": [0, 1]}}, category_epsilon=1, random_state=1).transform(
        np.array([[0.5, 1.0], [0.2, 0.0]])
    )
    assert array.shape == (2, 2)


def test_categories_only():
    m = NDLaplace(1, 0.1, {"sex": ["f", "m"]}, category_epsilon=1.5)
    assert set(m.transform(pd.DataFrame({"sex": ["f"] * 50}))["sex"]) <= {"f", "m"}
    assert m.guarantee_.epsilon == 1.5


def test_it_is_a_transformer():
    m = NDLaplace(2, 0.1, DOMAIN, random_state=1)
    assert clone(m).get_params()["radius"] == 0.1
    X = _points(100)
    assert np.array_equal(m.fit(X).transform(X), m.fit_transform(X))
    assert make_pipeline(m, StandardScaler()).fit_transform(X).shape == (100, 2)


def test_many_dimensions():
    domain = dc.Domain.box(0, np.ones(1000))
    m = NDLaplace(1000, 1, domain, random_state=0)
    X = np.full((40, 1000), 0.5)
    moved = m.transform(X) - X
    assert np.linalg.norm(moved, axis=1).mean() == pytest.approx(1.0, rel=0.05)


def test_empty_and_single_tables():
    assert NDLaplace(1, 0.1, (0, 1)).transform(np.empty((0, 2))).shape == (0, 2)
    assert NDLaplace(1, 0.1, (0, 1)).transform([[0.5]]).shape == (1, 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": -1}, "epsilon must be"),
        ({"epsilon": "1"}, "epsilon must be"),
        ({"epsilon": 1e-9}, "epsilon must be at least 4e-08, got 1e-09"),
        ({"radius": 0}, "radius must be"),
        ({"radius": -0.1}, "radius must be"),
        ({"radius": math.nan}, "radius must be"),
        ({"remap": "resmaple"}, "remap must be"),
        ({"scaling": "width"}, "scaling must be"),
        ({"scaling": [1.0, 0.0]}, "scaling must be"),
        ({"scaling": [1.0, 2.0, 3.0]}, "scaling must be"),
        ({"scaling": [[1.0, 1.0], [1.0, 1.0]]}, "singular"),
        ({"scaling": np.ones((3, 3))}, "2 by 2"),
        ({"remap": "bayes"}, "prior must be"),
        ({"remap": "bayes", "prior": [[1.0, 2.0, 3.0]]}, "prior must be"),
        ({"remap": "bayes", "prior": ([[1.0, 0.0]], [0.0])}, "prior must be"),
        ({"remap": "grid", "grid": 1}, "grid must be"),
        ({"remap": "grid", "grid": [[1.0]]}, "grid must be"),
        ({"remap": "resample", "scaling": np.eye(2)}, "matrix"),
        ({"step": 0}, "step must be"),
        ({"step": 1e-30}, "step must be"),
        ({"domain": {"x": (0, 10), "y": ["a", "b"]}}, "category_epsilon must be"),
        ({"domain": None}, "domain must be"),
        ({"random_state": "x"}, "random_state must be"),
        ({"loss": "l1"}, "loss must be"),
    ],
)
def test_bad_arguments_are_named(change, words):
    settings = {"epsilon": 1.0, "radius": 0.1, "domain": DOMAIN} | change
    with pytest.raises((InvalidArgument, InvalidType, DiscreetError), match=words):
        NDLaplace(**settings).transform(_points(5))


def test_the_promise_is_plain_json():
    m = NDLaplace(2, 0.1, DOMAIN, remap="bayes", prior=[[1.0, 0.0]])
    m.fit()
    assert json.loads(m.guarantee_.to_json())["parameters"]["remap"] == "bayes"


DATED = dc.Domain({"a": (0, 1), "born": ("2020-01-01", "2021-01-01")})


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
    mechanism = NDLaplace(**{"domain": (0, 1), "radius": 0.1, **settings})
    with pytest.raises(InvalidArgument, match="must be"):
        mechanism.transform(np.zeros((2, 2)))


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


def test_the_picture_states_what_drawing_again_costs() -> None:
    pytest.importorskip("plotly")
    figure = NDLaplace(2, 0.1, dc.Domain.box([0, 0], [1, 1]), "resample").plot(reports=5)
    assert "level 4 at" in figure.layout.title.text
    assert any("up to e^4" in trace.name for trace in figure.data)
