"""Two ways to weigh the answers of a synopsis, on a survey-like table: copies of rows, or the weight as a column.

*Copies* (`discreet.engines.persons.weighted`): a row is counted as often as its weight says; noise for the declared
maximum. *A column*: the weight is one more attribute of the model, and synthetic rows are weighted by it.

The survey has 5,000 rows, log-normal design weights that grow with age, and calibration to the known totals of region
by sex. The error is the total variation between the weighted shares of the table and those of the synopsis, mean over
single columns and over pairs; the total is the sum of the weights.

Run with ``python studies/measures/weights.py``; it writes ``results/weights.json``.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dc

SEEDS, ROWS, MOST = 20, 5_000, 120_000.0
EPSILONS = (1.0, 3.0)
COLUMNS: dict[str, Any] = {
    "region": [f"r{i}" for i in range(16)],
    "age": dc.Integer(15, 94),
    "sex": ["f", "m"],
    "job": ["employed", "unemployed", "retired", "school"],
    "school": ["low", "middle", "high"],
}


def survey(seed: int) -> tuple[pa.Table, np.ndarray]:
    """Return a survey and its calibrated weights."""
    rng = np.random.default_rng(seed)
    n = ROWS
    size = np.linspace(1, 4, 16) / np.linspace(1, 4, 16).sum()
    region, sex, age = rng.choice(16, n, p=size), rng.integers(0, 2, n), rng.integers(15, 95, n)
    work = np.where(age < 19, 3, np.where(age > 66, 2, rng.choice([0, 1], n, p=[0.9, 0.1])))
    school = np.clip(np.round(rng.normal(1 + 0.01 * (50 - age), 0.7)), 0, 2).astype(int)
    weights = np.exp(rng.normal(0, 0.5, n)) * (0.6 + age / 80)
    for _ in range(20):  # raking: region, then sex
        for own, totals in ((region, size * 7e7), (sex, np.array([3.6e7, 3.4e7]))):
            weights *= (totals / np.bincount(own, weights))[own]
    names = {name: np.array(COLUMNS[name]) for name in ("region", "sex", "job", "school")}
    table = {"region": names["region"][region], "age": age, "sex": names["sex"][sex], "job": names["job"][work]}
    return pa.table({**table, "school": names["school"][school], "w": weights}), weights


def shares(table: pa.Table, weights: np.ndarray) -> list[np.ndarray]:
    """Return the weighted shares of single columns (ages in tens) and of pairs of columns."""
    coded, sizes = [], []
    for name, declared in COLUMNS.items():
        values = table[name].to_numpy()
        listed = declared if isinstance(declared, list) else []
        places = {value: i for i, value in enumerate(listed)}
        coded.append(np.array([places[v] for v in values]) if listed else (values.astype(int) - 15) // 10)
        sizes.append(len(listed) or 8)
    total = weights.sum()
    found = [np.bincount(c, weights, minlength=s) / total for c, s in zip(coded, sizes, strict=True)]
    for i, j in itertools.combinations(range(len(coded)), 2):
        found.append(np.bincount(coded[i] * sizes[j] + coded[j], weights, minlength=sizes[i] * sizes[j]) / total)
    return found


def errors(epsilon: float, seed: int) -> dict[str, list[float]]:
    """Return, by method, the errors of single columns, of pairs and of the total."""
    table, weights = survey(seed)
    true, found = shares(table, weights), {}
    for method, role in (("copies", "weight"), ("column", "attribute")):
        domain = dc.Domain({**COLUMNS, "w": dc.Numeric("w", 0, MOST, role=role)})
        made = dc.MarginalSynopsis(epsilon, domain, random_state=seed).fit(table).synopsis_
        rows = made.sample(200_000, rng=seed)
        own = np.ones(rows.num_rows) if role == "weight" else rows["w"].to_numpy()
        total = made.total if role == "weight" else max(made.total, 0.0) * own.mean()
        apart = [float(np.abs(a - b).sum() / 2) for a, b in zip(true, shares(rows, own), strict=True)]
        n = len(COLUMNS)
        off = abs(total / weights.sum() - 1)
        found[method] = [float(np.mean(apart[:n])), float(np.mean(apart[n:])), float(off)]
    return found


def main() -> None:
    """Measure and write the figures."""
    told: dict[str, Any] = {"rows": ROWS, "seeds": SEEDS, "largest weight": MOST, "errors": {}}
    for epsilon in EPSILONS:
        runs = [errors(epsilon, seed) for seed in range(SEEDS)]
        for method in ("copies", "column"):
            mean = np.mean([run[method] for run in runs], axis=0).round(4).tolist()
            told["errors"][f"{method}, epsilon {epsilon:g}"] = dict(zip(("single", "pairs", "total"), mean, strict=True))
    out = Path(__file__).parent / "results" / "weights.json"
    out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
