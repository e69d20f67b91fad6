"""The outlook foretells what the methods then do, within the limits it states."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sklearn.cluster import KMeans

import discreet as dc
from command_line import printed
from discreet.cli import app
from discreet.cli.plan import sparkline
from discreet.core.budget.prices import zcdp_to_epsilon
from discreet.planning import CURVE, outlook
from discreet.reporting.pages.plan import plan_page

# The forecasts, against the methods


def test_the_noise_of_a_grid_is_as_foretold() -> None:
    n, epsilon = 20_000, 0.5
    row = outlook(n, 2, epsilon=epsilon)["grid synopsis"]
    X = np.random.default_rng(0).random((n, 2))
    made = dc.GridSynopsis(epsilon, (0, 1), n_rows=None, random_state=1).fit(X).synopsis_
    cells = int(row.release.split(" x ")[0]) ** 2
    assert made.n_leaves == pytest.approx(cells, rel=0.1)  # it bought a noisy number of rows
    assert np.sqrt(made.variances[: made.n_leaves // 10].sum()) / n == pytest.approx(row.error, rel=0.06)


def test_the_noise_of_a_tree_is_as_foretold() -> None:
    n, epsilon = 50_000, 1.0
    row = outlook(n, 2, epsilon=epsilon)["tree synopsis"]
    X = np.random.default_rng(0).random((n, 2))
    made = dc.TreeSynopsis(epsilon, (0, 1), random_state=1).fit(X).synopsis_
    assert made.n_leaves == 256  # rows everywhere: nothing is pruned
    assert np.sqrt(0.1 * made.variances.sum()) / n == pytest.approx(row.error, rel=0.02)


def test_metric_noise_moves_rows_as_far_as_foretold() -> None:
    row = outlook(20_000, 3, epsilon=2.0, radius=0.05)["metric noise"]
    X = np.full((20_000, 3), 0.5)
    noisy = dc.metric.NDLaplace(
        2.0, 0.05, domain=dc.Domain.box([0] * 3, 1), remap="none", random_state=1
    ).fit_transform(X)
    assert np.linalg.norm(np.asarray(noisy) - X, axis=1).mean() == pytest.approx(row.error, rel=0.02)


def test_local_reports_err_as_foretold() -> None:
    n, values = 20_000, 16
    found = dc.local.plan(1.0, values, n).best
    row = outlook(n, 2, epsilon=1.0, values=values)["local reports"]
    mechanism = found.make(values, key=1)
    errors = []
    for seed in range(12):
        reports = mechanism.encode(np.zeros(n, dtype=int), rng=seed)
        estimate = mechanism.estimate(mechanism.aggregate(reports))
        errors.extend(np.asarray(estimate.frequency)[1:])
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(row.error, rel=0.25)


@pytest.mark.parametrize(("clusters", "epsilon"), [(4, 0.2), pytest.param(9, 1.0, marks=pytest.mark.slow)])
def test_private_k_means_stays_below_its_bound(clusters: int, epsilon: float) -> None:
    n = 8000
    row = outlook(n, 2, clusters=clusters, epsilon=epsilon)["private k-means"]
    assert row.sense == "at most"
    X = np.random.default_rng(1).random((n, 2))  # clusters that fill the domain
    plain = KMeans(clusters, n_init=5, random_state=0).fit(X).inertia_ / n
    runs = [
        dc.evaluation.nicv(X, dc.PrivateKMeans(clusters, epsilon, (0, 1), random_state=s).fit(X).cluster_centers_)
        for s in range(3)
    ]
    assert np.mean(runs) / plain - 1 < row.error


def test_many_axes_promise_no_less_than_the_noise_of_means() -> None:
    n, d, clusters = 4000, 8, 4
    row = outlook(n, d, clusters=clusters, epsilon=0.3)["private k-means"]
    assert row.sense == "at least"
    X = np.random.default_rng(1).random((n, d))
    plain = KMeans(clusters, n_init=3, random_state=0).fit(X).inertia_ / n
    found = dc.PrivateKMeans(clusters, 0.3, (0, 1), random_state=2).fit(X).cluster_centers_
    # The unit is the error of cubes that are filled evenly; k-means in 8 dimensions has more, hence the ratio of both.
    cubes = d / 12 * clusters ** (-2 / d)
    assert (dc.evaluation.nicv(X, found) - plain) / cubes > 0.5 * row.error


def test_anonymous_tables_have_no_more_groups_than_foretold() -> None:
    row = outlook(3000, 2, k=20)["anonymous table"]
    assert "at most 150 groups" in row.release
    X = np.random.default_rng(0).random((3000, 2))
    schema = {name: {"bounds": [0, 1], "role": "quasi-identifier"} for name in "xy"}
    release = dc.anonymity.Mondrian(20, domain=dc.Domain(schema)).fit_transform(pa.table({"x": X[:, 0], "y": X[:, 1]}))
    facts = release.guarantee.parameters
    assert 50 < facts.get("cells", facts.get("groups")) <= 150


# The table itself


@pytest.mark.parametrize(
    ("n", "d"),
    [
        pytest.param(n, d, marks=[pytest.mark.slow] * ((n, d) not in [(5, 1), (1000, 3), (1000, 4), (10**9, 60)]))
        for n, d in product([5, 1000, 10**9], [1, 3, 4, 60])
    ],
)
def test_errors_fall_with_epsilon_and_with_rows(n: int, d: int) -> None:
    found = outlook(n, d, k=2)
    assert [row.question for row in found.rows] == ["counts"] * 5 + ["places"] * 2 + ["clusters"]
    for row in found.rows:
        assert len(row.curve) == len(CURVE)
        assert np.isfinite(row.curve).all()
        assert min(row.curve) > 0
        assert row.curve[-1] <= row.curve[0]
        assert row.curve[CURVE.index(1.0)] == row.error  # epsilon is 1 by default
    larger = outlook(100 * n, d, k=2)
    for row in found.rows:
        if row.method != "metric noise":
            assert larger[row.method].error <= row.error


@pytest.mark.slow
def test_the_epsilon_for_a_target_reaches_it_and_less_does_not() -> None:
    target = 0.02
    found = outlook(5000, 2, target_error=target)
    for row in found.rows:
        if row.needed_epsilon is None or row.method.endswith("synopsis"):  # their errors jump with their structure
            continue
        assert outlook(5000, 2, epsilon=row.needed_epsilon)[row.method].error <= target
        assert outlook(5000, 2, epsilon=0.99 * row.needed_epsilon)[row.method].error > target
    assert found["anonymous table"].needed_epsilon is None
    assert outlook(5, 2, k=2, target_error=1e-9)["private k-means"].needed_epsilon is None


def test_a_method_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(dc.errors.InvalidArgument, match="one of central histogram"):
        outlook(100, 2)["magic"]


# The verb


def test_the_verb_tells_prints_json_and_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["plan", "--rows", 5000, "--columns", 2, "--epsilon", 0.5, "--target-error", 0.01]
    told = printed(capsys, *line)
    for words in ("No data were read", "counts", "places", "clusters", "private", "█", "epsilon for"):
        assert words in told
    found = json.loads(printed(capsys, *line, "--json", "--html", tmp_path / "plan.html"))
    same = outlook(5000, 2, epsilon=0.5, target_error=0.01)
    assert found["rows"] == json.loads(json.dumps(same.to_dict()))["rows"]
    assert found["file"] == str(tmp_path / "plan.html")
    text = (tmp_path / "plan.html").read_text()
    assert text == plan_page(same, found["fitness"]["line"])
    assert found["fitness"]["line"] in " ".join(told.split())
    assert "<script" not in text
    assert "src=" not in text
    assert text.count("<svg") == 7


def test_a_schema_with_rules_is_planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A difference replaces a column of the model, and a sum has none: every declared column is still named."""
    days = ("2025-01-01", "2025-12-31")
    columns = {"ward": (0, 60), "drugs": (0, 20), "total": (0, 80), "came": days, "left": days}
    rules = ["came <= left", "total = ward + drugs"]
    (tmp_path / "s.toml").write_text(dc.Domain(columns, rules=rules).to_toml())
    told = json.loads(
        printed(capsys, "plan", "--rows", 1600, "--schema", tmp_path / "s.toml", "--epsilon", 3, "--json")
    )
    assert set(told["fitness"]["columns"]) == set(columns)
    assert all(0 < told["fitness"]["errors"][i][i] <= 2 for i in range(len(columns)))


