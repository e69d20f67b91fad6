"""Time the anonymity room against mlpack's density trees and pyCANON's measures, in one run.

    python benchmarks/anonymity.py [--rows 1000000] [--quick]

mlpack and pyCANON hold NumPy and pandas at older versions, so they live in an environment of their own (``make
bench-tables``). One thread for mlpack (OMP_NUM_THREADS=1), as for our growth. Results go to results/anonymity.json.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before any library reads it

import numpy as np

from _bench import save, seconds, show
from discreet import Domain, datasets
from discreet.anonymity import DensityTree, Mondrian, risk


def blobs(n: int, d: int, seed: int = 0) -> tuple[Any, Domain]:
    rng = np.random.default_rng(seed)
    centres = rng.random((6, d))
    X = centres[rng.integers(0, 6, n)] + rng.normal(0, 0.08, (n, d))
    return np.clip(X, 0, 1), Domain.box(np.zeros(d), np.ones(d))


def growth(quick: bool) -> list[list[Any]]:
    X, domain = blobs(10_000 if quick else 50_000, 5)
    rows = []
    for name, pruning in (("growth", None), ("growth and ten folds", "folds")):
        model = DensityTree(5, domain=domain, grid=1024, criterion="cell", pruning=pruning, random_state=0)
        ours = seconds(lambda model=model: model.fit(X), repeat=3)
        rows.append([name, f"{len(X):,} x 5", ours, *peer(X, skip=pruning is None, ours=ours)])
    return rows


def peer(X: Any, *, skip: bool, ours: float) -> list[Any]:
    try:
        import mlpack
    except ImportError:
        return ["mlpack not installed", ""]
    start = time.perf_counter()
    mlpack.det(training=X, min_leaf_size=5, max_leaf_size=9, skip_pruning=skip, folds=10)
    taken = time.perf_counter() - start
    return [taken, taken / ours]


def large(n: int) -> list[list[Any]]:
    X, domain = blobs(n, 5)
    rows = []
    for criterion in ("cell", "spread"):
        model = DensityTree(5, domain=domain, grid=1024, criterion=criterion)
        start = time.perf_counter()
        model.fit(X)
        rows.append([f"growth, {criterion}", f"{n:,} x 5", time.perf_counter() - start, "", ""])
    return rows


def adult() -> list[list[Any]]:
    try:
        records = datasets.adult()
    except OSError:
        records = datasets.people(30_000)
    rows = []
    size = f"{records.table.num_rows:,} x {len(records.domain) - 1}"
    for model in (DensityTree(5, domain=records.domain), Mondrian(5, domain=records.domain)):
        taken = seconds(lambda model=model: model.fit_transform(records.table), repeat=3)
        rows.append([f"{records.name}, k = 5, {type(model).__name__}", size, taken, "", ""])
    quasi = [c.name for c in records.domain if c.role == "quasi-identifier"]
    secret = [c.name for c in records.domain if c.role == "sensitive"]
    ours = seconds(lambda: risk(records.table, quasi, secret), repeat=5)
    rows.append([f"{records.name}, all risk measures", size, ours, *canon(records.table, quasi, secret, ours)])
    return rows


def canon(table: Any, quasi: list[str], secret: list[str], ours: float) -> list[Any]:
    try:
        from pycanon import anonymity
    except ImportError:
        return ["pyCANON not installed", ""]
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
    taken = time.perf_counter() - start
    t = own.t_equal if own.t_ordered is None else own.t_ordered
    ours_values = {"k": report.k, "l": own.distinct_l, "t": t, "alpha": own.alpha, "beta": own.beta}
    for name, value in theirs.items():
        if not np.isclose(value, ours_values[name], rtol=1e-6):
            print(f"  {name}: pyCANON {value}, ours {ours_values[name]}")
    return [taken, taken / ours]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="smaller tables")
    options = parser.parse_args()
    rows = [*growth(options.quick), *large(options.rows // (10 if options.quick else 1)), *adult()]
    show("Anonymous tables: seconds", ["job", "table", "ours", "peer", "times faster"], rows)
    if not options.quick:
        keys = ("job", "table", "ours", "peer", "times_faster")
        save(
            "anonymity", {"seconds": [dict(zip(keys, row, strict=True)) for row in rows]}, "mlpack", "pycanon", "numpy"
        )


if __name__ == "__main__":
    main()
