"""Bring the pages of the studies up to date: what stands below the mark of docs/studies/NAME.md, and its pictures.

    python studies/pages.py [NAME ...] [--results FOLDER]

Reads the committed results, or those of a folder. The words above the mark are written by hand. Pictures are SVG files
that are light and dark by themselves; a chart of several panels has a narrow form, which the guide shows on a phone.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import discreet_studies
from discreet_studies.harness.chart import Chart
from discreet_studies.harness.report import page
from discreet_studies.harness.runner import read_results
from discreet_studies.harness.study import Results, Study

DOCS = Path(__file__).parents[1] / "docs" / "studies"
MARK = "<!-- from the results: studies/pages.py -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=discreet_studies.names(), metavar="NAME")
    parser.add_argument("--results", type=Path, help="a folder of results instead of the committed ones")
    chosen = parser.parse_args()
    for name in chosen.names:
        study = discreet_studies.load(name)
        results = read_results(study, chosen.results)
        charts = dict(study.pictures(results))
        for old in (DOCS / "images").glob(f"{name}-*"):
            old.unlink()
        for file, text in images(name, charts).items():
            (DOCS / "images" / file).write_text(text, encoding="utf-8")
        path = DOCS / f"{name}.md"
        above = path.read_text(encoding="utf-8").split(MARK)[0]
        path.write_text(above + MARK + "\n\n" + below(study, results, charts), encoding="utf-8")


def images(name: str, charts: dict[str, Chart]) -> dict[str, str]:
    """Return the pictures of a study by file name."""
    found = {f"{name}-{title}.svg": chart.image() for title, chart in charts.items()}
    narrow = {f"{name}-{title}-narrow.svg": c.image(1) for title, c in charts.items() if len(c.panels) > 1}
    return found | narrow


def below(study: Study, results: Results, charts: dict[str, Chart]) -> str:
    """Return what stands below the mark."""
    shown = [f"![{chart.title}](images/{study.name}-{title}.svg)" for title, chart in charts.items()]
    body = page(replace(study, absent=lambda: ()), results).split("\n", 4)[-1]
    return "\n\n".join([*shown, body])


if __name__ == "__main__":
    main()
