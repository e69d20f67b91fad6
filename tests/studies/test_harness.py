"""Studies: a run can be taken up again, figures are what they say, and the committed results carry the page."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet_studies
from command_line import run
from discreet import Domain
from discreet.anonymity import DensityTree, Mondrian
from discreet.anonymity.growth import criteria
from discreet.anonymity.growth.criteria import common_axes, moments, square_gains
from discreet.anonymity.methods.supervised import GrowthChoice
from discreet.errors import DataSourceError, InvalidArgument
from discreet_studies import Estimate, Finding, Results, Study
from discreet_studies.harness.report import comma_separated, page, write_report
from discreet_studies.harness.runner import read_results, results_file, run_study

QUASI = {"role": "quasi-identifier"}


def little(seen: list[int], stop_at: int | None = None) -> Study:
    """Return a study of ten squares that notes what it measures, and may be interrupted."""

    def measure(setting: Any) -> dict[str, float]:
        if setting["x"] == stop_at:
            raise KeyboardInterrupt
        seen.append(setting["x"])
        return {"square": float(setting["x"] ** 2)}

    def findings(results: Results) -> list[Finding]:
        return [Finding("3 squared", 9.0, results.estimate("square", x=3), Estimate.of([9.0, 9.0]), "reproduced")]

    return Study(
        "little", "Squares", "Euclid", lambda quick: [{"x": i} for i in range(3 if quick else 10)], measure, findings
    )


def test_an_interrupted_run_is_taken_up_where_it_was(tmp_path: Path) -> None:
    seen: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        run_study(little(seen, stop_at=4), tmp_path, processes=1)
    assert seen == [0, 1, 2, 3]
    told: list[tuple[int, int]] = []
    results = run_study(little(seen), tmp_path, processes=1, tell=lambda done, total: told.append((done, total)))
    assert seen == list(range(10))
    assert told == [(i, 10) for i in range(5, 11)]
    assert results.estimate("square", x=7).mean == 49
    run_study(little(seen), tmp_path, processes=1)
    assert len(seen) == 10  # nothing is measured twice


def test_quick_and_full_runs_are_kept_apart_and_results_can_be_read_again(tmp_path: Path) -> None:
    study = little([])
    run_study(study, tmp_path, quick=True, processes=1)
    assert len(read_results(study, tmp_path)) == 3
    run_study(study, tmp_path, processes=1)
    again = read_results(study, tmp_path)
    assert len(again) == 10
    assert again.values("square", {}) == {json.dumps({"x": i}): float(i * i) for i in range(10)}


def test_a_quick_run_says_so_with_its_seeds_and_leaves_the_pages_of_a_full_run(tmp_path: Path) -> None:
    study = replace(
        little([]), settings=lambda quick: [{"x": x, "seed": s} for x in (3, 4) for s in range(2 if quick else 20)]
    )
    full = {p: p.read_bytes() for p in write_report(study, run_study(study, tmp_path, processes=1), tmp_path)}
    quick = run_study(study, tmp_path, quick=True, processes=1)
    written = write_report(study, quick, tmp_path)
    assert [p.name for p in written] == ["little-quick.html", "little-quick.md", "little-quick.csv"]
    assert {p: p.read_bytes() for p in full} == full
    for path in written[:2]:
        assert "Quick run: a small part of the study, 2 seeds per setting." in path.read_text("utf-8")
    assert not any(b"Quick run" in text for text in full.values())
    assert (quick.seeds(), Results(quick.rows[1:]).seeds(), read_results(study, tmp_path).seeds()) == (
        "2",
        "1 to 2",
        "20",
    )
    several = Results([({"x": 3}, {"seeds": 7.0})])  # measured at once
    assert (several.seeds(), Results([({"x": 3}, {})]).seeds()) == ("7", "")


def test_results_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    study = little([])
    with pytest.raises(DataSourceError, match=r"^little: no results found; run 'discreet study run little'"):
        read_results(study, tmp_path)
    results_file(study, tmp_path, quick=False).write_bytes(b"half a file")
    with pytest.raises(DataSourceError, match="remove it to begin again"):
        run_study(study, tmp_path, processes=1)
    with pytest.raises(InvalidArgument, match=r"^processes must be"):
        run_study(little([]), tmp_path / "new", processes=0)
    with pytest.raises(InvalidArgument, match=r"^name must be one of .*'density-trees'"):
        discreet_studies.load("density-bush")


@pytest.mark.slow
def test_two_processes_measure_what_one_does(tmp_path: Path) -> None:
    whole = discreet_studies.load("density-trees")
    grid = [{"set": "iris", "method": m, "k": 5, "seed": s, "trees": 3} for m in ("factor", "mdlp") for s in (0, 1)]
    study = replace(whole, settings=lambda quick: grid)
    one, two = (run_study(study, tmp_path / str(p), processes=p) for p in (1, 2))
    for setting in grid:
        assert one.values("accuracy", setting) == two.values("accuracy", setting)


def test_means_have_intervals_and_differences_go_run_by_run() -> None:
    found = Estimate.of([1.0, 2.0, 3.0, 4.0])
    assert found.mean == 2.5
    assert found.high - found.mean == pytest.approx(3.182446 * np.std([1, 2, 3, 4], ddof=1) / 2, rel=1e-6)
    assert Estimate.of([2.0]).high == np.inf
    assert Estimate.of([]).runs == 0
    rows = [({"m": m, "seed": s}, {"a": a}) for m, s, a in (("x", 0, 5.0), ("x", 1, 9.0), ("y", 1, 8.0), ("y", 0, 4.0))]
    assert Results(rows).difference("a", {"m": "x"}, {"m": "y"}) == Estimate(1.0, 1.0, 1.0, 2)


def test_the_report_says_the_same_in_markdown_and_in_csv(tmp_path: Path) -> None:
    study = replace(little([]), absent=lambda: ["cubes"], notes=lambda results: ["A note."])
    results = run_study(study, tmp_path, processes=1)
    text = page(study, results)
    assert "| 3 squared | 9.000 | 9.000 | 1 | 9.000 | 9.000 to 9.000 | reproduced |" in text  # no interval of one run
    assert "A note." in text
    assert "not available: cubes" in text
    (row,) = csv.DictReader(io.StringIO(comma_separated(study.findings(results))))
    assert (row["figure"], row["published"], row["measured_mean"], row["best_runs"]) == ("3 squared", "9.0", "9.0", "2")


def test_a_page_of_several_sections_begins_with_the_verdicts_and_leaves_empty_columns_out() -> None:
    measured = Estimate.of([1.0, 2.0])
    found = [
        Finding("a", 1.5, measured, None, "reproduced", "", "one"),
        Finding("b", 9.0, measured, None, "not reproduced", "too far", "one"),
        Finding("c", 1.5, measured, measured, "reproduced after correction", "a fault", "two"),
        Finding("d", None, measured, None, "", "by the way", "three"),
    ]
    text = page(replace(little([]), findings=lambda results: found), Results([]))
    assert "| one | 1 | 0 | 1 |\n| two | 0 | 1 | 0 |\n| all | 1 | 1 | 1 |" in text
    heads = [line for line in text.splitlines() if line.startswith("| figure |")]
    assert [head.count("|") - 1 for head in heads] == [6, 8, 5]
    assert heads[2] == "| figure | measured | 95 % interval | runs | note |"


# --- the criteria that the study compares


def table_of(X: Any, label: Any = None) -> tuple[pa.Table, Domain]:
    low, high = X.min(axis=0) - 1e-9, X.max(axis=0) + 1e-9
    columns: dict[str, Any] = {
        f"x{j}": {"bounds": [float(a), float(b)], **QUASI} for j, (a, b) in enumerate(zip(low, high, strict=True))
    }
    table = pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})
    if label is not None:
        columns["label"] = {"categories": ["0", "1"], "role": "target"}
        table = table.append_column("label", pa.array([str(int(v)) for v in label]))
    return table, Domain(columns)


def test_factor_follows_what_columns_have_in_common_and_leaves_noise_alone() -> None:
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, 400)
    X = np.hstack([rng.normal(0, 1, (400, 6)), 3 * hidden[:, None] + rng.normal(0, 1, (400, 3))])
    table, domain = table_of(X)
    purity = {}
    for name, method in {
        "factor": DensityTree(80, domain=domain, criterion="factor"),
        "mondrian": Mondrian(80, domain=domain),
    }.items():
        release = method.fit_transform(table)
        ones = np.bincount(release.cells.of, weights=hidden)
        sizes = release.cells.counts()
        purity[name] = np.maximum(ones, sizes - ones).sum() / 400
    assert purity["factor"] > 0.9 > 0.8 > purity["mondrian"]
    tree = DensityTree(80, domain=domain, criterion="factor").fit(table).tree_
    assert tree.column[0] >= 6
    assert tree.criteria() == {"factor": tree.n_leaves - 1}


def test_the_common_spread_of_all_records_is_one_and_a_gain_is_the_share_that_a_cut_takes_away() -> None:
    rng = np.random.default_rng(5)
    bins = rng.integers(0, 50, (3, 200))
    bins[1] = np.clip(bins[0] + rng.integers(-5, 6, 200), 0, 49)
    axes = common_axes(moments(np.ascontiguousarray(bins.T), np.tile(np.arange(50), (3, 1))))

    def squares(rows: Any) -> float:
        return float((((rows - rows.mean(axis=1, keepdims=True)).T @ axes.T) ** 2).sum())

    assert squares(bins) == pytest.approx(1.0)
    order = np.argsort(bins[2], kind="stable")
    at = int((bins[2] < 20).sum())
    sums = np.stack([np.bincount(bins[2], weights=column, minlength=50) for column in bins]).astype(np.int64)
    held, rated, node = np.zeros((20, 1), np.int64), np.zeros((20, 1)), np.zeros((20, 3), np.int64)
    held[criteria.CUT_LEFT], node[criteria.TOTAL] = at, bins.sum(axis=1)
    rated[criteria.CUT_SUMS : criteria.CUT_SUMS + 3, 0] = sums[:, :20].sum(axis=1)
    square_gains(False, 1, 200, axes, held, rated, node)
    parts = squares(bins[:, order[:at]]) + squares(bins[:, order[at:]])
    assert rated[criteria.GAIN, 0] == pytest.approx(squares(bins) - parts)


def test_factor_does_not_depend_on_the_units() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3))
    trees = []
    for scale in ((1.0, 1.0, 1.0), (1000.0, 0.01, 7.0)):
        table, domain = table_of(X * scale)
        trees.append(DensityTree(10, domain=domain, criterion="factor", grid=100).fit(table).tree_)
    assert trees[0].column.tolist() == trees[1].column.tolist()
    assert trees[0].cut.tolist() == trees[1].cut.tolist()


def test_width_makes_narrower_cells_than_the_median() -> None:
    rng = np.random.default_rng(2)
    table, domain = table_of(rng.gamma(1.5, size=(2000, 4)))
    widths = []
    for model in (DensityTree(5, domain=domain, criterion="width"), Mondrian(5, domain=domain)):
        tree = model.fit(table).tree_
        first, last = tree.cells
        steps = np.array([g.n_bins for g in tree.grids])
        sides = ((last - first + 1) / steps).mean(axis=1)[tree.leaves]
        widths.append(float(sides @ model.leaf_counts_ / 2000))
    assert widths[0] < 0.9 * widths[1]


@pytest.mark.slow
def test_supervised_listens_to_the_label_where_that_foretells_it() -> None:
    rng = np.random.default_rng(3)
    X = rng.random((1000, 5))
    clear = X[:, 3] > 0.3
    table, domain = table_of(X, clear)
    model = DensityTree(10, domain=domain, supervised=True).fit(table)
    assert model.weight_ > 0
    release = model.transform(table)
    ones = np.bincount(release.cells.of, weights=clear)
    assert np.minimum(ones, release.cells.counts() - ones).sum() <= 1
    assert release.guarantee.parameters["label_weight"] == model.weight_
    assert release.guarantee.parameters["reached"]["k"] >= 10
    X[:, :3] = np.round(3 * (rng.random(1000) > 0.5))[:, None] + rng.normal(0, 1, (1000, 3))
    table, domain = table_of(X[:60], rng.random(60) > 0.5)
    assert DensityTree(5, domain=domain, supervised=True).fit(table).leaf_counts_.min() >= 5


@pytest.mark.slow
def test_supervised_begins_with_the_column_that_tells_the_label(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(3).random((1000, 5))
    table = pa.table({f"x{j}": X[:, j] for j in range(5)} | {"label": np.where(X[:, 3] > 0.3, "1", "0")})
    columns: dict[str, Any] = {f"x{j}": {"bounds": [0, 1], **QUASI} for j in range(5)}
    domain = Domain(columns | {"label": {"categories": ["0", "1"], "role": "target"}})

    def root() -> tuple[int, int]:
        tree = DensityTree(10, domain=domain, grid=100, supervised=True).fit(table).tree_
        return int(tree.column[0]), int(tree.cut[0])

    assert root() == (3, 30)
    # Looking ahead, too: its few cuts of a column hold the one that tells most, which wins against later ones.
    monkeypatch.setattr("discreet.anonymity.methods.density_tree.choose_growth", lambda *_: GrowthChoice(1.0, 3))
    assert root() == (3, 30)


def test_the_new_criteria_keep_sensitive_values_diverse() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(600, 3))
    table, domain = table_of(X, X[:, 0] > 0)
    secret = Domain({**{c.name: c.to_dict() for c in domain if c.name != "label"}, "label": {"categories": ["0", "1"]}})
    for more in ({"criterion": "factor"}, {"criterion": "width"}, {"supervised": True, "target": "label"}):
        model = DensityTree(5, 1.5, 0.4, l_kind="entropy", domain=secret, sensitive="label", **more)
        reached = model.fit_transform(table).guarantee.parameters["reached"]
        assert reached["k"] >= 5
        assert reached["l"]["label"] >= 1.5 - 1e-9
        assert reached["t"]["label"] <= 0.4 + 1e-9


def test_a_column_of_one_value_and_a_table_of_one_class_do_no_harm() -> None:
    X = np.column_stack([np.full(100, 2.0), np.arange(100.0)])
    table, domain = table_of(X, np.zeros(100))
    for more in ({"criterion": "factor"}, {"supervised": True}):
        model = DensityTree(10, domain=domain, **more).fit(table)
        assert model.tree_.n_leaves > 4
        assert set(model.tree_.column[model.tree_.column >= 0]) == {1}


# --- what is committed


def test_the_shell_lists_and_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    listed = run("study", "list", catch=True)
    assert listed.exit_code == 0
    assert "density-trees" in listed.output
    shown = run("study", "show", "density-trees", "--markdown", catch=True)
    assert shown.exit_code == 0
    assert shown.output.startswith("# Density trees")
    assert "synthetic-8" in shown.output


def test_show_says_which_results_it_shows_and_a_narrow_terminal_has_every_verdict_next_to_its_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    note = "the printed one was measured on other rows than those that were published with it"
    two = Estimate.of([9.0, 9.5]), Estimate.of([9.0, 9.1])
    found = [Finding(f"{x} `squared`", 8.0, *two, "not reproduced", note) for x in range(1, 4)]
    bold = "## Best\n\n| x | y |\n|---|---:|\n| a | **2.49 ± 0.53** |"
    study = replace(little([]), findings=lambda _: found, notes=lambda _: [bold])
    monkeypatch.setattr(discreet_studies, "load", lambda name: study)
    run_study(study, "discreet-studies", quick=True, processes=1)
    shown = run("study", "show", "little", COLUMNS="80").output
    assert shown.startswith("Results of a quick run: discreet-studies/little-quick.parquet\n")
    assert re.search(r"3 squared +│ not reproduced +│ +8\.000", shown)
    assert " ".join(re.findall(r"[a-z]+", shown)).count("the printed one") == 3
    assert "│ 2.49 ± 0.53 │" in shown
    told = json.loads(run("study", "show", "little", "--json").output)
    assert (told["run"], told["file"]) == ("quick", "discreet-studies/little-quick.parquet")
    run_study(study, "discreet-studies", processes=1)
    assert run("study", "show", "little").output.startswith("Results of a full run: discreet-studies/little.parquet\n")


def test_a_report_has_no_script_unless_charts_to_zoom_are_asked_for(tmp_path: Path) -> None:
    chosen = discreet_studies.load("frontier")
    results = read_results(chosen)
    names = [p.name for p in write_report(chosen, results, tmp_path)]
    assert names == ["frontier.html", "frontier.md", "frontier.csv"]
    assert "<script" not in (tmp_path / "frontier.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_charts_to_zoom_ask_for_nothing_outside(tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    chosen = discreet_studies.load("density-trees")
    charts = chosen.pictures(read_results(chosen))
    few = {name: charts[name] for name in ("losses", "shares-spread")}
    write_report(replace(chosen, pictures=lambda _: few), Results([]), tmp_path, plotly=True)
    for name in few:
        text = (tmp_path / f"density-trees-{name}.html").read_text(encoding="utf-8")
        assert re.findall(r"<script[^>]*\bsrc=\"([^\"]*)\"", text) == ["plotly.min.js"]
    assert (tmp_path / "plotly.min.js").stat().st_size > 1_000_000
