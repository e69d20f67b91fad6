"""Tune the constants of ``PrivateKMeans(synopsis="auto")`` and of its refinements, on generated data only.

    python -m benchmarks.tuning.auto [--section few-axes tight ...] [--tables 1] [--seeds 2]

Tables of many shapes (`generated.py`: mixtures from loose to very tight, unequal sizes, stray rows, chains, long
tails, whole numbers, stretched clusters, invented patients) and budgets are drawn at random, the same in every run.
Every candidate value of a constant runs on every one of them. The score is NICV over that of non-private k-means; the
tables show geometric means, and in brackets the 95 % interval, over tables, of the ratio to the value in use (paired:
same rows, same seed). A value in use stays unless another one is better by more than its interval. Real data play no
part.

Sections
--------
few-axes
    Up to three columns: parts of the grid, refinement, means; by x = N ε/k. Gives FAINT.
tight
    When to buy a histogram and when to call clusters tight: PROBE_FROM, PROBE_SHARE, TIGHT_ROWS, TIGHT_DOMAIN,
    PROBE_CELLS_PER_CLUSTER, PROBE_ROWS, TIGHT_FACTOR, TIGHT_REFINE.
refine
    ``KEPT`` of `refine.threshold`, on grids and trees.
mixture
    _TIE, _START_SHARES and the rule for residuals of `clustering.mixture`.
clear
    A mixture against a threshold where noise is weak. Gives CLEAR.
many-axes
    Four columns and more, by z = x over the rows that a mean needs: coarse grids against trees. Gives RICH,
    CELLS_PER_CLUSTER, TREE_SHARE, SOME_AXES and the limit of a tree's depth.
large
    Four columns and more of a million rows. A tree reads them for every few levels, which takes minutes from some
    millions on: a grid with means, its cells bounded, and trees of fewer levels, against the tree that is best where
    time is no matter. Gives BROAD, ROWS_PER_CELL and SHALLOW.
levels
    From which level a binary tree is tested (``test_from`` of `TreeSynopsis`).

Results go to results/tune_auto.json after every table, other sections' kept.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks._bench import RESULTS, save, show
from benchmarks.tuning.generated import Table
from discreet import Domain, GridSynopsis, PrivateKMeans, TreeSynopsis
from discreet.clustering import cluster_synopsis, weighted_kmeans
from discreet.clustering.central import auto, private_kmeans
from discreet.clustering.leaves import mixture as _mixture
from discreet.evaluation import nicv
from discreet.synopses import Synopsis, refine
from discreet.synopses.boxes.grid.rules import rugnik_root
from discreet.synopses.opening import open_release

Centers = Iterator[tuple[str, np.ndarray]]
Cell = tuple[Table, float]


# What runs: each section yields the centres of every candidate for one table, budget and seed.


def _rich_depth(n_rows: float, n_axes: int, epsilon: float) -> int:
    """Return the depth of the deepest binary tree all of whose leaves have rows for a mean, if evenly filled."""
    return max(1, math.floor(math.log2(max(n_rows * epsilon / auto.rows_for_a_mean(n_axes), 1.0))))


def few_axes(X: np.ndarray, domain: Domain, k: int, epsilon: float, seed: int) -> Centers:
    root = rugnik_root(len(X), 0.97 * epsilon, len(domain), k)
    for factor, means in [(0.7, False), (1.0, False), (1.4, False), (0.7, True), (1.0, True)]:
        parts = max(2, round(factor * root))
        made = _grid(X, domain, k, epsilon, seed, parts, means)
        fits = factor == 1 and not means and parts ** len(domain) * k <= auto.MIXTURE_WORK
        for step in ("project", "threshold", *(["mixture"] if fits else [])):
            yield f"{factor:g} {'means' if means else 'counts'} {step}", _found(made, k, step)


TIGHT: dict[str, list[Any]] = {
    "PROBE_FROM": [30.0, 90.0, 150.0, 300.0, math.inf],
    "PROBE_SHARE": [Fraction(1, 40), Fraction(1, 20), Fraction(1, 10), Fraction(1, 5)],
    "PROBE_CELLS_PER_CLUSTER": [0, 8, 16, 32],
    "PROBE_ROWS": [0.25, 0.5, 1.0, 2.0, 4.0],
    "TIGHT_ROWS": [0.85, 0.9, 0.95, 0.98],
    "TIGHT_DOMAIN": [0.05, 0.1, 0.15, 0.25, 0.4],
    "TIGHT_FACTOR": [0.7, 1.0, 1.25, 1.6, 2.0],
    "TIGHT_REFINE": ["threshold", "project"],
}


def tight(X: np.ndarray, domain: Domain, k: int, epsilon: float, seed: int) -> Centers:
    known: dict[Any, np.ndarray] = {}
    for name, values in TIGHT.items():
        for value in values:
            with _set(auto, **{name: value}):
                opening = open_release(X, domain, epsilon, seed)
                made = repr(private_kmeans.choice_for(opening, k)), opening.gate.left
                if made not in known:  # the same choice with the same budget and seed gives the same centres
                    model = PrivateKMeans(k, epsilon=epsilon, domain=domain, random_state=seed)
                    known[made] = model.fit(X).cluster_centers_
                yield f"{name} {value}", known[made]


SHARES = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 1.0)


def thresholds(X: np.ndarray, domain: Domain, k: int, epsilon: float, seed: int) -> Centers:
    d = len(domain)
    if d <= 3:
        parts = max(2, round(rugnik_root(len(X), 0.97 * epsilon, d, k)))
        made = {f"grid {'means' if m else 'counts'}": _grid(X, domain, k, epsilon, seed, parts, m) for m in (0, 1)}
    else:
        made = {"tree": _privtree(X, domain, epsilon, seed, 0.06 if d > 5 else 0.12, auto.DEEPEST)}
    for kind, synopsis in made.items():
        for share in SHARES:
            with _set(refine, KEPT=share):
                yield f"{kind} {share:g}", _found(synopsis, k, "threshold")


STARTS = ((0.8,), (1.0,), (0.5, 0.8), (0.8, 1.0), (0.5, 0.8, 1.0))
TIES = (0.0, 3.0, 10.0, 30.0)


def mixtures(X: np.ndarray, domain: Domain, k: int, epsilon: float, seed: int) -> Centers:
    parts = max(2, round(rugnik_root(len(X), 0.97 * epsilon, len(domain), k)))
    if parts ** len(domain) * k > auto.MIXTURE_WORK / 4:  # all that auto fits, but for the slowest
        return
    made = _grid(X, domain, k, epsilon, seed, parts, False)
    for tie in TIES:
        with _set(_mixture, _TIE=tie):
            yield f"_TIE {tie:g}", _found(made, k, "mixture")
    for starts in STARTS:
        with _set(_mixture, _START_SHARES=starts):
            yield f"_START_SHARES {starts}", _found(made, k, "mixture")
    yield "residuals beyond noise", _found(made, k, "mixture")
    yield "residuals no mixture, thresholded", _found(made, k, "threshold")


def clear(X: np.ndarray, domain: Domain, k: int, epsilon: float, seed: int) -> Centers:
    released = PrivateKMeans(k, epsilon, domain, random_state=seed).release(X)
    middles = released.lower + (released.upper - released.lower) / 2
    if np.array_equal(released.points, middles) and released.n_leaves * k <= auto.MIXTURE_WORK:
        yield "mixture", _found(released, k, "mixture")
        yield "threshold", _found(released, k, "threshold")


CELLS = (1, 2, 4, 8, 16, 32)
DEPTHS = {"": None, " depth +0": 0, " depth +2": 2}


def many_axes(X: np.ndarray, domain: Domain, k: int, epsilon: float, seed: int) -> Centers:
    d, rest = len(domain), 0.97 * epsilon
    for cells in CELLS:
        parts = auto.coarse_parts(domain, cells * k)
        yield f"grid {cells} k", _found(_grid(X, domain, k, epsilon, seed, parts, True), k, "project")
    if d <= 7:
        parts = max(2, round(rugnik_root(len(X), rest, d, k)))
        if parts**d <= 2**16:
            made = _grid(X, domain, k, epsilon, seed, parts, False)
            yield "grid counts", _found(made, k, "project")
            yield "grid means", _found(_grid(X, domain, k, epsilon, seed, parts, True), k, "project")
    for share in (0.03, 0.06, 0.12, 0.25):
        for label, extra in DEPTHS.items():
            depth = auto.DEEPEST if extra is None else _rich_depth(len(X), d, rest * (1 - share)) + extra
            made = _privtree(X, domain, epsilon, seed, share, min(depth, auto.DEEPEST))
            yield f"tree {share:g}{label}", _found(made, k, "threshold")


def large(X: np.ndarray, domain: Domain, k: int, epsilon: float, seed: int) -> Centers:
    d, rest = len(domain), 0.97 * epsilon
    share = auto.SOME_AXES_SHARE if d <= auto.SOME_AXES else auto.TREE_SHARE
    for depth in (auto.DEEPEST, 28, 24, 20, 16):
        yield f"tree {depth}", _found(_privtree(X, domain, epsilon, seed, share, depth), k, "threshold")
    for rows in (1.0, 3.0, 12.0):
        parts = auto.broad_parts(len(X), d, rest, rows)
        if parts >= 3:
            made = _grid(X, domain, k, epsilon, seed, parts, True)
            for step in ("project", "threshold"):
                size = f"{'under' if parts < auto.BROAD else 'from'} {auto.BROAD}"
                yield f"grid {rows:g} {step} ({size} parts)", _found(made, k, step)


def levels(X: np.ndarray, domain: Domain, k: int, epsilon: float, seed: int) -> Centers:
    base = TreeSynopsis(epsilon, domain, n_clusters=k, random_state=seed).fit(X)
    first = base.guarantee_.parameters["test_from"]
    yield "auto", _found(base.synopsis_, k, ["consistent", "threshold"])
    for move in (-4, -2, -1, 1, 2):
        level = min(max(first + move, 0), 8)
        model = TreeSynopsis(epsilon, domain, n_clusters=k, test_from=level, random_state=seed).fit(X)
        yield f"auto {move:+d}", _found(model.synopsis_, k, ["consistent", "threshold"])


def _grid(X: np.ndarray, domain: Domain, k: int, epsilon: float, seed: int, parts: Any, means: bool) -> Synopsis:
    model = GridSynopsis(epsilon, domain, parts, n_clusters=k, leaf_means=bool(means), random_state=seed)
    return model.fit(X).synopsis_


def _privtree(X: np.ndarray, domain: Domain, epsilon: float, seed: int, share: float, depth: int) -> Synopsis:
    shares = (share, 0, 1 - share)
    model = TreeSynopsis(epsilon, domain, "privtree", depth, shares=shares, leaf_means=True, random_state=seed)
    return model.fit(X).synopsis_


def _found(synopsis: Synopsis, k: int, steps: Any) -> np.ndarray:
    return cluster_synopsis(synopsis, k, refine=steps).centers


@contextlib.contextmanager
def _set(module: Any, **values: Any) -> Iterator[None]:
    """Give a module's constants other values for a while."""
    before = {name: getattr(module, name) for name in values}
    for name, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


