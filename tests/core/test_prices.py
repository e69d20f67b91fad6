"""Prices compare and convert exactly, and draws are priced by what they state."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import discreet as dc
from discreet.core.budget.draws import Draw, privtree_loss, privtree_terms
from discreet.core.budget.lines import Line
from discreet.core.budget.prices import Epsilon, Rho, Wanted
from discreet.errors import FormatError


@pytest.mark.parametrize("kind", [Epsilon, Rho])
def test_comparisons_are_strict_where_they_say_so(kind: type) -> None:
    one, two = kind(1), kind(2)
    assert (one < two, one < one, two < one) == (True, False, False)
    assert (one <= two, one <= one, two <= one) == (True, True, False)
    assert (one > two, one > one, two > one) == (False, False, True)
    assert (one >= two, one >= one, two >= one) == (False, True, True)
    assert one == kind(Fraction(1))


def test_shares_are_all_of_a_price() -> None:
    parts = Epsilon(Fraction(1, 3)).divide([1, 2, 5])
    assert sum(parts[1:], parts[0]) == Epsilon(Fraction(1, 3))
    assert all(part.infinite for part in Epsilon(math.inf).divide([1, 2]))


def test_conversions_never_promise_more_than_was_given() -> None:
    for rho in (Fraction(1, 7), Fraction(3), Fraction(1, 10**6)):
        assert Rho(rho).pure().as_rho() <= Rho(rho)
        assert Fraction(Rho(rho).choice().amount) ** 2 / 8 <= rho
    wanted = Wanted.read(1.0, None, 1e-6)
    assert wanted.rho is not None
    assert wanted.rho.at(Fraction(1, 10**6)) <= 1


def test_a_price_is_not_negative_and_may_be_nothing() -> None:
    assert not Epsilon(0)
    assert Epsilon(Fraction(1, 10**9))
    with pytest.raises(ValueError, match="negative"):
        Epsilon(-1)


@pytest.mark.parametrize(
    ("draw", "price"),
    [
        (Draw("laplace", Fraction(2), Fraction(3), rows=4), Epsilon(6)),
        (Draw("gaussian", Fraction(2), Fraction(3), rows=4), Rho(Fraction(3, 2))),
        (Draw("max-norm", Fraction(2), Fraction(3)), Epsilon(Fraction(3, 2))),
        (Draw("isotropic", Fraction(2), Fraction(9), rows=2), Epsilon(3)),
        (Draw("choice", Fraction(2), Fraction(3)), Epsilon(Fraction(3, 2))),
        (Draw("flip", Fraction(2), rows=3), Epsilon(Fraction(3, 2))),
        (Draw("report", epsilon=Fraction(5)), Epsilon(5)),
        (Draw("laplace"), Epsilon(math.inf)),
    ],
)
def test_a_draw_has_the_price_of_its_scale(draw: Draw, price: Epsilon | Rho) -> None:
    assert draw.price == price
    assert Draw.from_dict(draw.to_dict()) == draw
    if isinstance(price, Rho):
        with pytest.raises(FormatError, match="Gaussian"):
            draw.cost("epsilon")
    elif not price.infinite:
        assert draw.cost("rho") == Fraction(price.amount) ** 2 / (8 if draw.law == "choice" else 2)


@pytest.mark.parametrize("change", [{"scale": "-1"}, {"rows": 0}, {"rows": True}, {"law": "cauchy"}, {"colour": 1}])
def test_a_damaged_draw_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(FormatError):
        Draw.from_dict({**Draw("laplace", Fraction(2)).to_dict(), **change})
    assert Draw.from_dict({**Draw("laplace", Fraction(2)).to_dict(), "scale": "0"}).scale == 0


def test_the_loss_of_privtree_is_at_least_its_two_largest_terms() -> None:
    scale = Fraction(5, 2)
    assert privtree_loss(scale, 2) > 2 / scale + Fraction(privtree_terms(scale, 2)[0])
    assert len(privtree_terms(scale, 1)) > len(privtree_terms(scale, 4)) > 10
    with pytest.raises(FormatError, match="bias"):
        privtree_terms(scale, 0)


def test_a_line_of_a_ledger_that_was_used_up_has_nothing_unused() -> None:
    for spent, parts in ((Fraction(1), 1), (Fraction(1, 2), 2)):
        ledger = dc.Ledger(epsilon=1)
        entry = ledger.charge("release", Fraction(1))
        line = Line("cells", spent, "parallel", draws=(Draw("laplace", 1 / spent),))
        entry.detail((line,), "epsilon", "one row", seeded=False)
        assert len(entry.line.parts) == parts
        entry.line.check("epsilon")
