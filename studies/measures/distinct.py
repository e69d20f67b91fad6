"""How far private distinct counts are off, from a hundred items to a hundred million, beside plain HyperLogLog.

    python -m studies.measures.distinct [--seeds 120] [--plain-seeds 10] [--picture]

Writes results/distinct.json and docs/images/distinct.svg. Occupied bits of private bitmaps are drawn from their exact
law (numbers of items per bit are multinomial), so that a hundred million items cost no more than a hundred; coins,
merging and estimates are the library's. HyperLogLog (Apache DataSketches, as many registers as a level has bits) is fed
real items.
``--picture`` only draws the results anew.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import deque
from pathlib import Path
from typing import Any

import datasketches
import numpy as np

from discreet.local import DistinctOverlap, DistinctSketch, FlippedBitmap
from discreet.local.distinct import PatternLaw
from discreet_studies.harness.chart import Chart, Line, Mark, Panel
from studies.measures._measure import RESULTS, save, show

TARGET = Path(__file__).parents[2] / "docs" / "images" / "distinct.svg"
SIZES = tuple(10**power for power in range(2, 9))
EPSILONS = (0.5, 1.0, 2.0, 4.0)
BUCKETS = 4096
#: Two holders: one in five of the items is with both.
SHARED = 0.2


def bitmap(m: DistinctSketch, held: Any, rng: np.random.Generator) -> FlippedBitmap:
    """Return a bitmap whose true bits are given: flipped by the library's own coins, as if items had set them."""
    empty = m.sketch([], rng=int(rng.integers(2**62)))
    true = np.packbits(held.reshape(m.levels, -1), axis=1, bitorder="little")
    return FlippedBitmap(m, empty.rows ^ true, seeded=True)


def published(m: DistinctSketch, n: int) -> float:
    """Return the standard error that the paper states: the inverse root of the information of independent bits."""
    law = PatternLaw(m.rates, m.buckets, np.array([1 / (1 + math.exp(float(m.epsilon)))]))
    return float(1 / math.sqrt(law.information(np.array([float(n)]))[0, 0]))


def private(epsilon: float, n: int, seeds: int) -> dict[str, Any]:
    """Return the errors of one holder's count, of a union (from both bitmaps and merged) and of an intersection."""
    m, rng = DistinctSketch(epsilon, buckets=BUCKETS, key=1), np.random.default_rng([n, int(10 * epsilon)])
    places = np.repeat(m.rates, m.buckets)
    atoms = [n - round(n * (1 + SHARED) / 2), n - round(n * (1 + SHARED) / 2)]
    atoms.append(n - sum(atoms))
    found: dict[str, list[float]] = {name: [] for name in ("count", "union", "merged", "both")}
    inside = 0
    for _ in range(seeds):
        hits = [rng.multinomial(size, places) > 0 for size in atoms]
        whole = bitmap(m, hits[0] | hits[1] | hits[2], rng).estimate()
        low, high = whole.interval(0.95)
        inside += low <= n <= high
        one, two = bitmap(m, hits[0] | hits[2], rng), bitmap(m, hits[1] | hits[2], rng)
        overlap = DistinctOverlap({"one": one, "two": two})
        estimates = whole, overlap.count("one or two"), one.merge(two, rng=int(rng.integers(2**62))).estimate()
        for name, estimate in zip(("count", "union", "merged"), estimates, strict=True):
            found[name].append(estimate.count - n)
        found["both"].append(overlap.count("one and two").count - atoms[2])
    errors = {name: math.sqrt(np.mean(np.square(values))) for name, values in found.items()}
    spread = {name: float(np.std(values)) for name, values in found.items()}
    return {
        "epsilon": epsilon, "n": n, "shared": atoms[2], **errors, "bias": float(np.mean(found["count"])),
        "bias_error": spread["count"] / math.sqrt(seeds), "published": published(m, n), "stated": m.std_error(n),
        "covered": inside / seeds,
    }  # fmt: skip


def plain(seeds: int) -> list[dict[str, float]]:
    """Return the errors of HyperLogLog, every seed with items of its own."""
    missed: dict[int, list[float]] = {n: [] for n in SIZES}
    for seed in range(seeds):
        sketch, done = datasketches.hll_sketch(BUCKETS.bit_length() - 1, datasketches.HLL_8), 0
        for n in SIZES:
            deque(map(sketch.update, range((seed << 40) + done, (seed << 40) + n)), maxlen=0)
            done = n
            missed[n].append(sketch.get_estimate() - n)
    return [{"n": n, "count": math.sqrt(np.mean(np.square(values)))} for n, values in missed.items()]


def draw(facts: dict[str, Any]) -> None:
    """Draw relative errors against the number of items: of a count, and of a union and an intersection."""

    def line(name: str, rows: list[dict[str, Any]], what: str, look: int, dash: str = "solid", of: str = "n") -> Line:
        marks = [Mark(row["n"], 100 * row[what] / row[of]) for row in rows]
        return Line(name, [mark for mark in marks if mark.y > 0.1], look, dash)  # plain sketches are exact while small

    by_budget = {e: [row for row in facts["private"] if row["epsilon"] == e] for e in EPSILONS}
    counts = [line(f"ε = {e:g}", rows, "count", look) for look, (e, rows) in enumerate(by_budget.items())]
    counts.append(line("HyperLogLog, no privacy", facts["plain"], "count", len(counts), "dash"))
    at = by_budget[2.0]
    two = [
        line("union, from both bitmaps", at, "union", 5),
        line("union, merged bitmap", at, "merged", 6, "dash"),
        line("in both (a fifth)", at, "both", 7, of="shared"),
    ]
    labels: dict[str, Any] = {"log_x": True, "log_y": True, "across": [(float(n), _short(n)) for n in SIZES]}
    panels = [
        Panel("different items", "root mean square error, % of the truth", counts, "one holder", **labels),
        Panel("different items of both", "", two, "two holders, ε = 2 each", **labels),
    ]
    chart = Chart("Private distinct counts, 4,096 bits a level", panels)
    for columns, target in ((2, TARGET), (1, TARGET.with_stem(f"{TARGET.stem}-narrow"))):
        target.write_text(chart.image(columns), encoding="utf-8")
        print(target)


def _short(n: int) -> str:
    return f"{n // 1_000_000}M" if n >= 1_000_000 else f"{n // 1000}k" if n >= 1000 else str(n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=120)
    parser.add_argument("--plain-seeds", type=int, default=10)
    parser.add_argument("--picture", action="store_true")
    arguments = parser.parse_args()
    if arguments.picture:
        draw(json.loads((RESULTS / "distinct.json").read_text()))
        return
    start = time.perf_counter()
    facts: dict[str, Any] = {"seeds": arguments.seeds, "plain_seeds": arguments.plain_seeds, "buckets": BUCKETS}
    facts["private"] = [private(epsilon, n, arguments.seeds) for epsilon in EPSILONS for n in SIZES]
    facts["plain"] = plain(arguments.plain_seeds)
    for epsilon in EPSILONS:
        rows = [row for row in facts["private"] if row["epsilon"] == epsilon]
        cells = [
            [f"{r['n']:,}", r["count"] / r["n"], r["count"] / r["published"], r["covered"], r["both"] / r["shared"]]
            for r in rows
        ]
        show(f"ε = {epsilon:g}", ["items", "relative error", "of the published", "covered", "in both"], cells)
    facts["worst_ratio"] = max(row["count"] / row["published"] for row in facts["private"])
    facts["run_seconds"] = time.perf_counter() - start
    save("distinct", facts, "numpy", "datasketches", "discreet")
    draw(facts)


if __name__ == "__main__":
    main()