# On what: tables and budgets drawn at random, with rows per cluster in units of the noise spread over the section's
# range of x (few columns) or z (many).


RANGES = {
    "few-axes": (4, 1000),
    "tight": (60, 3000),
    "mixture": (20, 1000),
    "refine": (5, 1000),
    "clear": (250, 20_000),
}


def _draw(section: str, number: int) -> Cell:
    rng = np.random.default_rng([number, sum(map(ord, section))])

    def one_of(*values: Any) -> Any:
        return values[int(rng.integers(len(values)))]

    many = section in ("many-axes", "large") or (section == "refine" and rng.random() < 0.5)
    low, high = RANGES.get(section, (10, 1000))
    while True:
        d = one_of(4, 5, 6, 7, 8, 10, *([] if section == "large" else [12, 16, 20])) if many else one_of(2, 2, 3)
        k = one_of(2, 3, 5, 8, 12, 20, 30) if many else one_of(3, 5, 8, 15, 20, 30, 50, 100)
        n = one_of(1000, 2000, 5000, 10_000, 20_000, 50_000, *([] if many else [100_000, 200_000]))
        n = 1_000_000 if section == "large" else n
        epsilon = one_of(0.05, 0.1, 0.2, 0.5, 1.0, *([2.0, 5.0, 10.0] if section == "clear" else []))
        x = n * epsilon / k
        if section == "large" or (many and 0.2 <= x / auto.rows_for_a_mean(d) <= 60):
            break
        if not many and low <= x <= high:
            break
    # Half of the tables have plain clusters, as those have that people cluster; the others are there to be survived.
    plain = ["round"] * 3 + ["unequal"] + (["s_like"] if d == 2 else ["round"])
    odd = ["background", "chain", "skewed", "tubes", "patients" if d == 2 else "scores"]
    shape = one_of(*plain, *odd)
    if shape in ("patients", "s_like"):
        k = 15
    apart = one_of(6, 12, 30, 60) if section in ("tight", "refine") else one_of(4, 6, 8, 16)
    if shape == "s_like":
        apart = one_of(1, 2, 3, 4)
    return Table(shape, n, d, k, float(apart)), epsilon


