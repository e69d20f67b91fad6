"""The results of the density-tree study next to the printed figures."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from discreet_studies.density_trees.published import CELLS, PRINTED, REAL, tables
from discreet_studies.density_trees.tests import compared
from discreet_studies.harness.study import CORRECTED, NOT, REPRODUCED, Estimate, Finding, Results
from discreet_studies.measured.significance import holm, two_sided, z_score

#: The one unsupervised setting that is compared with the published losses: the default. And another beside it.
CRITERION, OTHER = "spread", "factor"
#: Discretisers of single columns, and where `Printed` says how many bins were best.
COLUMNS = {"equal-width": "h_width", "equal-frequency": "h_frequency", "mdlp": None}
#: A mean within this of a printed figure reproduces it: fold draws alone move the small tables by as much.
_NEAR = 0.03
_ONE_DRAW = "one draw of a generator whose settings are not given"
_DRAWN_ANEW = f"{_ONE_DRAW}, and the best of twenty k"
_BEST_OF_MANY = "the printed one is the best of twenty k on folds drawn anew for each"
_FOLDS = "the printed one is from one assignment of folds, drawn anew for each k"
_SHARE = "one draw; how the share was drawn, and what the forest learned from, is not given"
_HARD = "the printed one is the macro recall of hard labels"
_HUNDRED = "the tests took 100 test records for every table"


def here(results: Results) -> list[str]:
    """Return the tables that were run, in the printed order."""
    seen = results.seen("set")
    return [name for name in PRINTED if name in seen]


def at_best(name: str, method: str) -> dict[str, Any]:
    """Return the setting of a method where the printed tree, or the printed discretiser, was best."""
    if method in COLUMNS:
        bins = COLUMNS[method]
        return {"method": method, "k": getattr(PRINTED[name], bins) if bins else 0}
    return {"method": method, "k": 0 if method == "continuous" else PRINTED[name].k}


def loss(results: Results, name: str, method: str, trees: int = 10, k: int | None = None) -> Estimate:
    """Return by how much the forest on a method's cells is worse than on the values, run by run."""
    plain = {"set": name, "method": "continuous", "k": 0, "trees": trees}
    shown = {"set": name, "trees": trees, **at_best(name, method)} | ({} if k is None else {"k": k})
    return results.difference("accuracy", plain, shown)


def shared_runs(results: Results, name: str, method: str) -> tuple[list[int], set[int]]:
    """Return the k of a curve, and the runs that all of them have: other runs are other draws of the table."""
    runs: dict[int, set[int]] = {}
    for setting, _ in results.rows:
        if (setting["set"], setting["method"], setting.get("trees")) == (name, method, 10):
            runs.setdefault(int(setting["k"]), set()).add(int(setting["seed"]))
    return sorted(runs), set.intersection(*runs.values()) if runs else set()


def over_k(results: Results, measure: str, name: str, method: str) -> dict[int, Estimate]:
    """Return a measure by k, over the runs that all k have."""
    ks, runs = shared_runs(results, name, method)
    own = {"set": name, "method": method, "trees": 10}
    return {k: over_runs(results, measure, own | {"k": k}, runs) for k in ks}


def over_runs(results: Results, measure: str, where: Mapping[str, Any], runs: Collection[int]) -> Estimate:
    """Return the mean of a measure over some of the runs."""
    values = (results.values(measure, {**where, "seed": seed}) for seed in sorted(runs))
    return Estimate.of(value for found in values for value in found.values())


def findings(results: Results) -> list[Finding]:
    """Set baselines, scores, leaf counts, maps and tests next to the printed ones."""
    found: list[Finding] = []
    for name in here(results):
        printed = PRINTED[name]
        measured = results.estimate("accuracy", set=name, trees=10, **at_best(name, "continuous"))
        reason = "no forest of 10 or 100 trees comes near the printed figure" if printed.folds else _ONE_DRAW
        found.append(_near("Accuracy: continuous data", name, printed.continuous, measured, None, reason))
    for name in here(results):
        figure = f"{name}, k = {PRINTED[name].k}"
        found.append(_scored(results, "Accuracy: density tree", figure, name, "accuracy", PRINTED[name].tree))
    found += _every_k(results)
    found += _curves_under(results)
    for name in (n for n in here(results) if n in REAL):
        for k in (5, 10, 20, 50):
            measured = results.estimate("cells", set=name, method="reference", k=k, trees=10)
            if measured.runs:
                leaves = tables()[name, k]["leaves"]
                good = abs(measured.mean - leaves) <= (2 if k == 5 else 1)
                reason = "the tree that was rebuilt from the description has other leaves"
                figure = f"{name}: leaves, k = {k}"
                found.append(_judged("Leaves of the published tree", figure, leaves, measured, None, good, reason))
    return [*found, *_cells(results), *_tests(results)]


