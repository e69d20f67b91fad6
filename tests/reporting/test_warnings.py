"""The card "What should worry me?" and the lines above the charts name what a reader would stumble over."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dc
from command_line import run
from discreet import reporting


def _page(made: Any, folder: Path) -> str:
    made.save(folder / "s.parquet")
    reporting.write_report(folder / "s.parquet", folder / "page.html")
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", (folder / "page.html").read_text(encoding="utf-8")))


def _table(n: int = 2000) -> pa.Table:
    draw = np.random.default_rng(1)
    towns = np.array(["a", "b", "c", None], object)[draw.integers(0, 4, n)]
    return pa.table({"who": draw.integers(0, 500, n), "age": draw.integers(0, 100, n), "town": towns.tolist()})


def test_a_schema_that_names_a_person_is_named_first(tmp_path: Path) -> None:
    domain = dc.Domain({"who": {"role": "person"}, "age": (0, 100)}, unit="row", source={"looked": 7})
    text = _page(dc.GridSynopsis(epsilon=1.0, domain=domain, rule=4).fit(_table()).synopsis_, tmp_path)
    worry = text.partition("What should worry me?")[2][:1500]
    assert "protected at m times the epsilon only" in worry
    assert "The first 7 rows of the file were looked at" in worry
    assert "No violation was found" not in worry


def test_sums_that_differ_from_the_total_are_named(tmp_path: Path) -> None:
    made = dc.GridSynopsis(epsilon=0.02, domain={"age": (0, 100)}, rule=100, random_state=1).fit(_table()).synopsis_
    assert abs(made.weights.sum() - made.total) > 0.01 * made.total
    text = _page(made, tmp_path)
    assert f"add up to {made.weights.sum():,.0f} ±" in text
    assert "age is mostly noise." in text


def test_sums_that_agree_are_not_talked_about(tmp_path: Path) -> None:
    made = dc.GridSynopsis(epsilon=100.0, domain={"age": (0, 100)}, rule=10).fit(_table()).synopsis_
    text = _page(made, tmp_path)
    assert "add up to" not in text.partition("What was released?")[2].partition("Ledger")[0]
    assert "fewer rows than their noise" not in text


def test_what_is_mostly_assumed_has_no_intervals_and_missing_values_in_a_crowd_are_not_counted(tmp_path: Path) -> None:
    columns = {"age": (0, 100), "town": dc.Categorical("town", ("a", "b", "c"), missing="own")}
    made = dc.TreeSynopsis(epsilon=5.0, domain=columns, partitioner="binary", max_depth=1, random_state=1)
    found = made.fit(_table()).synopsis_
    cut = "town" if found.uncut == ("age",) else "age"
    if cut == "age":
        assert found.marginal("town").missing is None
    assert "missing: 0" not in _page(found, tmp_path)


def test_as_many_warnings_are_named_as_stand_below(tmp_path: Path) -> None:
    """What is not known, or not measured, is a note and not a warning."""
    made = dc.GridSynopsis(epsilon=0.02, domain={"age": (0, 100)}, rule=100).fit(_table()).synopsis_
    made.save(tmp_path / "s.parquet")
    reporting.write_report(tmp_path / "s.parquet", tmp_path / "page.html")
    card = (tmp_path / "page.html").read_text("utf-8").partition("What should worry me?")[2].partition("</ul>")[0]
    named = re.search(r"(\d+) warnings?<", card)
    assert named is not None
    assert int(named[1]) == card.count('<li class="warn"') == card.count("<li") - card.count('<li class="soft"') >= 1


def test_a_promise_that_the_table_contradicts_comes_first_in_red(tmp_path: Path) -> None:
    domain = dc.Domain({"age": (0, 100), "town": ["a", "b", "c"]})
    dc.anonymity.DensityTree(k=5, domain=domain).fit_transform(_table(60).select(["age", "town"])).save(
        tmp_path / "t.csv"
    )
    beside = tmp_path / "t.csv.guarantee.json"
    honest = dc.Guarantee.from_json(beside.read_text())
    assert run_report(tmp_path) == 0
    parameters = {**honest.parameters, "required": {"k": 50}, "reached": {"k": 50}}
    unsealed = replace(honest, parameters=parameters, digest=None)
    for promise in (unsealed, unsealed.seal((tmp_path / "t.csv").read_bytes())):
        beside.write_text(promise.to_json(indent=2) + "\n")
        assert run_report(tmp_path) == 1
        text = (tmp_path / "page.html").read_text(encoding="utf-8")
        first = text.partition('<section class="answer')[2].partition("</section>")[0]
        assert first.startswith(" bad")
        assert "What should worry me?" in first
        assert "A promise is broken" in first
        assert "k is 5, required 50" in first
        assert "Everyone is hidden among 50" not in text
        assert "No violation was found" not in text


def run_report(folder: Path) -> int:
    return run("report", folder / "t.csv", "-o", folder / "page.html", catch=True).exit_code


def test_blanks_that_count_as_values_of_l_are_named(tmp_path: Path) -> None:
    ill = [["flu", None, "gout"][i % 3] for i in range(90)]
    columns = {"age": dc.Numeric("age", 0, 100, role="quasi-identifier")}
    columns["ill"] = dc.Categorical("ill", ("flu", "gout"), role="sensitive", missing="own")
    table, domain = pa.table({"age": [i % 9 for i in range(90)], "ill": ill}), dc.Domain(columns)
    for rules, named in (({"l_diversity": 2}, True), ({"t_closeness": 0.9}, True), ({}, False)):
        dc.anonymity.DensityTree(k=5, domain=domain, **rules).fit_transform(table).save(tmp_path / "t.csv")
        for code, said in (
            ("en", "ill is blank in 30 of 90 rows: in l and t, a blank counts as a value."),
            ("de", "ill ist in 30 von 90 Zeilen leer: Bei l und t zählt ein leeres Feld als Wert."),
        ):
            text = reporting.report_page(reporting.report_facts(tmp_path / "t.csv"), code)
            assert (said in text) == named, (rules, code)


def test_rows_of_persons_that_are_not_counted_are_named_on_the_first_screen(tmp_path: Path) -> None:
    said = "Counts cover only the rows that were used, at most 2 per person: the table may have more."
    for unit in ("row", dc.Person("who", rows=2)):
        domain = dc.Domain({"who": {"role": "person"}, "age": (0, 100)}, unit=unit)
        text = _page(dc.GridSynopsis(epsilon=1.0, domain=domain, rule=4).fit(_table()).synopsis_, tmp_path)
        assert (said in text.partition("What should worry me?")[2][:1500]) == (unit != "row")
    page = reporting.report_page(reporting.report_facts(tmp_path / "s.parquet"), "de")
    assert "nur verwendete Zeilen, höchstens 2 je Person: Die Tabelle kann mehr haben." in page
