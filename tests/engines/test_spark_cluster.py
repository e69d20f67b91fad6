"""Separate executors, one of which is killed in the middle of a job: the releases are those of an array."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dc
from spark_releases import NUMBERS, PARTITIONERS, grids, report_table, sketches, table, trees, write_pieces

pytest.importorskip("pyspark", reason="the extra is not installed: pip install 'discreet[spark]'")


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_two_executors_and_the_loss_of_one_change_no_release(every: bool, tmp_path: Path) -> None:
    """One release of each room, or every kind there is: those of one room differ in what `test_spark` tells apart."""
    names = PARTITIONERS if every else ("density",)
    rows, stored = table(), tmp_path / "reports"
    stored.mkdir()
    folder = write_pieces(rows, tmp_path / "rows")
    expected = {}
    for name, mechanism in list(sketches().items())[: None if every else 1]:
        reports, _ = report_table(mechanism)
        write_pieces(reports, stored / name)
        expected[name] = mechanism.aggregate(reports).to_bytes().hex()
    job = Path(__file__).parents[1] / "support" / "spark_cluster_job.py"
    done = subprocess.run(
        [sys.executable, str(job), str(folder), str(stored), str(tmp_path), *names],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["executors"] == 2
    assert found["trees"] == trees(rows, names)
    assert found["grids"] == (grids(rows) if every else {})
    assert found["counts"] == expected
    # The job during which an executor was killed and a task failed.
    assert found["killed"] == 1
    assert found["failed"] >= 1
    settings = {"domain": NUMBERS, "random_state": 7, "rule": 12, "n_rows": 2500}
    assert found["after_loss"] == dc.GridSynopsis(2.0, **settings).fit(rows).synopsis_.digest
