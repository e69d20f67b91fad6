"""The command line does the main job for a newcomer, says what happened, and fails in one paragraph."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dc
from command_line import run


def test_the_demo_tells_its_story_and_writes_its_files(tmp_path: Path) -> None:
    out = run("demo", "--output", tmp_path, catch=True)
    assert out.exit_code == 0, out.output
    for words in (
        "Guarantee",
        "1-differential privacy",
        "Ledger",
        "times that of k-means without privacy",
        "The files",
    ):
        assert words in out.output
    assert {p.name for p in tmp_path.iterdir()} == {"synopsis.parquet", "centers.csv", "guarantee.json", "picture.html"}
    promise = dc.Guarantee.from_json((tmp_path / "guarantee.json").read_text())
    synopsis = dc.Synopsis.load(tmp_path / "synopsis.parquet")
    assert synopsis.guarantee == promise
    assert promise.epsilon == 1
    assert not promise.seeded
    page = (tmp_path / "picture.html").read_text()
    assert "What is published" in page


def test_the_demo_as_json_and_the_mark_of_a_seed(tmp_path: Path) -> None:
    args = ["demo", "--output", str(tmp_path), "--seed", "5", "--epsilon", "0.5"]
    first = json.loads(run(*args, "--json", catch=True).output)
    again = json.loads(run(*args, "--json", catch=True).output)
    assert first == again
    assert first["epsilon"] == 0.5
    assert first["seeded"] is True
    assert 1 - 1e-9 < first["ratio"] < 1.2
    told = run(*args, catch=True).output
    assert "Do not publish" in told
    assert "THE NOISE WAS SEEDED" in " ".join(told.replace("│", "").split())


@pytest.mark.parametrize("epsilon", ["-1", "nan"])
def test_a_bad_budget_is_one_paragraph_and_exit_code_2(epsilon: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "discreet.cli", "demo", f"--epsilon={epsilon}", "--output", str(tmp_path / "x")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert "epsilon must be a positive finite number" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "x").exists()


def test_version_and_help() -> None:
    assert dc.__version__ in run("--version", catch=True).output
    text = run("demo", "--help", catch=True).output
    assert "Example" in text
    assert "--epsilon" in text


def test_help_does_not_load_the_numerical_libraries() -> None:
    script = "import sys, discreet.cli; print(sorted({'numpy','numba','sklearn','pyarrow','scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
