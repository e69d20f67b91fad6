"""Options of estimators: what is accepted, what is refused before anything is spent, and what errors quote."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import InvalidArgument, InvalidType

BOX = dc.Domain.box([0, 0], [1, 1])
ROWS = np.random.default_rng(0).random((50, 2))


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
