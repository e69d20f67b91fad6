"""One table, and every seeded release of it that must not depend on where its rows are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dc

DOMAIN = dc.Domain(
    {
        "age": {"bounds": [0, 120], "missing": "own"},
        "income": (0, 100_000),
        "sex": ["f", "m"],
    }
)
NUMBERS = dc.Domain({"age": (0, 120), "income": (0, 100_000)})
#: Short jobs need neither Java's second compiler nor its parallel garbage collectors.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
PARTITIONERS = ("binary", "median", "quantile", "uniform", "privtree", "density")


ROLES = {"age": "quasi-identifier", "income": "quasi-identifier", "sex": "sensitive"}
PEOPLE = {name: {**facts, "role": ROLES[name]} for name, facts in DOMAIN.to_dict().items()}


def anonymous() -> dc.anonymity.DensityTree:
    """Return a method that makes the table anonymous."""
    return dc.anonymity.DensityTree(k=20, l_diversity=2, domain=dc.Domain(PEOPLE))


def table(n: int = 2500) -> pa.Table:
    """Return rows with missing and unreadable values, some beyond the bounds."""
    rng = np.random.default_rng(5)
    income = rng.gamma(2.0, 15_000, n)
    income[::101] = np.nan
    age = pa.array(rng.integers(-5, 130, n), mask=np.arange(n) % 53 == 0)
    sex = rng.choice(["f", "m", "x"], n, p=[0.5, 0.45, 0.05])
    return pa.table({"age": age, "income": income, "sex": sex})


def write_pieces(rows: pa.Table, folder: Path) -> Path:
    """Write a table as several Parquet files of several row groups."""
    folder.mkdir(exist_ok=True)
    for i, start in enumerate(range(0, max(len(rows), 1), 900)):
        pq.write_table(rows.slice(start, 900), folder / f"part-{i}.parquet", row_group_size=250)
    return folder


def trees(data: Any, names: tuple[str, ...] = PARTITIONERS) -> dict[str, str]:
    """Return the digests of trees, one a partitioner, and of one with leaf means."""
    shared: dict[str, Any] = {"n_rows": 2500, "random_state": 7}  # grids buy their number of rows, in one more pass
    found = {
        name: dc.TreeSynopsis(2.0, domain=DOMAIN, partitioner=name, max_depth=2, **shared).fit(data) for name in names
    }
    if "binary" in names:
        means = {"axis": "spread", "leaf_means": True, "max_depth": 1}
        found["means"] = dc.TreeSynopsis(2.0, domain=NUMBERS, **means, **shared).fit(data)
    return {name: tree.synopsis_.digest for name, tree in found.items()}


def grids(data: Any) -> dict[str, str]:
    """Return the digests of grids."""
    settings: dict[str, dict[str, Any]] = {
        "grid": {"rule": 12},
        "adaptive": {"rule": "adaptive", "n_rows": 2500},
        "means": {"rule": 6, "leaf_means": True, "n_rows": 2500},
    }
    return {
        name: dc.GridSynopsis(2.0, domain=NUMBERS, random_state=7, **chosen).fit(data).synopsis_.digest
        for name, chosen in settings.items()
    }


def sketches() -> dict[str, Any]:
    """Return mechanisms whose reports are kept in different ways."""
    return {
        "count-mean": dc.local.CountMeanSketch(epsilon=4, n_hashes=8, width=32, key=7),
        "hadamard": dc.local.HadamardSketch(epsilon=4, n_hashes=8, width=32, key=7),
        "hashing": dc.local.LocalHashing(epsilon=2, key=7),
        "direct": dc.local.DirectResponse(epsilon=2, domain=10),
    }


def report_table(mechanism: Any, n: int = 400) -> tuple[pa.Table, Any]:
    """Return seeded reports as a column of bytes, with two rows that are none, and the reports themselves."""
    values = np.random.default_rng(3).integers(0, 10, n)
    reports = mechanism.encode(values.tolist(), rng=11)
    column = [row.tobytes() for row in reports.rows] + [None, b""]
    return pa.table({"report": pa.array(column, pa.binary())}), reports
