"""The risk of a raw table, from memory and out of core.

    python -m benchmarks.speed.risk [--rows 1000000] [--spark]

A raw table is the hard case: nearly every row is a class of its own. The table in memory and the files (Parquet with
row groups of 131,072 rows, CSV) take turns, after a round that pays for compilation; a figure is the best of the
rounds. Processor time stands beside the clock's because other jobs on a machine disturb it least. ``--spark`` adds a
frame of the Parquet file on ``local[2]``. All must say the same.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from benchmarks._bench import save, show
from discreet.anonymity import risk

QUASI, SENSITIVE = ["age", "zip", "job", "income", "day"], ["illness"]


def raw(n: int) -> pa.Table:
    rng = np.random.default_rng(0)
    towns = pa.array([f"z{i}" for i in range(20_000)])
    jobs, ills = pa.array([f"j{i}" for i in range(40)]), pa.array([f"i{i}" for i in range(20)])
    return pa.table(
        {
            "age": rng.integers(0, 100, n),
            "zip": towns.take(pa.array(rng.integers(0, len(towns), n))),
            "job": jobs.take(pa.array(rng.integers(0, len(jobs), n))),
            "income": rng.gamma(2.0, 15_000, n),
            "day": rng.integers(0, 3650, n),
            "illness": ills.take(pa.array(rng.integers(0, len(ills), n))),
        }
    )


def best(sources: dict[str, Any], repeat: int) -> dict[str, dict[str, float]]:
    """Return the least time of every source; they take turns, and the first round is not counted."""
    found = {name: {"seconds": np.inf, "processor": np.inf} for name in sources}
    said: dict[str, Any] = {}
    for turn in range(repeat + 1):
        for name, data in sources.items():
            start, busy = time.perf_counter(), time.process_time()
            said[name] = risk(data, QUASI, SENSITIVE).to_dict()
            spent = {"seconds": time.perf_counter() - start, "processor": time.process_time() - busy}
            if turn:
                found[name] = {kind: min(found[name][kind], spent[kind]) for kind in spent}
    first = said.pop("memory")
    if any(report["k"] != first["k"] or report["classes"] != first["classes"] for report in said.values()):
        raise SystemExit("the sources differ")
    if said["Parquet"] != first:
        raise SystemExit("the Parquet file differs from memory")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--spark", action="store_true")
    options = parser.parse_args()
    load, table = os.getloadavg()[0], raw(options.rows)
    with tempfile.TemporaryDirectory() as place:
        pq.write_table(table, Path(place, "raw.parquet"), row_group_size=2**17)
        csv.write_csv(table, Path(place, "raw.csv"))
        sources: dict[str, Any] = {"memory": table, "Parquet": f"{place}/raw.parquet", "CSV": f"{place}/raw.csv"}
        if options.spark:
            from discreet.engines.spark import session

            spark = session("local[2]", spark__sql__shuffle__partitions="4", spark__ui__showConsoleProgress="false")
            spark.sparkContext.setLogLevel("OFF")
            sources["Spark"] = spark.read.parquet(f"{place}/raw.parquet")
        found = best(sources, options.repeat)
    base = found["memory"]
    rows = [
        [name, f["seconds"], f["processor"], f["seconds"] / base["seconds"], f["processor"] / base["processor"]]
        for name, f in found.items()
    ]
    show(
        f"Risk of a raw table of {options.rows:,} rows, five quasi-identifiers",
        ["from", "seconds", "processor, s", "times memory", "processor, times memory"],
        rows,
    )
    facts = {"rows": options.rows, "load": load, "cores": os.cpu_count(), "sources": found}
    save("risk", facts, "discreet", "numpy", "pyarrow", "pyspark")


if __name__ == "__main__":
    main()
