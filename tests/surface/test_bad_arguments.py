"""Hundreds of bad arguments: each is refused by an exception of ours that names argument, value and fix, for free.

And their counterpart: bad *rows* are never refused, because neighbours must not differ in whether a call fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet import mechanisms, noise
from discreet.errors import DiscreetError

DATA = [0.1, 0.2, 0.3]
NOT_NUMBERS = [None, "1", b"1", [1], {}, object(), True, 1j, np.array([1.0]), np.bool_(True)]
NOT_FINITE = [math.nan, math.inf, -math.inf, np.nan, Decimal("NaN"), Decimal("Infinity"), np.float32("inf")]
NOT_POSITIVE = [0, -1, -0.5, 0.0, -1e-300, np.int64(-3), Decimal(-1)]
# Infinity is how a run without privacy is written, so it is no bad budget.
BAD_BUDGETS = [x for x in NOT_NUMBERS if x is not None] + [math.nan, -math.inf, Decimal("NaN")] + NOT_POSITIVE
BAD_NUMBERS = NOT_NUMBERS + NOT_FINITE
BAD_SCALES = [*BAD_NUMBERS, -1, -1e-9, 1e13, 10**400]
BAD_SHARES = [*BAD_NUMBERS, -0.1, 1.5, 2]
BAD_SIZES = [-1, 1.5, "3", (-1,), (2, 1.5), (1,) * 40, 2**50, [3], True, math.nan]
BAD_WHOLE = [None, "1", 1.5, math.nan, math.inf, -1, 0, [2], True, 2**80]
BAD_RNG = ["seed", 1.5, -1, True, [1], object(), b"x"]
BAD_TABLES = [None, "1 2 3", b"123", 7, [[1.0, 2.0]], np.zeros((2, 2)), {"a": 1}, np.array(["x"]), np.array([1j])]
BAD_QS = [None, 0.5, "q", [], [0], [1], [-0.1], [0.5, 0.5], [0.7, 0.3], [math.nan], ["a"], [[0.5]], [True]]

LEDGER = dc.Ledger(epsilon=1)

#: Callable, its good arguments, and for each argument the values it must refuse.
CALLS: list[tuple[Callable[..., Any], dict[str, Any], dict[str, list[Any]]]] = [
    (noise.discrete_laplace, {"scale": 1}, {"scale": BAD_SCALES, "size": BAD_SIZES, "rng": BAD_RNG}),
    (noise.discrete_gaussian, {"sigma": 1}, {"sigma": BAD_SCALES, "size": BAD_SIZES, "rng": BAD_RNG}),
    (noise.DiscreteLaplace, {"scale": 1}, {"scale": BAD_SCALES}),
    (noise.DiscreteGaussian, {"sigma": 1}, {"sigma": BAD_SCALES}),
    (noise.DiscreteLaplace(1).threshold, {"tail": 0.1}, {"tail": [*BAD_SHARES, 0, 1]}),
    (noise.bernoulli, {"p": 0.5}, {"p": BAD_SHARES, "size": BAD_SIZES, "rng": BAD_RNG}),
    (noise.below, {"bound": 6}, {"bound": BAD_WHOLE, "size": BAD_SIZES, "rng": BAD_RNG}),
    (noise.generator, {"rng": None}, {"rng": BAD_RNG}),
    (
        noise.randomized_response,
        {"values": [0, 1], "n_values": 2, "epsilon": 1},
        {
            "values": ["ab", np.array([0.5]), None, {}],
            "n_values": [*BAD_WHOLE, 1],
            "epsilon": [*BAD_BUDGETS, None],
            "rng": BAD_RNG,
        },
    ),
    (
        noise.exponential,
        {"scores": DATA, "epsilon": 1, "span": 1},
        {"scores": BAD_TABLES, "epsilon": [*BAD_BUDGETS, None], "span": BAD_NUMBERS + NOT_POSITIVE, "rng": BAD_RNG},
    ),
    (
        noise.quantiles,
        {"values": DATA, "qs": [0.5], "epsilon": 1, "low": 0, "high": 1},
        {
            "values": BAD_TABLES,
            "qs": BAD_QS,
            "epsilon": [*BAD_BUDGETS, None],
            "low": [*BAD_NUMBERS, 1, 2],
            "high": [*BAD_NUMBERS, 0, -1],
            "method": [None, "best", 3],
            "bits": [*BAD_WHOLE, 60],
            "rng": BAD_RNG,
        },
    ),
    (
        noise.quantiles_from_counts,
        {"counts": [1, 2, 3], "qs": [0.5], "epsilon": 1, "low": 0, "high": 1},
        {
            "counts": [None, "abc", 7, [[1]], np.array([0.5]), np.array(["a"])],
            "qs": BAD_QS,
            "epsilon": [*BAD_BUDGETS, None],
            "low": [*BAD_NUMBERS, 1],
            "high": [*BAD_NUMBERS, 0],
            "method": [None, "best"],
            "n_cells": [x for x in BAD_WHOLE if x is not None],
            "cells": [[0], "abc", np.array([0.5, 1, 2])],
        },
    ),
    (
        noise.choose_cuts,
        {"cells": [1, 2, 3], "qs": [0.5], "epsilon": 1, "start": 0, "stop": 8},
        {
            "cells": [None, "abc", np.array([0.5]), [[1]]],
            "qs": BAD_QS,
            "epsilon": [*BAD_BUDGETS, None],
            "stop": BAD_WHOLE,
        },
    ),
    (
        mechanisms.private_categories,
        {"values": ["a"], "persons": [1], "epsilon": 1, "delta": 1e-6},
        {
            "values": ["a", None, 7, np.array([1j]), np.zeros((1, 1), int)],
            "persons": ["a", None, 7, [1, 2], pa.array([b"x"])],
            "epsilon": [*BAD_BUDGETS, None, 1e-9],
            "delta": [*BAD_SHARES, 0, 1],
            "rows": [w for w in BAD_WHOLE if w is not None and w != 2**80],
            "rng": BAD_RNG,
        },
    ),
    (
        mechanisms.private_bounds,
        {"values": DATA, "epsilon": 0.1},
        {"values": BAD_TABLES, "epsilon": [*BAD_BUDGETS, None, 1e-300], "beta": [*BAD_SHARES, 0, 1], "rng": BAD_RNG},
    ),
    (noise.fingerprint, {"values": ["a"], "key": 1}, {"key": [None, -1, "k", 1.5, 2**200], "values": [None, 3]}),
    (
        noise.HashFamily,
        {"n_functions": 2, "width": 8, "key": 1},
        {"n_functions": BAD_WHOLE, "width": [*BAD_WHOLE, 1], "key": [None, -1, "k"], "independence": [0, 1, 1.5, 100]},
    ),
    (dc.Ledger, {"epsilon": 1}, {"epsilon": [*BAD_BUDGETS, None], "rho": [1], "delta": [0, 1, 1.5, "x"]}),
    (dc.Ledger, {"rho": 1, "delta": 1e-6}, {"rho": [*BAD_BUDGETS, None], "delta": [*BAD_SHARES, 0, 1]}),
    (
        LEDGER.spend,
        {"label": "x", "epsilon": 0.1},
        {
            "label": [None, 3, "", "  "],
            "epsilon": [*BAD_BUDGETS, None, 2, math.inf],
            "kind": [None, "both"],
            "rho": [1],
        },
    ),
    (LEDGER.check, {"label": "x", "epsilon": 0.1}, {"label": [None, ""], "epsilon": [*BAD_BUDGETS, 2]}),
    (LEDGER.parallel, {"label": "x"}, {"label": [None, 3, ""]}),
    (dc.Guarantee, {"model": "central"}, {"model": [None, "x"], "unit": [3], "seeded": [1, None], "parameters": [3]}),
    (
        dc.Numeric,
        {"name": "a", "low": 0, "high": 1},
        {
            "name": [None, "", 3, " a"],
            "low": [*BAD_NUMBERS, 1, 2],
            "high": [*BAD_NUMBERS, 0],
            "role": ["x"],
            "missing": ["x"],
        },
    ),
    (
        dc.Categorical,
        {"name": "a", "categories": ["x"]},
        {"categories": [None, 3, "ab", [], [1.5], ["x", "x"], [1, "1"]]},
    ),
    (
        dc.Domain.box,
        {"low": 0, "high": 1},
        {"low": [None, "a", [], math.nan, math.inf, 1], "high": [None, {}, [[1]], 0]},
    ),
    (
        dc.engines.GridMap,
        {"domain": dc.Domain.box([0, 0], 1), "parts": 4},
        {"domain": [None, 3, {}], "parts": [*BAD_WHOLE, (4,), (4, 0), (4, 4, 4), 2**32]},
    ),
    (
        dc.engines.open,
        {"data": np.zeros((2, 2))},
        {
            "data": [
                None,
                3,
                object(),
                "nowhere.csv",
                "table.xlsx",
                np.zeros((2, 2, 2)),
                [],
                {"a": 1},
                {"a": [1], "b": []},
            ]
        },
    ),
    (dc.datasets.patients, {"n": 5}, {"n": BAD_WHOLE[:9], "random_state": ["a", -1, 1.5, None]}),
    (dc.datasets.load, {"name": "s1"}, {"name": [None, 3, "nope"]}),
]

CASES = [
    pytest.param(call, good, name, bad, id=f"{getattr(call, '__qualname__', call)}-{name}-{i}")
    for call, good, bads in CALLS
    for name, values in bads.items()
    for i, bad in enumerate(values)
]


def test_there_are_hundreds_of_them() -> None:
    assert len(CASES) >= 200


@pytest.mark.parametrize(("call", "good", "name", "bad"), CASES)
def test_a_bad_argument_is_named_and_costs_nothing(call: Any, good: dict[str, Any], name: str, bad: Any) -> None:
    before = LEDGER.spent
    with pytest.raises(DiscreetError) as caught:
        call(**{**good, name: bad})
    message = str(caught.value)
    named = {"values": ("values",), "data": ("data", "column"), "cells": ("cells", "counts")}.get(name, (name,))
    assert any(word in message for word in (*named, "bounds", "epsilon", "box", "name", "domain")), message
    assert len(message) < 400
    assert LEDGER.spent == before


@pytest.mark.parametrize("call", [c for c, _, _ in CALLS], ids=lambda c: getattr(c, "__qualname__", str(c)))
def test_the_good_arguments_are_good(call: Any) -> None:
    """So that the cases above fail for their one bad argument and for nothing else."""
    good = next(g for c, g, _ in CALLS if c == call)
    if call == dc.datasets.load and "s1" not in dc.datasets.available():
        return
    if call == LEDGER.spend:
        call = dc.Ledger(epsilon=1).spend
    call(**good)


NASTY_ROWS: list[Any] = [
    [],
    [math.nan] * 3,
    [math.inf, -math.inf, 0.0],
    [1e308, -1e308, 5e-324],
    [0.5],
    [7.0] * 50,
    [-0.0, 0.0],
    [1.0, "x", None, 10**400, -(10**400), object(), b"2", [3], 1j, True],
]


@pytest.mark.parametrize("rows", NASTY_ROWS, ids=range(len(NASTY_ROWS)))
def test_rows_never_raise(rows: list[Any]) -> None:
    noise.quantiles(rows, [0.5], epsilon=1, low=0, high=1, rng=0)
    values = np.array(rows, dtype=object)
    noise.quantiles(values, [0.25, 0.5, 0.75], epsilon=1, low=0, high=1, rng=0)
    noise.quantiles(values, np.linspace(0.02, 0.98, 20).round(3).tolist(), epsilon=1, low=0, high=1, rng=0)
    mechanisms.private_bounds(values, epsilon=1, rng=0)
    if len(values):
        noise.exponential(values, epsilon=1, span=1, rng=0)
    grid = dc.engines.GridMap(dc.Domain({"a": (0, 1)}), 8)
    dc.engines.open(values.reshape(-1, 1)).count(grid)


def test_messages_do_not_quote_rows() -> None:
    secret = 123456.789
    for call in (
        lambda: noise.quantiles([[secret]], [0.5], epsilon=1, low=0, high=1),
        lambda: mechanisms.private_bounds(np.full((2, 2), secret), epsilon=1),
        lambda: dc.engines.open({"a": secret}),
        lambda: dc.engines.open({"a": [secret], "b": []}),
        lambda: dc.engines.open([secret]),
        lambda: dc.Domain.box(0, 1).clamp([[secret, secret]]),
        lambda: dc.Domain([secret]),
        lambda: dc.Domain.box(0, 1).clamp([[secret], [secret, secret]]),
        lambda: noise.randomized_response(np.array([secret]), n_values=2, epsilon=1),
        lambda: noise.exponential([[secret]], epsilon=1, span=1),
        lambda: noise.fingerprint(np.array([secret]), key=1),
    ):
        with pytest.raises(DiscreetError) as caught:
            call()
        assert "123456" not in str(caught.value)
