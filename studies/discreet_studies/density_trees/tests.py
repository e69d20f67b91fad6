"""Is a loss of accuracy more than chance? Pairs in place of the published test (`measured.significance`).

The published test compares two proportions as if 100 records had been tested in every table, and as if the two
classifiers had seen different records. Here the number is the true one, and pairs are compared: draw by draw where a
table is drawn anew, fold by fold where one table is dealt out again and again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from discreet_studies.density_trees.published import PRINTED
from discreet_studies.harness.study import Estimate, Results
from discreet_studies.measured.significance import paired

#: Test records over training records of ten folds.
_FOLDS = 1 / 9


def differences(results: Results, name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> list[float]:
    """Return accuracy of one method less that of the other: a draw each, or a fold each of a table that has folds."""
    measures = [f"fold{i}" for i in range(10)] if PRINTED[name].folds else ["accuracy"]
    found = []
    for measure in measures:
        first = results.values(measure, {"set": name, "trees": 10, **one})
        second = results.values(measure, {"set": name, "trees": 10, **other})
        found += [first[key] - second[key] for key in sorted(first, key=_seed) if key in second]
    return found


def compared(results: Results, name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[float, Estimate]:
    """Return p and mean difference of two methods on a table, on the same draws or folds."""
    return paired(differences(results, name, one, other), _FOLDS if PRINTED[name].folds else 0.0)


def _seed(rest: str) -> int:
    return int(json.loads(rest)["seed"])
