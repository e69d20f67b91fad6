"""A release follows the options that its cells were grown with, and these are checked as declared."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.anonymity import DensityTree, Generalization, Mondrian
from discreet.errors import DiscreetError, InvalidArgument

DOMAIN = dc.Domain({
    "age": {"bounds": [0, 100], "role": "quasi-identifier"},
    "pay": {"bounds": [0, 100], "role": "quasi-identifier"},
    "ill": {"categories": ["a", "b"], "role": "sensitive"},
})  # fmt: skip
_RNG = np.random.default_rng(0)
TABLE = pa.table({
    "age": _RNG.integers(0, 100, 400), "pay": _RNG.integers(0, 100, 400), "ill": _RNG.choice(["a", "b"], 400)
})  # fmt: skip
CHANGES: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    (DensityTree, {"l_diversity": 2}, {"blind": True}),
    (Mondrian, {"l_diversity": 2}, {"blind": True}),
    (DensityTree, {}, {"supervised": True}),
    (DensityTree, {}, {"criterion": "x", "pruning": "y"}),
    (DensityTree, {}, {"hierarchies": {"age": "merge"}}),
    (Mondrian, {}, {"suppress": 5.0}),
    (Mondrian, {}, {"suppress": math.nan}),
    (Generalization, {"suppress": 0.5}, {"suppress": 1.0, "levels": {"age": 1}}),
]


@pytest.mark.parametrize(("method", "options", "change"), CHANGES)
def test_an_option_that_is_set_after_fit_changes_no_release(
    method: Any, options: dict[str, Any], change: dict[str, Any], tmp_path: Path
) -> None:
    model = method(k=5, domain=DOMAIN, **options).fit(TABLE)

    def promises() -> list[dict[str, Any]]:
        release = model.transform(TABLE, order="input")
        return [release.guarantee.to_dict(), model.transform_file(TABLE, tmp_path / "file.csv").guarantee.parameters]

    before = promises()
    for place in tmp_path.iterdir():
        place.unlink()
    assert before == (model.set_params(**change) and promises())


@pytest.mark.parametrize(
    "wrong",
    [
        {"blind": "no"}, {"blind": 1}, {"supervised": "yes"}, {"t_closeness": 1.5}, {"suppress": -1},
        {"suppress": "0.5"}, {"sensitive": 3}, {"sensitive": [3]}, {"target": ["ill"]}, {"person": 3}, {"keep": 3},
    ],
)  # fmt: skip
def test_options_are_checked_as_declared(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    model = DensityTree(k=5, domain=DOMAIN, **wrong)
    for act in (model.check, lambda: model.fit(TABLE)):
        with pytest.raises(InvalidArgument, match=f"^{name} must be"):
            act()


def test_a_fit_that_fails_leaves_the_options_of_the_last_one() -> None:
    model = Mondrian(k=5, domain=DOMAIN, l_diversity=2).fit(TABLE)
    with pytest.raises(DiscreetError):
        model.set_params(blind=True).fit(TABLE.slice(0, 2))
    assert "cuts" not in model.transform(TABLE).guarantee.parameters
