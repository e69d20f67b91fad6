"""The stated cost of several releases is never below the true one, and hardly above it."""

import importlib.util
import json
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.accounts import composition
from discreet.accounts.composition import compose, in_words
from discreet.accounts.laws import Price, loss_law
from discreet.core.budget.prices import zcdp_to_epsilon
from discreet.errors import InvalidArgument
from other_accountant import CASES, INTERVAL, figures

REFERENCE = json.loads((Path(__file__).parent / "dp_accounting.json").read_text())
GIVEN = [(case["name"], case["prices"], row) for case in REFERENCE["cases"] for row in case["figures"]]


def _exact_delta(epsilon: str, times: int, at: float, values: int = 2) -> Decimal:
    """δ of many randomised responses, by their multinomial law in sixty digits."""
    with localcontext() as context:
        context.prec = 60
        rate, x = Decimal(epsilon), Decimal(at)
        other = 1 / (rate.exp() + values - 1)
        chances = (rate.exp() * other, (values - 2) * other, other)
        total = Decimal(0)
        for up in range(times + 1):
            for down in range(times - up + 1):
                loss, same = (up - down) * rate, times - up - down
                if loss <= x or (same and values == 2):
                    continue
                ways = math.comb(times, up) * math.comb(times - up, down)
                weight = chances[0] ** up * chances[2] ** down * (chances[1] ** same if same else 1)
                total += ways * weight * (1 - (x - loss).exp())
        return total


def _price(plain: dict[str, Any]) -> Price:
    """Read a price that is written as plain data."""
    return Price(**{name: Fraction(v) if name in ("epsilon", "rho", "delta") else v for name, v in plain.items()})


def _check_against(prices: list[Price], row: dict[str, float]) -> None:
    found = compose(prices, delta=row["delta"])
    assert row["low"] <= found <= row["high"] * 1.001
    share = compose(prices, epsilon=row["at"])
    # The tails of the other library are cut at 10^-15 a release.
    assert row["low_delta"] * (1 - 1e-6) <= share + 1e-14
    assert share <= row["high_delta"] * 1.15 + 1e-14


@pytest.mark.parametrize(("name", "prices", "row"), GIVEN, ids=[f"{name} {row['delta']:g}" for name, _, row in GIVEN])
def test_it_lies_between_what_another_library_thinks_possible_and_safe(
    name: str, prices: list[dict[str, object]], row: dict[str, float]
) -> None:
    _check_against([_price(p) for p in prices], row)


def test_the_reference_is_of_these_cases_on_this_grid() -> None:
    assert {
        name: [case["prices"], [row["delta"] for row in case["figures"]]]
        for case in REFERENCE["cases"]
        for name in [case["name"]]
    } == {name: [prices, deltas] for name, (prices, deltas) in CASES.items()}
    assert REFERENCE["interval"] == INTERVAL
    assert REFERENCE["made by"].startswith("dp-accounting ")


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("dp_accounting") is None, reason="dp-accounting is not installed")
@pytest.mark.parametrize("name", list(CASES))
def test_it_lies_there_when_the_other_library_is_asked_now(name: str) -> None:
    prices, deltas = CASES[name]
    for row in figures(prices, deltas):
        _check_against([_price(p) for p in prices], row)


