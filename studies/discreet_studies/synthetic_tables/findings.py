"""What the study of synthetic tables says: ours beside what peers reached on the same machine."""

from __future__ import annotations

from discreet_studies.harness.chart import Chart, Line, Panel, measured, plain
from discreet_studies.harness.study import Finding, Results

NUMBERS = ("pairs", "triples", "auc", "auc_of_real", "cpu_seconds", "seconds")
#: Table, ε, δ, and whether the column that a classifier predicts was named.
CASES: tuple[tuple[str, float, float, int], ...] = (
    ("adult-16", 1.0, 1e-9, 0), ("adult-16", 1.0, 1e-9, 1), ("adult-16", 10.0, 1e-9, 1), ("adult-32", 1.0, 1e-9, 1),
    ("adult-16", 1.0, 0.0, 0), ("adult-raw", 1.0, 1e-9, 1), ("adult-raw", 10.0, 1e-9, 1), ("tree", 1.0, 1e-9, 0),
    ("loop", 1.0, 1e-9, 0), ("parity", 1.0, 1e-9, 0),
)  # fmt: skip
#: The best that a peer reached there on the same machine, once (AIM with 16 bins: twice) and beside other work.
PEERS: dict[tuple[str, float, float], tuple[str, dict[str, float]]] = {
    ("adult-16", 1.0, 1e-9): ("dpmm's AIM", {"pairs": 0.0311, "triples": 0.0648, "auc": 0.902, "cpu_seconds": 196}),
    ("adult-32", 1.0, 1e-9): ("dpmm's AIM", {"pairs": 0.0374, "triples": 0.0728, "auc": 0.901}),
    ("adult-16", 10.0, 1e-9): ("dpmm's MST", {"pairs": 0.0330, "triples": 0.0768, "auc": 0.823}),
}
_WORDS = {
    "pairs": "error of pairs",
    "triples": "error of triples",
    "auc": "area under the ROC curve",
    "cpu_seconds": "CPU seconds",
}


def findings(results: Results) -> list[Finding]:
    """Return a row for every case and figure: what the best peer reached, and ours."""
    found = []
    for data, epsilon, delta, target in CASES:
        where = {"data": data, "epsilon": epsilon, "delta": delta, "target": target}
        peer, theirs = PEERS.get((data, epsilon, delta), ("", {}))
        title = f"{data}, ε = {epsilon:g}, δ = {delta:g}{', income named as target' if target else ''}"
        for measure, words in _WORDS.items():
            own = results.estimate(measure, **where)
            if own.runs:
                note = f"{peer}: {theirs[measure]:g}" if measure in theirs else ""
                found.append(Finding(words, None, own, None, "", note, title))
    return found


def notes(results: Results) -> list[str]:
    """Return what training on real rows reaches, which no invented table can be expected to beat."""
    lines = []
    for data in ("adult-16", "adult-32", "adult-raw"):
        own = results.estimate("auc_of_real", data=data)
        if own.runs:
            lines.append(f"{data}: {own.mean:.3f}")
    return [f"Gradient boosting trained on the real rows reaches {', '.join(lines)}."] if lines else []


def pictures(results: Results) -> dict[str, Chart]:
    """Return the errors of Adult by ε, with income named as the target."""
    lines = []
    for look, measure in enumerate(("pairs", "triples")):
        own = {e: results.estimate(measure, data="adult-16", epsilon=e, delta=1e-9, target=1) for e in (1.0, 10.0)}
        lines.append(Line(_WORDS[measure], measured((e, found) for e, found in own.items() if found.runs), look))
    drawn = [line for line in lines if line.marks]
    if not drawn:
        return {}
    panel = Panel("ε", "half the L1 distance, mean", drawn, log_x=True, across=plain([1.0, 10.0]))
    return {"adult": Chart("Errors of marginals: Adult, 15 columns, numbers in 16 bins", [panel])}
