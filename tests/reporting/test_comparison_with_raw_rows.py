"""The part of a report that looks at raw rows: right, marked as not private, and only where it was asked for."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pyarrow.csv as pa_csv
import pytest

import discreet as dc
from command_line import run
from discreet.errors import InvalidArgument
from discreet.reporting import report_facts, write_report
from discreet.reporting.pages import plane, svg


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("compared")
    people = dc.datasets.people(400)
    domain = dc.Domain({name: people.domain.to_dict()[name] for name in ("age", "town", "hours", "illness")})
    pa_csv.write_csv(people.table, place / "people.csv")
    domain.to_toml(place / "people.toml")
    dc.GridSynopsis(2.0, domain, 2).fit(people.table).synopsis_.save(place / "s.parquet")
    local = dc.local.DirectResponse(2, ["cat", "dog"])
    local.aggregate(local.encode(["cat"] * 50)).save(place / "counts.bin")
    return place


@pytest.fixture(scope="module")
def page(folder):
    facts = write_report(
        folder / "s.parquet", folder / "r.html", against=str(folder / "people.csv"), target="illness"
    )  # fmt: skip
    return facts, (folder / "r.html").read_text()


def test_the_page_shows_pairs_and_what_is_learnt_and_says_that_it_is_not_private(page):
    facts, text = page
    together = facts["comparison"]["together"]
    assert together["private"] is False
    assert together["columns"] == ["age", "town", "hours", "illness"]
    section = text[text.index("Accuracy</h2>") :]
    assert "It is not private" in section.partition("</p>")[0]
    worst = together["marginals"]["2"]["worst"][0]
    assert " and ".join(worst["columns"]) in section
    assert section.count('class="people cell"') == 10 + 5  # a triangle of four columns, and the key
    assert "accuracy for illness, trained on synthetic rows" in section
    assert "distinguished by a classifier" in section
    assert "It proves nothing about privacy" in section
    assert len(text) < 300_000


def test_without_the_raw_table_nothing_of_it_is_there(folder):
    assert "comparison" not in report_facts(folder / "s.parquet")
    with pytest.raises(InvalidArgument, match="against"):
        report_facts(folder / "s.parquet", target="illness")


def test_a_target_that_is_not_compared_is_refused_with_one_that_is(folder):
    with pytest.raises(InvalidArgument, match="target='illness'"):
        report_facts(folder / "s.parquet", against=str(folder / "people.csv"), target="ilness")


def test_the_command_line_shows_it_and_gives_it_as_json(folder, tmp_path):
    words = [
        "report",
        str(folder / "s.parquet"),
        "--against",
        str(folder / "people.csv"),
        "-o",
        str(tmp_path / "r.html"),
    ]
    done = run(*words, "--json", catch=True)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["comparison"]["together"]["propensity"]["auc"] > 0.5
    alone = run("report", folder / "s.parquet", "--target", "illness", catch=True)
    assert alone.exit_code != 0
    assert "--against must be given with --target illness" in str(alone.exception)


def test_a_raw_table_with_decimal_commas_is_read_as_its_schema_says(folder, tmp_path):
    costs = [f"{i / 4:.2f}".replace(".", ",") for i in range(400)]
    (tmp_path / "raw.csv").write_text("cost;ill\n" + "".join(f"{c};{'yes' if i % 3 else 'no'}\n"
                                                            for i, c in enumerate(costs)))  # fmt: skip
    (tmp_path / "schema.toml").write_text(
        '[source]\ndelimiter = ";"\ndecimal = ","\n[columns.cost]\nbounds = [0, 100]\n'
        '[columns.ill]\ncategories = ["no", "yes"]\n'
    )
    made = tmp_path / "s.parquet"
    start = ["synopsis", str(tmp_path / "raw.csv"), "--schema", str(tmp_path / "schema.toml"), "--epsilon", "5"]
    assert run(*start, "-o", str(made), catch=True).exit_code == 0
    compare = ["report", str(made), "--against", str(tmp_path / "raw.csv"), "-o", str(tmp_path / "r.html"), "--json"]
    done = run(*compare, "--schema", str(tmp_path / "schema.toml"), catch=True)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["comparison"]["together"]
    assert found["columns"] == ["cost", "ill"]
    assert found["column_errors"]["cost"] < 0.2


def test_lines_of_the_raw_table_are_on_the_scale_of_the_bars():
    # Bins of width 1 and 3 with the same shares in both tables: every line is on top of its bar.
    shares = [0.4, 0.6]
    drawn = svg.bars(["a", "b"], shares, title="t", axis="share", second=shares, edges=[0.0, 1.0, 4.0])
    tops = [float(y) for y in re.findall(r'class="bar"[^>]* y="([\d.]+)"', drawn)]
    lines = [float(y) for y in re.findall(r'class="raw" d="M[\d.]+ ([\d.]+)h', drawn)]
    assert len(tops) == len(lines) == 2
    assert np.allclose(tops, lines, atol=0.11)


def test_a_category_that_only_the_raw_table_has_is_not_cut_off():
    names = [f"c{i:02}" for i in range(20)]
    released, raw = [0.05] * 20, [0.0] * 19 + [1.0]
    drawn = svg.ranked(names, released, title="t", axis="share", second=raw)
    assert "c19" in drawn


def test_pairs_of_many_columns_keep_the_largest_and_escape_names():
    names = [f"<c{i}>" for i in range(30)]
    errors = np.zeros((30, 30))
    errors[28, 3] = errors[3, 28] = 0.5
    drawn = str(plane.pairs(names, errors, title="pairs"))
    ET.fromstring(drawn)
    assert "&lt;c3&gt; and &lt;c28&gt;: 0.5" in drawn
    assert drawn.count("people cell") == 20 * 21 // 2 + 5
