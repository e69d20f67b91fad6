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

def failing(data, rng):
    return 1 / (len(data) - 2)

failing.data, failing.neighbour, failing.epsilon = [1, 2, 3], [1, 2], 1

def forgotten(data, rng):
    len(data)

forgotten.data, forgotten.neighbour, forgotten.epsilon = [1, 2, 3], [1, 2], 1

from discreet.local import OwnOracle

rating = OwnOracle(epsilon=1, domain=2, weights=[[5, 2], [2, 5]])
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


def test_a_typed_claim_overrides_that_of_an_oracle_too(here: Path) -> None:
    line = ["audit", "--mechanism", "mine_to_audit:rating", "--trials", "2000", "--seed", "1", "--json"]
    assert run(*line).exit_code == 0
    false = run(*line, "--epsilon", "0.1")
    assert false.exit_code == 1
    assert json.loads(false.stdout)["claimed"] == 0.1
    assert run(*line, "--epsilon", "0.1", "--delta", "0.9").exit_code == 0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("failing", "a function that runs on its inputs (ZeroDivisionError: division by zero, in mine_to_audit.py, "),
        ("forgotten", "a function that returns its release (is a return missing?)"),
    ],
)
def test_a_mechanism_that_fails_is_an_error_and_not_a_refutation(
    name: str, said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1 means refuted. The place of the error is named, without a traceback."""
    with pytest.raises(SystemExit) as left:
        main(["audit", "--mechanism", f"mine_to_audit:{name}", "--trials", "100"])
    assert left.value.code == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error
    (here / "broken_to_audit.py").write_text("x = 1\nraise RuntimeError('no')\n")
    with pytest.raises(SystemExit) as left:
        main(["audit", "--mechanism", "broken_to_audit:f"])
    assert left.value.code == 2
    assert "RuntimeError: no, in broken_to_audit.py, line 2" in capsys.readouterr().err
