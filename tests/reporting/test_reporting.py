"""The evidence report: true to the artifact, self-contained, and loud where it must be."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.app import app
from discreet.errors import DataSourceError, FormatError
from discreet.reporting import report_facts, write_report
from discreet.reporting.pages import svg

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
    run = ["perturb", str(place / "patients.csv"), "--schema", str(place / "patients.toml"), "--epsilon", "2"]
    done = CliRunner().invoke(app, [*run, "--radius", "0.1", "-o", str(place / "noisy.csv")])
    assert done.exit_code == 0, done.output
    m = dc.local.DirectResponse(2, ["cat", "dog", "emu"])
    m.aggregate(m.encode(["cat"] * 700 + ["dog"] * 300)).save(place / "counts.bin")
    return place


KINDS = {
    "s.parquet": "synopsis", "safe.csv": "anonymous table", "noisy.csv": "perturbed table",
    "counts.bin": "counts of local reports",
}  # fmt: skip


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
    done = CliRunner().invoke(app, ["report", str(tmp_path / "safe.csv"), "-o", str(tmp_path / "r.html")])
    assert done.exit_code == 1
    assert "BROKEN" in (tmp_path / "r.html").read_text()
    assert "seal is broken" in done.output


def test_a_seeded_release_and_one_without_privacy_are_called_out(tmp_path):
    X = np.full((40, 2), 0.5)
    for name, settings, words in (
        ("seeded", {"epsilon": 1.0, "random_state": 1}, "must not be published"),
        ("bare", {"epsilon": math.inf}, "no privacy"),
    ):
        dc.GridSynopsis(domain=(0, 1), rule=4, **settings).fit(X).synopsis_.save(tmp_path / f"{name}.parquet")
        write_report(tmp_path / f"{name}.parquet", tmp_path / "r.html")
        assert words in (tmp_path / "r.html").read_text()


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


def test_what_is_no_artifact_is_refused(folder, tmp_path):
    with pytest.raises(DataSourceError, match="no file"):
        report_facts(tmp_path / "nothing.csv")
    with pytest.raises(FormatError, match=r"guarantee\.json"):
        report_facts(folder / "patients.csv")
    done = CliRunner().invoke(app, ["report", str(folder / "patients.csv"), "-o", str(tmp_path / "r.html")])
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
    picture = svg.boxes(many, many + 0.01, np.ones(4000), title="t", x="a", y="b", low=[0, 0], high=[1, 1])
    assert picture.count("<rect") <= 48 * 48


def test_the_page_of_a_zcdp_promise_states_delta():
    ledger = dc.Ledger(rho=0.5, delta=1e-6)
    ledger.spend("counts", 0.5)
    promise = dc.Guarantee.from_ledger(ledger, model="central")
    from discreet.reporting import words

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
