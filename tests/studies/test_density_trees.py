"""The density-tree study: scores, tests, settings and printed figures are what they say; the results reach the bar."""

from __future__ import annotations

import json
import math
from itertools import islice
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score

import discreet_studies
from discreet_studies import Results
from discreet_studies.density_trees import study as density_trees
from discreet_studies.density_trees.findings import at_best, bar, by_pairs, findings, loss
from discreet_studies.density_trees.notes import notes
from discreet_studies.density_trees.pictures import pictures
from discreet_studies.density_trees.published import CELLS, LOST, PRINTED, REAL, tables
from discreet_studies.density_trees.tests import compared
from discreet_studies.harness.runner import read_results
from discreet_studies.harness.study import CORRECTED, NOT, REPRODUCED
from discreet_studies.measured.classified import area, scores
from discreet_studies.measured.discretizers import description_length, equal_frequency, equal_width
from discreet_studies.measured.significance import adjusted, holm, paired, two_sided, z_score


@pytest.fixture(scope="module")
def results() -> Results:
    return read_results(discreet_studies.load("density-trees"))


# --- scores


def test_scores_agree_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    for classes in (2, 3, 6):
        truth = rng.integers(0, classes, 200)
        chances = np.round(rng.dirichlet(np.ones(classes), 200) + np.eye(classes)[truth] / 3, 1)
        chances /= chances.sum(axis=1, keepdims=True)
        guess = chances.argmax(axis=1)
        found = scores(truth, chances)
        assert found["accuracy"] == pytest.approx((truth == guess).mean())
        assert found["f1"] == pytest.approx(f1_score(truth, guess, average="macro"))
        assert found["recall"] == pytest.approx(recall_score(truth, guess, average="macro"))
        assert found["precision"] == pytest.approx(precision_score(truth, guess, average="macro"))
        own = chances[:, 1] if classes == 2 else chances
        assert found["auc"] == pytest.approx(roc_auc_score(truth, own, multi_class="ovr"))


def test_the_area_of_hard_labels_is_the_macro_recall_and_that_of_probabilities_is_not() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 300)
    chances = np.clip(truth * 0.3 + rng.random(300) * 0.7, 0, 1)
    soft = np.column_stack([1 - chances, chances])
    hard = np.eye(2)[soft.argmax(axis=1)]
    assert area(truth, hard) == pytest.approx(scores(truth, soft)["recall"])
    assert area(truth, soft) > scores(truth, soft)["recall"] + 0.05


def test_a_class_that_is_nowhere_counts_for_nothing_and_one_that_is_only_said_counts_as_wrong() -> None:
    truth = np.array([0, 0, 1, 1])
    assert scores(truth, np.eye(4)[[0, 0, 1, 1]])["f1"] == 1
    assert scores(truth, np.eye(4)[[0, 2, 1, 1]])["recall"] == pytest.approx((0.5 + 1 + 0) / 3)
    assert math.isnan(area(np.zeros(3, np.int64), np.ones((3, 1))))
    # One cell for all says one class: then precision is accuracy over the number of classes, as the printed rows have.
    one = scores(np.array([0, 0, 1, 2]), np.eye(3)[[0, 0, 0, 0]])
    assert one["precision"] == pytest.approx(one["accuracy"] / 3)


# --- tests


def test_the_printed_tests_come_out_and_the_true_sizes_change_them() -> None:
    assert round(z_score(0.77, 0.89, 100), 2) == 2.26
    assert round(z_score(0.77, 0.89, 300), 2) == 3.91
    assert round(z_score(0.93, 1.00, 100), 2) == 2.69
    five = {"wine", "synthetic-1", "synthetic-2", "synthetic-3", "synthetic-6"}
    for z, all_of_them, after in (
        ({n: p.z for n, p in PRINTED.items()}, five, {"synthetic-1", "synthetic-2", "synthetic-6"}),
        ({n: p.z_best for n, p in PRINTED.items()}, five | {"glass"}, five | {"glass"}),
    ):
        true = {n: value * (PRINTED[n].n_test / 100) ** 0.5 for n, value in z.items() if value is not None}
        assert {n for n, value in true.items() if value > 1.96} == all_of_them
        assert set(holm({n: two_sided(value) for n, value in true.items()})) == after


