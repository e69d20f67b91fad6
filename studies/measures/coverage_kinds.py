"""Coverage of 95 % intervals on kinds of tables that took no part in choosing constants.

    python -m studies.measures.coverage_kinds [--tables 50]

Each table is drawn anew: a number ``x`` (skewed, with many zeros, with a heavy tail, or few rows) and an unrelated
category ``g``. It is asked by a `QuerySession`, and released as a grid, a tree and a marginal model, at ε = 1 and 5.
Questions: rows in a random range of ``x`` and in a range and a category, the sum (sessions), the mean over all rows and
in a category, and quantiles. An answer without an interval (its ends are not finite) is counted apart.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dc
from discreet.core import FloatArray, IntArray
from studies.measures._measure import RESULTS, save, show

LEVEL, EPSILONS, SHARES, TABLES = 0.95, (1.0, 5.0), (0.1, 0.5, 0.9), 50
SOURCES = ("session", "grid", "tree", "model")
DOMAIN = dc.Domain({"x": (0, 1000), "g": ["a", "b", "c"]})


def drawn(kind: str, rng: np.random.Generator) -> FloatArray:
    """Draw the numbers of one table."""
    n = 150 if kind == "few rows" else 4000
    if kind in ("skewed", "few rows"):
        x = rng.lognormal(4, 1, n)
    elif kind == "many zeros":
        x = np.where(rng.random(n) < 0.6, 0.0, rng.gamma(2, 60, n))
    else:
        x = (rng.pareto(1.1, n) + 1) * 3
    return x.clip(0, 1000)


KINDS = ("skewed", "many zeros", "heavy tail", "few rows")
Told = Iterator[tuple[str, tuple[float, float], float, float]]


def questions(source: str, epsilon: float, x: FloatArray, g: IntArray, rng: np.random.Generator) -> Told:
    """Ask one table; give the question, the interval, and the least and largest value that count as the truth."""
    rows, seed = pa.table({"x": x, "g": np.array(["a", "b", "c"])[g]}), int(rng.integers(2**31))
    low, high = np.sort(np.where(rng.random(2) < 0.5, rng.uniform(0, 1000, 2), rng.choice(x, 2))).tolist()
    inside, some = (x >= low) & (x < high), g == 1
    truths = {
        "count": [inside.sum(), (inside & some).sum()],
        "mean": [x.mean(), x[some].mean()],
        "quantile": [np.sort(x)[[math.ceil(q * len(x)) - 1, min(int(q * len(x)), len(x) - 1)]] for q in SHARES],
    }
    conditions = [f"x >= {low!r} and x < {high!r}", f"x >= {low!r} and x < {high!r} and g = 'b'"]
    if source == "session":
        asked = dc.QuerySession(rows, dc.Ledger(epsilon=4 * epsilon), domain=DOMAIN, random_state=seed)
        part: dict[str, Any] = {"epsilon": epsilon / 2}
        counts = [asked.count(where=w, **part) for w in conditions]
        means = [asked.mean("x", **part), asked.mean("x", where="g = 'b'", **part)]
        for answer, truth in zip((asked.sum("x", **part), asked.sum("x", where="g = 'b'", **part)),
                                 (x.sum(), x[some].sum()), strict=True):  # fmt: skip
            yield "sum", answer.interval(LEVEL), truth, truth
        both = np.column_stack(asked.quantiles("x", list(SHARES), **part).interval(LEVEL))
        quantiles = [tuple(pair) for pair in both.tolist()]
    else:
        makers: dict[str, Any] = {"grid": dc.GridSynopsis, "tree": dc.TreeSynopsis, "model": dc.MarginalSynopsis}
        made = makers[source](epsilon, DOMAIN, random_state=seed).fit(rows).synopsis_
        counts = [made.ask(w) for w in conditions]
        means = [made.mean("x"), made.mean("x", "g = 'b'")]
        quantiles = [made.quantile("x", q).interval(LEVEL) for q in SHARES]
    for answer, truth in zip(counts, truths["count"], strict=True):
        yield "count", answer.interval(LEVEL), truth, truth
    for answer, truth in zip(means, truths["mean"], strict=True):
        yield "mean", answer.interval(LEVEL), truth, truth
    for (least, most), ends in zip(truths["quantile"], quantiles, strict=True):
        yield "quantile", ends, least, most


def measured(kind: str, source: str, tables: int, seed: int) -> list[dict[str, Any]]:
    """Draw tables of a kind and ask a source; return one row per question."""
    found: dict[str, list[tuple[bool, bool, float]]] = {}
    for t in range(tables):
        for epsilon in EPSILONS:
            rng = np.random.default_rng([seed, KINDS.index(kind), t, int(epsilon)])
            x = drawn(kind, rng)
            g = rng.integers(0, 3, len(x))
            for name, (low, high), least, most in questions(source, epsilon, x, g, rng):
                told = math.isfinite(low) and math.isfinite(high)
                near = 1e-9 * max(abs(most), 1.0)
                held = low <= most + near and high >= least - near
                found.setdefault(name, []).append((told, held, high - low))
    rows = []
    for name, answers in found.items():
        kept = [a for a in answers if a[0]]
        row = {"kind": kind, "source": source, "question": name, "answers": len(answers), "seed": seed}
        row |= {"without_interval": len(answers) - len(kept), "coverage": None, "median_width": None}
        if kept:
            row["coverage"] = float(np.mean([held for _, held, _ in kept]))
            row["median_width"] = float(np.median([width for *_, width in kept]))
        rows.append(row)
    return rows


def keep(new: list[dict[str, Any]]) -> None:
    """Put rows into the result file; earlier rows with the same kind and source are replaced."""
    file, done = RESULTS / "coverage_kinds.json", {(r["kind"], r["source"]) for r in new}
    held = json.loads(file.read_text("utf-8"))["results"] if file.exists() else []
    rows = [*new, *(r for r in held if (r["kind"], r["source"]) not in done)]
    rows.sort(key=lambda r: (KINDS.index(r["kind"]), SOURCES.index(r["source"])))
    least = min((r for r in rows if r["coverage"] is not None), key=lambda r: r["coverage"])
    facts = {"level": LEVEL, "epsilons": list(EPSILONS), "least": least, "results": rows}
    save("coverage_kinds", facts, "discreet", "numpy")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=TABLES, help="tables per kind, source and ε")
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS, help="kinds of tables")
    parser.add_argument("--sources", nargs="*", default=SOURCES, choices=SOURCES, help="sources of answers")
    parser.add_argument("--seed", type=int, default=7, help="seed of the tables")
    args = parser.parse_args()
    warnings.simplefilter("ignore", dc.errors.DiscreetWarning)
    heads = ["kind", "source", "question", "answers", "without_interval", "coverage", "median_width"]
    for source in args.sources:
        for kind in args.kinds:
            rows = measured(kind, source, args.tables, args.seed)
            shown = [[math.nan if r[h] is None else r[h] for h in heads] for r in rows]
            show(f"Coverage of intervals, level {LEVEL:g}", heads, shown)
            keep(rows)


if __name__ == "__main__":
    main()
