"""A synopsis answers questions, invents records, adds up with another, and shows when somebody changed it."""

from __future__ import annotations

import copy
import json
import math
import pickle
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import (
    InvalidArgument,
    InvalidType,
    MissingExtra,
    SchemaError,
)
from discreet.synopses import BoxSynopsis, Count, HiddenCells, TreeTable
from discreet.synopses import file as _file
from handmade_synopses import KINDS, NAN, PEOPLE, people, promise, small_tree, survivors, with_tree

# Questions


def test_counts_take_leaves_in_proportion_and_tell_the_noise() -> None:
    s = people()
    assert s.count() == Count(97.0, math.sqrt(12))
    half = s.count(age=(25, 75))
    assert (half.value, half.noise_error) == (30 + 20 - 1.5, math.sqrt(4 * (0.25 + 0.25 + 0.25)))
    assert half.std_error == math.hypot(half.noise_error, half.evenness_error or 0) > half.noise_error
    assert half.noise_alone() == Count(48.5, math.sqrt(3), None)
    assert s.count(sex=["f"]).noise_alone() == Count(50.0, math.sqrt(2), None)  # restricted: the missing are left out
    assert s.count(sex="f", age=(0, 50)).value == 30
    assert s.count({"sex": ["m", "f"]}).value == 100
    assert s.count({"age": (0, 50)}, sex=["m"]).value == 30
    assert s.count(dc.Box([0, 0], [50, 1])).value == 30
    assert s.count(dc.Box([-math.inf, -math.inf], [math.inf, math.inf])) == s.count()
    assert float(s.count(age=(200, 300))) == 0
    assert s.count(sex=[]).value == 0
    assert s.count(age=(0, 50)).to_dict() == {
        "value": 58.5,
        "std_error": pytest.approx(math.hypot(math.sqrt(5), s.count(age=(0, 50)).evenness_error or 0)),
        "noise_error": pytest.approx(math.sqrt(5)),
        "evenness_error": s.count(age=(0, 50)).evenness_error,
    }


@given(st.lists(st.floats(0, 100), min_size=1, max_size=5, unique=True))
@settings(max_examples=50, deadline=None)
def test_counts_of_parts_add_up_to_the_count_of_the_whole(cuts: list[float]) -> None:
    s = people()
    edges = [0.0, *sorted(cuts), 100.0]
    parts = [s.count(age=pair).value for pair in pairwise(edges)]
    assert sum(parts) == pytest.approx(s.count().value)


def test_a_leaf_without_width_is_in_or_out() -> None:
    s = BoxSynopsis(
        dc.Domain.box(0, 10),
        lower=[[4], [10]],
        upper=[[4], [10]],
        weights=[7, 5],
        variances=[1.0, 1.0],
        guarantee=promise(),
    )
    assert s.count(x0=(4, 5)).value == 7
    assert s.count(x0=(0, 4)).value == 0
    assert s.count(x0=(5, 10)).value == 5  # the end of the domain belongs to the last interval


