"""Memory of a fit, the seal that needs no copy, and small rules that were once broken."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import engines
from discreet.errors import BudgetExceeded, InvalidArgument, InvalidType, SchemaError
from discreet.synopses import BoxSynopsis, HiddenCells, Synopsis
from discreet.synopses.boxes.grid import estimator
from discreet.synopses.opening import open_release

# Memory


def stored(synopsis: Synopsis) -> int:
    tree = synopsis.tree
    parts = [getattr(synopsis, name) for name in ("lower", "upper", "points", "weights", "variances")]
    if tree is not None:
        parts += [getattr(tree, name) for name in ("parent", "depth", "leaf", "axis", "lower", "upper")]
        parts += [tree.estimate, tree.variance, tree.threshold]
    return sum(part.nbytes for part in parts)


def peak_of(work: Callable[[], Any]) -> tuple[Any, int]:
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("partitioner", ["uniform", "quantile"])
def test_a_fit_holds_its_rows_as_cells_and_its_result_and_little_more(partitioner):
    """It used to hold three times as much: joined payload, cells of rows kept to the end, boxes in several copies."""
    rng = np.random.default_rng(0)
    X = np.clip(np.repeat(rng.normal(0.5, 0.2, (100, 15)), 1000, axis=0) + rng.normal(0, 0.03, (100_000, 15)), 0, 1)
    model = dc.TreeSynopsis(2.0, (0, 1), partitioner, random_state=0)
    model.fit(X[:2000])  # compile
    model, peak = peak_of(lambda: model.fit(X))
    cells_of_rows = X.shape[0] * (X.shape[1] + 1) * 4
    assert stored(model.synopsis_) > cells_of_rows  # the result is large
    assert peak < 2 * (cells_of_rows + stored(model.synopsis_))
    again, peak = peak_of(lambda: model.synopsis_.replace(total=1.0))
    assert peak < 1.5 * stored(again)


def test_a_seal_does_not_depend_on_how_the_payload_is_cut():
    promise = dc.Guarantee("syntactic", parameters={"k": 10})
    numbers = np.arange(6.0)
    whole = promise.seal(b"ab" + numbers.tobytes())
    pieces: list[Any] = [b"a", bytearray(b"b"), memoryview(numbers)[:2], numbers[2:]]
    assert promise.seal(pieces) == promise.seal(iter(pieces)) == whole
    assert whole.verify(pieces)
    assert not whole.verify(pieces[:-1])
    assert promise.seal([]) == promise.seal(b"")
    for wrong in ("text", ["text"], 7, [numbers[::2]], [[1, 2]]):
        with pytest.raises(InvalidType, match="payload"):
            promise.seal(wrong)  # type: ignore[arg-type]


def test_the_seal_of_a_synopsis_is_that_of_the_first_file_of_its_format():
    """Files that were written must still verify, however the payload is laid out."""
    ledger = dc.Ledger(epsilon=1)
    ledger.spend("counts", 1, "parallel")
    promise = dc.Guarantee.from_ledger(ledger, model="central", domain=dc.Domain.box(0, 1), version="0.1.0")
    parts: dict[str, Any] = {"lower": [[0], [0.5]], "upper": [[0.5], [1]], "weights": [3, -1], "variances": [1.0, 2.0]}
    made = BoxSynopsis(dc.Domain.box(0, 1), guarantee=promise, **parts)
    assert made.digest == "sha256:4b46193e4cb53f318f40eb9186a2d95dee94366a91c820c96b10c5151914504e"
    flipped = {name: np.asfortranarray(np.array(value, float)) for name, value in parts.items() if name != "weights"}
    assert BoxSynopsis(dc.Domain.box(0, 1), guarantee=promise, weights=[3, -1], **flipped).digest == made.digest


@pytest.mark.parametrize("partitioner", ["binary", "median", "uniform", "density"])
def test_cells_of_the_finest_grid_do_not_overflow(partitioner):
    """Ends of boxes are 32-bit numbers: 2^30 cells and one for missing values, whose sum does not fit."""
    domain = dc.Domain({"x": {"bounds": [0, 1], "missing": "own"}, "y": {"bounds": [0, 1], "missing": "own"}})
    X = np.array([[0.999999, 0.75], [np.nan, 0.75], [0.999999, np.nan]] * 200)
    axis = "spread" if partitioner in ("binary", "median") else "auto"
    model = dc.TreeSynopsis(math.inf, domain, partitioner, bits=30, max_depth=4, test_from=2, axis=axis, random_state=0)
    s = model.fit(X).synopsis_
    assert s.weights.sum() == 600
    assert (np.isnan(s.lower) | ((s.lower >= 0) & (s.lower < s.upper) & (s.upper <= 1))).all()


# Leftovers


def test_a_member_of_a_parallel_group_cannot_come_again():
    """Two steps of one name on the same rows would cost as much as one."""
    ledger = dc.Ledger(epsilon=1)
    regions = ledger.parallel("by region")
    regions.spend("north", 0.5)
    for again in (
        lambda: regions.spend("north", 0.25),
        lambda: regions.spend(" north ", 0.25),
        lambda: regions.check("north", 0.25),
        lambda: regions.sequential("north"),
        lambda: regions.parallel("north"),
    ):
        with pytest.raises(InvalidArgument, match="new in the parallel group 'by region'"):
            again()
    assert ledger.spent.exact == Fraction(1, 2)
    regions.spend("south", 0.5)
    with pytest.raises(BudgetExceeded):
        regions.spend("east", 2)
    regions.spend("east", 0.75)  # what was refused left no name behind
    regions.check("west", 0.5)
    with regions.sequential("west") as west:
        west.spend("count", 0.25)
        west.spend("count", 0.25)  # these add up: nothing is hidden
    assert ledger.spent.exact == Fraction(3, 4)
    assert [line.label for line in ledger.lines[0].parts] == ["north", "south", "east", "west"]


def release(weights: list[int], hidden: HiddenCells | None = None, variance: float = 4.0) -> Synopsis:
    n = len(weights)
    edges = np.arange(n)[:, np.newaxis] / 8
    domain, total = dc.Domain.box(0, 1), None if hidden is None else 50.0
    parts = {"lower": edges, "upper": edges + 1 / 8, "weights": weights, "variances": [variance] * n}
    return BoxSynopsis(domain, guarantee=dc.Guarantee("central"), hidden=hidden, total=total, **parts)


@pytest.mark.parametrize(
    ("domain", "rule", "match"),
    [
        ((0, 1), 100, r"fewer than 2\*\*63 cells"),
        (dc.Domain.box([0] * 10, 1), 100, r"fewer than 2\*\*63 cells"),
        (dc.Domain.box([0] * 10, 1), [4] * 9, "one number or 10"),
        ({f"c{i}": list(range(100)) for i in range(10)}, "rugnik", r"fewer than 2\*\*63 cells"),
        ({f"c{i}": list(range(10)) for i in range(10)}, "adaptive", "rule must be another"),
    ],
)
def test_impossible_grids_are_refused_before_anything_is_bought(monkeypatch, domain, rule, match):
    def touched(*_: Any, **__: Any) -> None:
        raise AssertionError("rows were read or budget was spent")

    monkeypatch.setattr(engines.Source, "count", touched)
    monkeypatch.setattr(dc.Ledger, "spend", touched)
    with pytest.raises(InvalidArgument, match=match):
        dc.GridSynopsis(1.0, domain, rule).fit(np.zeros((2, 10)))


@pytest.mark.parametrize(("rule", "columns"), [("rugnik", 60), ("eugkm", 60), ("adaptive", 20), ("dpkfm", 26)])
def test_no_number_of_rows_makes_a_rule_ask_for_an_impossible_grid(rule, columns):
    """Cells for missing values multiply too."""
    domain = dc.Domain({f"x{i}": {"bounds": [0, 1], "missing": "own"} for i in range(columns)})
    settings = dc.GridSynopsis(rule=rule, max_memory=1000).settings()
    estimator.check_size(domain, settings)
    for n in (1, 10**6, 10**15):
        cells = engines.GridMap(domain, estimator._parts(domain, n, Fraction(1), settings)).n_cells
        assert cells <= (2**27 if settings.two_levels else 2**63 - 1)


@pytest.mark.parametrize("odd", [None, 7, "ab", 0.5, {}, np.float64(0.5)], ids=repr)
@pytest.mark.parametrize("domain", [dc.Domain.box(0, [1, 1]), {"a": (0, 1), "b": (0, 1)}, ([0, 0], [1, 1]), (0, 1)])
def test_the_first_row_of_a_list_may_be_as_odd_as_any(odd, domain):
    rows = [[0.1, 0.2], [0.8, 0.9]]
    wanted = dc.GridSynopsis(math.inf, domain, 2).fit(rows).synopsis_
    for X in ([odd, *rows], [*rows, odd], [odd, None, *rows]):
        model = dc.GridSynopsis(math.inf, domain, 2).fit(X)
        assert model.synopsis_ == wanted
        assert model.n_features_in_ == 2


def test_lists_without_a_single_row_of_values():
    domain = dc.Domain.box(0, [1, 1])
    assert dc.GridSynopsis(math.inf, domain, 2).fit([None]).synopsis_.weights.sum() == 0
    assert dc.TreeSynopsis(math.inf, domain, max_depth=2).fit([None, [3]]).synopsis_.weights.sum() == 0
    with pytest.raises(InvalidArgument, match="Reshape your data"):  # two scalars do not tell the number of columns
        dc.GridSynopsis(math.inf, (0, 1), 2).fit([1.0, 2.0])
    with pytest.raises(SchemaError, match="columns"):
        open_release(np.zeros((3, 2)), dc.Domain.box(0, [1, 1, 1]), 1.0, None)


def test_a_value_is_a_row_of_one_column():
    domain = {"age": (0, 1)}
    wanted = dc.GridSynopsis(math.inf, domain, 2).fit([[0.1], [0.9], [0.8]]).synopsis_
    assert dc.GridSynopsis(math.inf, domain, 2).fit([0.1, [0.9], "0.8", None, [1, 2]]).synopsis_ == wanted
