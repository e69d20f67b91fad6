"""The table on which the published run ended without memory: 1,516,948 rows of 15 columns, here an invented mixture.

Each partitioner runs in a process of its own that reads the table from a file: its peak of memory is that of a user who
holds the table, grows one tree and clusters it, the interpreter and its libraries included.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from discreet import datasets
from discreet.clustering import cluster_synopsis, weighted_kmeans
from discreet.core import Domain, FloatArray
from discreet.evaluation import nicv
from discreet.synopses import TreeSynopsis
from discreet_studies.as_published.tree import Levels, parts_of_grid
from discreet_studies.harness.study import Numbers

ROWS, COLUMNS, CLUSTERS = 1_516_948, 15, 5
#: Of the published grids for tables of this size.
EPSILON, DEPTH, THRESHOLD = 1.0, 8, 80
#: Rows on which non-private k-means looks for its start.
_SAMPLE = 50_000


def large_run(partitioner: str, seed: int, rows: int = ROWS) -> Numbers:
    """Grow a tree over a table of this many rows and cluster it; return seconds, megabytes and NICV."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.npy"
        X = datasets.mixture(rows, COLUMNS, CLUSTERS, separation=6, random_state=seed).X
        np.save(file, X)
        call = [sys.executable, "-c", "from discreet_studies.partition_synopsis.large import main; main()"]
        done = subprocess.run([*call, str(file), partitioner, str(seed)], check=True, capture_output=True, text=True)
        found: dict[str, float] = json.loads(done.stdout)
    start = weighted_kmeans(X[:_SAMPLE], np.ones(min(len(X), _SAMPLE)), CLUSTERS).centers
    return {**found, "nicv@baseline": nicv(X, start), "published_blocks": float(published_blocks(X))}


def published_blocks(X: FloatArray) -> int:
    """Return the blocks that the published uniform partitioner makes in its first two levels, noise aside.

    Examples
    --------
    >>> published_blocks(np.repeat([[0.0, 0.0], [0.1, 0.2], [1.0, 1.0]], 500, axis=0))
    12
    """
    n, d = X.shape
    split = Levels.thirds(EPSILON, DEPTH, "geometric", pays_splits=True).split
    low, width = X.min(axis=0), X.max(axis=0) - X.min(axis=0)
    parts = int(parts_of_grid(np.array([(split[0] * n / 10) ** (2 / (2 + d))]), d, "up")[0])
    code = np.zeros(n, np.int64)
    for j in range(d):
        code = code * parts + np.minimum((X[:, j] - low[j]) / width[j] * parts, parts - 1).astype(np.int64)
    counts = np.unique(code, return_counts=True)[1]
    counts = counts[counts > THRESHOLD]
    inner = parts_of_grid((split[1] * counts / 10) ** (2 / (2 + d)), d, "up")
    blocks = parts**d + int((inner**d).sum())
    return int(blocks)


def main() -> None:
    """Grow one tree over the table in a file; write what it took to the standard output."""
    file, partitioner, seed = sys.argv[1:]
    small = datasets.mixture(2000, COLUMNS, CLUSTERS, random_state=1)
    _tree(small.domain, partitioner, 0).fit(small.X)  # what is compiled is not counted
    X = np.load(file)
    domain = Domain.box([0.0] * X.shape[1], [1.0] * X.shape[1])
    start = time.perf_counter()
    synopsis = _tree(domain, partitioner, int(seed)).fit(X).synopsis_
    grown = time.perf_counter()
    centers = cluster_synopsis(synopsis, CLUSTERS, refine=None).centers
    peak = _peak()
    found = {
        "grow_seconds": grown - start,
        "cluster_seconds": time.perf_counter() - grown,
        "table_megabytes": X.nbytes / 1e6,
        "peak_megabytes": peak,
        "leaves": float(synopsis.n_leaves),
        "nicv": nicv(X, centers),
    }
    sys.stdout.write(json.dumps(found))


def _tree(domain: Domain, partitioner: str, seed: int) -> TreeSynopsis:
    return TreeSynopsis(EPSILON, domain, partitioner, max_depth=DEPTH, n_clusters=CLUSTERS, random_state=seed)


def _peak() -> float:
    """Return the most memory that this program has held, in megabytes.

    `getrusage` alone would also count the process that started this one, which made the table.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(t for t in status.read_text(encoding="utf-8").splitlines() if t.startswith("VmHWM:"))
        return float(line.split()[1]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