SECTIONS: dict[str, tuple[Callable[..., Centers], int]] = {
    "few-axes": (few_axes, 160),
    "tight": (tight, 200),
    "refine": (thresholds, 160),
    "mixture": (mixtures, 320),
    "clear": (clear, 80),
    "many-axes": (many_axes, 240),
    "large": (large, 24),
    "levels": (levels, 60),
}


def job(task: tuple[str, int, int]) -> list[dict[str, Any]]:
    section, number, seeds = task
    table, epsilon = _draw(section, number)
    X = table.rows()
    domain = Domain.box([0] * table.d, 1)
    some = X[:10_000]
    best = nicv(X, weighted_kmeans(some, np.ones(len(some)), table.k, n_init=3, seed=0).centers)
    logs: dict[str, list[float]] = {}
    for seed in range(seeds):
        for name, centers in SECTIONS[section][0](X, domain, table.k, epsilon, seed):
            logs.setdefault(name, []).append(math.log(nicv(X, centers) / best))
    facts = {"table": table.name, "d": table.d, "epsilon": epsilon, "x": len(X) * epsilon / table.k}
    return [facts | {"candidate": name, "log_ratio": float(np.mean(v))} for name, v in logs.items()]


# What is shown.

BANDS = {
    "few-axes": ("x", [10, 20, 40, 100, 300]),
    "refine": ("x", [30, 100]),
    "many-axes": ("z", [1, 2, 4, 8, 16]),
    "clear": ("x", [500, 1000, 2000, 4000]),
}
AXES = {"many-axes": [(4, 5), (6, 8), (9, 99)], "refine": [(2, 3), (4, 99)], "large": [(4, 4), (5, 6), (7, 99)]}
#: The settings in use that others are compared with: the name of a candidate, or the beginnings of several.
IN_USE = {
    "few-axes": ["1 counts mixture"],
    "refine": ["grid counts 0.95", "grid means 0.95", "tree 0.95"],
    "mixture": ["_TIE 10", "_START_SHARES (0.5, 0.8, 1.0)", "residuals beyond noise"],
    "clear": ["mixture"],
    "many-axes": ["tree 0.06"],
    "large": ["tree 40"],
    "levels": ["auto"],
}


