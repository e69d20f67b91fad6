"""Arguments of odd types and sizes are refused in one sentence, never by an error of Python or NumPy."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.anonymity import Microaggregation, sampling_delta
from discreet.clustering import DenoisingKMeans
from discreet.errors import InvalidArgument

DOMAIN = dc.Domain({"age": (0, 120), "cost": (0, 100)})
QUASI = dc.Domain({name: {"bounds": [0, 120], "role": "quasi-identifier"} for name in ("age", "cost")})
TABLE = {"age": np.arange(60.0), "cost": np.arange(60.0)}
ROWS = np.column_stack([TABLE["age"], TABLE["cost"]])
HUGE = 10**400
TWO: Any = np.array([1, 2])
BYTES: Any = b"x"
FAR: Any = Decimal("-1e999999999")


@pytest.mark.parametrize(
    "call",
    [
        lambda: dc.GridSynopsis(1.0, domain=DOMAIN, delta=TWO).fit(TABLE),
        lambda: dc.GridSynopsis(TWO, domain=DOMAIN, rho=1, delta=1e-6).fit(TABLE),
        lambda: dc.MarginalSynopsis(epsilon=HUGE, domain=DOMAIN).fit(TABLE),
        lambda: dc.MarginalSynopsis(epsilon=HUGE, delta=1e-6, domain=DOMAIN).fit(TABLE),
        lambda: dc.MarginalSynopsis(rho=HUGE, delta=1e-6, domain=DOMAIN).fit(TABLE),
        lambda: dc.TreeSynopsis(1.0, domain=DOMAIN, partitioner=BYTES).fit(TABLE),
        lambda: Microaggregation(3, domain=QUASI, columns={"age": [float("nan")]}).fit(TABLE),
        lambda: Microaggregation(3, domain=QUASI, block_rows=TWO).fit(TABLE),
        lambda: sampling_delta(HUGE, 0.1, 0.5),
        lambda: sampling_delta(10**300, 0.1, 0.5),
        lambda: sampling_delta(5, 0.1, HUGE),
        lambda: sampling_delta(5, 0.1, FAR),
        lambda: dc.metric.NDLaplace(1.0, domain=DOMAIN, step=HUGE).fit(ROWS),
        lambda: dc.metric.NDLaplace(1.0, domain=DOMAIN, step=1e308).fit(ROWS),
        lambda: dc.metric.NDLaplace(1.0, domain=DOMAIN, scaling=HUGE).fit(ROWS),
        lambda: DenoisingKMeans(2, law=1e-320).fit(ROWS),
        lambda: DenoisingKMeans(2, law=1e308).fit(ROWS),
        lambda: DenoisingKMeans(2, law=HUGE).fit(ROWS),
    ],
)
def test_odd_arguments_are_refused_in_one_sentence(call: Callable[[], Any]) -> None:
    with pytest.raises(InvalidArgument, match=r"must be .*; try \w+=|must be .*; try leaving") as caught:
        call()
    assert len(str(caught.value)) < 250


def test_groups_of_columns_may_still_be_labelled() -> None:
    made = Microaggregation(3, domain=QUASI, columns={"age": 1, "cost": "b"}).fit_transform(TABLE)
    assert len(made.to_pandas()) == 60
