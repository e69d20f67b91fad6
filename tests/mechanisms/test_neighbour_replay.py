"""Every public central estimator, replayed on random neighbours: rows at bounds, on edges, missing; rows, persons and
weights.

The quick suite tries a few settings with a seed that changes every day (a failure names it). The slow one tries 2,000
per estimator. Engines are not tried here: equal counts on all of them are the business of tests/engines.
"""

import functools
import inspect
import math
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet import mechanisms
from discreet.engines.passes.tally import CellCounts
from discreet_studies.as_published.ordered import OrderedMicroaggregation
from replay import replay

EDGES = (0.0, 0.25, 0.5, 0.75, 1.0, math.nan, -3.0, 7.0)
TODAY = int(time.time() // 86_400)
QUICK, THOROUGH = 5, 2_000
MODELS = ("PrivateLinearRegression", "PrivateLogisticRegression", "PrivatePCA")


class Case:
    """A random table, its neighbour, a domain and budgets."""

    def __init__(self, rng: np.random.Generator, *, columns: int = 0, words: bool = True) -> None:
        self.rng = rng
        n, self.d = int(rng.integers(1, 25)), columns or int(rng.integers(1, 4))
        cells = np.where(rng.random((n, self.d)) < 0.5, rng.choice(EDGES, (n, self.d)), rng.random((n, self.d)))
        self.persons = bool(rng.random() < 0.4)
        self.words = words and bool(rng.random() < 0.4)
        people = rng.integers(0, 5, n)
        self.data = {f"x{j}": cells[:, j] for j in range(self.d)}
        if self.words:
            self.data["c"] = rng.choice(["a", "b", "other", None], n)
        self.weighted = bool(rng.random() < 0.3)
        if self.weighted:
            self.data["w"] = rng.choice([0.0, 0.01, 1 / 3, 0.999, 1.0, 5.0, math.nan], n)
        if self.persons:
            self.data["who"] = [None if rng.random() < 0.1 else f"p{i}" for i in people]
        left = int(rng.integers(n))
        own = self.data["who"][left] if self.persons else None
        gone = [i for i in range(n) if (self.data["who"][i] == own if own is not None else i == left)]
        kept = np.setdiff1d(np.arange(n), gone)
        whole = pa.table({name: pa.array(list(v), from_pandas=True) for name, v in self.data.items()})
        pair = whole, whole.take(pa.array(kept))
        self.table, self.neighbour = pair if rng.random() < 0.5 else pair[::-1]
        self.seed = int(rng.integers(2**31))
        self.epsilon = float(rng.choice([0.1, 0.5, 1.0, 3.0]))
        self.delta = float(rng.choice([0.0, 1e-6]))

    @property
    def domain(self) -> dc.Domain:
        """The declared columns; sometimes missing numbers have a cell of their own."""
        missing = "own" if self.seed % 3 == 0 else "drop"
        columns: dict[str, Any] = {f"x{j}": {"bounds": [0, 1], "missing": missing} for j in range(self.d)}
        if self.words:
            columns["c"] = {"categories": ["a", "b"], "missing": "own"}
            if self.seed % 4 == 2:  # not where rows are grouped by it
                columns["c"] = {"pattern": "[ab][0-9]?", "missing": "own"}
        if self.weighted:
            columns["w"] = {"bounds": [0, 1], "role": "weight"}
        if not self.persons:
            return dc.Domain(columns)
        columns["who"] = {"role": "person"}
        if self.words and self.seed % 2:
            unit = dc.Person("who", rows=4, group="c", per_group=2)
        else:
            unit = dc.Person("who", rows=["auto", 1, 3][self.seed % 3])
        return dc.Domain(columns, unit=unit)

    def pick(self, *values: Any) -> Any:
        return values[int(self.rng.integers(len(values)))]

    @property
    def budget(self) -> dict[str, Any]:
        """ε, (ε, δ) or ρ."""
        if self.seed % 5 == 0 and self.delta:
            return {"epsilon": None, "rho": self.epsilon / 4, "delta": self.delta}
        return {"epsilon": self.epsilon, **({"delta": self.delta} if self.delta else {})}


def shown(made: Any) -> list[Any]:
    """The published values of a synopsis."""
    return [made.weights, made.variances, made.lower, made.upper, made.points, made.total, made.total_variance]


def fitted(case: Case, make: Callable[[], Any]) -> Callable[[Any], tuple[Any, Any]]:
    def release(table: Any) -> tuple[Any, Any]:
        model = make().fit(table)
        return shown(model.synopsis_), model.guarantee_

    return release


def grid(case: Case) -> Any:
    rule = case.pick("rugnik", "eugkm", 2, 3, "adaptive", "dpkfm")
    options = {
        "max_cells": case.pick(2**20, 4),
        "leaf_means": case.pick(False, True, "auto"),
        "random_state": case.seed,
    }
    if rule in (2, 3) and options["max_cells"] == 4:
        options["leaf_means"] = False
    budget = case.budget
    return fitted(case, lambda: dc.GridSynopsis(domain=case.domain, rule=rule, **options, **budget))


def tree(case: Case) -> Any:
    lists = ["uniform", "median"], ["binary", "uniform"], ["median", "uniform", "privtree"]
    kind = case.pick("binary", "median", "quantile", "uniform", "privtree", "density", *lists)
    options = {
        "max_depth": case.pick(1, 3, 5) + 2 * isinstance(kind, list),
        "leaf_means": case.pick(False, True),
        "random_state": case.seed,
    }
    options |= {"axis": case.pick("auto", "widest", "spread")} if kind in ("binary", "median", "quantile") else {}
    options |= {
        "budget": case.pick("geometric", "uniform", "linear"),
        "test_from": case.pick("auto", 0, 1),
    }
    budget = case.budget
    return fitted(case, lambda: dc.TreeSynopsis(domain=case.domain, partitioner=kind, **options, **budget))


class Bought(dc.synopses.OwnPartitioner):
    """Buys counts and quantiles, leaves some of its share, and ends growth where it likes: also at untested levels."""

    paid, fan_out = True, 2

    def cut(self, boxes: Any, offers: Any) -> Any:
        axis = np.argmax(boxes.widths, axis=1)
        counts = offers.counts(axis, 2, offers.epsilon / 3)
        if counts.sum() > 5:
            return offers.quantiles(axis, 1, offers.epsilon / 2)
        return offers.middles(axis)

    def keep(self, boxes: Any, passed: Any) -> Any:
        wide = boxes.widths.max(axis=1) * 2 > boxes.cells.max()
        return np.where(np.isnan(boxes.estimate), wide | (boxes.lower[:, 0] > 0), boxes.estimate > -3)


def own_tree(case: Case) -> Any:
    budget = {"epsilon": case.epsilon}
    options = {"max_depth": 3, "test_from": case.pick(0, 1, 2, 3), "random_state": case.seed}
    return fitted(case, lambda: dc.TreeSynopsis(domain=case.domain, partitioner=Bought(), **options, **budget))


def marginals(case: Case) -> Any:
    budget = case.budget
    target = case.pick(None, "x0")  # choices that touch it count twice as much

    def release(table: Any) -> tuple[Any, Any]:
        model = dc.MarginalSynopsis(domain=case.domain, target=target, random_state=case.seed, **budget).fit(table)
        return [str(model.synopsis_.sample(20, rng=1)), model.synopsis_.total], model.guarantee_

    return release


def kmeans(case: Case) -> Any:
    options = {"synopsis": case.pick("auto", "grid", "tree"), "n_init": 1, "random_state": case.seed}
    budget = case.budget

    def release(table: Any) -> tuple[Any, Any]:
        model = dc.PrivateKMeans(2, domain=case.domain, **options, **budget).fit(table)
        return [model.cluster_centers_, model.cluster_weights_, *shown(model.synopsis_)], model.guarantee_

    return release


def lifted(case: Case) -> Any:
    options = {"synopsis": case.pick("auto", "lift"), "n_init": 1, "random_state": case.seed}
    budget = case.budget
    names = [f"x{j}" for j in range(case.d)]
    columns = {**dict.fromkeys(names, (0, 1)), **({"w": {"bounds": [0, 1], "role": "weight"}} if case.weighted else {})}
    domain = dc.Domain(columns)
    if case.persons:
        domain = dc.Domain({**columns, "who": {"role": "person"}}, unit=dc.Person("who", rows=2))

    def release(table: Any) -> tuple[Any, Any]:
        model = dc.PrivateKMeans(2, domain=domain, **options, **budget).fit(table)
        return [model.cluster_centers_, model.cluster_weights_], model.guarantee_

    return release


def lloyd(case: Case) -> Any:
    n_iter = case.pick("auto", 1, 3)

    def release(table: Any) -> tuple[Any, Any]:
        model = dc.DPLloyd(2, domain=case.domain, n_iter=n_iter, random_state=case.seed, **case.budget).fit(table)
        return [model.cluster_centers_], model.guarantee_

    return release


def model(case: Case, kind: str) -> Any:
    names = [*case.data]  # the target stands first
    columns = {"y": {"categories": ["a", "b"]} if kind == "PrivateLogisticRegression" else (0, 1)}
    columns |= {c.name: c for c in case.domain if c.role == "attribute" and c.kind != "code"}
    roles = {c.name: c for c in case.domain if c.role != "attribute"}
    domain = dc.Domain({**columns, **roles}, unit=case.domain.unit) if case.persons else dc.Domain({**columns, **roles})
    if getattr(domain.unit, "group", ()) and "c" not in columns:
        domain = domain.with_unit(dc.Person("who", rows=3))

    def release(table: Any) -> tuple[Any, Any]:
        draws = [["a", "b", "other", None][zlib.crc32(str(row).encode()) % 4] if "Log" in kind else row.get("x0")
                 for row in table.select(names).to_pylist()]  # fmt: skip
        full = table.append_column("y", pa.array(draws, from_pandas=True))
        target = {} if kind == "PrivatePCA" else {"target": "y"}
        made = getattr(dc, kind)(domain=domain, random_state=case.seed, **target, **case.budget).fit(full)
        return [made.moments_.values, made.components_ if kind == "PrivatePCA" else made.coef_], made.guarantee_

    return release


def session(case: Case) -> Any:
    question = case.pick("count", "histogram", "sum", "mean", "variance", "quantile", "quantiles")
    where = case.pick(None, {"x0": (0.25, 0.75)}, "x0 > 0.25 or not x0 <= 0", "x0 is missing or x0 < 0.5")
    given: dict[str, Any] = {"where": where, "epsilon": case.epsilon, **({"delta": case.delta} if case.delta else {})}
    if question != "histogram" and case.seed % 2:
        words = case.words and not isinstance(case.domain.column("c"), dc.Code)
        given |= case.pick({"by": "x0", "bins": [0, 0.25, 0.5, 1]}, {"by": ["c"]} if words else {"by": "x0", "bins": 3})

    def release(table: Any) -> tuple[Any, Any]:
        ledger = dc.Ledger(epsilon=100, **({"delta": case.delta} if case.delta else {}))
        asked = dc.QuerySession(table, ledger, domain=case.domain, random_state=case.seed)
        name = () if question == "count" else ("x0",)
        answer = getattr(asked, question)(*name, **given)
        return [answer.value, *answer.interval(0.9)], answer.guarantee

    return release


def ordered(case: Case) -> Any:
    columns = ["x0"] if case.d == 1 or case.seed % 2 else ["x0", "x1"]
    names = dict.fromkeys(columns, (0, 1))
    unit = {"who": {"role": "person"}} if case.persons else {}
    domain = dc.Domain({**names, **unit}, **({"unit": dc.Person("who", rows=2)} if unit else {}))

    def release(table: Any) -> tuple[Any, Any]:
        model = OrderedMicroaggregation(5, case.epsilon, domain, n_rows=20, random_state=case.seed).fit(table)
        return [model.means_, model.sizes_], model.guarantee_

    return release


def bounds(case: Case) -> Any:
    people = {"rows": 2} if case.persons else {}

    def release(table: Any) -> tuple[Any, Any]:
        ledger = dc.Ledger(epsilon=case.epsilon)
        persons = {"persons": table["who"].to_pylist()} if case.persons else {}
        values = np.asarray(table["x0"].to_pandas(), np.float64)
        made = dc.private_bounds(values, epsilon=case.epsilon, ledger=ledger, rng=case.seed, **persons, **people)
        return list(made), dc.Guarantee.from_ledger(ledger, model="central")

    return release


def distinct(case: Case) -> Any:
    items = 2 if case.persons else None

    def release(table: Any) -> tuple[Any, Any]:
        sketch = dc.local.DistinctSketch(case.epsilon, buckets=64, levels=4, items=items, key=7)
        persons = table["who"].to_pylist() if case.persons else None
        made = sketch.sketch(table["x0"].to_pylist(), persons, rng=case.seed)
        # Its promise names the bitmap, the line of the gate the items.
        ledger = dc.Ledger(epsilon=case.epsilon)
        dc.local.DistinctSketch(case.epsilon, buckets=64, levels=4, items=items, key=7).sketch(
            [], [] if case.persons else None, ledger=ledger, rng=1
        )
        return [made.rows], dc.Guarantee.from_ledger(ledger, model="central")

    return release


CASES: dict[str, tuple[Callable[[Case], Any], dict[str, Any]]] = {
    "GridSynopsis": (grid, {}),
    "TreeSynopsis": (tree, {}),
    "TreeSynopsis with a partitioner of one's own": (own_tree, {}),
    "MarginalSynopsis": (marginals, {}),
    "PrivateKMeans": (kmeans, {}),
    "PrivateKMeans of many columns": (lifted, {"columns": 13, "words": False}),
    "DPLloyd": (lloyd, {"words": False}),
    **{name: (functools.partial(model, kind=name), {}) for name in MODELS},
    "QuerySession": (session, {}),
    "OrderedMicroaggregation": (ordered, {}),
    "private_bounds": (bounds, {}),
    "DistinctSketch": (distinct, {"words": False}),
}
#: Proven by laws of their own: one coin per word, one binomial count per class.
OWN_LAW = {
    "private_categories": "tests/mechanisms/test_categories_law.py",
    "SampledGeneralization": "tests/mechanisms/test_sampling_law.py",
    "open_release": "the beginning of every estimator above",
}


def try_settings(name: str, numbers: range) -> None:
    make, options = CASES[name]
    for number in numbers:
        case = Case(np.random.default_rng([number, *name.encode()]), **options)
        found = replay(make(case), case.table, case.neighbour)
        assert not found.faults, (name, number, found)
        assert found.steps, (name, number)


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("name", CASES)
def test_no_output_is_likelier_on_a_neighbour_than_its_price_allows(name: str) -> None:
    try_settings(name, range(TODAY * QUICK, (TODAY + 1) * QUICK))


@pytest.mark.slow
@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("name", CASES)
def test_the_same_of_thousands_of_settings(name: str) -> None:
    try_settings(name, range(THOROUGH))


def charged(room: Any) -> set[str]:
    """Return the public names of a room that take a ledger or an account."""
    found = set()
    for name in dir(room):
        thing = getattr(room, name)
        if name.startswith("_") or not callable(thing) or isinstance(thing, type(dc)):
            continue
        try:
            parameters = set(inspect.signature(thing).parameters)
        except (TypeError, ValueError):
            continue
        verbs = [getattr(thing, verb, None) for verb in ("sketch",)]
        for verb in filter(None, verbs):
            parameters |= set(inspect.signature(verb).parameters)
        if parameters & {"ledger", "account"} and {"epsilon", "account", "sample", "items"} & parameters:
            found.add(name)
    return found


def test_an_estimator_that_is_not_registered_is_noticed() -> None:
    rooms = (dc, dc.synopses, dc.clustering, dc.models, dc.anonymity, dc.local, mechanisms)
    public = set().union(*(charged(room) for room in rooms))
    known = {name.split(" ")[0] for name in CASES} | set(OWN_LAW)
    assert public - known == set()
    assert {"GridSynopsis", "PrivateKMeans", "QuerySession", "DistinctSketch", "private_bounds"} <= public


def test_a_planted_fault_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts that a row moves by two: the meter sees nothing wrong, the replay does."""
    real = CellCounts.dense
    monkeypatch.setattr(CellCounts, "dense", lambda self: 2 * real(self))
    with pytest.raises(AssertionError, match="GridSynopsis"):
        try_settings("GridSynopsis", range(40))