def report(section: str, rows: list[dict[str, Any]]) -> None:
    for low, high in AXES.get(section, [(1, 99)]):
        some = [r for r in rows if low <= r["d"] <= high]
        if not some:
            continue
        variable, edges = BANDS.get(section, ("", []))
        bands = list(zip([0, *edges], [*edges, math.inf], strict=True))
        lines = []
        for name in dict.fromkeys(r["candidate"] for r in some):
            cells = [_compared(some, name, _reference(section, name), variable, band) for band in bands]
            lines.append([name, *cells])
        columns = [f"{variable} {a:g}+" if variable else "ratio; over the one in use" for a, _ in bands]
        counts = [len({r["table"] for r in some if a <= _place(r, variable) < b}) for a, b in bands]
        title = f"{section}, d = {low} to {high}; tables: {counts}" if section in AXES else f"{section}; {counts}"
        show(title, ["candidate", *columns], lines)


def boundary(rows: list[dict[str, Any]]) -> None:
    """Show what a coarse grid below some z and a tree from there on come to, for many such z."""
    cells: dict[Any, dict[str, Any]] = {}
    for r in rows:
        facts = {"z": _place(r, "z"), "d": r["d"]}
        cells.setdefault((r["table"], r["epsilon"]), facts)[r["candidate"]] = r["log_ratio"]
    edges = [0, 2, 4, 6, 8, 12, 16, 24, 40, math.inf]
    for low, high in [(4, 5), (6, 8), (9, 99), (4, 99)]:
        some = [c for c in cells.values() if low <= c["d"] <= high]
        lines = []
        for grid, tree in itertools.product(["grid 4 k", "grid 8 k", "grid 16 k"], ["tree 0.06", "tree 0.12"]):
            means = [np.mean([c[grid if c["z"] < edge else tree] for c in some]) for edge in edges]
            lines.append([f"{grid}, {tree}", *(f"{math.exp(m):.3f}" for m in means)])
        show(f"RICH, d = {low} to {high}: grid below z, tree above", ["recipe", *(f"{e:g}" for e in edges)], lines)


