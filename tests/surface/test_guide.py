"""The guide's examples run: every Python block of a page in one go, every command in the folder it works in."""

from __future__ import annotations

import ast
import importlib
import io
import re
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import run

DOCS = Path(__file__).parents[2] / "docs"
TUTORIALS = sorted(p.relative_to(DOCS).as_posix() for p in (DOCS / "tutorials").glob("*.md"))
#: For people who do not write any.
_NO_PYTHON = ("tutorials/steward.md", "tutorials/studio.md")
#: Has files of its own, and a test of its own below.
EXTEND = "extend.md"
#: The same: each of its recipes starts in an empty folder (test_gallery.py).
GALLERY = "gallery.md"
_PYTHON = [p.name for p in DOCS.glob("*.md") if "```python" in p.read_text("utf-8")]
OTHERS = sorted(name for name in _PYTHON if name not in (EXTEND, GALLERY))
_BLOCK = re.compile(r"```(python|sh|text)\n(.*?)```", re.S)


def _told(text: str) -> str:
    """Return what a terminal shows without what differs from run to run and from window to window."""
    text = re.sub(r"sha256:[0-9a-f]+", "sha256:", re.sub(r"[│┃━┏┓┡┩╇┳─┌┐└┘┴╭╮╰╯]+", " ", text))
    return " ".join(re.sub(r"-?\d+(?:[.,]\d+)*", "#", text).split())


#: Pages of seconds each, run by `make test-all`.
LONG = ("audit.md", "clustering.md", "compare.md", "heavy-hitters.md", "tutorials/scientist.md")


def _page(name: str) -> Any:
    return pytest.param(name, id=name, marks=[pytest.mark.slow] * (name in LONG))


@pytest.mark.usefixtures("eighty_columns")
@pytest.mark.parametrize("page", [_page(p) for p in TUTORIALS])
def test_a_journey_goes_as_its_page_says(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command and every block of a tutorial runs, in order, in an empty folder; what it shows is what is told."""
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {"__name__": "tutorial"}
    blocks = _BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    assert {kind for kind, _ in blocks} >= {"sh", "text", "python"} - ({"python"} if page in _NO_PYTHON else set())
    told = ""
    for kind, text in blocks:
        if kind == "python":
            with redirect_stdout(io.StringIO()) as printed:
                exec(compile(text, page, "exec"), space)
            told = printed.getvalue()
        elif kind == "text":
            for part in re.split(r"^\.\.\.$", text, flags=re.M):
                assert _told(part) in _told(told), f"{page} shows what is not told:\n{part}\n{told}"
        else:
            told = ""
            for line in text.replace("\\\n", " ").strip().splitlines():
                words = shlex.split(line, comments=True)
                assert words[0] == "discreet"
                done = run(*words[1:], catch=True)
                assert done.exit_code == int("exit code 1" in line), f"{line}\n{done.output}\n{done.exception!r}"
                told += done.output


@pytest.mark.parametrize("page", [_page(p) for p in OTHERS])
def test_every_python_block_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page's blocks follow each other; what they say of files is about those below."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.toml").write_text("[columns.age]\nbounds = [0, 120]\n")
    (tmp_path / "people").mkdir()
    rows = {"age": [30.0, 40.0] * 200, "income": [1e4, 5e4] * 200}
    pq.write_table(pa.table(rows), tmp_path / "people" / "part.parquet")
    space: dict[str, object] = {"__name__": "guide"}
    for text in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.S):
        if text.startswith(">>>"):
            continue  # tests/surface/test_readme.py runs a page of examples with their answers
        if "spark" in text:
            continue  # tests/engines/tables/test_spark.py has a session to run these on
        exec(compile(text, page, "exec"), space)


@pytest.mark.slow
def test_a_method_is_added_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks with a title are parts of that file, the others run, all in the order of the page."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    page = (DOCS / EXTEND).read_text(encoding="utf-8")
    blocks = re.findall(r"```(python|sh)(?: title=\"([a-z_]+\.py)\")?\n(.*?)```", page, re.S)
    assert len(blocks) == page.count("```python") + page.count("```sh")
    space: dict[str, object] = {"__name__": "extend"}
    audits = []
    files = {name for _, name, _ in blocks if name}
    for kind, name, text in blocks:
        if name:
            with (tmp_path / name).open("a", encoding="utf-8") as file:
                file.write(text + "\n\n")
            sys.modules.pop(name.removesuffix(".py"), None)
            importlib.invalidate_caches()
            assert ast.parse((tmp_path / name).read_text(encoding="utf-8"))
        elif kind == "python":
            exec(compile(text, EXTEND, "exec"), space)
        else:
            for line in text.strip().splitlines():
                done = run(*shlex.split(line, comments=True)[1:], catch=True)
                assert done.exit_code == int("exit code 1" in line), f"{line}\n{done.output}\n{done.exception!r}"
                audits.append(line)
    assert any("halves:audited" in line for line in audits)
    assert sum("histogram:" in line for line in audits) == 2
    for name in files:
        sys.modules.pop(name.removesuffix(".py"), None)


def test_links_between_pages_lead_somewhere() -> None:
    for page in DOCS.rglob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.relative_to(DOCS)}: {target}"


def test_every_page_is_in_the_navigation() -> None:
    nav = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        assert page.relative_to(DOCS).as_posix() in nav, f"{page.name} is in no menu"


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_a_page_is_short_and_its_prose_is_wrapped(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    written = re.sub(r"<!-- figures:.*?<!-- end of figures -->", "", text, flags=re.S)
    prose = re.sub(r"^ *```.*?^ *```", "", written, flags=re.S | re.M)
    assert len(prose.split()) <= (900 if page.name == "known-limits.md" else 2000)
    long = [line for line in prose.splitlines() if len(line) > 100 and line.lstrip()[0] not in "|<!"]
    assert long == []
