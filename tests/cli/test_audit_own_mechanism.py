"""A user's own mechanism is audited from the command line, against its own claim or one that is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import run
from discreet.cli.app import main

SOURCE = """
def noisy_count(data, rng):
    return len(data) + rng.laplace(scale=1.0)

noisy_count.data, noisy_count.neighbour = [1, 2, 3], [1, 2]
noisy_count.epsilon = 1.0

def bare(data, rng):
    return 0
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine_to_audit.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_true_claim_stands_and_a_false_one_is_refuted(here: Path) -> None:
    line = ["audit", "--mechanism", "mine_to_audit:noisy_count", "--trials", "5000", "--seed", "1", "--json"]
    true = run(*line)
    assert true.exit_code == 0, true.output
    assert json.loads(true.stdout)["claimed"] == 1.0
    false = run(*line, "--epsilon", "0.3")
    assert false.exit_code == 1
    assert json.loads(false.stdout)["epsilon_lower"] > 0.3


@pytest.mark.parametrize("name", ["no_such_module:f", "mine_to_audit:nothing", "mine_to_audit:bare"])
def test_what_cannot_be_run_is_told(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["audit", "--mechanism", name])
    assert left.value.code == 2
    assert "--mechanism must be a function" in capsys.readouterr().err
