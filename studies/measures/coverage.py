"""How often an interval of a count covers the truth: random boxes of one to three columns, on public tables.

    python -m studies.measures.coverage [--boxes 1000]

Each table is released five times as a grid and as a tree, ε = 1. A box restricts one to three columns, each by two
places drawn evenly from the declared bounds. The truth is counted in the table. Where the public tables are not here
(`discreet.datasets.available`), generated ones stand in, and the result says so.

Tables of whole numbers are measured as `dc.Integer` and once more as plain numbers (``whole_numbers_unsaid``). Means,
quantiles and shares of random boxes with at least a hundred rows are measured as well, shares also at values of random
rows, which is where heaps are (``cdf_at_a_value``). The constants of the error were chosen on generated tables
(``benchmarks/tuning/evenness.py``); an earlier model had fallen short on Adult and Letter as plain numbers.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discreet as dc
from discreet.core import FloatArray
from discreet.synopses import Synopsis
from studies.measures._measure import save, show

#: Tables and the columns that are released: up to three, those a person would plot first.
PUBLIC: dict[str, tuple[str, ...]] = {
    "s1": ("x1", "x2"),
    "birch2": ("x1", "x2"),
    "unbalance": ("x1", "x2"),
    "gowalla": (),
    "geonames": (),
    "skin": (),
    "adult": ("age", "education_num", "hours_per_week"),
    "shuttle": ("time", "f2", "f8"),
    "magic": ("fLength", "fWidth", "fConc"),
    "letter": (),
}
#: Tables whose columns are whole numbers, and are declared so.
WHOLE = ("adult", "letter", "shuttle", "skin")
EPSILON, LEVEL, BOXES, DRAWS = 1.0, 0.95, 1000, 5
FIGURES = ("mean", "quantile", "cdf", "cdf_at_a_value")
Asked = list[tuple[dict[str, tuple[float, float]], int]]


def table(name: str, whole: bool = True) -> tuple[dc.Domain, FloatArray]:
    """Return the domain and the rows of a public table, three columns at most; whole numbers as such if told so."""
    data = dc.datasets.load(name)
    names = PUBLIC[name] or data.domain.names[:3]
    places = [data.domain.position(n) for n in names]
    rows = np.asarray(data.domain.clamp(data.X)[:, places])
    if not (whole and name in WHOLE):
        return data.domain.select(names), rows
    ends = zip(names, data.domain.low[places], data.domain.high[places], strict=True)
    return dc.Domain({n: dc.Integer(int(a), int(b)) for n, a, b in ends}), np.round(rows)


def generated() -> Iterator[tuple[str, dc.Domain, FloatArray]]:
    """Give tables that nobody reports on: clouds, ridges, spikes, rounded and heaped numbers, levels."""
    for seed in range(3):
        for columns, clusters in ((2, 15), (3, 8)):
            data = dc.datasets.mixture(20_000, columns, clusters, random_state=seed)
            yield f"mixture {columns} {seed}", data.domain, np.asarray(data.domain.clamp(data.X))
        data = dc.datasets.patients(20_000, random_state=seed)
        yield f"patients {seed}", data.domain, np.asarray(data.domain.clamp(data.X))
        rng = np.random.default_rng(seed)
        n = 30_000
        money = np.where(rng.random(n) < 0.6, 0.0, rng.lognormal(3, 1.2, n))
        age = np.round(rng.gamma(6, 7, n))
        hours = np.where(rng.random(n) < 0.45, 40.0, np.round(rng.normal(38, 12, n) / 5) * 5)
        domain = dc.Domain({"money": (0, 500), "age": (0, 120), "hours": (0, 100)})
        yield f"heaps {seed}", domain, np.asarray(domain.clamp(np.column_stack([money, age, hours])))
        angle = rng.random(n) * 6.28
        ridge = np.column_stack([np.cos(angle), np.sin(angle)]) * (1 + rng.normal(0, 0.02, (n, 1)))
        domain = dc.Domain.box([-2, -2], [2, 2])
        yield f"ring {seed}", domain, np.asarray(domain.clamp(ridge))
        # Whole numbers on few levels that nobody declared as such, tied to each other by what they are rounded from.
        levels = rng.integers(5, 160, 3)
        hidden = rng.normal(size=(n, 1))
        shape = 0.5 + 0.5 * np.tanh(0.6 * hidden + rng.normal(0, 0.7, (n, 3)) + rng.normal(0, 0.5, 3))
        domain = dc.Domain.box([0, 0, 0], levels.tolist())
        yield f"lattice {seed}", domain, np.asarray(domain.clamp(np.round(shape * levels)))
        marks = np.round(np.column_stack([rng.gamma(4, 0.6, n), rng.beta(2, 3, n) * 36]), 1)
        domain = dc.Domain({"dose": (0, 9.5), "value": (0.5, 36.5)})
        yield f"tenths {seed}", domain, np.asarray(domain.clamp(marks))
        power = rng.pareto(1.5, (n, 2))
        domain = dc.Domain.box([0, 0], [64, 64])
        yield f"pareto {seed}", domain, np.asarray(domain.clamp(power))


def releases(domain: dc.Domain, rows: FloatArray, seed: int) -> dict[str, Synopsis]:
    """Release a table as a grid and as a tree."""
    return {
        "grid": dc.GridSynopsis(EPSILON, domain, random_state=seed).fit(rows).synopsis_,
        "tree": dc.TreeSynopsis(EPSILON, domain, partitioner="privtree", random_state=seed).fit(rows).synopsis_,
    }


def boxes(domain: dc.Domain, n: int, rng: np.random.Generator) -> Iterator[dict[str, tuple[float, float]]]:
    """Draw boxes."""
    for _ in range(n):
        k = int(rng.integers(1, min(3, len(domain)) + 1))
        chosen = rng.choice(len(domain), k, replace=False).tolist()
        ends = {domain.names[j]: np.sort(rng.uniform(domain.low[j], domain.high[j], 2)) for j in chosen}
        # Both ends of a stretch of whole numbers belong to it.
        yield {
            n: tuple((np.round(e) if isinstance(domain.column(n), dc.Integer) else e).tolist()) for n, e in ends.items()
        }


def drawn(domain: dc.Domain, rows: FloatArray, n: int, seed: int) -> Asked:
    """Draw boxes and count the rows in them."""
    made = boxes(domain, n, np.random.default_rng(seed))
    return [(box, int(_inside(domain, rows, box).sum())) for box in made]


def _inside(domain: dc.Domain, rows: FloatArray, box: dict[str, tuple[float, float]]) -> NDArray[np.bool_]:
    inside = np.ones(len(rows), dtype=bool)
    for name, (low, high) in box.items():
        x = rows[:, domain.position(name)]
        inside &= (x >= low) & ((x <= high) if isinstance(domain.column(name), dc.Integer) else (x < high))
    return inside


def measure(n_rows: int, made: Synopsis, asked: Asked) -> dict[str, Any]:
    """Return how often intervals cover the truth, and how wide they are in parts of all rows."""
    told = []
    for box, truth in asked:
        answer = made.count(box)
        (low, high), (bottom, top) = answer.interval(LEVEL), answer.noise_alone().interval(LEVEL)
        told.append((low <= truth <= high, high - low, bottom <= truth <= top, top - bottom, abs(answer.value - truth)))
    found = np.array(told, dtype=np.float64).mean(axis=0)
    return {
        "leaves": made.n_leaves,
        "coverage": float(found[0]),
        "width": float(found[1] / n_rows),
        "noise_alone_coverage": float(found[2]),
        "noise_alone_width": float(found[3] / n_rows),
        "error": float(found[4] / n_rows),
    }


def figures(domain: dc.Domain, rows: FloatArray, made: Synopsis, asked: Asked, seed: int) -> dict[str, float]:
    """Return how often intervals of means, quantiles and shares cover the truth; where a hundred rows or more are."""
    rng = np.random.default_rng(seed)
    told: dict[str, list[bool]] = {kind: [] for kind in FIGURES}
    for box, n in asked:
        if n < 100:
            continue
        column = domain.columns[int(rng.integers(len(domain)))]
        x = np.sort(rows[_inside(domain, rows, box), domain.position(column.name)])
        share, place = float(rng.uniform(0.05, 0.95)), float(rng.uniform(column.low, column.high))
        value = float(x[int(rng.integers(len(x)))])  # where rows are, and at a spike most of all
        answers = {
            "mean": (made.mean(column.name, box), float(x.mean())),
            "quantile": (made.quantile(column.name, share, box), float(x[int(share * len(x))])),
            "cdf": (made.cdf(column.name, place, box), float((x <= place).mean())),
            "cdf_at_a_value": (made.cdf(column.name, value, box), float((x <= value).mean())),
        }
        for kind, (answer, truth) in answers.items():
            low, high = answer.interval(LEVEL)
            told[kind].append(low - 1e-9 <= truth <= high + 1e-9)
    return {kind: float(np.mean(found)) for kind, found in told.items() if found}


def measured(name: str, domain: dc.Domain, rows: FloatArray, n: int, seed: int) -> Iterator[dict[str, Any]]:
    """Release a table several times and ask; give one row for grids and one for trees."""
    # Boxes of one release share its noise: several releases, so that one unlucky draw does not decide.
    found: dict[str, list[dict[str, Any]]] = {}
    for draw in range(DRAWS):
        asked = drawn(domain, rows, n // (2 * DRAWS), 100 * seed + draw)
        some = asked[: n // 50]  # each is asked four figures of
        for kind, made in releases(domain, rows, 100 * seed + draw).items():
            told = figures(domain, rows, made, some, 100 * seed + draw)
            found.setdefault(kind, []).append({**measure(len(rows), made, asked), **told})
    for kind, parts in found.items():
        keys = dict.fromkeys(key for part in parts for key in part)
        means = {key: float(np.mean([part[key] for part in parts if key in part])) for key in keys}
        whole = {"rows": len(rows), "columns": len(domain), "boxes": n // 2, "releases": DRAWS}
        yield {"table": name, "release": kind, **means, **whole}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boxes", type=int, default=BOXES, help="boxes per table, half of them asked of grids")
    args = parser.parse_args()
    public = all(name in dc.datasets.available() for name in PUBLIC)
    held = ((name, *table(name)) for name in PUBLIC) if public else generated()
    results = [r for seed, one in enumerate(held) for r in measured(*one, args.boxes, seed)]
    # The same without saying that numbers are whole: rows then stand in heaps that no neighbour tells of.
    unsaid = [
        r
        for seed, name in enumerate(WHOLE if public else ())
        for r in measured(name, *table(name, False), args.boxes, seed)
    ]
    heads = ["leaves", "coverage", "width", "noise_alone_coverage", "noise_alone_width", "error", *FIGURES]
    shown = [[f"{r['table']}, {r['release']}", *(r.get(h, math.nan) for h in heads)] for r in [*results, *unsaid]]
    show(f"Intervals of counts, level {LEVEL:g}; widths and errors in parts of all rows", ["table", *heads], shown)
    names = list(dict.fromkeys(r["table"] for r in results))
    by_table = {n: float(np.mean([r["coverage"] for r in results if r["table"] == n])) for n in names}
    pooled = {
        key: float(np.mean([r[key] for r in results if key in r]))
        for key in ("coverage", "width", "noise_alone_coverage", "noise_alone_width", *FIGURES)
    }
    facts = {"public": public, "epsilon": EPSILON, "level": LEVEL, "boxes_per_table": args.boxes, "tables": by_table}
    save(
        "coverage", {**facts, "pooled": pooled, "results": results, "whole_numbers_unsaid": unsaid}, "discreet", "numpy"
    )


if __name__ == "__main__":
    main()