def test_holm_stops_at_the_first_that_does_not_hold() -> None:
    values = {"a": 0.04, "b": 0.001, "c": 0.02, "d": math.nan}
    assert adjusted(values)["b"] == pytest.approx(0.003)
    assert adjusted(values)["c"] == pytest.approx(0.04)
    assert adjusted(values)["a"] == pytest.approx(0.04)
    assert math.isnan(adjusted(values)["d"])
    assert holm({"a": 0.03, "b": 0.026}) == []  # 0.026 fails at 0.025, so 0.03 is not asked
    assert holm(values) == ["a", "b", "c"]


def test_pairs_are_tested_as_by_student_and_overlap_makes_it_harder() -> None:
    values = [0.1, 0.3, 0.2, 0.0, 0.2]
    p, mean = paired(values)
    assert p == pytest.approx(stats.ttest_1samp(values, 0).pvalue)
    assert mean.mean == pytest.approx(0.16)
    harder, same = paired(values, 1 / 9)
    t = 0.16 / (np.std(values, ddof=1) * math.sqrt(1 / 5 + 1 / 9))
    assert harder == pytest.approx(2 * stats.t.sf(t, 4))
    assert harder > p
    assert same.high - same.mean == pytest.approx((mean.high - mean.mean) * math.sqrt((1 / 5 + 1 / 9) * 5))
    assert paired([0.0, 0.0, 0.0])[0] == 1
    assert paired([0.1, 0.1, 0.1])[0] < 1e-6


def test_differences_go_draw_by_draw_or_fold_by_fold() -> None:
    rows: list[Any] = []
    for seed in (0, 1):
        for method, k, off in (("continuous", 0, 0.0), ("spread", 40, 0.1), ("spread", 5, 0.3)):
            own = {"set": "synthetic-1", "method": method, "k": k, "seed": seed, "trees": 10}
            rows.append((own, {"accuracy": 0.9 - off - seed / 100 * off}))
            folds = {f"fold{i}": 0.9 - off + i / 100 * off for i in range(10)}
            rows.append((own | {"set": "iris"}, {"accuracy": 0.5, **folds}))
    _, drawn = compared(
        Results(rows), "synthetic-1", at_best("synthetic-1", "continuous"), {"method": "spread", "k": 40}
    )
    assert drawn.runs == 2
    assert drawn.mean == pytest.approx(0.1005)
    _, dealt = compared(Results(rows), "iris", at_best("iris", "continuous"), at_best("iris", "spread"))
    assert dealt.runs == 20
    assert dealt.mean == pytest.approx(0.3 - 0.045 * 0.3)


# --- printed figures


def test_the_printed_tables_hold_together() -> None:
    assert len(tables()) == 310
    roc = [row for row in tables().values() if "roc" in row]
    assert len(roc) == 160
    assert all(row["roc"] == row["recall"] for row in roc)
    for (name, k), row in tables().items():
        build = PRINTED[name].n_test * (0.9 if PRINTED[name].folds else 7 / 3)
        assert row["leaves"] <= max(1, build / k), (name, k)
    for name, printed in PRINTED.items():
        best = max(row["accuracy"] for (n, _), row in tables().items() if n == name)
        assert best == tables()[name, printed.k]["accuracy"] == printed.tree, name
    assert [tables()["breast", k]["leaves"] for k in (5, 10, 20, 50)] == [72, 40, 21, 8]


def test_the_printed_z_stands_for_the_printed_loss() -> None:
    for name, printed in PRINTED.items():
        assert printed.exact_loss == pytest.approx(printed.loss, abs=0.0101), name


