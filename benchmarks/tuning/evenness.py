"""The constants of the error of evenness, tried on generated tables: coverage and width of intervals.

    python -m benchmarks.tuning.evenness [--boxes 200]

Wanted: 95 % on the tables together and not much less on any, with intervals as narrow as that allows.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

from benchmarks._bench import save, show
from discreet.synopses.artifact import evenness
from studies.measures import coverage

SLOPES, LUMPS, SHARED = (0.5, 1.0), (0.2, 0.35, 0.5, 0.75), (0.25, 0.5, 0.75)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boxes", type=int, default=200)
    args = parser.parse_args()
    held = [
        (f"{name}, {kind}", domain, rows, made, coverage.drawn(domain, rows, args.boxes, 5))
        for name, domain, rows in coverage.generated()
        for kind, made in coverage.releases(domain, rows, 1).items()
    ]
    results = []
    for slope, lumps, shared in product(SLOPES, LUMPS, SHARED):
        evenness.SLOPE, evenness.LUMPS, evenness.SHARED = slope, lumps, shared
        found = []
        for _, _, rows, made, asked in held:
            made.__dict__.pop("neighbours", None)  # holds what was computed with other constants
            found.append(coverage.measure(len(rows), made, asked))
        covered = [f["coverage"] for f in found]
        least = int(np.argmin(covered))
        width = float(np.exp(np.mean([np.log(f["width"]) for f in found])))
        constants = {"slope": slope, "lumps": lumps, "shared": shared, "pooled": float(np.mean(covered))}
        results.append({**constants, "least": covered[least], "least_table": held[least][0], "width": width})
    results.sort(key=lambda r: r["width"])
    heads = ["slope", "lumps", "shared", "pooled", "least", "least_table", "width"]
    show("Intervals of counts on generated tables", heads, [[r[h] for h in heads] for r in results])
    save("tune_evenness", {"boxes": args.boxes, "results": results}, "discreet", "numpy")


if __name__ == "__main__":
    main()
