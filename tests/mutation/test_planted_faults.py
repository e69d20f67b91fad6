"""The tests have teeth: faults planted in privacy-critical lines are found by pattern, and noticed by the laws."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mutation.faults import AFTERWARDS, SHOWN, SOURCE, Fault, faults, faults_of
from mutation.rooms import ROOMS, room_of

HERE = Path(__file__).parent
KINDS = {
    "noise removed",
    "noise scaled by 0.8",
    "drawn once for two uses",
    "price halved",
    "raw value instead of noisy",
    "comparison off by one",
    "clamp skipped",
    "suppressed row kept",
    "rule weakened",
    "key ignored",
}


@pytest.fixture(scope="module")
def planted() -> dict[str, Fault]:
    return {fault.name: fault for fault in faults()}


def test_there_are_faults_of_every_kind_in_every_room(planted: dict[str, Fault]) -> None:
    assert len(planted) >= 200
    assert {fault.kind for fault in planted.values()} >= KINDS
    assert {room_of(fault.module) for fault in planted.values()} == set(ROOMS)
    assert all((HERE.parent / name).is_file() for _, names in ROOMS.values() for name in names)


def test_the_three_that_once_lived_are_among_them(planted: dict[str, Fault]) -> None:
    """No noise, 0.8 of it, and a step that costs twice what is charged: for all that is published, at the gate."""
    laws = ("discrete_laplace", "discrete_gaussian", "max_norm_laplace", "isotropic_laplace")
    for law in laws:
        drawn = {f.kind for f in planted.values() if f.function == "_drawn" and f"{law}(" in f.before}
        assert drawn >= {"noise removed", "noise scaled by 0.8"}
    assert any(name.startswith("mechanisms.gate:Gate.hold:price halved") for name in planted)
    assert any(name.startswith("mechanisms.gate:Gate.choose_each:noise scaled") for name in planted)


def test_a_fault_is_named_by_what_it_breaks_and_not_by_its_line() -> None:
    text = "def release(counts, price, stream):\n    return counts + noise.discrete_laplace(1 / price, 3, stream)\n"
    found = {f.name: f.after for f in faults_of("synopses.new", text)}
    moved = {f.name: f.after for f in faults_of("synopses.new", "import numpy\n\n\n" + text)}
    assert found == moved
    assert set(found) == {
        f"synopses.new:release:{kind}:1" for kind in ("noise removed", "noise scaled by 0.8", "drawn once for two uses")
    }
    assert "1 / price * 4 / 5" in found["synopses.new:release:noise scaled by 0.8:1"]


def test_excuses_name_faults_that_exist_and_say_why(planted: dict[str, Fault]) -> None:
    excused = json.loads((HERE / "equivalent.json").read_text(encoding="utf-8"))
    assert set(excused) <= set(planted)
    assert all(len(reason) > 30 for reason in excused.values())


def test_what_is_left_out_exists_and_says_why() -> None:
    assert all((SOURCE / f"{name.replace('.', '/')}.py").is_file() for name in AFTERWARDS)
    assert all(len(reason) > 8 for reason in [*AFTERWARDS.values(), *SHOWN.values()])


def test_every_fault_was_tried_and_killed_by_a_test_that_exists(planted: dict[str, Fault]) -> None:
    """Every fault has a recorded result: the test that noticed it, or none. A few may be newer than the last run."""
    results = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
    excused = json.loads((HERE / "equivalent.json").read_text(encoding="utf-8"))
    tried = results["faults"]
    killed = {name: facts["by"] for name, facts in tried.items() if facts["fate"] == "killed"}
    assert len(set(planted) - set(tried)) <= 0.05 * len(planted)
    assert len(set(tried) - set(planted)) <= 0.05 * len(planted)
    assert not set(killed) & set(excused)
    assert sorted(set(tried) - set(killed) - set(excused)) == results["lived"] == []
    assert all("::" in by and (HERE.parents[1] / by.split("::")[0]).is_file() for by in killed.values())


def test_contributors_are_told_how_many() -> None:
    results = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
    told = " ".join((HERE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    figures = f"{results['planted']} planted, {results['killed']} killed, {results['equivalent']} equivalent"
    assert figures in told


@pytest.mark.slow
def test_nothing_lives(tmp_path: Path) -> None:
    """The whole run, anew."""
    command = [sys.executable, str(HERE / "run.py"), "--output", str(tmp_path / "results.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:]
