"""Metric noise beside the mechanisms of the local model at equal total privacy: error of a coordinate.

    python -m studies.measures.metric_rivals [--seeds 20] [--rows 2000]

Rows are uniform in the unit cube. Equal privacy: the total ε of a local mechanism is the level of NDLaplace between the
two farthest corners. The error is the root mean square over rows and coordinates; "clipped" is moved into the box.
"""

from __future__ import annotations

import argparse

import numpy as np

import discreet as dc
from discreet_studies.as_published.laplace import column_laplace
from discreet_studies.nd_laplace.rivals import equal_privacy
from studies.measures._measure import save, show

RIVALS = ("column_laplace", "piecewise", "duchi", "hybrid", "square_wave", "priv_unit")
SETTINGS = [(d, epsilon) for d in (2, 7) for epsilon in (2.0, 7.0, 14.0, 28.0)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rows", type=int, default=2000)
    args = parser.parse_args()
    results = []
    for d, epsilon in SETTINGS:
        domain = dc.Domain.box(np.zeros(d), np.ones(d))
        errors: dict[str, list[float]] = {}
        for seed in range(args.seeds):
            X = np.random.default_rng(seed).uniform(size=(args.rows, d))
            for name in ("nd_laplace", *RIVALS):
                if name == "column_laplace":
                    Z = column_laplace(X, epsilon, domain, seed)
                else:
                    Z = equal_privacy(name, epsilon, domain, seed).transform(X)
                errors.setdefault(name, []).append(_error(Z - X))
                if name in ("nd_laplace", "column_laplace"):
                    errors.setdefault(f"{name}, clipped", []).append(_error(np.clip(Z, 0, 1) - X))
        for name, values in errors.items():
            mean, half = np.mean(values), 1.96 * np.std(values, ddof=1) / np.sqrt(len(values))
            results.append(
                {"columns": d, "epsilon": epsilon, "mechanism": name, "error": float(mean),
                 "interval": [float(mean - half), float(mean + half)], "seeds": len(values), "rows": args.rows}
            )  # fmt: skip
    names = list(dict.fromkeys(r["mechanism"] for r in results))
    by = {(r["columns"], r["epsilon"], r["mechanism"]): r["error"] for r in results}
    rows = [[f"{d} columns, ε = {e:g}", *(by[d, e, n] for n in names)] for d, e in SETTINGS]
    show("Root mean squared error of a coordinate", ["setting", *names], rows)
    save("metric_rivals", {"results": results}, "discreet", "numpy")


def _error(moved: np.ndarray) -> float:
    return float(np.sqrt(np.square(moved).mean()))


if __name__ == "__main__":
    main()
