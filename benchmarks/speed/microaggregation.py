"""Time microaggregation against anonypyx's MDAV, and blocks against plain MDAV.

    python -m benchmarks.speed.microaggregation [--rows 1000000] [--quick]

The same rows, five columns of numbers, k = 10. anonypyx holds the distances of all pairs, so it is asked for a few
thousand rows only; ours does the same work there, groups and nothing else. Loss is the sum of squares within groups
over that of the table, in units of the columns' standard deviations. Times are processor time of one thread. Results
go to results/microaggregation.json.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks._bench import save, show
from benchmarks.tuning.microaggregation import loss
from discreet.anonymity.masking.grouping import BLOCK_ROWS, Points, mdav_groups, path_groups

K = 10


def rows_of(n: int) -> Points:
    rng = np.random.default_rng(0)
    X = rng.random((6, 5))[rng.integers(0, 6, n)] + rng.normal(0, 0.08, (n, 5))
    return Points(X / X.std(axis=0), np.empty((n, 0), np.int64))


def measured(name: str, points: Points, work: Callable[[], Any]) -> dict[str, Any]:
    start = time.process_time()
    groups = work()
    spent = time.process_time() - start
    share = loss(points, groups) / loss(points, np.zeros(len(points), np.int64))
    return {"rows": len(points), "method": name, "seconds": spent, "loss": share, "k": int(np.bincount(groups).min())}


def anonypyx(points: Points) -> Any:
    import pandas as pd
    from anonypyx.microaggregation import MDAVGeneric

    frame = pd.DataFrame(points.numbers, columns=list("abcde"))
    groups = np.empty(len(points), np.int64)
    for i, rows in enumerate(MDAVGeneric(frame, list("abcde")).partition(K)):
        groups[rows] = i
    return groups


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="smaller tables, nothing saved")
    options = parser.parse_args()
    small, middle, large = (n // (10 if options.quick else 1) for n in (5_000, 100_000, options.rows))
    mdav_groups(rows_of(100), K, 50), path_groups(rows_of(100), K)  # compiled before the clock starts
    found, points = [], rows_of(small)
    found.append(measured("MDAV", points, lambda: mdav_groups(points, K, None)))
    if find_spec("anonypyx") is not None:
        found.append(measured("anonypyx, MDAV-generic", points, lambda: anonypyx(points)))
    for n in (middle, large):
        table = rows_of(n)
        if n <= middle:
            found.append(measured("MDAV", table, lambda table=table: mdav_groups(table, K, None)))
        found.append(measured("MDAV in blocks", table, lambda table=table: mdav_groups(table, K, BLOCK_ROWS)))
        found.append(measured("first component", table, lambda table=table: path_groups(table, K)))
    plain = {r["rows"]: r for r in found if r["method"] == "MDAV"}
    for r in found:
        base = plain.get(r["rows"])
        r["times_slower"] = None if base is None else r["seconds"] / base["seconds"]
        r["times_loss"] = None if base is None else r["loss"] / base["loss"]
    columns = ["method", "rows", "seconds", "times_slower", "loss", "times_loss", "k"]
    show(f"Microaggregation, k = {K}", columns, [["" if r[c] is None else r[c] for c in columns] for r in found])
    if not options.quick:
        facts = {"load": os.getloadavg()[0], "k": K, "block_rows": BLOCK_ROWS, "results": found}
        save("microaggregation", facts, "anonypyx", "numpy", "numba", "pandas")


if __name__ == "__main__":
    main()
