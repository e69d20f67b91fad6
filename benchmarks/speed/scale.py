"""Out of core: time per row and memory from 10^5 to 10^8 rows, and private k-means of 10^8 rows on two cores.

    python -m benchmarks.speed.scale --rows 100000000 --folder /tmp/scale

The data set, four columns of doubles, is generated and written in pieces (3.2 GB for 10^8 rows) and removed at the end.
Every figure comes from a process of its own, which tells its peak of memory. A plain read goes through the same files
and columns with Arrow's own threads and does nothing with the rows. Files lie in the page cache, if memory holds them:
that is the hardest case, as a disk only makes the plain read slower.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dc
from benchmarks._bench import save, show

COLUMNS, CLUSTERS, PIECE = 4, 8, 2_000_000
DOMAIN = dc.Domain({f"x{j}": (0, 1) for j in range(COLUMNS)})
GRID = dc.engines.GridMap(DOMAIN, 8)
#: Times of the limits that are stated in docs/scale.md.
FLAT, READS, AUTO_READS, MEMORY = 1.3, 5.0, 6.0, 2.0


def write(folder: Path, rows: int) -> None:
    """Write a mixture of clusters, piece by piece."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(7)
    centers = rng.uniform(0.1, 0.9, (CLUSTERS, COLUMNS))
    for piece, start in enumerate(range(0, rows, PIECE)):
        n = min(PIECE, rows - start)
        points = centers[rng.integers(0, CLUSTERS, n)] + rng.normal(0, 0.04, (n, COLUMNS))
        table = pa.table({f"x{j}": points[:, j] for j in range(COLUMNS)})
        pq.write_table(table, folder / f"part-{piece:04d}.parquet", row_group_size=2**18)
    os.sync()  # or what is still on its way to the disk disturbs the first figures


def plain_read(folder: Path) -> None:
    """Go through all rows."""
    for path in sorted(folder.glob("*.parquet")):
        with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
            for _ in file.iter_batches(batch_size=2**17):
                pass


def count(folder: Path) -> None:
    """Count on a grid."""
    dc.engines.open(str(folder)).count(GRID)


def k_means(folder: Path) -> None:
    """Release private centres: one pass counts a grid, whose sum is the number of rows."""
    grid = dc.GridSynopsis(rule=8)
    dc.PrivateKMeans(CLUSTERS, 1.0, domain=DOMAIN, synopsis=grid, random_state=0).fit(str(folder))


def k_means_auto(folder: Path) -> None:
    """The same with the synopsis that is chosen by itself: of so many rows a grid with means, two passes."""
    dc.PrivateKMeans(CLUSTERS, 1.0, domain=DOMAIN, random_state=0).fit(str(folder))


JOBS: dict[str, Callable[[Path], None]] = {
    "read": plain_read,
    "count": count,
    "k-means": k_means,
    "k-means-auto": k_means_auto,
}


def measure(job: str, folder: Path, repeat: int) -> dict[str, float]:
    """Run a job in a process of its own, after a small one that pays for compilation."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.speed.scale",
        "--job",
        job,
        "--folder",
        str(folder),
        "--repeat",
        str(repeat),
    ]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def peak_memory() -> float:
    """Return the peak of this process in GiB. Not `getrusage`, which begins with that of the parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 2**20


def run_job(job: str, folder: Path, repeat: int) -> None:
    small = folder.parent / f"{folder.name}-warm"
    write(small, 5000)
    JOBS[job](small)
    shutil.rmtree(small)
    start_memory = peak_memory()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        JOBS[job](folder)
        times.append(time.perf_counter() - start)
    peak = peak_memory()
    print(json.dumps({"seconds": min(times), "peak_gib": peak, "grown_gib": peak - start_memory}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10**8)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/discreet-scale"))
    parser.add_argument("--job", choices=list(JOBS))
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    if options.job:
        run_job(options.job, options.folder, options.repeat)
        return
    sizes = [n for n in (10**5, 10**6, 10**7, 10**8) if n <= options.rows]
    table, facts = [], []
    for n in sizes:
        folder = options.folder / str(n)
        write(folder, n)
        repeat = max(3, min(200, 2 * 10**7 // n))  # about as long for every size
        read, counted = (measure(job, folder, repeat) for job in ("read", "count"))
        facts.append({"rows": n, "read": read, "count": counted})
        per_row = counted["seconds"] / n * 1e9
        table.append([n, read["seconds"], counted["seconds"], per_row, counted["peak_gib"], counted["grown_gib"]])
        if n != sizes[-1]:
            shutil.rmtree(folder)
    show("Counting on a grid of 8^4 cells", ["rows", "read s", "count s", "ns/row", "peak GiB", "grown GiB"], table)
    per_row = [row[3] for row in table]
    largest = options.folder / str(sizes[-1])
    clustered = {job: measure(job, largest, 2) for job in ("k-means", "k-means-auto")}
    shutil.rmtree(options.folder)
    base = facts[-1]["read"]["seconds"]
    rows = [[job, f["seconds"], f["seconds"] / base, f["peak_gib"]] for job, f in clustered.items()]
    show(f"Private k-means of {sizes[-1]:.0e} rows x 4", ["job", "seconds", "plain reads", "peak GiB"], rows)
    limits = {
        "time per row, slowest over fastest": [max(per_row) / min(per_row), FLAT],
        "k-means, plain reads": [clustered["k-means"]["seconds"] / base, READS],
        "k-means of its own choice, plain reads": [clustered["k-means-auto"]["seconds"] / base, AUTO_READS],
        "k-means, peak GiB": [clustered["k-means"]["peak_gib"], MEMORY],
    }
    for name, (value, limit) in limits.items():
        print(f"{name}: {value:.2f} (at most {limit}: {'holds' if value <= limit else 'does not hold'})")
    cores = {"cores": os.cpu_count(), "load": os.getloadavg()[0]}
    save("scale", {**cores, "sizes": facts, "k_means": clustered, "limits": limits}, "discreet", "numpy", "pyarrow")


if __name__ == "__main__":
    main()