def test_a_hundred_small_counts_cost_far_less_than_their_sum() -> None:
    counts = [Price("laplace", 0.02, times=100)]
    assert compose(counts, delta=0) == 2
    assert 0.82 < compose(counts, delta=1e-6) < 0.825
    assert compose([Price("laplace", 0.02)] * 100, delta=1e-6) == compose(counts, delta=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "times", "delta", "values"),
    [("0.02", 100, 1e-6, 2), ("1", 1, 1e-6, 2), ("0.5", 20, 1e-9, 2), ("0.1", 300, 1e-12, 2), ("0.3", 7, 1e-30, 2),
     ("2", 3, 1e-3, 2), ("0.4", 30, 1e-6, 5)],
)  # fmt: skip
def test_responses_are_exact_to_many_digits(epsilon: str, times: int, delta: float, values: int) -> None:
    prices = [Price("randomised_response", Fraction(epsilon), times=times, values=values)]
    found = compose(prices, delta=delta)
    assert _exact_delta(epsilon, times, found, values) <= Decimal(delta)
    assert _exact_delta(epsilon, times, found * (1 - 1e-8), values) > Decimal(delta) or found == float(epsilon) * times
    for at in (0.0, 0.3 * found, found):
        share = compose(prices, epsilon=at)
        assert _exact_delta(epsilon, times, at, values) <= Decimal(share)
        assert share <= float(_exact_delta(epsilon, times, at * (1 - 2e-9), values)) * (1 + 1e-8) + 1e-9 * delta


@pytest.mark.parametrize("rho", [Fraction(1, 8), Fraction(1, 200), Fraction(4)])
def test_one_gaussian_count_is_what_its_two_sums_say(rho: Fraction) -> None:
    """δ(ε) = Pr[Z > εσ² - 1/2] - e^ε Pr[Z > εσ² + 1/2] (Canonne, Kamath, Steinke 2020, theorem 7)."""
    sigma2 = float(1 / (2 * rho))
    z = np.arange(-400, 401)
    law = np.exp(-(z**2) / (2 * sigma2))
    law /= law.sum()
    for epsilon in (0.0, 0.5, 1.0, 2.5):
        exact = law[z > epsilon * sigma2 - 0.5].sum() - math.exp(epsilon) * law[z > epsilon * sigma2 + 0.5].sum()
        found = compose([Price("gaussian", rho=rho)], epsilon=epsilon)
        assert exact * (1 - 1e-9) - 1e-15 <= found <= exact * (1 + 1e-6) + 1e-15


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_one_choice_is_what_the_worst_pair_gives(epsilon: float) -> None:
    """The worst of all pairs with losses in [t - ε, t], tried out over t, on the grid and next to it."""
    t = np.linspace(0, epsilon, 4001)
    for share in (0.0, 0.123, 0.5, 0.9):
        x = share * epsilon
        upper = (math.exp(epsilon) - np.exp(t)) / math.expm1(epsilon)
        worst = np.maximum(upper * -np.expm1(x - t), 0).max()
        found = compose([Price("exponential", epsilon)], epsilon=x)
        assert worst <= found <= worst * (1 + 1e-3)


def test_a_choice_is_never_dearer_than_a_count_of_the_same_epsilon() -> None:
    for times in (1, 10, 300):
        choice, count = ([Price(law, 0.2, times=times)] for law in ("exponential", "laplace"))
        assert compose(choice, delta=1e-6) < compose(count, delta=1e-6)
    many = compose([Price("exponential", 0.1, times=400)], delta=1e-6)
    assert many <= zcdp_to_epsilon(400 * Fraction(1, 800), 1e-6)


def test_a_release_of_which_only_rho_is_known_costs_what_rho_says() -> None:
    prices = [Price("zcdp", rho=Fraction(1, 40), times=4)]
    assert compose(prices, delta=1e-6) == pytest.approx(zcdp_to_epsilon(Fraction(1, 10), 1e-6), rel=1e-9)
    assert compose(prices, epsilon=zcdp_to_epsilon(0.1, 1e-6)) == pytest.approx(1e-6, rel=0.01)
    assert compose([Price("gaussian", rho=Fraction(1, 40), times=4)], delta=1e-6) < compose(prices, delta=1e-6)
    together = compose([*prices, Price("laplace", 0.01, times=100)], delta=1e-6)
    assert compose(prices, delta=1e-6) < together < compose(prices, delta=1e-6) + 1
    # A Gaussian with more outcomes than can be listed is taken as one of these.
    assert compose([Price("gaussian", rho=1e-12)], delta=1e-6) == pytest.approx(zcdp_to_epsilon(1e-12, 1e-6), rel=1e-6)


