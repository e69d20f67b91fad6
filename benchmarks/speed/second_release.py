"""What a second release about the same people and newcomers can show, by the partition that makes it.

    python -m benchmarks.speed.second_release [--quick]

A release of 20,000 people, and a second one of these and as many newcomers, checked against the first (``history=``):
by the tree as it was, and by a new fit, which begins with the cuts of the first. Newcomers are spread as the others
are, or live where few did. Counted are cells; width is the share of a column's range that a cell leaves open, mean over
columns and people. Results go to results/second_release.json.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from typing import Any

os.environ["OMP_NUM_THREADS"] = os.environ["NUMBA_NUM_THREADS"] = "1"  # before any library reads it

import numpy as np
import pyarrow as pa

from benchmarks._bench import save, show
from discreet import Domain
from discreet.anonymity import DensityTree, Release
from discreet.anonymity.growth import grow
from discreet.core import threads

COLUMNS = 5
NAMES = [f"x{i}" for i in range(COLUMNS)]
ILL = ["flu", "cold", "asthma", "none"]
DOMAIN = Domain(
    {
        "id": {"bounds": [0, 10**9], "role": "identifier"},
        **{name: {"bounds": [0, 1], "role": "quasi-identifier"} for name in NAMES},
        "ill": {"categories": ILL, "role": "sensitive"},
    }
)


def people(n: int, seed: int, start: int = 0, low: float = 0.0, high: float = 1.0) -> pa.Table:
    """Six crowds; those whose first coordinate lies from ``low`` to ``high``."""
    rng, centres = np.random.default_rng(seed), np.random.default_rng(0).random((6, COLUMNS))
    X = np.clip(centres[rng.integers(0, 6, 4 * n)] + rng.normal(0, 0.1, (4 * n, COLUMNS)), 0, 1)
    X = X[(X[:, 0] >= low) & (X[:, 0] <= high)][:n]
    columns = {name: X[:, i] for i, name in enumerate(NAMES)}
    ill = pa.DictionaryArray.from_arrays(rng.choice(4, len(X), p=[0.2, 0.2, 0.1, 0.5]), ILL).cast(pa.string())
    return pa.table({"id": start + np.arange(len(X)), **columns, "ill": ill})


def width(release: Release) -> float:
    cells = release.cells
    steps = np.array([g.n_bins for g in cells.grids])
    return float(((cells.last - cells.first + 1) / steps).mean(axis=1)[cells.of[cells.of >= 0]].mean())


def again(n: int) -> list[dict[str, Any]]:
    rows = []
    for where, low in (("as the others", 0.0), ("where few lived", 0.6)):
        first = people(n, 1) if low == 0 else pa.concat_tables(
            [people(n, 1, high=low), people(n // 50, 2, start=n, low=low)]
        )  # fmt: skip
        both = pa.concat_tables([first, people(n, 3, start=10 * n, low=low)])
        tree = DensityTree(10, domain=DOMAIN).fit(first)
        with tempfile.TemporaryDirectory() as place:
            history = f"{place}/people.history"
            january = tree.transform(first, history=history)
            january.save(f"{place}/january.csv")
            found = {"frozen": tree.transform(both, history=history)}
            found["anew"] = DensityTree(10, domain=DOMAIN).fit_transform(both, history=history)
        facts = {
            name: {"cells": r.cells.n_cells, "width": width(r), "left_out": r.suppressed} for name, r in found.items()
        }
        start = {"cells": january.cells.n_cells, "width": width(january)}
        rows.append({"newcomers": where, "rows": first.num_rows, "new": n, "first": start, **facts})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller tables, nothing saved")
    options = parser.parse_args()
    threads.WORKERS = grow.WORKERS = 1
    load = os.getloadavg()[0]
    releases = again(2_000 if options.quick else 20_000)
    forms = ["first", "frozen", "anew"]
    cells = [[r["newcomers"], *(f"{r[f]['cells']:,} ({r[f]['width']:.3f})" for f in forms)] for r in releases]
    show("A second release: cells (width)", ["newcomers", *forms], cells)
    if not options.quick:
        save("second_release", {"load": load, "second_release": releases}, "numpy", "numba")


if __name__ == "__main__":
    main()
