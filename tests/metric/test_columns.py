"""Rivals of n-dimensional Laplace noise: exact ratios, budgets that add up, means, variances, tables."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats
from sklearn.base import clone

import discreet as dc
from discreet import metric
from discreet.errors import InvalidArgument, InvalidType
from discreet.metric.points import piecewise
from discreet.noise.reports.means import HALF, SquareWaveLaw, square_wave
from discreet.noise.vector import caps
from discreet.noise.vector.caps import CapLaw, cap_share, in_cap, vector_scale

Duchi = partial(metric.Piecewise, method="duchi")
Hybrid = partial(metric.Piecewise, method="hybrid")
SquareWave = partial(metric.Piecewise, method="square_wave")
MEANS = [metric.Piecewise, Duchi, Hybrid]
COLUMNWISE = [*MEANS, SquareWave]
ALL = [*COLUMNWISE, metric.PrivUnit]
#: Places whose laws are listed: the ends, the middle, and others whose centres are rounded.
PLACES = [0, 1, 12345, HALF // 3, HALF, HALF + HALF // 7, 2 * HALF - 1, 2 * HALF]
ONE = dc.Domain.box([-1], [1])


def box(d: int) -> dc.Domain:
    return dc.Domain.box([0] * d, [1] * d)


# --- exact ratios ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", COLUMNWISE)
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 5, 12])
def test_the_worst_ratio_of_a_report_is_e_to_its_budget(mechanism: Any, epsilon: float) -> None:
    law = mechanism(epsilon, ONE).law
    chances = np.array([law.probabilities(place) for place in PLACES])
    assert chances.sum(axis=1) == pytest.approx(1, abs=1e-12)
    worst = (chances.max(axis=0) / chances.min(axis=0)).max()
    assert worst == pytest.approx(math.exp(epsilon), rel=1e-12)


@pytest.mark.parametrize("mechanism", COLUMNWISE)
@pytest.mark.parametrize("attributes", ["all", "sample"])
@pytest.mark.parametrize(("epsilon", "d"), [(1.0, 3), (6.0, 3), (7.5, 7), (40.0, 4)])
def test_columns_add_up_to_the_stated_budget(mechanism: Any, attributes: str, epsilon: float, d: int) -> None:
    perturber = mechanism(epsilon, box(d), attributes).fit()
    k = d if attributes == "all" else max(1, min(d, math.floor(epsilon / 2.5)))
    assert perturber.n_sent == k
    chances = np.array([perturber.law.probabilities(place) for place in (0, 2 * HALF)])
    worst = np.log(chances.max(axis=0) / chances.min(axis=0)).max()
    assert k * worst == pytest.approx(epsilon, rel=1e-12)
    guarantee = perturber.guarantee_
    assert guarantee.spent.exact == Fraction(str(epsilon))
    assert Fraction(guarantee.parameters["epsilon_each"]) * k == guarantee.spent.exact
    assert guarantee.model == "local"
    assert f"{k} of {d}" in guarantee.ledger[0].label


def test_a_whole_row_of_signs_listed() -> None:
    """Every row of two-valued reports and every choice of columns, for d = 3, k = 2: the ratio is e^ε."""
    epsilon, d, k = 5.0, 3, 2
    mechanism = Duchi(epsilon, box(d), "sample")
    assert mechanism.n_sent == k

    def row_law(places: tuple[int, ...]) -> np.ndarray:
        each = [mechanism.law.probabilities(p) for p in places]
        choices = [(0, 1), (0, 2), (1, 2)]
        return np.array([each[a][x] * each[b][y] / 3 for a, b in choices for x, y in product((0, 1), repeat=2)])

    laws = np.array([row_law(places) for places in product((0, HALF // 2, 2 * HALF), repeat=d)])
    assert laws.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert (laws.max(axis=0) / laws.min(axis=0)).max() == pytest.approx(math.exp(epsilon), rel=1e-12)


# --- means and variances --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", MEANS)
@pytest.mark.parametrize("epsilon", [0.3, 1, 2, 6])
def test_reports_are_right_in_the_mean_and_vary_as_stated(mechanism: Any, epsilon: float) -> None:
    law = mechanism(epsilon, ONE).law
    for place in PLACES:
        t, chances = place / HALF - 1, law.probabilities(place)
        assert chances @ law.values == pytest.approx(t, abs=1e-10)
        assert chances @ law.values**2 - t**2 == pytest.approx(float(law.variance(t)), rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 5])
def test_the_piecewise_variance_is_the_published_one(epsilon: float) -> None:
    law, s = metric.Piecewise(epsilon, ONE).law, math.exp(epsilon / 2)
    for t in (0.0, 0.3, 1.0):
        published = t**2 / (s - 1) + (s + 3) / (3 * (s - 1) ** 2)
        assert float(law.variance(t)) == pytest.approx(published, rel=1e-3)


def test_variances_at_named_points() -> None:
    assert float(metric.Piecewise(2, ONE).law.variance(0.3)) == pytest.approx(0.698, abs=5e-4)
    assert float(Duchi(1, ONE).law.variance(0)) == pytest.approx(((math.e + 1) / (math.e - 1)) ** 2)
    hybrid = [float(Hybrid(e, ONE).law.variance(t)) for e in (1, 2, 3) for t in (0, 1)]
    assert hybrid == pytest.approx([4.289, 4.289, 1.042, 1.042, 0.432, 0.432], abs=2e-3)


def test_the_square_wave_on_buckets() -> None:
    law = SquareWaveLaw(Fraction(2), 50)
    for place in PLACES:
        bucket = int(law.bucket(place))
        centre = (bucket + 0.5) / 25 - 1
        chances, t = law.probabilities(place), place / HALF - 1
        assert chances @ law.values == pytest.approx(law.pull * centre, abs=1e-12)
        spread = chances @ law.values**2 - (chances @ law.values) ** 2
        assert spread == pytest.approx(float(law.variance(t)), rel=1e-9)
    drawn = law.draw(np.full(40_000, HALF // 3), rng=5)
    counts = np.bincount(drawn, minlength=len(law.values))
    assert stats.chisquare(counts, 40_000 * law.probabilities(HALF // 3)).pvalue > 1e-4


def test_both_rooms_use_one_square_wave() -> None:
    device = dc.local.SquareWave(epsilon=1.5, low=0, high=1, buckets=1024)
    assert device.law == square_wave(Fraction(3, 2), 1024)
    assert device.law.width == 2 * device.reach + 1
    assert SquareWave(1.5, box(1)).law.window == device.law


@pytest.mark.parametrize(
    "mechanism",
    [
        *(kind(9, None, attributes, random_state=3) for kind in MEANS for attributes in ("all", "sample")),
        metric.PrivUnit(6, None, random_state=3),
    ],
    ids=lambda m: f"{getattr(m, 'method', type(m).__name__)}-{getattr(m, 'attributes', '')}",
)
def test_column_means_are_unbiased(mechanism: Any) -> None:
    n, low, high = 30_000, [0, -50, 0, 10], [1, 50, 1000, 11]
    truth = np.array([0.1, 40.0, 500.0, 11.0])
    released = mechanism.set_params(domain=dc.Domain.box(low, high)).transform(np.tile(truth, (n, 1)))
    error = np.abs(released.mean(axis=0) - truth)
    assert (error <= 4.5 * released.std(axis=0) / math.sqrt(n)).all()


def test_sampled_columns_say_nothing_of_the_others() -> None:
    rows = np.full((4000, 5), 0.25)
    waves = SquareWave(5, box(5), "sample", random_state=1).transform(rows)
    assert ((~np.isnan(waves)).sum(axis=1) == 2).all()
    points = metric.Piecewise(5, box(5), "sample", random_state=1).transform(rows)
    said = points != 0.5
    assert said.sum(axis=1).max() == 2
    shares = (~np.isnan(waves)).mean(axis=0)
    assert shares == pytest.approx(0.4, abs=0.04)


def test_rows_in_pieces_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.linspace(0, 1, 300).reshape(100, 3)
    mechanisms = [kind(6, box(3), how, random_state=2) for kind in COLUMNWISE for how in ("all", "sample")]
    whole = [m.transform(rows) for m in mechanisms]
    monkeypatch.setattr(piecewise, "_ROWS_AT_ONCE", 7)
    for mechanism, expected in zip(mechanisms, whole, strict=True):
        np.testing.assert_array_equal(mechanism.transform(rows), expected)


# --- directions -----------------------------------------------------------------------------------------------------


def exact_share(gamma: Fraction, n: int) -> Fraction:
    """The share of a cap of the sphere in an odd number of dimensions: the density is a polynomial there."""
    power = (n - 3) // 2

    def integral(low: Fraction) -> Fraction:
        terms = [
            (-1) ** j * math.comb(power, j) * (1 - low ** (2 * j + 1)) / Fraction(2 * j + 1) for j in range(power + 1)
        ]
        return sum(terms, Fraction(0))

    return integral(gamma) / integral(Fraction(-1))


@pytest.mark.parametrize("n", [3, 5, 9, 61])
@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "4", "8", "12"])
def test_the_ratio_of_directions_is_within_e_to_the_budget(n: int, epsilon: str) -> None:
    """In whole numbers and 60 decimals, at the smallest and largest share a cap can have under the rounded law."""
    law = CapLaw(Fraction(epsilon), n)
    share = exact_share(law.gamma, n)
    assert law.share == pytest.approx(float(share), rel=1e-10)
    moved = Fraction(1, vector_scale(n))
    least, most = share - moved, share + moved
    assert law.least_share <= least
    p = Fraction(int.from_bytes(law.inside.digits(64), "big"), 256**64)
    with localcontext() as context:
        context.prec = 60
        bound = Fraction(Decimal(epsilon).exp()) * (1 + Fraction(1, 10**55))
    slack = 1 + Fraction(1, 10**40)  # the digits of p
    assert p / (1 - p) * (1 - least) / least <= bound * slack
    assert most / least <= bound
    assert (1 - least) / (1 - most) <= bound
    assert (1 - p) / p * most / (1 - most) <= bound  # outside under one direction, inside under another
    tight = p / (1 - p) * (1 - share) / share
    assert float(tight) >= math.exp(float(Fraction(epsilon))) * (1 - 1e-3)  # and little is given away


@pytest.mark.parametrize("n", [2, 3, 4, 10, 100, 5000])
def test_rounding_moves_a_share_by_less_than_what_is_set_aside(n: int) -> None:
    density = math.exp(math.lgamma(n / 2) - math.lgamma((n - 1) / 2)) / math.sqrt(math.pi)
    assert density * math.pi / 2 * math.sqrt(n) / (n - 1) < 0.71


@pytest.mark.parametrize(("n", "gamma"), [(2, 0.3), (2, 0.999), (4, 0.0), (4, 0.7)])
def test_shares_of_even_dimensions(n: int, gamma: float) -> None:
    angle = math.acos(gamma)
    expected = angle / math.pi if n == 2 else (angle - gamma * math.sqrt(1 - gamma**2)) / math.pi
    assert cap_share(gamma, n) == pytest.approx(expected, rel=1e-12)


def test_the_cap_is_the_best() -> None:
    law = CapLaw(Fraction(4), 8)

    def error(gamma: float) -> float:
        share = cap_share(gamma, 8)
        p = math.exp(4) * share / (math.exp(4) * share + 1 - share)
        cosines = np.linspace(-1, 1, 200_001)
        weight = (1 - cosines**2) ** 2.5
        inside = cosines >= gamma
        mean = p * np.average(cosines[inside], weights=weight[inside])
        mean += (1 - p) * np.average(cosines[~inside], weights=weight[~inside])
        return float(mean**-2 - 1)

    at = float(law.gamma)
    assert law.error == pytest.approx(error(at), rel=1e-4)
    assert all(
        error(at) <= error(other) * (1 + 1e-6) for other in (0.05, at - 0.1, at - 0.02, at + 0.02, at + 0.1, 0.9)
    )


@pytest.mark.parametrize(("n", "epsilon"), [(2, 1), (3, 4), (8, 2), (8, 7)])
def test_reports_of_a_direction_have_their_law(n: int, epsilon: int) -> None:
    law, rows = CapLaw(Fraction(epsilon), n), 6000
    direction = np.arange(1, n + 1) * 1000
    reports = law.draw(np.tile(direction, (rows, 1)), rng=epsilon)
    cosines = caps.unit(reports) @ (direction / np.linalg.norm(direction))
    inside = cosines >= float(law.gamma)
    assert stats.binomtest(int(inside.sum()), rows, law.chance).pvalue > 1e-4
    # (1 + cosine)/2 of a uniform direction has the beta law with both parameters (n - 1)/2.
    beta = stats.beta((n - 1) / 2, (n - 1) / 2)
    edge = beta.cdf((1 + float(law.gamma)) / 2)
    levels = beta.cdf((1 + cosines) / 2)
    assert stats.kstest((levels[inside] - edge) / (1 - edge), "uniform").pvalue > 1e-4
    assert stats.kstest(levels[~inside] / edge, "uniform").pvalue > 1e-4
    assert cosines.mean() == pytest.approx(law.shrink, abs=4.5 / math.sqrt(rows))


def test_what_doubles_leave_open_is_settled_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    law = CapLaw(Fraction(2), 3)
    directions = np.array([[5, -3, 2**30], [0, 0, 1], [2**30, 2**30, -1]] * 20)
    expected = law.draw(directions, rng=4)

    def nothing_decided(candidates: Any, used: int, _k: Any, _w: Any, _g: float, row: int, out: Any) -> Any:
        over = used == len(candidates) or row == len(out)
        return used, row, caps._FINISHED if over else caps._OPEN

    monkeypatch.setattr(caps, "_take_rows", nothing_decided)
    np.testing.assert_array_equal(law.draw(directions, rng=4), expected)


def test_the_kernel_leaves_the_edge_open() -> None:
    candidates = np.array([[3 * 10**9, 4 * 10**9], [0, 0], [1, 0]])
    out, ones = np.zeros((1, 2), np.int64), np.ones(1, np.int64)
    directions = np.array([[1, 0]])
    assert caps._take_rows(candidates, 0, directions, ones, 0.6, 0, out) == (0, 0, caps._OPEN)
    assert caps._take_rows(candidates, 1, directions, ones, 0.6, 0, out) == (1, 0, caps._OPEN)
    assert caps._take_rows(candidates, 2, directions, ones, 0.6, 0, out) == (3, 1, caps._FINISHED)
    assert in_cap([3 * 10**9, 4 * 10**9], [1, 0], Fraction(3, 5))
    assert not in_cap([3 * 10**9 - 1, 4 * 10**9], [1, 0], Fraction(3, 5))
    assert not in_cap([-3, 4], [1, 0], Fraction(3, 5))


def test_unit_vectors_are_right_in_the_mean() -> None:
    truth = np.array([0.6, 0.0, -0.8])
    mechanism = metric.PrivUnit(3, dc.Domain.box([-1] * 3, [1] * 3), "directions", random_state=8)
    rows = np.tile(truth * 0.37, (20_000, 1))  # of any length
    released = mechanism.transform(rows)
    assert released.mean(axis=0) == pytest.approx(truth, abs=4.5 * released.std() / math.sqrt(len(rows)))
    assert np.linalg.norm(released, axis=1) == pytest.approx(1 / mechanism.law.shrink)
    assert ((released - truth) ** 2).sum(axis=1).mean() == pytest.approx(mechanism.law.error, rel=0.05)
    nowhere = mechanism.transform(np.zeros((20_000, 3)))
    assert nowhere.mean(axis=0) == pytest.approx(0, abs=4.5 * nowhere.std() / math.sqrt(20_000))


# --- equal privacy --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 4])
def test_the_level_at_the_diameter_is_rate_times_diameter_and_converts_back(d: int) -> None:
    domain = dc.Domain.box([0] * d, [2] * d)
    facts = metric.NDLaplace(epsilon=1.5, radius=0.25, domain=domain).fit().guarantee_.parameters
    assert facts["epsilon_at_diameter"] == pytest.approx(6 * math.sqrt(d), rel=1e-4)
    for level, remap in ((6.0, "none"), (3.0, "resample")):  # resampling doubles the rate
        found = metric.NDLaplace(level, facts["diameter"], domain, remap=remap).fit().guarantee_
        assert found.epsilon == found.parameters["epsilon_at_diameter"] == pytest.approx(6)


# --- tables ---------------------------------------------------------------------------------------------------------

MIXED = dc.Domain({"age": (0, 120), "income": (0, 1e6), "sex": ["f", "m"]})
TABLE = {"age": [30.0, 64.0, None], "income": [2e4, 9e9, 5.0], "sex": ["f", None, "x"]}


def _csv(folder: Path) -> str:
    path = folder / "people.csv"
    pd.DataFrame(TABLE).to_csv(path, index=False)
    return str(path)


@pytest.mark.parametrize("mechanism", ALL)
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "array", "csv"])
def test_tables_come_back_as_they_came(mechanism: Any, kind: str, tmp_path: Path) -> None:
    make: dict[str, Any] = {
        "pandas": lambda: pd.DataFrame(TABLE, index=[7, 8, 9]),
        "polars": lambda: pl.DataFrame(TABLE),
        "csv": lambda: _csv(tmp_path),
        "arrow": lambda: pa.table(TABLE),
        "array": lambda: pd.DataFrame(TABLE).to_numpy(dtype=object),
    }
    table = make[kind]()
    domain = (
        MIXED if kind != "array" else dc.Domain({f"x{i}": d for i, d in enumerate([(0, 120), (0, 1e6), ["f", "m"]])})
    )
    perturber = mechanism(2, domain, category_epsilon=0.5)
    released = perturber.transform(table)
    assert perturber.guarantee_.spent.exact == Fraction(5, 2)
    if kind == "array":
        assert released.shape == (3, 3)
        sexes, ages = released[:, 2], released[:, 0].astype(float)
    else:
        assert isinstance(released, pa.Table if kind == "csv" else type(table))
        sexes, ages = np.array(released["sex"]), np.array(released["age"], dtype=float)
    assert {str(s) for s in sexes} <= {"f", "m"}
    assert np.isfinite(ages).all()
    if kind == "pandas":
        assert released.index.tolist() == [0, 1, 2]  # the index was not declared


@pytest.mark.parametrize("mechanism", ALL)
def test_rows_never_raise(mechanism: Any) -> None:
    odd = np.array([[np.nan, np.inf], [-np.inf, 1e308], [0.0, -0.0], [5e-324, np.nan]])
    settings = [{}] if mechanism is not metric.PrivUnit else [{"inputs": "points"}, {"inputs": "directions"}]
    for domain in (dc.Domain.box([-1, -1], [1, 1]), dc.Domain.box([0, 5], [1, 1e9])):
        for extra in settings:
            assert np.isfinite(mechanism(1, domain, **extra).transform(odd)).all()
            assert mechanism(1, domain, **extra).transform(np.empty((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("mechanism", ALL)
def test_no_noise_at_infinity(mechanism: Any) -> None:
    rows = np.array([[0.25, 3.0], [np.nan, 99.0]])
    perturber = mechanism(math.inf, dc.Domain.box([0, 0], [1, 10]))
    np.testing.assert_allclose(perturber.transform(rows), [[0.25, 3.0], [0.5, 10.0]], atol=1e-9)
    assert perturber.guarantee_.epsilon == math.inf


@pytest.mark.parametrize("mechanism", ALL)
def test_seeds_and_clones(mechanism: Any) -> None:
    rows = np.linspace(0, 1, 40).reshape(20, 2)
    one = mechanism(2, box(2), random_state=5)
    np.testing.assert_array_equal(one.transform(rows), clone(one).transform(rows))
    assert one.guarantee_.seeded
    secure = mechanism(2, box(2))
    assert not np.array_equal(secure.transform(rows), secure.transform(rows))
    assert not secure.guarantee_.seeded
    assert dc.Guarantee.from_json(secure.guarantee_.to_json()) == secure.guarantee_


@pytest.mark.parametrize("mechanism", ALL)
@pytest.mark.parametrize("epsilon", [0, -1, math.nan, 1e-9, 1e9])
def test_budgets_out_of_range_are_refused(mechanism: Any, epsilon: float) -> None:
    with pytest.raises(InvalidArgument, match="epsilon must be"):
        mechanism(epsilon, box(2)).transform(np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (metric.Piecewise("1", box(2)), "epsilon"),
        (metric.Piecewise(1, box(2), "some"), "attributes must be one of 'all', 'sample'"),
        (Duchi(1, None), "domain"),
        (Hybrid(1, MIXED), "category_epsilon"),
        (metric.Piecewise(1, box(2), method="laplace"), "method must be one of"),
        (metric.PrivUnit(1, box(2), "vectors"), "inputs"),
        (metric.PrivUnit(1, box(1), "directions"), "inputs"),
        (metric.PrivUnit(5e-4, box(2)), "epsilon"),
    ],
)
def test_bad_arguments_name_themselves(mechanism: Any, words: str) -> None:
    with pytest.raises((InvalidArgument, InvalidType), match=words):
        mechanism.fit(np.zeros((1, len(mechanism.domain) if mechanism.domain else 2)))


def test_laws_need_a_finite_budget() -> None:
    with pytest.raises(InvalidArgument, match="epsilon"):
        _ = metric.PrivUnit(math.inf, box(2)).law
    with pytest.raises(InvalidArgument, match="epsilon"):
        _ = Duchi(math.inf, box(2)).law
