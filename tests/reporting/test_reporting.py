"""The evidence report: true to the artifact, self-contained, and loud where it must be."""

from __future__ import annotations

import datetime
import html
import json
import math
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import discreet as dc
from command_line import run
from discreet import demo
from discreet.errors import DataSourceError, FormatError, InvalidType
from discreet.planning import outlook
from discreet.reporting import report_facts, words, write_report
from discreet.reporting.pages import ink, plan, plane, svg
from discreet.reporting.pages.audit import artifact_page, mechanism_page
from discreet.reporting.pages.report import worrying

RAW = "Zanzibar-Xylophone"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("released")
    patients = dc.datasets.patients(2000)
    pa_csv.write_csv(patients.to_arrow(), place / "patients.csv")
    dc.GridSynopsis(1.0, patients.domain, 12).fit(patients.to_arrow()).synopsis_.save(place / "s.parquet")
    people = dc.datasets.people(600)
    dc.anonymity.DensityTree(k=8, domain=people.domain).fit_transform(people.table).save(place / "safe.csv")
    people.domain.to_toml(place / "people.toml")
    patients.domain.to_toml(place / "patients.toml")
    words = ["perturb", str(place / "patients.csv"), "--schema", str(place / "patients.toml"), "--epsilon", "2"]
    done = run(*words, "--radius", "0.1", "-o", place / "noisy.csv", catch=True)
    assert done.exit_code == 0, done.output
    m = dc.local.DirectResponse(2, ["cat", "dog", "emu"])
    m.aggregate(m.encode(["cat"] * 700 + ["dog"] * 300)).save(place / "counts.bin")
    return place


KINDS = {
    "s.parquet": "synopsis", "safe.csv": "anonymous table", "noisy.csv": "perturbed table",
    "counts.bin": "counts of local reports",
}  # fmt: skip


def test_a_page_and_an_answer_give_one_interval(folder, tmp_path):
    """The noise of one count is Laplace: an interval of a normal one would be too narrow."""
    write_report(folder / "s.parquet", tmp_path / "r.html")
    low, high = dc.Synopsis.load(folder / "s.parquet").ask("age >= 0").interval(0.95)
    assert f"(95 % interval {low:,.0f} to {high:,.0f})" in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_artifact_gets_a_page(folder, name, tmp_path):
    facts = write_report(folder / name, tmp_path / "r.html")
    assert facts["kind"] == KINDS[name]
    assert facts["checks"]["seal"] == "intact"
    assert facts["promise"]["plain"]
    json.dumps(facts, default=str)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count("<svg") >= 1
    for picture in re.findall(r"<svg.*?</svg>", page, re.S):
        ET.fromstring(picture)  # well formed
    # Self-contained: no script, and nothing that a browser would fetch.
    assert "<script" not in page
    assert not re.search(r"""(src|href)=["'](?!data:)""", page)
    assert not re.search(r"url\(|@import|https?://", page)
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_the_figures_are_those_of_the_artifact(folder):
    synopsis = dc.Synopsis.load(folder / "s.parquet")
    facts = report_facts(folder / "s.parquet")
    assert facts["release"]["leaves"] == synopsis.n_leaves
    assert facts["release"]["rows"] == synopsis.total
    assert facts["promise"]["epsilon"] == 1.0
    assert sum(line["epsilon"] for line in facts["ledger"] if line["depth"] == 0) == pytest.approx(1.0)
    assert facts["digest"] == synopsis.digest
    safe = report_facts(folder / "safe.csv")
    assert safe["release"]["risk"]["k"] >= 8
    assert sum(safe["release"]["classes"]["counts"]) == safe["release"]["risk"]["classes"]
    counted = report_facts(folder / "counts.bin")
    assert {f["candidate"] for f in counted["release"]["frequencies"]} == {"cat", "dog", "emu"}


