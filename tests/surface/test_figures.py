"""Measured figures on pages are written from the result files, in tables between marks and in prose before a mark."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "scripts"))
import figure_results  # noqa: E402
import figures  # noqa: E402

TABLE = re.compile(r"(?:^\|.*\|[ ]*\n)+", re.MULTILINE)
#: What a measured figure looks like: decimals, shares, ratios, spreads, times and sizes.
FIGURE = re.compile(r"\d\.\d|\d %|± \d|\d times\b|\d (?:s|ns|µs|ms|[KMG]i?B|seconds|minutes)\b")
#: What looks like one and is a setting, an argument or the confidence of an interval.
SETTING = re.compile(
    r"(?<!\w)[εδkltdn] ?(?:=|≈) ?\d[\d.,]*|(?:level|radius|step|rate)(?: of| at)? \d[\d.]*|9[59] %(?= interval|[:,. ])"
    r"|`[^`\n]*`|\]\([^)]*\)|Python 3\.11|\b[12]\.(?:0|x)\b|Apache-2\.0|v?\d+\.\d+\.\d+"
)
#: Phrases with numbers that no one measured: arithmetic, constants of the code, rules of thumb, quotations.
NOT_MEASURED = {
    "anonymity.md": ["1 and 99.5 % of the rows are unique"],  # a line as the program prints it
    "attacks.md": ["above 0.5. Both"],  # chance
    "audit.md": ["ln n - 1.7", "9.1 with 50,000", "{bit: 0.75"],  # exact binomial bounds
    "clustering-many-columns.md": ["within 3 % of"],  # a limit that results are held against
    "collector-operations.md": ["after 8 MiB of reports"],  # a limit of the code
    "command-line.md": ["from ε = 0.05 to 8", "delta above 0.001"],
    "heavy-hitters.md": ["that is 0.31 %", "7, 7.0 and", "(5 %)"],  # the formula above it; spelling; a level
    "risk.md": ["At 0 % every cell is exact, at 100 % every cell"],  # a scale
    "known-limits.md": ["22,000 times as likely"],  # e^10
    "metric-alternatives.md": ["has 0.289"],  # 1/√12
    "metric.md": ["ε = 2 at 0.1 is about ε = 20 at 1", "a square 1.90 to 1.92 times"],  # a law test holds the second
    "places.md": ["6,371,008.8 m", "up to 0.56 %"],
    "scale.md": ["above 4 GB"],  # a constant of the code
    "schema-draft.md": ["the C4.5 format"],  # the name of a program
    "schema.md": ["spends 5 % of"],  # a default
    "security.md": ["takes over 20 seconds or lets the process grow beyond 2 GB"],  # limits of the fuzzers
    "shuffler.md": ["a batch of 16 MiB"],  # a limit of the code
    "spark.md": ["(3.5 and 4 work)", "from 64 to 256 MB each"],
    "synopses.md": ["(2 GiB unless you say otherwise)", "up to 64 MiB per worker", "up to 1 GiB for trees"],
}  # fmt: skip
#: Tables whose numbers are formulas, defaults or settings.
NOT_MEASURED_TABLES = {
    "audit.md: | call | what it does |",
    "comparison.md: | | Discreet | SDV | ARX | sdcMicro |",  # a licence
    "comparison.md: | software | version of the source or documentation |",
    'heavy-hitters.md: | | `PrefixExtension` | `FragmentPuzzle(split="users")` | `FragmentPuzzle` as published |',
    "metric.md: | question | answer | for n columns at rate r |",
    "metric-alternatives.md: | mechanism | budget of a row | unbiased | made for |",
    "install.md: | system | state |",  # versions of Python
    "security.md: | place | read by | what bounds it | fuzzer |",  # limits of the code
    "shuffler.md: | against | promise | assumes |",  # computed from the task
    "versions.md: | part | what may change | what stays |",  # numbers of versions
    "versions.md: | file | written by | version field | from 1.0 on |",
}


def by_hand(page: Path) -> str:
    """Return what of a page no script writes, and no program reads."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return figures.VALUE.sub("", figures.REGION.sub("", text))


@pytest.mark.parametrize("page", figures.pages(), ids=lambda page: page.name)
def test_a_page_says_what_the_result_files_say(page):
    text = page.read_text(encoding="utf-8")
    assert figures.filled(text) == text, "run make figures"
    assert text.count("<!-- figures:") == len(figures.REGION.findall(text)) == text.count("<!-- end of figures -->")
    assert text.count(figures.MARK) == len(figures.VALUE.findall(text)), "a mark without a number before it"
    assert not re.search(r"^<!--=", text, re.MULTILINE), "a line that begins with a mark is not shown"


def test_every_table_and_value_is_on_a_page():
    texts = [page.read_text("utf-8") for page in figures.pages()]
    assert {found[1] for text in texts for found in figures.REGION.findall(text)} == set(figures.TABLES)
    assert {found[2] for text in texts for found in figures.VALUE.findall(text)} == set(figures.VALUES)


@pytest.mark.parametrize("page", figures.pages(), ids=lambda page: page.name)
def test_no_table_of_measured_figures_is_written_by_hand(page):
    tables = [f"{page.name}: {t.splitlines()[0]}" for t in TABLE.findall(by_hand(page)) if FIGURE.search(t)]
    assert set(tables) <= NOT_MEASURED_TABLES


@pytest.mark.parametrize("page", figures.pages(), ids=lambda page: page.name)
def test_no_measured_figure_in_prose_is_written_by_hand(page):
    text = re.sub(r"(?<!\n)\n(?!\n)[ >]*", " ", TABLE.sub("", by_hand(page)))  # a phrase may be wrapped
    for phrase in NOT_MEASURED.get(page.name, []):
        assert phrase in text or phrase in page.read_text("utf-8"), f"{phrase!r} has left the page"
        text = text.replace(phrase, "")
    loose = [line for line in SETTING.sub("", text).splitlines() if FIGURE.search(line)]
    assert not loose, "mark these, or say why nobody measured them"


def test_a_figure_by_hand_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    for words in ("It is 3.1 times faster.", "In 17 % of them", "It took 12 s.", "An error of 0.25."):
        page.write_text(words, encoding="utf-8")
        assert FIGURE.search(SETTING.sub("", by_hand(page))), words
    page.write_text("It is 3.1<!--=price-wider--> times as wide at ε = 0.5, with 95 % intervals.", encoding="utf-8")
    assert not FIGURE.search(SETTING.sub("", by_hand(page)))


def test_another_result_changes_the_page(monkeypatch):
    real = figure_results.read

    def changed(name):
        held = json.loads(json.dumps(real(name)))
        if name == "accuracy":
            for row in held["results"]:
                if (row["data"], row["epsilon"], row["method"]) == ("travel", 0.1, "auto"):
                    row["ratio"] = 1.9
        if name == "scale":
            held["k_means"]["k-means"]["seconds"] = 77.0
        return held

    monkeypatch.setattr(figure_results, "read", changed)
    for page, expected in (("clustering.md", "1.900 ±"), ("scale.md", "took 77<!--=scale-k-means-seconds--> s")):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert expected not in text
        assert expected in figures.filled(text)
