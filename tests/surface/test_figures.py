"""Measured figures on pages are written from the result files, and stand between marks that name them."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("figures", ROOT / "docs" / "scripts" / "figures.py")
assert _spec is not None
assert _spec.loader is not None
figures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(figures)

TABLE = re.compile(r"(?:^\|.*\|[ ]*\n)+", re.MULTILINE)
MEASURED = re.compile(r"\d ± \d|\d s\b|\d times\b")
#: Heads of tables that are still written by hand, from the result files their pages name. None may be added.
BY_HAND = {
    "README.md: | job | Discreet | peer | times faster |",
    "anonymity.md: | set | ours | mlpack, its price | mlpack, best price |",
    "heavy-hitters.md: | method | ε of a user | 20,000 | 50,000 | 100,000 | 200,000 | 500,000 | 1,000,000 |",
    "heavy-hitters.md: | values | reports | ε = 1 | ε = 2 | ε = 4 |",
    "speed.md: | job | Discreet | peers | ratio |",
    "scale.md: | | 10^6 rows | 10^7 rows |",
}


@pytest.mark.parametrize("page", figures.pages(), ids=lambda page: page.name)
def test_a_page_says_what_the_result_files_say(page):
    text = page.read_text(encoding="utf-8")
    assert figures.filled(text) == text, "run make figures"
    assert text.count("<!-- figures:") == len(figures.REGION.findall(text)) == text.count("<!-- end of figures -->")


def test_every_region_is_on_a_page():
    found = {name for page in figures.pages() for _, name, _, _ in figures.REGION.findall(page.read_text("utf-8"))}
    assert found == set(figures.REGIONS)


def test_no_table_of_measured_figures_is_added_by_hand():
    loose = {
        f"{page.name}: {table.splitlines()[0]}"
        for page in figures.pages()
        for table in TABLE.findall(figures.REGION.sub("", page.read_text(encoding="utf-8")))
        if MEASURED.search(table)
    }
    assert loose == BY_HAND


def test_another_result_changes_the_page(monkeypatch):
    held = json.loads((ROOT / "studies" / "measures" / "results" / "accuracy.json").read_text(encoding="utf-8"))
    for row in held["results"]:
        if (row["data"], row["epsilon"], row["method"]) == ("travel", 0.1, "auto"):
            row["ratio"] = 1.9
    page = (ROOT / "docs" / "synopses.md").read_text(encoding="utf-8")
    monkeypatch.setattr(figures, "read", lambda name: held)
    assert "1.900 ±" in figures.filled(page)
    assert figures.filled(page) != page