def _place(row: dict[str, Any], variable: str) -> float:
    return row["x"] / auto.rows_for_a_mean(row["d"]) if variable == "z" else float(row["x"])


def _reference(section: str, name: str) -> str:
    if section == "tight":
        constant = name.split()[0]
        return f"{constant} {getattr(auto, constant)}"
    known = IN_USE[section]
    return next((r for r in known if r.split()[:-1] == name.split()[:-1] or r[:6] == name[:6]), known[0])


def _compared(rows: list[dict[str, Any]], name: str, reference: str, variable: str, band: tuple[float, float]) -> str:
    """Return the geometric mean of a candidate and, in brackets, the interval of its ratio to the one in use."""
    inside = [r for r in rows if band[0] <= _place(r, variable) < band[1]]
    own = {(r["table"], r["epsilon"]): r["log_ratio"] for r in inside if r["candidate"] == name}
    base = {(r["table"], r["epsilon"]): r["log_ratio"] for r in inside if r["candidate"] == reference}
    if not own:
        return ""
    gaps = np.array([own[key] - base[key] for key in own if key in base])
    mean = f"{math.exp(np.mean(list(own.values()))):.3f}"
    if name == reference or len(gaps) < 2:
        return mean
    middle, half = gaps.mean(), 1.96 * gaps.std(ddof=1) / math.sqrt(len(gaps))
    return f"{mean} [{math.exp(middle - half):.2f},{math.exp(middle + half):.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--section", nargs="+", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--tables", type=float, default=1.0, help="times the default number of tables")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="show the last results instead of running")
    arguments = parser.parse_args()
    path = RESULTS / "tune_auto.json"
    last = json.loads(path.read_text()) if path.exists() else {}
    kept = last.get("sections", {})
    for section in arguments.section:
        if not arguments.show:
            start = time.time()
            tasks = [(section, i, arguments.seeds) for i in range(round(arguments.tables * SECTIONS[section][1]))]
            rows: list[dict[str, Any]] = []
            with ProcessPoolExecutor(arguments.jobs) as pool:
                for part in pool.map(job, tasks):
                    rows += part
                    facts = {"seeds": arguments.seeds, "seconds": round(time.time() - start), "results": rows}
                    kept[section] = facts
                    save("tune_auto", {"sections": kept}, "discreet", "numpy", "scikit-learn")
            print(f"{section}: {time.time() - start:.0f} s", file=sys.stderr)
        if section in kept:
            report(section, kept[section]["results"])
        if section == "many-axes" and section in kept:
            boundary(kept[section]["results"])


if __name__ == "__main__":
    main()
