"""Metric privacy at speed: n-dimensional Laplace noise on arrays and tables, its remap, places on the globe.

    python -m benchmarks.speed.metric [--quick]

Ours draws secure noise, decides every rounding exactly, and writes lattice points. It is set against plain NumPy floats
(ρ g/‖g‖ from a generator that is not secure, nothing rounded), and against one copy of the array, the least that any
program could do. Wall time, the best of several runs, on all cores and on one; beside it the processor's time a row,
which other load on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks._bench import save, seconds, show
from discreet.metric import NDLaplace, SphericalLaplace
from discreet.noise.stream import row_words

#: Columns, and rows of each run.
SIZES = {1: 2_000_000, 2: 2_000_000, 7: 1_000_000, 50: 100_000, 500: 10_000}
#: What this benchmark must show: rows a second at seven columns, on two cores.
TARGET_ROWS, TARGET_COLUMNS = 2_000_000, 7
MIXED = 1_000_000


def plain(rows: np.ndarray, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Do what a user of NumPy would write."""
    n, d = rows.shape
    g = rng.standard_normal((n, d))
    return rows + rng.gamma(d, 1 / rate, (n, 1)) * g / np.linalg.norm(g, axis=1, keepdims=True)


def processor(work: Callable[[], object], repeat: int = 3) -> float:
    """Return the processor's seconds of the best run, all threads together."""
    best = np.inf
    for _ in range(repeat):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return float(best)


def alone(work: Callable[[], object]) -> Callable[[], object]:
    """Let the noise take one core."""

    def run() -> object:
        cores, row_words.os.cpu_count = os.cpu_count, lambda: 1  # type: ignore[attr-defined]
        try:
            return work()
        finally:
            row_words.os.cpu_count = cores  # type: ignore[attr-defined]

    return run


def arrays(shrink: int) -> list[dict[str, Any]]:
    """Time arrays in, arrays out."""
    facts = []
    rng = np.random.default_rng(0)
    for d, size in SIZES.items():
        n = size // shrink
        rows = rng.random((n, d))
        mechanism = NDLaplace(epsilon=2, radius=0.1, domain=(0, 1))
        ours = lambda m=mechanism, x=rows: m.transform(x)  # noqa: E731
        one, both, busy = seconds(alone(ours), repeat=3), seconds(ours), processor(ours)
        copy = seconds(lambda x=rows: x.copy())
        numpy = seconds(lambda x=rows: plain(x, 20.0, rng), repeat=3)
        numpy_busy = processor(lambda x=rows: plain(x, 20.0, rng))
        facts.append(
            {
                "columns": d,
                "rows": n,
                "rows_per_second": n / both,
                "rows_per_second_one_core": n / one,
                "nanoseconds_per_value": both / n / d * 1e9,
                "processor_nanoseconds_per_value": busy / n / d * 1e9,
                "rows_per_processor_second": n / busy,
                "numpy_rows_per_second": n / numpy,
                "numpy_rows_per_processor_second": n / numpy_busy,
                "times_numpy_by_processor": numpy_busy / busy,
                "times_numpy": numpy / both,
                "times_numpy_one_core": numpy / one,
                "times_a_copy": both / copy,
            }
        )
    return facts


def tables(shrink: int) -> list[dict[str, Any]]:
    """Time a table of mixed types, as a data frame and as an Arrow table."""
    n = MIXED // shrink
    rng = np.random.default_rng(1)
    columns = {
        "age": rng.normal(45, 15, n),
        "income": rng.lognormal(10, 0.5, n),
        "height": rng.normal(170, 10, n),
        "region": np.array(["north", "south", "east", "west"])[rng.integers(0, 4, n)],
        "smoker": np.array(["no", "yes"])[rng.integers(0, 2, n)],
    }
    domain = {
        "age": (0, 120), "income": (0, 200_000), "height": (100, 230), "region": ["east", "north", "south", "west"],
        "smoker": ["no", "yes"],
    }  # fmt: skip
    mechanism = NDLaplace(epsilon=2, radius=0.1, domain=domain, category_epsilon=1)
    facts = []
    for name, table in (("pandas", pd.DataFrame(columns)), ("Arrow", pa.table(columns))):
        took = seconds(lambda t=table: mechanism.transform(t), repeat=3)
        busy = processor(lambda t=table: mechanism.transform(t), repeat=2)
        facts.append({"table": name, "rows": n, "rows_per_second": n / took, "by_processor": n / busy})
    return facts


def others(shrink: int) -> list[dict[str, Any]]:
    """Time what comes after the noise, and noise on the globe."""
    n = 200_000 // shrink
    rng = np.random.default_rng(2)
    points = rng.normal(0.5, 0.1, (n // 20, 2))
    prior = rng.normal(0.5, 0.1, (2000, 2))
    bayes = NDLaplace(epsilon=2, radius=0.1, domain=(0, 1), remap="bayes", prior=prior)
    places = np.stack([rng.uniform(-80, 80, n), rng.uniform(-180, 180, n)], axis=1)
    globe = SphericalLaplace(epsilon=1, radius=200)
    jobs = {
        "Bayes remap, 2 columns": (len(points), lambda: bayes.transform(points)),
        "places on the globe": (n, lambda: globe.transform(places)),
    }
    facts = []
    for name, (size, work) in jobs.items():
        took = seconds(work, repeat=3)
        facts.append(
            {"job": name, "rows": size, "rows_per_second": size / took, "by_processor": size / processor(work)}
        )
    return facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    shrink = 10 if parser.parse_args().quick else 1
    by_columns, mixed, further = arrays(shrink), tables(shrink), others(shrink)
    show(
        f"NDLaplace, arrays ({os.cpu_count()} cores)",
        ["columns", "rows/s", "one core", "ns a value", "processor ns", "× NumPy", "× NumPy, processor", "× a copy"],
        [
            [
                f["columns"], f["rows_per_second"], f["rows_per_second_one_core"], f["nanoseconds_per_value"],
                f["processor_nanoseconds_per_value"], f["times_numpy"], f["times_numpy_by_processor"],
                f["times_a_copy"],
            ]
            for f in by_columns
        ],
    )  # fmt: skip
    show("Mixed tables", ["table", "rows", "rows/s", "rows a processor second"], [list(f.values()) for f in mixed])
    show("Further work", ["job", "rows", "rows/s", "rows a processor second"], [list(f.values()) for f in further])
    seven = next(f for f in by_columns if f["columns"] == TARGET_COLUMNS)
    facts = {
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "arrays": by_columns,
        "tables": mixed,
        "further": further,
        "target": {
            "columns": TARGET_COLUMNS,
            "rows_per_second": TARGET_ROWS,
            "reached": seven["rows_per_second"] >= TARGET_ROWS,
            "reached_by_processor_time": seven["rows_per_processor_second"] * (os.cpu_count() or 1) >= TARGET_ROWS,
        },
    }
    save("metric", facts, "numpy", "numba", "pandas", "pyarrow")


if __name__ == "__main__":
    main()
