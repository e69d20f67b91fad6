"""Marginal synopses: seconds and memory of Adult, of a million rows beside the read of their file, of wide tables.

    python -m benchmarks.speed.marginals [--only adult,rows,wide,widest] [--folder /tmp/discreet-marginals]

Every figure comes from a process of its own, which first releases a small table, so that kernels are compiled, and then
tells its seconds and how much its peak of memory grew. *Counting* is what the passes over rows take, reading included;
*model* is the rest: choice, noise, fit and as many rows as the table has. *Reads* are counting over a plain read, both
in processor time, which other jobs on the machine disturb least. Files are read from the page cache. Generated
tables have columns of mixed kinds of which each depends on an earlier one.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

import discreet as dc
from benchmarks._bench import RESULTS, save, show
from benchmarks.speed.scale import peak_memory
from discreet.engines.source import Source
from discreet_studies.synthetic_tables.tables import absent, table

PIECE = 100_000
#: Name: what is released, rows, columns, the kind of file, ε.
JOBS: dict[str, tuple[str, int, int, str, float]] = {
    "Adult, ε = 1": ("adult", 32_561, 15, "csv", 1.0),
    "Adult, ε = 10": ("adult", 32_561, 15, "csv", 10.0),
    "rows, CSV": ("rows", 1_000_000, 15, "csv", 1.0),
    "rows, Parquet": ("rows", 1_000_000, 15, "parquet", 1.0),
    "wide": ("wide", 100_000, 100, "parquet", 1.0),
    "widest": ("widest", 100_000, 200, "parquet", 1.0),
}


def domain_of(kind: str, columns: int) -> dc.Domain:
    """Return the declared columns: of five, two are whole numbers, one is a number, two are categories."""
    if kind == "adult":
        return table("adult-16").domain
    kinds: list[Any] = [dc.Integer(0, 99), list(range(6)), (0.0, 1.0), list(range(12)), dc.Integer(0, 999)]
    return dc.Domain({f"c{j}": kinds[j % 5] for j in range(columns)})


def generated(rng: np.random.Generator, n: int, columns: int) -> pa.Table:
    """Return rows in which every column copies the rank of an earlier one, blurred, in half of the rows."""
    ranks = [rng.random(n)]
    for j in range(1, columns):
        near = np.clip(ranks[(j - 1) // 2] + rng.normal(0, 0.1, n), 0, 1 - 1e-9)
        ranks.append(np.where(rng.random(n) < 0.5, near, rng.random(n)))
    scales = (100, 6, 1, 12, 1000)
    made = [
        rank**2 if j % 5 == 2 else np.floor(rank**2 * scales[j % 5]).astype(np.int64) for j, rank in enumerate(ranks)
    ]
    return pa.table({f"c{j}": column for j, column in enumerate(made)})


def write(path: Path, job: str, rows: int | None = None) -> None:
    """Write the table of a job, or the first rows of one like it, piece by piece."""
    kind, n, columns, form, _ = JOBS[job]
    n = min(n, rows or n)
    if kind == "adult":
        table("adult-16").train.head(n).to_csv(path, index=False)
        return
    rng = np.random.default_rng(11)
    pieces = [generated(rng, min(PIECE, n - start), columns) for start in range(0, n, PIECE)]
    whole = pa.concat_tables(pieces)
    pq.write_table(whole, path, row_group_size=2**17) if form == "parquet" else csv.write_csv(whole, path)


def read(path: Path) -> None:
    """Go through all rows of a file and do nothing with them."""
    if path.suffix == ".parquet":
        for _ in pq.ParquetFile(path).iter_batches(batch_size=2**17):
            pass
    else:
        for _ in csv.open_csv(path):
            pass


def run_job(job: str, path: Path) -> dict[str, float]:
    """Measure one release, in this process."""
    kind, _, columns, _, epsilon = JOBS[job]
    domain = domain_of(kind, columns)
    target = "income" if kind == "adult" else None
    few = path.with_name(f"few{path.suffix}")
    write(few, job, 1000)
    counting = np.zeros(2)
    plain = Source.marginals

    def timed(self: Source, asked: Any) -> Any:
        start = _clocks()
        found = plain(self, asked)
        counting[:] += _clocks() - start
        return found

    Source.marginals = timed  # type: ignore[method-assign]

    def release(of: Path) -> None:
        model = dc.MarginalSynopsis(epsilon, domain, delta=1e-9, target=target, random_state=0)
        model.fit(str(of)).synopsis_.sample(JOBS[job][1], rng=0)

    release(few)
    times = []
    for _ in range(5):
        begun = _clocks()
        read(path)
        times.append(_clocks() - begun)
    counting[:], before = 0.0, peak_memory()
    start, cpu = time.perf_counter(), time.process_time()
    release(path)
    wall, spent = time.perf_counter() - start, time.process_time() - cpu
    once = np.min(times, axis=0)
    return {
        "read_seconds": float(once[0]),
        "reads": float(counting[1] / once[1]),
        "seconds": wall,
        "cpu_seconds": spent,
        "counting_seconds": float(counting[0]),
        "model_seconds": wall - float(counting[0]),
        "grown_mb": (peak_memory() - before) * 1024,
    }


def _clocks() -> np.ndarray:
    """Return the time of day and the processor time so far, in seconds."""
    return np.array([time.perf_counter(), time.process_time()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", default="adult,rows,wide,widest", help="which tables, or one job; results of others stay"
    )
    parser.add_argument("--folder", type=Path, default=Path("/tmp/discreet-marginals"))
    parser.add_argument("--job", choices=list(JOBS))
    options = parser.parse_args()
    if options.job:
        place = next(options.folder.glob("table.*"))
        print(json.dumps(run_job(options.job, place)))
        return
    kept = RESULTS / "speed_marginals.json"
    found: dict[str, Any] = json.loads(kept.read_text())["jobs"] if kept.is_file() else {}
    for job, (kind, rows, columns, form, _) in JOBS.items():
        wanted = [options.only] if options.only in JOBS else options.only.split(",")
        if not {job, kind} & {*wanted} or (kind == "adult" and "adult-16" in absent()):
            continue
        options.folder.mkdir(parents=True, exist_ok=True)
        write(options.folder / f"table.{form}", job)
        command = [sys.executable, "-m", "benchmarks.speed.marginals", "--job", job, "--folder", str(options.folder)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found[job] = {"rows": rows, "columns": columns, **json.loads(done.stdout.splitlines()[-1])}
        shutil.rmtree(options.folder)
    names = ["read_seconds", "counting_seconds", "model_seconds", "seconds", "cpu_seconds", "grown_mb"]
    show("Marginal synopses", ["table", *names], [[job, *(f[n] for n in names)] for job, f in found.items()])
    save("speed_marginals", {"jobs": found}, "numpy", "numba", "pyarrow")


if __name__ == "__main__":
    main()
