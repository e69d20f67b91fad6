"""The studies are a package of their own: found by entry point, and where it is missing, told how to install it."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli import app, study

ROOT = Path(__file__).parents[2]


@pytest.fixture
def without_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment in which no one installed the studies."""
    every, found = importlib.metadata.entry_points, importlib.util.find_spec

    def announced(**wanted: str) -> object:
        return () if wanted.get("group") == study.GROUP else every(**wanted)

    monkeypatch.setattr(importlib.metadata, "entry_points", announced)
    monkeypatch.setattr(dc, "find_spec", lambda name: None if name == "discreet_studies" else found(name))
    monkeypatch.setattr(study.StudyVerbs, "_found", None)
    app._command.cache_clear()


@pytest.mark.parametrize("words", [["study"], ["study", "--help"], ["study", "list"], ["study", "show", "frontier"]])
def test_without_the_package_the_verb_says_how_to_install_it(
    without_studies: None, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        app.main(words)
    assert left.value.code == 2
    shown = capsys.readouterr()
    assert "pip install ./studies" in shown.err


def test_without_the_package_every_other_verb_works(without_studies: None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        app.main(["--help"])
    assert left.value.code == 0
    assert "study" in capsys.readouterr().out


def test_without_the_package_the_name_says_how_to_install_it(without_studies: None) -> None:
    with pytest.raises(dc.errors.MissingStudies, match=r"pip install \./studies"):
        _ = dc.studies


@pytest.mark.slow  # a process that reads every docstring
def test_without_the_package_help_and_inspect_list_all_other_names() -> None:
    hidden = """
import importlib.util, inspect, pydoc
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "discreet_studies" else found(name, *more)
import discreet
from discreet import *
assert "studies" not in {name for name, _ in inspect.getmembers(discreet)} | set(dir(discreet))
assert "turn a table of sensitive records" in pydoc.render_doc(discreet) and Domain is discreet.Domain
"""
    subprocess.run([sys.executable, "-c", hidden], check=True)


def test_with_the_package_the_entry_point_brings_the_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    app._command.cache_clear()
    with pytest.raises(SystemExit) as left:
        app.main(["study", "--help"])
    assert left.value.code == 0
    shown = capsys.readouterr().out
    assert all(verb in shown for verb in ("list", "run", "show"))
    assert dc.studies.__name__ == "discreet_studies"
    assert "studies" in dir(dc)


def test_the_package_announces_what_the_product_looks_for() -> None:
    held = tomllib.loads((ROOT / "studies" / "pyproject.toml").read_text(encoding="utf-8"))
    module, _, name = held["project"]["entry-points"][study.GROUP]["study"].partition(":")
    assert hasattr(importlib.import_module(module), name)


def test_the_product_imports_nothing_of_the_studies() -> None:
    for path in (ROOT / "src" / "discreet").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text if "discreet_studies" in text else "")):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not any(name.split(".")[0] == "discreet_studies" for name in names), path
