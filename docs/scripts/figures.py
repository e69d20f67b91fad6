"""Write the measured figures of README and docs from the result files, between marks that name them.

    python docs/scripts/figures.py [--check]

A region starts with ``<!-- figures: NAME -->`` and ends with ``<!-- end of figures -->``. What stands between is
written here from ``studies/measures/results/*.json`` and never by hand; ``--check`` only says which pages are behind.
Pages of studies have a script of their own (studies/pages.py).
"""

from __future__ import annotations

import argparse
import json
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "studies" / "measures" / "results"
REGION = re.compile(r"(<!-- figures: ([a-z-]+) -->\n)(.*?)(<!-- end of figures -->)", re.DOTALL)
METHODS = ("auto", "EUGkM as published", "RUGNIK as published", "diffprivlib")
SHOWN = {
    "s1": "S1",
    "birch2": "Birch2",
    "adult": "Adult, 6 columns",
    "shuttle": "Shuttle",
    "travel": "Travel, 24 columns",
}


def pages() -> list[Path]:
    """Return the pages that may hold regions."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def filled(text: str) -> str:
    """Return a page with every region written anew."""
    return REGION.sub(lambda found: f"{found[1]}\n{REGIONS[found[2]]()}\n{found[4]}", text)


def read(name: str) -> dict[str, Any]:
    """Return a result file."""
    held: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return held


def accuracy_table(budgets: tuple[float, ...] = (0.1, 1.0)) -> str:
    """Return some rows of the accuracy file as a table, the best of a row in bold."""
    held = read("accuracy")
    figures = {(r["data"], r["epsilon"], r["method"]): r for r in held["results"]}
    names = ["Discreet" if method == "auto" else method for method in METHODS]
    heads = [f"{name} {held['versions'][name]}" if name in held["versions"] else name for name in names]
    lines = [
        f"| {'data, ε' if len(budgets) > 1 else 'data'} | " + " | ".join(heads) + " |",
        "|---" * (1 + len(heads)) + "|",
    ]
    for data, title in SHOWN.items():
        for epsilon in budgets:
            row = [figures[data, epsilon, method] for method in METHODS]
            best = min(r["ratio"] for r in row)
            cells = [f"**{_figure(r)}**" if r["ratio"] == best else _figure(r) for r in row]
            name = f"{title}, {epsilon:g}" if len(budgets) > 1 else title
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def accuracy_summary() -> str:
    """Return the sentence about all settings of the accuracy file."""
    held = read("accuracy")
    settings: dict[tuple[str, float], dict[str, float]] = {}
    for r in held["results"]:
        settings.setdefault((r["data"], r["epsilon"]), {})[r["method"]] = r["ratio"]
    budgets = sorted({epsilon for _, epsilon in settings})
    behind = [f"{data} at ε = {e:g}" for (data, e), r in settings.items() if r["auto"] > 1.1 * min(r.values())]
    share = held["summary"]["share_within_10_percent_of_the_best"]
    mean = held["summary"]["geometric_mean_over_best_peer"]
    counted = f"{len(settings)} settings ({len({data for data, _ in settings})} tables, {len(budgets)} values of ε"
    where = ", ".join(behind) or "nowhere"
    words = (
        f"Over {counted} from {budgets[0]:g} to {budgets[-1]:g}) `PrivateKMeans` is within 10 % of the best of all "
        f"methods measured (itself, our `DPLloyd` and the peers above) in {100 * share:.0f} % of them, and its error "
        f"is {mean:.3f} times that of the best peer (geometric mean). Where it is not: {where}."
    )
    return textwrap.fill(words, width=130) + "\n"


def audit_front() -> str:
    """Return for each library how many claims were audited, and how many refuted."""
    held = read("audit")
    lines = ["| library | claims audited | refuted | worst: ε claimed, ε at least |", "|---|---|---|---|"]
    for library in dict.fromkeys(r["library"] for r in held["rows"]):
        rows = [r for r in held["rows"] if r["library"] == library]
        worst = max(rows, key=lambda r: r["measured"] / r["claimed"])
        broken = sum(r["exceeds_claim"] for r in rows)
        name = f"{library} {held['versions'][library]}" if library in held["versions"] else "Discreet"
        figure = f"{worst['claimed']:.3g}, **{worst['measured']:.2f}**" if broken else "none"
        lines.append(f"| {name} | {len(rows)} | {broken} | {figure} |")
    return "\n".join(lines) + "\n"


def _figure(row: dict[str, Any]) -> str:
    digits = 0 if row["ratio"] >= 100 else 3
    return f"{row['ratio']:.{digits}f} ± {row['half_width']:.{digits}f}"


REGIONS: dict[str, Callable[[], str]] = {
    "accuracy": accuracy_table,
    "accuracy-front": lambda: accuracy_table((1.0,)),
    "accuracy-summary": accuracy_summary,
    "audit-front": audit_front,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing")
    check = parser.parse_args().check
    behind = []
    for page in pages():
        before = page.read_text(encoding="utf-8")
        after = filled(before)
        if after != before:
            behind.append(page.relative_to(ROOT).as_posix())
            if not check:
                page.write_text(after, encoding="utf-8")
    if check and behind:
        raise SystemExit(f"figures are behind the results in {', '.join(behind)}: run make figures")
    print("written:" if behind else "nothing to write", *behind)


if __name__ == "__main__":
    main()
