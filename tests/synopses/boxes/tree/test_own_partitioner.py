"""A partitioner or budget rule of one's own: sees no rows, pays for what it buys, and is audited like ours."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

import discreet as dc
from discreet.errors import BudgetExceeded, InvalidArgument
from discreet.synopses import Boxes, Cuts, OwnBudget, OwnPartitioner

ROWS = np.random.default_rng(0).uniform(0, 1, (600, 2)) ** 2
BOX = dc.Domain.box([0, 0], [1, 1])


class Median(OwnPartitioner):
    """Medians along the widest axis, as "median" has them without private spread."""

    paid = True

    def __init__(self, times: float = 1.0) -> None:
        self.times = times

    def cut(self, boxes, offers):
        price = offers.epsilon if self.times == 1 else offers.epsilon * Fraction(self.times)
        return offers.quantiles(boxes.widths.argmax(axis=1), 1, price)


class Heavier(OwnPartitioner):
    """Cuts where the noisy halves differ most: buys counts of both axes, each with half of the price."""

    paid = True

    def cut(self, boxes, offers):
        half = offers.epsilon / 2
        halves = [offers.counts(np.full(len(boxes.depth), j), 2, half) for j in range(2)]
        apart = np.stack([np.abs(h[:, 0] - h[:, 1]) for h in halves], axis=1)
        return offers.middles(
            np.where((boxes.widths > 1).all(axis=1), apart.argmax(axis=1), boxes.widths.argmax(axis=1))
        )


class Wrong(OwnPartitioner):
    def __init__(self, place: int) -> None:
        self.place = place

    def cut(self, boxes, offers):
        n = len(boxes.depth)
        return Cuts(np.zeros(n, int), np.full(n, self.place), np.ones(n, int))


def tree(partitioner, **more):
    settings = {"max_depth": 3, "bits": 6, "n_rows": 600, "random_state": 0} | more
    return dc.TreeSynopsis(1.0, BOX, partitioner, **settings)


@pytest.mark.parametrize("own", [Median(), Heavier()], ids=["quantiles", "counts"])
def test_an_own_partitioner_spends_epsilon_exactly_and_names_itself(own):
    made = tree(own).fit(ROWS)
    assert made.guarantee_.epsilon == 1.0
    assert made.guarantee_.parameters["partitioner"] == type(own).__name__
    assert made.synopsis_.n_leaves > 1
    assert made.synopsis_.total == pytest.approx(600, abs=150)
    assert clone(made).fit(ROWS).synopsis_.digest == made.synopsis_.digest


def test_without_noise_bought_medians_halve_the_rows():
    s = dc.TreeSynopsis(math.inf, BOX, Median(), max_depth=1, random_state=0).fit(ROWS).synopsis_
    assert abs(int(s.weights[0]) - 300) <= 1


@pytest.mark.parametrize("own", [Median(1.25), Median(3)], ids=["a little", "much"])
def test_a_partitioner_that_would_overspend_is_refused_before_rows_are_read(own, monkeypatch):
    from discreet.engines.readers import RowCells

    asked = []
    count = RowCells.count
    monkeypatch.setattr(
        RowCells, "count", lambda self, m, **kw: asked.append(m.key_axis.max() >= 0) or count(self, m, **kw)
    )
    with pytest.raises(BudgetExceeded, match="quantiles"):
        tree(own).fit(ROWS)
    assert not any(asked), "rows were read along an axis although nobody could pay for it"


def test_buying_twice_what_is_there_once_is_refused():
    class Twice(Median):
        def cut(self, boxes, offers):
            offers.counts(np.zeros(len(boxes.depth), int), 2, offers.epsilon)
            return offers.quantiles(np.zeros(len(boxes.depth), int), 1, Fraction(1, 1000))

    with pytest.raises(BudgetExceeded):
        tree(Twice()).fit(ROWS)


def test_one_that_said_it_buys_nothing_can_buy_nothing():
    class Free(Median):
        paid = False

        def cut(self, boxes, offers):
            return offers.quantiles(np.zeros(len(boxes.depth), int), 1, Fraction(1, 100))

    with pytest.raises(BudgetExceeded, match="paid = True"):
        tree(Free()).fit(ROWS)


def test_it_is_shown_boxes_and_noisy_counts_only():
    seen = []

    class Watching(OwnPartitioner):
        def cut(self, boxes: Boxes, offers):
            seen.append(boxes)
            return offers.middles(boxes.widths.argmax(axis=1))

    made = tree(Watching(), test_from=1, threshold=0.0).fit(ROWS).synopsis_
    assert np.isnan(seen[0].estimate).all()
    released = made.tree.estimate[made.tree.depth == 1]
    assert set(seen[1].estimate) <= set(released)
    assert set(vars(seen[0])) == {"names", "cells", "lower", "upper", "depth", "estimate"}


class Middles(OwnPartitioner):
    """Halves of the widest axis; growth ends where the function given says so."""

    def __init__(self, rule=None) -> None:
        self.rule = rule

    def cut(self, boxes, offers):
        return offers.middles(boxes.widths.argmax(axis=1))

    def keep(self, boxes, passed):
        return passed if self.rule is None else self.rule(boxes, passed)


def lines(made):
    return [(line.label, Fraction(line.amount)) for top in made.guarantee_.ledger for _, line in top.walk()]


def test_an_own_stop_rule_by_public_boxes_ends_growth_at_untested_levels():
    """The left half stays whole, with all of ε for its count; the right one is cut to the depth of the tree."""
    made = tree(Middles(lambda boxes, passed: (boxes.depth == 0) | (boxes.lower[:, 0] > 0)), test_from=3).fit(ROWS)
    s = made.synopsis_
    left = s.upper[:, 0] <= 0.5
    assert left.sum() == 1
    assert (~left).sum() == 4
    assert made.guarantee_.epsilon == 1.0
    leaves = {label: price for label, price in lines(made) if label.startswith("counts")}
    assert set(leaves.values()) == {Fraction(1)}  # nothing was spent above
    assert set(s.variances) == {s.variances[0]}


def test_an_own_stop_rule_by_noisy_counts_overrules_the_threshold_and_pays_for_the_tests_only():
    seen = []

    def rule(boxes, passed):
        seen.append((boxes, passed))
        return boxes.estimate > 200

    made = tree(Middles(rule), test_from=0, threshold=0.0, random_state=5).fit(ROWS)
    table = made.synopsis_.tree
    cut = table.axis >= 0
    assert (table.estimate[cut] > 200).all()
    assert (table.estimate[~cut & (table.depth < 3)] <= 200).all()
    assert all((passed == (boxes.estimate > 0)).all() for boxes, passed in seen)
    assert set(vars(seen[0][0])) == {"names", "cells", "lower", "upper", "depth", "estimate"}
    assert made.guarantee_.epsilon == 1.0
    prices = lines(made)
    tests = [price for label, price in prices if label.startswith("tests")]
    for label, price in prices:
        if label.startswith("counts"):  # what the tests of its path have left
            depth = int(label.rsplit(" ", 1)[1])
            assert price == 1 - sum(tests[: depth + 1])


def test_a_rule_that_keeps_what_passed_changes_nothing_and_none_grows_beyond_the_memory():
    usual, own = (tree(p, max_depth=6, test_from=1).fit(ROWS).synopsis_ for p in (Middles(), Middles(lambda _, p: p)))
    assert (usual.weights == own.weights).all()
    everything = Middles(lambda boxes, passed: np.ones_like(passed))
    made = dc.TreeSynopsis(1.0, BOX, everything, max_depth=20, test_from=0, max_memory=1e-4, random_state=0).fit(ROWS)
    assert made.guarantee_.parameters["stopped_at"] < 20


@pytest.mark.parametrize("answer", [True, [True, False], np.array([1.0]), None], ids=repr)
def test_an_answer_that_is_not_one_truth_per_box_is_refused(answer):
    with pytest.raises(InvalidArgument, match="True or False for each of 1 boxes"):
        tree(Middles(lambda boxes, passed: answer)).fit(ROWS)


def test_a_rule_cannot_change_what_the_tree_noted():
    def scribble(boxes, passed):
        boxes.estimate[:], boxes.lower[:], passed[:] = 0, 99, False
        return np.ones_like(passed)

    plain, marred = (tree(Middles(rule), test_from=0, threshold=-1e9).fit(ROWS).synopsis_ for rule in (None, scribble))
    assert (plain.weights == marred.weights).all()
    assert (plain.lower == marred.lower).all()


@pytest.mark.parametrize("place", [0, -3, 64, 1000])
def test_cuts_outside_their_boxes_are_refused(place):
    with pytest.raises(InvalidArgument, match="inside their boxes"):
        tree(Wrong(place)).fit(ROWS)


@pytest.mark.slow
def test_an_audit_finds_no_more_than_the_ledger_says_and_catches_a_cheat():
    """False alarms: one in a hundred by the confidence; the runs are seeded."""
    line = dc.Domain.box([0], [1])
    data = np.array([[0.1], [0.2], [0.8], [0.9]])

    class Line(Median):
        pass

    class Cheat(Median):
        """Keeps a table of its own, which the contract forbids: what an audit is for."""

        rows = 0

        def cut(self, boxes, offers):
            place = 1 if self.rows == 4 else 3
            return Cuts(np.zeros(1, int), np.array([place]), np.ones(1, int))

    def runs(own):
        def mechanism(table, rng):
            own.rows = len(table)
            s = (
                dc.TreeSynopsis(
                    1.0, line, own, max_depth=1, bits=2, n_rows=4, test_from=1, shares=(0, 1, 1), random_state=rng
                )
                .fit(table)
                .synopsis_
            )
            return float(s.upper[0, 0] * 4)

        return dc.evaluation.audit(mechanism, data, data[:3], trials=150, confidence=0.99, random_state=0)

    honest, cheat = runs(Line()), runs(Cheat())
    assert honest.epsilon_lower <= 1.0
    assert cheat.epsilon_lower > 1.0


class RootFirst(OwnBudget):
    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def fractions(self, levels, fan_out):
        return [self.scale * 2.0 ** -(i + 1) for i in range(levels)]


def test_an_own_budget_rule_divides_the_splits():
    made = tree("median", budget=RootFirst(), axis="widest", test_from=3, shares=(0, 1, 1)).fit(ROWS)
    prices = [float(line.amount) for top in made.guarantee_.ledger for _, line in top.walk() if "splits" in line.label]
    assert prices == pytest.approx([1 / 4, 1 / 8, 1 / 16], rel=1e-6)
    assert made.guarantee_.epsilon == 1.0
    assert made.guarantee_.parameters["budget"] == "RootFirst"


@pytest.mark.parametrize("scale", [3.0, 0.0, -1.0, math.nan])
def test_a_rule_that_would_overspend_is_refused_before_rows_are_read(scale):
    with pytest.raises(InvalidArgument, match="add up to 1 at most"):
        tree("median", budget=RootFirst(scale)).fit(ROWS)


def test_a_method_that_returns_nothing_is_named():
    """A return that was forgotten."""

    class NoCuts(dc.synopses.OwnPartitioner):
        def cut(self, boxes, offers):
            assert isinstance(offers, dc.synopses.Offers)

    class NoFractions(dc.synopses.OwnBudget):
        def fractions(self, levels, fan_out):
            pass

    with pytest.raises(InvalidArgument, match="cut must be a method that returns Cuts, got 'NoneType'"):
        tree(NoCuts()).fit(ROWS)
    with pytest.raises(InvalidArgument, match="fractions must be a method that returns a list of numbers, got 'None"):
        tree("median", budget=NoFractions()).fit(ROWS)


def test_what_is_neither_a_name_nor_a_class_of_ours_is_refused():
    with pytest.raises(InvalidArgument, match="partitioner must be"):
        tree(object()).fit(ROWS)
    with pytest.raises(InvalidArgument, match="budget must be"):
        tree("median", budget=object()).fit(ROWS)
    with pytest.raises(InvalidArgument, match="axis must be"):
        tree("median", axis="cyclic").fit(ROWS)


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda boxes, offers: offers.counts(-1, 2, offers.epsilon), "axis"),
        (lambda boxes, offers: offers.counts(boxes.depth + 2, 2, offers.epsilon), "axis"),
        (lambda boxes, offers: offers.counts(0.5, 2, offers.epsilon), "axis"),
        (lambda boxes, offers: offers.counts([0, 0, 0, 0, 0], 2, offers.epsilon), "axis"),
        (lambda boxes, offers: offers.counts(0, 0, offers.epsilon), "parts"),
        (lambda boxes, offers: offers.quantiles(0, 2, offers.epsilon), "n_cuts"),
        (lambda boxes, offers: offers.middles("x"), "axis"),
    ],
)
def test_a_wrong_question_is_refused_by_name_before_it_is_charged(ask, named) -> None:
    class Wrong(OwnPartitioner):
        paid = True
        left = None

        def cut(self, boxes, offers):
            before = offers.epsilon
            try:
                return ask(boxes, offers)
            finally:
                Wrong.left = offers.epsilon == before

    rows = dc.datasets.s_like(1, random_state=0)
    with pytest.raises(InvalidArgument, match=f"^{named} must be"):
        dc.TreeSynopsis(1.0, rows.domain, Wrong(), max_depth=2, random_state=0).fit(rows.X)
    assert Wrong.left
