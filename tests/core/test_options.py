"""Options of estimators: what is accepted, what is refused before anything is spent, and what errors quote."""

from __future__ import annotations

import inspect
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import sklearn.base  # noqa: F401 - estimators get its base classes from here on: checks must not get lost by that

import discreet as dc
from discreet.core.options import Declared, Option
from discreet.errors import DiscreetError, InvalidArgument, InvalidType

BOX = dc.Domain.box([0, 0], [1, 1])
ROWS = np.random.default_rng(0).random((50, 2))
ROOMS: tuple[Any, ...] = (dc, dc.anonymity, dc.clustering, dc.metric)
PUBLIC = {getattr(room, name) for room in ROOMS for name in dir(room)}
ESTIMATORS = sorted(
    (each for each in PUBLIC if inspect.isclass(each) and issubclass(each, Declared) and hasattr(each, "fit")),
    key=lambda each: each.__name__,
)
SYNOPSIS = dc.GridSynopsis(1.0, BOX, rule=2, random_state=0).fit(ROWS).synopsis_
#: What an estimator needs beyond a domain, so that all its options are read.
NEEDED: dict[str, dict[str, Any]] = {
    "DensityTree": {"pruning": "folds"},
    "ElasticLaplace": {"density": SYNOPSIS, "min_people": 9, "cells": 16},
    "PrivateLogisticRegression": {"domain": dc.Domain({"x": (0, 1), "y": ["no", "yes"]})},
    "SampledGeneralization": {"levels": {}, "grid": 2, "k": 20},
    "SphericalLaplace": {"domain": dc.Domain({"latitude": (0, 1), "longitude": (0, 1)})},
    "TopBottomCoding": {
        "domain": dc.Domain({name: {"bounds": (0, 1), "top": 0.9, "role": "quasi-identifier"} for name in "xy"})
    },
}
#: Options that depend on others: they are not read with ``remap="none"``.
NOT_READ = {("NDLaplace", "grid"), ("NDLaplace", "prior"), ("SphericalLaplace", "grid"), ("SphericalLaplace", "prior")}


def wrong_values(each: Option) -> list[Any]:
    """Return values of wrong types and out of range, by the declaration."""
    if each.objects:
        return []
    takes, found = set(each.takes), [object(), b"x", 1j, math.nan, -1.5]
    found += [] if takes == {"text"} and not each.choices else ["no such choice"]
    found += [] if "flag" in takes or not takes else [True]
    found += [each.low - 1] if each.low is not None else []
    found += [each.above - 1] if each.above is not None else []
    found += [int(each.high) + 1] if each.high is not None else []
    found += [each.below + 1] if each.below is not None else []
    if "number" in takes and each.low is None and each.above is None:
        found.remove(-1.5)
    return found


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: each.__name__)
@pytest.mark.filterwarnings("ignore")
def test_every_option_is_declared_and_a_wrong_value_is_named_before_anything_is_charged(estimator: Any) -> None:
    name = estimator.__name__
    assert set(inspect.signature(estimator).parameters) == set(estimator.declared)
    usual = {"domain": BOX} if "domain" in estimator.declared else {}
    usual |= {"k": 3} if estimator.declared.get("k", Option("")).default else {}
    usual |= NEEDED.get(name, {})
    data = SYNOPSIS if "synopsis" in inspect.signature(estimator.fit).parameters else ROWS
    estimator(**usual).fit(data)
    for each in estimator.declared.values():
        for value in [] if (name, each.name) in NOT_READ else wrong_values(each):
            ledger = dc.Ledger(epsilon=1e6, delta=0.5)
            given = {**usual, **({"ledger": ledger} if "ledger" in estimator.declared else {}), each.name: value}
            given |= {"delta": 1e-6} if each.name == "rho" else {}
            with pytest.raises(DiscreetError, match=each.name):
                estimator(**given).fit(data)
            assert not ledger.lines, (each.name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("partitioner", [1]), ("partitioner", [None]), ("partitioner", [[]]), ("partitioner", b"binary"),
        ("threshold", 10**400), ("shares", b"abc"), ("bits", np.True_), ("bits", 2.5),
        ("threshold", float("nan")), ("n_rows", Decimal("NaN")),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_before_the_ledger_is_charged(name: str, value: Any) -> None:
    ledger = dc.Ledger(epsilon=1)
    with pytest.raises(InvalidArgument, match=name):
        dc.TreeSynopsis(1.0, BOX, ledger=ledger, **{name: value}).fit(ROWS)
    assert ledger.remaining == 1


@pytest.mark.parametrize("model", [dc.PrivateKMeans, dc.DPLloyd])
def test_too_many_clusters_are_refused_before_the_ledger_is_charged(model: Any) -> None:
    ledger = dc.Ledger(epsilon=1)
    with pytest.raises(InvalidArgument, match="n_clusters"):
        model(2**31 + 1, 1.0, BOX, ledger=ledger).fit(ROWS)
    assert ledger.remaining == 1


@pytest.mark.parametrize("rows", [ROWS, pa.table({"a": [0.123456, 0.234567]})["a"]], ids=["array", "column"])
def test_rows_in_the_place_of_an_option_are_not_quoted(rows: Any) -> None:
    with pytest.raises(InvalidArgument) as refused:
        dc.TreeSynopsis(rows, BOX).fit(ROWS)
    assert "0." not in str(refused.value).partition("got")[2].partition(";")[0]
    assert isinstance(refused.value.value, str)


def test_a_trajectory_uses_the_radius_that_its_mechanism_has_when_it_reports() -> None:
    path = np.linspace(0, 1, 20).reshape(10, 2)
    late = dc.metric.NDLaplace(epsilon=1, radius=0.1, domain=BOX, random_state=1)
    plan = dc.metric.Trajectory(late, threshold=0.5, test_epsilon=0.5, budget=10)
    late.set_params(radius=1.0)
    soon = dc.metric.NDLaplace(epsilon=1, radius=1.0, domain=BOX, random_state=1)
    honest = dc.metric.Trajectory(soon, threshold=0.5, test_epsilon=0.5, budget=10)
    assert plan.report(path).guarantee == honest.report(path).guarantee
    plan.budget = float("nan")
    with pytest.raises(InvalidArgument, match="budget"):
        plan.report(path)


def test_an_option_by_another_name_is_suggested_and_no_table_is_quoted() -> None:
    from discreet.anonymity import DensityTree

    with pytest.raises(InvalidType, match=r"argument must be an option of DensityTree, got 'l'; try l_diversity=2"):
        DensityTree(l=2)  # type: ignore[call-arg]
    with pytest.raises(InvalidType, match=r"got 'k'; try n_clusters=3"):
        dc.PrivateKMeans(k=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"got 'doman'; try help\(DensityTree\)"):
        DensityTree(doman=[3, 4])  # type: ignore[call-arg]
