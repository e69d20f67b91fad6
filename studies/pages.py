"""Bring the pages of the studies up to date: docs/studies/NAME.md, its pictures, figures as CSV, the errata.

    python studies/pages.py [NAME ...] [--results FOLDER]

Reads the committed results, or those of a folder. Words above the last mark are written by hand; the first picture and
the verdicts stand between two marks in them. Pictures are SVG files that are light and dark by themselves; a chart of
several panels has a narrow form, which the guide shows on a phone. Long tables are files next to the page.
"""

from __future__ import annotations

import argparse
import tomllib
from dataclasses import replace
from pathlib import Path

import discreet_studies
from discreet_studies.harness.chart import Chart
from discreet_studies.harness.report import short, table_of, verdicts
from discreet_studies.harness.runner import read_results
from discreet_studies.harness.study import Results, Study

DOCS = Path(__file__).parents[1] / "docs" / "studies"
MARK = "<!-- from the results: studies/pages.py -->"
FIRST, LAST = "<!-- verdicts: studies/pages.py -->", "<!-- end of verdicts -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=discreet_studies.names(), metavar="NAME")
    parser.add_argument("--results", type=Path, help="a folder of results instead of the committed ones")
    chosen = parser.parse_args()
    (DOCS / "errata.md").write_text(errata(), encoding="utf-8")
    for name in chosen.names:
        study = discreet_studies.load(name)
        results = read_results(study, chosen.results)
        charts = dict(study.pictures(results))
        text, files = guide(study, results, charts, (DOCS / f"{name}.md").read_text(encoding="utf-8"))
        for folder, found in {"images": images(name, charts), "figures": files}.items():
            for old in (DOCS / folder).glob(f"{name}[-.]*"):
                old.unlink()
            for file, content in found.items():
                (DOCS / folder / file).write_text(content, encoding="utf-8")
        (DOCS / f"{name}.md").write_text(text, encoding="utf-8")


def guide(study: Study, results: Results, charts: dict[str, Chart], now: str) -> tuple[str, dict[str, str]]:
    """Return the page of the guide with its own words kept, and the files of figures by name."""
    shown = [f"![{chart.title}](images/{study.name}-{title}.svg)" for title, chart in charts.items()]
    above = now.split(MARK)[0]
    before, rest = above.split(FIRST)
    after = rest.split(LAST)[1]
    summary = "\n".join(verdicts(study.findings(results))[2:]).rstrip()
    top = "\n\n".join(part for part in (FIRST, shown[0], summary, LAST) if part)
    below, files = short(replace(study, absent=lambda: ()), results, "figures")
    return before + top + after + "\n\n".join([MARK, *shown[1:], below]), files


def errata() -> str:
    """Return the page of the errors in the source texts, from ``published/errata.toml``."""
    found = tomllib.loads((Path(discreet_studies.__file__).parent / "published" / "errata.toml").read_text("utf-8"))
    total = sum(len(part["errors"]) for part in found.values())
    lines = [
        "# Errors in the source texts",
        "",
        f"The five works that the studies repeat contain {total} errors that matter to someone who builds on them:",
        "privacy that does not hold, formulas that are misprinted, experiments that measured something else.",
        "This page lists each with its place, what is right, and what Discreet does instead.",
    ]
    for name, part in found.items():
        study = discreet_studies.load(name)
        lines += ["", f"## {part['title']}", "", f"{study.source}. Study: [{part['title']}]({name}.md).", ""]
        head = ["place", "printed", "right", "why", "in Discreet"]
        rows = [[e["place"], e["printed"], e["right"], e["why"], f"{e['ours']} `{e['code']}`"] for e in part["errors"]]
        lines.append(table_of(head, rows, len(head)))
    return "\n".join(lines) + "\n"


def images(name: str, charts: dict[str, Chart]) -> dict[str, str]:
    """Return the pictures of a study by file name."""
    found = {f"{name}-{title}.svg": chart.image() for title, chart in charts.items()}
    narrow = {f"{name}-{title}-narrow.svg": c.image(1) for title, c in charts.items() if len(c.panels) > 1}
    return found | narrow


if __name__ == "__main__":
    main()
