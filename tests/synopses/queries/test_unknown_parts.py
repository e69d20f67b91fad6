"""Unknown parts of a synopsis are drawn as unknown: unlisted cells, columns never split, leaves beyond bins."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.cli.app import main
from discreet.datasets.records import adult
from discreet.errors import DiscreetError
from discreet.reporting import report_facts, views, write_report
from discreet.reporting.pages import svg
from discreet.synopses import BoxSynopsis, Count, HiddenCells, Synopsis

pytestmark = pytest.mark.usefixtures("few_steps")

COLOURS = [f"c{i}" for i in range(12)]


def mixed(n: int = 4000, categories: int = 6) -> tuple[pd.DataFrame, dc.Domain]:
    """A table of numbers and many categories: more cells than can be listed."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(0, 100, n), "cost": rng.exponential(50, n).clip(0, 500)})
    declared: dict[str, Any] = {"age": (0, 100), "cost": (0, 500)}
    for j in range(categories):
        frame[f"kind{j}"] = np.array(COLOURS)[rng.geometric(0.5, n).clip(1, 12) - 1]
        declared[f"kind{j}"] = COLOURS
    return frame, dc.Domain(declared)


@pytest.fixture(scope="module")
def release() -> Synopsis:
    frame, domain = mixed()
    made = dc.GridSynopsis(1.0, domain, random_state=3).fit(frame).synopsis_
    assert made.hidden is not None
    assert made.uncut == ("age", "cost")
    return made


def text_of(page: str) -> str:
    return " ".join(re.sub(r"<style.*?</style>|<[^>]+>", " ", page, flags=re.S).split())


def test_the_count_of_everything_is_the_total(release: Synopsis) -> None:
    whole = Count(release.total, math.sqrt(release.total_variance))
    everything = {"age": (0, 100), "cost": (-5, 1e9), "kind0": COLOURS}
    for answer in (release.count(), release.count(everything), release.count(age=(0, 100))):
        assert answer == whole
    assert abs(release.count().value - 4000) < 6 * release.count().std_error


def test_rows_in_unlisted_cells_are_named_by_every_answer(release: Synopsis) -> None:
    elsewhere = release.unlisted
    assert elsewhere is not None
    assert elsewhere.value == release.total - release.weights.sum()
    assert elsewhere.std_error == pytest.approx(math.sqrt(release.total_variance + release.variances.sum()))
    assert elsewhere.value > 1000
    some = release.count(kind0=["c0"])
    assert some.unlisted == elsewhere.value
    assert some.value <= 2100 <= some.value + some.unlisted  # the truth is about half of the rows
    assert "not listed" in repr(some)
    assert some.to_dict()["unlisted"] == some.unlisted
    assert release.count(kind0=[]) == Count(0.0, 0.0)
    assert release.marginal("kind0").unlisted == elsewhere
    assert "not listed" in repr(release)
    assert "not listed" in repr(release.marginal("kind0"))
    assert "not divided" in repr(release.marginal("age"))


def test_a_grid_that_lists_all_cells_has_nothing_unlisted() -> None:
    data = dc.datasets.mixture(2000, 2, 3, random_state=0)
    made = dc.GridSynopsis(1.0, data.domain, 9, random_state=0).fit(data.X).synopsis_
    assert made.unlisted is None
    part = made.count({data.domain.names[0]: (0.1, 0.2)})
    assert part.unlisted == 0
    assert made.count().value == made.total
    assert set(part.to_dict()) == {"value", "std_error", "noise_error", "evenness_error"}


def test_missing_values_with_a_cell_of_their_own_are_left_out_of_a_full_range() -> None:
    domain = dc.Domain({"a": {"bounds": (0, 10), "missing": "own"}})
    made = BoxSynopsis(
        domain,
        lower=[[0.0], [np.nan]],
        upper=[[10.0], [np.nan]],
        weights=[30, 12],
        variances=[1.0, 1.0],
        guarantee=dc.Guarantee("central"),
    )
    assert made.count().value == 42
    assert made.count(a=(0, 10)).value == 30


