"""Choose the blocks of microaggregation (`anonymity/masking/grouping.py`), on generated tables only.

    python -m benchmarks.tuning.microaggregation [--rows 100000] [--tables 14] [--minutes 14]

Tables of 2 to 12 columns (`generated.py`), in every third of them some columns turned into categories, are drawn at
random, the same in every run. Each is grouped by plain MDAV and inside blocks of several sizes, at k = 3, 10 and 50.
Figures are geometric means of the sum of squares within groups over that of plain MDAV, with the 95 % interval over
tables and the largest; the table with the most loss is named. Seconds are processor time.

The block in use is the smallest at which no table loses more than 5 %: a number of rows, and of groups where k is
large. Of shares of rows that a cut leaves at least on a side, that in use is kept where others make no difference.
Results go to results/tune_microaggregation.json after every table, and what is there is not measured again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks._bench import RESULTS, save, show
from benchmarks.tuning.generated import Table
from discreet.anonymity.masking import grouping
from discreet.anonymity.masking.grouping import Points, losses, mdav_groups

SHAPES = ("round", "skewed", "heavy", "scores", "tubes", "background", "sparse")
KS = (3, 10, 50)
SIZES = (8192, 16_384, 32_768)
SHARES = (0.02, 0.25)


def tables(number: int, n: int) -> Iterator[tuple[str, Points]]:
    """Yield generated tables as they are compared."""
    rng = np.random.default_rng(2026)
    for i in range(number):
        d, clusters = int(rng.integers(2, 13)), int(rng.integers(3, 20))
        table = Table(SHAPES[i % len(SHAPES)], n, d, clusters, float(rng.choice([3.0, 6.0, 12.0])))
        rows = table.rows()
        coded = d // 2 if i % 3 == 2 else 0
        codes = np.floor(rows[:, :coded] * rng.integers(2, 12, coded)).astype(np.int64)
        yield f"{table.name}, {coded} categorical", Points(np.ascontiguousarray(rows[:, coded:]), codes)


def loss(points: Points, groups: Any) -> float:
    return float(losses(points, groups).sum())


def in_use(k: int) -> int:
    """Return the rows of a block in use, for a table that is cut into blocks."""
    return max(grouping.BLOCK_ROWS, grouping.BLOCK_GROUPS * k)


def timed(points: Points, k: int, block_rows: int | None) -> tuple[float, float]:
    start = time.process_time()
    groups = mdav_groups(points, k, block_rows)
    return loss(points, groups), time.process_time() - start


def run(points: Points, known: dict[tuple[int, str], dict[str, Any]]) -> Iterator[dict[str, Any]]:
    everything, share = loss(points, np.zeros(len(points), np.int64)), grouping.CUT_SHARE
    for k in KS:
        plain = 0.0
        sizes = [None, *sorted({*SIZES, in_use(k)})]
        for size, cut in [*((size, share) for size in sizes), *((in_use(k), c) for c in SHARES if k == 10)]:
            name = "none" if size is None else f"{size:,}" + ("" if cut == share else f", cuts from {cut:g}")
            if (k, name) in known:
                yield known[k, name]
                plain = plain or known[k, name]["loss"] * everything
                continue
            grouping.CUT_SHARE = cut
            found, spent = timed(points, k, size)
            grouping.CUT_SHARE = share
            plain = plain or found
            yield {"k": k, "block": name, "loss": found / everything, "ratio": found / plain, "seconds": spent}


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for k, block in dict.fromkeys((r["k"], r["block"]) for r in rows):
        own = [r for r in rows if (r["k"], r["block"]) == (k, block)]
        logs = np.log([r["ratio"] for r in own])
        half = 1.96 * logs.std(ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else np.inf
        worst = max(own, key=lambda r: float(r["ratio"]))
        found.append(
            {
                "k": k,
                "block": block,
                "tables": len(own),
                "median": float(np.exp(np.median(logs))),
                "ratio": float(np.exp(logs.mean())),
                "low": float(np.exp(logs.mean() - half)),
                "high": float(np.exp(logs.mean() + half)),
                "largest": worst["ratio"],
                "seconds": float(np.mean([r["seconds"] for r in own])),
                "worst_table": worst["table"],
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--tables", type=int, default=14)
    parser.add_argument("--minutes", type=float, default=14)
    options = parser.parse_args()
    start, rows = time.monotonic(), []
    file = RESULTS / "tune_microaggregation.json"
    held = json.loads(file.read_text()) if file.is_file() else {"rows": 0}
    every = held["every"] if held["rows"] == options.rows else []
    for name, points in tables(options.tables, options.rows):
        known = {(r["k"], r["block"]): r for r in every if r["table"] == name}
        if not known and time.monotonic() - start > 60 * options.minutes:
            break
        rows += [{"table": name, **each} for each in run(points, known)]
        done = {r["table"] for r in rows}
        kept = [*rows, *(r for r in every if r["table"] not in done)]
        facts = {
            "rows": options.rows,
            "in_use": {str(k): in_use(k) for k in KS},
            "summary": summary(rows),
            "every": kept,
        }
        save("tune_microaggregation", facts, "numpy", "numba")
    columns = ["block", "k", "median", "ratio", "low", "high", "largest", "seconds"]
    shown = [[r[c] for c in columns] for r in summary(rows)]
    show(f"Loss over that of plain MDAV, {len({r['table'] for r in rows})} tables", columns, shown)


if __name__ == "__main__":
    main()
