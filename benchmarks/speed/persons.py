"""Seconds and memory to bound the rows of persons, against a bare group-by and a bare window, in one run.

    python -m benchmarks.speed.persons [--rows 10000000] [--people 1000000] [--spark 2000000]

The yardsticks, run in turns with ours: in memory, Polars counting rows by the person column; on Spark, a
``row_number`` window over the same column and a filter. Neither chooses uniformly or the same way twice. Memory: the
most that a process of its own holds while it bounds a Parquet file, less what it held before, for twice as many rows of
as many persons.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._bench import save, seconds, show

KEPT = 8
REPEATS = 3


def table(rows: int, people: int, texts: bool = False) -> Any:
    import polars as pl

    rng = np.random.default_rng(0)
    made = pl.DataFrame({"user": rng.integers(0, people, rows), "x": rng.random(rows), "y": rng.random(rows)})
    return made.with_columns(("person-" + pl.col("user").cast(pl.String)).alias("user")) if texts else made


def bound(data: Any) -> int:
    import discreet as dc
    from discreet.engines.persons.bounded import PersonTable

    domain = dc.Domain({"x": (0, 1), "y": (0, 1)}, unit=dc.Person("user", rows=KEPT))
    key = np.arange(8, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    source = PersonTable(dc.engines.open(data, domain), domain.unit, domain, domain, key).bounded(KEPT)
    return int(source.parts[0].size())


def in_memory(rows: int, people: int) -> list[dict[str, Any]]:
    found = []
    for texts in (False, True):
        data = table(rows, people, texts)
        bound(data[:1000])  # kernels are compiled, or read
        pairs = [
            (
                seconds(lambda data=data: data.group_by("user").len(), repeat=1, warm=False),
                seconds(lambda data=data: bound(data), repeat=1, warm=False),
            )
            for _ in range(2 * REPEATS)  # in turns, as other programs come and go
        ]
        bare, ours = (min(times) for times in zip(*pairs, strict=True))
        kind = "text" if texts else "number"
        found.append({"engine": f"Polars frame, person is a {kind}", "rows": rows, "people": people})
        found[-1] |= {"seconds": ours, "yardstick": bare, "ratio": ours / bare}
    return found


def _most_held() -> int:
    """Return the most memory that this process held since the mark was cleared, in kilobytes (Linux)."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def _held(path: str, queue: Any) -> None:
    bound(path.replace("rows", "few"))
    Path("/proc/self/clear_refs").write_text("5")
    before = _most_held()
    bound(path)
    queue.put((_most_held() - before) / 1024)


def memory(rows: int, people: int) -> list[dict[str, Any]]:
    found = []
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        for times in (1, 2):
            path = Path(folder) / f"rows-{times}.parquet"
            table(rows * times, people).write_parquet(path, row_group_size=2**17)
            table(1000, people).write_parquet(Path(folder) / f"few-{times}.parquet")
            queue = context.Queue()
            process = context.Process(target=_held, args=(str(path), queue))
            process.start()
            held = queue.get()
            process.join()
            found.append({"engine": "Parquet file", "rows": rows * times, "people": people, "megabytes": held})
    return found


def on_spark(rows: int, people: int) -> list[dict[str, Any]]:
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    import discreet as dc
    from discreet.engines.persons.bounded import PersonTable
    from discreet.engines.spark import session

    spark = session("local[2]", spark__sql__shuffle__partitions="8", spark__ui__showConsoleProgress="false")
    spark.sparkContext.setLogLevel("OFF")
    domain = dc.Domain({"x": (0, 1), "y": (0, 1)}, unit=dc.Person("user", rows=KEPT))
    key = np.arange(8, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    with tempfile.TemporaryDirectory() as folder:
        table(rows, people).write_parquet(f"{folder}/rows.parquet", row_group_size=2**17)
        frame = spark.read.parquet(f"{folder}/rows.parquet")

        def bare() -> None:
            place = f.row_number().over(Window.partitionBy("user").orderBy("x"))
            kept = frame.withColumn("n", place).where(f"n <= {KEPT}").drop("n")
            kept.write.format("noop").mode("overwrite").save()

        def ours() -> None:
            people = PersonTable(dc.engines.open(frame, domain), domain.unit, domain, domain, key)
            part: Any = people.bounded(KEPT).parts[0]
            part._frame.write.format("noop").mode("overwrite").save()
            part._frame.unpersist(blocking=True)

        times: dict[str, list[float]] = {"bare": [], "ours": []}
        for _ in range(REPEATS + 1):  # the first is not counted: Java and Python start
            for name, run in (("bare", bare), ("ours", ours)):
                start = time.perf_counter()
                run()
                times[name].append(time.perf_counter() - start)
    spark.stop()
    one, two = min(times["ours"][1:]), min(times["bare"][1:])
    return [
        {"engine": "Spark frame", "rows": rows, "people": people, "seconds": one, "yardstick": two, "ratio": one / two}
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--spark", type=int, default=2_000_000)
    given = parser.parse_args()
    found = in_memory(given.rows, given.people) + memory(given.rows, given.people)
    if given.spark:
        found += on_spark(given.spark, given.spark // 10)
    columns = ["engine", "rows", "people", "seconds", "yardstick", "ratio", "megabytes"]
    show("Bounding rows of persons", columns, [[row.get(name, "") for name in columns] for row in found])
    save("rows_of_persons", {"kept": KEPT, "results": found}, "discreet", "polars", "pyspark", "numba")


if __name__ == "__main__":
    main()
