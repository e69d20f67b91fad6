"""The law that noise is drawn from is the law that is priced, in exact fractions."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.core.budget.guarantee import Guarantee
from discreet.metric.geometry.laws import AxesLatticeLaw, IsotropicLatticeLaw
from discreet.metric.perturber import checked_domain
from discreet.noise.reports.laws import within

BOX = dc.Domain({"x": (0, 1), "y": (0, 10)})
PERTURBERS: list[tuple[Any, Any]] = [
    (dc.metric.NDLaplace(0.7, 0.1, BOX), Fraction(7, 10)),
    (dc.metric.NDLaplace(0.7, 0.1, BOX, remap="resample"), Fraction(14, 10)),
    (dc.metric.NDLaplace(1, 0.3, BOX, step=0.01), 1),
    (dc.metric.SphericalLaplace(1.4, 200), Fraction(14, 10)),
    (dc.metric.Piecewise(3, BOX), 3),
    (dc.metric.Piecewise(6, BOX, attributes="sample"), 6),
    (dc.metric.Piecewise(3, BOX, method="duchi"), 3),
    (dc.metric.Piecewise(3, BOX, method="hybrid"), 3),
    (dc.metric.Piecewise(3, BOX, method="square_wave"), 3),
    (dc.metric.PrivUnit(3, BOX), 3),
]


def law_of(mechanism: Any) -> Any:
    domain = checked_domain(mechanism) if mechanism.domain is not None else mechanism._declared()
    return mechanism._mechanisms(domain)[0].spending.law


@pytest.mark.parametrize(("mechanism", "epsilon"), PERTURBERS, ids=lambda x: type(x).__name__)
def test_noise_costs_what_the_guarantee_says(mechanism: Any, epsilon: Any) -> None:
    law = law_of(mechanism)
    assert law.epsilon == epsilon
    assert epsilon * (1 - Fraction(1, 10**30)) <= law.price <= epsilon
    assert mechanism.fit().guarantee_.spent.exact == epsilon


def test_less_noise_than_the_price_asks_for_is_refused() -> None:
    law = law_of(dc.metric.NDLaplace(0.7, 0.1, BOX))
    with pytest.raises(ArithmeticError):
        Guarantee.of_law(_Alone(replace(law, scale=law.scale * Fraction(999, 1000))), model="metric")


class _Alone:
    """A lattice law with a line of its own."""

    one_of = ""

    def __init__(self, law: Any) -> None:
        self.epsilon, self.price, self.lines = law.epsilon, law.price, (("noise", law.epsilon),)


def test_the_draw_is_of_the_scale_that_is_priced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The samplers get the scale of the law, for every mechanism."""
    from discreet import noise
    from discreet.metric.geometry import laws

    seen: list[Any] = []

    class Isotropic:
        @staticmethod
        def draw(dimension: int, scale: Fraction, stream: Any) -> Any:
            seen.append(scale)
            return Isotropic()

        def add(self, places: Any) -> None:
            pass

        move = add

    class Sphere(Isotropic):
        @staticmethod
        def draw(scale: Fraction, quarter: int, stream: Any) -> Any:  # type: ignore[override]
            seen.append(scale)
            return Sphere()

    monkeypatch.setattr(laws, "IsotropicNoise", Isotropic)
    monkeypatch.setattr(laws, "SphericalNoise", Sphere)

    def laplace(scale: Fraction, size: Any, rng: Any) -> Any:
        seen.append(scale)
        return np.zeros(size, np.int64)

    monkeypatch.setattr(noise, "discrete_laplace", laplace)
    for mechanism in (PERTURBERS[0][0], PERTURBERS[3][0]):
        mechanism.transform(np.array([[0.5, 5.0]]))
        law = law_of(mechanism)
        assert seen.pop() == law.scale == law.reach / law.epsilon
    AxesLatticeLaw(Fraction(1), Fraction(3), Fraction(3)).draw(np.zeros((2, 1), np.int64), None)
    assert seen.pop() == 3


