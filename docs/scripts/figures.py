"""Write the measured figures of README and docs from the result files, between marks that name them.

    python docs/scripts/figures.py [--check]

A table starts with ``<!-- figures: NAME -->`` and ends with ``<!-- end of figures -->``; what stands between is written
by `figure_tables`. A figure in running text is followed by ``<!--=NAME-->``; the number before the mark is
written by `figure_values`. Both read the result files of ``benchmarks/`` and ``studies/measures/`` and nothing else.
``--check`` changes nothing and says which pages are behind. Below their marks, the pages of studies have a script of
their own (studies/pages.py).
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from figure_tables import TABLES
from figure_values import VALUES

ROOT = Path(__file__).resolve().parents[2]
REGION = re.compile(r"(<!-- figures: ([a-z-]+) -->\n)(.*?)(<!-- end of figures -->)", re.DOTALL)
#: A number, as it is written for people, and the mark behind it.
VALUE = re.compile(r"((?<![\w.,])-?\d[\d,]*(?:\.\d+)?)(<!--=([a-z0-9-]+)-->)")
MARK = "<!--="


def pages() -> list[Path]:
    """Return the pages that may hold figures."""
    single = [ROOT / "README.md", ROOT / "benchmarks" / "README.md"]
    return [*single, *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/tutorials").glob("*.md"))]


def filled(text: str) -> str:
    """Return a page with every table and every marked number written anew."""
    text = REGION.sub(lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n{found[4]}", text)
    return VALUE.sub(lambda found: VALUES[found[3]]() + found[2], text)


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
