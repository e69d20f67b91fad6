"""Spark Connect, whose frames have no JVM next to them: the same releases, and the same warning."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from spark_releases import grids, report_table, sketches, table, trees, write_pieces

pytest.importorskip("pyspark", reason="the extra is not installed: pip install 'discreet[spark]'")
pytest.importorskip("grpc", reason="Spark Connect is not installed: pip install 'pyspark[connect]'")
pytestmark = pytest.mark.slow

JOB = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
from discreet.engines.spark.table import provide_java
provide_java()
os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from spark_releases import grids, sketches, trees
from discreet.engines import open
from discreet.engines.spark import unsteady
from discreet.errors import DataSourceError
spark = SparkSession.builder.remote("local[2]").getOrCreate()
frame = spark.read.parquet(sys.argv[1])
found = {"module": type(frame).__module__, "trees": trees(frame, ("binary", "median")), "grids": grids(frame)}
found["counts"] = sketches()["hadamard"].aggregate(spark.read.parquet(sys.argv[2])).to_bytes().hex()
found["unsteady"] = [unsteady(frame), unsteady(frame.withColumn("u", F.rand()))]
spark.stop()
try:
    open(frame)
except DataSourceError as error:
    found["stopped"] = str(error)
print(json.dumps(found))
"""


def test_a_frame_of_spark_connect_gives_the_same_releases(tmp_path: Path) -> None:
    rows, mechanism = table(), sketches()["hadamard"]
    reports, _ = report_table(mechanism)
    folder, stored = write_pieces(rows, tmp_path / "rows"), write_pieces(reports, tmp_path / "reports")
    done = subprocess.run(
        [sys.executable, "-c", JOB, str(folder), str(stored)],
        cwd=Path(__file__).parents[2] / "support",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert "connect" in found["module"]
    assert found["trees"] == trees(rows, ("binary", "median"))
    assert found["grids"] == grids(rows)
    assert found["counts"] == mechanism.aggregate(reports).to_bytes().hex()
    assert found["unsteady"] == [False, True]
    assert "session of this frame has ended" in found["stopped"]
