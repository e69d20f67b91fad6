"""The accuracy study repeats its stored figures, keeps them as flat rows, and says how they came about."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import discreet_studies
from discreet.errors import DataSourceError
from discreet_studies.accuracy.study import STUDY, measure
from discreet_studies.harness.runner import COMMITTED, read_results, results_file, run_study

HELD = json.loads(results_file(STUDY, COMMITTED, quick=False).read_text(encoding="utf-8"))


@pytest.mark.parametrize("method", [pytest.param("EUGkM as published", marks=pytest.mark.slow), "DPLloyd"])
def test_a_stored_figure_is_repeated_to_the_last_digits(method: str) -> None:
    setting = {"data": "mixture-2d", "epsilon": 0.1, "method": method}
    (row,) = [r for r in HELD["results"] if setting.items() <= r.items()]
    found = measure(setting)
    assert found["seeds"] == row["seeds"] == 20
    assert found["ratio"] == pytest.approx(row["ratio"], rel=1e-9)
    assert found["half_width"] == pytest.approx(row["half_width"], rel=1e-6)


def test_every_finding_sets_ours_next_to_the_best_peer() -> None:
    results = read_results(STUDY)
    found = STUDY.findings(results)
    assert len(found) == 120
    figures = {(r["data"], r["epsilon"], r["method"]): r["ratio"] for r in HELD["results"]}
    for f in found:
        data, epsilon = f.section.split(":")[0], float(f.figure.removeprefix("ε = "))
        peers = [v for (d, e, m), v in figures.items() if (d, e) == (data, epsilon) and m not in ("auto", "DPLloyd")]
        assert f.measured.mean == min(peers)
        assert f.best is not None
        assert f.best.mean == figures[data, epsilon, "auto"]


def test_a_run_that_goes_on_keeps_what_the_rows_it_found_were_made_by(tmp_path: Path) -> None:
    asked = []

    def one(setting: discreet_studies.harness.study.Setting) -> dict[str, float]:
        asked.append(setting["epsilon"])
        return {"ratio": 1.5, "half_width": 0.1, "seeds": 3, "n": 10, "d": 2, "k": 2, "baseline_nicv": 0.5}

    grid = [{"data": "t", "epsilon": e, "method": "auto"} for e in (0.1, 1.0)]
    small = replace(STUDY, settings=lambda quick: grid, measure=one)
    file = results_file(small, tmp_path, quick=False)
    kept = {**grid[0], **one(grid[0])}
    before = {"command": "another script", "versions": {"diffprivlib": "0.1", "numpy": "1.0"}, "results": [kept]}
    file.write_text(json.dumps(before), encoding="utf-8")
    asked.clear()
    run_study(small, tmp_path, processes=1)
    after = json.loads(file.read_text(encoding="utf-8"))
    assert asked == [1.0]
    assert after["command"] == "another script; then discreet study run accuracy"
    assert after["results"][0] == kept
    assert after["versions"]["numpy"] != "1.0"
    run_study(small, tmp_path, processes=1)
    assert json.loads(file.read_text(encoding="utf-8"))["command"] == after["command"]


def test_a_broken_file_of_rows_is_refused_with_its_name(tmp_path: Path) -> None:
    results_file(STUDY, tmp_path, quick=False).write_text("{}", encoding="utf-8")
    with pytest.raises(DataSourceError, match=r"accuracy\.json"):
        read_results(STUDY, tmp_path)
