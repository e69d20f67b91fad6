"""Time the anonymity room against mlpack's density trees and pyCANON's measures, in one run.

    python -m benchmarks.speed.anonymity [--rows 1000000] [--quick]

mlpack and pyCANON hold NumPy and pandas at older versions, so they live in an environment of their own (``make
bench-tables``). Results go to results/anonymity.json.

What is compared. Growth: ``DensityTree(5, criterion="cell").fit(X)`` with all that it does (checking the arguments,
reading and binning the array, growing, the leaf of every row) against ``mlpack.det`` on the same rows, with the same
criterion (integrated squared error on the volumes of the cells), at least 5 rows on both sides of a cut and no node of
10 rows or more left uncut for its size (``min_leaf_size=5, max_leaf_size=9``). Ours cuts on a public grid, of 100 steps
a column (the default here) or of 1,024; mlpack's cuts lie anywhere. Ten folds: the same with ``pruning="folds"``
against ``folds=10``. Both have one thread (mlpack by OMP_NUM_THREADS=1), so what is compared is processor time, which
other jobs on the machine disturb least; elapsed time stands beside it in the results. It is the best of several runs,
the two sides by turns, after one run that pays for compilation. All other times are elapsed; "load" is what else the
machine had to do.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before any library reads it

import numpy as np

from benchmarks._bench import save, seconds, show
from discreet import Domain, datasets
from discreet.anonymity import DensityTree, Mondrian, risk
from discreet.anonymity.growth import grow
from discreet.core import threads
from studies.measures.density_quality import _read, generated, leaves_of, our_leaves, ours
from studies.measures.density_quality import peer as peer_tree

HAS_MLPACK, HAS_PYCANON = find_spec("mlpack") is not None, find_spec("pycanon") is not None


def blobs(n: int, d: int, seed: int = 0) -> tuple[Any, Domain]:
    rng = np.random.default_rng(seed)
    centres = rng.random((6, d))
    X = centres[rng.integers(0, 6, n)] + rng.normal(0, 0.08, (n, d))
    return np.clip(X, 0, 1), Domain.box(np.zeros(d), np.ones(d))


@contextmanager
def one_thread() -> Iterator[None]:
    before = threads.WORKERS, grow.WORKERS
    threads.WORKERS = grow.WORKERS = 1
    yield
    threads.WORKERS, grow.WORKERS = before


class Best:
    """The least processor time and the least elapsed time of several runs."""

    def __init__(self) -> None:
        self.busy = self.elapsed = np.inf

    def run(self, work: Callable[[], object]) -> Any:
        start, busy = time.perf_counter(), time.process_time()
        result = work()
        self.elapsed = min(self.elapsed, time.perf_counter() - start)
        self.busy = min(self.busy, time.process_time() - busy)
        return result


def row(job: str, table: str, ours: float, peer: float | None = None, **facts: Any) -> dict[str, Any]:
    ratio = None if peer is None else peer / ours
    return {"job": job, "table": table, "ours": ours, "peer": peer, "times_faster": ratio, **facts}


def growth(n: int, *, folds: bool, rounds: int) -> list[dict[str, Any]]:
    """Time growth on one thread, ours on two grids."""
    X, domain = blobs(n, 5)
    settings = {"criterion": "cell", "pruning": "folds" if folds else None, "random_state": 0}
    models = {grid: DensityTree(5, domain=domain, grid=grid, **settings) for grid in (None, 1024)}
    mine, theirs, leaves = {grid: Best() for grid in models}, Best(), None
    with one_thread():
        for model in models.values():
            model.fit(X)
        for _ in range(rounds):
            for grid, model in models.items():
                for _ in range(3):
                    mine[grid].run(lambda model=model: model.fit(X))
            if HAS_MLPACK:
                found = theirs.run(lambda: det(X, folds))
                leaves = len(leaves_of(_read(next(iter(found["output_model"].get_cpp_params().values())), n)).mass)
    job = "growth and ten folds" if folds else "growth"
    return [
        row(
            f"{job}, grid of {model.tree_.grids[0].levels:,}, one thread",
            f"{n:,} x 5",
            mine[grid].busy,
            theirs.busy if HAS_MLPACK else None,
            elapsed=[mine[grid].elapsed, theirs.elapsed if HAS_MLPACK else None],
            leaves=[model.tree_.n_leaves, leaves],
        )
        for grid, model in models.items()
    ]


def det(X: Any, folds: bool) -> Any:
    import mlpack

    return mlpack.det(training=X, min_leaf_size=5, max_leaf_size=9, skip_pruning=not folds, folds=10)


def large(n: int) -> list[dict[str, Any]]:
    X, domain = blobs(n, 5)
    rows = []
    for criterion in ("cell", "spread"):
        model = DensityTree(5, domain=domain, criterion=criterion)
        model.fit(X[:20_000])
        spent = seconds(lambda model=model: model.fit(X), repeat=1, warm=False)
        rows.append(row(f"growth, {criterion}, {grow.WORKERS} cores", f"{n:,} x 5", spent))
    return rows


def adult() -> list[dict[str, Any]]:
    try:
        records = datasets.adult()
    except OSError:
        records = datasets.people(30_000)
    n = f"{records.table.num_rows:,} x"
    quasi = [c.name for c in records.domain if c.role == "quasi-identifier"]
    secret = [c.name for c in records.domain if c.role == "sensitive"]
    every = Domain({c.name: {**c.to_dict(), "role": "quasi-identifier"} for c in records.domain})
    rows = []
    for columns, domain in ((len(quasi), records.domain), (len(every), every)):
        for model in (DensityTree(5, domain=domain), Mondrian(5, domain=domain)):
            spent = seconds(lambda model=model: model.fit_transform(records.table), repeat=3)
            rows.append(row(f"{records.name}, k = 5, {type(model).__name__}, fit and release", f"{n} {columns}", spent))
    spent = seconds(lambda: risk(records.table, quasi, secret), repeat=5)
    rows.append(
        row(
            f"{records.name}, k, l, t, alpha, beta (ours: all measures)",
            f"{n} {len(quasi)}",
            spent,
            *canon(records.table, quasi, secret),
        )
    )
    return rows


def canon(table: Any, quasi: list[str], secret: list[str]) -> list[float]:
    """Return the time of pyCANON's five measures; they must be equal to ours."""
    if not HAS_PYCANON:
        return []
    from pycanon import anonymity

    frame = table.to_pandas()
    report = risk(table, quasi, secret)
    own = report.sensitive[secret[0]]
    start = time.perf_counter()
    theirs = {
        "k": anonymity.k_anonymity(frame, quasi),
        "l": anonymity.l_diversity(frame, quasi, secret),
        "t": anonymity.t_closeness(frame, quasi, secret),
        "alpha": anonymity.alpha_k_anonymity(frame, quasi, secret)[0],
        "beta": anonymity.basic_beta_likeness(frame, quasi, secret),
    }
    spent = time.perf_counter() - start
    t = own.t_equal if own.t_ordered is None else own.t_ordered
    values = {"k": report.k, "l": own.distinct_l, "t": t, "alpha": own.alpha, "beta": own.beta}
    other = {name: (value, values[name]) for name, value in theirs.items() if not np.isclose(value, values[name])}
    if other:
        raise SystemExit(f"pyCANON and ours differ: {other}")
    return [spent]


