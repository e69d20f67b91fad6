"""The constants of marginal synopses, tried on generated tables: errors of pairs and triples, and of a classifier.

    python -m benchmarks.tuning.marginals [NAME=VALUE[,VALUE...] ...] [--tables "hidden 1,causes 5"] [--rows N]

NAME is a constant of `bins.py`, `choice.py`, `mixture.py`, `population.py`, `release.py` or `target.py` of
`discreet.synopses.marginals`, tried one at a time; without any, the grid of `TRIED` is. Budgets are ε = 1 and 10 with
δ = 1e-9, and a pure ε of 1. Tables are fourteen of `mixed_tables.py`. What is kept: the means over tables and
seeds, for every value; that of today has its own line.
A run with one constant keeps its own file, such as `marginals_target_weight.json` or `marginals_drawn.json` (ε = 1 with
δ alone). `marginals_coarseness.json` and `marginals_tolerated.json` are earlier ones, on tables of the first family.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks._bench import save, show
from benchmarks.tuning.mixed_tables import ROWS, table
from discreet import MarginalSynopsis
from discreet.synopses.marginals import bins, choice, mixture, population, release, target
from discreet_studies.synthetic_tables.study import area, codes_of, errors

MODULES = (bins, choice, mixture, population, release, target)
BUDGETS = ((1.0, 1e-9), (10.0, 1e-9), (1.0, 0.0))
TABLES = "hidden 0,hidden 1,causes 5,causes 7,written 0,written 1,classes 0,classes 1,parity 0,parity 3,ranks 0,ranks 1"
TABLES += ",articles 0,articles 1"
#: What is tried beside the value of today.
TRIED = {
    "COARSENESS": "0.5,2",
    "LEFT_OF_NOISE": "0.25,0.6",
    "AIM": "0.9,1",
    "SCATTER": "1,3",
    "COMPONENTS": "512,2048",
    "SHARP": "1,4",
    "SINGLE": "1/10,1/5",
    "SCORES": "1/20,1/5",
    "PURE_SINGLE": "1/10,3/10",
    "PURE_SCORES": "1/20,1/5",
    "TARGET_WEIGHT": "2,10",
    "TARGET_COARSER": "1,4",
    "CHANCE": "0.3,1",
    "PURE_TOLERATED": "0.007,0.015",
    "FINE": "0.01,0.04",
    "MOST_BINS": "32,64",
    "FALSE_TRIPLES": "5,200",
    "STANDS_OUT_OF_NOISE": "4,10",
    "DRAWN": "2,12",
}


def tried(name: str, epsilon: float, delta: float, seeds: int, rows: int) -> dict[str, float]:
    """Return the errors of releases of a table."""
    train, test, domain = table(name if " " in name else f"hidden {name}")
    train = train.iloc[:rows]
    target = domain.names[-1]
    found: dict[str, list[float]] = {"pairs": [], "triples": [], "auc": []}
    for draw in range(1, seeds + 1):
        model = MarginalSynopsis(epsilon, domain, delta=delta, target=target, random_state=draw)
        invented = model.fit(train).synopsis_.sample(len(train), rng=draw).to_pandas()
        (real, sizes), (made, _) = codes_of(train, domain), codes_of(invented, domain)
        found["pairs"].append(errors(real, sizes, made, 2))
        found["triples"].append(errors(real, sizes, made, 3))
        found["auc"].append(area(invented, test, domain, target))
    return {name: float(np.mean(values)) for name, values in found.items()}


def under(epsilon: float, delta: float, tables: list[str], *size: int) -> dict[str, float]:
    """Return the means over tables."""
    every = [tried(name, epsilon, delta, *size) for name in tables]
    return {key: float(np.mean([one[key] for one in every])) for key in every[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("constants", nargs="*", default=[f"{name}={values}" for name, values in TRIED.items()])
    parser.add_argument("--tables", default=TABLES)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--budgets", default="0,1,2", help="places in BUDGETS")
    args = parser.parse_args()
    tables, size = args.tables.split(","), (args.seeds, args.rows)
    results: list[dict[str, Any]] = []
    for epsilon, delta in (BUDGETS[int(place)] for place in args.budgets.split(",")):
        at = {"epsilon": epsilon, "delta": delta}
        results.append({"constant": "as it is", "value": "", **at, **under(epsilon, delta, tables, *size)})
        print(results[-1], flush=True)
        for text in args.constants:
            name, _, values = text.partition("=")
            if name.startswith("PURE") and delta:
                continue
            for value in values.split(","):
                results.append({"constant": name, "value": value, **at, **_with(name, value, at, tables, *size)})
                print(results[-1], flush=True)
    columns = list(results[0])
    show("constants of marginal synopses", columns, [[row[c] for c in columns] for row in results])
    only = len(args.constants) == 1
    save(
        f"marginals_{name.lower()}" if only else "marginals",
        {"tables": tables, "runs": results},
        "numpy",
        "scikit-learn",
    )


def _with(name: str, value: str, at: dict[str, float], tables: list[str], *size: int) -> dict[str, float]:
    """Return the means with another value of a constant, which is put back afterwards."""
    homes = [module for module in MODULES if hasattr(module, name)]
    today = getattr(homes[0], name)
    try:
        for module in homes:
            setattr(module, name, type(today)(Fraction(value)))
        return under(at["epsilon"], at["delta"], tables, *size)
    finally:
        for module in homes:
            setattr(module, name, today)


if __name__ == "__main__":
    main()
