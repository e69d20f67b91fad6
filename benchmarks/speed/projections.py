"""How the time of private k-means in many dimensions grows with rows and columns, and what memory it takes.

    python -m benchmarks.speed.projections [--repeat 3]

Blobs of ten clusters with a δ. The time is that of the processor, on one thread, the best of several fits; growth is
the slope of its logarithm over that of the rows (at 200 columns) and of the columns (at 20,000 rows): 1 is linear.
Memory is the peak that a fit adds, over the size of the table. Results go to results/projections.json.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from typing import Any

import numpy as np

import discreet as dc
from benchmarks._bench import save, show

ROWS, COLUMNS = (10_000, 20_000, 40_000, 80_000), (50, 100, 200, 400, 800)
FIXED_ROWS, FIXED_COLUMNS = 20_000, 200


def table(n: int, d: int) -> np.ndarray:
    """Return rows around ten centres."""
    rng = np.random.default_rng(0)
    centers = rng.uniform(0.2, 0.8, (10, d))
    return np.clip(rng.normal(centers[rng.integers(10, size=n)], 0.1), 0, 1)


def measured(n: int, d: int, repeat: int) -> dict[str, Any]:
    """Return the time of a fit and the memory that it adds."""
    X = table(n, d)
    model = dc.PrivateKMeans(10, 1.0, dc.Domain.box([0.0] * d, 1.0), delta=1e-6, random_state=1)
    model.fit(X[:2000])  # compiles
    times = []
    for _ in range(repeat):
        start = time.process_time()
        model.fit(X)
        times.append(time.process_time() - start)
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"rows": n, "columns": d, "seconds": min(times), "memory": peak / X.nbytes}


def slope(runs: list[dict[str, Any]], by: str) -> float:
    """Return how steeply the logarithm of time grows."""
    return float(np.polyfit(np.log([r[by] for r in runs]), np.log([r["seconds"] for r in runs]), 1)[0])


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    by_rows = [measured(n, FIXED_COLUMNS, repeat) for n in ROWS]
    by_columns = [measured(FIXED_ROWS, d, repeat) for d in COLUMNS]
    growth = {"rows": slope(by_rows, "rows"), "columns": slope(by_columns, "columns")}
    save("projections", {"by rows": by_rows, "by columns": by_columns, "growth": growth}, "discreet", "numpy", "numba")
    rows = [[f"{r['rows']:,} x {r['columns']}", r["seconds"], r["memory"]] for r in by_rows + by_columns]
    show("Private k-means in many dimensions", ["table", "seconds", "memory over the table's"], rows)
    print(growth)


if __name__ == "__main__":
    main()