def test_replacing_somebody_costs_what_removing_and_adding_do() -> None:
    def replaced(*prices: Price) -> float:
        return compose(prices, delta=1e-6, neighbours="replace")

    assert replaced(Price("laplace", 0.1, times=9)) == compose([Price("pure", 0.2, times=9)], delta=1e-6)
    assert replaced(Price("gaussian", rho=0.1)) == compose([Price("gaussian", rho=0.1, times=2)], delta=1e-6)
    assert replaced(Price("zcdp", rho=0.1)) == compose([Price("zcdp", rho=0.4)], delta=1e-6)
    answer = Price("randomised_response", 0.5, values=4)
    assert replaced(answer) == compose([answer], delta=1e-6)
    promise = Price("pure", 1, delta=1e-8).of_replacing()
    assert promise.epsilon == 2
    assert float(promise.delta) == pytest.approx(1e-8 * (1 + math.e), rel=1e-6)
    assert promise.delta > Fraction(1, 10**8) * (1 + Fraction(math.e))


def test_a_delta_that_is_already_spent_leaves_no_epsilon() -> None:
    price = Price("pure", 1, delta=1e-6, times=10)
    assert compose([price], delta=0.99e-5) == math.inf
    assert compose([price], delta=1.01e-5) <= 10
    assert compose([price], epsilon=20) == pytest.approx(1e-5, rel=1e-4)
    assert compose([price], epsilon=20) >= 1 - (1 - 1e-6) ** 10
    assert compose([price], delta=0) == math.inf
    assert compose([Price("pure", 1, delta=1)], epsilon=5) == 1


def test_ends_and_extremes() -> None:
    assert compose([], delta=1e-6) == 0
    assert compose([], epsilon=1) == 0
    assert compose([Price("laplace", 3)], delta=1) == 0
    assert compose([Price("laplace", math.inf)], delta=1e-6) == math.inf
    assert compose([Price("laplace", math.inf)], epsilon=3) == 1
    assert compose([Price("gaussian", rho=1)], delta=0) == math.inf
    assert compose([Price("laplace", 10**6)], delta=1e-6) == 10**6
    assert compose([Price("laplace", 1e-9)], delta=1e-6) < 1e-13
    million = compose([Price("laplace", 0.001, times=10**6)], delta=1e-6)
    assert 4.88 < million < 4.89


def test_a_longer_list_never_costs_less() -> None:
    prices: list[Price] = []
    before = 0.0
    for price in (
        Price("laplace", 0.1),
        Price("gaussian", rho=0.01),
        Price("exponential", 0.3),
        Price("laplace", 0.07),
    ):
        prices.append(price)
        now = compose(prices, delta=1e-6)
        assert now > before
        before = now


def test_a_grid_that_fits_no_loss_only_adds() -> None:
    """Prices with no common step are divided between points; the same ones on a grid of their own are exact."""
    exact = compose(
        [Price("laplace", Fraction(1, 10), times=20), Price("laplace", Fraction(1, 15), times=20)], delta=1e-6
    )
    other = compose(
        [Price("laplace", Fraction(1, 10), times=20), Price("laplace", Fraction(10**12 + 1, 15 * 10**12), times=20)],
        delta=1e-6,
    )
    assert exact <= other <= exact * (1 + 1e-5)


@pytest.mark.parametrize("law", ["laplace", "exponential", "gaussian", "zcdp", "randomised_response"])
def test_laws_on_a_grid_keep_both_weights(law: str) -> None:
    """Σ w = 1 and Σ w e^(-loss) = 1: the second output has a law too."""
    amount = {"rho": Fraction(1, 9)} if law in ("gaussian", "zcdp") else {"epsilon": Fraction(7, 9)}
    found = loss_law(Price(law, **amount, values=5 if law == "randomised_response" else 2), Fraction(1, 1000))
    losses = (found.low + np.arange(len(found.weights))) / 1000
    assert (found.weights >= 0).all()
    assert found.weights.sum() + found.infinite == pytest.approx(1, abs=1e-9)
    assert (found.weights * np.exp(-losses)).sum() == pytest.approx(1, abs=1e-9)