def test_isotropic_noise_in_one_dimension_costs_its_price_by_enumeration() -> None:
    """The chance of every whole number is an integral of the density: the worst ratio over all of them is e^(D/s)."""
    law = IsotropicLatticeLaw(Fraction(3, 2), Fraction(2), Fraction(3))
    reach, wide = 3, 60
    with localcontext(prec=60):
        s = Decimal(2)
        tail = [((-(Decimal(m) - Decimal("0.5")) / s).exp() - (-(Decimal(m) + Decimal("0.5")) / s).exp()) / 2
                for m in range(wide)]  # fmt: skip
        tail[0] = 1 - (Decimal("-0.5") / s).exp()
        ratios = [
            (tail[abs(y - x)] / tail[abs(y)]).ln().copy_abs() for x in range(-reach, reach + 1) for y in range(-40, 41)
        ]
        assert law.price == Fraction(3, 2)
        assert abs(max(ratios) - Decimal("1.5")) < Decimal(10) ** -50


def test_discrete_laplace_noise_costs_its_price_by_enumeration() -> None:
    law = AxesLatticeLaw(Fraction(3, 2), Fraction(2), Fraction(3))
    known = dc.noise.DiscreteLaplace(law.scale)
    values = np.arange(-50, 51)
    ratios = [np.abs(known.logpmf(values) - known.logpmf(values - d)).max() for d in range(-3, 4)]
    assert max(ratios) == pytest.approx(float(law.price), abs=1e-12)


def test_elastic_noise_costs_its_distance_in_the_whole_numbers_it_is_drawn_with() -> None:
    """Every report, every pair of cells: the exact ratio is within the elastic distance, the people within epsilon."""
    people = np.ones((4, 4))
    people[1, 1] = 100
    mechanism = dc.metric.ElasticLaplace(2, 50, dc.Domain.box([0, 0], [4, 4]), density=people, cells=24)
    law, table = mechanism.law, mechanism.law.table
    cells = range(len(law.places))
    counts = [[int(x) for x in table.counts(i)] for i in cells]
    for i in cells:
        for j in cells:
            worst = max(Fraction(a, b) for a, b in zip(counts[i], counts[j], strict=True))
            apart = float(law.distance(law.places[[i]], law.places[[j]])[0])
            assert within(worst, Fraction(apart)) or i == j
    price = law_of(mechanism).price
    assert price <= 2
    assert float(price) == law.people_level().max()


def test_a_test_and_a_place_of_a_trajectory_cost_what_is_charged() -> None:
    still = dc.metric.NDLaplace(epsilon=1, radius=0.1, domain=dc.Domain.box(0, [1, 1]))
    plan = dc.metric.Trajectory(still, threshold=0.8, test_epsilon=0.25, budget=4)
    law = plan._law(still._mechanisms(checked_domain(still))[0])
    assert (law.test.price, law.place.price, law.price) == (Fraction(1, 4), 1, 4)
    careless = replace(law, test=replace(law.test, scale=law.test.scale / 2))
    assert careless.price == 8
    with pytest.raises(ArithmeticError):
        Guarantee.of_law(careless, model="metric")


def test_categories_are_drawn_by_the_law_that_is_charged() -> None:
    domain = dc.Domain({"x": (0, 1), "town": ["here", "there", "far"]})
    mechanism = dc.metric.NDLaplace(1, 0.1, domain, category_epsilon=0.5)
    categories = mechanism._mechanisms(domain)[1]
    assert (categories["town"].epsilon, categories["town"].size) == (Fraction(1, 2), 3)
    assert categories["town"].price <= Fraction(1, 2)
    assert mechanism.fit().guarantee_.spent.exact == Fraction(3, 2)
    bare = dc.metric.NDLaplace(math.inf, 0.1, domain, category_epsilon=math.inf).fit().guarantee_
    assert bare.epsilon == math.inf
