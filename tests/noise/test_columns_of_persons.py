"""Quantiles and bounds of a column promise to persons: at most so many values of each are used, at ε/rows per value."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import mechanisms, noise
from discreet.errors import InvalidArgument
from discreet.noise.choice import quantiles
from discreet.noise.choice.persons import at_most
from discreet.noise.public import PublicRandomness


def kept(values: Any, persons: Any, rows: int, seed: int) -> Counter[float]:
    return Counter(at_most(np.asarray(values, float), persons, rows, PublicRandomness(seed)).tolist())


def test_a_person_adds_at_most_their_rows_and_changes_nothing_else() -> None:
    rng = np.random.default_rng(0)
    for seed in range(200):
        n = int(rng.integers(0, 12))
        values, persons = rng.integers(0, 3, n).tolist(), rng.choice(["a", "b", "c"], n).tolist()
        before = kept(values, persons, 2, seed)
        after = kept([*[7.0] * 5, 8.0, *values], [*["new"] * 6, *persons], 2, seed)
        assert not before - after
        assert (after - before).total() == 2
        order = rng.permutation(n)
        assert kept(np.array(values)[order], np.array(persons, object)[order], 2, seed) == before


def test_an_odd_value_is_kept_as_often_as_any_other() -> None:
    """Of 4,000 persons; a count further off comes up in one of 10,000 seeds."""
    people = np.repeat(np.arange(4000), 21)
    found = kept(np.tile([1.0] * 20 + [2.0], 4000), people, 3, 5)
    assert found.total() == 12_000
    assert abs(found[2.0] - 4000 * 3 / 21) < 4 * np.sqrt(4000 * 3 / 21)


def test_values_of_no_one_and_missing_values_are_left_out() -> None:
    assert kept([1, 2, 3, np.nan], ["a", None, "b", "b"], 5, 1) == Counter([1.0, 3.0])


@pytest.mark.parametrize("rows", [1, 5])
def test_the_price_per_value_is_a_share_and_the_ledger_is_charged_for_a_person(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float] = []
    cuts, laplace = quantiles.choose_cuts, noise.discrete_laplace
    monkeypatch.setattr(quantiles, "choose_cuts", lambda *a, **k: seen.append(float(k["epsilon"])) or cuts(*a, **k))
    monkeypatch.setattr(noise, "discrete_laplace", lambda s, *k: seen.append(float(1 / s)) or laplace(s, *k))
    ledger = dc.Ledger(epsilon=1)
    people = ["ann"] * 50 + ["bob"] * 50
    more: dict[str, Any] = {"persons": people, "rows": rows, "rng": 1}
    noise.quantiles(np.arange(100.0), [0.5], epsilon=1.0, low=0, high=100, **more)
    mechanisms.private_bounds(np.arange(100.0), epsilon=1.0, ledger=ledger, **more)
    assert seen == pytest.approx([1 / rows, 1 / rows])
    assert ledger.remaining == 0


def test_an_account_of_rows_is_not_charged_for_persons(tmp_path: Any) -> None:
    account = dc.Account.create(tmp_path / "a.account", dataset="d", epsilon=3)
    with pytest.raises(dc.errors.DiscreetError):
        mechanisms.private_bounds([1.0, 2.0], epsilon=1.0, ledger=account, persons=["a", "b"], rows=2)
    assert account.remaining == 3


def test_one_without_the_other_is_refused() -> None:
    for given in ({"persons": ["a"]}, {"rows": 2}, {"persons": ["a", "b"], "rows": 2}, {"persons": ["a"], "rows": 0}):
        with pytest.raises(InvalidArgument):
            noise.quantiles([1.0], [0.5], epsilon=1.0, low=0, high=2, **given)
        with pytest.raises(InvalidArgument):
            mechanisms.private_bounds([1.0], epsilon=1.0, **given)


def test_quantiles_follow_persons_and_not_rows() -> None:
    """One person's thousand values do not move the median of a thousand persons."""
    values = np.concatenate([np.full(1000, 9.0), np.linspace(1, 2, 1000)])
    people = ["heavy"] * 1000 + [f"p{i}" for i in range(1000)]
    found = noise.quantiles(values, [0.5], epsilon=5.0, low=0, high=10, persons=people, rows=1, rng=3)
    assert found[0] == pytest.approx(1.5, abs=0.05)


def test_which_values_of_a_person_are_kept_is_drawn_anew() -> None:
    found = {tuple(sorted(kept(range(8), ["ann"] * 8, 2, seed))) for seed in range(40)}
    assert len(found) > 15  # of 28 pairs; a known key would always keep the same one
