"""`ElasticLaplace`: a metric, a law that keeps it exactly, enough people around every point, and tables in and out."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import discreet as dc
from discreet.errors import InvalidArgument, InvalidType
from discreet.metric import ElasticLaplace, NDLaplace, UserLedger
from discreet.metric.elastic.law import ROUNDING
from discreet.noise import Generator, generator
from discreet.noise.choice.tabled import LEAST, WHOLE, ChanceTable
from discreet.reporting.words import for_experts, for_lawyers

SQUARE = dc.Domain.box([0, 0], [1, 1])


def town(n: int = 16, inside: float = 100.0) -> np.ndarray:
    """Return people on a grid: a town in the country."""
    people = np.ones((n, n))
    people[n // 4 : n // 2, n // 4 : n // 2] = inside
    return people


def small(**changed):
    settings = {"epsilon": 1.0, "min_people": 50, "domain": SQUARE, "density": town(8), "cells": 40, "random_state": 1}
    return ElasticLaplace(**{**settings, **changed})


MAPS = {
    "a town": lambda: small(),
    "little noise": lambda: small(epsilon=8.0),
    "much noise": lambda: small(epsilon=0.01),
    "far more than is promised": lambda: small(epsilon=1000.0),
    "a line": lambda: small(domain={"x": (-5, 5)}, density=np.r_[np.full(10, 30.0), np.ones(30)]),
    "space": lambda: small(domain=dc.Domain.box([0] * 3, [1, 2, 3]), density=np.full((2, 2, 2), 20.0), scaling="none"),
    "an oblong of other units": lambda: small(domain={"x": (0, 100), "y": (0, 7)}, scaling=[10.0, 2.0]),
    "everybody in one place": lambda: small(density=(np.array([[0.3, 0.3]]), np.array([60.0]))),
    "all people": lambda: small(min_people=float(town(8).sum()) * (1 - 1e-12)),
}


def table_of(law):
    """Return all chances as whole numbers, and all distances."""
    n = len(law.lower)
    counts = np.array([law.table.counts(i) for i in range(n)])
    inside = (law.lower + law.upper) / 2
    apart = law.distance(np.repeat(inside, n, axis=0), np.tile(inside, (n, 1))).reshape(n, n)
    return counts, apart


@pytest.mark.parametrize("name", MAPS)
def test_the_metric_is_one_and_the_law_keeps_it_for_all_pairs_and_reports(name):
    law = MAPS[name]().law
    counts, apart = table_of(law)
    n = len(counts)
    assert np.array_equal(law.cells((law.lower + law.upper) / 2), np.arange(n))
    # A metric, exactly: no tolerance.
    assert (np.diag(apart) == 0).all()
    assert (apart[~np.eye(n, dtype=bool)] > 0).all()
    assert np.array_equal(apart, apart.T)
    for middle in range(n):
        assert (apart <= apart[:, [middle]] + apart[[middle], :]).all()
    # Chances are whole, none is out of reach, and they add up.
    assert (counts >= LEAST).all()
    assert [sum(row) for row in counts.tolist()] == [WHOLE] * n
    logs = np.log(counts.astype(np.longdouble))
    for i, j in product(range(n), range(n)):
        loss = float(np.abs(logs[i] - logs[j]).max())
        assert loss <= apart[i, j]


def test_the_tightest_pairs_hold_in_exact_numbers_and_the_metric_is_no_larger_than_it_must_be():
    law = small().law
    counts, apart = table_of(law)
    n = len(counts)
    logs = np.log(counts.astype(np.longdouble))
    losses = np.array([[float(np.abs(logs[i] - logs[j]).max()) for j in range(n)] for i in range(n)])
    off = ~np.eye(n, dtype=bool)
    assert (losses[off] > apart[off] - 2 * ROUNDING).all()
    slack = np.where(off, apart - losses, math.inf)
    with localcontext() as exact:
        exact.prec = 60
        for flat in np.argsort(slack, axis=None)[:50]:
            i, j = np.unravel_index(flat, slack.shape)
            most = Decimal(float(apart[i, j])).exp()
            for p, q in zip(counts[i].tolist(), counts[j].tolist(), strict=True):
                assert Decimal(p) <= most * q


def test_half_the_distance_would_not_be_kept():
    law = small().law
    counts, apart = table_of(law)
    loss = float(np.abs(np.log(counts[0] / counts[-1])).max())
    assert apart[0, -1] / 2 < loss


@settings(max_examples=25, deadline=None)
@given(
    counts=st.lists(st.floats(0, 1e4), min_size=9, max_size=9).filter(lambda c: sum(c) > 1),
    points=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=3, max_size=3),
    epsilon=st.floats(0.01, 20),
    share=st.floats(0.01, 0.99),
)
def test_any_density_gives_a_metric_in_which_every_point_has_its_people(counts, points, epsilon, share):
    people = np.array(counts).reshape(3, 3)
    law = small(density=people, min_people=share * people.sum(), epsilon=epsilon, cells=24).law
    a, b, c = (np.array([p]) for p in points)
    ab, bc, ac = (float(law.distance(x, y)[0]) for x, y in ((a, b), (b, c), (a, c)))
    assert ac <= ab + bc
    assert ab == float(law.distance(b, a)[0])
    assert law.people_level().max() <= epsilon
    assert (law.people_within(epsilon) >= share * people.sum() * (1 - 1e-9)).all()
    chances = [law.table.counts(int(law.cells(x)[0])) for x in (a, b)]
    assert float(np.abs(np.log(chances[0] / chances[1])).max()) <= ab


def test_the_requirement_holds_by_a_count_that_knows_nothing_of_cells():
    people = town(16)
    law = small(density=people, min_people=120, cells=200, epsilon=1.5).law
    squares = (np.indices((64, 64)).reshape(2, -1).T + 0.5) / 64
    living = np.repeat(np.repeat(people, 4, axis=0), 4, axis=1).ravel() / 16
    for point in np.random.default_rng(1).random((60, 2)):
        near = law.distance(np.tile(point, (len(squares), 1)), squares) <= 1.5
        assert living[near].sum() >= 120 * (1 - 1e-9)
    # It is not met by hiding everybody among all.
    assert np.median(law.people_within(1.5)) < 300
    # With a larger distance for the people it would be broken: the requirement is what sets the noise.
    assert law.people_level().max() > 0.99 * 1.5


def test_noise_follows_the_people_and_the_city_keeps_its_accuracy():
    people = town(32, 200.0)
    law = small(density=people, min_people=300, cells=300, epsilon=2.0).law
    city, country = law.expected_error([[0.375, 0.375], [0.9, 0.9]])
    radius = law.people_radius([[0.375, 0.375], [0.9, 0.9]])
    assert 8 * city < country
    alike = NDLaplace(2.0, float(radius[0]), SQUARE)  # hides city people among as many
    assert city < 1.5 * alike.law.expected_error
    safe = NDLaplace(2.0, float(radius[1]), SQUARE)  # does so in the country, and everywhere
    assert city < 0.15 * safe.law.expected_error


def test_it_is_better_than_half_the_distance_in_the_same_metric():
    law = small(density=town(16), min_people=120, cells=200, epsilon=1.5).law
    _, apart = table_of(law)
    kernel = np.exp(-apart / 2)  # the exponential mechanism for any metric: it keeps this one too
    half = kernel / kernel.sum(axis=1, keepdims=True)
    assert float(np.abs(np.log(half[:, None] / half[None])).max(axis=2).max()) <= apart.max()
    away = np.linalg.norm(law.places[:, None] - law.places[None], axis=2)
    theirs, ours = (half * away).sum(axis=1), law.expected_error()
    assert np.average(ours, weights=law.people) < 0.6 * np.average(theirs, weights=law.people)


def test_a_density_is_the_same_however_it_is_given():
    people = town(8)
    corners = np.indices((8, 8)).reshape(2, -1).T / 8
    guarantee = dc.GridSynopsis(1.0, SQUARE, 8, random_state=1).fit(np.random.default_rng(1).random((500, 2)))
    release = guarantee.synopsis_
    synopsis = dc.synopses.BoxSynopsis(
        SQUARE, lower=corners, upper=corners + 1 / 8, weights=people.ravel(), variances=np.full(64, 1e-6),
        guarantee=release.guarantee,
    )  # fmt: skip
    counted, released = small().law, small(density=synopsis).law
    assert np.array_equal(counted.lower, released.lower)
    assert np.allclose(counted.people, released.people)
    fine = (np.indices((256, 256)).reshape(2, -1).T + 0.5) / 256
    weights = np.repeat(np.repeat(people, 32, axis=0), 32, axis=1).ravel() / 32**2
    placed = small(density=(fine, weights)).law
    assert np.allclose(counted.people, placed.people)
    told = small(density=release, min_people=20).fit().guarantee_.parameters["density"]
    assert (told["origin"], told["epsilon"]) == ("a released synopsis", 1.0)
    # Middles of a raster stand for its squares, also where empty ones are left out: not for single points.
    middles, there = (np.indices((8, 8)).reshape(2, -1).T + 0.5) / 8, np.arange(64) != 0
    raster = small(density=(middles, people.ravel())).law
    assert np.array_equal(counted.lower, raster.lower)
    assert np.allclose(counted.people, raster.people)
    holed = small(density=(middles[there], people.ravel()[there])).law
    assert holed.people.sum() == pytest.approx(people.sum() - people[0, 0])
    assert np.allclose(holed.expected_error([[0.4, 0.4]]), counted.expected_error([[0.4, 0.4]]), rtol=0.2)
    # Places outside the box and negative counts do not count.
    outside = small(density=(np.vstack([fine, [[2.0, 2.0]]]), np.append(weights, 1e6))).law
    assert outside.people.sum() == pytest.approx(people.sum())
    negative = people.copy()
    negative[0, 0] = -50
    assert small(density=negative).law.people.sum() == pytest.approx(people.sum() - 1)


def test_a_leaf_of_any_shape_is_spread_over_the_squares_it_covers():
    release = dc.TreeSynopsis(2.0, SQUARE, "median", random_state=1).fit(
        np.random.default_rng(1).random((4000, 2)) ** 2
    )
    law = small(density=release.synopsis_, min_people=100, cells=100).law
    assert law.people.sum() == pytest.approx(release.synopsis_.weights.sum(), rel=0.02)
    asked = release.synopsis_.count({"x0": (0, 0.25), "x1": (0, 0.25)})
    inside = (law.upper <= 0.25).all(axis=1)
    assert law.people[inside].sum() == pytest.approx(float(asked), rel=0.05)


def test_draws_are_those_of_the_table():
    mechanism = small(random_state=3)
    point = np.array([[0.3, 0.3]])
    law = mechanism.law
    reports = mechanism.transform(np.repeat(point, 40_000, axis=0))
    cells = law.cells(reports)
    assert np.array_equal(law.places[cells], reports)
    seen = np.bincount(cells, minlength=len(law.lower))
    expected = law.table.counts(int(law.cells(point)[0])) / WHOLE * 40_000
    kept = expected > 5
    score = float((((seen - expected)[kept]) ** 2 / expected[kept]).sum())
    assert score < chi2.isf(1e-6, int(kept.sum()))  # a false alarm in a million


def test_every_word_meets_its_outcome():
    table = ChanceTable(np.array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]), rest=np.array([0, 2]))
    half, quarter = WHOLE // 2, WHOLE // 4
    words = np.array([0, half - 1, half, half + quarter - 1, half + quarter, WHOLE - 1], np.uint64) << np.uint64(2)

    def told(n):
        return np.resize(words.view(np.uint8), n)

    first, second = (table.draw(np.full(6, row), Generator(told, seeded=True)).tolist() for row in (0, 1))
    assert first == [0, 0, 1, 1, 2, 2]
    assert second == [0, 1, 2, 2, 2, 2]
    with pytest.raises(ValueError, match="at least"):
        ChanceTable(np.array([[1.0, 0.0]]), rest=np.array([0]))


def test_accuracy_forecasts_are_what_is_drawn():
    law, mechanism = small().law, small(random_state=generator(5))
    point = np.array([[0.8, 0.2]])
    away = np.linalg.norm(mechanism.transform(np.repeat(point, 20_000, axis=0)) - point, axis=1)
    assert away.mean() == pytest.approx(float(law.expected_error(point)[0]), rel=0.02)
    assert (away > float(law.accuracy_radius(0.1, point)[0])).mean() <= 0.11
    assert len(law.expected_error()) == len(law.accuracy_radius(0.5)) == len(law.people_radius()) == len(law.lower)
    # Summed in doubles, the chances of all reports may be less than a wanted chance next to 1.
    never = law.accuracy_radius(1e-17)
    assert never.tolist() == [max(np.linalg.norm(law.places - place, axis=1)) for place in law.places]


def test_tables_come_back_as_they_were_and_files_hold_the_same_rows(tmp_path):
    import pandas as pd

    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": rng.random(300), "sort": rng.choice(["a", "b"], 300), "y": rng.random(300)})
    frame.loc[3, "x"] = np.nan
    frame.loc[4, "x"] = 99.0
    domain = {"x": (0, 1), "sort": ["a", "b"], "y": (0, 1)}
    mechanism = small(domain=domain, category_epsilon=1.0, random_state=7)
    noisy = mechanism.transform(frame)
    assert list(noisy.columns) == ["x", "sort", "y"]
    assert np.isfinite(noisy[["x", "y"]].to_numpy()).all()
    law = mechanism.law
    assert set(map(tuple, noisy[["x", "y"]].to_numpy())) <= set(map(tuple, law.places))
    assert mechanism.guarantee_.epsilon == 2.0
    written = mechanism.transform_file(frame, tmp_path / "noisy.csv", order="input")
    assert pd.read_csv(tmp_path / "noisy.csv")["sort"].tolist() == noisy["sort"].tolist()
    assert np.allclose(pd.read_csv(tmp_path / "noisy.csv")[["x", "y"]], noisy[["x", "y"]])
    assert written.guarantee is not None
    # A point beyond the box is at its edge, a missing one in the middle.
    assert law.cells([[99.0, 0.5], [np.nan, 0.5]]).tolist() == law.cells([[1.0, 0.5], [0.5, 0.5]]).tolist()


def test_the_promise_names_metric_people_and_density():
    mechanism = small().fit()
    promise = mechanism.guarantee_
    assert (promise.model, promise.epsilon) == ("metric", 1.0)
    facts = promise.parameters
    assert facts["min_people"] == 50
    assert facts["density"]["people"] == pytest.approx(town(8).sum())
    assert facts["epsilon_at_diameter"] == mechanism.law.largest == table_of(mechanism.law)[1].max()
    assert any("density is public" in words for words in promise.assumptions)
    assert any("elastic distance" in words for words in promise.assumptions)
    other = small(density=town(8, 101.0)).fit().guarantee_.parameters
    assert other["density"]["digest"] != facts["density"]["digest"]
    said = " ".join(for_lawyers(promise))
    assert "at least 50 people" in said
    assert "in proportion" not in said
    assert "exp(D(x, x′))" in for_experts(promise)[0]


def test_reports_of_one_user_add_up_in_one_metric_only():
    ledger = UserLedger(lifetime=3)
    rows = np.array([[0.5, 0.5]])
    for _ in range(2):
        small().transform(rows, users=["ann"], ledger=ledger)
    for other in (small(density=town(8, 50.0)), small(min_people=60), small(epsilon=0.5), NDLaplace(1, 0.1, SQUARE)):
        with pytest.raises(InvalidArgument, match="do not add up"):
            other.transform(rows, users=["ann"], ledger=ledger)
    small().transform(rows, users=["ann"], ledger=ledger)
    with pytest.raises(dc.errors.BudgetExceeded):
        small().transform(rows, users=["ann"], ledger=ledger)


def test_without_noise_points_stay_and_nothing_is_promised():
    mechanism = small(epsilon=math.inf)
    rows = np.array([[0.25, 0.75], [2.0, -1.0]])
    assert mechanism.transform(rows).tolist() == [[0.25, 0.75], [1.0, 0.0]]
    assert mechanism.guarantee_.epsilon == math.inf
    with pytest.raises(InvalidArgument, match="no law"):
        _ = mechanism.law


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"density": None}, "density must be public"),
        ({"density": "town"}, "density"),
        ({"density": np.zeros((4, 4))}, "some people inside"),
        ({"density": np.ones(4)}, "even grid of 2 dimensions"),
        ({"density": np.array([[1.0, np.nan]])}, "finite counts"),
        ({"density": (np.zeros((2, 3)), np.ones(2))}, "2 coordinates each"),
        ({"density": (np.zeros((2, 2)), np.ones(3))}, "a weight for each"),
        ({"density": (np.array([[np.inf, 0]]), np.ones(1))}, "finite places"),
        ({"min_people": 0}, "min_people"),
        ({"min_people": 1e9}, "at most the number of people"),
        ({"cells": 5000}, "cells"),
        ({"cells": 1}, "cells"),
        ({"epsilon": 1e-6}, "what rounding costs"),
        ({"scaling": np.eye(2)}, "list of units"),
        ({"domain": dc.Domain.box([0] * 4, [1] * 4)}, "one to three numeric columns"),
    ],
)
def test_what_cannot_be_is_refused(change, words):
    with pytest.raises((InvalidArgument, InvalidType), match=words):
        small(**change).fit(np.zeros((1, 2))).transform(np.zeros((1, 2)))


def test_points_of_another_width_are_refused():
    with pytest.raises(InvalidArgument, match="2 coordinates"):
        small().law.expected_error([[1.0, 2.0, 3.0]])


def test_a_picture_of_the_noise_over_the_map():
    figure = small().plot()
    heat, reports, place = figure.data
    assert heat.z.shape == (160, 160)
    assert len(reports.x) == 300
    assert len(place.x) == 1
    errors = np.asarray(heat.customdata)
    assert errors[52, 52] < errors[150, 150]
    assert small().plot([0.9, 0.9]).data[2].x[0] == 0.9
    with pytest.raises(InvalidArgument, match="two numeric columns"):
        small(domain={"x": (0, 1)}, density=np.ones(4), min_people=1).plot()


def test_a_map_or_prior_of_exact_counts_is_refused_in_one_sentence() -> None:
    exact = dc.GridSynopsis(math.inf, SQUARE, 4).fit(np.full((200, 2), 0.5)).synopsis_
    for name, mechanism in (("density", small(density=exact)), ("prior", NDLaplace(1, 0.1, SQUARE, "bayes"))):
        if name == "prior":
            mechanism.set_params(prior=exact)
        said = rf"{name} must be released with a finite epsilon.*try {name}=\(places, weights"
        with pytest.raises(InvalidArgument, match=said):
            mechanism.transform(np.array([[0.5, 0.5]]))
    public = small(density=(exact.points, exact.weights), epsilon=math.inf)
    assert public.transform(np.array([[0.5, 0.25]])).tolist() == [[0.5, 0.25]]  # ε = ∞: no noise


def test_names_of_a_mechanism_are_listed_before_it_has_a_domain() -> None:
    assert {"law", "transform"} <= set(dir(ElasticLaplace()))
