"""Measure what the cells of an anonymous table tell to an attacker who knows the algorithm, and what not telling costs.

    python -m studies.measures.minimality [--seeds 30] [--deals 600]

*Leak*: small generated tables, two quasi-identifiers and a sensitive column drawn independently of them, so that the
attack of `discreet.evaluation.minimality` computes the exact posterior. *Price*: larger tables; the width of the cells
(share of a column's range that a cell leaves open, mean over columns and rows) with l or t inside the growth, and with
blind cuts at several k, with the share of the tables that blind cuts pass. Intervals are 95 % over seeds. Results go to
results/minimality.json.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import stats

from discreet import Domain
from discreet.anonymity import DensityTree, Mondrian
from discreet.errors import InvalidArgument
from discreet_studies.measured.minimality import minimality_attack
from studies.measures._measure import save, show

VALUES, SHARES = ["a", "b", "c"], [0.7, 0.2, 0.1]
METHODS = {"DensityTree": DensityTree, "Mondrian": Mondrian}
RULES = {"l = 2": {"l_diversity": 2}, "t = 0.3": {"t_closeness": 0.3}}
SMALL_ROWS, SMALL_K = 24, 3
LARGE_ROWS, LARGE_K, LADDER = 3000, 10, (10, 20, 40, 80, 160)


def domain(steps: int) -> Domain:
    quasi = {"bounds": [0, steps], "role": "quasi-identifier"}
    return Domain({"x": quasi, "y": quasi, "s": {"categories": VALUES, "role": "sensitive"}})


def table(rows: int, steps: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    places = rng.integers(0, steps, (2, rows)).astype(float)
    return pa.table({"x": places[0], "y": places[1], "s": rng.choice(VALUES, rows, p=SHARES)})


def interval(found: list[float]) -> dict[str, float]:
    mean, n = float(np.mean(found)), len(found)
    half = float(stats.t.ppf(0.975, n - 1) * np.std(found, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    return {"mean": mean, "low": mean - half, "high": mean + half}


def leak(seeds: int, deals: int) -> list[dict[str, Any]]:
    facts = []
    for method, kind in METHODS.items():
        for rule, settings in RULES.items():
            for blind in (False, True):
                found = []
                for seed in range(seeds):
                    model = kind(SMALL_K, domain=domain(16), blind=blind, **settings)
                    try:
                        found.append(
                            minimality_attack(
                                model,
                                table(SMALL_ROWS, 16, seed),
                                deals=deals,
                                random_state=np.random.default_rng(seed),
                            )
                        )
                    except InvalidArgument:  # the table as a whole, or blind cells, do not keep the rule
                        continue
                figures = [f.to_dict() for f in found]
                names = ("baseline", "attacker", "advantage", "worst", "right", "right_by_cell", "certain", "accepted")
                facts.append(
                    {"method": method, "rule": rule, "blind": blind, "tables": len(found), "of": seeds}
                    | {name: interval([f[name] for f in figures]) for name in names if len(figures) > 1}
                    | {"largest_advantage": max((f["advantage"] for f in figures), default=None)}
                    | {"with_certain_rows": float(np.mean([f["certain"] > 0 for f in figures])) if figures else None}
                )
                print(facts[-1], flush=True)
    return facts


def width(release: Any) -> float:
    cells = release.cells
    spans = (cells.last - cells.first + 1) / np.array([grid.n_bins for grid in cells.grids])
    return float(spans.mean(axis=1)[cells.of[cells.of >= 0]].mean())


def price(seeds: int) -> list[dict[str, Any]]:
    facts = []
    for method, kind in METHODS.items():
        for rule, settings in RULES.items():
            tables = [table(LARGE_ROWS, 100, 1000 + seed) for seed in range(seeds)]
            inside = [width(kind(LARGE_K, domain=domain(100), **settings).fit_transform(t)) for t in tables]
            ladder = []
            for k in LADDER:
                passed = []
                for rows in tables:
                    try:
                        passed.append(width(kind(k, domain=domain(100), blind=True, **settings).fit_transform(rows)))
                    except InvalidArgument:
                        continue
                share = len(passed) / seeds
                ladder.append({"k": k, "passed": share, "width": interval(passed) if len(passed) > 1 else None})
            facts.append({"method": method, "rule": rule, "k": LARGE_K, "width": interval(inside), "blind": ladder})
            print(facts[-1], flush=True)
    return facts


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--deals", type=int, default=600)
    given = parser.parse_args()
    found = leak(given.seeds, given.deals)
    cost = price(given.seeds)
    small = {"rows": SMALL_ROWS, "k": SMALL_K, "shares": SHARES, "seeds": given.seeds, "deals": given.deals}
    large = {"rows": LARGE_ROWS, "k": LARGE_K, "seeds": given.seeds}
    save("minimality", {"small": small, "leak": found, "large": large, "price": cost}, "discreet", "numpy")
    shown = [
        [f["method"], f["rule"], "yes" if f["blind"] else "no", f["tables"]]
        + [f"{f[n]['mean']:.3f}" if n in f else "" for n in ("baseline", "attacker", "worst", "certain")]
        for f in found
    ]
    show("What cells tell", ["method", "rule", "blind", "tables", "by cell", "attacker", "worst row", "certain"], shown)


if __name__ == "__main__":
    main()