def test_a_sparkline_spans_its_range() -> None:
    assert sparkline([100, 10, 1]) == "█▅▁"
    assert sparkline([3, 3]) == "▁▁"


def test_clusters_on_many_columns_are_foretold_with_the_delta_that_is_given() -> None:
    """The price that `PrivateKMeans` then pays, with noise no larger than its minimum."""
    X = np.random.default_rng(0).random((1500, 60))
    for delta, method in ((0.0, "grid"), (1e-6, "lift")):
        row = outlook(1500, 60, epsilon=1.0, delta=delta, clusters=8)["private k-means"]
        assert ("projection" in row.release) == (method == "lift")
        made = dc.PrivateKMeans(8, 1.0, dc.Domain.box([0.0] * 60, 1.0), delta=delta or None, random_state=1).fit(X)
        assert made.guarantee_.parameters["method"] == method
    errors = [
        outlook(50_000, 100, epsilon=1.0, delta=delta, clusters=8)["private k-means"].error for delta in (0, 1e-6)
    ]
    assert 0 < errors[1] < errors[0] / 5  # noise of length √d where it was of length d


def test_columns_come_from_a_schema_and_the_budget_may_be_in_rho(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    schema = tmp_path / "s.toml"
    schema.write_text(
        '[columns]\nage = {bounds = [0, 120]}\npay = {bounds = [0, 9]}\nsex = {categories = ["f", "m"]}\n'
    )
    given = ("plan", "-n", 5000, "--schema", schema, "--rho", 0.05, "--delta", 1e-6, "--json")
    found = json.loads(printed(capsys, *given))
    assert (found["d"], found["delta"]) == (2, 1e-6)
    assert found["epsilon"] == pytest.approx(zcdp_to_epsilon(0.05, 1e-6))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("-d", 2, "--rho", 0.1), "--delta 1e-06"),
        (("-d", 2, "--rho", 0.1, "--epsilon", 1), "left out with rho"),
        ((), "or a schema"),
    ],
)
def test_what_a_plan_needs_is_said(capsys: pytest.CaptureFixture[str], given: tuple[object, ...], said: str) -> None:
    with pytest.raises(SystemExit):
        app.main(["plan", "-n", "5000", *map(str, given)])
    assert said in " ".join(capsys.readouterr().err.split())