def quality(seeds: int, n: int = 2000) -> list[dict[str, Any]]:
    """Return the mean error of the pruned trees where the density is known; density_quality.py has more of it."""
    rows = []
    for name, law in generated().items() if HAS_MLPACK else ():
        found = []
        for seed in range(seeds):
            X = law.draw(n, np.random.default_rng(seed))
            tree = ours(X, np.zeros(law.d), np.ones(law.d), seed)
            found.append((law.error(our_leaves(tree)), law.error(leaves_of(peer_tree(X, pruned=True)))))
        mine, theirs = np.mean(found, axis=0)
        rows.append({"set": name, "rows": n, "seeds": seeds, "ours": float(mine), "mlpack": float(theirs)})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="smaller tables, nothing saved")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    sizes = (5_000,) if options.quick else (10_000, 50_000)
    rows = growth(sizes[-1], folds=False, rounds=5)
    for n in sizes:  # mlpack's folds on 50,000 rows take more than a minute
        rows += growth(n, folds=True, rounds=1 if n > 10_000 else 3)
    rows += [*large(options.rows // (10 if options.quick else 1)), *adult()]
    columns = ["job", "table", "ours", "peer", "times_faster"]
    shown = [["" if r[c] is None else r[c] for c in columns] for r in rows]
    show(f"Anonymous tables: seconds (load {load:.1f})", columns, shown)
    errors = quality(2 if options.quick else 10)
    columns = ["set", "ours", "mlpack"]
    show("Pruned trees: integrated squared error", columns, [[r[c] for c in columns] for r in errors])
    if not options.quick:
        facts = {"load": load, "cores": os.cpu_count(), "seconds": rows, "integrated_squared_error": errors}
        save("anonymity", facts, "mlpack", "pycanon", "numpy", "numba")


if __name__ == "__main__":
    main()
