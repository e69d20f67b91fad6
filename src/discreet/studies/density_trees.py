"""The density-tree experiments (Pors 2018) again: fifteen tables, a random forest on cells of at least k records.

As published: ten folds for the small tables, one split of 70 to 30 for the invented ones, accuracy of a random forest.
Changed, because the publication cannot be relied on otherwise: folds are stratified and the same for every method, the
invented tables are drawn anew with every seed, differences are taken run by run, and tests use the true number of test
records with Holm's correction. The forest has ten trees, the default of its time, and a hundred for comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.ensemble import RandomForestClassifier

from discreet import datasets, noise
from discreet.anonymity import Hierarchy
from discreet.datasets._loaders import _folder
from discreet.domain import Domain
from discreet.errors import DataSourceError
from discreet.studies._anonymous_tables import LABEL, METHODS, Task
from discreet.studies._published_trees import LEAVES, LOST, PRINTED
from discreet.studies._study import Numbers, Setting, Study
from discreet.studies._tree_findings import findings, notes, pictures

IntArray = npt.NDArray[np.int64]

#: The k of the curves.
GRID = (5, 10, 20, 50, 100)
#: Trees of the forest: as in 2018, and as now.
FORESTS = (10, 100)
ADULT_K = (5, 10, 25, 50)
#: Steps of the public grids of the numeric tables.
STEPS = 256
_LEAF_K = (5, 10, 20, 50)
_LARGE = ("synthetic-3", "synthetic-4")
_PLAIN = ("reference", "spread", "factor")
_MORE = ("supervised", "mondrian")
_ALL = ("generalization", "drawn")
_ADULT = ("width", "factor", "spread", "cell", "supervised", "mondrian", "generalization")


def settings(quick: bool) -> list[Setting]:
    """Return the grid: every method where the published tree was best, curves over k, Adult, and larger forests."""
    found: list[Setting] = []
    here = datasets.labelled_names()
    tables = [n for n in PRINTED if n in here]
    few, many = FORESTS

    def add(name: str, method: str, k: int, seeds: int, trees: int = few) -> None:
        found.extend({"set": name, "method": method, "k": k, "seed": s, "trees": trees} for s in range(seeds))

    for name in tables:
        printed, seeds = PRINTED[name], _seeds(name, quick)
        add(name, "continuous", 0, seeds)
        for method in (*_PLAIN, *_MORE, *(() if quick else _ALL)):
            add(name, method, printed.k, seeds)
        add(name, "equal-width", printed.h_width, seeds)
        add(name, "equal-frequency", printed.h_frequency, seeds)
        add(name, "mdlp", 0, seeds)
        if name in LOST and printed.k != 5:
            add(name, "supervised", 5, seeds)
    for name in tables:
        for k in _LEAF_K if quick and name in LEAVES else () if quick else GRID:
            for method in ("reference",) if quick else ("reference", "factor"):
                if k != PRINTED[name].k:
                    add(name, method, k, max(1, _seeds(name, quick) // 5))
    if quick:
        return found
    if _adult_is_here():
        add("adult", "continuous", 0, 2)
        for k in ADULT_K:
            for method in _ADULT:
                add("adult", method, k, 2)
    for name in tables:
        seeds = _seeds(name, quick) if PRINTED[name].folds else max(2, _seeds(name, quick) // 4)
        add(name, "continuous", 0, seeds, many)
        for method in _PLAIN:
            add(name, method, PRINTED[name].k, seeds, many)
    return found


def _seeds(name: str, quick: bool) -> int:
    """Return how many runs there are: with folds one takes ten fits, and the large tables are slow."""
    if name in _LARGE:
        return 2 if quick else 4
    if PRINTED[name].folds:
        return 2 if quick else 4
    return 4 if quick else 20


def measure(setting: Setting) -> Numbers:
    """Return the accuracy of a forest on what a method shows, and the size and width of its cells, over the splits."""
    seed, k = int(setting["seed"]), int(setting["k"])
    see = METHODS[str(setting["method"])]
    right, total = 0, 0
    facts: dict[str, list[float]] = {}
    for task in tasks(str(setting["set"]), seed):
        seen = see(task, k, seed)
        forest = RandomForestClassifier(int(setting["trees"]), random_state=seed, n_jobs=1).fit(seen.X, seen.y)
        right += int((forest.predict(seen.test) == task.labels(task.test)).sum())
        total += task.test.num_rows
        for name, value in seen.facts.items():
            facts.setdefault(name, []).append(value)
    return {"accuracy": right / total, **{name: float(np.mean(values)) for name, values in facts.items()}}


def tasks(name: str, seed: int) -> Iterator[Task]:
    """Yield the splits of one run: ten folds, or one of 70 to 30."""
    if name == "adult":
        records = datasets.adult()
        domain = Domain({c.name: c.to_dict() | _role(c.name == "salary-class") for c in records.domain})
        yield from _splits(records.table, domain, None, seed, _adult_hierarchies())
        return
    data = datasets.labelled(name, random_state=seed)
    assert data.labels is not None
    columns = {c.name: c.to_dict() | _role(False) for c in data.domain}
    classes = [str(i) for i in range(data.n_clusters)]
    domain = Domain(columns | {LABEL: {"categories": classes, "role": "target"}})
    table = data.to_arrow().append_column(LABEL, pa.array([classes[i] for i in data.labels]))
    yield from _splits(table, domain, data.labels if PRINTED[name].folds else None, seed, {})


def _role(target: bool) -> dict[str, str]:
    return {"role": "target" if target else "quasi-identifier"}


def _splits(
    table: pa.Table, domain: Domain, labels: IntArray | None, seed: int, hierarchies: dict[str, Any]
) -> Iterator[Task]:
    """Yield ten folds with as many of each class, if labels are given; else one split."""
    n = table.num_rows
    turn = np.argsort(noise.below(2**62, size=n, rng=seed), kind="stable")
    part = np.empty(n, np.int64)
    if labels is None:
        part[turn] = np.arange(n) >= round(0.7 * n)
    else:
        part[turn[np.argsort(labels[turn], kind="stable")]] = np.arange(n) % 10
    for held_out in (1,) if labels is None else range(10):
        train, test = np.flatnonzero(part != held_out), np.flatnonzero(part == held_out)
        steps = None if hierarchies else STEPS
        yield Task(table.take(pa.array(train)), table.take(pa.array(test)), domain, hierarchies, steps)


def _adult_is_here() -> bool:
    folder = _folder()
    return folder is not None and (folder / "arx-adult" / "adult.csv.gz").is_file()


def _adult_hierarchies() -> dict[str, Any]:
    """Return the hierarchies that the tool ARX ships for Adult; age is a number and has doubling intervals instead."""
    folder = _folder()
    if folder is None:
        raise DataSourceError("adult: no data folder found; set DISCREET_DATA to the folder that holds 'arx-adult'")
    names = ("education", "marital-status", "native-country", "occupation", "race", "sex", "workclass")
    return {n: Hierarchy.from_csv(folder / "arx-adult" / f"hierarchy_{n}.csv.gz", header=True) for n in names}


def absent() -> Sequence[str]:
    """Return the tables that cannot be had here."""
    here = datasets.labelled_names()
    return [n for n in PRINTED if n not in here] + ([] if _adult_is_here() else ["adult"])


STUDY = Study(
    "density-trees",
    "Density trees: what k-anonymous cells cost a classifier",
    "S. Pors, Using Discretization and Resampling for Privacy Preserving Data Analysis, Utrecht University, 2018",
    settings,
    measure,
    findings,
    notes,
    pictures,
    absent,
)
