"""Parts of every page of the studio: texts in two languages, colours, explained terms."""

import re
from importlib.resources import files
from pathlib import Path
from string import Formatter

import pytest

from discreet.studio import words
from discreet.studio.app import SCREENS
from discreet.studio.serve import warm
from support.studio_client import browser


def test_every_word_is_there_in_every_language_with_the_same_gaps() -> None:
    for name, said in words.catalogue().items():
        assert set(said) == set(words.LANGUAGES), name
        gaps = {lang: {g for _, g, _, _ in Formatter().parse(text) if g is not None} for lang, text in said.items()}
        assert len(set(map(frozenset, gaps.values()))) == 1, name
        assert all(text.strip() for text in said.values()), name


def test_every_word_that_a_template_or_a_screen_asks_for_is_in_the_catalogue() -> None:
    asked = set()
    for place in Path(str(files("discreet.studio"))).rglob("*"):
        if place.suffix in (".html", ".py"):
            text = place.read_text(encoding="utf-8")
            asked |= set(re.findall(r"""\btt?\(['"](\w+\.\w*[a-z0-9])['"]""", text))
            if place.suffix == ".html":
                asked |= {f"glossary.{name}" for name in re.findall(r"""\bterm\(['"](\w+)['"]""", text)}
    assert len(asked) > 15
    assert sorted(asked - set(words.catalogue())) == []


def test_templates_hold_no_inline_script_or_style_and_ask_nothing_of_the_network() -> None:
    for place in Path(str(files("discreet.studio"))).rglob("*"):
        if place.suffix in (".html", ".css", ".js"):
            text = place.read_text(encoding="utf-8")
            assert not re.search(r"""\sstyle=|\son\w+=["']|<style|<script(?! src="/static/)|javascript:""", text), place
            assert not re.search(r"https?://(?!www\.w3\.org/)|@import|url\(", text), place


def test_warming_reads_every_template_that_a_page_uses(tmp_path: Path) -> None:
    with browser(tmp_path / "home") as client:
        warm(client.studio)
        asked = set(client.studio._templates.cache or ())
    held = Path(str(files("discreet.studio"))).joinpath("templates").iterdir()
    used = {name for place in held for name in (place.name, *re.findall(r'"(\w+\.html)"', place.read_text()))}
    assert {name for _, name in asked} == used


def test_assets_are_small() -> None:
    sizes = [p.stat().st_size for p in Path(str(files("discreet.studio"))).joinpath("static").iterdir()]
    assert sum(sizes) < 250_000


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_screen_is_drawn_in_both_languages(tmp_path: Path, language: str) -> None:
    (tmp_path / "t.csv").write_text("age\n3\n")
    with browser(tmp_path / "home", language) as client:
        project = client.studio.workspace.create(source=str(tmp_path / "t.csv"))
        for name in SCREENS:
            page = client.get(f"/p/{project.id}/{name}")
            assert page.status_code == 200
            assert f'<html lang="{language}"' in page.text
            assert page.text.count('aria-current="page"') == 1


def test_language_and_colours_are_kept_and_in_the_first_byte(tmp_path: Path) -> None:
    with browser(tmp_path / "home") as client:
        assert "data-theme" not in client.get("/").text
        page = client.post("/settings", data={"theme": "dark", "language": "de", "back": "/"})
        assert '<html lang="de" data-theme="dark">' in page.text
        assert "data-theme" not in client.post("/settings", data={"theme": "auto"}).text
        assert '<html lang="de">' in client.post("/settings", data={"theme": "pink", "language": "xx"}).text


def test_a_term_is_a_button_that_needs_no_script() -> None:
    term = words.Terms(words.speaker("en"))
    first, second = str(term("epsilon")), str(term("epsilon", "<how much>"))
    assert 'popovertarget="term-epsilon"' in first
    assert "&lt;how much&gt;" in second
    assert term.told().count('popover id="term-epsilon"') == 1


def test_a_refusal_keeps_the_steps_and_leads_back(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n3\n")
    with browser(tmp_path / "home") as client:
        project = client.studio.workspace.create(source=str(tmp_path / "t.csv"))
        page = client.get(f"/p/{project.id}/job.toml", headers={"referer": f"{client.base_url}/p/{project.id}/plan"})
        assert page.status_code == 400
        assert f'href="/p/{project.id}/plan" data-back' in page.text
        assert 'class="steps"' in page.text
        page = client.get(f"/p/{project.id}/job.toml", headers={"referer": "http://evil.example/p/x"})
        assert "evil" not in page.text
        assert client.get("/nowhere").status_code == 404


def test_a_fault_of_the_program_quotes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with browser(tmp_path / "home") as client:
        client.studio.raises = False

        def failing(name: str) -> None:
            raise ValueError("Eve, 44, secret diagnosis")

        client.studio.workspace.project = failing  # type: ignore[assignment, method-assign]
        page = client.get("/p/abcdefabcdef/data")
        assert page.status_code == 500
        assert "Eve" not in page.text + capsys.readouterr().err
        assert page.headers["content-security-policy"].startswith("default-src 'none'")


def test_words_of_the_glossary_explain_themselves_where_they_first_stand(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n3\n")
    for language in words.LANGUAGES:
        with browser(tmp_path / language, language) as client:
            project = client.studio.workspace.create(source=str(tmp_path / "t.csv"))
            marked = sum(client.get(f"/p/{project.id}/{name}").text.count('class="term"') for name in SCREENS)
            assert marked >= 8
            page = client.get(f"/p/{project.id}/goal").text
            names = re.findall(r'class="term" popovertarget="([\w-]+)"', page)
            assert len(names) == len(set(names)) >= 3  # each once
            assert all(f'<div popover id="{name}"' in page for name in names)


def test_no_explanation_stands_inside_a_label_or_a_button(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n3\n")
    with browser(tmp_path / "home") as client:
        project = client.studio.workspace.create(source=str(tmp_path / "t.csv"))
        for name in SCREENS:
            page = client.get(f"/p/{project.id}/{name}").text
            for outer in ("label", "button", "summary", "option", "a"):
                for inside in re.findall(rf"<{outer}[ >](.*?)</{outer}>", page, re.S):
                    assert "<button" not in inside, (name, inside)
