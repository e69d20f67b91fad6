"""Speed of the synopses: each method over one plain read of the same rows, and against the peers, in one run.

    python -m benchmarks.speed.synopsis [--rows 1500000] [--columns 15]

The table is generated, with the shape of the MetroPT-3 set (1,516,948 rows of 15 readings), on which the published
system ran out of memory. One read is ``X.sum(axis=0)``. Peak memory is that of a process of its own, over the array's.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._bench import save, seconds, show
from discreet import Domain, GridSynopsis, PrivateKMeans, TreeSynopsis

METHODS: dict[str, Any] = {
    "grid 2^15": lambda d: GridSynopsis(1.0, d, 2, random_state=0),
    "grid 4^15, lazy": lambda d: GridSynopsis(1.0, d, 4, random_state=0),
    "grid rugnik": lambda d: GridSynopsis(1.0, d, "rugnik", random_state=0),
    "tree binary": lambda d: TreeSynopsis(1.0, d, "binary", random_state=0),
    "tree privtree": lambda d: TreeSynopsis(1.0, d, "privtree", random_state=0),
    "tree median": lambda d: TreeSynopsis(1.0, d, "median", random_state=0),
    "tree quantile": lambda d: TreeSynopsis(1.0, d, "quantile", random_state=0),
    "tree uniform": lambda d: TreeSynopsis(1.0, d, "uniform", random_state=0),
    "tree density": lambda d: TreeSynopsis(1.0, d, "density", random_state=0),
}


def metro_like(n: int, d: int) -> np.ndarray:
    """Readings of a machine that switches between a few states: correlated, skewed, with constant stretches."""
    rng = np.random.default_rng(0)
    states = rng.normal(0.5, 0.2, (6, d))
    X = states[np.repeat(rng.integers(0, 6, n // 500 + 1), 500)[:n]]
    X += rng.normal(0, 0.03, (n, d))
    return np.clip(X, 0, 1)


def peak(name: str, n: int, d: int) -> float:
    """Return the peak memory of a process that runs one method, over the size of its array."""
    command = [sys.executable, "-m", "benchmarks.speed.synopsis", "--only", name, "--rows", str(n), "--columns", str(d)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.strip().splitlines()[-1])


def run_only(name: str, n: int, d: int) -> None:
    domain = Domain.box([0] * d, 1)
    METHODS[name](domain).fit(metro_like(2000, d))  # compile first: the compiler's own memory is not the method's
    X = metro_like(n, d)
    before, highest, done = resident(), 0, threading.Event()

    def watch() -> None:
        nonlocal highest
        while not done.wait(0.002):
            highest = max(highest, resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    METHODS[name](domain).fit(X)
    done.set()
    watcher.join()
    print((X.nbytes + max(0, highest - before)) / X.nbytes)


def resident() -> int:
    """Return the memory of this process, from the kernel (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def growth() -> list[dict[str, float]]:
    """Time per row of a grid and a tree from 1e5 to 1e7 rows of four columns."""
    rows = []
    domain = Domain.box([0] * 4, 1)
    for n in (100_000, 1_000_000, 10_000_000):
        X = metro_like(n, 4)
        t_grid = seconds(lambda: GridSynopsis(1.0, domain, 16, random_state=0).fit(X), repeat=3)  # noqa: B023
        t_tree = seconds(lambda: TreeSynopsis(1.0, domain, "median", random_state=0).fit(X), repeat=2)  # noqa: B023
        rows.append({"rows": n, "grid_ns_per_row": 1e9 * t_grid / n, "median_tree_ns_per_row": 1e9 * t_tree / n})
    return rows


def empty_cells() -> list[dict[str, float]]:
    """Time of ten-dimensional grids with ever more empty cells."""
    X = metro_like(1_000_000, 10)
    domain = Domain.box([0] * 10, 1)
    rows = []
    for parts in (6, 16, 40):
        t = seconds(lambda: GridSynopsis(1.0, domain, parts, random_state=0).fit(X), repeat=3)  # noqa: B023
        rows.append({"cells": float(parts) ** 10, "seconds": t})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_500_000)
    parser.add_argument("--columns", type=int, default=15)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    n, d = arguments.rows, arguments.columns
    if arguments.only:
        run_only(arguments.only, n, d)
        return
    X, domain = metro_like(n, d), Domain.box([0] * d, 1)
    read = seconds(lambda: X.sum(axis=0))
    lines, facts = [], []
    for name, make in METHODS.items():
        t = seconds(lambda: make(domain).fit(X), repeat=3)  # noqa: B023
        leaves = make(domain).fit(X).synopsis_.n_leaves
        memory = peak(name, n, d)
        lines.append([name, t, t / read, memory, leaves])
        facts.append({"method": name, "seconds": t, "over_read": t / read, "peak_over_array": memory, "leaves": leaves})
    show(f"{n:,} x {d}, one read {read:.3f} s", ["method", "seconds", "over one read", "peak / array", "leaves"], lines)

    t_ours = seconds(lambda: PrivateKMeans(5, epsilon=1.0, domain=domain, random_state=0).fit(X), repeat=3)
    peers = {"discreet, synopsis and clustering": t_ours}
    try:
        from diffprivlib.models import KMeans
    except ImportError:
        print("diffprivlib is not installed: left out")
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = KMeans(5, epsilon=1.0, bounds=(np.zeros(d), np.ones(d)), random_state=0)
            start = time.perf_counter()
            model.fit(X)
            peers["diffprivlib"] = time.perf_counter() - start
    show("private k-means, k = 5", ["library", "seconds", "ratio"], [[m, t, t / t_ours] for m, t in peers.items()])
    scale, cells = growth(), empty_cells()
    show("growth in rows, 4 columns", list(scale[0]), [list(r.values()) for r in scale])
    show("1,000,000 x 10, growth in empty cells", list(cells[0]), [list(r.values()) for r in cells])
    save(
        "synopsis",
        {"rows": n, "columns": d, "read_seconds": read, "methods": facts, "kmeans_seconds": peers}
        | {"growth": scale, "empty_cells": cells},
        "discreet",
        "numpy",
        "numba",
        "diffprivlib",
    )


if __name__ == "__main__":
    main()
