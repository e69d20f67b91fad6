"""Rows left out against single values blanked, in recoded tables: rows kept, and how much of the columns is left open.

    python -m benchmarks.tuning.blanks

`Generalization` with k = 5 on ARX's Adult with its hierarchies, generated people, and the first month of the hospital
of `months.py`. The loss of a row is the mean share of its columns' ranges that it leaves open (NCP); a row that is left
out loses 1. Levels depend on `suppress` alone, so blanks never change the other rows. Results go to
results/blanks.json.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks._bench import save, show
from benchmarks.tuning import months
from discreet import datasets
from discreet.anonymity import Generalization, Hierarchy
from discreet.anonymity.growth.tree import grid_shares
from discreet.datasets import place

SUPPRESS = (0.05, 0.2, 0.5)
ADULT = ("education", "marital-status", "native-country", "occupation", "race", "sex", "workclass")


def tables() -> dict[str, tuple[Any, Any, dict[str, Any]]]:
    """Return tables with their domains and further options."""
    adult, people = datasets.adult(), datasets.people(20_000)
    trees = {n: Hierarchy.from_csv(place(f"arx-adult/hierarchy_{n}.csv.gz", "adult"), header=True) for n in ADULT}
    return {
        "Adult": (adult.table, adult.domain, {"hierarchies": trees, "sensitive": "salary-class"}),
        "people": (people.table, people.domain, {}),
        "hospital": (months.files(months=1)[0][0], months.DOMAIN, {}),
    }


def released(name: str, table: Any, domain: Any, options: dict[str, Any]) -> list[dict[str, Any]]:
    """Release a table with rows left out, and with blanks."""
    found = []
    for suppress in SUPPRESS:
        for blanks in (False, True):
            start = time.perf_counter()
            made = Generalization(5, domain=domain, suppress=suppress, blanks=blanks, **options).fit_transform(table)
            took, cells, told = time.perf_counter() - start, made.cells, made.guarantee.parameters
            points = [grid_shares(grid) for grid in cells.grids]
            open_ = np.mean([p[cells.last[:, j] + 1] - p[cells.first[:, j]] for j, p in enumerate(points)], axis=0)
            lost = np.append(open_, 1.0)[cells.of]  # the last is for rows that are left out
            found.append(
                {
                    "table": name, "rows": len(lost), "suppress": suppress, "blanks": blanks,
                    "left_out": made.suppressed, "blanked": told.get("blanked", 0), "classes": told["cells"],
                    "loss": round(float(lost.mean()), 4),
                    "levels": told["levels"], "seconds": round(took, 2),
                }
            )  # fmt: skip
    return found


def main() -> None:
    found = [row for name, given in tables().items() for row in released(name, *given)]
    columns = [c for c in found[0] if c != "levels"]
    show("Blanks", columns, [[row[c] for c in columns] for row in found])
    save("blanks", {"k": 5, "results": found}, "numpy")


if __name__ == "__main__":
    main()
