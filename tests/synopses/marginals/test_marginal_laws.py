"""Marginal synopses: the law of the whole pipeline by enumeration, and sensitivities of every draw on small tables.

Nothing but what is drawn may depend on rows. So a pipeline whose outputs are held fixed must ask for the same draws,
with the same widths, whatever the rows are; and what it asks about may differ between neighbours by as much as was paid
for, all draws taken together.
"""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import noise
from discreet.core.budget.prices import Rho
from discreet.engines.passes.marginals import AxisGrids
from discreet.mechanisms import Gate, Noisy
from discreet.synopses.marginals import bins, estimator, mixture, release
from enumeration import worst_loss
from gates import gate_of
from told_noise import told

DOMAIN = dc.Domain({"a": {"categories": [0, 1]}, "b": [7]})
RHO = Fraction(1, 2)
WIDE = dc.Domain({"a": {"categories": [0, 1]}, "b": [0, 1, 2], "c": dc.Integer(0, 1), "d": (0, 1)})
#: A column that follows from another one, and combinations that cannot occur.
TOLD = {"functions": {"e": {"b": {0: 5, 1: 6, 2: 6}}}, "impossible": [{"a": 1, "b": 2}, {"c": 1, "d": (0.3, 0.5)}]}
FACTS = dc.Domain({**WIDE.to_dict(), "e": dc.Integer(5, 6)}, **TOLD)


@pytest.fixture
def no_climb(monkeypatch):
    """The model is post-processing; without it, and with 64 fine cells in two levels, a fit takes milliseconds."""
    monkeypatch.setattr(bins, "FINEST", 64)
    monkeypatch.setattr(bins, "FLAT", 16)
    monkeypatch.setattr(mixture.Mixture, "fit", lambda *_: None)
    monkeypatch.setattr(mixture, "COMPONENTS", 4)
    monkeypatch.setattr(mixture, "FEWEST_COMPONENTS", 4)
    monkeypatch.setattr(release, "draw", lambda model, n, *_: np.zeros((len(model.sizes), n), np.int16))
    monkeypatch.setattr(release, "FEWEST", 4)


@pytest.fixture
def one_choice(monkeypatch, no_climb):
    """Choose pairs of columns once: every choice multiplies the outcomes to enumerate."""
    monkeypatch.setattr(release, "ROUNDS", (Fraction(1),))


def fit_pure(X: Any) -> str:
    rows = np.column_stack([X[:, 0], np.full(len(X), 7.0)])
    return dc.MarginalSynopsis(2, DOMAIN, random_state=0).fit(rows).synopsis_.digest


#: Draws of a run: columns a and b, scores, counts. A row may raise or lower a score.
SCORES = {2}


@pytest.mark.parametrize("rows", [[], pytest.param([0, 1], marks=pytest.mark.slow)], ids=["empty", "two rows"])
def test_the_whole_pipeline_by_enumeration(monkeypatch, one_choice, rows):
    """Columns, scores, choice, counts: the worst loss of any outcome is ε, and it is reached."""
    assert worst_loss(fit_pure, rows, 0, monkeypatch, either=SCORES) == pytest.approx(2.0, abs=1e-9)


def test_scores_without_noise_are_caught(monkeypatch, one_choice):
    def bare(self: Gate, label: str, scores: Any, price: Any, moves: Any) -> Noisy:
        """Charge and state the noise of scores, and draw none."""
        line = self.hold(label, price, "sequential")
        line.drawing(line.law(moves).draw(1, len(scores)))
        return Noisy(scores, line.law(moves))

    monkeypatch.setattr(Gate, "numbers", bare)
    assert worst_loss(fit_pure, [0, 1], 0, monkeypatch, either=SCORES) == math.inf


FEW = dc.Domain(
    {"a": {"categories": [0, 1]}, "b": [7], "c": {"categories": [8, 9]}},
    functions={"c": {"a": {0: 8, 1: 9}}},
    impossible=[{"a": 1, "b": 7}],
)


def fit_facts(X: Any) -> str:
    """The column that follows from the first says what it likes; rows with a 1 are declared impossible."""
    rows = np.column_stack([X[:, 0], np.full(len(X), 7.0), np.where(X[:, 0] == 0, 9.0, np.nan)])
    return dc.MarginalSynopsis(2, FEW, random_state=0).fit(rows).synopsis_.digest


@pytest.fixture
def one_round(monkeypatch, one_choice):
    # What is known to be empty is set to zero behind the noise, which is post-processing. Here it is left as drawn, so
    # that there is one way to every outcome.
    monkeypatch.setattr(release, "no_rows", lambda marginal, _: np.zeros(marginal.n_cells, bool))


@pytest.mark.slow
@pytest.mark.parametrize("rows", [[], [1], [0, 1]], ids=str)
def test_facts_in_the_whole_pipeline_by_enumeration(monkeypatch, one_round, rows):
    """The worst loss of any outcome is ε for a row that can occur, and nothing for one that cannot."""
    assert worst_loss(fit_facts, rows, 0, monkeypatch, either=SCORES) == pytest.approx(2.0, abs=1e-9)
    assert worst_loss(fit_facts, rows, 1, monkeypatch, either=SCORES) == 0.0