def _near(section: str, figure: str, value: float, measured: Estimate, best: Estimate | None, reason: str) -> Finding:
    return _judged(section, figure, value, measured, best, abs(measured.mean - value) <= _NEAR, reason)


def _judged(
    section: str, figure: str, value: float, measured: Estimate, best: Estimate | None, good: bool, reason: str
) -> Finding:
    return Finding(figure, value, measured, best, REPRODUCED if good else NOT, "" if good else reason, section)


def _scored(results: Results, section: str, figure: str, name: str, measure: str, value: float) -> Finding:
    reason = _BEST_OF_MANY if PRINTED[name].folds else _DRAWN_ANEW
    measured, ours = (
        results.estimate(measure, set=name, trees=10, **at_best(name, m)) for m in ("reference", CRITERION)
    )
    return _near(section, figure, value, measured, ours, reason)


#: The measures of tables A.1 to A.15; the printed ROC is the macro recall of hard labels.
MEASURES = {
    "accuracy": "accuracy",
    "f1": "macro F1",
    "recall": "macro recall",
    "precision": "macro precision",
    "roc": "ROC, which is the macro recall",
}


def _every_k(results: Results) -> list[Finding]:
    """Set all cells of tables A.1 to A.15 next to the published method, run again at every k."""
    found = []
    for measure, words in MEASURES.items():
        for (name, k), row in tables().items():
            where = {"set": name, "trees": 10, "k": k}
            own = "recall" if measure == "roc" else measure
            measured, ours = (results.estimate(own, method=m, **where) for m in ("reference", CRITERION))
            if measure not in row or not measured.runs:
                continue
            reason = _FOLDS if PRINTED[name].folds else _ONE_DRAW
            section = f"Tables A.1 to A.15: {words}"
            found.append(_near(section, f"{name}, k = {k}", row[measure], measured, ours, reason))
    return found


def _curves_under(results: Results) -> list[Finding]:
    """Compare the printed ROC with a real area under the curve, where the printed tree was best."""
    found = []
    for name in here(results):
        k = PRINTED[name].k
        value = tables()[name, k].get("roc")
        if value is None:
            continue
        section = "ROC as printed, and an area from probabilities"
        own = {"set": name, "trees": 10}
        area, ours = (results.estimate("auc", **own, **at_best(name, m)) for m in ("reference", CRITERION))
        found.append(_near(section, f"{name}, k = {k}: area under the curve", value, area, ours, _HARD))
    return found


def _cells(results: Results) -> list[Finding]:
    """Set cells of the maps over share and k next to those that the published text names."""
    section = "Trees on a share of the training records"
    found = []
    for cell in CELLS:
        where = {"set": cell.name, "share": cell.share, "k": cell.k}
        measured, ours = (results.estimate("accuracy", method=m, **where) for m in ("reference", CRITERION))
        if measured.runs:
            figure = f"{cell.name}: {cell.share:.0%}, k = {cell.k}"
            found.append(_near(section, figure, cell.accuracy, measured, ours, _SHARE))
    ones = results.estimate("cells", set="synthetic-7", method="reference", share=0.1, k=40)
    if ones.runs:
        figure = "synthetic-7: leaves, 10 % and k = 40"
        found.append(_judged(section, figure, 1.0, ones, None, ones.mean == 1, _SHARE))
    for name, share, value in (("synthetic-1", None, 0.80), ("synthetic-2", 0.3, 0.78)):
        best = {m: _best_cell(results, name, m, share) for m in ("reference", CRITERION)}
        if best["reference"] is not None:
            figure = f"{name}: best cell of the map" + (f", {share:.0%}" if share else "")
            reason = "the printed one is the best of many cells of one draw"
            found.append(_near(section, figure, value, best["reference"], best[CRITERION], reason))
    return found