def test_a_page_shows_pure_steps_of_a_budget_in_rho_in_their_own_unit(tmp_path):
    tree = dc.TreeSynopsis(rho=0.1, delta=1e-6, domain={"x": (0, 1), "y": (0, 1)}, partitioner="median",
        n_rows=900, max_depth=2, random_state=1)  # fmt: skip
    tree.fit(np.random.default_rng(1).random((900, 2))).synopsis_.save(tmp_path / "s.parquet")
    lines = report_facts(tmp_path / "s.parquet")["ledger"]
    group = next(i for i, line in enumerate(lines) if line["composition"] == "pure")
    parts = [line for line in lines[group + 1 :] if line["depth"] > 0][: lines[group]["parts"]]
    assert sum(line["epsilon"] for line in parts) ** 2 / 2 == pytest.approx(lines[group]["rho"])
    write_report(tmp_path / "s.parquet", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "half the square of the sum of its parts" in page
    assert "one step over disjoint cells, in ε" in page


def test_no_raw_value_reaches_the_page(tmp_path):
    people = dc.datasets.people(300)
    names = people.table.column("name").to_pylist()
    names[0] = RAW
    table = people.table.set_column(people.table.column_names.index("name"), "name", pa.array(names))
    dc.anonymity.DensityTree(k=5, domain=people.domain).fit_transform(table).save(tmp_path / "safe.csv")
    write_report(tmp_path / "safe.csv", tmp_path / "r.html")
    assert RAW not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_changed_table_is_called_out(folder, tmp_path):
    for name in ("safe.csv", "safe.csv.guarantee.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    body = (tmp_path / "safe.csv").read_text()
    (tmp_path / "safe.csv").write_text(body.replace("flu", "gout", 1))
    done = run("report", tmp_path / "safe.csv", "-o", tmp_path / "r.html", catch=True)
    assert done.exit_code == 1
    assert "BROKEN" in (tmp_path / "r.html").read_text()
    assert "seal is broken" in done.output


def test_a_seeded_release_and_one_without_privacy_are_called_out(tmp_path):
    X = np.full((40, 2), 0.5)
    for name, settings, said in (
        ("seeded", {"epsilon": 1.0, "random_state": 1}, "Do not publish"),
        ("bare", {"epsilon": math.inf}, "no privacy"),
    ):
        dc.GridSynopsis(domain=(0, 1), rule=4, **settings).fit(X).synopsis_.save(tmp_path / f"{name}.parquet")
        write_report(tmp_path / f"{name}.parquet", tmp_path / "r.html")
        assert said in (tmp_path / "r.html").read_text()


def test_the_comparison_must_be_asked_for_and_is_marked(folder, tmp_path):
    assert "comparison" not in report_facts(folder / "s.parquet")
    facts = write_report(folder / "s.parquet", tmp_path / "r.html", against=str(folder / "patients.csv"))
    assert facts["comparison"]["private"] is False
    assert [c["column"] for c in facts["comparison"]["columns"]] == ["age", "cost"]
    assert all(0 <= c["total_variation"] < 0.3 for c in facts["comparison"]["columns"])
    assert "not private" in (tmp_path / "r.html").read_text()


def test_results_of_attacks_and_audits_are_shown(folder, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"attack": "membership", "advantage": 0.0123, "interval": [0.0, 0.03]}))
    facts = write_report(folder / "noisy.csv", tmp_path / "r.html", attacks=[tmp_path / "a.json"])
    assert facts["attacks"][0]["result"]["advantage"] == 0.0123
    assert "0.0123" in (tmp_path / "r.html").read_text()
    with pytest.raises(DataSourceError, match="attack"):
        report_facts(folder / "noisy.csv", attacks=[folder / "patients.csv"])


def test_centres_are_numbered_and_drawn_where_both_columns_are_numbers(folder, tmp_path):
    found = {
        "columns": ["age", "cost"], "centers": [[20.0, 30.0], [60.0, 70.0]], "weights": [900.0, 100.0],
        "weight_std_errors": [9.0, 8.0], "may_be_noise": [False, True],
    }  # fmt: skip
    write_report(folder / "s.parquet", tmp_path / "r.html", clusters=found)
    text = (tmp_path / "r.html").read_text()
    assert text.count('class="cross over"') == 1
    assert "crosses: cluster centres" in text
    assert '<td data-name="">centre 2</td><td data-name="age" class="n">60</td>' in text
    assert "may be only noise" in text
    write_report(folder / "s.parquet", tmp_path / "r.html", clusters={**found, "columns": ["town", "cost"]})
    assert "cross over" not in (tmp_path / "r.html").read_text()


