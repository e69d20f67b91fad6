"""Pages in other languages: nothing is left in English, nothing of the user's is translated, figures stay the same."""

from __future__ import annotations

import html
import json
import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from command_line import output, run
from discreet.core import Guarantee
from discreet.errors import InvalidArgument
from discreet.reporting import known_languages, language, report_facts, report_page, translated, words
from discreet.reporting.language import _PLACE, Language, read
from every_page import TRAPS, every_page, make_releases

OTHERS = [code for code in known_languages() if code != "en"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("every")
    make_releases(at)
    return at


@dataclass
class Pages:
    """Every page by language and name, what has no translation, and what templates took for the user's own."""

    shown: dict[str, dict[str, str]]
    missing: set[str]
    taken: set[str]


@pytest.fixture(scope="module")
def pages(folder: Path) -> Pages:
    log, makers, found = logging.getLogger("discreet.languages"), every_page(folder), Pages({}, set(), set())
    values = Language._values

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.missing.add(record.getMessage())

    def watched(self: Language, english: str, match: re.Match[str], own: frozenset[str]) -> dict[str, str] | None:
        made = values(self, english, match, own)
        if made is not None:
            found.taken.update(made[name] for name, kind in _PLACE.findall(english) if kind in ("", "name"))
        return made

    log.setLevel(logging.DEBUG)
    log.addHandler(handler := Kept())
    read.cache_clear()  # what was translated before would not be looked up again
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Language, "_values", watched)
        found.shown = {code: {name: make(language=code) for name, make in makers.items()} for code in known_languages()}
    log.removeHandler(handler)
    log.setLevel(logging.NOTSET)
    return found


def _texts(page: str) -> list[str]:
    """Return the texts of a page outside its style and its pictures' coordinates."""
    page = re.sub(r"<style>.*?</style>", "", page, flags=re.S)
    return [html.unescape(text).strip() for text in re.findall(r">([^<]+)<", page) if text.strip()]


def test_no_sentence_of_any_page_is_left_in_english(pages: Pages) -> None:
    assert len(pages.shown["en"]) > 90
    assert not pages.missing, "\n".join(pages.missing)
    for code in OTHERS:
        assert all(f'<html lang="{code}">' in page for page in pages.shown[code].values())


def test_figures_are_the_same_in_every_language(pages: Pages) -> None:
    for code in OTHERS:
        for name, page in pages.shown[code].items():
            for english, other in zip(_texts(pages.shown["en"][name]), _texts(page), strict=True):
                if not re.search(r"\d{4}-\d\d", english):  # months are written in words
                    digits = [sorted(re.findall(r"\d", text)) for text in (english, other)]
                    assert digits[0] == digits[1], (name, english, other)


def test_what_is_the_users_is_never_translated(pages: Pages) -> None:
    page = pages.shown["de"]["rows.csv against the raw table"]
    texts = _texts(page)
    assert "<h1>Plan</h1>" in page  # the title that the user gave
    assert "Risk" in texts  # the purpose
    for trap in TRAPS:
        assert trap in texts
    assert "rows und cost" in texts  # a pair of columns
    assert "yes, no, flu, gout" in texts
    # Whatever a template takes for the user's own is indeed the user's.
    names = {"who", "rows", "cost", "came", "town", "ill", "old", "latitude", "longitude", "c", "l", "t", "k",
             "epsilon", "rho", "ε", "people", *TRAPS}  # fmt: skip
    shapes = (r"sha256:\w+", r"[\w./-]+\.(csv|parquet|bin|json)", r"\d+(\.\d+)*(rc\d+)?", r"[A-Z]\w+", r"\w+-\w+",
              r"\w+\.\w+", r".*d\(x|D\(x|x′\).*")  # fmt: skip
    assert len(pages.taken) > 20
    for text in pages.taken:
        for part in re.split(r"[,;] ", text.strip("[]")):
            assert part.strip("'") in names or re.fullmatch("|".join(shapes), part.strip("'")), text


@pytest.mark.parametrize("code", OTHERS)
def test_the_places_of_a_template_are_those_of_its_translation(code: str) -> None:
    spoken = read(code)
    assert spoken is not None
    for english, said in spoken.sentences.items():
        places = [name for name, _ in _PLACE.findall(english)]
        assert len(set(places)) == len(places), english
        assert sorted(places) == sorted(name for name, _ in _PLACE.findall(said)), english
        assert all(kind == "" for _, kind in _PLACE.findall(said)), said
        assert all(kind in ("", "number", "said", "name") for _, kind in _PLACE.findall(english)), english
        # Few words around a text that is taken as it is could match anything.
        if any(kind == "" for _, kind in _PLACE.findall(english)):
            assert len(re.findall(r"[^\W\d_]", _PLACE.sub("", english))) >= 6, english


