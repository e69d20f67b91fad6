"""Anonymous tables from a Spark frame, beside bare writes of the same session.

    python -m benchmarks.speed.spark_rows --rows 1000000

The frame is read from Parquet each time, on two cores of one machine (``local[2]``). The bare write is
``frame.write.parquet`` of the same columns; the bare shuffle puts them into random order first (``orderBy(rand())``),
which a release must do too. Ours counts, decides, shuffles, writes, and counts what it has written. Growing a tree on
the frame is timed beside growing it on the same table in memory. Best of some warm runs, which take turns.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dc
from benchmarks._bench import save, show
from benchmarks.speed.spark import best

QUASI = {"bounds": [0, 1], "role": "quasi-identifier"}
DOMAIN = dc.Domain({**{f"x{i}": QUASI for i in range(4)}, "ill": {"categories": list("abcdefgh"), "role": "sensitive"}})


def write(folder: Path, rows: int) -> pa.Table:
    """Write clusters of points with a sensitive value as eight files."""
    rng = np.random.default_rng(3)
    points = np.clip(rng.random((6, 4))[rng.integers(0, 6, rows)] + rng.normal(0, 0.08, (rows, 4)), 0, 1)
    table = pa.table({**{f"x{i}": points[:, i] for i in range(4)}, "ill": rng.choice(list("abcdefgh"), rows)})
    folder.mkdir(parents=True)
    for i in range(8):
        part = table.slice(i * (rows // 8), rows // 8)
        pq.write_table(part, folder / f"{i}.parquet", row_group_size=2**17)
    return table.slice(0, rows // 8 * 8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6])
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    try:
        from discreet.engines.spark import session

        spark = session("local[2]", spark__sql__shuffle__partitions="4", spark__ui__showConsoleProgress="false")
    except ImportError as error:
        print(f"skipped: {error}")
        return
    from pyspark.sql import functions

    spark.sparkContext.setLogLevel("OFF")
    place, load = Path(tempfile.mkdtemp(prefix="discreet-spark-")), os.getloadavg()[0]
    shown, facts = [], []
    try:
        for n in options.rows:
            table = write(place / str(n), n)
            frame, target = spark.read.parquet(str(place / str(n))), place / "out.parquet"
            tree = dc.anonymity.DensityTree(k=10, l_diversity=2, domain=DOMAIN)

            def clean(path: Path = target) -> Any:
                shutil.rmtree(path, ignore_errors=True)
                Path(f"{path}.guarantee.json").unlink(missing_ok=True)
                return str(path)

            grown = dc.anonymity.DensityTree(k=10, l_diversity=2, domain=DOMAIN).fit(table)
            found = best(
                {
                    "bare write": lambda frame=frame: frame.write.parquet(clean()),
                    "bare shuffle and write": lambda frame=frame: frame.orderBy(functions.rand()).write.parquet(
                        clean()
                    ),
                    "transform_file": lambda frame=frame, grown=grown: grown.transform_file(frame, clean()),
                    "transform_file of the same table to one file": lambda table=table, grown=grown: (
                        grown.transform_file(table, f"{clean(place / 'one')}.parquet")
                    ),
                    "fit": lambda frame=frame, tree=tree: tree.fit(frame),
                    "fit in memory": lambda table=table, tree=tree: tree.fit(table),
                },
                options.repeat,
            )
            base = found["bare write"]
            facts.append({"rows": n, "seconds": found, "times_bare": {name: s / base for name, s in found.items()}})
            shown += [[f"{n:.0e} rows, {name}", s, s / base] for name, s in found.items()]
    finally:
        spark.stop()
        shutil.rmtree(place)
    show("Anonymous tables from a Spark frame, local[2]", ["job", "seconds", "times bare write"], shown)
    save("spark_rows", {"load": load, "cores": os.cpu_count(), "sizes": facts}, "discreet", "pyspark", "pyarrow")


if __name__ == "__main__":
    main()
