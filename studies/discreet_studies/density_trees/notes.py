"""The tables of the density-tree study: losses, tests, scores of all methods, build times, curves, and Adult."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from discreet_studies.density_trees.findings import (
    COLUMNS,
    CRITERION,
    OTHER,
    at_best,
    bar,
    best_column,
    by_pairs,
    here,
    loss,
    over_k,
)
from discreet_studies.density_trees.published import LOST, PRINTED, tables
from discreet_studies.density_trees.tests import compared
from discreet_studies.harness.report import number, table_of
from discreet_studies.harness.study import Estimate, Results
from discreet_studies.measured.significance import adjusted, z_score

#: A loss whose interval stays below this is called small: the margin by which the publication coloured its table.
MARGIN = 0.05
#: The published method, and ours.
BOTH = ("reference", CRITERION)
_ONLY_ADULT = ("width", "cell")


def notes(results: Results) -> list[str]:
    """Return the tables of the page."""
    text = [*_losses(results), *_tested(results), *_supervised(results)]
    text += _all_methods(results, "accuracy", "Accuracy", "accuracy")
    text += _all_methods(results, "f1", "Macro F1", "f1")
    text += _all_methods(results, "auc", "Area under the ROC curve", None)
    text += _roc()
    text += _times(results)
    text += _curves(results)
    return text + (_adult(results) if "adult" in results.seen("set") else [])


def _losses(results: Results) -> list[str]:
    text = ["## Loss of accuracy, one unsupervised setting for all"]
    text.append(
        "Accuracy on continuous data less that on the cells, on the same splits, at the k where the published tree was "
        "best. Met: the loss, in two digits, is at or below the printed one. Intervals are over runs. Each "
        "run draws a generated table again; a fixed table is only divided into new folds."
    )
    for trees in (t for t in (10, 100) if t in results.seen("trees")):
        met = {c: bar(results, c, trees) for c in (CRITERION, OTHER)}
        counts = (
            f'`DensityTree(k, criterion="{c}", grid=256)` meets {sum(m.values())} of {len(m)}' for c, m in met.items()
        )
        text.append(f"Forest of {trees} trees. " + "; ".join(counts) + ".")
        head = ["table", "k", "printed loss", "published method"]
        for c in met:
            head += [f"`{c}`", "95 % interval", "met"]
        rows = []
        for name in here(results):
            row = [name, str(PRINTED[name].k), f"{PRINTED[name].loss:.2f}"]
            row.append(number(loss(results, name, "reference", trees).mean))
            for c in met:
                ours = loss(results, name, c, trees)
                row += [number(ours.mean), interval(ours), {True: "yes", False: "no", None: "–"}[met[c].get(name)]]
            rows.append(row)
        text.append(table_of(head, rows))
    return text


def interval(estimate: Estimate) -> str:
    """Return the interval in words, or a dash for a single run."""
    return f"{estimate.low:.3f} to {estimate.high:.3f}" if estimate.runs > 1 else "–"


def _tested(results: Results) -> list[str]:
    """Return the tests of our own differences, table by table."""
    text = ["## Tests of the measured losses"]
    text.append(
        "Loss against continuous data and against the best discretiser (of the three the one best on these same runs); "
        "forest of 10 trees. Pairs: Student's test over draws for generated tables; over folds for the others, with "
        "the variance of overlapping training parts (Nadeau and Bengio 2003). p is after Holm over all tables; 1 where "
        "nothing is lost. z is of the published test, with the true number of test records. Small: the whole 95 % "
        f"interval of the loss is below {MARGIN}, which not being significant does not show."
    )
    for method, words in zip(BOTH, ("The published method, run again.", f"Ours, `{CRITERION}`."), strict=True):
        p = {a: adjusted(by_pairs(results, method, a)) for a in ("continuous", "best")}
        rows = []
        for name in here(results):
            row = [name, str(PRINTED[name].n_test)]
            best = best_column(results, name)
            for against, p_of in (("continuous", p["continuous"]), (best, p["best"])):
                _, lost = compared(results, name, at_best(name, against), at_best(name, method))
                own = {"set": name, "trees": 10}
                other, tree = (results.estimate("accuracy", **own, **at_best(name, m)).mean for m in (against, method))
                row += [] if against == "continuous" else [against]
                row += [number(lost.mean), interval(lost), _chance(p_of[name])]
                row.append(f"{z_score(tree, other, PRINTED[name].n_test):.2f}")
                row += [{True: "yes", False: "no"}[lost.high < MARGIN]] if against == "continuous" else []
            rows.append(row)
        head = ["table", "test records", "loss", "95 % interval", "p", "abs z", "small"]
        head += ["best discretiser", "loss against it", "95 % interval", "p", "abs z"]
        text += [words, table_of(head, rows)]
    return text


def _chance(p: float) -> str:
    return "< 0.001" if p < 0.0005 else f"{p:.3f}"


def _supervised(results: Results) -> list[str]:
    rows = []
    for name in (n for n in LOST if n in here(results)):
        printed = PRINTED[name]
        ours = results.estimate("accuracy", set=name, method="supervised", k=printed.k, trees=10)
        lost = loss(results, name, "supervised")
        middle = (printed.tree + printed.continuous) / 2
        row = [name, str(printed.k), f"{printed.tree:.2f}", f"{middle:.3f}", number(ours.mean), interval(ours)]
        row += ["yes" if ours.mean >= middle else "no", f"{printed.loss / 2:.3f}", number(lost.mean)]
        rows.append([*row, interval(lost), "yes" if lost.mean <= printed.loss / 2 else "no"])
    head = ["table", "k", "printed", "half-way to continuous", "supervised", "95 % interval", "reached"]
    head += ["half the printed loss", "loss against our own baseline", "95 % interval", "reached"]
    return ["## Where the published tree lost most: the supervised setting", table_of(head, rows)] if rows else []


def _methods(results: Results) -> list[str]:
    seen = results.seen("method")
    return [m for m in seen if m not in (*COLUMNS, *_ONLY_ADULT)] + [m for m in COLUMNS if m in seen]


def _all_methods(results: Results, measure: str, title: str, printed: str | None) -> list[str]:
    methods = _methods(results)
    rows = []
    for name in here(results):
        row = [name, str(PRINTED[name].k)]
        row += [number(results.estimate(measure, set=name, trees=10, **at_best(name, m)).mean) for m in methods]
        if printed:
            row.append(f"{tables()[name, PRINTED[name].k][printed]:.2f}")
        if measure == "accuracy":
            p = PRINTED[name]
            row.append(f"{p.equal_width:.2f} / {p.equal_frequency:.2f} / {p.mdlp:.2f}")
        rows.append(row)
    head = ["table", "k", *methods, *(["tree as printed"] if printed else [])]
    head += ["the last three as printed"] if measure == "accuracy" else []
    return [f"## {title} of all methods at the same k (forest of 10 trees)", table_of(head, rows)]


def _roc() -> list[str]:
    rows = [row for row in tables().values() if "roc" in row]
    equal = sum(row["roc"] == row["recall"] for row in rows)
    return [
        f"The published tables print a ROC in {len(rows)} rows, and it equals the macro recall in {equal} of them: it "
        "was computed from hard labels. The area above is taken from the probabilities of the forest, each class "
        "against the others."
    ]


def _times(results: Results) -> list[str]:
    """Return build times next to the printed ones, and of all methods."""
    ks = [k for k in (5, 100) if any(s["k"] == k and s["method"] == "reference" for s, _ in results.rows)]
    rows = []
    for name in here(results):
        row = [name]
        for k in ks:
            row.append(f"{tables()[name, k]['seconds']:.2f}")
            row += [_seconds(results.estimate("built", set=name, method=m, k=k, trees=10)) for m in BOTH]
        rows.append(row)
    head = ["table"]
    for k in ks:
        head += [f"printed, k = {k}", "published method", f"`{CRITERION}`"]
    text = [
        "## Seconds to build",
        "Processor seconds to find the cells of one training part, with reading the table, next to the printed ones; "
        "the machine of 2018 is not known. The published method here is compiled and sorts each column once a node.",
        table_of(head, rows),
    ]
    methods = [m for m in _methods(results) if m not in ("continuous", "generalization", "drawn")]
    rows = [
        [name, *(_seconds(results.estimate("built", set=name, trees=10, **at_best(name, m))) for m in methods)]
        for name in here(results)
    ]
    return [*text, "At the k where the published tree was best:", table_of(["table", *methods], rows)]


def _seconds(estimate: Estimate) -> str:
    return "–" if not estimate.runs or math.isnan(estimate.mean) else f"{estimate.mean:.4f}"


def _curves(results: Results) -> list[str]:
    """Return accuracy over k: printed, the published method again, and ours."""
    ks = curve_ks(results)
    rows: list[list[str]] = []
    for name in here(results):
        printed = [tables().get((name, k)) for k in ks]
        rows.append([f"{name}, printed", *("–" if p is None else f"{p['accuracy']:.2f}" for p in printed)])
        for method, words in zip(BOTH, ("published method", f"`{CRITERION}`"), strict=True):
            found = over_k(results, "accuracy", name, method)
            rows.append([f"{name}, {words}", *(number(found[k].mean if k in found else None) for k in ks)])
    text = "Forest of 10 trees, over the runs that all k have; at the k of the tables above there are more."
    return ["## Accuracy over k", text, table_of(["table", *(f"k = {k}" for k in ks)], rows)]


def curve_ks(results: Results) -> list[int]:
    """Return the k at which every table was run."""
    found: dict[int, set[Any]] = {}
    for setting, _ in results.rows:
        if setting["method"] == "reference" and "trees" in setting:
            found.setdefault(int(setting["k"]), set()).add(setting["set"])
    return sorted(k for k, names in found.items() if names >= set(here(results)))


def _adult(results: Results) -> list[str]:
    rows = []
    ks = sorted({int(s["k"]) for s, _ in results.rows if s["set"] == "adult" and s["k"]})
    measures: Sequence[str] = ("width", "accuracy")
    for method in results.seen("method"):
        found = [results.estimate(m, set="adult", method=method, k=k) for m in measures for k in ks]
        if any(e.runs for e in found):
            rows.append([method, *(number(e.mean) for e in found)])
    plain = results.estimate("accuracy", set="adult", method="continuous", k=0)
    head = ["method", *(f"width, k = {k}" for k in ks), *(f"accuracy, k = {k}" for k in ks)]
    return [
        "## Adult: width of the published cells and accuracy at equal k",
        "Width is the certainty penalty: the share of a column's range that a cell leaves open, mean over columns and "
        f"records. On the values themselves the forest (10 trees) reaches {number(plain.mean)}.",
        table_of(head, rows),
    ]