def test_a_chance_is_drawn_up_to_one():
    drawn = svg.curve([1, 2], [0.0, 0.99], title="t", x="ε", y="chance", top=1.0)
    assert ">1.0</text>" in drawn


def test_what_is_no_artifact_is_refused(folder, tmp_path):
    with pytest.raises(DataSourceError, match="no file"):
        report_facts(tmp_path / "nothing.csv")
    with pytest.raises(FormatError, match=r"guarantee\.json"):
        report_facts(folder / "patients.csv")
    done = run("report", folder / "patients.csv", "-o", tmp_path / "r.html", catch=True)
    assert done.exit_code != 0
    assert not (tmp_path / "r.html").exists()


def test_names_are_escaped(tmp_path):
    domain = dc.Domain({"<b>x</b>": (0, 1), "y&": ["<i>", "b"]})
    table = pa.table({"<b>x</b>": [0.5] * 30, "y&": ["b"] * 30})
    dc.GridSynopsis(1.0, domain, 2).fit(table).synopsis_.save(tmp_path / "s.parquet")
    write_report(tmp_path / "s.parquet", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "<b>x</b>" not in page
    assert "&lt;b&gt;x" in page
    assert "<i>" not in page


def test_pictures_of_odd_numbers():
    for values in ([], [0.0], [-3.0, 5.0], [1e9, float("nan")], [1e-9, 2e-9]):
        ET.fromstring(svg.bars([str(i) for i in range(len(values))], values, title="t", axis="a"))
    many = np.random.default_rng(0).uniform(size=(4000, 2))
    picture = plane.boxes(many, many + 0.01, np.ones(4000), title="t", x="a", y="b", low=[0, 0], high=[1, 1])
    assert picture.count("z") <= 48 * 48 + 100  # one "z" closes a box; the others are letters of words


def test_marks_of_axes_are_round_few_and_plain():
    for low, high in ((0, 16670), (-0.0004, 0.0), (0, 3), (-5, 1e9), (1e-9, 2e-9), (7, 7), (-120.5, 90), (0, 1e15)):
        for most in (3, 5, 6):
            marks = ink.linear(low, high, most).marks
            assert len(marks) <= most
            for value, text in marks:
                assert "e" not in text
                assert float(text.replace("−", "-").replace(",", "")) == 0 or not re.fullmatch(r"[-−]0\.?0*", text)
                assert low - 1e-9 * abs(low) <= value <= high + 1e-9 * abs(high)
            assert len({text for _, text in marks}) == len(marks)
    for value in (16670.0, -0.0, 1e-7, 3e20, float("inf"), float("nan")):
        assert not re.search(r"e[+-]|^-0$|nan|inf", words.number(value))


def test_words_under_an_axis_do_not_overlap():
    names = [f"a rather long name {i}" for i in range(30)]
    places = re.findall(r'class="tick mid" x="([\d.]+)"', svg.bars(names, range(30), title="t", axis="a"))
    assert 1 <= len(places) <= 6
    assert all(float(b) - float(a) >= 12 * 6 for a, b in pairwise(places))
    assert svg.ranked(names, range(30), title="t", axis="a").count('class="bar"') == 12


def test_a_fine_grid_is_drawn_without_seams():
    """60 by 60 equal cells on 48 by 48 squares: all squares are equally dense."""
    i, j = (axis.ravel() for axis in np.meshgrid(np.arange(60.0), np.arange(60.0)))
    corner = np.column_stack([i, j])
    drawn = plane.boxes(corner, corner + 1, np.ones(3600), title="t", x="a", y="b", low=[0, 0], high=[60, 60])
    shades = set(re.findall(r'<path class="people" fill-opacity="([\d.]+)"', drawn))
    assert shades == {"1.00"}


@pytest.mark.parametrize("name", KINDS)
def test_a_page_is_light_and_shows_no_data_of_programs(folder, name, tmp_path):
    write_report(folder / name, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert len(page.encode()) < 300_000
    text = html.unescape(re.sub(r"<style.*?</style>|<[^>]+>", " ", page, flags=re.S))
    assert not re.search(r"\{'|\bNone\b|\bTrue\b|\bFalse\b|\d+e[+-]\d+|(?<![\w.])-0(?![\w.,])", text)
    for question in ("What was released?", "What is promised, and to whom?", "What should worry me?"):
        assert page.index(question) < page.index("<h2>What is promised</h2>")


def test_what_is_not_stated_has_room_to_be_written(folder, tmp_path):
    write_report(folder / "s.parquet", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert page.count('<dd class="blank">not stated</dd>') == 3
    assert f"<dt>page made:</dt><dd>{datetime.date.today().isoformat()}</dd>" in page
    said = {"title": "Ward <3>", "owner": "A & B", "purpose": "plan", "date": datetime.date(2026, 1, 31)}
    facts = write_report(folder / "s.parquet", tmp_path / "r.html", **said)
    page = (tmp_path / "r.html").read_text()
    assert facts["about"]["date"] == "2026-01-31"
    assert "<h1>Ward &lt;3&gt;</h1>" in page
    assert "A &amp; B" in page
    assert "not stated" not in page
    with pytest.raises(InvalidType, match="owner must be text"):
        write_report(folder / "s.parquet", tmp_path / "r.html", owner=3)


EVIL = "\"><script>alert(1)</script><svg onload=x>&'"


def test_texts_from_data_cannot_break_out_of_pages_and_pictures():
    pictures = [
        svg.bars([EVIL], [1.0], [0.1], title=EVIL, axis=EVIL),
        svg.bars([EVIL], [1.0], title=EVIL, axis=EVIL, edges=[0, 1], marks=[(0, EVIL), (1, EVIL)]),
        svg.ranked([EVIL], [1.0], [0.5], [1.5], title=EVIL, axis=EVIL, assumed=[0.5]),
        svg.curve([1, 2], [1, 2], title=EVIL, x=EVIL, y=EVIL, upright=[(1, EVIL, "claim")], dot=(1, 1, EVIL)),
        svg.unknown(EVIL, title=EVIL, ends=(EVIL, EVIL)),
        plane.boxes(
            [[0, 0]], [[1, 1]], [1], title=EVIL, x=EVIL, y=EVIL, low=[0, 0], high=[1, 1], ends=[(EVIL,) * 2] * 2
        ),
        plane.cloud([[0, 0]], title=EVIL, x=EVIL, y=EVIL, low=[0, 0], high=[1, 1], marks=[]),
    ]
    for picture in pictures:
        assert "<script" not in picture
        assert [e.tag for e in ET.fromstring(picture).iter() if e.tag in ("script", "svg")] == ["svg"]
        assert not any("onload" in e.attrib for e in ET.fromstring(picture).iter())
    facts = {"file": EVIL, "kind": EVIL, "passed": False, "seeded": True, "epsilon": EVIL, "digest": EVIL,
             "checks": [{"check": EVIL, "holds": False, "detail": EVIL}]}  # fmt: skip
    assert "<script" not in artifact_page(facts)
    assert "onload=x" not in html.unescape(re.sub(r"&lt;svg onload=x&gt;", "", artifact_page(facts)))


def test_the_pages_of_plan_audit_and_demo_are_light(tmp_path):
    demo.run(tmp_path, seed=1)
    shown = {
        "demo": (tmp_path / "picture.html").read_text(),
        "plan": plan.plan_page(outlook(5000, 3, target_error=0.01)),
    }
    found = dc.evaluation.audited_mechanism("noise.discrete_laplace").audit(400, 0.99, random_state=1)
    facts = {"mechanism": "m", "claimed": 1.0, "passed": True, "results": [("pair", r) for r in found]}
    shown["audit"] = mechanism_page(facts)
    for name, page in shown.items():
        assert len(page.encode()) < 300_000, name
        assert page.count("<svg") >= 2
        assert "<script" not in page
        assert "prefers-color-scheme: dark" in page
        assert not re.search(r"url\(|@import|https?://", page)
        for picture in re.findall(r"<svg.*?</svg>", page, re.S):
            ET.fromstring(picture)


def test_the_page_of_a_zcdp_promise_states_delta():
    ledger = dc.Ledger(rho=0.5, delta=1e-6)
    ledger.spend("counts", 0.5)
    promise = dc.Guarantee.from_ledger(ledger, model="central")
    text = " ".join(words.for_lawyers(promise) + words.for_experts(promise))
    assert "1e-06" in text
    assert "zCDP" in text


def test_a_table_of_bounds_has_its_quasi_identifiers(tmp_path):
    people = dc.datasets.people(400)
    release = dc.anonymity.DensityTree(k=8, domain=people.domain).fit_transform(people.table)
    release.save(tmp_path / "bounds.csv", form="bounds")
    facts = report_facts(tmp_path / "bounds.csv")
    assert facts["release"]["risk"]["k"] >= 8
    assert "age_lower" in facts["release"]["quasi_identifiers"]


@pytest.mark.parametrize("rho", [0.1, 0.123, 0.25, 0.3, 0.7])
def test_the_total_of_a_ledger_is_the_amount_spent_in_the_promise(rho: float, tmp_path) -> None:
    given = {"epsilon": 10 * rho, "delta": 1e-6, "domain": {"x": (0, 1), "y": (0, 1)}, "random_state": 1}
    made = dc.MarginalSynopsis(**given).fit(np.random.default_rng(1).random((90, 2))).synopsis_
    made.save(tmp_path / "s.parquet")
    (total,) = (amount for step, _, amount in words.spent_on(report_facts(tmp_path / "s.parquet")) if step == "total")
    (spent,) = (line for line in words.for_experts(made.guarantee) if line.startswith("spent: "))
    assert total == spent.removeprefix("spent: ").partition(" (")[0].removesuffix(", rounded up")


@pytest.mark.parametrize("rho", [0.1, 0.123, 0.25, 0.3, 0.7])
def test_levels_in_symbols_are_rounded_up(rho: float) -> None:
    ledger = dc.Ledger(rho=rho, delta=1 / 300001)
    ledger.spend("cells", rho, "parallel")
    promise = dc.Guarantee.from_ledger(ledger, model="central")
    said = words.for_experts(promise)
    assert promise.delta <= float(said[0].rpartition(" + ")[2]) <= promise.delta * 1.0001
    delta, level = said[3].removeprefix("ε at δ = ").split(": ")
    assert float(delta) == promise.delta
    assert promise.epsilon is not None
    assert promise.epsilon <= float(level) <= promise.epsilon * 1.0001


def test_nearly_unique_columns_are_a_warning():
    facts = {"parameters": {"nearly_unique": {"phone": 0.98}}, "assumptions": [], "release": {"rows": 3}, "ledger": [],
        "attacks": [], "audits": [], "kind": "anonymous table", "file": "t.csv",
        "promise": {"epsilon": None}, "checks": {"seal": "intact", "seeded": False}}  # fmt: skip
    said = [text for tone, text in worrying(facts).lines if tone == "warn"]
    assert said == [
        "Most values occur once in phone (98 % of the rows). Anyone who knows a person's value there finds their row. "
        "Leave such columns out, or generalise them."
    ]


def test_every_column_is_named_and_categories_with_commas_are_quoted(folder, tmp_path):
    many = {f"c{i}": ["a, b", "c"] for i in range(9)}
    rows = pa.table({name: ["c"] * 30 for name in many})
    dc.MarginalSynopsis(1.0, dc.Domain(many), random_state=1).fit(rows).synopsis_.save(tmp_path / "m.parquet")
    write_report(tmp_path / "m.parquet", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "columns: c0, c1, c2, c3, c4, c5, c6, c7, c8<" in page
    assert "&#34;a, b&#34;, c" in page


@pytest.mark.parametrize("total", [-38.0, 7.0, 400.0])
def test_the_page_states_the_interval_that_is_answered(folder, tmp_path, total):
    """Noise may make the number of rows negative: the interval then ends lower, as `discreet ask` says."""
    made = dc.Synopsis.load(folder / "s.parquet").replace(total=total, total_variance=4700.0)
    made.save(tmp_path / "s.parquet")
    write_report(tmp_path / "s.parquet", tmp_path / "r.html")
    low, high = made.count().interval(0.95)
    said = f"about {max(total, 0):,.0f} rows (95 % interval {low:,.0f} to {high:,.0f})"
    assert said in (tmp_path / "r.html").read_text()
