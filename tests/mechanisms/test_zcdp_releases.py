"""Releases in ρ or (ε, δ): Gaussian noise of the right width, chosen by public values, never beyond the budget."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet import noise
from discreet.core.budget.prices import Epsilon, Rho, Wanted, root, zcdp_to_epsilon
from discreet.errors import BudgetExceeded, InvalidArgument, SchemaError
from discreet.mechanisms import Gate, Moves, law_for
from discreet.synopses.boxes.consistency import least_squares
from discreet.synopses.publishing import FIXED_POINT, count_variance, publish
from gates import hold_of

ROWS = np.random.default_rng(0).beta(2, 5, (400, 2))
RHO = {"rho": 0.25, "delta": 1e-6}
#: Estimators that draw Gaussian noise for ρ, and those whose rules are for Laplace noise.
GAUSSIAN = [
    dc.GridSynopsis(domain=(0, 1), rule=4),
    dc.GridSynopsis(domain=(0, 1), rule=3, n_rows=400),
    dc.GridSynopsis(domain=(0, 1), rule="rugnik", leaf_means=True),
    dc.GridSynopsis(domain=(0, 1), rule=50, max_cells=100),
    dc.TreeSynopsis(domain=(0, 1), max_depth=4, test_from=1),
    dc.TreeSynopsis(domain=(0, 1), max_depth=3, partitioner="median", leaf_means=True),
    dc.TreeSynopsis(domain=(0, 1), max_depth=3, partitioner="quantile"),
    dc.TreeSynopsis(domain=(0, 1), max_depth=3, partitioner="density"),
    dc.PrivateKMeans(2, domain=(0, 1), synopsis="grid"),
    dc.PrivateKMeans(2, domain=(0, 1), synopsis="tree"),
    dc.DPLloyd(2, domain=(0, 1)),
]
PURE = [
    dc.GridSynopsis(domain=(0, 1), rule="adaptive"),
    dc.TreeSynopsis(domain=(0, 1), max_depth=3, partitioner="privtree"),
    dc.TreeSynopsis(domain=(0, 1), max_depth=3, partitioner="uniform"),
    dc.PrivateKMeans(2, domain=(0, 1)),
]


def _name(model: Any) -> str:
    return type(model).__name__


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Fraction]]:
    """Note every draw of noise on numbers: its law and its width."""
    seen: list[tuple[str, Fraction]] = []

    def note(law: str, real: Any) -> Any:
        def act(width: Any, *given: Any, **more: Any) -> Any:
            seen.append((law, Fraction(width)))
            return real(width, *given, **more)

        return act

    for law in ("discrete_gaussian", "discrete_laplace", "max_norm_laplace"):
        monkeypatch.setattr(noise, law, note(law, getattr(noise, law)))
    return seen


def test_widths_are_those_of_the_theorem_and_rounded_to_the_safe_side() -> None:
    for rho in (Fraction(1, 7), Fraction(3), Fraction(1, 10**12)):
        for numbers in (1, 3, 21):
            law = law_for(Rho(rho), Moves(linf=FIXED_POINT, l2_squared=FIXED_POINT**2 * numbers))
            assert isinstance(law.one, noise.DiscreteGaussian)
            exact = Fraction(FIXED_POINT**2 * numbers) / (2 * rho)
            assert exact <= law.scale**2 <= exact * (1 + Fraction(1, 10**9))
        assert Rho(rho).pure().as_rho() <= Rho(rho)
        assert Rho(rho).choice().as_rho() / 4 <= Rho(rho)
        assert Rho(rho).like_epsilon().amount ** 2 <= 4 * rho
    for number in (Fraction(2), Fraction(1, 3), Fraction(10**30 + 1), Fraction(1, 10**24)):
        assert root(number) ** 2 <= number <= root(number, up=True) ** 2


@pytest.mark.parametrize("model", GAUSSIAN, ids=_name)
def test_a_release_in_rho_draws_gaussian_noise_and_spends_no_more(model: Any, drawn: list[Any]) -> None:
    fitted = model.set_params(epsilon=1.0, **RHO).fit(ROWS)
    promise = fitted.guarantee_
    assert promise.accounting == "rho"
    assert 0.2499 < promise.rho <= 0.25
    assert promise.epsilon <= zcdp_to_epsilon(0.25, 1e-6)
    assert (promise.delta, promise.parameters["noise"]) == (1e-6, "gaussian")
    assert "discrete_gaussian" in {law for law, _ in drawn} or model.get_params().get("max_cells") == 100
    # Every step of Gaussian noise is as wide as its own price asks for. A line may stand for a vector.
    paid = [line for top in promise.ledger for _, line in top.walk() if not line.parts]
    for law, width in drawn:
        if law == "discrete_gaussian":
            assert any(
                0 <= width**2 * 2 * line.amount / scale - 1 < Fraction(1, 10**9)
                for line in paid
                for scale in (1, FIXED_POINT**2 * 3)
            )
            assert any(("gaussian", width) == (draw.law, draw.scale) for line in paid for draw in line.draws)


@pytest.mark.parametrize("model", PURE, ids=_name)
def test_rules_for_laplace_noise_make_a_pure_release_that_rho_pays_for(model: Any, drawn: list[Any]) -> None:
    promise = model.set_params(epsilon=1.0, **RHO).fit(ROWS).guarantee_
    assert (promise.accounting, promise.delta) == ("epsilon", 0)
    assert 0.2499 < promise.spent.exact**2 / 2 <= Fraction(1, 4)
    assert "discrete_gaussian" not in {law for law, _ in drawn}


@pytest.mark.parametrize("model", [*GAUSSIAN, *PURE], ids=_name)
def test_epsilon_and_delta_take_the_noise_that_varies_less(model: Any) -> None:
    """One count per row: Laplace noise is better at (1, 1e-6), and the promise is pure, which is more than asked."""
    promise = model.set_params(epsilon=1, delta=1e-6, rho=None).fit(ROWS).guarantee_
    assert (promise.accounting, promise.epsilon, promise.delta) == ("epsilon", 1, 0)


def test_many_numbers_per_row_take_gaussian_noise() -> None:
    rows = np.random.default_rng(1).random((300, 12))
    lloyd = dc.DPLloyd(2, epsilon=1, delta=1e-6, domain=(0, 1), n_iter=7).fit(rows).guarantee_
    assert (lloyd.accounting, lloyd.delta) == ("rho", 1e-6)
    assert 0.999 < lloyd.epsilon <= 1
    grid = dc.GridSynopsis(1, rule=1, delta=1e-6, domain=(0, 1), leaf_means=True)
    few, many = (grid.fit(rows[:, :d]).guarantee_.accounting for d in (2, 12))
    assert few == "epsilon"
    wide = np.random.default_rng(1).random((50, 120))
    assert dc.GridSynopsis(1, rule=1, delta=1e-6, domain=(0, 1), leaf_means=True).fit(wide).guarantee_.delta == 1e-6
    assert many in ("epsilon", "rho")
    # What is chosen has the smaller variance, wherever the border is.
    rho = Rho.within(Epsilon(1), Fraction(1, 10**6))
    for d, chosen in ((2, few), (12, many)):
        narrower = count_variance(rho, d, means=True) < count_variance(Epsilon(1), d, means=True)
        assert (chosen == "rho") == narrower


def test_published_vectors_have_the_stated_variance() -> None:
    """False alarm below 1e-6: 20,000 draws, the sample variance has a standard error of 1 %, and 5 are allowed."""
    counts, sums = np.zeros(20_000, np.int64), np.zeros((20_000, 3), np.int64)
    out = publish(hold_of(Rho(Fraction(1, 2)), 1), counts, sums)
    assert out.variances[0] == pytest.approx(4)
    assert np.var(out.weights) == pytest.approx(4, rel=0.05)
    plain = publish(hold_of(Rho(Fraction(1, 8)), 2), counts)
    assert plain.variances[0] == pytest.approx(4)
    assert np.var(plain.weights) == pytest.approx(4, rel=0.05)


def test_what_decides_between_laws_is_the_variance_that_is_published() -> None:
    for d in (1, 4, 30):
        for price in (Rho(Fraction(1, 3)), Epsilon(Fraction(1, 3))):
            sums = np.zeros((2, d), np.int64)
            for given in (None, sums):
                out = publish(hold_of(price), np.zeros(2, np.int64), given)
                assert count_variance(price, d, means=given is not None) == pytest.approx(out.variances[0])


def test_the_loss_of_a_published_count_by_enumeration() -> None:
    """Neighbours differ by 1: Rényi divergences of all orders tried are below ρα, at every ρ."""
    for rho in (Fraction(1, 50), Fraction(1, 2), Fraction(3)):
        law = law_for(Rho(rho)).one
        most = math.ceil(14 * float(law.sigma)) + 4
        z = np.arange(-most, most + 1)
        p, q = law.logpmf(z), law.logpmf(z - 1)
        for order in (1.01, 1.5, 2.0, 5.0, 20.0):
            terms = order * p + (1 - order) * q
            divergence = (np.logaddexp.reduce(terms)) / (order - 1)
            assert divergence <= float(rho) * order * (1 + 1e-9) + 1e-12


def test_tails_of_the_discrete_gaussian_law() -> None:
    for sigma in (Fraction(1, 2), Fraction(3), Fraction(40)):
        law = noise.DiscreteGaussian(sigma)
        z = np.arange(-2000, 2001)
        p = law.pmf(z)
        for k in (-5, 0, 1, 4, 17):
            above = p[z >= k].sum()
            assert law.sf(k) == pytest.approx(above, abs=1e-14)
            if above > 1e-250:
                assert law.mean_above(k) == pytest.approx((z * p)[z >= k].sum() / above, rel=1e-9)
        for tail in (0.25, 1e-3, 1e-9):
            least = law.threshold(tail)
            assert law.sf(least + 1) <= tail
            assert least == 0 or law.sf(least) > tail
        assert law.sf([-(10**6), 10**6]).tolist() == pytest.approx([1, 0])
        assert law.mean_above([-(10**6), 10**6]).tolist() == pytest.approx([0, 10**6], abs=1e-9)
    wide = noise.DiscreteGaussian(5000)
    narrow = noise.DiscreteGaussian(1000)
    assert wide.sf(5000) == pytest.approx(narrow.sf(1000), abs=2e-4)
    assert wide.mean_above(5000) / 5 == pytest.approx(narrow.mean_above(1000), rel=1e-3)


def test_tests_with_gaussian_noise_are_corrected_by_its_law() -> None:
    tree = dc.TreeSynopsis(domain=(0, 1), max_depth=3, test_from=0, threshold=40, random_state=1, epsilon=None, **RHO)
    made = tree.fit(np.full((60, 1), 0.3)).synopsis_
    known = made.tree, made.weights.astype(float), made.variances
    right, wrong = (least_squares(*known, gaussian=law)[0] for law in (True, False))
    assert dc.synopses.refine.consistent(made).total == right[0] != wrong[0]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"rho": 0.1}, "delta"),
        ({"rho": 0.1, "delta": 0}, "delta"),
        ({"epsilon": 0.5, "rho": 0.1, "delta": 1e-6}, "epsilon"),
        ({"rho": -1, "delta": 1e-6}, "rho"),
        ({"epsilon": math.inf, "delta": 1e-6}, "epsilon"),
        ({"epsilon": None}, "epsilon"),
    ],
)
def test_budgets_that_contradict_themselves_are_refused(given: dict[str, Any], name: str) -> None:
    for model in (dc.GridSynopsis(domain=(0, 1)), dc.TreeSynopsis(domain=(0, 1)), dc.DPLloyd(2, domain=(0, 1))):
        with pytest.raises(InvalidArgument, match=f"^{name} must be"):
            model.set_params(**given).fit(ROWS)
    with pytest.raises(InvalidArgument, match=f"^{name} must be"):
        dc.GridSynopsis(domain=(0, 1)).set_params(**given).check()


def test_an_account_is_charged_in_its_own_unit(tmp_path: Path) -> None:
    in_rho = dc.Account.create(tmp_path / "r", dataset="d", rho=0.5, delta=1e-6)
    grid = dc.GridSynopsis(domain=(0, 1), rule=3, **RHO, ledger=in_rho).fit(ROWS)
    assert in_rho.spent.exact == Fraction(1, 4)
    assert {step[0] for step in in_rho.entries[0].steps} == {"gaussian"}
    in_epsilon = dc.Account.create(tmp_path / "e", dataset="d", epsilon=9, delta=1e-6)
    grid.set_params(ledger=in_epsilon).fit(ROWS)
    assert in_epsilon.spent == pytest.approx(zcdp_to_epsilon(0.25, 1e-6))
    assert in_epsilon.delta_spent.exact == Fraction(1, 10**6)
    with pytest.raises(BudgetExceeded, match="delta"):
        grid.fit(ROWS)
    plain = dc.Account.create(tmp_path / "p", dataset="d", epsilon=9)
    with pytest.raises(BudgetExceeded, match="none"):
        grid.set_params(ledger=plain).fit(ROWS)
    # A pure release of the same budget is welcome there.
    dc.GridSynopsis(domain=(0, 1), rule="adaptive", **RHO, ledger=plain).fit(ROWS)
    assert plain.spent.exact == root(Fraction(1, 2))


def test_wanted_budgets() -> None:
    assert Wanted.read(0.3, None, None) == Wanted(Epsilon(Fraction(3, 10)))
    both = Wanted.read(1, None, 1e-6)
    assert both.pure == Epsilon(1)
    assert both.rho is not None
    assert zcdp_to_epsilon(both.rho.amount, 1e-6) <= 1
    assert Gate.open(both, gaussian=True).left == both.rho
    assert Gate.open(both, gaussian=False).left == both.pure


@pytest.mark.parametrize("rows", [3, "auto"])
def test_a_budget_in_rho_for_persons_goes_with_the_square_of_their_rows(rows: Any, tmp_path: Path) -> None:
    table = pa.table({"user": np.arange(60) // 3, "x": np.linspace(0, 1, 60)})
    domain = dc.Domain({"x": (0, 1)}, unit=dc.Person("user", rows=rows))
    account = dc.Account.create(tmp_path / "a", dataset="d", unit=dc.Person("user", rows=1), rho=9, delta=1e-6)
    grid = dc.GridSynopsis(domain=domain, rule=4, **RHO, ledger=account).fit(table)
    promise = grid.guarantee_
    assert 0.2499 < promise.rho <= 0.25
    used = promise.domain.unit.l1
    cells = next(line.amount for line in promise.ledger if line.label == "cells")
    assert grid.synopsis_.variances[0] == pytest.approx(used**2 / (2 * float(cells)), rel=1e-6)
    (entry,) = account.entries
    assert (entry.state, entry.price) == ("booked", promise.spent.exact)
    with pytest.raises(SchemaError, match="one row"):
        dc.GridSynopsis(domain=(0, 1), rule=4, **RHO, ledger=account).fit(ROWS)