@pytest.mark.parametrize(
    ("question", "error"),
    [
        ({"income": (0, 1)}, SchemaError),
        ({"age": 5}, InvalidType),
        ({"age": (50, 0)}, InvalidArgument),
        ({"age": (NAN, 1)}, InvalidArgument),
        ({"age": ("a", "b")}, InvalidType),
        ({"sex": ["x"]}, InvalidArgument),
        ({"sex": 1.5}, InvalidType),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(question: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        people().count(question)


def test_boxes_of_another_size_and_double_restrictions_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="2 columns"):
        people().count(dc.Box([0], [1]))
    with pytest.raises(InvalidType):
        people().count("age")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="once"):
        people().count({"age": (0, 1)}, age=(0, 1))


def test_marginals_are_counts_of_slabs() -> None:
    s = people()
    sex = s.marginal("sex")
    assert sex.categories == ("f", "m")
    assert sex.counts.tolist() == [50, 50]
    assert sex.missing == Count(-3, 2)
    age = s.marginal("age")
    assert age.edges is not None
    assert age.edges.tolist() == [0, 50, 100]
    assert age.counts.sum() == pytest.approx(97)
    for bins in (7, [0, 10, 100]):
        found = s.marginal("age", bins)
        assert found.edges is not None
        pairs = zip(found.edges[:-1], found.edges[1:], strict=True)
        answers = [s.count(age=(a, b)) for a, b in pairs]
        assert found.counts == pytest.approx([a.value for a in answers])
        assert found.std_errors == pytest.approx([a.std_error for a in answers])
    assert json.loads(json.dumps(age.to_dict()))["edges"] == [0, 50, 100]
    assert "2 bins" in repr(age)
    with pytest.raises(ValueError, match="read-only"):
        age.counts[0] = 1
    for bad in (0, "many", [5], [3, 1], [[1]], ["a", "b"]):
        with pytest.raises(InvalidArgument, match="bins"):
            s.marginal("age", bad)
    with pytest.raises(InvalidArgument, match="categories"):
        s.marginal("sex", 3)


def test_many_leaf_edges_become_equal_bins() -> None:
    cuts = np.linspace(0, 1, 1001)
    s = BoxSynopsis(
        dc.Domain.box(0, 1),
        lower=cuts[:-1, None],
        upper=cuts[1:, None],
        weights=np.ones(1000, dtype=int),
        variances=np.ones(1000),
        guarantee=promise(),
    )
    found = s.marginal("x0")
    assert len(found.counts) == 50
    assert found.counts == pytest.approx(np.full(50, 20.0))


# Synthetic records


def test_synthetic_records_follow_the_leaves() -> None:
    s = people(weights=[600, 300, 100])
    table = s.sample(20_000, rng=3)
    assert table.column_names == ["age", "sex"]
    age = table["age"].to_numpy()
    sex = table["sex"].to_pylist()
    absent = np.array([v is None for v in sex])
    # 20,000 draws: a share p is off by more than 5 sqrt(p (1 - p) / 20,000) < 0.018 with probability below 1e-6.
    assert absent.mean() == pytest.approx(0.1, abs=0.018)
    young = age[~absent] < 50
    assert young.mean() == pytest.approx(2 / 3, abs=0.018)
    assert np.mean(np.array(sex)[~absent] == "f") == pytest.approx(0.5, abs=0.019)
    assert np.mean(age[~absent][young] < 25) == pytest.approx(0.5, abs=0.025)
    assert age.min() >= 0
    assert age.max() <= 100
    assert table == s.sample(20_000, rng=3)
    assert table != s.sample(20_000)
    assert s.sample(0).num_rows == 0
    with pytest.raises(InvalidArgument):
        s.sample(-1)


def test_leaves_without_weight_are_never_drawn() -> None:
    s = people(weights=[50, -50, 0], total=50)
    ages = s.sample(2000, rng=0)["age"].to_numpy()
    assert ages.max() < 50


def test_with_nothing_left_records_are_spread_evenly() -> None:
    nothing = people(weights=[-1, -5, -3])
    ages = nothing.sample(4000, rng=0)["age"].to_numpy()
    assert ages.mean() == pytest.approx(50, abs=5 * 29 / math.sqrt(4000))
    empty = BoxSynopsis(
        PEOPLE,
        lower=np.empty((0, 2)),
        upper=np.empty((0, 2)),
        weights=np.empty(0, dtype=int),
        variances=[],
        guarantee=promise(),
        hidden=HiddenCells(100, 5, 2.0),
    )
    assert set(empty.sample(100, rng=0)["sex"].to_pylist()) == {"f", "m"}
    assert empty.count() == Count(0, 0)
    assert empty.marginal("age").counts.tolist() == [0]


@pytest.mark.parametrize("kinds", [["f", "m"], [10, 20], [True, False], ["a", 1]])
def test_categories_come_back_as_they_were_declared(kinds: list[Any]) -> None:
    s = BoxSynopsis(
        dc.Domain({"c": {"categories": kinds}}),
        lower=[[0], [1]],
        upper=[[1], [2]],
        weights=[5, 5],
        variances=[1, 1],
        guarantee=promise(),
    )
    shown = kinds if len({type(k) for k in kinds}) == 1 else [str(k) for k in kinds]
    assert set(s.sample(200, rng=0)["c"].to_pylist()) == set(shown)


# The artifact


def test_the_seal_covers_every_part() -> None:
    s = with_tree()
    assert s.guarantee.verify(_file.payload(s))
    assert s.digest == with_tree().digest
    tree = small_tree()
    changes: list[dict[str, Any]] = [
        {"weights": [60.5, 40.5]},
        {"lower": [[0, 0], [49, 0]]},
        {"upper": [[50, 2], [99, 2]]},
        {"variances": [4.0, 3.5]},
        {"points": [[20, 1], [70, 1]]},
        {"total": 99.0},
        {"total_variance": 2.0},
        {"uncut": []},
        {"tree": None},
        {"hidden": HiddenCells(5, 1, 1.0)},
    ]
    for name in ("estimate", "threshold", "variance", "lower", "upper"):
        array = getattr(tree, name).copy()
        array.flat[0] += 1
        nodes = {f: getattr(tree, f) for f in tree.__dataclass_fields__}
        changes.append({"tree": TreeTable(**{**nodes, name: array})})
    digests = {s.replace(**change).digest for change in changes}
    assert len(digests) == len(changes)
    assert s.digest not in digests
    assert s.replace().digest == s.digest
    hidden = survivors()
    assert hidden.replace(hidden=HiddenCells(10**14, 13, 4.0)).digest != hidden.digest
    assert people(guarantee=promise(seeded=True)).digest != people().digest


def test_refinement_is_noted_under_the_same_promise() -> None:
    s = people().replace(weights=[60.0, 40.0, 0.0], note="first").replace(note="second")
    assert s.guarantee.parameters["refined"] == ["first", "second"]
    assert s.guarantee.epsilon == 1
    assert s.total == 97  # the total stays when weights are moved
    with pytest.raises(InvalidArgument, match="changes"):
        s.replace(guarantee=promise())
    with pytest.raises(InvalidType):
        s.replace(note=3)  # type: ignore[arg-type]


def test_arrays_cannot_be_written_to_and_are_copies() -> None:
    weights = np.array([1, 2, 3])
    s = people(weights=weights)
    weights[0] = 99
    assert s.weights[0] == 1
    for name in ("weights", "variances", "lower", "upper", "points"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(s, name)[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        small_tree().estimate[0] = 0
    with pytest.raises(AttributeError):
        s.weights = weights  # type: ignore[misc]
    for other in (pickle.loads(pickle.dumps(with_tree())), copy.deepcopy(with_tree())):
        assert other == with_tree()
        assert other.guarantee == with_tree().guarantee
        assert not other.weights.flags.writeable
        assert not other.tree.estimate.flags.writeable


def test_it_reads_well() -> None:
    assert repr(people()) == "<Synopsis: 3 leaves of 2 columns, about 97 rows, epsilon 1>"
    assert "survivors of 100,000,000,000,000 cells" in repr(survivors())
    assert "SEEDED" in repr(people(guarantee=promise(seeded=True)))
    assert "NO privacy" in repr(people(guarantee=dc.Guarantee("central", ledger=infinite().lines)))
    assert repr(small_tree()) == "<TreeTable: 3 nodes, 2 leaves, height 1>"
    assert people().points[0].tolist() == [25, 1]
    assert np.isnan(people().points[2, 1])
    assert people() != "something else"
    assert len({people(), people(), with_tree()}) == 2
    assert small_tree() == small_tree()


def infinite() -> dc.Ledger:
    ledger = dc.Ledger(epsilon=math.inf)
    ledger.spend("counts", math.inf)
    return ledger


@pytest.mark.parametrize(
    "changes",
    [
        {"weights": [1, 2]},
        {"weights": [[1, 2, 3]]},
        {"weights": [1.0, 2.0, NAN]},
        {"weights": ["a", "b", "c"]},
        {"variances": [1, 1]},
        {"variances": [1, 1, -1]},
        {"variances": [1, 1, math.inf]},
        {"lower": [[0], [1], [2]]},
        {"lower": [[0, 0], [50, 0], [NAN, 0]]},
        {"lower": [[60, 0], [50, 0], [0, NAN]]},
        {"lower": [[0, 0], [50], [0, NAN]]},
        {"upper": [[50, 2], [100, math.inf], [100, NAN]]},
        {"points": [[0, 0]]},
        {"total": NAN},
        {"total_variance": math.inf},
        {"total_variance": -1.0},
        {"tree": "oak"},
        {"tree": small_tree()},
        {"hidden": 5},
        {"guarantee": "trust me"},
        {"guarantee": promise(domain=dc.Domain.box(0, 1))},
    ],
)
def test_parts_that_do_not_fit_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        people(**changes)


def test_unknown_columns_and_domains_are_refused() -> None:
    with pytest.raises(SchemaError):
        people(uncut=["income"])
    with pytest.raises(InvalidType):
        BoxSynopsis({"age": (0, 1)}, lower=[[0]], upper=[[1]], weights=[1], variances=[1], guarantee=promise())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("parent", [0, 0, 0]),
        ("parent", [-1, 2, 0]),
        ("parent", [-1, 0]),
        ("parent", [-1.0, 0.0, 0.0]),
        ("depth", [0, 1, 2]),
        ("axis", [5, -1, -1]),
        ("leaf", [-2, 0, 1]),
        ("variance", [NAN, 1, 1]),
        ("lower", [0, 0, 0]),
    ],
)
def test_tables_that_are_no_tree_are_refused(name: str, value: Any) -> None:
    tree = small_tree()
    nodes = {f: getattr(tree, f) for f in tree.__dataclass_fields__}
    with pytest.raises(InvalidArgument):
        TreeTable(**{**nodes, name: value})


def test_hidden_cells_are_checked() -> None:
    assert HiddenCells(np.int64(5), np.int64(-2), 1).cutoff == -2  # type: ignore[arg-type]
    for bad in ({"n_cells": 0}, {"cutoff": 1.5}, {"cutoff": True}, {"variance": -1.0}, {"variance": NAN}):
        with pytest.raises(InvalidArgument):
            HiddenCells(**{"n_cells": 5, "cutoff": 1, "variance": 1.0, **bad})  # type: ignore[arg-type]


# Pictures


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_show_boxes_and_points(kind: str) -> None:
    figure = KINDS[kind]().plot()
    names = [trace.name for trace in figure.data]
    assert names == ["density", "leaves", "representatives"]
    assert "not shown" in figure.layout.title.text
    assert figure.layout.xaxis.title.text == "age"
    assert list(figure.layout.yaxis.ticktext) == ["f", "m"]
    even = figure.data[0].z[:, 0] * 0.25  # a quarter of the domain each
    assert even.sum() > 0


def test_densities_give_the_counts_back() -> None:
    s = with_tree()
    heat = s.plot().data[0]
    areas = np.outer(np.diff(heat.y) / 2, np.diff(heat.x) / 100)
    assert (heat.z * areas).sum() * s.total == pytest.approx(s.weights.sum())


def test_bars_for_one_column_and_a_view_of_many() -> None:
    one = people().plot(columns=["age"])
    assert one.data[0].type == "bar"
    assert (one.data[0].y * one.data[0].width).sum() == pytest.approx(97)
    assert people().plot(columns=["sex"]).data[0].y.tolist() == [50, 50]
    s = BoxSynopsis(
        dc.Domain.box(0, 1, names=["a", "b", "c"]),
        lower=[[0, 0, 0], [0, 0, 0.5]],
        upper=[[1, 1, 0.5], [1, 1, 1]],
        weights=[5, 6],
        variances=[1, 1],
        guarantee=promise(seeded=True),
    )
    figure = s.plot(columns=("c", "a"))
    assert figure.layout.xaxis.title.text == "c"
    assert s.plot("c", "a") == figure
    assert [t.name for t in figure.data] == ["density", "representatives"]
    assert "not to be published" in figure.layout.title.text
    for bad in ("a", ("a", "a"), ("a", "b", "c"), 5):
        with pytest.raises(InvalidArgument, match="columns"):
            s.plot(columns=bad)  # type: ignore[arg-type]
    with pytest.raises(SchemaError):
        s.plot(columns=("a", "z"))


def test_without_plotly_the_fix_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(MissingExtra, match=r"discreet\[plot\]"):
        people().plot()
    assert str(pickle.loads(pickle.dumps(MissingExtra("a", "plot")))) == str(MissingExtra("a", "plot"))
