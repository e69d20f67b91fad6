"""Laplace noise on the globe: its law everywhere, its exactness, its promise by integration, and its edges."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import discreet as dc
from discreet.metric import SphericalLaplace, great_circle, restated
from discreet.metric.sphere.globe import EARTH
from discreet.noise.vector import spherical
from discreet.noise.vector import spherical as kernels
from discreet.noise.vector.spherical import REFUSED, SphericalNoise, exact_shifts, moved

PLACES = [(48.8583, 2.2945), (0.0, 0.0), (89.9995, 10.0), (90.0, 0.0), (-89.99, -120.0), (-16.8, 179.9999)]


def repeated(place: tuple[float, float], n: int) -> Any:
    return np.repeat([place], n, axis=0)


def bearings(start: tuple[float, float], ends: Any) -> Any:
    lat, lon = np.radians(start)
    lats, lons = np.radians(ends).T
    east = np.sin(lons - lon) * np.cos(lats)
    north = np.cos(lat) * np.sin(lats) - np.sin(lat) * np.cos(lats) * np.cos(lons - lon)
    return np.arctan2(east, north) / (2 * np.pi) + 0.5


@pytest.mark.parametrize("place", PLACES)
def test_at_small_scales_it_is_the_planar_law_everywhere(place: tuple[float, float]) -> None:
    mechanism = SphericalLaplace(epsilon=math.log(4), radius=200, random_state=11)
    noisy = mechanism.transform(repeated(place, 20_000))
    distances = great_circle(np.array(place), noisy)
    assert stats.kstest(distances, stats.gamma(2, scale=1 / mechanism.rate).cdf).pvalue > 0.001
    assert distances.mean() == pytest.approx(2 / mechanism.rate, rel=0.03)
    # The noise is a little larger than 2/rate: it makes up for rounding to the lattice.
    noise_rate = mechanism.guarantee_.parameters["noise_rate"]
    assert mechanism.expected_error == pytest.approx(2 / noise_rate, rel=1e-6)
    assert 1 - 1 / 1024 < noise_rate / mechanism.rate < 1
    assert stats.kstest(bearings(place, noisy), "uniform").pvalue > 0.001
    assert (np.abs(noisy[:, 0]) <= 90).all()
    assert ((noisy[:, 1] >= -180) & (noisy[:, 1] < 180)).all()


@pytest.mark.parametrize("place", [(10.0, 170.0), (90.0, 0.0)])
@pytest.mark.parametrize("a", [0.3, 2.0, 30.0])
def test_at_large_scales_it_is_the_law_of_the_sphere(place: tuple[float, float], a: float) -> None:
    mechanism = SphericalLaplace(epsilon=a, radius=EARTH, random_state=5)
    noisy = mechanism.transform(repeated(place, 20_000))
    angles = great_circle(np.array(place), noisy) / EARTH

    def cdf(t: Any) -> Any:
        return (1 - np.exp(-a * t) * (np.cos(t) + a * np.sin(t))) / (1 + math.exp(-a * math.pi))

    assert stats.kstest(angles, cdf).pvalue > 0.001
    assert stats.kstest(bearings(place, noisy), "uniform").pvalue > 0.001
    assert angles.mean() * EARTH == pytest.approx(mechanism.expected_error, rel=0.03)


def test_doubles_lie_within_their_bounds() -> None:
    """Any further digits of the same words give a shift within the kernel's bound, and the same verdict."""
    rng = np.random.default_rng(1)
    compared = 0
    for quarter in (90, 90 * 10**4, 90 * 10**9):
        step = math.pi / 2 / quarter
        for scale in (Fraction(1, 10**7), Fraction(1, 44_000), Fraction(1, 20), Fraction(1)):
            for k in range(25):
                near_pole = (quarter - k // 4) * (-1) ** k
                lat = near_pole if k % 4 == 0 else int(rng.integers(-quarter, quarter + 1))
                words = rng.integers(0, 2**64, 4, dtype=np.uint64)
                if k % 5 == 0:
                    words[0] = np.uint64(k << 40)  # nearly due north
                sines = math.sin(lat * step), math.sin((quarter - abs(lat)) * step)
                verdict, y, e_y, z, e_z = kernels.shifts(words, 0, float(scale), *sines, 1 / step)
                if verdict == kernels.OPEN:
                    continue
                further = [(int(w) << 64) + int(v) for w, v in zip(words, rng.integers(0, 2**63, 4), strict=True)]
                found = exact_shifts(further, 128, scale, quarter, lat)
                assert (found == REFUSED) == (verdict == kernels.REJECTED)
                if isinstance(found, tuple):
                    assert abs(found[0] - Decimal(y)) <= Decimal(e_y) + found[1]
                    gap = abs(found[2] - Decimal(z))
                    if math.isfinite(e_z) and found[3] is not None:
                        assert min(gap, abs(gap - 4 * quarter)) <= Decimal(e_z) + found[3]
                    compared += 1
    assert compared > 150


@pytest.mark.parametrize(("scale", "quarter"), [(Fraction(1, 50), 90_000), (Fraction(1), 9), (Fraction(1, 10**5), 90)])
def test_decimals_decide_as_doubles_do(monkeypatch: pytest.MonkeyPatch, scale: Fraction, quarter: int) -> None:
    start = np.array([[0, 0], [quarter, 0], [-quarter + 1, 5], [quarter // 2, -2 * quarter], [3, 2 * quarter - 1]] * 8)
    quick = start.copy()
    SphericalNoise.draw(scale, quarter, rng=9).move(quick)

    def undecided(words: Any, rows: Any, scale: float, quarter: int, step: float, places: Any, status: Any) -> None:
        status[rows] = kernels.OPEN

    monkeypatch.setattr(spherical, "move_rows", undecided)
    exact = start.copy()
    SphericalNoise.draw(scale, quarter, rng=9).move(exact)
    assert quick.tolist() == exact.tolist()


def test_digits_that_do_not_suffice_are_carried_on() -> None:
    # Half way between two steps as far as 64 digits can tell: a bearing due north, a length that ends on the border.
    quarter, scale, half = 90, Fraction(1, 20), 1 << 63
    low, high = 1, (1 << 64) - 1
    while high - low > 1:  # bisect the word at which the place changes
        middle = (low + high) // 2
        found = moved([0, middle, half, 0], 64, scale, quarter, 0, 0)
        if found is None:
            break
        assert isinstance(found, tuple)
        low, high = (middle, high) if found[0] > 3 else (low, middle)
    assert found is None
    carried = [moved([0, (middle << 64) + tail, half << 64, 0], 128, scale, quarter, 0, 0) for tail in (1, 2**64 - 1)]
    assert {c[0] for c in carried if isinstance(c, tuple)} <= {3, 4}
    assert any(isinstance(c, tuple) for c in carried)


def test_the_promise_by_integration() -> None:
    """On a coarse lattice: chances of all cells from every place, within e^(rate·distance), and as often as drawn."""
    quarter, a = 3, 1.5  # steps of 30 degrees
    lats, lons = np.arange(-quarter, quarter + 1), np.arange(-2 * quarter, 2 * quarter)
    fine = 24
    edges = np.linspace(-90, 90, 180 * fine // 30 * 1 + 1)
    lat = (edges[1:] + edges[:-1]) / 2
    lon = np.arange(-180, 180, 30 / fine) + 15 / fine
    grid = np.stack(np.meshgrid(lat, lon, indexing="ij"), axis=-1)
    area = np.cos(np.radians(lat))[:, None] * np.ones(len(lon))
    cell_lat, cell_lon = np.rint(lat / 30).astype(int), np.rint(lon / 30).astype(int)
    cell_lon[cell_lon == 2 * quarter] = -2 * quarter
    cell = (cell_lat[:, None] + quarter) * len(lons) + cell_lon + 2 * quarter
    cell[np.abs(cell_lat) == quarter] = ((cell_lat[np.abs(cell_lat) == quarter] + quarter) * len(lons))[:, None] + 6
    chances = {}
    for i in lats:
        for j in lons if abs(i) < quarter else [0]:
            angle = great_circle(np.array([i * 30.0, j * 30.0]), grid) / EARTH
            mass = np.bincount(cell.ravel(), (area * np.exp(-a * angle)).ravel(), len(lats) * len(lons))
            chances[int(i), int(j)] = mass / mass.sum()
    points = list(chances)
    table = np.array([chances[p] for p in points])
    kept = table[0] > 0
    logs = np.log(table[:, kept])
    apart = great_circle(np.array(points)[:, None] * 30.0, np.array(points)[None] * 30.0) / EARTH
    worst = np.abs(logs[:, None] - logs[None]).max(axis=2)
    assert (worst <= a * apart + 0.01).all()  # 0.01 for the sum in place of the integral
    for place in [(0, 0), (2, -6), (3, 0)]:
        drawn = np.repeat([place], 40_000, axis=0)
        SphericalNoise.draw(Fraction(1) / Fraction(3, 2), quarter, rng=8).move(drawn)
        counts = np.bincount((drawn[:, 0] + quarter) * len(lons) + drawn[:, 1] + 2 * quarter, minlength=len(kept))
        assert counts[~kept].sum() == 0
        expected = chances[place][kept]
        assert stats.chisquare(counts[kept], expected / expected.sum() * 40_000).pvalue > 0.001


def test_noise_belongs_to_the_row() -> None:
    source = SphericalNoise.draw(Fraction(1, 5), 9000, rng=2)
    whole = np.zeros((20_000, 2), np.int64)
    source.move(whole)
    part = np.zeros((3, 2), np.int64)
    source.move(part, first=9001)
    assert part.tolist() == whole[9001:9004].tolist()


def test_rows_beyond_the_globe_follow_a_rule() -> None:
    still = SphericalLaplace(epsilon=math.inf, radius=1)
    rows = [
        [95.0, 190.0],
        [-91.0, -541.0],
        [np.nan, 10.0],
        [10.0, np.nan],
        [np.inf, np.inf],
        [0.0, 180.0],
        [5.0, -180.0],
    ]
    shown = [[90, 0], [-90, 0], [0, 10], [10, 0], [90, 0], [0, -180], [5, -180]]
    assert still.transform(np.array(rows)).tolist() == shown
    boxed = SphericalLaplace(math.inf, 1, domain={"lat": (40, 60), "lon": (170, 180)})
    found = boxed.transform(pd.DataFrame({"lat": [99.0, np.nan], "lon": [180.0, np.nan]}))
    assert found.to_numpy().tolist() == [[60, -180], [50, 175]]


def test_frames_in_any_order_with_categories() -> None:
    frame = pd.DataFrame({"kind": ["a", "b"] * 2000, "lng": 179.99, "Lat": 50.0})
    domain = {"lng": (-180, 180), "Lat": (-90, 90), "kind": ["a", "b"]}
    mechanism = SphericalLaplace(1, 200, domain, category_epsilon=0.5, random_state=3)
    noisy = mechanism.transform(frame)
    assert list(noisy.columns) == ["lng", "Lat", "kind"]
    assert great_circle([50, 179.99], noisy[["Lat", "lng"]].to_numpy()).mean() == pytest.approx(400, rel=0.05)
    assert mechanism.guarantee_.epsilon == 1.5
    named = SphericalLaplace(1, 200, latitude="y", longitude="x", random_state=3)
    assert list(named.transform(pd.DataFrame({"x": [1.0], "y": [2.0]})).columns) == ["y", "x"]


def test_decimals_are_as_short_as_the_step() -> None:
    noisy = SphericalLaplace(1, 200, step=1e-5, random_state=3).transform(repeated((48.123456, 2.0), 100))
    assert all(len(repr(x).partition(".")[2]) <= 5 for x in noisy.ravel().tolist())


def test_remaps_see_the_noisy_place_only() -> None:
    towns = np.array([[48.85, 2.35], [51.5, -0.12], [-17.7, 178.1], [-13.8, -172.1]])
    raw = np.repeat(towns, 500, axis=0)
    plain = SphericalLaplace(1, 20_000, random_state=7)
    by_list = SphericalLaplace(1, 20_000, remap="grid", grid=towns, random_state=7)
    by_prior = SphericalLaplace(1, 20_000, remap="bayes", prior=(towns, [1, 1, 1, 1]), random_state=7)
    noisy = plain.transform(raw)
    nearest = towns[np.argmin(great_circle(noisy[:, None], towns[None]), axis=1)]
    assert np.array_equal(by_list.transform(raw), nearest)
    assert great_circle(by_prior.transform(raw), raw).mean() < great_circle(noisy, raw).mean() / 20
    assert by_prior.guarantee_.epsilon == 1
    box = {"lat": (-20, 60), "lon": (-180, 180)}
    grid = SphericalLaplace(1, 20_000, box, remap="grid", grid=5, random_state=7)
    table = pd.DataFrame(raw, columns=["lat", "lon"])
    moved_rows = grid.transform(table).to_numpy()
    assert set(moved_rows[:, 0]) <= {-20, 0, 20, 40, 60}
    assert set(moved_rows[:, 1]) <= {-180, -90, 0, 90, 180}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"domain": {"lat": (-91, 90), "lon": (0, 1)}}, r"within \[-90, 90\]: it is a latitude"),
        ({"domain": {"lat": (0, 1), "lon": (0, 360)}}, r"within \[-180, 180\]: it is a longitude"),
        ({"domain": {"lat": (0, 1), "lon": (0, 1), "age": (0, 1)}}, "3 are declared"),
        ({"domain": {"a": (0, 1), "b": (0, 1)}}, "which column is the latitude"),
        ({"domain": {"lat": (0, 1), "lon": (0, 1)}, "latitude": "x"}, "latitude must be one of"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"radius": -5}, "radius must be"),
        ({"radius": 1e9}, "radius must be at most 25,484,035 metres"),
        ({"step": 0.7}, "step must be a part of 90 degrees"),
        ({"step": 1e-13}, "step must be a part of 90 degrees"),
        ({"remap": "clip"}, "remap must be one of"),
        ({"remap": "bayes"}, "prior must be"),
        ({"remap": "grid", "grid": [[1, 2, 3]]}, "grid must be"),
    ],
)
def test_what_is_wrong_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(dc.errors.DiscreetError, match=message):
        SphericalLaplace(**settings).fit()


