"""Processor time of the same jobs in two checkouts, in turns: what a change costs.

    git worktree add /tmp/before COMMIT
    python -m benchmarks.speed.checkouts /tmp/before .
    python -m benchmarks.speed.checkouts /tmp/before . --only grid risk --repeat 20

Each checkout runs in a process of its own, with the interpreter and the libraries of this one. A job runs once for
compilation, then `--repeat` times, in turns with the other process; the best run of each counts. The time is that of
all threads together, so that other work on the machine matters little. Jobs that are slower than `--limit` are
measured again, up to three times, and all of their runs count. Nothing is saved: a result is about two checkouts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks._bench import show

ROWS = 1_000_000
#: What a job prepares, and what is timed. Both see `np`, `dc`, `n`, `rng`, `X` (n x 5 in [0, 1]) and `place`.
JOBS = {
    "laplace": ("", "dc.noise.discrete_laplace(1.0, size=n)"),
    "laplace, seeded": ("", "dc.noise.discrete_laplace(10.0, size=n, rng=0)"),
    "gaussian": ("", "dc.noise.discrete_gaussian(10.0, size=n)"),
    "3 quantiles": ("", "dc.noise.quantiles(X[:, 0], [.25, .5, .75], epsilon=1.0, low=0.0, high=1.0, rng=0)"),
    "grid": ("", "dc.GridSynopsis(1.0, box, 16, random_state=0).fit(X)"),
    "binary tree": ("", "dc.TreeSynopsis(1.0, box, 'binary', random_state=0).fit(X)"),
    "median tree": ("", "dc.TreeSynopsis(1.0, box, 'median', random_state=0).fit(X)"),
    "marginals": ("", "dc.MarginalSynopsis(1.0, box, random_state=0).fit(X)"),
    "k-means": ("", "dc.PrivateKMeans(5, epsilon=1.0, domain=box, random_state=0).fit(X)"),
    "density tree": ("Y = X[:n // 5]", "dc.anonymity.DensityTree(10, domain=box).fit(Y)"),
    "density tree, rows": ("m = dc.anonymity.DensityTree(10, domain=box).fit(X[:n // 5])", "m.transform(X[:n // 5])"),
    "mondrian": ("", "dc.anonymity.Mondrian(10, domain=box).fit(X[:n // 5])"),
    "risk": ("t = table(); q = ['a', 'b']", "dc.anonymity.risk(t, q, 'c')"),
    "perturb": ("m = dc.metric.NDLaplace(epsilon=2, radius=0.1, domain=(0, 1))", "m.transform(X)"),
    "Hadamard, encode": ("m = dc.local.HadamardSketch(2, key=7); v = words()", "m.encode(v)"),
    "Hadamard, aggregate": ("m = dc.local.HadamardSketch(2, key=7); r = m.encode(words())", "m.aggregate(r)"),
    "count-mean, encode": ("m = dc.local.CountMeanSketch(2, key=7); v = words()", "m.encode(v)"),
    "count-mean, aggregate": ("m = dc.local.CountMeanSketch(2, key=7); r = m.encode(words())", "m.aggregate(r)"),
    "local hashing": (
        "m = dc.local.LocalHashing(2, key=7); r = m.aggregate(m.encode(words()[:10000])); c = [*map(str, range(1024))]",
        "m.estimate(r, c)",
    ),
    "CSV": ("file = csv()", "dc.GridSynopsis(1.0, named, 16, random_state=0).fit(file)"),
    "Parquet": ("file = parquet()", "dc.GridSynopsis(1.0, named, 16, random_state=0).fit(file)"),
    "persons": ("file = people()", "dc.GridSynopsis(1.0, bounded, 16, random_state=0).fit(file)"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--only", nargs="*", default=[*JOBS], choices=[*JOBS], metavar="JOB", help=", ".join(JOBS))
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--limit", type=float, default=1.05, help="a ratio that is measured again")
    given = parser.parse_args()
    lines = []
    for name in given.only:
        best = [float("inf")] * 2
        for _ in range(4):
            best = [*map(min, best, measure(name, (given.before, given.after), given.rows, given.repeat))]
            if not best[1] > given.limit * best[0]:
                break
        ratio = best[1] / best[0]
        lines.append([name, *best, ratio, "slower" if ratio > given.limit else ""])
        print(*lines[-1], file=sys.stderr, flush=True)
    show(f"{given.rows:,} rows, processor seconds", ["job", "before", "after", "after / before", ""], lines)


def measure(name: str, checkouts: tuple[Path, Path], rows: int, repeat: int) -> list[float]:
    """Return the best processor seconds of a job in each checkout; nan if one of them cannot do it."""
    workers = [start(name, checkout, rows) for checkout in checkouts]
    times: list[list[float]] = [[], []]
    for turn in range(repeat):
        for i in (0, 1) if turn % 2 == 0 else (1, 0):
            times[i].append(ask(workers[i]))
    for worker in workers:
        worker.communicate("")
    return [min(found) for found in times]


def start(name: str, checkout: Path, rows: int) -> subprocess.Popen[str]:
    """Start a process that does a job whenever it gets a line."""
    env = {**os.environ, "PYTHONPATH": str(checkout.resolve() / "src"), "DISCREET_QUIET": "1"}
    command = [sys.executable, "-m", "benchmarks.speed.checkouts", name, str(rows)]
    root = Path(__file__).parents[2]
    return subprocess.Popen(command, env=env, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(worker: subprocess.Popen[str]) -> float:
    """Let a process do its job once; return its processor seconds."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    if worker.poll() is None:
        worker.stdin.write("\n")
        worker.stdin.flush()
    return float(worker.stdout.readline() or "nan")