def test_the_promise_says_the_same_in_german() -> None:
    promise = dc.GridSynopsis(1.0, (0, 1), 2, random_state=1).fit([[0.5, 0.5]] * 9).synopsis_.guarantee
    said = [translated(line, "de") for line in words.for_lawyers(promise)]
    assert said == [
        "Ob eine Zeile in der Tabelle vorkommt oder nicht: Die Wahrscheinlichkeiten jeder möglichen Freigabe "
        "unterscheiden sich höchstens um den Faktor 2,72.",
        "Das begrenzt, was irgendjemand aus der Freigabe über eine einzelne Zeile erfahren kann: das Vorkommen in der "
        "Tabelle und das, was dort aufgezeichnet ist. Diese Grenze gilt unabhängig davon, was jemand sonst weiß und "
        "was er berechnet.",
        "Diese Zusicherung gilt für Zeilen. Für eine Person mit m Zeilen ist ε m-mal so groß.",
        "Nach gängiger Praxis ist das ein starkes Schutzniveau (ε höchstens 1).",
    ]


@pytest.mark.parametrize("model", ["central", "local", "metric", "shuffled", "syntactic"])
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 60.0, float("inf")])
def test_every_promise_has_a_translation(model: str, epsilon: float) -> None:
    """Units, weak and absent promises, trajectories, people instead of a distance, swapped and masked tables."""
    units = {"central": ("one row", "one person, with all their rows (at most 8 used)"),
             "local": ("one row", "one report"), "metric": ("one row", "one user's trajectory"),
             "shuffled": ("one person",),
             "syntactic": ("one row", "one person")}[model]  # fmt: skip
    facts: list[dict[str, object]] = [{}]
    if model == "metric":
        facts = [{"radius": 0.5, "epsilon_at_diameter": 9.0}, {"min_people": 50, "category_epsilon": {"a": "1"}}]
    if model == "syntactic":
        kept = {"columns": ["a", "b"], "k": 1, "unique": 0.25}
        facts = [
            {}, {"reached": {"k": 5}}, {"reached": {"k": 5, "largest_share": 0.4}, "kept": kept},
            {"reached": {"k": 5}, "output": "sample", "kept": {"columns": ["a"]}, "quasi_identifiers": ["b"]},
            {"reached": {"probabilistic_k": 4}},
            {"reached": {"k_by_columns": {"least": 5, "columns": [["a"], ["b"]]}, "k_of_rows": 1}},
        ]  # fmt: skip
    for unit in units:
        for parameters in facts:
            if unit == "one row" and "largest_share" in str(parameters):
                continue  # shares are stated of persons
            details: Any = {"model": model, "unit": unit, "parameters": parameters}
            promise = Guarantee(**details)
            if model != "syntactic":
                slack: Any = {"delta": 1e-6} if model in ("central", "shuffled") else {}
                ledger = dc.Ledger(epsilon=epsilon, **slack)
                ledger.spend("all", epsilon, **slack)
                promise = Guarantee.from_ledger(ledger, **details)
            for line in words.for_lawyers(promise):
                told = translated(words.prose(line), "de")
                assert told != words.prose(line), line


def test_a_page_about_a_misread_table_is_translated(tmp_path: Path) -> None:
    """By chance alone such a page is rare, so it is made here."""
    dc.GridSynopsis(1.0, (0, 1), 2, expect_rows=9000).fit([[0.5, 0.5]] * 900).synopsis_.save(tmp_path / "s.parquet")
    page = report_page(report_facts(tmp_path / "s.parquet"), "de")
    assert "Die Tabelle wurde vielleicht falsch gelesen" in page
    assert "die Kopfzeile, die Schreibweise der Kategorien und fehlende Werte: Eine Zeile" in page
    assert "but 9,000" not in page