@pytest.mark.parametrize("names", [("lat", "lon"), ("lon", "lat")])
def test_the_levels_follow_from_the_parameters(names: tuple[str, str]) -> None:
    """As `discreet verify` derives them: with the rounding to the step, whatever the order of the columns."""
    ends = {"lat": (40.0, 41.0), "lon": (-4.0, -3.0)}
    domain = dc.Domain({name: ends[name] for name in names})
    made = SphericalLaplace(1, 200, domain, latitude="lat", longitude="lon").fit().guarantee_
    found = restated(made)
    assert found is not None
    assert found["epsilon"] == 1
    assert found["epsilon_at_diameter"] == pytest.approx(made.parameters["epsilon_at_diameter"], rel=1e-9)


def test_the_guarantee_says_what_it_is_about() -> None:
    promise = SphericalLaplace(2, 100, {"lat": (50, 51), "lon": (4, 5)}).fit().guarantee_
    assert promise.model == "metric"
    assert "100 metres apart" in promise.neighbours
    assert promise.parameters["diameter"] == pytest.approx(111_195 * (1 + math.cos(math.radians(50))), rel=1e-4)
    assert promise.parameters["step"] == 1e-8
    assert not promise.seeded


@pytest.mark.parametrize("metres", [1e-3, 1.0, 1e3])
def test_distances_near_the_antipode_are_as_right_as_near_ones(metres: float) -> None:
    degrees = np.degrees(metres / 6371008.8)
    near = great_circle([10.0, 20.0], [10.0 + degrees, 20.0])
    far = great_circle([-10.0, -160.0], [10.0 + degrees, 20.0])
    assert near == pytest.approx(metres, abs=1e-8)
    assert math.pi * 6371008.8 - far == pytest.approx(metres, abs=1e-7)
