"""The examples of the front page and the schema page work."""

from __future__ import annotations

import doctest
import re
from operator import attrgetter
from pathlib import Path

import pytest
from typer.main import get_command

import discreet as dc
from discreet.cli.app import app

ROOT = Path(__file__).parents[2]


def test_the_examples_of_the_tour_run() -> None:
    page = str(ROOT / "docs" / "tour.md")
    results = doctest.testfile(page, module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.attempted > 8
    assert results.failed == 0


def test_the_front_page_is_one_screen() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 95


def test_what_the_front_page_names_is_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for path in set(re.findall(r"`dc\.([\w.]+)", text)):
        assert attrgetter(path)(dc), path
    verbs = set(get_command(app).commands)  # type: ignore[attr-defined]
    assert set(re.findall(r"`discreet (\w+)", text)) <= verbs


def test_the_schema_on_its_page_is_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "icd10.txt").write_text("A00\nA01\n", encoding="utf-8")  # the list that the page names
    text = (ROOT / "docs" / "schema.md").read_text(encoding="utf-8")
    schema, levels, source, *_ = re.findall(r"```toml\n(.*?)```", text, re.S)
    assert all(column.levels for column in dc.Domain.from_toml(levels))
    named = ("age", "children", "income", "born", "arrived", "size", "diagnosis", "sex")
    assert dc.Domain.from_toml(schema).names == named
    declared = dc.Domain.from_toml(f"{source}\n[columns.age]\nbounds = [0, 120]\n").source
    assert (declared.delimiter, declared.decimal, declared.skip) == (";", ",", 2)


def test_the_example_of_the_synopses_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "synopses.md").read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", text, re.S)
    assert block is not None
    exec(compile(block.group(1), "synopses.md", "exec"), {})
    assert dc.Synopsis.load(tmp_path / "s.parquet").guarantee.epsilon == 1


def test_links_of_the_front_page_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"
