"""The constants of the error of evenness, tried on generated tables: coverage and width of intervals of counts.

    python -m benchmarks.tuning.evenness [--boxes 100]

Wanted: the narrowest intervals that cover the truth in 95 % of the cases on every family of tables, less one standard
error of the share measured, asked of grids and of trees (families of three tables or more: one release may be unlucky).
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

from benchmarks._bench import save, show
from discreet.synopses.queries import evenness
from studies.measures import coverage

ALONE, CUT, AXIS = (0.25, 0.5, 1.0), (0.1, 0.25, 0.5), (0.25, 0.5, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boxes", type=int, default=100)
    args = parser.parse_args()
    held = [
        (f"{name.split()[0]}, {kind}", len(rows), made, coverage.drawn(domain, rows, args.boxes, 5))
        for name, domain, rows in coverage.generated()
        for kind, made in coverage.releases(domain, rows, 1).items()
    ]
    results = []
    for alone, cut, axis in product(ALONE, CUT, AXIS):
        evenness.ALONE, evenness.CUT, evenness.AXIS = alone, cut, axis
        families: dict[str, list[float]] = {}
        widths = []
        for family, n_rows, made, asked in held:
            found = coverage.measure(n_rows, made, asked)
            families.setdefault(family, []).append(found["coverage"])
            widths.append(found["width"])
        covered = {family: float(np.mean(parts)) for family, parts in families.items()}
        least = min(covered, key=lambda family: covered[family])
        results.append({
            "alone": alone, "cut": cut, "axis": axis, "pooled": float(np.mean(list(covered.values()))),
            "least": covered[least], "least_family": least, "width": float(np.exp(np.mean(np.log(widths)))),
        })  # fmt: skip
    results.sort(key=lambda r: r["width"])
    heads = ["alone", "cut", "axis", "pooled", "least", "least_family", "width"]
    show("Intervals of counts on generated tables", heads, [[r[h] for h in heads] for r in results])
    allowed = coverage.LEVEL - float(np.sqrt(coverage.LEVEL * (1 - coverage.LEVEL) / (3 * args.boxes)))
    chosen = next((r for r in results if r["least"] >= allowed), None)
    save("tune_evenness", {"boxes": args.boxes, "chosen": chosen, "results": results}, "discreet", "numpy")


if __name__ == "__main__":
    main()