def test_rounding_losses_down_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: weights between two points all go to the lower one."""
    from discreet.accounts import laws

    def down(places: np.ndarray, weights: np.ndarray, step: float) -> tuple[int, np.ndarray]:
        return laws._laid(np.floor(places).astype(np.int64), weights)

    prices = [Price("laplace", Fraction(20_001_234_567_891, 10**15), times=100), Price("laplace", Fraction(1, 1013))]
    honest = compose(prices, delta=1e-6)
    assert compose([Price("laplace", 0.02, times=100)], delta=1e-6) < honest
    monkeypatch.setattr(laws, "_divided", down)
    assert compose(prices, delta=1e-6) < compose([Price("laplace", 0.02, times=100)], delta=1e-6)


def test_what_is_shown_says_on_which_condition() -> None:
    shown = in_words([Price("laplace", 0.02, times=100)], 1e-6)
    assert composition.CONDITION in shown
    assert "composed by privacy loss distributions" in shown
    assert "zCDP" not in shown  # only the smallest bound is shown
    assert "composed by adding up" in in_words([Price("laplace", 0.02)], 1e-6)


def test_prices_are_refused_by_name() -> None:
    with pytest.raises(InvalidArgument, match="rho must be left out for the law 'laplace'"):
        Price("laplace", 0.1, rho=0.1)
    with pytest.raises(InvalidArgument, match="epsilon must be left out for the law 'zcdp'"):
        Price("zcdp", 0.1)
    with pytest.raises(InvalidArgument, match="delta must be 0 for the law 'laplace'"):
        Price("laplace", 0.1, delta=1e-6)
    with pytest.raises(InvalidArgument, match="law must be one of"):
        Price("cauchy", 0.1)
    with pytest.raises(InvalidArgument, match="delta must be given, or epsilon"):
        compose([], delta=0.1, epsilon=1)
    for price in (Price("pure", 0.5, delta=1e-6, times=3), Price("randomised_response", 1, values=9)):
        assert _price(price.to_dict()) == price


def test_an_account_says_what_its_releases_cost_together(tmp_path: Path) -> None:
    account = dc.Account.create(tmp_path / "a", dataset="a", epsilon=10, delta=1e-5)
    assert account.together() == 0
    for _ in range(20):
        account.spend("median", 0.1, law="exponential")
    for _ in range(20):
        account.spend("count", 0.1, law="laplace")
    bought = [Price("exponential", Fraction(1, 10), times=20), Price("laplace", Fraction(1, 10), times=20)]
    assert account.together(1e-6) == compose(bought, delta=1e-6) < 4
    assert account.together() == compose(bought, delta=1e-5)
    assert account.together(1e-6, neighbours="replace") == compose(bought, delta=1e-6, neighbours="replace")
    # Several choices, one after the other, have no range in common: only their price is known.
    account.spend("quantiles", 0.1)
    account.spend("joint quantiles", 0.1, law="exponential")
    account.spend("names", 1, delta=1e-5)
    account.reserve("lost", epsilon=2)
    assert [p.law for p in account.prices[-4:]] == ["pure", "exponential", "pure", "pure"]
    assert account.together() == account.spent  # all of δ is spent: adding up is what remains
    assert account.together(1e-4) < account.spent


def test_a_lost_reservation_in_rho_is_one_of_which_only_rho_is_known(tmp_path: Path) -> None:
    account = dc.Account.create(tmp_path / "a", dataset="a", rho=1, delta=1e-6)
    account.reserve("lost", rho=0.1)
    account.spend("count", 0.5)
    assert account.prices == [Price("zcdp", rho=0.1), Price("pure", 0.5)]
    assert account.together() == compose(account.prices, delta=1e-6)


def test_random_short_lists_are_what_enumerating_their_outcomes_gives() -> None:
    rng = np.random.default_rng(7)
    for _ in range(12):
        amounts = [
            Fraction(int(n), int(d)) for n, d in zip(rng.integers(1, 99, 6), rng.integers(30, 300, 6), strict=True)
        ]
        losses, chances = np.zeros(1), np.ones(1)
        for amount in map(float, amounts):
            losses = np.concatenate([losses + amount, losses - amount])
            chances = np.concatenate([chances / (1 + math.exp(-amount)), chances / (1 + math.exp(amount))])
        prices = [Price("laplace", amount) for amount in amounts]
        for share in (0.0, 0.2, 0.6, 0.95):
            at = share * float(sum(amounts))
            exact = float((chances * np.maximum(0, -np.expm1(at - losses))).sum())
            found = compose(prices, epsilon=at)
            assert exact * (1 - 1e-12) <= found <= exact * (1 + 2e-3) + 1e-12


def test_very_large_and_very_small_prices_have_a_sum_too() -> None:
    large = [Price("laplace", 18.7, times=3), Price("zcdp", rho=0.01)]
    assert 56.1 < compose(large, delta=1e-20) < 57.4
    assert 1e8 < compose([Price("zcdp", rho=0.3, times=10**9)], delta=1e-6) < 4e8
    assert compose([Price("exponential", 2, times=10**9)], delta=1e-6) <= 2e9
    for law in ("laplace", "exponential", "zcdp", "gaussian"):
        tiny = {"rho" if law in ("zcdp", "gaussian") else "epsilon": 1e-300}
        assert compose([Price(law, **tiny, times=10**9), Price("laplace", 0.1)], delta=1e-9) <= 0.1001
        assert compose([Price(law, **tiny)], epsilon=0) <= 1e-9
    assert compose([Price("laplace", 1, times=10**9), Price("pure", 1, times=10**9)], delta=1e-6) <= 2e9
    # Many values, far apart prices: nothing but rounding lies below the sum.
    few = [Price("randomised_response", Fraction(741, 10**42), times=1000, values=10**9), Price("pure", 3.92, times=3)]
    assert compose(few, delta=1e-20) <= 11.77


def test_only_counts_that_a_row_moves_by_one_are_taken_as_such(tmp_path: Path) -> None:
    """A sum that a row moves by 64, of the same ρ, loses more at ε = 2 than a count: as one it would be too cheap."""
    rho, shift, epsilon = 2, 64, 2.0
    z = np.arange(-1500, 1501)
    law = np.exp(-(z**2) * rho / shift**2)
    law /= law.sum()
    p, q = np.append(np.zeros(shift), law), np.append(law, np.zeros(shift))
    exact = np.maximum(p - math.exp(epsilon) * q, 0).sum()
    assert (
        compose([Price("gaussian", rho=rho)], epsilon=epsilon)
        < exact
        < compose([Price("zcdp", rho=rho)], epsilon=epsilon)
    )
    rows = np.random.default_rng(0).random((200, 1))
    account = dc.Account.create(tmp_path / "a", dataset="a", rho=9, delta=1e-6)
    asked = {"rho": 0.1, "delta": 1e-6, "domain": dc.Domain({"x": (0, 1)}), "ledger": account}
    dc.GridSynopsis(epsilon=None, rule=3, **asked).fit(rows)
    assert {p.law for p in account.prices} == {"gaussian"}
    dc.DPLloyd(n_clusters=2, epsilon=None, **asked).fit(rows)  # sums of coordinates
    assert account.prices[-1].law == "zcdp"
    unit = dc.Person("user", rows=2)
    account = dc.Account.create(tmp_path / "b", dataset="b", unit=unit, rho=9, delta=1e-6)
    domain = dc.Domain({"user": {"role": "person"}, "x": (0, 1)}, unit=unit)
    people = {"user": np.arange(200) // 2, "x": rows[:, 0]}
    dc.GridSynopsis(epsilon=None, rule=3, **{**asked, "domain": domain, "ledger": account}).fit(pa.table(people))
    assert {p.law for p in account.prices} == {"zcdp"}  # a person may move a count by two
