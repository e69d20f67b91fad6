"""Utility and risk over k on Adult: the curves that `k_curve` measures, and the k that it takes by width.

    python -m studies.measures.choice_of_k [--picture]

Writes results/choice_of_k.json and docs/images/choice-of-k.svg. Eight quasi-identifiers, the salary class is the label.
Methods are the density tree by four criteria, and Mondrian. ``--picture`` only draws anew.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from discreet import Domain, datasets
from discreet.anonymity import DensityTree, Mondrian, k_curve
from discreet_studies.harness.chart import Chart, Line, Mark, Panel
from studies.measures._measure import RESULTS, save, show

TARGET = Path(__file__).parents[2] / "docs" / "images" / "choice-of-k.svg"
KS = (5, 10, 20, 50, 100, 200, 500, 1000)
#: The share of a column's range that cells may leave open.
WIDTH = 0.3


def measured() -> dict[str, Any]:
    """Return the curve of each method."""
    adult = datasets.adult()
    label = "salary-class"
    domain = Domain(
        {c.name: {**c.to_dict(), "role": "target"} if c.name == label else c.to_dict() for c in adult.domain}
    )
    methods = {
        "auto (default)": DensityTree(domain=domain),
        "spread": DensityTree(domain=domain, criterion="spread"),
        "width": DensityTree(domain=domain, criterion="width"),
        "factor": DensityTree(domain=domain, criterion="factor"),
        "Mondrian": Mondrian(domain=domain),
    }
    found = [{"method": n, **k_curve(m, adult.table, KS, width=WIDTH).to_dict()} for n, m in methods.items()]
    return {"table": adult.name, "rows": adult.table.num_rows, "width": WIDTH, "curves": found}


def draw(facts: dict[str, Any]) -> None:
    """Draw width, held-out accuracy and mean risk over k."""

    def lines(what: str, error: str = "") -> list[Line]:
        found = []
        for look, curve in enumerate(facts["curves"]):
            halves = [1.96 * p[error] if error else float("nan") for p in curve["points"]]
            marks = [
                Mark(p["k"], p[what], p[what] - half, p[what] + half)
                for p, half in zip(curve["points"], halves, strict=True)
            ]
            found.append(Line(curve["method"], marks, look))
        return found

    labels: dict[str, Any] = {"log_x": True, "across": [(float(k), f"{k:,}") for k in KS]}
    panels = [
        Panel("k", "share of a column's range left open", lines("width"), "width of the cells", **labels),
        Panel("k", "share of labels foretold", lines("accuracy", "accuracy_error"), "held-out accuracy", **labels),
    ]
    chart = Chart(f"What each k leaves of Adult, {facts['rows']:,} people", panels)
    for columns, target in ((2, TARGET), (1, TARGET.with_stem(f"{TARGET.stem}-narrow"))):
        target.write_text(chart.image(columns), encoding="utf-8")
        print(target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", action="store_true", help="only draw")
    if not parser.parse_args().picture:
        facts = measured()
        rows = [
            [c["method"], p["k"], p["cells"], p["width"], p["accuracy"], p["mean_risk"]]
            for c in facts["curves"]
            for p in c["points"]
        ]
        show(facts["table"], ["method", "k", "cells", "width", "accuracy", "mean risk"], rows)
        save("choice_of_k", facts, "numpy", "numba")
    draw(json.loads((RESULTS / "choice_of_k.json").read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
