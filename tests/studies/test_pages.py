"""Every study: its committed results are whole, its page says what they say, its pictures can be read."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from dataclasses import replace
from html import escape
from pathlib import Path
from pkgutil import resolve_name
from xml.etree import ElementTree

import pytest

import discreet_studies
from discreet_studies import Results
from discreet_studies.harness.chart import Chart, Panel
from discreet_studies.harness.report import counts, html, page
from discreet_studies.harness.runner import COMMITTED, read_results, results_file
from discreet_studies.harness.study import CORRECTED, NOT, VERDICTS

DOCS = Path(__file__).parents[2] / "docs" / "studies"
_DECIMAL = re.compile(r"(?<![\w.])-?\d+\.\d+(?![\w.])")
_spec = importlib.util.spec_from_file_location("pages", Path(discreet_studies.__file__).parents[1] / "pages.py")
assert _spec is not None
assert _spec.loader is not None
pages = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(pages)
Shown = tuple[discreet_studies.Study, Results, dict[str, Chart]]


@pytest.fixture(scope="module", params=sorted(discreet_studies.names()))
def shown(request: pytest.FixtureRequest) -> Shown:
    study = discreet_studies.load(request.param)
    results = read_results(study)
    found, figures = list(study.findings(results)), dict(study.pictures(results))
    return replace(study, findings=lambda _: found, pictures=lambda _: figures), results, figures  # worked out once


def test_the_committed_results_are_of_the_full_grid(shown: Shown) -> None:
    study, results, _ = shown
    assert results_file(study, COMMITTED, quick=False).is_file()
    held = {json.dumps(s, sort_keys=True) for s, _ in results.rows}
    assert {json.dumps(dict(s), sort_keys=True) for s in study.settings(False)} <= held


def test_a_page_says_what_the_results_say(shown: Shown) -> None:
    study, results, figures = shown
    text = (DOCS / f"{study.name}.md").read_text(encoding="utf-8")
    made, files = pages.guide(study, results, figures, text)
    assert text == made, "run python studies/pages.py"
    held = {p.name: p.read_text(encoding="utf-8") for p in (DOCS / "figures").glob(f"{study.name}[-.]*")}
    assert held == files, "run python studies/pages.py"
    above = text.split(pages.MARK)[0]
    assert set(_DECIMAL.findall(above)) <= set(_DECIMAL.findall(page(study, results)))
    assert re.findall(r"\]\(images/([^)]+)\)", text) == [f"{study.name}-{title}.svg" for title in figures]
    assert f"discreet study run {study.name}" in above


def test_a_page_opens_with_a_paragraph_a_picture_and_the_verdicts_and_stays_readable(shown: Shown) -> None:
    study, results, _ = shown
    text = (DOCS / f"{study.name}.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 6000
    title, opening, mark, picture, *_ = text.split("\n\n")
    assert title.startswith("# ")
    assert 20 <= len(opening.split()) <= 200
    assert (mark, picture[:2]) == (pages.FIRST, "![")
    for verdict, number in counts(study.findings(results)).items():
        assert f" {number} " in text.split(pages.LAST)[0], verdict


def test_every_figure_is_on_the_page_or_in_its_files(shown: Shown) -> None:
    study, results, figures = shown
    text = (DOCS / f"{study.name}.md").read_text(encoding="utf-8")
    _, files = pages.guide(study, results, figures, text)
    linked = re.findall(r"\]\(figures/([^)]+)\)", text)
    assert sorted(linked) == sorted(files)
    everything = text + "".join(files.values())
    for finding in study.findings(results) if study.tables is None else ():
        assert finding.figure in everything


def test_findings_carry_a_verdict_and_a_reason(shown: Shown) -> None:
    study, results, _ = shown
    found = study.findings(results)
    assert found
    assert len({(f.section, f.figure) for f in found}) == len(found)
    for finding in found:
        assert finding.measured.runs > 0, finding
        unjudged = finding.published is None or "was chosen on this figure" in finding.note
        assert finding.verdict in VERDICTS or (unjudged and not finding.verdict)
        assert finding.note or finding.verdict not in (CORRECTED, NOT), finding


def test_pictures_have_labelled_axes_and_a_title(shown: Shown) -> None:
    _, _, figures = shown
    assert figures
    for name, figure in figures.items():
        assert figure.title, name
        assert figure.panels, name
        for panel in figure.panels:
            categories = isinstance(panel, Panel) and len(panel.up) > 0 and not panel.log_y
            assert panel.x, name
            assert panel.y or categories, name
        named = {line.name for panel in figure.panels for line in panel.lines}
        assert not named - {""} or all(escape(words) in figure.image() for words in named)


def test_pictures_are_what_the_results_say(shown: Shown) -> None:
    study, _, figures = shown
    made = pages.images(study.name, figures)
    held = {p.name: p.read_text(encoding="utf-8") for p in (DOCS / "images").glob(f"{study.name}-*")}
    assert held == made, "run python studies/pages.py"
    for text in made.values():
        root = ElementTree.fromstring(text)
        assert root.tag.endswith("svg")
        assert "NaN" not in text.replace("nan", "NaN")
        assert "prefers-color-scheme: dark" in text


#: Their pages have few pictures and are written in no time; those of the others are written by `make test-all`.
SMALL = ("accuracy", "local-kmeans", "persons", "synthetic-tables")
#: KiB of pages that judge hundreds or thousands of printed figures; others have at most 300.
HEAVY = {"density-trees": 700, "partition-synopsis": 2000}


@pytest.mark.parametrize(
    "shown",
    [pytest.param(n, marks=[pytest.mark.slow] * (n not in SMALL)) for n in sorted(discreet_studies.names())],
    indirect=True,
)
def test_the_page_of_a_study_is_light_and_asks_for_nothing(shown: Shown) -> None:
    study, results, figures = shown
    text = html(study, results)
    assert len(text.encode()) < HEAVY.get(study.name, 300) * 1024
    assert "<script" not in text
    assert not re.search(r"(?:src|href)=\"(?!data:)", text)
    assert text.count("<svg") >= sum(len(figure.panels) for figure in figures.values())
    assert all(escape(section, quote=False) in text for f in study.findings(results) if (section := f.section))


def test_a_quick_run_needs_no_data_folder(shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, _, _ = shown
    whole = {json.dumps(dict(s), sort_keys=True) for s in study.settings(True)}
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path / "nothing"))
    without = [json.dumps(dict(s), sort_keys=True) for s in study.settings(True)]
    assert without
    assert len(set(without)) == len(without)
    assert set(without) <= whole


def test_errata_name_place_and_remedy_of_every_error() -> None:
    text = (DOCS / "errata.md").read_text(encoding="utf-8")
    assert text == pages.errata(), "run python studies/pages.py"
    assert len(text.split()) <= 6000
    entries = tomllib.loads((COMMITTED.parent / "published" / "errata.toml").read_text(encoding="utf-8"))
    for part in entries.values():
        places = [entry["place"] for entry in part["errors"]]
        assert len(set(places)) == len(places)
        for entry in part["errors"]:
            assert set(entry) == {"place", "printed", "right", "why", "ours", "code"}
            assert all(words.strip() and "|" not in words for words in entry.values()), entry
            assert resolve_name(entry["code"]) is not None
