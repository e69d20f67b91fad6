"""Wide tables and parities: errors of marginal synopses on tables drawn after the constants were chosen.

    python -m benchmarks.tuning.wide_tables [--seeds 20] [--only "classes,two columns,three of ten"]

*Classes*: 40 columns of 5 categories that depend on six hidden classes, 50,000 rows, with and without a target.
*Two columns*: two whole numbers of 10 values whose sum is even. *Three of ten*: one column is the parity of two others,
seven more are independent. 20,000 rows each. δ = 1e-9. Errors are mean total variations of pairs, or of the parity.
The families are not unseen: tables drawn from the same generators with seed 0 served to build the method.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

import discreet as dc
from benchmarks._bench import RESULTS, save, show
from discreet.core import IntArray
from discreet_studies.synthetic_tables.tables import latent_classes

#: The seed of the tables, first used when the method was complete.
DRAWN = 2026
Found = tuple[IntArray, list[int], list[tuple[int, ...]]]


def classes() -> Found:
    """Return codes (columns by rows), sizes, and the marginals that are compared."""
    return latent_classes(DRAWN), [5] * 40, list(itertools.combinations(range(40), 2))


def two() -> Found:
    rng = np.random.default_rng(DRAWN)
    one = rng.integers(0, 10, 20_000)
    return np.stack([one, rng.integers(0, 5, 20_000) * 2 + one % 2]), [10, 10], [(0, 1)]


def three() -> Found:
    rng = np.random.default_rng(DRAWN)
    one, other = rng.integers(0, 2, 20_000), rng.integers(0, 2, 20_000)
    more = [rng.integers(0, 4, 20_000) for _ in range(7)]
    return np.stack([one, other, one ^ other, *more]), [2] * 3 + [4] * 7, [(0, 1, 2)]


TABLES = {"classes": classes, "two columns": two, "three of ten": three}


def distance(real: IntArray, made: IntArray, sizes: Sequence[int], columns: tuple[int, ...]) -> float:
    """Return the total variation between marginals."""
    cells = [np.ravel_multi_index([x[c] for c in columns], [sizes[c] for c in columns]) for x in (real, made)]
    shares = [np.bincount(c, minlength=int(np.prod([sizes[j] for j in columns]))) / len(c) for c in cells]
    return 0.5 * float(np.abs(shares[0] - shares[1]).sum())


def run(name: str, epsilon: float, target: bool, seed: int) -> dict[str, float]:
    """Release a table once and compare as many synthetic rows."""
    real, sizes, sets = TABLES[name]()
    domain = dc.Domain({f"c{j}": dc.Integer(0, size - 1) for j, size in enumerate(sizes)})
    if name == "classes":
        domain = dc.Domain({f"c{j}": {"categories": list(range(size))} for j, size in enumerate(sizes)})
    start = time.process_time()
    model = dc.MarginalSynopsis(epsilon, domain, delta=1e-9, target="c0" if target else None, random_state=seed)
    made = model.fit(real.T.astype(float)).synopsis_.sample(real.shape[1], rng=seed)
    spent = time.process_time() - start
    codes = np.stack([made[f"c{j}"].to_numpy().astype(np.int64) for j in range(len(sizes))])
    return {"error": float(np.mean([distance(real, codes, sizes, s) for s in sets])), "cpu_seconds": spent}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default=",".join(TABLES))
    args = parser.parse_args()
    kept = RESULTS / "wide_tables.json"
    runs: dict[str, Any] = json.loads(kept.read_text())["runs"] if kept.is_file() else {}
    for name in args.only.split(","):
        for epsilon, target in itertools.product((1.0, 5.0), (False, True) if name == "classes" else (False,)):
            found = [run(name, epsilon, target, seed) for seed in range(args.seeds)]
            errors = np.array([f["error"] for f in found])
            case = f"{name}, ε = {epsilon:g}{', target' if target else ''}"
            half = float(stats.t.ppf(0.975, len(errors) - 1) * errors.std(ddof=1)) / len(errors) ** 0.5
            spent = float(np.mean([f["cpu_seconds"] for f in found]))
            runs[case] = {
                "error": float(errors.mean()),
                "half": half,
                "worst": float(errors.max()),
                "cpu_seconds": spent,
                "seeds": len(errors),
            }
            print(case, runs[case], flush=True)
            save("wide_tables", {"runs": runs}, "numpy")
    columns = ["error", "half", "cpu_seconds", "seeds"]
    show("wide tables and parities", ["case", *columns], [[c, *(r[k] for k in columns)] for c, r in runs.items()])


if __name__ == "__main__":
    main()
