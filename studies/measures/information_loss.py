"""Information loss and classifiers of density trees by default and with other criteria, k = 5.

    python -m studies.measures.information_loss [--generated | --adult] [--folds 20]

Writes results/information_loss.json. Variants of the default were compared on Adult first, then on the generated
tables. Loss (the normalised certainty penalty) is the mean share of a column's values that a row leaves open: as
printed, and of the values that occur in its cell. AUC of gradient boosting that is trained on released rows (middles
of numbers, shares of categories) and judged on unseen people: by their cells, and by their values. Student intervals
over folds of Adult; neighbouring folds share rows.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import stats
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.tuning import mixed_tables
from discreet import Domain, datasets
from discreet.anonymity import DensityTree
from discreet.anonymity.release import read_table
from discreet.evaluation import one_thread
from studies.measures._measure import RESULTS, save, show

K = 5
SETTINGS: dict[str, dict[str, Any]] = {name: {"criterion": name} for name in ("auto", "spread", "factor", "width")}
GENERATED = [f"{family} {seed}" for family in ("hidden", "causes", "written", "classes") for seed in (1, 2, 3)]


def measured(train: pa.Table, test: pa.Table, domain: Domain, label: str, setting: str) -> dict[str, float]:
    """Grow on the training rows; return losses of these and AUC on the test rows."""
    model = DensityTree(K, domain=domain, **SETTINGS[setting]).fit(train)
    tree, grids = model.tree_, model.plan_.grids
    bins = [read_table(rows, model.plan_).bins.astype(np.int64) for rows in (train, test)]
    leaf = [tree.route(b.astype(np.uint16)) for b in bins]
    first, last = (ends.astype(np.int64) for ends in tree.cells)
    steps = np.array([max(g.n_bins - 1, 1) for g in grids])
    printed = ((last - first) / steps)[leaf[0]].mean()
    shown = [_features(grids, first[own], last[own]) for own in leaf] + [_features(grids, bins[1].T, bins[1].T)]
    y = np.unique(np.concatenate([rows[label].to_numpy() for rows in (train, test)]), return_inverse=True)[1]
    y_train, y_test = y[: train.num_rows], y[train.num_rows :]
    with one_thread():
        learner = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(shown[0], y_train)
    by_cells, by_values = (_auc(learner, X, y_test) for X in shown[1:])
    occurring = _occurring(grids, bins[0], leaf[0])
    return {"printed": printed, "occurring": occurring, "auc_cells": by_cells, "auc_values": by_values,
            "cells": tree.n_leaves}  # fmt: skip


def _auc(learner: Any, X: Any, y: Any) -> float:
    found = learner.predict_proba(X)
    return float(roc_auc_score(y, found[:, 1] if found.shape[1] == 2 else found, multi_class="ovr"))


def _features(grids: Any, first: Any, last: Any) -> Any:
    """Middles of numbers, and the share of each category."""
    found = []
    for j, grid in enumerate(grids):
        low, high = first[:, j], last[:, j]
        if grid.numeric:
            found.append(((low + high) / 2)[:, None])
            continue
        places = np.arange(grid.n_bins)
        inside = (places >= low[:, None]) & (places <= high[:, None])
        found.append(inside / inside.sum(axis=1, keepdims=True))
    return np.concatenate(found, axis=1)


def _occurring(grids: Any, bins: Any, leaf: Any) -> float:
    """Mean loss of the values that occur in the cell of a row, over those that occur in the table."""
    own = np.unique(leaf, return_inverse=True)[1]
    rows = np.bincount(own)
    losses = []
    for grid, column in zip(grids, bins, strict=True):
        if grid.numeric:
            low, high = np.full(len(rows), grid.n_bins), np.zeros(len(rows), np.int64)
            np.minimum.at(low, own, column)
            np.maximum.at(high, own, column)
            width, most = high - low, int(column.max() - column.min())
        else:
            pairs = np.unique(np.stack([own, column]), axis=1)
            width, most = np.bincount(pairs[0]) - 1, len(np.unique(column)) - 1
        losses.append(float((width * rows).sum() / rows.sum() / max(most, 1)))
    return float(np.mean(losses))


def generated() -> list[dict[str, Any]]:
    """Return the figures of every generated table and setting."""
    found = []
    for name in GENERATED:
        frame, more, domain = mixed_tables.table(name)
        label = domain.names[-1]
        roles = {c.name: {**c.to_dict(), "role": "target" if c.name == label else "quasi-identifier"} for c in domain}
        # Eight columns and the target: with more, hardly anything can be printed at k = 5.
        few = Domain({n: roles[n] for n in [*domain.names[:8], label]})
        tables = [pa.Table.from_pandas(t[list(few.names)].iloc[:10_000], preserve_index=False) for t in (frame, more)]
        for setting in SETTINGS:
            found.append({"table": name, "setting": setting, **measured(tables[0], tables[1], few, label, setting)})
            print(json.dumps(found[-1]), flush=True)
    return found


def adult(folds: int) -> list[dict[str, Any]]:
    """Return the figures of Adult by setting, with intervals over folds."""
    people, label = datasets.adult(), "salary-class"
    domain = Domain(
        {c.name: {**c.to_dict(), "role": "target"} if c.name == label else c.to_dict() for c in people.domain}
    )
    y = np.array(people.table[label].to_pylist())
    runs: dict[str, list[dict[str, float]]] = {setting: [] for setting in SETTINGS}
    for seed in range(-(-folds // 5)):
        for rows, others in StratifiedKFold(5, shuffle=True, random_state=seed).split(y, y):
            for setting, done in runs.items():
                done.append(measured(people.table.take(rows), people.table.take(others), domain, label, setting))
            print(seed, {s: {n: round(v, 4) for n, v in done[-1].items()} for s, done in runs.items()}, flush=True)
    found = []
    for setting, done in runs.items():
        whole = measured(people.table, people.table.slice(0, 5000), domain, label, setting)
        facts: dict[str, Any] = {"setting": setting, **{n: whole[n] for n in ("printed", "occurring", "cells")}}
        for name in ("auc_cells", "auc_values"):
            values = np.array([one[name] for one in done])
            half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
            facts[name], facts[f"{name}_half"] = float(values.mean()), float(half)
        found.append(facts)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generated", action="store_true", help="only the generated tables")
    parser.add_argument("--adult", action="store_true", help="only Adult")
    parser.add_argument("--folds", type=int, default=20)
    asked = parser.parse_args()
    place = RESULTS / "information_loss.json"
    known = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    facts = {name: known[name] for name in ("generated", "adult") if name in known}
    if not asked.adult:
        facts["generated"] = generated()
    if not asked.generated:
        facts["adult"] = adult(asked.folds)
    for name in ("generated", "adult"):
        if name in facts:
            show(name, list(facts[name][0]), [list(row.values()) for row in facts[name]])
    save("information_loss", facts, "numpy", "scikit-learn")


if __name__ == "__main__":
    main()
