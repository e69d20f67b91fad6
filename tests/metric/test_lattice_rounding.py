"""Rounding to the lattice is part of the noise: the level of any two raw rows within the radius is at most ε.

Exact: the lattice places that the library computes for two raw rows chosen to be moved as far apart as can be, and the
exact law of the noise between places. Raw distances are worked out in fractions from the very doubles that go in.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InvalidArgument
from discreet.metric import NDLaplace, SphericalLaplace, Trajectory, UserLedger
from discreet.metric.geometry.lattice import to_places
from discreet.metric.sphere import globe
from discreet.metric.trajectory import _UsersSoFar
from discreet.metric.user_ledger import metric_of

EPSILONS = (1e-4, 0.01, 1.0, 30.0)


def _boundary_pairs(numbers: Any, radius: float, seed: int) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of raw rows on either side of rounding boundaries, along all axes and along some, near ``radius``."""
    rng = np.random.default_rng(seed)
    step, box = float(numbers.step), numbers.scaling.box
    factor = step / np.diag(numbers.scaling.matrix)
    tops = np.floor(box.widths / factor).astype(int)
    d = len(tops)
    for axes in {1, (d + 1) // 2, d}:
        whole = radius / step
        for jump in {int(whole / axes), int(whole / math.sqrt(axes)), int(whole), 0}:
            for push in (0, 1, 2):
                own = rng.permutation(d)[:axes]
                base = np.minimum(rng.integers(0, 200, d), np.maximum(tops - jump - 2, 0))
                low = box.lower + (base + 0.5) * factor
                high = low.copy()
                high[own] = box.lower[own] + (base[own] + jump + 0.5) * factor[own]
                for _ in range(push):
                    low[own], high[own] = np.nextafter(low[own], -np.inf), np.nextafter(high[own], np.inf)
                yield low, np.minimum(high, box.upper)


def _differences(numbers: Any, a: Any, b: Any) -> list[Fraction]:
    """Return the exact differences of two rows in the declared units, each column by itself."""
    box = numbers.scaling.box
    kind = numbers.scaling.kind
    widths = [Fraction(float(h)) - Fraction(float(w)) for w, h in zip(box.lower, box.upper, strict=True)]
    units = widths if kind == "box" else [Fraction(1)] * len(widths)
    return [abs(Fraction(float(x)) - Fraction(float(y))) / u for x, y, u in zip(a, b, units, strict=True)]


def _allowed(epsilon: Any, distance: Fraction, facts: Any) -> Fraction:
    c, radius = Fraction(facts["rounding"]), Fraction(str(facts["radius"]))
    slack = 1 + Fraction(1, 10**12)  # the stated c is a double
    return Fraction(str(epsilon)) * (distance + c) / (radius + c) * slack


def _check(found: list[tuple[Fraction, Fraction]], epsilon: float, facts: Any) -> None:
    """Check pairs of distance and loss: at most ε within the radius, and what the guarantee states everywhere."""
    worst = max(loss for distance, loss in found if distance <= Fraction(str(facts["radius"])))
    assert worst <= Fraction(str(epsilon)), float(worst / Fraction(str(epsilon)))
    for distance, loss in found:
        assert loss <= _allowed(epsilon, distance, facts)


def _root(x: Fraction, up: bool) -> Fraction:
    found = Fraction(math.isqrt(x.numerator * x.denominator << 200), x.denominator << 100)
    return found + Fraction(1, x.denominator << 100) if up else found


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("step", [None, 0.004, 0.05, 0.11])
@pytest.mark.parametrize("d", range(1, 11))
def test_points_never_cost_more_than_epsilon_at_the_radius(epsilon: float, step: Any, d: int) -> None:
    for box in (dc.Domain.box([0] * d, [1] * d), dc.Domain.box([-1e3 / 3] * d, [0.1] * d)):
        m = NDLaplace(epsilon, 0.1, box, step=step).fit()
        numbers = m._numbers(box.bounds)
        found = []
        for a, b in _boundary_pairs(numbers, 0.1, d):
            squared = sum((x * x for x in _differences(numbers, a, b)), Fraction(0))
            places = to_places(np.stack([a, b]), numbers.scaling, float(numbers.step)).tolist()
            apart = sum((x - y) ** 2 for x, y in zip(*places, strict=True))
            found.append((_root(squared, up=True), _root(apart * (numbers.rate * numbers.step) ** 2, up=False)))
        _check(found, epsilon, m.guarantee_.parameters)


@pytest.mark.parametrize("d", [2, 5])
def test_a_matrix_is_rounded_within_what_is_stated(d: int) -> None:
    rng = np.random.default_rng(d)
    matrix, box = rng.normal(size=(d, d)), dc.Domain.box(-1e6 / 7, np.full(d, 1e6 / 3))
    m = NDLaplace(0.5, 2.0, box, scaling=matrix, step=0.7).fit()
    numbers, exact = m._numbers(box.bounds), [[Fraction(x) for x in row] for row in matrix.tolist()]
    back = np.linalg.inv(matrix)
    tried = 0
    for _ in range(300):
        base = box.bounds.lower + rng.uniform(1e5, 2e5, d)
        inner = np.rint(numbers.scaling.apply(base[None])[0] / 0.7)
        turn = rng.normal(size=d)
        ends = [(inner + 0.5) * 0.7, (inner + 0.5) * 0.7 + turn / np.linalg.norm(turn) * 1.9999]
        a, b = (box.bounds.lower + back @ end for end in ends)
        moved = [Fraction(x) - Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        squared = sum(sum(s * x for s, x in zip(row, moved, strict=True)) ** 2 for row in exact)
        places = to_places(np.stack([a, b]), numbers.scaling, 0.7).tolist()
        apart = sum((x - y) ** 2 for x, y in zip(*places, strict=True))
        loss = _root(apart * (numbers.rate * numbers.step) ** 2, up=False)
        assert loss <= _allowed(0.5, _root(squared, up=True), m.guarantee_.parameters)
        tried += squared <= 4 and loss > Fraction(3, 10)
    assert tried > 10


def test_doubles_that_round_wrongly_are_covered() -> None:
    """On a lattice so fine that a double cannot tell a step, places are off by more than rounding alone explains."""
    box = dc.Domain.box([-1.0 / 3], [1e6 / 3])
    m = NDLaplace(1, 1e-7, box, scaling="none", step=2.0**-31).fit()
    numbers, rng, worst = m._numbers(box.bounds), np.random.default_rng(3), Fraction(0)
    for x in rng.uniform(1e5, 3e5, 2000):
        a, b = np.array([x]), np.nextafter(np.array([x + 1e-7]), 0)
        distance = abs(Fraction(float(b[0])) - Fraction(float(a[0])))
        places = to_places(np.stack([a, b]), numbers.scaling, float(numbers.step))
        loss = abs(int(places[1, 0] - places[0, 0])) * numbers.rate * numbers.step
        assert loss <= _allowed(1, distance, m.guarantee_.parameters)
        worst = max(worst, loss)
    assert worst > Fraction(1, 2)


@pytest.mark.parametrize("step", [0.02, 0.1])
def test_drawing_again_costs_twice_epsilon_and_no_more(step: float) -> None:
    box = dc.Domain.box([0], [1])
    m = NDLaplace(0.5, 0.1, box, "resample", step=step).fit()
    numbers = m._numbers(box.bounds)
    scale, tops = float(1 / (numbers.rate * numbers.step)), round(1 / step)
    pairs = np.array([[0.0], [0.1], [step / 2], [math.nextafter(step / 2 + 0.1, 0)], [1.5 * step], [1.5 * step - 0.1]])
    results = np.arange(tops + 1)

    def log_law(place: int) -> Any:
        away = np.abs(results - place)
        chances = np.where(away == 0, -math.expm1(-0.5 / scale), math.sinh(0.5 / scale) * np.exp(-away / scale))
        return np.log(chances / chances.sum())

    places = to_places(pairs, numbers.scaling, step).ravel()
    for a, b in itertools.combinations(range(len(pairs)), 2):
        if abs(pairs[a, 0] - pairs[b, 0]) <= 0.1:
            assert np.abs(log_law(places[a]) - log_law(places[b])).max() <= m.guarantee_.epsilon * (1 + 1e-12)


def _great_circle(a: Any, b: Any) -> Any:
    """Return the distance in 80-bit numbers, so that what doubles lose in degrees is seen."""
    (lat_a, lon_a), (lat_b, lon_b) = (np.asarray(x, np.longdouble) * (np.longdouble(np.pi) / 180) for x in (a, b))
    across, turn = np.cos(lat_a) * np.cos(lat_b), (lon_a - lon_b) / 2
    h = np.sin((lat_a - lat_b) / 2) ** 2 + across * np.sin(turn) ** 2
    rest = np.sin((lat_a + lat_b) / 2) ** 2 + across * np.cos(turn) ** 2
    return 2 * np.longdouble(globe.EARTH) * np.arctan2(np.sqrt(h), np.sqrt(rest))


@pytest.mark.parametrize(
    ("epsilon", "radius", "step"),
    [
        (0.01, 200, None),
        (1e-4, 1, None),
        (0.001, 1, None),
        (2.0, 200, None),
        (1, 500, 0.001),
        (1, 2e5, 1.0),
        (1, 5e6, 30),
    ],
)
def test_places_never_cost_more_than_epsilon_at_the_radius(epsilon: float, radius: float, step: Any) -> None:
    m = SphericalLaplace(epsilon, radius, step=step).fit()
    facts, numbers = m.guarantee_.parameters, m._numbers(m._declared().bounds)
    size, hits = facts["step"], 0
    metres = math.radians(size) * globe.EARTH
    for south in (0.0, 48.0, 89.0, 89.9999, 90.0 - 3 * size, -90.0):
        narrow = max(math.cos(math.radians(south)), 1e-9)
        for north, east in ((1, 0), (0, 1), (1, 1), (1, -1)):
            whole = radius / metres / math.hypot(north, east)
            up = int(whole) * north
            for along in {int(whole / narrow) * east, int(whole) * east, 0}:
                base = round(south / size)
                for west in (2.0, 179.9999, -180.0):
                    start = round(west / size)
                    one = [(base + 0.5) * size, (start + 0.5) * size]
                    two = [(base + up + 0.5) * size, (start + along + 0.5) * size]
                    for k, way in enumerate((north, east)):
                        if way:
                            one[k], two[k] = math.nextafter(one[k], -way * 1e9), math.nextafter(two[k], way * 1e9)
                    rows = np.array([one, two])
                    rows[:, 0] = np.clip(rows[:, 0], -90, 90)
                    distance = _great_circle(*rows)
                    places = globe.to_places(numbers.clean(rows), numbers.quarter).astype(np.longdouble)
                    loss = _great_circle(*(places * 90 / numbers.quarter)) * np.longdouble(float(numbers.rate))
                    near = distance <= radius
                    hits += bool(near and loss > 0.1 * epsilon)
                    assert not near or loss <= epsilon * (1 + 1e-13), (south, north, east, float(loss / epsilon))
                    c = facts["rounding"]
                    assert loss <= epsilon * (distance + c) / (radius + c) * (1 + 1e-13)
    assert hits > 5


def test_a_longitude_beyond_the_date_line_is_turned_without_a_rounding() -> None:
    world = dc.Domain({"latitude": (-90, 90), "longitude": (-180, 180)}).bounds
    for turns, lon in itertools.product((1, 7, 1000, -3), (1e-3 / 7, 179.9 / 3, -100.1)):
        given = lon + 360.0 * turns
        want = Fraction(given) - 360 * turns
        assert Fraction(float(globe.cleaned(np.array([[0.0, given]]), world)[0, 1])) == want


@pytest.mark.parametrize("step", [None, 0.05])
def test_the_user_ledgers_charge_no_less_than_reports_tell(step: Any) -> None:
    box = dc.Domain.box([0, 0], [1, 1])
    m = NDLaplace(0.25, 0.1, box, step=step, random_state=1)
    ledger = UserLedger(lifetime=3)
    m.transform(np.full((4, 2), 0.5), users=["ann"] * 4, ledger=ledger)
    numbers = m._numbers(box.bounds)
    worst = Fraction(0)
    for a, b in _boundary_pairs(numbers, 0.1, 5):
        if sum(x * x for x in _differences(numbers, a, b)) <= Fraction("0.01"):
            places = to_places(np.stack([a, b]), numbers.scaling, float(numbers.step)).tolist()
            apart = sum((x - y) ** 2 for x, y in zip(*places, strict=True))
            worst = max(worst, _root(apart * (numbers.rate * numbers.step) ** 2, up=False))
    assert 4 * worst <= ledger.exact("ann") == 1
    plan = Trajectory(m, threshold=0.5, test_epsilon=0.25, budget=4)
    run = _UsersSoFar(plan, numbers, Fraction(1, 4), 1)
    last = np.array([[0.5, 0.5]])
    g = float(plan._step)
    near = run._far_counts(np.array([[0.5 + 100 * g - 1e-15, 0.5]]), last)
    far = run._far_counts(np.array([[0.5 + 100 * g + 0.1 - 2e-15, 0.5]]), last)
    assert int(far[0] - near[0]) / run._tests.scale <= plan.test_epsilon
    report = plan.report(np.full((1, 5, 2), 0.5))
    assert report.exact(0) >= int(report.tests[0]) * Fraction(1, 4) + int(report.draws[0]) * worst
    assert report.guarantee.parameters["rounding"] >= m.guarantee_.parameters["rounding"]


def test_the_guarantee_says_what_a_lattice_allows_at_small_distances() -> None:
    m = NDLaplace(1, 0.1, dc.Domain.box([0, 0], [1, 1]), step=0.05).fit()
    facts = m.guarantee_.parameters
    assert facts["rounding"] == pytest.approx(0.05 * math.sqrt(2), rel=1e-3)
    assert facts["rounding"] > 0.05 * math.sqrt(2)
    assert facts["noise_rate"] == pytest.approx(1 / (0.1 + facts["rounding"]))
    [line] = [x for x in m.guarantee_.assumptions if "lattice" in x]
    stated = float(line.partition("c = ")[2].partition(":")[0])
    assert facts["rounding"] <= stated < facts["rounding"] * 1.02
    assert "(r + c)/(0.1 + c)" in line
    assert "(in proportion at others)" not in m.guarantee_.neighbours
    assert facts["epsilon_at_diameter"] == pytest.approx(facts["noise_rate"] * (math.sqrt(2) + facts["rounding"]))


def test_a_ledger_written_when_other_distances_were_worded_otherwise_goes_on() -> None:
    m = NDLaplace(1, 0.1, dc.Domain.box([0], [1])).fit()
    now = metric_of(m.guarantee_)
    start, end = now.index(" (at most"), now.index(";")
    ledger = UserLedger(lifetime=5)
    ledger.charge(["ann"], 1, metric=now[:start] + " (in proportion at others)" + now[end:])
    again = UserLedger.from_json(ledger.to_json())
    m.transform(np.array([[0.5]]), users=["ann"], ledger=again)
    assert again.exact("ann") == 2
    with pytest.raises(dc.errors.InvalidArgument, match="do not add up"):
        NDLaplace(1, 0.2, dc.Domain.box([0], [1])).transform(np.array([[0.5]]), users=["ann"], ledger=again)


def test_a_step_far_below_the_noise_is_refused() -> None:
    # Such noise once wrapped round the whole numbers, and left the raw value in sight.
    mechanism = NDLaplace(epsilon=1e-5, radius=1.0, domain=(0, 1), step=1e-14)
    with pytest.raises(InvalidArgument, match=r"step must be at least .*got 1e-14"):
        mechanism.transform(np.zeros((2, 2)))
    far = NDLaplace(epsilon=1e-5, radius=1.0, domain=(0, 1), step=1e-6, random_state=1).transform(np.zeros((500, 2)))
    assert np.linalg.norm(far, axis=1).mean() == pytest.approx(2e5, rel=0.2)


def test_the_lattice_costs_little_of_epsilon_however_small_it_is():
    for epsilon in (1e-4, 1.0):
        for n in (1, 2, 10):
            m = dc.metric.NDLaplace(epsilon, 0.1, dc.Domain.box(0, np.ones(n))).fit()
            facts = m.guarantee_.parameters
            assert facts["rate"] * facts["step"] * n**0.5 <= epsilon / 1024