def work(name: str, rows: int) -> None:
    """Do a job for every line; print the processor seconds of each."""
    with tempfile.TemporaryDirectory() as place:
        names = things(rows, Path(place))
        before, timed = JOBS[name]
        exec(before, names)
        code = compile(timed, name, "eval")
        eval(code, names)
        for _ in sys.stdin:
            began = time.process_time()
            eval(code, names)
            print(time.process_time() - began, flush=True)


def things(n: int, place: Path) -> dict[str, object]:
    """Return what jobs may use."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq

    import discreet as dc

    rng = np.random.default_rng(0)
    X = np.clip(rng.normal(rng.choice([0.3, 0.5, 0.8], (n, 1)), 0.1, (n, 5)), 0, 1)
    columns = {name: X[:, i] for i, name in enumerate("abcd")}

    def written(name: str, write: Callable[..., object], **more: object) -> str:
        write(pa.table({**columns, **more}), place / name)
        return str(place / name)

    def table() -> pa.Table:
        coarse = {name: (X[:, i] * 50).astype(int) for i, name in enumerate("ab")}
        return pa.table({**coarse, "c": np.array(["x", "y", "z"])[rng.integers(0, 3, n)]})

    limits = dict.fromkeys(columns, (0.0, 1.0))
    return {
        "np": np, "dc": dc, "n": n, "rng": rng, "X": X, "place": place, "table": table,
        "box": dc.Domain.box([0] * 5, 1), "named": dc.Domain(limits),
        "bounded": dc.Domain(limits, unit=dc.Person("who", rows=8)),
        "words": lambda: [str(i) for i in np.minimum(rng.zipf(1.5, n), 1000)],
        "csv": lambda: written("rows.csv", pa_csv.write_csv),
        "parquet": lambda: written("rows.parquet", pq.write_table),
        "people": lambda: written("people.parquet", pq.write_table, who=rng.integers(0, n // 10, n)),
    }  # fmt: skip


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] in JOBS:
        work(sys.argv[1], int(sys.argv[2]))
    else:
        main()
