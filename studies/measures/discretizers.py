"""Discretisers of single columns against a k-anonymous density tree: scores of a forest, with a paired test.

    python -m studies.measures.discretizers

Writes results/discretizers.json. Four real tables of the density-tree experiments, k = 10, ten bins, nine folds dealt
ten times (the smallest class of glass has nine records), a forest of ten trees (`compare_discretizers`). Tests are of
accuracy, against the tree, by the corrected resampled t-test with Holm's correction over the five other methods.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from discreet_studies.density_trees.labelled import labelled
from discreet_studies.measured.discretizers import SCORES, compare_discretizers
from studies.measures._measure import save, show

TABLES = ("breast", "glass", "iris", "wine")
SETTING: dict[str, Any] = {"k": 10, "bins": 10, "folds": 9, "repeats": 10, "trees": 10, "random_state": 1}


def main() -> None:
    found = []
    for name in TABLES:
        data = labelled(name)
        compared = compare_discretizers(data.X, data.labels, domain=data.domain, **SETTING)
        rows = []
        for method, each in compared.items():
            told = {"table": name, "records": len(data.X), "method": method, **asdict(each)}
            rows.append(told | {"p": None if math.isnan(each.p) else each.p})
        show(
            name,
            ["method", *SCORES, "difference", "p"],
            [[r["method"], *(r[s]["mean"] for s in (*SCORES, "difference")), r["p"]] for r in rows],
        )
        found += rows
    save("discretizers", {"setting": SETTING, "rows": found}, "numpy", "scikit-learn")


if __name__ == "__main__":
    main()
