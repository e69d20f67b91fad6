"""The density-tree experiments (Pors 2018) again: fifteen tables, a random forest on cells of at least k records.

As published: ten folds for the small tables, one split of 70 to 30 for the invented ones; accuracy, macro F1, recall
and precision, and build time of a random forest, over k from 5 to 100 and over the share of training records that the
tree is grown on. Changed, because the publication cannot be relied on otherwise: folds are stratified and the same for
every method, the invented tables are drawn anew with every seed, the area under the ROC curve is taken from
probabilities, differences are taken run by run, and tests are paired, or use the true number of test records, with
Holm's correction.
The forest has ten trees, the default of its time, and a hundred for comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.ensemble import RandomForestClassifier

from discreet import datasets, noise
from discreet.anonymity import Hierarchy
from discreet.core import Domain, IntArray
from discreet.datasets import is_here, place
from discreet_studies.density_trees.anonymous_tables import LABEL, METHODS, Task
from discreet_studies.density_trees.findings import findings
from discreet_studies.density_trees.labelled import labelled, labelled_names
from discreet_studies.density_trees.notes import notes
from discreet_studies.density_trees.pictures import pictures
from discreet_studies.density_trees.published import CELLS, PRINTED, REAL
from discreet_studies.harness.study import Numbers, Setting, Study
from discreet_studies.measured.classified import scores

#: The k of maps, and those of curves: all twenty of tables A.1 to A.15.
GRID = (5, 10, 15, 20, 30, 40, 50, 75, 100)
EVERY_K = tuple(range(5, 101, 5))
#: The shares of the training records, and the tables, of the maps.
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
MAPPED = ("breast", "glass", "iris", "wine", "synthetic-1", "synthetic-2", "synthetic-6", "synthetic-7")
#: Trees of the forest: as in 2018, and as now.
FORESTS = (10, 100)
ADULT_K = (5, 10, 25, 50)
#: Steps of the public grids of the numeric tables.
STEPS = 256
_QUICK_K = (5, 10, 20, 50)
#: The published method, and ours by default: over all k and shares.
_CURVES = ("reference", "spread")
_PLAIN = (*_CURVES, "factor")
_MORE = ("supervised", "mondrian")
_ALL = ("generalization", "drawn")
_ADULT = ("width", "factor", "spread", "cell", "supervised", "mondrian", "generalization")


def settings(quick: bool) -> list[Setting]:
    """Return the grid: every method where the published tree was best, curves, maps, Adult, and larger forests."""
    found: list[Setting] = []
    here = labelled_names()
    tables = [n for n in PRINTED if n in here]
    few, many = FORESTS

    def add(name: str, method: str, k: int, seeds: int, trees: int = few) -> None:
        found.extend({"set": name, "method": method, "k": k, "seed": s, "trees": trees} for s in range(seeds))

    for name in tables:
        printed, seeds = PRINTED[name], _seeds(name, quick)
        add(name, "continuous", 0, seeds)
        for method in (*_PLAIN, *_MORE, *(() if quick else _ALL)):
            # Looking ahead in ten folds of nine columns takes longer than all else on breast.
            slow = method == "supervised" and name == "breast"
            add(name, method, printed.k, (1 if quick else 4) if slow else seeds)
        add(name, "equal-width", printed.h_width, seeds)
        add(name, "equal-frequency", printed.h_frequency, seeds)
        add(name, "mdlp", 0, seeds)
    for name in tables:
        for k in _QUICK_K if quick else EVERY_K:
            for method in _CURVES:
                if k != PRINTED[name].k:
                    add(name, method, k, 1 if quick else 3 if PRINTED[name].folds else 10)
    found += _maps([name for name in MAPPED if name in here], quick)
    if quick:
        return found
    if _adult_is_here():
        add("adult", "continuous", 0, 2)
        for k in ADULT_K:
            for method in _ADULT:
                add("adult", method, k, 2)
    for name in tables:
        seeds = 4 if PRINTED[name].folds else 6
        add(name, "continuous", 0, seeds, many)
        for method in _PLAIN:
            add(name, method, PRINTED[name].k, seeds, many)
    return found


def _maps(tables: Sequence[str], quick: bool) -> list[Setting]:
    """Return the settings with a share of the training records; such a one has no number of trees: there are ten.

    Where the share holds fewer than k records there is none: no tree can keep k then.
    """
    shares = SHARES[::4] if quick else SHARES
    grid = [(name, share, k) for name in tables for share in shares for k in (_QUICK_K if quick else GRID)]
    if not quick:
        grid += [(c.name, c.share, c.k) for c in CELLS if c.name in tables and c.k not in GRID]
    found: list[Setting] = []
    for name, share, k in grid:
        if quick and name in REAL and name != "iris":
            continue
        if round(share * _build_size(name)) >= k:
            seeds = 1 if quick or PRINTED[name].folds else 3
            found.extend(
                {"set": name, "method": m, "k": k, "seed": s, "share": share} for m in _CURVES for s in range(seeds)
            )
    return found


def _build_size(name: str) -> int:
    """Return the number of training records, at least: folds differ by one."""
    return PRINTED[name].n_test * 9 // 10 if PRINTED[name].folds else PRINTED[name].n_test * 7 // 3


def _seeds(name: str, quick: bool) -> int:
    """Return how many runs there are; with folds one takes ten fits."""
    if PRINTED[name].folds:
        return 2 if quick else 10
    return 4 if quick else 20


def measure(setting: Setting) -> Numbers:
    """Return how well a forest does on what a method shows, and size and width of its cells, over the splits.

    Accuracy is over all test records; F1, recall, precision and area under the curve are means over the splits, as
    published. The accuracy of single folds is kept where differences are tested: at the k of the printed best. With a
    share, and of a larger forest, accuracy and number of cells are all that is asked.
    """
    name, method = str(setting["set"]), str(setting["method"])
    seed, k = int(setting["seed"]), int(setting["k"])
    trees = int(setting.get("trees", FORESTS[0]))
    _warm(method)
    right, total = 0.0, 0
    found: dict[str, list[float]] = {}
    for task in tasks(name, seed, float(setting.get("share", 1.0))):
        seen = METHODS[method](task, k, seed)
        truth = task.labels(task.test)
        forest = RandomForestClassifier(trees, random_state=seed, n_jobs=1).fit(seen.X, seen.y)
        chances = np.zeros((len(truth), int(max(truth.max(), *forest.classes_)) + 1))
        chances[:, forest.classes_] = forest.predict_proba(seen.test)
        scored = scores(truth, chances)
        right, total = right + scored["accuracy"] * len(truth), total + len(truth)
        for measured, value in (scored | seen.facts).items():
            found.setdefault(measured, []).append(value)
    folds = found["accuracy"]
    means = {measured: float(np.mean(values)) for measured, values in found.items()} | {"accuracy": right / total}
    if "share" in setting or trees != FORESTS[0]:
        return {measured: means[measured] for measured in ("accuracy", "cells") if measured in means}
    if len(folds) > 1 and (k in (0, PRINTED[name].k) or method.startswith("equal")):
        means |= {f"fold{i}": value for i, value in enumerate(folds)}
    return means


@cache
def _warm(method: str) -> None:
    """Run a method once on a little, so that no build time holds that of its kernels' compilation."""
    task = next(tasks("synthetic-7", 0))
    METHODS[method](task, 50, 0)