def _best_cell(results: Results, name: str, method: str, share: float | None) -> Estimate | None:
    cells = {(s["share"], s["k"]) for s, _ in results.rows if s["set"] == name and "share" in s}
    means = [
        results.estimate("accuracy", set=name, method=method, share=a, k=k)
        for a, k in sorted(cells)
        if share is None or a == share
    ]
    return max((e for e in means if e.runs), key=lambda e: e.mean, default=None)


def _tests(results: Results) -> list[Finding]:
    """Count significant losses: by the printed |z|, with the true number of test records, after Holm, and by ours."""
    found = []
    for section, against, printed in (
        ("Significant losses against continuous data", "continuous", {n: p.z for n, p in PRINTED.items()}),
        ("Significant losses against the best discretiser", "best", {n: p.z_best for n, p in PRINTED.items()}),
    ):
        z = {n: value for n, value in printed.items() if value is not None}
        true = {n: value * math.sqrt(PRINTED[n].n_test / 100) for n, value in z.items()}
        first = [n for n, value in z.items() if value > 1.96]
        found.append(_count(section, "as printed", first, first, ", ".join(first)))
        for figure, names in (
            ("printed z, true N", [n for n, value in true.items() if value > 1.96]),
            ("printed z, true N, Holm", holm({n: two_sided(value) for n, value in true.items()})),
            ("published method again, the same test, true N, Holm", holm(by_proportions(results, against))),
            ("published method again, pairs, Holm", holm(by_pairs(results, "reference", against))),
        ):
            found.append(_count(section, figure, first, names, f"{_HUNDRED}; now: {', '.join(names)}"))
        ours = holm(by_pairs(results, CRITERION, against))
        found.append(_count(section, f"ours, `{CRITERION}`, pairs, Holm", None, ours, ", ".join(ours)))
    return found


def _count(section: str, figure: str, printed: Sequence[str] | None, names: Sequence[str], note: str) -> Finding:
    exact = Estimate(float(len(names)), float(len(names)), float(len(names)), 1)
    if printed is None:
        return Finding(figure, None, exact, None, "", note, section)
    same = set(names) == set(printed)
    verdict = NOT if not same else REPRODUCED if figure == "as printed" else CORRECTED
    return Finding(figure, float(len(printed)), exact, None, verdict, note, section)


def best_column(results: Results, name: str) -> str:
    """Return the discretiser of single columns with the best measured accuracy."""
    means = {m: results.estimate("accuracy", set=name, trees=10, **at_best(name, m)).mean for m in COLUMNS}
    return max(means, key=lambda m: means[m])


def rival(results: Results, name: str, against: str) -> dict[str, Any]:
    """Return the setting that a method is compared with: continuous data, or the best discretiser."""
    return at_best(name, "continuous" if against == "continuous" else best_column(results, name))


def by_proportions(results: Results, against: str) -> dict[str, float]:
    """Return p of the published test by table, on the published method run again, with the true number of records."""
    found = {}
    for name in here(results):
        other = results.estimate("accuracy", set=name, trees=10, **rival(results, name, against)).mean
        tree = results.estimate("accuracy", set=name, trees=10, **at_best(name, "reference")).mean
        # A gain is no loss.
        found[name] = two_sided(z_score(tree, other, PRINTED[name].n_test)) if other > tree else 1.0
    return found


def by_pairs(results: Results, method: str, against: str) -> dict[str, float]:
    """Return p of the paired test by table, where the method loses; 1 where it gains."""
    found = {}
    for name in here(results):
        p, lost = compared(results, name, rival(results, name, against), at_best(name, method))
        found[name] = p if lost.mean > 0 else 1.0
    return found


def bar(results: Results, criterion: str = CRITERION, trees: int = 10) -> dict[str, bool]:
    """Return, by table, whether our loss, in two digits like the printed one, is at or below it."""
    found = {}
    for name in PRINTED:
        ours = loss(results, name, criterion, trees)
        if ours.runs:
            found[name] = round(ours.mean, 2) <= round(PRINTED[name].loss, 2)
    return found
