"""What a classifier gets to see of a table: its values, bins of single columns, or the cells of an anonymous release.

Every method is fitted on the training rows, or on a share of them; all training rows and the test rows are put through
the same cuts, as in the published experiments.
`drawn` is what the reader of a release may do instead: train on rows drawn from the cells, and classify values as they
are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.anonymity import DensityTree, Generalization, Mondrian
from discreet.anonymity.release import read_table
from discreet.core import Categorical, Domain, FloatArray, IntArray
from discreet_studies.as_published.density_tree import ReferenceTree
from discreet_studies.measured.discretizers import Discretizer

#: Tables drawn from one release.
_DRAWS = 3
LABEL = "class"


@dataclass(frozen=True)
class Task:
    """Training and test rows of one split: as numbers, and as tables with the declared columns and the label.

    ``build`` are the training rows that a tree is grown on; ``domain`` declares the label as target; ``hierarchies``
    are for the generalisation of whole columns; ``grid`` is the number of steps of the public grids.
    """

    train: pa.Table
    test: pa.Table
    build: pa.Table
    domain: Domain
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    grid: int | None = None

    def numbers(self, table: pa.Table) -> FloatArray:
        """Return the quasi-identifiers as the coordinates of the domain; categories are numbered."""
        found = [
            _codes(table[c.name], c.categories) if isinstance(c, Categorical) else table[c.name].to_numpy()
            for c in self.domain
            if c.role != "target"
        ]
        return np.column_stack(found).astype(np.float64)

    def labels(self, table: pa.Table) -> IntArray:
        """Return the classes as numbers."""
        column = next(c for c in self.domain if c.role == "target")
        assert isinstance(column, Categorical)
        return _codes(table[column.name], column.categories)


@dataclass(frozen=True)
class Seen:
    """Features and labels to train on, features to test on, and what is to say of the cells.

    Among the facts is ``built``, the processor seconds that finding the cells took.
    """

    X: FloatArray
    y: IntArray
    test: FloatArray
    facts: dict[str, float] = field(default_factory=dict)


def _codes(column: Any, categories: Any) -> IntArray:
    place = {str(c): i for i, c in enumerate(categories)}
    return np.array([place[str(v)] for v in column.to_pylist()], np.int64)


def continuous(task: Task, k: int, seed: int) -> Seen:
    """Show the values themselves."""
    return Seen(task.numbers(task.train), task.labels(task.train), task.numbers(task.test))


def _by_columns(method: str) -> Callable[[Task, int, int], Seen]:
    def see(task: Task, k: int, seed: int) -> Seen:
        X, y, test = task.numbers(task.train), task.labels(task.train), task.numbers(task.test)
        start = time.process_time()
        bins = Discretizer(method, max(k, 1)).fit(X, y)  # 0 stands for a method that finds its own number
        facts = {"built": time.process_time() - start}
        return Seen(bins.transform(X), y, bins.transform(test), facts)

    return see


def reference(task: Task, k: int, seed: int) -> Seen:
    """Show the leaf of the published tree: tight volumes, cuts at midpoints of values."""
    X, test, build = task.numbers(task.train), task.numbers(task.test), task.numbers(task.build)
    start = time.process_time()
    tree = ReferenceTree(k).fit(build)
    facts = {"built": time.process_time() - start}
    sizes = np.bincount(tree.apply(build))
    facts |= {"cells": float(tree.n_leaves), "smallest": float(sizes[sizes > 0].min())}
    leaf = tree.apply(X)[:, None].astype(float)
    return Seen(leaf, task.labels(task.train), tree.apply(test)[:, None].astype(float), facts)


def _by_tree(make: Callable[[Task, int], Any]) -> Callable[[Task, int, int], Seen]:
    def see(task: Task, k: int, seed: int) -> Seen:
        start = time.process_time()
        model = make(task, k).fit(task.build)
        facts = {"built": time.process_time() - start}
        tree = model.tree_
        first, last = tree.cells
        leaves = [tree.route(read_table(table, model.plan_).bins) for table in (task.train, task.test)]
        middles = (first + last) / 2
        steps = np.array([max(g.n_bins - 1, 1) for g in tree.grids])
        width = ((last - first) / steps).mean(axis=1)[leaves[0]].mean()
        facts |= {"cells": float(tree.n_leaves), "smallest": float(model.leaf_counts_.min()), "width": float(width)}
        if hasattr(model, "weight_"):
            facts |= {"weight": model.weight_, "ahead": float(model.ahead_)}
        return Seen(middles[leaves[0]], task.labels(task.train), middles[leaves[1]], facts)

    return see


def _tree(criterion: str) -> Callable[[Task, int, int], Seen]:
    return _by_tree(lambda task, k: DensityTree(k, domain=task.domain, criterion=criterion, grid=task.grid))


def drawn(task: Task, k: int, seed: int) -> Seen:
    """Show rows drawn from the cells of the factor criterion, and the test rows as they are."""
    model = DensityTree(k, domain=task.domain, criterion="factor", grid=task.grid).fit(task.train)
    draws = [model.transform(task.train, "sample", random_state=seed * _DRAWS + i).table for i in range(_DRAWS)]
    rows = pa.concat_tables(draws)
    return Seen(task.numbers(rows), task.labels(rows), task.numbers(task.test))


def generalization(task: Task, k: int, seed: int) -> Seen:
    """Show values generalised by whole columns (Datafly's choice of levels); up to 5 % of the rows are left out.

    A row that is left out has lost all: it counts as a cell as wide as the table.
    """
    model = Generalization(k, domain=task.domain, hierarchies=dict(task.hierarchies), suppress=0.05).fit(task.train)
    groups = [ladder[model.levels_[g.name]] for g, ladder in zip(model.plan_.grids, model._ladders, strict=True)]
    train, test = (read_table(table, model.plan_).bins for table in (task.train, task.test))
    codes, asked = (np.column_stack([g[b] for g, b in zip(groups, bins, strict=True)]) for bins in (train, test))
    _, place, sizes = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    kept = sizes[place.ravel()] >= k
    spans = [(np.bincount(g)[g[b]] - 1) / max(len(g) - 1, 1) for g, b in zip(groups, train, strict=True)]
    width = np.where(kept, np.mean(spans, axis=0), 1.0).mean()
    facts = {
        "cells": float((sizes >= k).sum()),
        "smallest": float(sizes[sizes >= k].min()),
        "width": float(width),
        "suppressed": float((~kept).mean()),
    }
    return Seen(codes[kept].astype(float), task.labels(task.train)[kept], asked.astype(float), facts)


METHODS: dict[str, Callable[[Task, int, int], Seen]] = {
    "continuous": continuous,
    **{method: _by_columns(method) for method in ("equal-width", "equal-frequency", "mdlp")},
    "reference": reference,
    **{criterion: _tree(criterion) for criterion in ("spread", "factor", "width", "cell")},
    "supervised": _by_tree(lambda task, k: DensityTree(k, domain=task.domain, supervised=True, grid=task.grid)),
    "mondrian": _by_tree(lambda task, k: Mondrian(k, domain=task.domain, grid=task.grid)),
    "generalization": generalization,
    "drawn": drawn,
}
