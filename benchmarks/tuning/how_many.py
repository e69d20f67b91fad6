"""The constants of `suggest_k`, tried on generated tables; then how often it is right on others.

    python -m benchmarks.tuning.how_many [--tables 1.0] [--jobs 2]   # constants, on tables of their own
    python -m benchmarks.tuning.how_many --report                    # those in use, on 200 others of each kind

Five kinds of table: *separable* clusters with at least 200 rows times ε on average; the same, *faint*, with 2 to 200;
rows that are *even* or one cluster; *nothing* but noise; *crooked* clusters: moons, rings, bars, worms, and blobs that
overlap. Wanted: the right number within one on separable tables, 1 on even ones, no wrong number where noise covers the
clusters, and never 1 on crooked ones: "cannot tell" is right there, and a miss elsewhere. All
numbers of clusters come from `PrivateKMeans(n_clusters="auto")`, which pays for everything it looks at. With ``--kept``
a run can be stopped and taken up again.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._bench import save, show
from discreet import Domain, PrivateKMeans
from discreet.clustering import suggest_k
from discreet.clustering.how_many import suggest as how_many
from discreet.clustering.leaves import leaves

KINDS = ("separable", "faint", "even", "nothing", "crooked")
#: Seeds of the tables that constants are chosen on, and of those that are reported.
TUNING, REPORTED = 11, 22
CROOKED = ("moons", "rings", "bars", "worms", "overlapping")
SHAPES = ("round", "unequal", "tubes", "balls", "tails", "background")
#: Values that are tried, one constant at a time; the first is in use.
TRIED: dict[str, tuple[Any, ...]] = {
    "LEAST_ROWS": (20.0, 10.0, 40.0),
    "LEAST_ROWS_OF_ONE": (40.0, 20.0, 80.0),
    "WIDE": (0.4, 0.25, 0.6),
    "LEAVES_PER_CLUSTER": (1.6, 1.3, 2.0),
    "MEANS_SPREAD": (0.1, 0.02, 0.3),
    "LEAST_FALL": (0.15, 0.08, 0.3),
    "LEAST_GAP": (0.15, 0.08, 0.3),
    "LEAST_SILHOUETTE": (0.05, 0.02, 0.1),
    "WEIGHTS": (
        {"elbow": 1.0, "silhouette": 0.75, "gap": 1.0, "BIC": 0.5},
        {"elbow": 1.0, "silhouette": 1.0, "gap": 1.0, "BIC": 1.0},
        {"elbow": 1.0, "silhouette": 0.75, "gap": 1.0, "BIC": 0.25},
        {"elbow": 0.5, "silhouette": 1.0, "gap": 1.0, "BIC": 0.5},
    ),
    "AGREEMENT": (0.5, 0.4, 0.6, 0.75),
    "LEAD": (1.3, 1.0, 2.0),
    "UNEXPLAINED": (2.5, 1.7, 4.0, math.inf),
    "PROMINENCE": (6.0, 4.0, 9.0, math.inf),
    "CONTRAST": (1.6, 1.3, 2.0),
    "HILL_SHARE": (0.05, 0.02, 0.1),
}


@dataclass(frozen=True)
class Drawn:
    """A generated table: what it is, and its rows in the unit box."""

    facts: dict[str, Any]
    rows: np.ndarray

    @property
    def domain(self) -> Domain:
        return Domain.box([0] * self.facts["d"], 1)


def draw(kind: str, base: int, number: int) -> Drawn:
    """Draw a table of a kind; the same numbers give the same rows."""
    rng = np.random.default_rng([base, KINDS.index(kind), number])
    if kind == "crooked":
        return _crooked(rng)
    d = int(rng.choice([1, 2, 2, 2, 3, 3, 4, 5, 6, 8]))
    k = int(rng.integers(1, 1 + {1: 6, 2: 16, 3: 16}.get(d, 10))) if kind in ("separable", "faint") else 1
    epsilon = float(rng.choice([0.1, 0.2, 0.5, 1.0]))
    low, high = (2, 200) if kind == "faint" else (200, 3000)
    x = float(np.exp(rng.uniform(math.log(low), math.log(high))))
    n = int(np.ceil(x * k / epsilon)) if kind != "nothing" else int(rng.integers(0, 3))
    shape, apart = str(rng.choice(SHAPES)), float(rng.choice([6, 8, 12]))
    if kind in ("even", "nothing"):
        shape = str(rng.choice(["uniform", *SHAPES])) if kind == "even" else "uniform"
    facts = {"kind": kind, "d": d, "k": k, "epsilon": epsilon, "x": x, "n": n, "shape": shape, "apart": apart}
    if shape == "uniform":
        return Drawn(facts, rng.random((n, d)))
    centres = _places(k, d, rng)
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2) + 9 * np.eye(k)
    spread = min(float(gaps.min()) / apart, 0.12) if k > 1 else float(rng.uniform(0.03, 0.15))
    sizes = np.ones(k) if shape == "round" else np.exp(rng.uniform(0, 1.1, k))
    labels = rng.choice(k, n, p=sizes / sizes.sum())
    rows = centres[labels] + spread * _scatter(shape, labels, k, d, rng)
    if shape == "background":
        stray = rng.random(n) < 0.05
        rows[stray] = rng.random((int(stray.sum()), d))
    return Drawn(facts, np.clip(rows, 0, 1))


def _crooked(rng: np.random.Generator) -> Drawn:
    """Draw clusters in the plane that k-means does not see, turned by some angle."""
    shape, epsilon = str(rng.choice(CROOKED)), float(rng.choice([0.1, 0.2, 0.5, 1.0]))
    k = 2 if shape in ("moons", "rings") else int(rng.integers(2, 6))
    x = float(np.exp(rng.uniform(math.log(400), math.log(3000))))
    n = int(np.ceil(x * k / epsilon))
    label, t, z = rng.integers(k, size=n), rng.uniform(0, np.pi, n), rng.normal(size=(n, 2))
    flip, thin = np.where(label == 1, -1.0, 1.0), rng.uniform(0.03, 0.08)
    if shape == "moons":
        rows = np.c_[flip * np.cos(t) + (label == 1), flip * np.sin(t) + 0.5 * (label == 1)] + thin * z
    elif shape == "rings":
        rows = np.c_[np.cos(2 * t), np.sin(2 * t)] * (1 - 0.5 * label)[:, None] + thin * z
    elif shape == "bars":
        rows = z * [rng.uniform(1.5, 4), rng.uniform(0.1, 0.2)] + np.c_[np.zeros(n), label]
    elif shape == "worms":  # waves above each other
        rows = np.c_[t * rng.uniform(1, 2), np.sin(2 * t + rng.uniform(0, 6)) + 0.8 * label] + thin * z
    else:
        rows = z + rng.uniform(2.3, 3.0) * np.c_[label % 3, label // 3]
    angle = rng.uniform(0, np.pi)
    rows = rows @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    low, high = rows.min(axis=0), rows.max(axis=0)
    facts = {"kind": "crooked", "d": 2, "k": k, "epsilon": epsilon, "x": x, "n": n, "shape": shape, "apart": 0.0}
    return Drawn(facts, 0.03 + 0.94 * (rows - low) / (high - low))


def _places(k: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Draw centres that keep apart: each the best of a few candidates, in some tables of many, in others of two."""
    out, candidates = np.empty((k, d)), int(rng.choice([4, 12]))
    for i in range(k):
        tried = rng.uniform(0.1, 0.9, (candidates, d))
        far = np.linalg.norm(tried[:, None] - out[:i], axis=2).min(axis=1) if i else np.zeros(candidates)
        out[i] = tried[int(np.argmax(far))]
    return out