def tasks(name: str, seed: int, share: float = 1.0) -> Iterator[Task]:
    """Yield the splits of one run: ten folds, or one of 70 to 30. Trees are to grow on a share of the training rows."""
    if name == "adult":
        records = datasets.adult()
        domain = Domain({c.name: c.to_dict() | _role(c.name == "salary-class") for c in records.domain})
        yield from _splits(records.table, domain, None, seed, _adult_hierarchies(), share)
        return
    data = labelled(name, random_state=seed)
    assert data.labels is not None
    columns = {c.name: c.to_dict() | _role(False) for c in data.domain}
    classes = [str(i) for i in range(data.n_clusters)]
    domain = Domain(columns | {LABEL: {"categories": classes, "role": "target"}})
    table = data.to_arrow().append_column(LABEL, pa.array([classes[i] for i in data.labels]))
    yield from _splits(table, domain, data.labels if PRINTED[name].folds else None, seed, {}, share)


def _role(target: bool) -> dict[str, str]:
    return {"role": "target" if target else "quasi-identifier"}


def _splits(
    table: pa.Table, domain: Domain, labels: IntArray | None, seed: int, hierarchies: dict[str, Any], share: float
) -> Iterator[Task]:
    """Yield ten folds with as many of each class, if labels are given; else one split.

    The share is drawn at random, and a smaller one is part of a larger one.
    """
    n = table.num_rows
    turn = np.argsort(noise.below(2**62, size=n, rng=seed), kind="stable")
    part = np.empty(n, np.int64)
    if labels is None:
        part[turn] = np.arange(n) >= round(0.7 * n)
    else:
        part[turn[np.argsort(labels[turn], kind="stable")]] = np.arange(n) % 10
    for held_out in (1,) if labels is None else range(10):
        train, test = np.flatnonzero(part != held_out), np.flatnonzero(part == held_out)
        mixed = turn[part[turn] != held_out]
        build = train if share == 1 else np.sort(mixed[: round(share * len(mixed))])
        steps = None if hierarchies else STEPS
        learn, held, grown = (table.take(pa.array(rows)) for rows in (train, test, build))
        yield Task(learn, held, grown, domain, hierarchies, steps)


def _adult_is_here() -> bool:
    return is_here("arx-adult/adult.csv.gz")


def _adult_hierarchies() -> dict[str, Any]:
    """Return the hierarchies that the tool ARX ships for Adult; age is a number and has doubling intervals instead."""
    names = ("education", "marital-status", "native-country", "occupation", "race", "sex", "workclass")
    return {n: Hierarchy.from_csv(place(f"arx-adult/hierarchy_{n}.csv.gz", "adult"), header=True) for n in names}


def absent() -> Sequence[str]:
    """Return the tables that cannot be had here."""
    here = labelled_names()
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
