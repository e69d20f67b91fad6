"""A promise to one person holds, exactly: what a person can change in the bounded table, and what that is worth.

Enumeration runs the real `fit` with scripted noise (`scripted_noise`) on all small tables that differ in one person.
Two broken bounds, one row too many and a choice by place in the file, lose more than ε.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.core.columns.unit import Person
from discreet.engines.persons import bounded
from discreet.engines.persons.bounded import PersonTable
from discreet.synopses.opening import AUTO_ROWS, AUTO_SHARE, AUTO_SPAN, AUTO_WEIGHTS, bound_scores
from scripted_noise import worst_loss

ROWS = 2
DOMAIN = dc.Domain({"user": {"role": "person"}, "x": (0, 1)}, unit=Person("user", rows=ROWS))
AXES = DOMAIN.select(["x"])
LEFT, RIGHT = 0.2, 0.7


def person(name: int, values: tuple[float, ...]) -> list[list[float]]:
    return [[name, value] for value in values]


def kept(table: list[list[float]], seed: int, rows: int = ROWS, unit: Person | None = None) -> Counter[float]:
    key = np.random.default_rng(seed).integers(0, 2**64, 8, dtype=np.uint64)
    source = dc.engines.open(np.array(table, float).reshape(-1, 2), DOMAIN)
    people = PersonTable(source, unit or Person("user", rows=rows), DOMAIN, AXES, key)
    return Counter(x for batch in people.bounded(rows).batches(AXES) for x in batch[0].tolist())


def choices(most: int) -> list[tuple[float, ...]]:
    return [c for n in range(most + 1) for c in itertools.combinations_with_replacement((LEFT, RIGHT), n)]


@pytest.mark.parametrize("rows", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_a_person_adds_at_most_their_rows_and_changes_nothing_else(rows: int) -> None:
    for seed, (one, other) in enumerate(itertools.product(choices(3), repeat=2)):
        rest = person(1, one) + person(2, other)
        before = kept(rest, seed, rows)
        for new in ((LEFT,) * 5, (LEFT, RIGHT, RIGHT, RIGHT), (RIGHT,)):
            after = kept(person(3, new) + rest, seed, rows)
            assert not before - after  # no one lost a row
            assert (after - before).total() == min(rows, len(new))


def test_groups_are_bounded_too_and_leave_the_others_alone() -> None:
    domain = dc.Domain({"user": {"role": "person"}, "day": dc.Integer(1, 3), "x": (0, 1)})
    unit = Person("user", rows=3, group="day", per_group=1)
    rng = np.random.default_rng(3)
    for seed in range(30):
        key = rng.integers(0, 2**64, 8, dtype=np.uint64)
        table = np.column_stack([rng.integers(0, 4, 40), rng.integers(1, 4, 40), rng.random(40)])
        found = []
        for rows in (table, table[table[:, 0] != seed % 4]):
            people = PersonTable(dc.engines.open(rows, domain), unit, domain, domain.select(["day", "x"]), key)
            found.append(np.column_stack(next(people.bounded(3).batches(domain.select(["day", "x"])))).tolist())
        assert all(row in found[0] for row in found[1])
        assert len(found[0]) - len(found[1]) == len(np.unique(table[table[:, 0] == seed % 4, 1]))


def release(**settings: Any) -> Any:
    def fit(X: Any) -> str:
        kind = dc.GridSynopsis if "rule" in settings else dc.TreeSynopsis
        return str(kind(1, DOMAIN, n_rows=4, random_state=0, **settings).fit(X).synopsis_.digest)

    return fit


METHODS = {
    "grid": release(rule=2, leaf_means=False),
    "tree": release(partitioner="binary", max_depth=1, test_from=1),
}
TABLES = [
    ([], (LEFT, LEFT)),
    (person(1, (LEFT, RIGHT, RIGHT)), (LEFT, RIGHT)),
    (person(1, (LEFT, RIGHT, RIGHT)), (LEFT, LEFT, LEFT, LEFT)),
    (person(1, (LEFT, LEFT, RIGHT)) + person(2, (RIGHT,)), (RIGHT, RIGHT, RIGHT)),
    (person(1, (LEFT,)), (RIGHT,)),
]


def loss(method: str, rest: list[list[float]], new: tuple[float, ...], reach: int = ROWS) -> float:
    steps = tuple(range(-reach, reach + 1))
    return worst_loss(METHODS[method], rest, person(9, new), moves=lambda draw: steps)


@pytest.mark.parametrize("method", METHODS)
def test_the_loss_of_a_person_is_epsilon_and_never_more(method: str) -> None:
    found = [loss(method, rest, new) for rest, new in TABLES]
    assert max(found) <= 1 + 1e-9
    assert found[0] == pytest.approx(1)  # both rows in one cell use the whole budget
    assert found[-1] == pytest.approx(1 / ROWS)  # a person with one row is hidden better


@pytest.mark.parametrize("method", METHODS)
def test_one_row_too_many_loses_more_than_epsilon(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = bounded.Choice.keep
    monkeypatch.setattr(bounded.Choice, "keep", lambda self, e, limit, **more: keep(self, e, limit + 1, **more))
    assert loss(method, [], (LEFT, LEFT, LEFT), ROWS + 1) > 1.4


def by_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose rows by where they are in the table."""
    fill = bounded.kernels.fill_entries

    def placed(x: Any, words: Any, *more: Any) -> Any:
        fill(x, words, *more)
        return (np.arange(1, len(x) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(1)

    for loops in (bounded.kernels, bounded.plain):
        monkeypatch.setattr(loops, "fill_entries", placed)


@pytest.mark.slow
def test_a_choice_by_place_loses_more_than_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    by_place(monkeypatch)
    rest = person(1, (LEFT, RIGHT, LEFT, RIGHT, RIGHT, LEFT))
    found = max(loss("grid", rest, (x,) * n, 2 * ROWS) for n in (1, 2) for x in (LEFT, RIGHT))
    assert found > 1.4


def canary(limit: int, placed: bool = False, trials: int = 10_000) -> Any:
    """Audit a grid of one row per person with a canary who has many, claimed to be private at 1."""
    domain = DOMAIN.with_unit(Person("user", rows=1))

    def mechanism(rows: Any, rng: Any) -> Any:
        return dc.GridSynopsis(1.0, domain, 2, n_rows=4, leaf_means=False, random_state=rng).fit(rows).synopsis_.weights

    crowd = np.array(person(1, (LEFT, RIGHT)) if placed else [], float).reshape(-1, 2)
    more = np.vstack([np.array(person(9, (LEFT,) * (1 if placed else 40))), crowd])
    with pytest.MonkeyPatch.context() as patch:
        keep = bounded.Choice.keep
        patch.setattr(bounded.Choice, "keep", lambda self, e, n, **other: keep(self, e, n + limit - 1, **other))
        if placed:
            by_place(patch)
        return dc.evaluation.audit(mechanism, crowd, more, trials, epsilon=1.0, random_state=1, workers=1)


@pytest.mark.slow
def test_an_audit_with_canary_persons_finds_broken_bounds_and_no_other() -> None:
    """Ten thousand runs; one row too many is ε = 2, and a choice by place up to 3."""
    assert canary(1).passed
    assert not canary(2).passed
    assert not canary(1, placed=True).passed


# ---- groups in zCDP


@pytest.mark.parametrize(("rows", "per_group"), [(1, 1), (4, 2), (5, 2), (7, 3), (3, 5)])
def test_a_person_moves_cells_of_different_groups_by_no_more_than_is_said(rows: int, per_group: int) -> None:
    unit = Person("user", rows=rows, group="town", per_group=per_group)
    spread = itertools.product(range(per_group + 1), repeat=rows)
    assert max(sum(m * m for m in cells) for cells in spread if sum(cells) <= rows) == unit.l2_squared()
    assert unit.l2_squared(grouped=False) == rows**2


@pytest.mark.parametrize("apart", [True, False])
def test_gaussian_cells_that_keep_groups_apart_get_the_noise_that_groups_need(apart: bool) -> None:
    """σ² = L2²/(2ρ), with what is left of ρ for a person; where cells mix groups, L2 is the number of rows."""
    columns = {"town": ["a", "b", "c"] if apart else dc.Integer(1, 3), "x": (0, 1)}
    domain = dc.Domain(columns, unit=Person("user", rows=4, group="town", per_group=1))
    table = pd.DataFrame({"user": range(60), "town": ["a", "b", "c"] * 20 if apart else [1, 2, 3] * 20, "x": 0.5})
    grid = dc.GridSynopsis(None, domain, [3 if apart else 1, 2], rho=0.5, delta=1e-6, n_rows=60, leaf_means=False)
    made = grid.fit(table).synopsis_
    assert made.guarantee.rho == 0.5
    assert made.variances[0] == pytest.approx((4 if apart else 16) / (2 * 0.5), rel=1e-6)


# ---- uniform


def test_an_odd_row_among_a_hundred_equal_ones_is_kept_as_often_as_any_other() -> None:
    """Of 4,000 keys; with probability 3/101 each, a count further off than this comes up in one of 10,000 seeds."""
    rows, keys = 3, 4000
    table = person(1, (LEFT,) * 100 + (RIGHT,))
    people = np.repeat(np.arange(keys), len(table)).astype(float)
    many = np.column_stack([people, np.tile(np.array(table)[:, 1], keys)])
    found = kept(many.tolist(), 5, rows)[RIGHT]
    mean, spread = keys * rows / 101, math.sqrt(keys * rows / 101)
    assert abs(found - mean) < 4 * spread


def test_every_pair_of_different_rows_is_as_likely_as_any_other() -> None:
    """Chi-square of the 10 pairs that 2 of 5 rows make; beyond 33.7 (9 degrees) in one of 10,000 seeds."""
    keys, values = 4000, np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    table = np.column_stack([np.repeat(np.arange(keys), 5), np.tile(values, keys)]).astype(float)
    key = np.random.default_rng(8).integers(0, 2**64, 8, dtype=np.uint64)
    people = PersonTable(dc.engines.open(table, DOMAIN), Person("user", rows=2), DOMAIN, AXES, key)
    rows = np.sort(next(people.bounded(2).batches(AXES))[0].reshape(-1, 2), axis=1)  # a person's rows lie together
    pairs = Counter(map(tuple, rows.tolist()))
    assert len(pairs) == 10
    assert sum((n - keys / 10) ** 2 / (keys / 10) for n in pairs.values()) < 33.7


# ---- a bound that is bought


def test_a_private_bound_is_one_entry_per_person_and_charged() -> None:
    table = np.column_stack([np.repeat(np.arange(2000), 6), np.tile([LEFT, RIGHT], 6000)]).astype(float)
    made = dc.GridSynopsis(1, DOMAIN.with_unit(Person("user", rows="auto")), rule=2, random_state=1).fit(table)
    promise = made.guarantee_
    assert promise.ledger[0].label == "rows per person"
    assert promise.ledger[0].amount * 20 == 1
    assert promise.epsilon == 1
    assert promise.domain.unit.rows == 6
    assert promise.unit == "one person, with all their rows (at most 6 used)"


def test_the_loss_of_a_private_bound_is_its_price() -> None:
    """By the scores and weights of the exponential mechanism, over many ways to add a person to small crowds."""
    most, rng = AUTO_ROWS[-1] + 1, np.random.default_rng(0)

    def chances(histogram: Any) -> Any:
        weights = np.log(AUTO_WEIGHTS) + float(AUTO_SHARE) * bound_scores(histogram) / AUTO_SPAN
        return weights - np.logaddexp.reduce(weights)

    worst = 0.0
    for crowd in [np.zeros(0, int), *(rng.geometric(0.2, n) for n in (1, 4, 30, 300))]:
        before = np.bincount(np.minimum(crowd, most), minlength=most + 1)[1:]
        for rows in (1, 2, 7, 5000):
            more = before.copy()
            more[min(rows, most) - 1] += 1
            worst = max(worst, np.abs(chances(more) - chances(before)).max())
    assert 0.5 * AUTO_SHARE < worst <= AUTO_SHARE
