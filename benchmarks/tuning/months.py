"""Six monthly files of a hospital, released one after another with one history: rows left out, cells, their width.

    python -m benchmarks.tuning.months

Each month 1 % of the patients leave, 0.3 % of the stays are cancelled, 0.4 % are corrected, 6 % of the patients come
again and 8 % are new. Files hold all stays, or from the second month on only the new ones. k = 5 counts patients.
`_LEFT_OUT` of `discreet.anonymity.release.together` was chosen with it: 1 leaves out most new patients for narrow
cells, 6 leaves out none of them and merges most cells. Results go to results/months.json.
"""

from __future__ import annotations

import random
import tempfile
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks._bench import save, show
from discreet import Domain
from discreet.anonymity import DensityTree, Generalization, Mondrian
from discreet.anonymity.growth.tree import grid_shares

WARDS = ["surgery", "medicine", "geriatrics", "gynaecology", "paediatrics", "urology"]
TOWNS = [a + b for a in ("010", "011", "012", "013", "014") for b in ("67", "69", "87", "97")]
ILLS = [f"{letter}{i}" for letter in "IJKMS" for i in range(8)]
QUASI: dict[str, Any] = {"role": "quasi-identifier"}
DOMAIN = Domain(
    {
        "patient": {"role": "person"},
        "age": {"bounds": [0, 110], "kind": "integer", **QUASI},
        "sex": {"categories": ["f", "m"], **QUASI},
        "town": {"categories": TOWNS, **QUASI},
        "ward": {"categories": WARDS, **QUASI},
        "ill": {"categories": ILLS, "role": "sensitive"},
        "days": {"bounds": [0, 400], "kind": "integer", "role": "sensitive"},
    }
)


def files(n: int = 2000, months: int = 6, seed: int = 1) -> tuple[list[pa.Table], list[pa.Table]]:
    """Return the files of all months: with all stays, and with the new ones only."""
    rng = random.Random(seed)
    people: dict[int, tuple[Any, ...]] = {}
    stays: list[list[Any]] = []
    born = 0

    def stay(patient: int, month: int) -> None:
        stays.append([patient, rng.choice(WARDS), rng.choice(ILLS), max(1, int(rng.expovariate(0.2))), month])

    def come() -> int:
        nonlocal born
        born += 1
        people[born] = (min(99, max(0, int(rng.gauss(55, 22)))), rng.choice("fm"), rng.choice(TOWNS))
        return born

    def table(month: int = 0) -> pa.Table:
        rows = [[f"P{s[0]:05}", *people[s[0]], *s[1:4]] for s in stays if month in (0, s[4])]
        return pa.table(dict(zip(DOMAIN.names, map(list, zip(*rows, strict=True)), strict=True)))

    for _ in range(n):
        patient = come()
        for _ in range(1 + (rng.random() < 0.2) + (rng.random() < 0.05)):
            stay(patient, 1)
    found = [(table(), table())]
    for month in range(2, months + 1):
        gone = {patient for patient in people if rng.random() < 0.01}
        stays[:] = [s for s in stays if s[0] not in gone and rng.random() > 0.003]
        for patient in gone:
            people.pop(patient)
        for s in stays:
            if rng.random() < 0.004:
                s[2] = rng.choice(ILLS)
        for patient in list(people):
            if rng.random() < 0.06:
                stay(patient, month)
        for _ in range(int(0.08 * n)):
            stay(come(), month)
        found.append((table(), table(month)))
    whole, new = zip(*found, strict=True)
    return list(whole), list(new)


def released(name: str, model: Any, tables: list[pa.Table]) -> list[dict[str, Any]]:
    """Release tables one after another."""
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for month, table in enumerate(tables, 1):
            made = model.fit_transform(table, history=f"{place}/history", random_state=month)
            made.save(f"{place}/{month}.csv")
            told, cells = made.guarantee.parameters, made.cells
            points = [grid_shares(grid) for grid in cells.grids]
            open_ = [p[cells.last[:, j] + 1] - p[cells.first[:, j]] for j, p in enumerate(points)]
            rows.append(
                {
                    "files": name, "month": month, "rows": table.num_rows, "cells": cells.n_cells,
                    "published_before": told.get("left_out_published_before", 0),
                    "never_published": told.get("left_out_never_published", 0),
                    "width": round(float(np.mean(open_, axis=0)[cells.of[cells.of >= 0]].mean()), 4),
                }
            )  # fmt: skip
    return rows


def main() -> None:
    whole, new = files()
    tree = DensityTree(5, domain=DOMAIN)
    found = released("all stays", tree, whole)
    found += released("new stays", tree, new)
    found += released("all stays, max_depth=5", DensityTree(5, domain=DOMAIN, max_depth=5), whole)
    found += released("all stays, Mondrian", Mondrian(5, domain=DOMAIN), whole)
    found += released("all stays, Generalization", Generalization(5, domain=DOMAIN), whole)
    columns = list(found[0])
    show("Six months", columns, [[row[c] for c in columns] for row in found])
    save("months", {"results": found}, "numpy")


if __name__ == "__main__":
    main()