@pytest.mark.slow
def test_a_table_dropped_for_one_impossible_row_is_caught(monkeypatch, one_round):
    kept = AxisGrids.codes

    def all_or_nothing(self: AxisGrids, columns: Any) -> Any:
        found = kept(self, columns)
        return found if found.shape[1] == len(columns[0]) else found[:, :0]

    monkeypatch.setattr(AxisGrids, "codes", all_or_nothing)
    assert worst_loss(fit_facts, [0, 0], 1, monkeypatch, either=SCORES) > 2.5


class Record:
    """Takes down what is asked of the rows and the law of its noise; the answers have nothing to do with the rows."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, Any, float]] = []
        for law in ("discrete_laplace", "discrete_gaussian"):
            patch.setattr(noise, law, functools.partial(self.draw, law))
        patch.setattr(noise, "exponential", self.choose)

    def draw(self, law: str, width: Any, size: Any, _: Any) -> Any:
        def answer(values: Any) -> Any:
            self.asked.append((law, values.copy(), float(width)))
            return np.random.default_rng(len(self.asked)).integers(0, 40, len(values))

        return told(size, answer)

    def choose(self, scores: Any, *, epsilon: Any, span: Any, counts: Any, rng: Any) -> int:
        assert counts is None
        self.asked.append(("choice", scores.copy(), float(span / epsilon)))
        return int(np.random.default_rng(len(self.asked)).integers(len(scores)))


def asked_of(rows: Any, patch: pytest.MonkeyPatch, **settings: Any) -> list[tuple[str, Any, float]]:
    record = Record(patch)
    budget = {"random_state": 0} if "epsilon" in settings else {"rho": RHO, "delta": 1e-6, "random_state": 0}
    released = dc.MarginalSynopsis(**{"domain": WIDE, **budget, **settings}).fit(rows).synopsis_.digest
    # The answers were held fixed, so what is published may not depend on the rows either.
    return [*record.asked, (released, np.zeros(0), 1.0)]


def paid(one: list[Any], other: list[Any], *, pure: bool = False) -> float:
    """Return the ρ (or ε) by which two tables differ, all draws together; infinite if anything else differs.

    A choice costs by the range over which scores move: that is its ε, and ε²/8 its ρ.
    """
    if [(label, v, len(x)) for label, x, v in one] != [(label, v, len(x)) for label, x, v in other]:
        return math.inf
    whole = 0.0
    for (label, x, width), (_, y, _) in zip(one, other, strict=True):
        if label == "choice":
            epsilon = float(np.ptp(x - y)) / width
            whole += epsilon if pure else epsilon**2 / 8
        else:
            whole += float(np.abs(x - y).sum()) / width if pure else float(((x - y) ** 2).sum()) / (2 * width**2)
    return whole


ROWS = list(itertools.product([0.0, 1.0], [0.0, 2.0], [0.0, 1.0], [0.0, 0.31, 1.0]))


PURE = {"epsilon": 0.5}


#: Whatever differs in what is bought is tried always; the rest of the table takes ten seconds.
@pytest.mark.parametrize(
    "settings",
    [
        {"target": "c"},
        {**PURE, "workload": "triples"},
        *(pytest.param(more, marks=pytest.mark.slow) for more in ({}, {"workload": "triples"}, PURE)),
    ],
    ids=str,
)
@pytest.mark.parametrize("one_by_one", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["scores", "choices"])
@pytest.mark.unmetered
def test_neighbours_differ_by_what_was_paid(monkeypatch, no_climb, settings, one_by_one):
    """One row against none, two against one, one more among many: at most the budget, and some pair reaches it.

    Among many equal rows another one raises some scores and lowers others: what a choice may cost at most.
    """
    monkeypatch.setattr(release.choice, "better_one_by_one", lambda *_: one_by_one)
    monkeypatch.setattr(release, "affordable", lambda *_: 2)
    worst = 0.0
    for base, more in (([], ROWS[::5]), (ROWS[:1], ROWS[::5]), (ROWS[:1] * 2000, ROWS)):
        first = asked_of(np.reshape(base, (-1, 4)), monkeypatch, **settings)
        for row in more:
            then = asked_of(np.array([*base, row]), monkeypatch, **settings)
            worst = max(worst, paid(then, first, pure="epsilon" in settings))
    assert worst <= 0.5 * (1 + 1e-9)
    assert worst > (0.4 if one_by_one else 0.45)  # nothing was paid for in vain


@pytest.mark.parametrize("settings", [{}, {**PURE, "workload": "triples"}], ids=str)
@pytest.mark.unmetered
def test_neighbours_under_facts_differ_by_what_was_paid(monkeypatch, no_climb, settings):
    """Rows of all kinds, impossible ones among them; no one looks at the column that follows from another one."""
    settings = {"domain": FACTS, **settings}
    said = [[5.0], [6.0], [np.nan], [1e9]]
    rows = [[*row, *said[i % 4]] for i, row in enumerate(ROWS)]
    worst, nothing = 0.0, 0
    for base in ([], rows[:1] * 2000):
        first = asked_of(np.reshape(base, (-1, 5)), monkeypatch, **settings)
        for row in rows[::3]:
            then = asked_of(np.array([*base, row]), monkeypatch, **settings)
            loss = paid(then, first, pure="epsilon" in settings)
            broken = (row[0], row[1]) == (1, 2) or (row[2] == 1 and 0.3 <= row[3] < 0.5)
            assert not broken or loss == 0
            worst, nothing = max(worst, loss), nothing + broken
    assert nothing >= 4
    assert 0.4 < worst <= 0.5 * (1 + 1e-9)


PERSONS = dc.Domain({"who": {"role": "person"}, **WIDE.to_dict()}, unit=dc.Person("who", rows=3))


@pytest.mark.parametrize("settings", [{}, PURE], ids=str)
@pytest.mark.unmetered
def test_persons_differ_by_what_was_paid(monkeypatch, no_climb, settings):
    """A person with as many rows as are used, or with forty, equal or not, before or behind a crowd."""
    pure = "epsilon" in settings
    settings = {"domain": PERSONS, **settings}
    crowd = np.array([[i // 5, *ROWS[7 * i % len(ROWS)]] for i in range(40)])
    worst = 0.0
    for base in (np.zeros((0, 5)), crowd):
        first = asked_of(base, monkeypatch, **settings)
        for rows in (ROWS[-1:] * 3, ROWS[-1:] * 40, ROWS[:2]):
            canary = np.array([[99.0, *row] for row in rows])
            for table in ([canary, base], [base, canary]):
                worst = max(worst, paid(asked_of(np.vstack(table), monkeypatch, **settings), first, pure=pure))
    assert 0.45 < worst <= 0.5 * (1 + 1e-9)


@pytest.mark.unmetered
def test_a_release_that_looks_at_rows_behind_the_noise_is_caught(monkeypatch, no_climb):
    """All draws are as they should be, and what is published tells the number of rows."""
    kept = estimator.publish

    def asked(rows: Any) -> list[Any]:
        def telling(found: Any, *more: Any) -> Any:
            found.total = float(len(rows))
            return kept(found, *more)

        monkeypatch.setattr(estimator, "publish", telling)
        return asked_of(rows, monkeypatch)

    assert paid(asked(np.array(ROWS[:1])), asked(np.array(ROWS[:2]))) == math.inf


@pytest.mark.unmetered
def test_bins_read_off_the_rows_are_caught(monkeypatch, no_climb):
    kept = release.make_bins
    tables = [np.array(ROWS[:1]), np.array(ROWS[:2])]

    def asked(rows: Any) -> list[Any]:
        def peeking(column: Any, noisy: Any, *spread: Any) -> Any:
            return kept(column, noisy + 10**4 * len(rows) * (np.arange(len(noisy)) % (3 * len(rows)) == 0), *spread)

        monkeypatch.setattr(release, "make_bins", peeking)
        return asked_of(rows, monkeypatch)

    assert paid(*map(asked, tables)) == math.inf


def test_scores_move_by_at_most_one():
    """All tables of up to three rows on two binary columns, against every model on a coarse lattice."""
    from discreet.synopses.marginals.choice import distances

    for expected in itertools.product([0.0, 0.4, 1.7], repeat=4):
        for rows in range(3):
            for cells in itertools.combinations_with_replacement(range(4), rows):
                table = np.bincount(cells, minlength=4) if cells else np.zeros(4, np.int64)
                now = distances([table], [np.array(expected)])[0]
                for more in range(4):
                    then = distances([table + (np.arange(4) == more)], [np.array(expected)])[0]
                    assert abs(then - now) == 1


@pytest.mark.usefixtures("few_steps")
def test_the_ledger_adds_up_in_both_currencies():
    X = np.random.default_rng(0).random((300, 3))
    pure = dc.MarginalSynopsis(0.7, (0, 1), random_state=1).fit(X).guarantee_
    assert pure.spent.exact == Fraction(7, 10)
    relaxed = dc.MarginalSynopsis(0.7, (0, 1), delta=1e-6, random_state=1).fit(X).guarantee_
    assert 0.6999 < relaxed.epsilon <= 0.7
    concentrated = dc.MarginalSynopsis(domain=(0, 1), rho=0.125, delta=1e-6, random_state=1).fit(X).guarantee_
    assert concentrated.rho == 0.125


def test_a_choice_in_rho_costs_its_rho_and_is_drawn_for_what_that_pays(monkeypatch):
    drawn = []
    real = noise.exponential

    def noted(*given, epsilon, **more):
        drawn.append(epsilon)
        return real(*given, epsilon=epsilon, **more)

    monkeypatch.setattr(noise, "exponential", noted)
    gate = gate_of(Rho(1), 0)
    gate.choose("a choice", np.array([1, 5]), Rho(Fraction(1, 8)), 2)
    assert gate.left == Rho(Fraction(7, 8))
    assert Fraction(999, 1000) < drawn[0] ** 2 <= 1