def test_as_many_empty_cells_survive_as_is_said() -> None:
    frame, domain = mixed(n=0)
    seen = []
    for seed in range(5):
        made = dc.GridSynopsis(1.0, domain, n_rows=0, random_state=seed).fit(frame).synopsis_
        assert made.hidden is not None
        seen.append(made.n_leaves)
    expected = made.hidden.noise_alone
    # Poisson, five times: six standard deviations, a false alarm in 10^8 runs.
    assert abs(np.mean(seen) - expected) < 6 * math.sqrt(expected / 5)
    assert HiddenCells(10, 0, 0.0).noise_alone == 0


def test_the_terminal_tells_what_the_boxes_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame, domain = mixed()
    frame.to_csv(tmp_path / "t.csv", index=False)
    domain.to_toml(tmp_path / "schema.toml")
    args = ["synopsis", tmp_path / "t.csv", "--schema", tmp_path / "schema.toml", "--epsilon", 1, "--seed", 1]
    for extra in ([], ["--json"]):
        with pytest.raises(SystemExit) as left:
            main([str(a) for a in [*args, "-o", tmp_path / "s.parquet", *extra]])
        assert not left.value.code
        out = capsys.readouterr().out
        made = Synopsis.load(tmp_path / "s.parquet")
        assert made.unlisted is not None
        if extra:
            assert json.loads(out)["rows_unlisted"] == made.unlisted.to_dict()
        else:
            told = " ".join(out.split())
            assert f"About {made.unlisted.value:,.0f} of them" in told
            assert "not listed" in told


def test_the_page_names_unlisted_rows_and_hatches_what_was_not_divided(release: Synopsis, tmp_path: Path) -> None:
    release.save(tmp_path / "s.parquet")
    facts = write_report(tmp_path / "s.parquet", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert release.unlisted is not None
    assert facts["release"]["unlisted"]["rows"] == release.unlisted.value
    assert f"The other {release.unlisted.value:,.0f} (standard error" in text_of(page)
    figures = dict(re.findall(r"(<svg.*?</svg>)<figcaption>(\w+)", page, re.S)[::-1])
    charts = {caption: chart for chart, caption in figures.items()}
    for name in ("age", "cost"):
        assert views.NOT_DIVIDED in charts[name]
        assert 'class="bar"' not in charts[name]
        assert 'class="hatch"' in charts[name]
    assert 'class="bar"' in charts["kind1"]
    assert facts["release"]["plane"]["columns"] == ["kind0", "kind1"]


def test_columns_without_a_chart_are_listed_with_the_reason(tmp_path: Path) -> None:
    frame, domain = mixed(categories=0)
    rng = np.random.default_rng(1)
    declared: dict[str, Any] = {c.name: (c.low, c.high) for c in domain}
    for j in range(16):
        frame[f"flag{j}"] = rng.choice(["no", "yes"], len(frame))
        declared[f"flag{j}"] = ["no", "yes"]
    made = dc.GridSynopsis(1.0, dc.Domain(declared), [1, 1] + [2] * 16, random_state=0).fit(frame).synopsis_
    made.save(tmp_path / "s.parquet")
    write_report(tmp_path / "s.parquet", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    charted = set(re.findall(r"<figcaption>(\w+),", page))
    after = text_of(page).split("Columns without a chart:")[1].split("For the auditor")[0]
    for name in made.domain.names:
        assert (name in charted) != (name in re.findall(r"\w+", after)), name
    assert f"age, cost: {views.NOT_DIVIDED}" in after
    assert "only the first" in after


def test_the_comparison_says_what_it_leaves_out(tmp_path: Path, release: Synopsis) -> None:
    frame, _ = mixed()
    release.save(tmp_path / "s.parquet")
    found = write_report(tmp_path / "s.parquet", tmp_path / "r.html", against=frame.drop(columns="kind2"))["comparison"]
    reasons = {left["column"]: left["reason"] for left in found["left_out"]}
    assert reasons == {"age": views.NOT_DIVIDED, "cost": views.NOT_DIVIDED, "kind2": "is not in the raw table"}
    assert {c["column"] for c in found["columns"]} | set(reasons) == set(frame.columns)
    assert "kind2: is not in the raw table" in text_of((tmp_path / "r.html").read_text())


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 50])
def test_a_chart_of_a_grid_has_no_more_bars_than_the_grid_has_cells(parts: int) -> None:
    data = dc.datasets.mixture(3000, 2, 3, random_state=0)
    made = dc.GridSynopsis(1.0, data.domain, [parts, 4], random_state=0).fit(data.X).synopsis_
    shown = {m["column"]: m for m in views.marginals(made)}[data.domain.names[0]]
    assert shown["divided"] == (parts > 1)
    assert len(shown["counts"]) == parts if parts <= 40 else len(shown["counts"]) <= 25
    assert sum(shown["counts"]) == pytest.approx(float(made.weights.sum()))
    if parts > 1:
        assert shown["assumed"] == [0.0] * len(shown["counts"])


