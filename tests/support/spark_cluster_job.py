"""Run by `test_spark_cluster`: releases on a cluster of two processes, then one during which a process is killed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import discreet as dc
from discreet.engines.tables.spark import session
from spark_releases import JAVA, NUMBERS, grids, sketches, trees


def main(folder: str, stored: str, marks: str, *names: str) -> None:
    """Print the digests as JSON: of trees by these partitioners, of grids if there are several, of stored reports."""
    spark = session(
        "local-cluster[2,1,1024]",
        spark__sql__shuffle__partitions="2",
        spark__ui__showConsoleProgress="false",
        spark__speculation="true",
        spark__driver__extraJavaOptions=JAVA,
        spark__executor__extraJavaOptions=JAVA,
    )
    spark.sparkContext.setLogLevel("OFF")
    frame = spark.read.parquet(folder).repartition(2, "income").cache()
    facts: dict[str, Any] = {"trees": trees(frame, names), "grids": grids(frame) if len(names) > 1 else {}}
    facts["counts"] = {
        name: mechanism.aggregate(spark.read.parquet(f"{stored}/{name}")).to_bytes().hex()
        for name, mechanism in sketches().items()
        if Path(stored, name).exists()
    }

    def process(batches: Any) -> Any:
        import os
        import signal
        from pathlib import Path

        from pyspark import TaskContext

        context = TaskContext.get()
        daemon = os.getppid()
        for batch in batches:
            yield batch
            if context.partitionId() == 1 and context.attemptNumber() == 0:
                Path(marks, f"failed-{context.taskAttemptId()}").touch()
                raise ValueError("lost")
            if context.partitionId() != 3:
                continue
            try:
                Path(marks, "killed").touch(exist_ok=False)
            except FileExistsError:
                continue
            # The worker's parent is PySpark's daemon, whose parent is the executor.
            executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(executor, signal.SIGKILL)

    executors = spark.range(0, 8, 1, 8).mapInArrow(_executor, "id string").distinct().count()
    weak = frame.repartition(4).mapInArrow(process, frame.schema)
    fit = dc.GridSynopsis(2.0, domain=NUMBERS, random_state=7, rule=12, n_rows=2500).fit
    facts["after_loss"] = fit(weak).synopsis_.digest
    facts["executors"] = executors
    facts["killed"] = len(list(Path(marks).glob("killed")))
    facts["failed"] = len(list(Path(marks).glob("failed-*")))
    spark.stop()
    print(json.dumps(facts))  # noqa: T201


def _executor(batches: Any) -> Any:
    """Yield the process that runs a partition."""
    import os
    import time
    from pathlib import Path

    import pyarrow as pa

    for _ in batches:
        time.sleep(0.3)  # so that no executor does all the work
        parent = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1]
        yield pa.RecordBatch.from_arrays([pa.array([parent])], ["id"])


if __name__ == "__main__":
    main(*sys.argv[1:])