def test_a_chart_names_missing_values_in_german_and_booleans_as_the_table_of_columns_does(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("back,ward\n" + "true,a\nfalse,\n" * 300)
    declared = 'back = {kind = "boolean"}\nward = {categories = ["a", "b"], missing = "own"}\n'
    (tmp_path / "s.toml").write_text(f"[columns]\n{declared}")
    given = (tmp_path / "t.csv", "--schema", tmp_path / "s.toml", "--epsilon", 2, "--delta", 1e-9)
    output("synthesize", *given, "-o", tmp_path / "s.csv")
    page = report_page(report_facts(tmp_path / "s.csv"), "de").partition("</style>")[2]
    assert "kein Wert" in page
    assert "no value" not in page
    assert "false, true" in page
    assert "False" not in page


def test_dates_and_numbers_are_written_as_the_language_does() -> None:
    assert translated("2026-11-17", "de") == "17. November 2026"
    assert translated("1,234.5", "de") == "1.234,5"
    assert translated("about 1,234 rows (95 % interval 1,000 to 1,400)", "de") == (
        "etwa 1.234 Zeilen (95-%-Intervall 1.000 bis 1.400)"
    )
    assert translated("3.81 × 10⁻⁶", "de") == "3,81 × 10⁻⁶"


def test_a_sentence_matches_as_a_whole_or_not_at_all() -> None:
    for text in ("about 5 rows", "This release has no privacy guarantee, almost.", "rows of Bremen", "l of a, b 3"):
        assert translated(text, "de") == text


def test_a_further_language_is_a_file(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = {"name": "Piglatin", "decimal": "·", "thousands": "_", "day": "{dd}/{mm}/{year}", "month": "{mm}/{year}",
            "short_day": "{dd}/{mm}", "short_month": "{mm}/{year}", "months": ["m"] * 12}  # fmt: skip
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in form.items()]
    rest = ["[sentences.few]", '"What was released?" = "Atwhay asway eleasedray?"', '"{n:number} rows" = "{n} owsray"']
    (tmp_path / "pg.toml").write_text("\n".join(["[form]", *lines, *rest]), encoding="utf-8")
    monkeypatch.setattr(language, "FOLDER", tmp_path)
    read.cache_clear()
    assert known_languages() == ["en", "pg"]
    page = report_page(report_facts(folder / "groups.csv"), "pg")
    assert "<h2>Atwhay asway eleasedray?</h2>" in page
    assert '<html lang="pg">' in page
    assert translated("1,234 rows", "pg") == "1_234 owsray"
    with pytest.raises(InvalidArgument, match=r"language must be one of en, pg, got 'de'"):
        report_page(report_facts(folder / "groups.csv"), "de")
    read.cache_clear()


def test_the_command_line_writes_german_pages_and_leaves_facts_and_promise_as_they_are(
    folder: Path, tmp_path: Path
) -> None:
    made = output(
        "report", folder / "groups.csv", "-o", tmp_path / "r.html", "--language", "de", "--date", "2026-11-17"
    )
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<dd>17. November 2026</dd>" in page
    assert "Die Zusicherung setzt voraus:" in page
    assert "Jede Person der Tabelle gleicht mindestens" in re.sub(r"\s+", " ", made)  # the terminal says it too
    facts = {code: json.loads(output("report", folder / "groups.csv", "-o", tmp_path / "r.html", "--language", code,
                                     "--json")) for code in ("en", "de")}  # fmt: skip
    assert facts["en"] == facts["de"]
    words = ["synopsis", folder / "raw-people.csv", "--schema", folder / "points.toml", "--epsilon", 1, "--seed", 1]
    for code in ("en", "de"):
        output(*words, "-o", tmp_path / f"{code}.parquet", "--report", tmp_path / f"{code}.html", "--language", code)
    assert (tmp_path / "en.parquet").read_bytes() == (tmp_path / "de.parquet").read_bytes()
    assert "<h2>Die Abrechnung</h2>" in (tmp_path / "de.html").read_text(encoding="utf-8")
    output("audit", folder / "groups.csv", "--html", tmp_path / "a.html", "--language", "de")
    assert "Alle Prüfungen halten" in (tmp_path / "a.html").read_text(encoding="utf-8")
    output("plan", "-n", 5000, "-d", 2, "--html", tmp_path / "p.html", "--language", "de")
    assert "Was von 5.000 Zeilen und 2 Spalten zu erwarten ist" in (tmp_path / "p.html").read_text(encoding="utf-8")


def test_a_language_without_a_file_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    done = run("plan", "-n", 5000, "-d", 2, "--html", tmp_path / "p.html", "--language", "fr", catch=True)
    assert "--language must be one of 'en', 'de', got 'fr'" in str(done.exception)
    done = run("plan", "-n", 5000, "-d", 2, "--language", "de", catch=True)
    assert "--language can only be used with a page; try --html" in str(done.exception)


def test_a_page_of_many_columns_is_translated(tmp_path: Path) -> None:
    names = {f"c{i}, x": (0, 1) for i in range(400)}
    facts = {"file": "t.csv", "kind": "anonymous table", "checks": {"seal": "intact", "seeded": False}, "promise": {
        "model": "syntactic", "epsilon": None, "delta": 0, "unit": "one row", "plain": ["This hides who is who."],
        "symbols": []}, "ledger": [], "assumptions": [], "parameters": {}, "release": {"rows": 3}, "attacks": [],
        "audits": [], "digest": None, "made_by": "0", "reported_by": "0", "bytes": 1, "file_sha256": "",
        "columns": [{"name": name, "bounds": ends} for name, ends in names.items()]}  # fmt: skip
    page = report_page(facts, "de")
    assert "Spalten: c0, x, c1, x" in page
    assert "388 weitere" in page
