"""How long counting takes, against one plain read of the same data and against a group-by of other libraries.

    python -m benchmarks.speed.engines --rows 20000000

Each figure is the best of three runs. The plain read of an array is ``X.sum(axis=0)``, of a Parquet file going
through the same batches of the same columns. The group-by of the peers does the same job: 64 x 64 cells. The first,
compiling, call is not timed. Other files and databases: `benchmarks.speed.readers`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dc
from discreet.engines import GridMap
from discreet.engines import open as open_table
from discreet.engines.source import BATCH_SIZE

PARTS = 64
GRID = GridMap(dc.Domain({"x": (0, 1), "y": (0, 1)}), PARTS)
FINE = GridMap(dc.Domain({"x": (0, 1), "y": (0, 1)}), 2**20)
RESULTS = Path(__file__).parents[1] / "results" / "engines.json"


def best(action: Callable[[], object], repeats: int = 3) -> float:
    """Return the shortest time of some runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def read_parquet(path: Path) -> None:
    with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
        for _ in file.iter_batches(batch_size=BATCH_SIZE, columns=["x", "y"]):
            pass


def peers(path: Path | None, frame: object) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the same count by group-by, for the libraries that are installed."""
    try:
        import polars as pl
    except ImportError:
        print("polars is not installed: skipped")
    else:
        cells = [(pl.col(c) * PARTS).floor().clip(0, PARTS - 1).cast(pl.Int64).alias(c) for c in ("x", "y")]
        lazy = pl.DataFrame(frame).lazy() if path is None else pl.scan_parquet(path)
        yield "polars", lambda: lazy.select(cells).group_by("x", "y").len().collect(engine="streaming")
    try:
        import duckdb
    except ImportError:
        print("duckdb is not installed: skipped")
    else:
        if path is not None:
            query = f"select floor(x * {PARTS})::int a, floor(y * {PARTS})::int b, count(*) from '{path}' group by a, b"
            yield "duckdb", lambda: duckdb.sql(query).fetchall()


def run(rows: int, folder: Path) -> list[dict[str, object]]:
    rng = np.random.default_rng(0)
    C = rng.random((rows, 2))
    F = np.asfortranarray(C)
    table = pa.table({"x": F[:, 0], "y": F[:, 1], "unused": F[:, 0]})
    parquet = folder / "t.parquet"
    pq.write_table(table, parquet, row_group_size=2**20)
    del table

    found = []

    def measure(name: str, n: int, data: object, grid: GridMap, plain: float, others: dict[str, float]) -> None:
        source = open_table(data)
        source.count(grid)
        seconds = best(lambda: source.count(grid))
        ratio = seconds / plain
        found.append(
            {"data": name, "rows": n, "count_s": seconds, "plain_read_s": plain, "ratio": ratio, "peers_s": others}
        )
        shown = "  ".join(f"{k} {v:.3f}" for k, v in others.items())
        print(f"{name:34}{n:>11,}{seconds:>9.3f}{plain:>9.3f}{ratio:>8.2f}  {shown}")

    print(f"{'data':34}{'rows':>11}{'count s':>9}{'read s':>9}{'ratio':>8}  peers s")
    frame = {"x": F[:, 0], "y": F[:, 1]}
    in_memory = {k: best(f) for k, f in peers(None, frame)}
    plain_c, plain_f = best(lambda: C.sum(axis=0)), best(lambda: F.sum(axis=0))
    measure("array, rows together", rows, C, GRID, plain_c, in_memory)
    measure("array, columns together", rows, F, GRID, plain_f, in_memory)
    measure("array, 2**40 cells", rows, F, FINE, plain_f, {})
    half = F.astype(np.float32)
    measure("array, float32", rows, half, GRID, best(lambda: half.sum(axis=0)), {})
    plain = best(lambda: read_parquet(parquet))
    measure("Parquet", rows, parquet, GRID, plain, {k: best(f) for k, f in peers(parquet, None)})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = run(arguments.rows, Path(folder))
    RESULTS.parent.mkdir(exist_ok=True)
    result = {
        "command": f"python -m benchmarks.speed.engines --rows {arguments.rows}",
        "machine": {"cpu": platform.machine(), "cores": os.cpu_count(), "system": platform.system()},
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "pyarrow": pa.__version__},
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "results": found,
    }
    RESULTS.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
