"""Bring the pages of the studies up to date: what stands below the mark of docs/studies/NAME.md, and its pictures.

    python studies/pages.py [NAME ...] [--results FOLDER]

Reads the committed results, or those of a folder, and needs Plotly and a Chromium on the path. The words above the mark
are written by hand.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import discreet_studies
from discreet_studies.harness.report import page
from discreet_studies.harness.runner import read_results

DOCS = Path(__file__).parents[1] / "docs" / "studies"
MARK = "<!-- from the results: studies/pages.py -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=discreet_studies.names(), metavar="NAME")
    parser.add_argument("--results", type=Path, help="a folder of results instead of the committed ones")
    parser.add_argument("--no-pictures", action="store_true", help="leave the pictures as they are")
    chosen = parser.parse_args()
    for name in chosen.names:
        study = discreet_studies.load(name)
        results = read_results(study, chosen.results)
        figures = study.pictures(results)
        if not chosen.no_pictures:
            for old in (DOCS / "images").glob(f"{name}-*.png"):
                old.unlink()
            for title, figure in figures.items():
                draw(figure, DOCS / "images" / f"{name}-{title}.png")
        path = DOCS / f"{name}.md"
        above = path.read_text(encoding="utf-8").split(MARK)[0]
        shown = [f"![{words(f)}](images/{name}-{title}.png)" for title, f in figures.items()]
        body = page(replace(study, absent=lambda: ()), results).split("\n", 4)[-1]
        path.write_text(above + MARK + "\n\n" + "\n\n".join([*shown, body]), encoding="utf-8")


def words(figure: Any) -> str:
    """Return the title of a figure on one line."""
    return " ".join(str(figure.layout.title.text or "").replace("<br>", " ").split())


def draw(figure: Any, target: Path) -> None:
    """Write a Plotly figure as a picture, with headless Chromium."""
    browser = shutil.which("chromium")
    if browser is None:
        raise SystemExit("chromium is not on the path: install it to turn pages into pictures")
    target.parent.mkdir(parents=True, exist_ok=True)
    width, height = figure.layout.width or 760, figure.layout.height or 480
    figure.update_layout(width=width, height=height)
    with tempfile.TemporaryDirectory() as folder:
        html = Path(folder) / "page.html"
        text = figure.to_html(include_plotlyjs=True, config={"displayModeBar": False})
        html.write_text(text.replace("<body>", '<body style="margin:0">'), encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
        options += [f"--user-data-dir={folder}/profile", f"--window-size={width},{height}", "--hide-scrollbars"]
        options += ["--virtual-time-budget=6000", f"--screenshot={target}", html.as_uri()]
        subprocess.run([browser, *options], check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    main()