def test_single_columns_are_cut_as_defined() -> None:
    x = np.array([0.0, 1.0, 1.0, 1.0, 1.0, 10.0])
    assert equal_width(x, 5).tolist() == [2, 4, 6, 8]
    assert equal_frequency(x, 3).tolist() == [1.0]
    label = np.repeat([0, 1, 0], 30)
    assert description_length(np.arange(90.0), label).tolist() == [29.5, 59.5]
    assert description_length(np.arange(90.0), np.arange(90) % 2).tolist() == []
    assert description_length(np.zeros(90), label).tolist() == []


# --- measuring


@pytest.mark.parametrize(
    "method",
    [
        *(pytest.param(x, marks=pytest.mark.slow) for x in ("reference", "factor", "width", "supervised")),
        "mondrian",
        "generalization",
    ],
)
def test_a_setting_is_measured_alike_every_time_and_keeps_k(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folds = list(islice(density_trees.tasks("iris", 1), 3))
    monkeypatch.setattr(density_trees, "tasks", lambda name, seed, share=1.0: iter(folds))
    study = discreet_studies.load("density-trees")
    setting = {"set": "iris", "method": method, "k": 10, "seed": 1, "trees": 10}
    found, again = dict(study.measure(setting)), dict(study.measure(setting))
    assert found.pop("built", 0.0) >= 0
    again.pop("built", None)
    assert found == again
    assert found["smallest"] >= 10
    assert found["accuracy"] > (0.6 if method == "generalization" else 0.8)
    assert found["auc"] > found["recall"] - 0.05


@pytest.mark.slow
def test_rows_drawn_from_the_cells_train_a_forest_for_values_as_they_are() -> None:
    study = discreet_studies.load("density-trees")
    setting = {"set": "iris", "method": "drawn", "k": 5, "seed": 0, "trees": 3}
    assert study.measure(setting)["accuracy"] > 0.85


def test_shares_are_nested_parts_of_the_training_rows_and_the_test_rows_stay() -> None:
    whole = next(density_trees.tasks("iris", 3))
    assert whole.build.equals(whole.train)
    rows: list[set[str]] = []
    for share in (0.2, 0.6):
        task = next(density_trees.tasks("iris", 3, share))
        assert task.train.equals(whole.train)
        assert task.test.equals(whole.test)
        assert task.build.num_rows == round(share * 135)
        rows.append({str(row) for row in task.build.to_pylist()})
    assert rows[0] < rows[1]
    few = discreet_studies.load("density-trees").measure(
        {"set": "synthetic-7", "method": "reference", "k": 40, "seed": 0, "share": 0.1}
    )
    assert set(few) == {"accuracy", "cells"}
    assert few["cells"] == 1  # 70 records hold no two cells of 40


def test_folds_are_kept_where_they_are_tested_and_make_up_the_accuracy() -> None:
    own = {"set": "iris", "method": "reference", "seed": 0, "trees": 10}
    found = density_trees.measure({**own, "k": PRINTED["iris"].k})
    assert np.mean([found[f"fold{i}"] for i in range(10)]) == pytest.approx(found["accuracy"])
    assert "fold0" not in density_trees.measure({**own, "k": 50})


def test_no_setting_asks_for_cells_larger_than_the_share() -> None:
    maps = [s for s in discreet_studies.load("density-trees").settings(False) if "share" in s]
    assert {s["set"] for s in maps} >= {"iris", "wine", "synthetic-1", "synthetic-2", "synthetic-6", "synthetic-7"}
    for setting in maps:
        assert float(setting["share"]) * density_trees._build_size(str(setting["set"])) >= int(setting["k"]) - 0.5
    assert {(c.name, c.share, c.k) for c in CELLS if c.name not in REAL} <= {
        (s["set"], s["share"], s["k"]) for s in maps
    }


# --- what is committed


def test_the_committed_results_are_of_the_full_grid_and_reach_the_bar(results: Results) -> None:
    study = discreet_studies.load("density-trees")
    held = {json.dumps(s, sort_keys=True) for s, _ in results.rows}
    assert {json.dumps(dict(s), sort_keys=True) for s in study.settings(False)} <= held
    late = ("supervised", "generalization", "drawn")  # not run again since precision is measured
    whole = [numbers for s, numbers in results.rows if s.get("trees") == 10 and s["method"] not in late]
    assert all({"accuracy", "f1", "recall", "precision", "auc"} <= set(numbers) for numbers in whole)
    met = bar(results)
    assert len(met) == 15
    assert sum(met.values()) >= 11
    for name in LOST:
        found = results.estimate("accuracy", set=name, trees=10, **at_best(name, "supervised")).mean
        assert found >= (PRINTED[name].tree + PRINTED[name].continuous) / 2, name
    # Against our own baseline, which is better than the printed one on glass, two of the five are short by a hair.
    short = {name: loss(results, name, "supervised").mean - PRINTED[name].loss / 2 for name in LOST}
    assert {name for name, value in short.items() if value > 0} == {"wine", "glass"}
    assert max(short.values()) < 0.005


def test_the_verdicts_follow_from_the_numbers(results: Results) -> None:
    found = {(f.section, f.figure): f for f in findings(results)}
    for (section, figure), f in found.items():
        if section.startswith(("Accuracy", "Tables A", "ROC")):
            assert (f.verdict == REPRODUCED) == (abs(f.measured.mean - f.published) <= 0.03), figure
        if section.startswith("Significant") and f.published is not None and f.verdict != NOT:
            assert f.measured.mean == f.published
            assert (f.verdict == CORRECTED) == (figure != "as printed")
    # The fault: what was printed as ROC is the recall, and the area is larger.
    areas = {figure.partition(":")[0]: f for (_, figure), f in found.items() if figure.endswith("under the curve")}
    recalls = {figure: f for (section, figure), f in found.items() if section.endswith(": macro recall")}
    assert len(areas) == 8
    assert all(area.measured.mean >= recalls[figure].measured.mean for figure, area in areas.items())
    # Every printed cell of tables A.1 to A.15 has a verdict: twenty k and more, and ROC of two classes.
    judged = [f for (section, _), f in found.items() if section.startswith("Tables A")]
    assert len(judged) == sum(len(row) - 2 for (_, k), row in tables().items() if k <= 100)


def test_losses_are_tested_on_our_own_runs(results: Results) -> None:
    p = by_pairs(results, "reference", "continuous")
    assert set(p) == set(PRINTED)
    assert {"glass", "synthetic-1", "synthetic-2"} <= set(holm(p))
    assert len(holm(by_pairs(results, "spread", "continuous"))) < len(holm(p))
    assert len(results.values("fold3", {"set": "iris", "method": "spread", "k": 5, "trees": 10})) == 10


def test_the_maps_thin_out_with_the_records(results: Results) -> None:
    for name in ("breast", "synthetic-6"):
        few, most = (
            results.estimate("accuracy", set=name, method="reference", share=share, k=10).mean for share in (0.1, 0.9)
        )
        assert few < most
    assert not results.estimate("accuracy", set="iris", method="reference", share=0.1, k=20).runs


def test_what_a_quick_run_gives_can_be_shown() -> None:
    few = {"set": "iris", "k": 5, "seed": 0}
    methods = ("continuous", "reference", "spread", "factor", "supervised", "mondrian", "mdlp")
    rows: list[Any] = [
        (few | {"method": m, "k": 0 if m in ("continuous", "mdlp") else 5, "trees": 10}, {"accuracy": 0.9, "f1": 0.9})
        for m in methods
    ]
    rows.append((few | {"method": "reference", "share": 0.5}, {"accuracy": 0.8, "cells": 9.0}))
    little = Results(rows)
    assert any(f.figure == "iris, k = 5" for f in findings(little))
    assert "## Accuracy over k" in notes(little)
    assert {"accuracy", "losses", "shares-reference"} <= set(pictures(little))