def _scatter(shape: str, labels: np.ndarray, k: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Draw offsets of rows from their centres, in units of the spread."""
    n = len(labels)
    z = rng.normal(size=(n, d))
    if shape == "unequal":
        return z * np.exp(rng.uniform(-0.7, 0.2, (k, d)))[labels]
    if shape == "tubes":
        way = rng.normal(size=(k, d))
        way /= np.linalg.norm(way, axis=1)[:, None]
        return 0.5 * z + 1.2 * rng.normal(size=n)[:, None] * way[labels]
    if shape == "balls":
        return z / np.linalg.norm(z, axis=1)[:, None] * 2.2 * rng.random(n)[:, None] ** (1 / d)
    if shape == "tails":
        return 0.6 * z * np.sqrt(4 / rng.chisquare(4, n))[:, None]
    return z


def measure(task: tuple[str, int, int, bool]) -> dict[str, Any]:
    """Return a table's facts and what is suggested: with the constants in use, and with each of the others."""
    kind, base, number, tune = task
    table = draw(kind, base, number)
    fit = PrivateKMeans("auto", table.facts["epsilon"], table.domain, random_state=number).fit(table.rows)
    asked = fit.suggestion_
    found = {**table.facts, "number": number, "suggested": asked.n_clusters, "votes": dict(asked.votes)}
    if tune:
        found["tried"] = {}
        for name, values in TRIED.items():
            for value in values[1:]:
                with _set(name, value), _remembered():
                    found["tried"][f"{name} = {_short(value)}"] = suggest_k(fit.synopsis_).n_clusters
        _MEMORY.clear()
    return found


_MEMORY: dict[Any, Any] = {}


@contextmanager
def _remembered() -> Iterator[None]:
    """Work curves out once: most constants are about what is made of them."""
    before = how_many._curves

    def curves(own: Any, points: Any, weights: Any, inner: Any, top: int, seed: int, divided: bool) -> Any:
        key = (top, seed, float(inner.sum()))
        if key not in _MEMORY:
            _MEMORY[key] = before(own, points, weights, inner, top, seed, divided)
        return _MEMORY[key]

    how_many._curves = curves
    try:
        yield
    finally:
        how_many._curves = before


def _short(value: Any) -> str:
    return "/".join(f"{v:g}" for v in value.values()) if isinstance(value, dict) else f"{value:g}"


@contextmanager
def _set(name: str, value: Any) -> Iterator[None]:
    module: Any = leaves if name == "MEANS_SPREAD" else how_many
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def judged(rows: list[dict[str, Any]], answers: list[int | None]) -> dict[str, float]:
    """Return the shares of answers that are within one, exact, wrong, and not given."""
    gaps = [None if a is None else abs(a - r["k"]) for a, r in zip(answers, rows, strict=True)]
    told = [g for g in gaps if g is not None]
    n = max(len(gaps), 1)
    return {
        "within_one": sum(g <= 1 for g in told) / n,
        "exact": sum(g == 0 for g in told) / n,
        "wrong": sum(g > 1 for g in told) / n,
        "cannot_tell": (len(gaps) - len(told)) / n,
        "one": sum(a == 1 for a in answers) / n,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true", help="report the constants in use")
    parser.add_argument("--tables", type=float, default=1.0, help="times the default number of tables")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kept", help="a file of tables that are done, to go on from")
    arguments = parser.parse_args()
    start, base = time.time(), REPORTED if arguments.report else TUNING
    each = 200 if arguments.report else 60
    tasks = [(kind, base, i, not arguments.report) for kind in KINDS for i in range(round(arguments.tables * each))]
    kept = Path(arguments.kept) if arguments.kept else None
    rows = [json.loads(line) for line in kept.read_text("utf-8").splitlines()] if kept and kept.is_file() else []
    done = {(r["kind"], r["number"]) for r in rows}
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(measure, [t for t in tasks if (t[0], t[2]) not in done]):
            rows.append(row)
            if kept:
                with kept.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    by_kind = {kind: [r for r in rows if r["kind"] == kind] for kind in KINDS}
    heads, lines, summary = ["constants", *KINDS], [], {}
    for name in ["in use", *(rows[0].get("tried", {}))]:
        parts = {
            kind: judged(some, [r["suggested"] if name == "in use" else r["tried"][name] for r in some])
            for kind, some in by_kind.items()
        }
        summary[name] = parts
        parted = (f"{p['within_one']:.3f}, wrong {p['wrong']:.3f}, 1 {p['one']:.3f}" for p in parts.values())
        lines.append([name, *parted])
    show("Within one of the truth, wrong by more, and called one", heads, lines)
    facts = {"tables_of_each_kind": len(by_kind[KINDS[0]]), "summary": summary}
    if kept:  # the result is that of a run in one go
        sys.argv = [a for a in sys.argv if a not in ("--kept", arguments.kept)]
    else:
        facts["seconds"] = round(time.time() - start)
    if arguments.report:
        criteria = {
            name: judged(by_kind["separable"], [r["votes"].get(name) for r in by_kind["separable"]])
            for name in how_many.WEIGHTS
        }
        facts |= {"criteria_on_separable": criteria, "misses": [r for r in by_kind["separable"]
                  if r["suggested"] is None or abs(r["suggested"] - r["k"]) > 1]}  # fmt: skip
    save("how_many" if arguments.report else "tune_how_many", facts, "discreet", "numpy", "scikit-learn")


if __name__ == "__main__":
    main()
