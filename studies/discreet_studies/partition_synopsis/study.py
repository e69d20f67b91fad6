"""Partition synopses (Universidad de Chile 2024) again: four partitioners against grids, on seven tables.

As published: ten ε, budgets divided equally or geometrically, 2 to 12 levels, five starts of k-means on each synopsis,
the percentage by which NICV exceeds that of non-private k-means, and the centroid index. The published recursion is run
with its faults (`as_published/tree.py`), the product's tree with the same settings and without them, and beside both
what the product does when nothing is set. One setting is one seed; it covers several ε.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discreet import datasets
from discreet_studies.harness.study import Numbers, Setting, Study
from discreet_studies.partition_synopsis import runs
from discreet_studies.partition_synopsis.findings import findings
from discreet_studies.partition_synopsis.large import large_run
from discreet_studies.partition_synopsis.notes import notes, pictures
from discreet_studies.partition_synopsis.published import (
    EPSILONS,
    LINEAR,
    PARTITIONERS,
    SETS,
    SHAPES,
    chosen,
    threshold,
)

#: Which ε a setting covers.
GRIDS = {"ten": tuple(EPSILONS), "three": ("0.1", "1", "10"), "two": ("0.1", "1")}
#: Thresholds beside the printed one, by table: 10 and 80 were drawn for these tables, without figures.
_OTHER_THRESHOLDS = {"s1": (20, 40, 80), "s2": (80,), "s3": (80,), "s4": (80,), "shuttle_test": (10,)}
#: Runs of a cell, where there are many cells.
_FEW = 5
#: Tables of a quick run where their files are there.
_QUICK = ("s1", "shuttle_test")
_TREES = {"published": runs.as_published, "written": runs.as_written, "mended": runs.mended}
#: Trees that were run otherwise than the text says, by table.
_WRITTEN = {"s1": PARTITIONERS, "shuttle_test": ("median",)}


def settings(quick: bool) -> list[Setting]:
    """Return the grid: all shapes and benchmarks at all ε, other thresholds, ours, and figures without noise."""
    return list(_quick() if quick else _full())


def _quick() -> Iterator[Setting]:
    here = datasets.available()
    for name in (*(n for n in (*SETS, "shuttle") if n in here), *runs.LIKE):
        yield {"set": name, "method": "without noise"}
    for name in (*runs.LIKE, *(n for n in _QUICK if n in here)):
        yield from _methods(name, 4, "two" if name.startswith("shuttle") else "three")
    for name in runs.LIKE[:4]:
        for starts in (1, 5):
            yield from _seeds(10, set=name, method="k-means", starts=starts)


def _full() -> Iterator[Setting]:
    here = datasets.available()
    for name in (n for n in (*SETS, "shuttle") if n in here):
        yield {"set": name, "method": "without noise"}
    for name in (n for n in SETS if n in here):
        yield from _methods(name, 5 if name == "skin" else 20, "ten")
        for starts in (1, 5):
            yield from _seeds(20 if name[1].isdigit() else 4, set=name, method="k-means", starts=starts)
        yield from _shapes(name)
    if "shuttle" in here:
        yield from _seeds(10, set="shuttle", method="ours", grid="three")
        for p in PARTITIONERS:
            for method in ("published", "mended"):
                own = _tree_of("shuttle", p, method)
                yield from _seeds(5, **own, grid="two")
    for name, kinds in ((n, k) for n, k in _WRITTEN.items() if n in here):
        for p in kinds:
            yield from _seeds(10, **_tree_of(name, p, "written"), grid="ten")
    for name, others in ((n, ts) for n, ts in _OTHER_THRESHOLDS.items() if n in here):
        for p in PARTITIONERS:
            for t in others:
                seeds = 20 if name == "s1" else _FEW
                yield from _seeds(seeds, **_tree_of(name, p, "published") | {"threshold": t}, grid="three")
    for p in PARTITIONERS:
        yield from _seeds(1, set="large", method="large", partitioner=p)


def _seeds(n: int, **setting: str | int | float) -> Iterator[Setting]:
    yield from ({**setting, "seed": seed} for seed in range(n))


def _tree_of(name: str, partitioner: str, method: str, shape: str | None = None) -> dict[str, str | int | float]:
    """Return the part of a setting that says which tree, by default in the shape that was chosen."""
    shape = chosen(name, partitioner) if shape is None else shape
    own = {"set": name, "method": method, "partitioner": partitioner, "shape": shape}
    return {**own, "threshold": threshold(name)}


def _methods(name: str, seeds: int, grid: str) -> Iterator[Setting]:
    """Yield the chosen shapes as published and mended, the two grids, and ours."""
    half = max(seeds // 2, min(seeds, 5))
    many = name == "shuttle_test" and grid == "ten"  # quarters of a million cells a grid, and more
    for p in PARTITIONERS:
        few = many and p == "uniform"
        yield from _seeds(min(seeds, _FEW) if few else seeds, **_tree_of(name, p, "published"), grid=grid)
        yield from _seeds(min(seeds, 5), **_tree_of(name, p, "mended"), grid=grid)
    yield from _seeds(half if many else seeds, set=name, method="eugkm", grid=grid)
    yield from _seeds(half, set=name, method="dpkfm", grid="two" if many else grid)
    yield from _seeds(half if many else seeds, set=name, method="ours", grid=grid)


def _shapes(name: str) -> Iterator[Setting]:
    """Yield the shapes that were not chosen and those of the linear budget, as published."""
    for p in PARTITIONERS:
        for shape in (s for s in SHAPES if s != chosen(name, p)):
            yield from _seeds(_FEW, **_tree_of(name, p, "published", shape), grid="ten")
        for shape in LINEAR:
            yield from _seeds(_FEW, **_tree_of(name, p, "published", shape), grid="three")


def measure(setting: Setting) -> Numbers:
    """Return NICV and centroid index by ε, or what the setting asks for."""
    name, method, seed = str(setting["set"]), str(setting["method"]), int(setting.get("seed", 0))
    if method == "without noise":
        return runs.without_noise(name)
    if method == "large":
        return large_run(str(setting["partitioner"]), seed)
    work = runs.task(name)
    if method == "k-means":
        return runs.judged(work, runs.plain_kmeans(name, int(setting["starts"]), seed), "rows")
    found: dict[str, float] = {}
    for label in GRIDS[str(setting["grid"])]:
        epsilon = EPSILONS[label]
        if method in _TREES:
            own = str(setting["partitioner"]), str(setting["shape"]), int(setting["threshold"])
            centers = _TREES[method](name, *own, epsilon, seed)
        elif method == "ours":
            centers = runs.ours(name, epsilon, seed)
        else:
            centers = runs.grid_as_published(name, method, epsilon, seed)
        found |= runs.judged(work, centers, label, both=method == "ours")
    return found


def absent() -> Sequence[str]:
    """Return the tables that cannot be had here."""
    here = datasets.available()
    return [name for name in (*SETS, "shuttle") if name not in here]


STUDY = Study(
    "partition-synopsis",
    "Partition synopses: private trees against grids for k-means",
    "a thesis on differentially private clustering by partition-based synopses, Universidad de Chile, 2024",
    settings,
    measure,
    findings,
    notes,
    pictures,
    absent,
)