def test_a_chart_of_a_tree_tells_what_lies_in_a_bar_from_what_is_assumed_to() -> None:
    lower, upper = [[0, 0], [50, 0], [0, 5]], [[50, 5], [100, 5], [100, 10]]
    made = BoxSynopsis(
        dc.Domain({"a": (0, 100), "b": (0, 10)}),
        lower=lower,
        upper=upper,
        weights=[10, 30, 60],
        variances=[1.0, 1.0, 1.0],
        guarantee=dc.Guarantee("central"),
    )
    found = made.marginal("a", [0, 50, 100])
    assert found.counts.tolist() == [40, 60]
    assert found.assumed is not None
    assert found.assumed.tolist() == [30, 30]  # half of the leaf that reaches over both
    assert made.marginal("b").assumed.tolist() == [0, 0]  # type: ignore[union-attr]
    picture = svg.bars(["0", "50"], [40, 60], title="a", axis="rows", assumed=[30, 30])
    assert picture.count('class="hatch"') == 2


@pytest.mark.parametrize("partitioner", ["binary", "median", "privtree"])
def test_charts_of_trees_add_up(partitioner: str) -> None:
    data = dc.datasets.mixture(5000, 3, 4, random_state=1)
    made = dc.TreeSynopsis(1.0, data.domain, partitioner, max_depth=6, random_state=0).fit(data.X).synopsis_
    for shown in views.marginals(made):
        assert sum(shown["counts"]) == pytest.approx(float(made.weights.sum()))
        assert shown["edges"] == sorted(set(shown["edges"]))


def test_the_picture_for_a_browser_marks_what_is_not_known(release: Synopsis) -> None:
    pytest.importorskip("plotly")
    figure = release.plot(columns=("age",))
    assert "not known: age was not divided" in figure.layout.title.text
    assert "not listed" in figure.layout.title.text
    assert figure.data[0].marker.pattern.shape == "/"
    assert float(np.abs(figure.data[1].y).sum()) == 0  # nothing of it is known
    known = release.plot(columns=("kind0",))
    assert len(known.data) == 1
    assert known.data[0].marker.pattern.shape is None


def test_the_default_release_of_a_census_adds_up(tmp_path: Path) -> None:
    try:
        records = adult()
    except DiscreetError:
        pytest.skip("the table is not here")
    made = dc.GridSynopsis(1.0, records.domain, random_state=1).fit(records.table).synopsis_
    assert made.unlisted is not None
    assert made.count().value == made.total == pytest.approx(made.weights.sum() + made.unlisted.value)
    made.save(tmp_path / "s.parquet")
    facts = report_facts(tmp_path / "s.parquet")["release"]
    assert facts["rows"] == pytest.approx(facts["unlisted"]["listed_rows"] + facts["unlisted"]["rows"])
    assert {m["column"] for m in facts["marginals"] if not m["divided"]} == set(made.uncut)
