"""The guide's examples run: every Python block of a page in one go, every command in the folder it works in."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli import app

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [*sorted(p.relative_to(DOCS).as_posix() for p in (DOCS / "tutorials").glob("*.md")), "extend.md"]
_BLOCK = re.compile(r"```(python|sh)\n(.*?)```", re.S)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_tutorial_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {"__name__": "tutorial"}
    blocks = _BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    assert blocks
    for kind, text in blocks:
        if kind == "python":
            exec(compile(text, page, "exec"), space)
            continue
        for line in text.strip().splitlines():
            words = shlex.split(line)
            assert words[0] == "discreet"
            done = CliRunner().invoke(app, words[1:])
            assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception!r}"


def test_links_between_pages_lead_somewhere() -> None:
    for page in DOCS.rglob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.relative_to(DOCS)}: {target}"


def test_every_page_is_in_the_navigation() -> None:
    nav = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        assert page.relative_to(DOCS).as_posix() in nav, f"{page.name} is in no menu"
