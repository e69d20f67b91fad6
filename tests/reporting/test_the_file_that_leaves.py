"""A page describes the file that was handed out, and says first what an anonymous table does not protect."""

from __future__ import annotations

import hashlib
import html
import math
import re
from datetime import date
from pathlib import Path

import pytest

import discreet as dc
from command_line import output
from small_tables import write_table

SCHEMA = """
[columns.who]
bounds = [0, 10000]
role = "person"
[columns.age]
kind = "integer"
bounds = [0, 119]
role = "quasi-identifier"
[columns.ill]
categories = ["flu", "gout"]
role = "sensitive"
[columns.cost]
bounds = [0, 1000]
role = "sensitive"
"""


@pytest.fixture(autouse=True)
def folder(workdir: Path) -> Path:
    # Person 0 has 20 rows in a group of five persons; costs are unique but for those of the flu.
    people = [(0, 30, "gout")] * 20 + [(i, 30, "gout") for i in range(1, 5)]
    people += [(5 + i, 60 + i % 20, "flu" if i % 2 else "gout") for i in range(300)]
    rows = [f"{who},{age},{ill},{7 if ill == 'flu' else i}" for i, (who, age, ill) in enumerate(people)]
    write_table(workdir, "\n".join(["who,age,ill,cost", *rows]) + "\n", SCHEMA)
    return workdir


def _first_screen(page: str) -> str:
    text = Path(page).read_text()
    return html.unescape(re.sub(r"<[^>]+>", " ", text[text.index('class="answers"') : text.index("</main>")]))


def test_the_first_screen_of_an_anonymous_table_says_what_is_not_protected() -> None:
    words = ("--schema", "schema.toml", "--k", "5", "-o", "safe.csv", "--report", "p.html")
    told = " ".join(output("anonymize", "people.csv", *words).split())
    facts, shown = dc.reporting.report_facts("safe.csv"), _first_screen("p.html")
    assert "Passed on exactly, so not protected: ill, cost." in shown
    lines = [line.split(",")[-1] for line in Path("safe.csv").read_text().splitlines()[1:]]
    once = sum(lines.count(cost) == 1 for cost in lines)
    assert facts["release"]["passed_on"] == {"ill": 0, "cost": once}
    assert 100 < once < len(lines)
    assert f"{once} of {len(lines)} rows (" in shown
    assert "have a value of cost that occurs once: anyone who knows it finds the row." in shown
    share = facts["release"]["risk"]["prosecutor"]["max"]
    assert share == pytest.approx(20 / 24, abs=0.01)
    worst = f"{math.ceil(1000 * share) / 10:g} %"  # a bound is rounded up, wherever it stands
    assert f"picked with a probability of {worst}, although 5 or more persons share each group: one person" in shown
    assert f"a guess among its rows {worst} of the time at most" in shown
    page = Path("p.html").read_text().replace("\u00a0", " ")
    assert re.search(rf"risk of being found, at most</td><td[^>]*>{worst}<", page)
    assert re.search(rf"largest share of one person&#39;s rows in a group</td><td[^>]*>{worst}<", page)
    assert f"One person has {worst} of the rows of a group" in told
    assert re.search(r"of the rows are in groups that reveal their ill\.", shown)
    assert "The release names no account: no one adds it up with others about the same people." in shown
    assert date.today().isoformat() in Path("p.html").read_text()
    assert "names no account" in output("audit", "safe.csv")


def test_the_page_of_synthetic_rows_is_about_the_rows() -> None:
    dc.Account.create("p.account", dataset="ward", epsilon=2, unit=dc.Person("who", rows=2))
    words = ("synthesize", "people.csv", "--schema", "schema.toml", "--epsilon", "1", "--person-rows", "2", "--account",
             "p.account", "-o", "rows.csv")  # fmt: skip
    output(*words, "--n", "50", "--report", "p.html")
    page, held = _first_screen("p.html"), Path("rows.csv").read_bytes()
    assert "50 synthetic rows" in page
    assert "drawn from: a model of 3 columns" in page
    assert f"rows.csv, {len(held):,} bytes, seal intact" in page
    assert f"SHA-256 {hashlib.sha256(held).hexdigest()}" in page
    assert "Account of ward: entry 1, epsilon 1; epsilon 1 of 2 spent, 1 left after 1 release." in page
    entry = dc.Account("p.account").entries[0]
    for said in ("rows.synopsis.parquet", str(entry.digest), entry.files[0][1]):
        assert said in page
    # A later page asks the account, which knows the rows and no other file.
    output("report", "rows.csv", "--account", "p.account", "-o", "later.html")
    assert "entry 1, epsilon 1" in _first_screen("later.html")
    output("anonymize", "people.csv", "--schema", "schema.toml", "--k", "5", "-o", "safe.csv")
    output("report", "safe.csv", "--account", "p.account", "-o", "other.html")
    assert "The account of ward does not know this file." in _first_screen("other.html")
    Path("rows.csv").write_bytes(held.replace(b"flu", b"gout", 1))
    output("report", "rows.csv", "-o", "broken.html", code=1)
