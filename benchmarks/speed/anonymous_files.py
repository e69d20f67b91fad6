"""Anonymous tables out of core: time per row and level, and memory, of trees grown from files of up to 10^8 rows.

    python -m benchmarks.speed.anonymous_files --rows 100000000 --folder /tmp/anonymous [--write]
    python -m benchmarks.speed.anonymous_files --job file --folder /tmp/anonymous/100000000  # one size, one way

The table has six numeric quasi-identifiers and a sensitive column of eight values; it is a mixture of clusters
(`datasets.mixture`), made and written piece by piece, and removed at the end. A density tree with k = 10 and l = 2 is
grown on it. Every figure comes from a process of its own, which tells its peak of memory, the library included; a small
table before pays for compilation. Up to 10^7 rows the same tree is grown in memory too, and must be the same to the
last cut. A row's levels are the cuts above its leaf. With ``--write`` the table is released to a file as well. Times
are processor time of all threads over the number of cores, which other jobs on the machine disturb least, and elapsed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dc
from benchmarks._bench import save, show
from benchmarks.speed.scale import peak_memory
from discreet.anonymity import DensityTree
from discreet.anonymity.release.spilled import spilled
from discreet.anonymity.release.table import read_table

COLUMNS, CLUSTERS, PIECE = 6, 12, 1_000_000
ILLNESSES = [f"illness {i}" for i in range(8)]
#: What the issue of large tables asks for: nanoseconds per row and level, and GiB.
NANOSECONDS, MEMORY = 30.0, 2.0
#: Rows up to which the tree is grown in memory too.
IN_MEMORY = 10_000_000


def domain() -> dc.Domain:
    quasi = {f"x{j}": {"bounds": [0, 1], "role": "quasi-identifier"} for j in range(COLUMNS)}
    return dc.Domain({**quasi, "illness": {"categories": ILLNESSES, "role": "sensitive"}})


def write(folder: Path, rows: int) -> None:
    """Write the table, piece by piece: clusters that are the same in all, moved by a little noise."""
    folder.mkdir(parents=True, exist_ok=True)
    base = dc.datasets.mixture(min(PIECE, rows), COLUMNS, CLUSTERS)
    low, high = np.array([(c.low, c.high) for c in base.domain]).T
    points = (base.X - low) / (high - low)
    rng = np.random.default_rng(7)
    for piece, start in enumerate(range(0, rows, PIECE)):
        n = min(PIECE, rows - start)
        moved = np.clip(points[:n] + rng.normal(0, 0.03, (n, COLUMNS)), 0, 1).astype(np.float32)
        likely = np.minimum(rng.geometric(0.35, n) - 1 + (moved[:, 0] > 0.5), len(ILLNESSES) - 1)
        illness = pa.DictionaryArray.from_arrays(pa.array(likely.astype(np.int8)), pa.array(ILLNESSES))
        table = pa.table({**{f"x{j}": moved[:, j] for j in range(COLUMNS)}, "illness": illness})
        pq.write_table(table, folder / f"part-{piece:04d}.parquet", row_group_size=2**18)
    os.sync()


def grow(folder: Path, way: str) -> tuple[DensityTree, dict[str, float]]:
    """Fit as `fit` does, and tell how long reading and growth took: elapsed, and processor time per core."""
    model = DensityTree(10, 2, domain=domain())
    marks = [(time.perf_counter(), time.process_time())]

    def mark() -> None:
        marks.append((time.perf_counter(), time.process_time()))

    plan, trees = model._plan(str(folder))
    source = dc.engines.open(str(folder), plan.domain)
    if way == "memory":
        table, tiers = model._ready(source, read_table(source, plan), trees)
        mark()
        model._partition(table, tiers)
    else:
        with spilled(source, plan, model.rules_, model._memory // 2) as rows:
            ready, tiers = model._ready(source, rows, trees)
            mark()
            model._partition(ready, tiers)
    mark()
    names = ("reading", "growth")
    found = {name: b[0] - a[0] for name, a, b in zip(names, marks, marks[1:], strict=False)}
    cores = os.cpu_count() or 1
    found |= {f"{name}_busy": (b[1] - a[1]) / cores for name, a, b in zip(names, marks, marks[1:], strict=False)}
    return model, found


def digest(model: DensityTree) -> str:
    tree, found = model.tree_, hashlib.sha256()
    for array in (tree.column, tree.cut, tree.right, tree.criterion, model.leaf_counts_):
        found.update(np.ascontiguousarray(array, np.int64).tobytes())
    return found.hexdigest()


def run_job(folder: Path, way: str, released: bool) -> None:
    small = folder.parent / f"{folder.name}-{way}-warm"
    write(small, 50_000)
    target = folder.parent / f"{folder.name}-released.parquet"
    model, _ = grow(small, way)
    if released:
        model.transform_file(str(small), target, random_state=0)
    shutil.rmtree(small)
    library = peak_memory()
    model, found = grow(folder, way)
    grown = peak_memory()
    rows = int(model.leaf_counts_.sum())
    levels = float(model.tree_.levels[model.tree_.leaves] @ model.leaf_counts_) / rows
    facts: dict[str, Any] = {
        "rows": rows, "way": way, **found, "levels": levels, "leaves": model.tree_.n_leaves, "digest": digest(model),
        "peak_gib": grown, "library_gib": library,
        "nanoseconds": 1e9 * found["growth"] / rows / levels,
        "nanoseconds_busy": 1e9 * found["growth_busy"] / rows / levels,
    }  # fmt: skip
    if released:
        start = time.perf_counter()
        model.transform_file(str(folder), target, random_state=0)
        facts |= {"writing": time.perf_counter() - start, "peak_with_writing_gib": peak_memory()}
        for file in target.parent.glob(f"{target.name}*"):
            file.unlink()
    print(json.dumps(facts))


def measure(folder: Path, way: str, released: bool) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.speed.anonymous_files", "--job", way, "--folder", str(folder)]
    done = subprocess.run(command + ["--write"] * released, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/discreet-anonymous"))
    parser.add_argument("--write", action="store_true", help="release the table to a file too")
    parser.add_argument("--runs", type=Path, nargs="*", help="what jobs printed that were run one by one, to be shown")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        run_job(given.folder, given.job, given.write)
        return
    rows, found = 1_000_000, []
    if given.runs:
        lines = [line for file in given.runs for line in file.read_text().splitlines()]
        found = [json.loads(line) for line in lines if line.startswith("{")]
    while rows <= given.rows and not given.runs:
        folder = given.folder / str(rows)
        write(folder, rows)
        ways = ("file", "memory")[: 2 if rows <= IN_MEMORY else 1]
        found += [measure(folder, way, given.write and way == "file") for way in ways]
        shutil.rmtree(folder)
        rows *= 10
    by_rows: dict[int, list[dict[str, Any]]] = {}
    for each in found:
        by_rows.setdefault(each["rows"], []).append(each)
    for each in by_rows.values():
        assert len({run["digest"] for run in each}) == 1, "the trees differ"
    ratios = {
        str(n): {"file_over_memory": each[0]["growth_busy"] / each[1]["growth_busy"], "same_tree": True}
        for n, each in by_rows.items()
        if len(each) > 1
    }
    shown = ["rows", "way", "reading", "growth", "levels", "nanoseconds", "nanoseconds_busy", "peak_gib"]
    show("trees from files", shown, [[run[name] for name in shown] for run in found])
    limits = {"nanoseconds": NANOSECONDS, "gib": MEMORY}
    save("anonymous_files", {"runs": found, "ratios": ratios, "limits": limits}, "numpy", "numba", "pyarrow")


if __name__ == "__main__":
    main()
