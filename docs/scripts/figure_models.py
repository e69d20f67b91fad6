"""Tables of private models: coverage of intervals, accuracy next to other libraries, training on synthetic rows."""

from __future__ import annotations

from typing import Any

import figure_results as results
from figure_results import table


def _held(part: str) -> Any:
    return results.read("models")[part]


def coverage() -> str:
    """Return how often 95 % intervals hold the truth, by ε."""
    held = _held("coverage")
    rows = [
        [e, *(f"{held[m][e][what]:.1%}" for m in ("linear", "logistic") for what in ("covered", "unbounded")),
         f"{held['pca'][e]:.1%}"]
        for e in held["linear"]
    ]  # fmt: skip
    heads = ["ε", "linear: covered", "without ends", "logistic: covered", "without ends", "PCA: variances covered"]
    return table(heads, rows).replace("%", " %")


def _by_method(found: dict[str, Any], heads: dict[str, str], digits: int = 3) -> str:
    rows = [
        [name, e, *(f[m] if isinstance(f.get(m), str) else f"{f[m]:.{digits}f}" if m in f else "" for m in heads)]
        for name, each in found.items()
        for e, f in each.items()
    ]
    return table(["table", "ε", *heads.values()], rows)


def linear() -> str:
    """Return R² on test rows."""
    heads = {"discreet": "Discreet", "discreet, delta": "Discreet, δ", "AdaSSP, delta": "AdaSSP, δ"}
    heads |= {"diffprivlib": "diffprivlib", "without privacy": "no privacy"}
    found = {name: {e: dict(f) for e, f in each.items()} for name, each in _held("linear")["r2"].items()}
    for name, each in _held("linear")["ahead"].items():
        for e, ours in each.items():
            gap, half = ours["discreet, delta"]
            found[name][e]["gap"] = f"{gap:+.3f} ± {half:.3f}" + " (cannot tell)" * (abs(gap) <= half)
    return _by_method(found, {**heads, "gap": "Discreet, δ less AdaSSP"})


def logistic() -> str:
    """Return the share of test rows that are labelled right."""
    heads = {"discreet": "Discreet", "discreet, delta": "Discreet, δ", "diffprivlib": "diffprivlib"}
    return _by_method(_held("logistic")["accuracy"], {**heads, "without privacy": "no privacy"})


def pca() -> str:
    """Return the variance along three private components over that along the best ones."""
    return _by_method(_held("pca")["captured"], {"discreet": "Discreet", "discreet, delta": "Discreet, δ"})


def synthetic() -> str:
    """Return areas under the ROC curve of learners that were trained on synthetic rows."""
    rows = []
    for name, each in results.read("train_on_synthetic")["trees"]["auc"].items():
        for learner, shown in {
            "HistGradientBoostingClassifier": "boosting",
            "RandomForestClassifier": "forest",
        }.items():
            rows.append([name, shown, *(f"{each[e][learner]:.3f}" for e in ("0.3", "1", "3", "real"))])
    return table(["table", "learner", "ε = 0.3", "ε = 1", "ε = 3", "real rows"], rows)


def mixed() -> str:
    """Return adjusted Rand indices of clusters of numbers and categories."""
    held = results.read("train_on_synthetic")["clusters"]["rand_index"]
    heads = {"numbers": "numbers alone", "with categories": '`synopsis="marginals"`'}
    heads |= {"with categories, delta": "the same, δ", "without privacy": "no privacy"}
    rows = [[kind, e, *(f"{f[m]:.2f}" for m in heads)] for kind, each in held.items() for e, f in each.items()]
    return table(["categories", "ε", *heads.values()], rows)


def kinds() -> str:
    """Return coverage of intervals on kinds of tables that took no part in choosing constants, by source."""
    held = results.read("coverage_kinds")["results"]
    shown = list(dict.fromkeys(r["kind"] for r in held))
    found: dict[tuple[str, str], dict[str, str]] = {}
    for r in sorted(held, key=lambda r: (r["source"] != "session", r["question"])):
        share = "none" if r["coverage"] is None else f"{r['coverage']:.1%}".replace("%", " %")
        found.setdefault((r["source"], r["question"]), {})[r["kind"]] = share
    rows = [[*key, *(each.get(kind, "") for kind in shown)] for key, each in found.items()]
    return table(
        ["source", "question", *shown], sorted(rows, key=lambda r: ("session", "grid", "tree", "model").index(r[0]))
    )
