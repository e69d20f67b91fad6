"""Two ways to weigh the answers of a model, on a survey-like table: copies of rows, or the weight as a column.

    python -m studies.measures.weights [--seeds 20]

*Copies*: a row is counted as often as its weight says, up to 64 times, with noise for the declared maximum; grids,
trees and questions do so (`discreet.engines.persons.weighted`). *A column*: the weight is one more column of the model,
and a row of the model counts as its weight says; `MarginalSynopsis` does so.

The survey has 5,000 rows, log-normal design weights that grow with age, and raking to known totals of region and sex;
the declared maximum is 8.6 times the mean weight. The error is the total variation between the weighted shares of the
table and of 200,000 synthetic rows, mean over single columns and over pairs; *total* is the relative error of the sum
of the weights. *Held* is the share of 95 % intervals of weighted counts by one or two columns that hold the truth.
Results go to results/weights.json.
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dc
from discreet.core import FloatArray
from studies.measures._measure import save, show

ROWS, MOST = 5_000, 120_000.0
EPSILONS = (1.0, 3.0)
COLUMNS: dict[str, Any] = {
    "region": [f"r{i}" for i in range(16)],
    "age": dc.Integer(15, 94),
    "sex": ["f", "m"],
    "job": ["employed", "unemployed", "retired", "school"],
    "school": ["low", "middle", "high"],
}


def survey(seed: int) -> tuple[pa.Table, FloatArray]:
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


def shares(table: pa.Table, weights: FloatArray) -> list[FloatArray]:
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


def copied(table: pa.Table, weights: FloatArray, seed: int) -> pa.Table:
    """Return the rows, each as often as its weight says, with its number."""
    units = weights * 64 / MOST + np.random.default_rng(seed).random(len(weights))
    rows = np.repeat(np.arange(len(weights)), np.floor(units).astype(int))
    return table.drop_columns(["w"]).take(rows).append_column("row", pa.array(rows))


def errors(epsilon: float, seed: int) -> dict[str, list[float]]:
    """Return, by method, the errors of single columns, of pairs and of the total, and the share of intervals."""
    table, weights = survey(seed)
    true, found, n = shares(table, weights), {}, len(COLUMNS)
    weighted = dc.Domain({**COLUMNS, "w": dc.Numeric("w", 0, MOST, role="weight")})
    plain = dc.Domain(COLUMNS, unit=dc.Person("row", rows=64))
    for method, domain, data in (("copies", plain, copied(table, weights, seed)), ("column", weighted, table)):
        made = dc.MarginalSynopsis(epsilon, domain, random_state=seed).fit(data).synopsis_
        rows = made.sample(200_000, rng=seed)
        own = rows["w"].to_numpy() if method == "column" else np.ones(rows.num_rows)
        scale = 1.0 if method == "column" else MOST / 64
        apart = [float(np.abs(a - b).sum() / 2) for a, b in zip(true, shares(rows, own), strict=True)]
        off = abs(scale * made.total / weights.sum() - 1)
        told = [held(made, table, weights, scale, seed)]
        found[method] = [float(np.mean(apart[:n])), float(np.mean(apart[n:])), float(off), *told]
    return found


def held(made: Any, table: pa.Table, weights: FloatArray, scale: float, seed: int) -> float:
    """Return the share of intervals that hold the truth, of 40 counts by one or two columns."""
    rng, good = np.random.default_rng(seed), []
    for i in range(40):
        names = rng.choice([name for name in COLUMNS if name != "age"], 1 + i % 2, replace=False)
        asked = {str(name): str(rng.choice(COLUMNS[str(name)])) for name in names}
        here = np.all([table[name].to_numpy() == value for name, value in asked.items()], axis=0)
        low, high = made.count(**asked).interval(0.95)
        good.append(scale * low <= weights[here].sum() <= scale * high)
    return float(np.mean(good))


def main() -> None:
    """Measure and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    seeds, told = parser.parse_args().seeds, {}
    for epsilon in EPSILONS:
        runs = [errors(epsilon, seed) for seed in range(seeds)]
        for method in ("copies", "column"):
            mean = np.mean([run[method] for run in runs], axis=0).round(4).tolist()
            told[f"{method}, epsilon {epsilon:g}"] = dict(zip(("single", "pairs", "total", "held"), mean, strict=True))
    save("weights", {"rows": ROWS, "seeds": seeds, "largest weight": MOST, "errors": told}, "numpy")
    show("weights", ["method", "single", "pairs", "total", "held"], [[k, *v.values()] for k, v in told.items()])


if __name__ == "__main__":
    main()
