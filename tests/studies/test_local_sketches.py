"""The study of local sketches: printed figures hang together, switches do what they say, verdicts follow their rule."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import discreet_studies
from discreet import noise
from discreet.local import BitFlip, Counts, FragmentPuzzle, HadamardSketch, Rappor
from discreet_studies import Results
from discreet_studies.as_published import sketches as fault
from discreet_studies.harness.runner import read_results
from discreet_studies.harness.study import CORRECTED, NOT, REPRODUCED
from discreet_studies.local_sketches import runs as run
from discreet_studies.local_sketches import study as local_sketches
from discreet_studies.local_sketches.findings import CONSTANT, FILTER, HALF, costs, findings
from discreet_studies.local_sketches.published import RANGES, column, printed
from discreet_studies.local_sketches.verdicts import Fault, Judge, exact, single_runs, typical

ROWS = {"5.2": 20, "5.4": 20, "5.5": 9, "5.6": 9, "5.7": 5, "5.8": 5, "5.10": 34, "5.11": 14, "5.13": 20, "5.14": 11}
ROWS |= {"5.15": 60, "5.17": 56, "5.18": 11, "5.1": 20, "5.3": 20, "5.9": 34, "5.12": 20, "5.16": 56}


# --- the printed figures


def test_all_rows_of_all_tables_are_there() -> None:
    assert {table: len(printed(table)) for table in ROWS} == ROWS
    assert len(column("figure 5.5, PCMS", "percent")) == 11


@pytest.mark.parametrize("table", RANGES)
def test_printed_columns_hang_together(table: str) -> None:
    """RMSE is the root of MSE, and the normalised one the root of MSE over the range; one row is known to be odd."""
    odd = 0
    for (_, mse), (_, rmse), (_, shown) in zip(*(column(table, c) for c in ("mse", "rmse", "nrmse")), strict=True):
        odd += abs(math.sqrt(mse) - rmse) > 0.006 + 1e-4 * rmse
        odd += abs(fault.root_of_share(mse, RANGES[table]) - shown) > 0.011 + 1e-3 * shown
    assert odd <= (4 if table == "5.10" else 1)


def test_the_printed_cost_of_a_report_has_the_base_ten_in_all_rows() -> None:
    rows = costs()
    assert len(rows) == 60
    for point, value, decimal, true, life in rows:
        assert value == pytest.approx(decimal, abs=0.006), point
        assert true == pytest.approx(decimal * math.log(10), rel=1e-9)
        assert life == pytest.approx(2 * 8 * math.log((1 - point["f"] / 2) / (point["f"] / 2)), rel=1e-9)
    assert min(r[3] for r in rows) == pytest.approx(0.43, abs=0.005)
    assert max(r[3] for r in rows) == pytest.approx(29.06, abs=0.005)


def test_the_threshold_table_prints_the_noise_floor_of_one_estimate() -> None:
    errors, counts = ({p["T"]: v for p, v in column("5.11", c)} for c in ("total_error", "candidates"))
    floor = [errors[t] / counts[t] for t in errors]
    assert np.mean(floor) == pytest.approx(200, rel=0.05)


# --- the switches


def test_the_wrong_constant_gives_the_printed_error_and_the_right_one_a_tenth() -> None:
    printed_error = {(p["k"], p["m"]): v for p, v in column("5.4", "mean_error")}
    for k, m in ((16, 16), (128, 64), (1024, 256)):
        where = {"part": "PHCMS", "data": "exponential", "n": 50_000, "epsilon": 2, "k": k, "m": m}
        runs = [run.sketch({**where, "seed": s}) for s in range(3)]
        on, off = (np.mean([r[name] for r in runs]) for name in ("mean_error_half", "mean_error"))
        assert on == pytest.approx(printed_error[k, m], rel=0.2)
        assert off < on / (2.5 if m == 16 else 5)


def test_the_wrong_constant_stretches_and_moves() -> None:
    m = HadamardSketch(2, 64, 64, key=3)
    people = run.crowd("exponential", 20_000, 1)
    right = m.estimate(m.aggregate(m.encode(people.values, rng=1)), people.domain).count
    ratio = (1 / math.tanh(0.5)) / m.constant
    assert fault.half_budget(m, right, people.n) == pytest.approx(ratio * right + (ratio - 1) * people.n / 63)
    assert fault.half_budget_ratio(2) == pytest.approx(ratio)


def test_a_perfect_estimator_has_r_one_whatever_the_order_of_the_file_unless_misaligned() -> None:
    people = run.crowd("exponential", 50_000, 2)
    assert fault.pearson(people.held, people.held) == pytest.approx(1)
    assert fault.misaligned(people.held, people.held, people.first_seen) < 0.99
    normal = run.crowd("normal", 50_000, 2)
    assert fault.misaligned(normal.held, normal.held, normal.first_seen) < 0.6


def test_the_constant_hash_gives_everybody_to_one_value() -> None:
    where = {"part": "RAPPOR", "data": "exponential", "n": 500_000, "bits": 64, "hashes": 1, "seed": 0}
    found = run.rappor({**where, "f": 0.5, "p": 0.5, "q": 0.75})
    people = run.crowd("exponential", 500_000, 0)
    everybody = 2 * (people.n - people.held[0]) / len(people.domain)
    assert found["mean_error_constant"] == pytest.approx(everybody, rel=0.05)
    assert found["mean_error"] < found["mean_error_constant"] / 5


def test_one_bit_as_published_spends_half_of_the_budget() -> None:
    where = {"part": "dBitFlip", "data": "exponential", "n": 50_000, "d": 1, "epsilon": 1, "seed": 0}
    found = run.bit_flip(where)
    domain = run.crowd("exponential", 50_000, 0).domain
    assert BitFlip(0.5, domain, 1).law.p == pytest.approx(math.exp(0.5) / (1 + math.exp(0.5)))
    assert found["rmse"] == pytest.approx(found["rmse_theory"], rel=0.5)
    assert found["rmse_whole"] < 0.75 * found["rmse"]


def test_bytes_of_objects_are_the_printed_kilobytes() -> None:
    for point, value in column("5.7", "kilobytes"):
        assert abs(fault.bytes_in_memory(int(point["m"])) - value) <= 4
    assert {v for _, v in column("5.8", "kilobytes")} == {fault.bytes_in_memory(None)}
    bits = [run.sizes({"part": "PCMS-size", "m": p["m"]})["bits"] for p in printed("5.7")]
    assert bits == [26, 74, 266, 522, 1034]
    assert [run.sizes({"part": "PHCMS-size", "m": p["m"]})["bits"] for p in printed("5.8")] == [15, 17, 19, 20, 21]


def test_the_published_dictionary_joins_whatever_is_strong() -> None:
    m = FragmentPuzzle(2, 6, 64, 64, 64, 64, other="z", length=4, key=5)
    assert m.words.size == 27
    words = ["cool"] * 9000 + ["link"] * 6000
    counts = m.aggregate(m.encode(words, rng=1))
    parts = fault.top_fragments(m, counts, 40)
    assert {"cool", "link"} <= set(fault.joined(m, parts, 2))
    few, many = (fault.joined(m, parts, top) for top in (5, 40))
    assert len(many) > len(few)
    assert fault.sequence_counts(m, counts, ["cool"])[0] == pytest.approx(9000, rel=0.1)
    assert len(fault.sequence_counts(m, counts, [])) == 0


def test_missed_words_cost_nothing_as_published_and_all_they_hold_when_counted() -> None:
    truth = Counter({f"w{i}": 100 for i in range(9)} | {"missed": 910})
    texts = [f"w{i}" for i in range(9)]
    found = run._listed(texts, np.full(9, 90.0), truth, "")
    assert found["mean_error"] == 10
    assert found["union_error"] == 100
    assert found["recall"] == pytest.approx(0.9)


# --- runs


def test_files_are_drawn_as_described_and_alike_every_time() -> None:
    people = run.crowd("exponential", 200_000, 1)
    assert people.held[0] / people.n == pytest.approx(1 - math.exp(-0.5), abs=0.005)
    normal = run.crowd("normal", 200_000, 1)
    place = normal.domain.index(12)
    assert normal.held[place] / normal.n == pytest.approx(norm.cdf(0.5) - 0.5, abs=0.005)
    run.crowd.cache_clear()
    assert (run.crowd("normal", 200_000, 1).values == normal.values).all()
    assert [normal.values[0], *normal.values[1:]].index(normal.domain[normal.first_seen[0]]) == 0


def test_counters_drawn_from_their_law_are_those_of_reports() -> None:
    people = run.crowd("exponential", 2_000, 0)
    m = Rappor(0.5, 0.25, 0.75, bits=16, hashes=2, cohorts=2, key=3)
    real = [run.reported(m, people, noise.generator(s)) for s in range(30)]
    drawn = [run.by_law(m, people, noise.generator(100 + s)) for s in range(30)]
    for counts in (*real, *drawn):
        assert counts.n == counts.counters["reports"].sum() == 2_000

    def shares(runs: list[Counts]) -> Any:
        return np.array([c.counters["ones"] / c.counters["reports"][:, None] for c in runs])

    one, other = shares(real), shares(drawn)
    error = np.sqrt(one.var(axis=0) / 30 + other.var(axis=0) / 30)
    assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) < 5 * error).all()
    assert one.std(axis=0).mean() == pytest.approx(other.std(axis=0).mean(), rel=0.2)


def test_rappor_value_by_value_says_what_the_two_bar_charts_show() -> None:
    setting = {"part": "RAPPOR-values", "data": "exponential", "n": 200_000, "seed": 3, **FILTER}
    found = run.rappor_values(setting)
    held = np.array([found[f"true {v}"] for v in range(40) if f"true {v}" in found])
    assert held.sum() == 200_000
    for who in ("", " ours"):
        seen = np.array([found[f"count{who} {v}"] for v in range(40) if f"true {v}" in found])
        assert found[f"frequent{who}"] == pytest.approx(np.abs(seen / held - 1)[:5].max())
        assert found[f"rare{who}"] == seen[held < 100].max()
        assert found[f"gone{who}"] == np.sum(seen < 0.5)
        assert found[f"frequent{who}"] < 0.3  # estimates stand next to their values


SMALL = [
    {"part": "PCMS", "data": "normal", "n": 2_000, "epsilon": 2, "k": 16, "m": 16},
    {"part": "PHCMS", "data": "normal", "n": 2_000, "epsilon": 2, "k": 16, "m": 16},
    {"part": "subset", "data": "normal", "n": 2_000, "epsilon": 2},
    {"part": "dBitFlip", "data": "normal", "n": 2_000, "epsilon": 2, "d": 1},
    {"part": "RAPPOR", "data": "normal", "n": 2_000, "f": 0.5, "p": 0.5, "q": 0.75, "bits": 16, "hashes": 1},
    {"part": "RAPPOR-reports", "data": "normal", "n": 2_000, "bits": 64, "hashes": 2},
    {"part": "RAPPOR-values", "data": "exponential", "n": 2_000, **FILTER},
    {"part": "puzzle", "n": 5_000, "k": 32, "k2": 32, "m": 16},
    {"part": "PCMS-size", "m": 16},
]


@pytest.mark.parametrize("setting", SMALL, ids=lambda s: s["part"])
def test_a_setting_is_measured_alike_every_time(setting: dict[str, Any]) -> None:
    one, two = (dict(local_sketches.measure({**setting, "seed": 1})) for _ in range(2))
    timed = {"client", "update", "estimate", "server", "dictionary"}
    assert {k: v for k, v in one.items() if k not in timed} == {k: v for k, v in two.items() if k not in timed}
    other = dict(local_sketches.measure({**setting, "seed": 2}))
    assert "bits" in one or {k: one[k] for k in one.keys() - timed} != {k: other[k] for k in other.keys() - timed}


def test_kept_digits_are_enough() -> None:
    for value in (0.0, -3.25, 1 / 3, 123456.789, 1e-7):
        assert local_sketches._short(value) == pytest.approx(value, rel=1e-6)


# --- verdicts


def test_the_rule_holds_a_printed_run_against_single_runs() -> None:
    rng = np.random.default_rng(0)
    values = np.exp(rng.normal(5, 0.2, 400)).tolist()
    low, high = single_runs(values, 0.1)
    assert math.log(high / low) == pytest.approx(2 * 2.58 * 0.2, rel=0.1)
    few = single_runs(values[:2], 0.2)  # two runs that happen to be near each other do not make a narrow range
    assert math.log(few[1] / few[0]) >= 2 * 2.57 * 0.2 * math.sqrt(1.5)
    assert typical([values, [10 * v for v in values], [1.0, 1e6]]) == pytest.approx(0.2, rel=0.1)
    assert typical([[0.0, 0.0, 1.0, math.e]]) == pytest.approx(math.sqrt(0.5))  # no error has no logarithm
    assert typical([[1.0]]) == 0
    assert math.isnan(single_runs([1.0])[0])
    judge = Judge("a table")
    for figure in (150.0, 350.0, 60.0):
        judge.row(str(figure), figure, values)
    judge.row("too far from the mean", 600, [100.0, 400.0])
    assert [f.verdict for f in judge.found] == [REPRODUCED, NOT, NOT, NOT]


def test_a_fault_is_named_only_where_the_right_figure_does_not_agree() -> None:
    judge = Judge("a table")
    runs = [98.0, 100.0, 102.0, 101.0]
    judge.row("right", 101, runs, (), [Fault("wrong by ten", [10 * v for v in runs])])
    judge.row("wrong", 1010, runs, (), [Fault("wrong by ten", [10 * v for v in runs])])
    judge.row("odd", 5000, runs, [50.0, 51.0], [Fault("wrong by ten", [10 * v for v in runs])])
    judge.row("not run", 5000, [])
    assert [f.verdict for f in judge.found] == [REPRODUCED, CORRECTED, NOT]
    assert judge.found[1].note.startswith("wrong by ten; with it 1002.5")
    assert judge.found[2].best is not None
    assert exact("t", "f", 3.55, 8.17, 3.55, "base 10", 0.01).verdict == CORRECTED
    assert exact("t", "f", 8.17, 8.17, 3.55, "base 10", 0.01).verdict == REPRODUCED
    assert exact("t", "f", 1.0, 8.17, 3.55, "base 10", 0.01).verdict == NOT


def test_a_report_of_very_few_runs_can_be_made() -> None:
    study = discreet_studies.load("local-sketches")
    rows = []
    for setting in SMALL[:4]:
        point = {**setting, "seed": 0}
        rows.append((point, study.measure(point)))
    found = findings(Results(rows))
    assert {f.section for f in found} >= {"Normalised RMSE", "Table 5.15: cost of one report of RAPPOR"}
    assert study.notes(Results(rows))


# --- what is committed


def test_the_committed_verdicts_name_the_faults() -> None:
    found = findings(read_results(discreet_studies.load("local-sketches")))
    by_table = {table: [f for f in found if f.section.startswith(f"Table {table}:")] for table in ROWS}
    assert {f.verdict for f in by_table["5.2"]} == {REPRODUCED}
    assert {(f.verdict, f.note.partition("; with it")[0]) for f in by_table["5.4"]} == {(CORRECTED, HALF)}
    one_hash = [f for f in by_table["5.13"] if f.figure.endswith("hashes = 1")]
    assert len(one_hash) == 4
    assert {(f.verdict, f.note.partition("; with it")[0]) for f in one_hash} == {(CORRECTED, CONSTANT)}
    assert [f.verdict for f in found if f.section.startswith("Figures 5.9 and 5.10")] == [REPRODUCED] * 3
    assert sum(f.verdict == NOT for f in found) <= len(found) / 50
    assert {len(by_table[t]) for t in ("5.10", "5.15", "5.17")} == {34, 65, 56}
