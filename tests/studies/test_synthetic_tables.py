"""Synthetic tables: measures are what they say, baselines are baselines, and peers are handed the same codes."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import discreet_studies
from discreet import Domain, Integer
from discreet_studies import Results
from discreet_studies.synthetic_tables import peer_program, peers
from discreet_studies.synthetic_tables.findings import CASES, FURTHER, MADE, PEER_CASES, _shown, tables
from discreet_studies.synthetic_tables.study import area, codes_of, errors, measure, settings
from discreet_studies.synthetic_tables.tables import absent, table

STUDY = discreet_studies.load("synthetic-tables")


def setting(method: str, data: str, epsilon: float = 1.0, target: int = 0) -> dict[str, object]:
    return {"method": method, "data": data, "epsilon": epsilon, "delta": 1e-9, "target": target, "seed": 0}


def test_the_error_of_marginals_is_half_the_distance_of_their_shares() -> None:
    real = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1]])
    made = np.array([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]])
    assert errors(real, [2, 2, 2], real, 2) == 0
    # The first two columns have no row in common (1), either of them with the third all (0).
    assert errors(real, [2, 2, 2], made, 2) == pytest.approx(1 / 3)
    assert errors(real, [2, 2, 2], made, 3) == 1
    twice = np.repeat(real, 2, axis=1)
    assert errors(real, [2, 2, 2], twice, 3) == 0  # shares, not counts


def test_columns_become_cells_and_what_lies_outside_is_clamped() -> None:
    domain = Domain({"kind": ["a", "b"], "few": Integer(0, 3), "many": Integer(0, 127)})
    frame = pd.DataFrame({"kind": ["b", "a"], "few": [9, 0], "many": [127, 3]})
    codes, sizes = codes_of(frame, domain)
    assert sizes == [2, 4, 64]
    assert codes.tolist() == [[1, 0], [3, 0], [63, 1]]


@pytest.mark.slow
def test_pairs_cannot_see_a_parity_and_triples_can() -> None:
    found = measure(setting("one-way", "parity"))
    assert found["pairs"] < 0.02
    assert 0.48 < found["triples"] < 0.52
    assert measure(setting("discreet", "parity"))["triples"] < 0.2


def test_rows_drawn_anew_are_closer_than_single_columns() -> None:
    near, far = (measure(setting(method, "tree")) for method in ("bootstrap", "one-way"))
    assert near["pairs"] < 0.02 < 0.2 < far["pairs"]
    assert near["triples"] < 0.04 < 0.3 < far["triples"]


def test_an_area_is_that_of_a_classifier_on_real_rows() -> None:
    rng = np.random.default_rng(0)
    domain = Domain({"x": Integer(0, 9), "y": ["no", "yes"]})
    x = rng.integers(0, 10, 600)
    real = pd.DataFrame({"x": x, "y": np.where(x > 4, "yes", "no")})
    assert area(real, real, domain, "y") == 1
    assert area(real.assign(y=np.where(x > 4, "no", "yes")), real, domain, "y") == 0
    assert area(real.assign(y="no"), real, domain, "y") == 0.5


def test_every_case_is_run_with_every_seed_and_stopped_runs_have_all_cases() -> None:
    full = settings(False)
    here = {s["data"] for s in full}
    first = [s for s in full if s["seed"] == 0 and s["method"] == "discreet"]
    assert len(first) == len([c for c in CASES if c[0] in here])
    assert full[: len([s for s in full if s["seed"] == 0])] == [s for s in full if s["seed"] == 0]
    assert set(MADE) <= here  # they need no files
    assert len(FURTHER) >= 5


def test_a_peer_is_handed_codes_and_its_rows_are_measured_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The program that runs in the environment of a peer, run here with a method that hands the rows back.
    back = f"""
import sys
sys.path.insert(0, {str(Path(peer_program.__file__).parent)!r})
import peer_program
peer_program.METHODS["dpmm MST"] = lambda: lambda codes, sizes, epsilon, delta, seed: codes[::-1]
peer_program.main()
"""
    program = tmp_path / "program.py"
    program.write_text(back)
    monkeypatch.setattr(peers, "_PROGRAM", program)
    monkeypatch.setattr(peers, "python_of", lambda method: Path(sys.executable))
    real, sizes = codes_of(*table("tree")[::2])
    made, spent = peers.made_by("dpmm MST", real, sizes, 1.0, 1e-9, 0)
    assert np.array_equal(made, real[:, ::-1])
    assert set(spent) == {"cpu_seconds", "megabytes"}
    assert measure(setting("dpmm MST", "tree"))["triples"] == 0


@pytest.mark.slow
@pytest.mark.skipif(not peers.here(), reason="no environment of a peer: make peers")
@pytest.mark.parametrize("method", list(PEER_CASES))
def test_a_peer_that_is_here_runs(method: str) -> None:
    if method not in peers.here():
        pytest.skip(f"{method} is not here: make peers")
    assert measure(setting(method, "parity"))["pairs"] < 0.1


def test_tables_show_means_with_half_their_intervals_and_leave_out_what_was_not_run() -> None:
    rows = [
        ({**setting("discreet", "tree"), "seed": s}, {"pairs": p, "triples": 0.1}) for s, p in enumerate((0.01, 0.02))
    ]
    title, shown = tables(Results(rows))
    assert title.startswith("## Tables whose structure is known")
    assert "| tree | ours | 0.0150 ± 0.0635 | 0.1000 ± 0.0000 | 2 |" in shown
    assert "AUC" not in shown
    assert "drawn anew" not in shown
    assert _shown(Results(rows[:1]).estimate("pairs"), 4) == "0.0100"


@pytest.mark.slow
@pytest.mark.skipif("adult-raw" in absent(), reason="Adult is not here")
def test_the_tutorial_trains_a_classifier_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = table("adult-raw")
    given.train.to_csv(tmp_path / "adult.csv", index=False)
    given.test.to_csv(tmp_path / "adult_test.csv", index=False)
    given.domain.to_toml(tmp_path / "adult.toml")
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[2] / "docs" / "tutorials" / "scientist.md"
    (text,) = re.findall(r"```py\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    space: dict[str, Any] = {}
    exec(compile(text, page.name, "exec"), space)
    assert len(text.split("\n\n")[1].strip().splitlines()) <= 10
    assert roc_auc_score(given.test["income"] == ">50K", space["chances"]) > 0.88
