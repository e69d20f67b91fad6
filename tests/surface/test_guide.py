"""The guide's examples run: every Python block of a page in one go, every command in the folder it works in."""

from __future__ import annotations

import ast
import importlib
import io
import json
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


_NUMBER = r"-?\d+(?:[.,]\d+)*"
#: Lines whose figures are noisy, and the factor by which they may differ from those on the page. All others are exact.
_NOISY = {
    "Good for. Counts by": 1.5,
    "About 5": 1.5,
    "95 % interval: ": 1.5,
    "Standard error ": 1.5,
    "grid 5": 1.2,
    "tree 5": 3.0,
    "[[3": 1.2,
    "Figure(1.": 1.5,
    "│ mail   │": 1.2,
}
#: Runs of which one must come near the noisy figures of a page. Three of ten of those that were tried at worst did not
#: (the grid of the researcher has 588 or 675 cells): all of ten miss with a probability below 1e-5.
_RUNS = 10


def _told(text: str) -> str:
    """Return what a terminal shows without what differs from run to run and from window to window."""
    text = re.sub(r"sha256:[0-9a-f]+", "sha256:", re.sub(r"[│┃━┏┓┡┩╇┳─┌┐└┘┴╭╮╰╯]+", " ", text))
    return " ".join(text.split())


def _misses(part: str, told: str) -> list[tuple[bool, str]]:
    """Return the lines of a page with other figures than a run gave, and whether these are noisy."""
    words = re.split(_NUMBER, _told(part))
    found = re.search(f"({_NUMBER})".join(map(re.escape, words)), _told(told))
    assert found, f"the page shows what is not told:\n{part}\n{told}"
    figures, misses = iter(found.groups()), []
    for line in part.splitlines():
        allowed = next((by for start, by in _NOISY.items() if line.startswith(start)), 1.0)
        for shown in re.findall(_NUMBER, _told(line)):
            given = next(figures)
            if shown != given and not 1 / allowed < _value(given) / _value(shown) < allowed:
                misses.append((allowed > 1, f"{line}\n{shown} is now {given}"))
    return misses


def _value(figure: str) -> float:
    return float(figure.replace(",", "")) or 1e-9


#: Pages of seconds each, run by `make test-all`.
LONG = ("audit.md", "clustering.md", "compare.md", "heavy-hitters.md", "tutorials/scientist.md")


def _page(name: str) -> Any:
    return pytest.param(name, id=name, marks=[pytest.mark.slow] * (name in LONG))


@pytest.mark.usefixtures("eighty_columns")
@pytest.mark.parametrize("page", [_page(p) for p in TUTORIALS])
def test_a_journey_goes_as_its_page_says(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command and every block of a tutorial runs, in order, in an empty folder; what it shows is what is told.

    Figures that are not noisy are those of the page. Noisy ones are near them in one of several runs.
    """
    misses: list[tuple[bool, str]] = []
    for i in range(_RUNS):
        (tmp_path / str(i)).mkdir()
        monkeypatch.chdir(tmp_path / str(i))
        misses = _journey(page)
        if not misses or not all(noisy for noisy, _ in misses):
            break
    assert not misses, f"{page}: " + "\n".join(line for _, line in misses)


def _journey(page: str) -> list[tuple[bool, str]]:
    misses: list[tuple[bool, str]] = []
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
                misses += _misses(part, told)
        else:
            told = ""
            for line in text.replace("\\\n", " ").strip().splitlines():
                words = shlex.split(line, comments=True)
                assert words[0] == "discreet"
                done = run(*words[1:], catch=True)
                assert done.exit_code == int("exit code 1" in line), f"{line}\n{done.output}\n{done.exception!r}"
                told += done.output
    return misses


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


#: What a plain install lacks, by the code that needs it.
_EXTRAS = {
    r"\bpandas\b|\.to_pandas\(": "pandas",
    r"\bplotly\b|\.plot\(": "[plot]",
    r"\.to_excel\(|\.xlsx\"": "[excel]",
    r"import polars": "polars",
}


@pytest.mark.parametrize("page", sorted([*DOCS.glob("*.md"), *(DOCS / "tutorials").iterdir()]), ids=lambda p: p.name)
def test_a_page_names_what_its_code_needs_beyond_a_plain_install(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    cells = json.loads(text)["cells"] if page.suffix == ".ipynb" else []
    code = "\n".join(["".join(c["source"]) for c in cells if c["cell_type"] == "code"])
    code += "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))
    named = " ".join(re.findall(r"`(pip install [^`]*)`", text))
    for used, name in _EXTRAS.items():
        assert name in named or not re.search(used, code), f"{page.name} uses {name} and does not say how to install it"
