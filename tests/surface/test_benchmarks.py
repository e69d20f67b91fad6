"""Every script that measures starts, and every committed result belongs to one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted([*ROOT.glob("benchmarks/*/[a-z]*.py"), *ROOT.glob("studies/measures/[a-z]*.py")])
RESULTS = sorted([*ROOT.glob("benchmarks/results/*.json"), *ROOT.glob("studies/measures/results/*.json")])


def test_benchmarks_hold_speed_and_tuning_only() -> None:
    assert {p.name for p in (ROOT / "benchmarks").iterdir()} - {"__pycache__"} == {
        "README.md",
        "_bench.py",
        "results",
        "speed",
        "tuning",
    }


@pytest.mark.parametrize("file", RESULTS, ids=lambda p: p.name)
def test_a_committed_result_belongs_to_a_script_next_to_it(file: Path) -> None:
    name = file.stem.removesuffix("_summary")
    beside = [p for p in SCRIPTS if file.parents[1] in p.parents] + [ROOT / "tests" / "soak" / "run.py"]
    assert any(f"{name}.json" in (text := p.read_text("utf-8")) or f'"{name}"' in text for p in beside)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_a_script_imports_files_that_are_there(script: Path) -> None:
    """Without running it: its peers are installed elsewhere."""
    for node in ast.walk(ast.parse(script.read_text("utf-8"))):
        module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        if re.match(r"(benchmarks|studies)\.", module):
            place = ROOT / module.replace(".", "/")
            assert place.is_dir() or place.with_suffix(".py").is_file(), module


def test_the_page_about_benchmarks_describes_every_script() -> None:
    page = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    scripts = {p.name for p in SCRIPTS if "benchmarks" in p.parts}
    assert set(re.findall(r"`([a-z_]+\.py)`", page)) == scripts


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "benchmarks/README.md", *sorted(ROOT.glob("docs/*.md"))], ids=lambda p: p.name
)
def test_scripts_and_results_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for named in re.findall(r"`?((?:benchmarks|studies)/[\w/.-]+\.(?:py|json))", text):
        assert (ROOT / named).is_file(), named
    for module in re.findall(r"python -m ((?:benchmarks|studies)\.[\w.]+)", text):
        assert (ROOT / (module.replace(".", "/") + ".py")).is_file(), module
