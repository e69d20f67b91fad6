"""`check` needs no table: it refuses what `fit` refuses before it reads a row, and nothing else."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.anonymity import DensityTree, Generalization, Microaggregation, Mondrian
from discreet.errors import DiscreetError, InvalidArgument, InvalidType

METHODS = (DensityTree, Mondrian, Generalization, Microaggregation)
DRAW = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": DRAW.random(80), "b": DRAW.random(80)})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("domain", [(0, 1), (0, [1, 2]), ([0, 0], np.array([1, 2])), ((0,), [1])], ids=repr)
@pytest.mark.parametrize("named", [{}, {"keep": ["b"]}, {"sensitive": "b"}, {"grid": {"b": 5}}], ids=repr)
def test_a_pair_of_bounds_is_a_domain_to_check_too(method: Any, domain: Any, named: dict[str, Any]) -> None:
    model = method(3, domain=domain, **named)
    model.check()
    model.fit(FRAME)


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        (DensityTree, {"k": 0}),
        (DensityTree, {"k": 3, "l_diversity": 2}),
        (DensityTree, {"k": 3, "criterion": "none"}),
        (DensityTree, {"k": 3, "domain": (1, 0)}),
        (DensityTree, {"k": 3, "domain": ([0, 0, 0], [1, 1])}),
        (DensityTree, {"k": 3, "domain": (0, "x")}),
        (Mondrian, {"k": 3, "suppress": 2}),
        (Mondrian, {"k": 3, "domain": None}),
        (Mondrian, {"k": 3, "domain": (0, [1, 1]), "sensitive": ["a", "b"]}),
        (Generalization, {"k": 3, "widths": {"b": [5, 7]}}),
        (Generalization, {"k": 3, "hierarchies": {"b": "merge"}}),
    ],
)
def test_what_no_table_could_be_released_with_is_refused(method: Any, settings: dict[str, Any]) -> None:
    given = {"domain": (0, 1), **settings}
    with pytest.raises(DiscreetError) as checked:
        method(**given).check()
    with pytest.raises(type(checked.value)):
        method(**given).fit(FRAME)


@pytest.mark.parametrize("rule", [[2, 3], [None, 2], [2, 1]])
def test_parts_that_an_axis_cannot_have(rule: list[Any]) -> None:
    domain = dc.Domain({"a": (0, 1), "c": ["u", "v"]})
    model = dc.GridSynopsis(1.0, domain, rule=rule)
    table = FRAME[["a"]].assign(c="u")
    with pytest.raises((InvalidArgument, InvalidType), match="rule must be") as refused:
        model.check()
    with pytest.raises((InvalidArgument, InvalidType), match="rule must be"):
        model.fit(table)
    suggested = ast.literal_eval(str(refused.value).split("try rule=")[1].rstrip("."))
    model.set_params(rule=suggested).check()
    model.fit(table)
    dc.GridSynopsis(1.0, domain, rule=[2, None]).check()
