"""A page shows days as days, sums what lies over each other, and believes no file whose seal is broken."""

from __future__ import annotations

import re
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from command_line import run
from discreet.accounts.facts import terms_of
from discreet.reporting import report_facts, views, write_report
from discreet.reporting.pages import plane
from discreet.reporting.pages.counted import prepared
from discreet.reporting.pages.report import report_page
from discreet.synopses import BoxSynopsis, ModelSynopsis, Synopsis
from discreet.synopses.marginals.measured import Marginals, MeasuredMarginal

pytestmark = pytest.mark.usefixtures("few_steps")


def test_days_of_a_perturbed_table_are_a_histogram(tmp_path: Path) -> None:
    days = np.datetime64("2025-01-01") + np.arange(365)
    domain = dc.Domain({"day": {"bounds": ["2025-01-01", "2025-12-31"]}, "cost": (0, 100)})
    noisy = dc.metric.NDLaplace(epsilon=2, radius=0.1, domain=domain, remap="clip", random_state=1)
    noisy.transform_file(pa.table({"day": pa.array(days), "cost": np.arange(365) % 100.0}), tmp_path / "noisy.csv")
    write_report(tmp_path / "noisy.csv", tmp_path / "page.html")
    found = next(m for m in report_facts(tmp_path / "noisy.csv")["release"]["marginals"] if m["column"] == "day")
    assert found["dates"]
    assert 10 < len(found["counts"]) <= 24
    assert sum(found["counts"]) == 365
    assert found["ends"][0] >= "2025-01-01"
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "mostly assumed" not in page  # nothing is: it is what was released
    assert "each value is noisy" in page


def test_no_page_speaks_of_what_is_not_on_it(tmp_path: Path) -> None:
    dc.GridSynopsis(10.0, (0, 1), rule=2).fit([[0.5]] * 50).synopsis_.save(tmp_path / "s.parquet")
    facts = write_report(tmp_path / "s.parquet", tmp_path / "page.html")
    assert facts["attacks"] == []
    assert "below" not in re.sub("below zero", "", " ".join(facts["promise"]["plain"]))


def test_boxes_over_each_other_add_up_in_the_picture() -> None:
    """In two of many columns, leaves of a tree cover each other: drawn one over the other, the last would be all."""
    lower, upper = np.zeros((11, 2)), np.array([[1.0, 1.0]] * 10 + [[0.25, 0.25]])
    how = {"title": "t", "x": "a", "y": "b", "low": [0, 0], "high": [1, 1]}
    shown = str(plane.boxes(lower, upper, [*range(1, 11), 30.0], **how))
    shades = {float(s) for s in re.findall(r'class="people" fill-opacity="([\d.]+)" d="M', shown)}
    assert len(shades) == 2
    flat = str(plane.boxes(lower[2:3], upper[2:3], [1.0], **how))
    assert flat.count('<path class="people"') == 1


def test_the_picture_is_of_the_columns_that_were_distinguished() -> None:
    domain = dc.Domain({"a": (0, 1), "b": (0, 1), "c": (0, 1)})
    lower = [[0, 0, 0], [0, 0, 0.5], [0, 0.5, 0], [0, 0.5, 0.5], [0.9, 0, 0]]
    upper = [[1, 0.5, 0.5], [1, 0.5, 1], [1, 1, 0.5], [1, 1, 1], [1, 1, 1]]
    how = {"weights": [10, 20, 30, 40, 1], "variances": [1.0] * 5, "guarantee": dc.Guarantee("central")}
    made = BoxSynopsis(domain, lower=lower, upper=upper, **how)
    found = views.plane(made)
    assert found is not None
    assert found["columns"] == ["b", "c"]


def test_a_broken_seal_leaves_no_promise_on_the_first_screen(tmp_path: Path) -> None:
    domain = dc.Domain({"age": {"bounds": [0, 120], "role": "quasi-identifier"}})
    release = dc.anonymity.DensityTree(k=5, domain=domain).fit_transform(pa.table({"age": list(range(20, 60))}))
    place = tmp_path / "safe.csv"
    release.save(place)
    write_report(place, tmp_path / "page.html")
    assert "Everyone is hidden among" in (tmp_path / "page.html").read_text("utf-8")
    place.write_text(place.read_text() + '"[0, 1)"\n')
    write_report(place, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "Everyone is hidden among" not in page
    assert "Nothing that you can rely on" in page
    assert "<h2>What was claimed</h2>" in page
    assert "<h2>What is promised</h2>" not in page


def test_one_bar_over_everything_is_not_known(tmp_path: Path) -> None:
    """A column that was cut for a handful of rows has no distribution to show, and the first screen says so."""
    domain = dc.Domain({"a": (0, 1), "b": (0, 1), "c": (0, 1)})
    lower = [[0, 0, 0], [0.5, 0, 0], [0.5, 0.5, 0]]
    upper = [[0.5, 1, 1], [1, 0.5, 1], [1, 1, 1]]
    how = {"weights": [500, 2, 2], "variances": [1.0] * 3, "guarantee": dc.Guarantee("central"), "uncut": ["c"]}
    made = BoxSynopsis(domain, lower=lower, upper=upper, **how)
    found = {m["column"]: m for m in views.marginals(made)}
    assert found["a"]["divided"]
    assert not found["b"]["divided"]
    assert found["b"]["why"] == views.HARDLY_DIVIDED
    assert "why" not in found["c"]
    made.save(tmp_path / "s.parquet")
    write_report(tmp_path / "s.parquet", tmp_path / "page.html")
    assert "3 of 3 columns are of no use: mostly noise, too coarse, or not known" in (tmp_path / "page.html").read_text(
        "utf-8"
    )


def test_a_longitude_and_a_latitude_are_drawn_as_a_map() -> None:
    names = ("age", "hours", "Breite", "Länge")
    lower, upper = np.array([[0] * 4, [0.5] * 4]), np.array([[0.5] * 4, [1] * 4])
    made = {
        some: BoxSynopsis(
            dc.Domain(dict.fromkeys(some, (0, 1))), lower=lower[:, : len(some)], upper=upper[:, : len(some)],
            weights=[5, 5], variances=[1.0, 1.0], guarantee=dc.Guarantee("central"),
        )
        for some in (names, names[:3])
    }  # fmt: skip
    assert [(views.plane(each) or {})["columns"] for each in made.values()] == [["Länge", "Breite"], ["age", "hours"]]


def test_the_key_of_a_map_has_a_figure_for_people_that_ends_inside_the_picture() -> None:
    how = {"title": "t", "x": "a", "y": "b", "low": [0, 0], "high": [1, 1]}
    for density, text in ((163.0, "160 or more"), (123456789.0, "123,456,789 or more")):
        shown = str(plane.boxes([[0, 0]], [[1, 1]], [density], **how))
        key = re.search(rf'<text class="tick end" x="([\d.]+)" y="13">{text}</text>', shown)
        width = re.search(r'viewBox="0 0 ([\d.]+)', shown)
        assert key is not None
        assert width is not None
        assert float(key[1]) <= float(width[1])


def test_intervals_of_the_first_rows_are_not_broken_at_their_comma(tmp_path: Path) -> None:
    domain = dc.Domain({"age": {"bounds": (0, 120), "role": "quasi-identifier"}})
    dc.anonymity.DensityTree(k=4, domain=domain).fit_transform(pa.table({"age": [30] * 9 + [80] * 9})).save(
        tmp_path / "safe.csv"
    )
    write_report(tmp_path / "safe.csv", tmp_path / "page.html")
    assert re.search("<td[^>]*>\\[\\d+,\u00a0\\d+[\\])]</td>", (tmp_path / "page.html").read_text("utf-8"))


def test_an_axis_says_what_its_numbers_are_multiples_of_and_few_whole_numbers_have_a_bar_each() -> None:
    from discreet.reporting.facts import _perturbed
    from discreet.reporting.pages import svg

    assert "1.0 millions" in svg.bars(["a"], [3.0], title="t", axis="rows", edges=[0.0, 2e6])
    rows = pa.table({"grade": [1.0, 1.0, 16.0, 3.0], "job": ["x", None, None, None]})
    promise = dc.Guarantee.from_ledger(dc.Ledger(epsilon=1), model="central")
    grade, job = _perturbed(rows, promise)["marginals"]
    assert len(grade["counts"]) == 16
    assert grade["counts"][:3] == [2, 0, 1]
    assert grade["labels"][0] == "1"
    assert job["labels"] == ["no value", "x"]


@pytest.fixture(scope="module")
def wide_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a model of 200 columns by hand, as fitting one takes longer than reading it."""
    names = [f"answer_{j:03d}" for j in range(199)]
    domain = dc.Domain({**{name: dc.Integer(0, 3) for name in names}, "ill": ["no", "yes"]})
    rng = np.random.default_rng(0)
    cells = np.column_stack([rng.integers(0, 4, (1500, 199)), rng.integers(0, 2, 1500)])
    single = [
        MeasuredMarginal((j,), (tuple(range(n)),), tuple(np.bincount(cells[:, j], minlength=n).tolist()), 90.0)
        for j, n in enumerate([4] * 199 + [2])
    ]
    pairs = [
        MeasuredMarginal((j, 199), ((0, 1, 2, 3), (0, 1)), tuple(np.full(8, 187).tolist()), 400.0) for j in range(150)
    ]
    bins = tuple(tuple(range(n)) for n in [4] * 199 + [2])
    low = cells - np.array([0.5] * 199 + [0.0])
    ledger = dc.Ledger(epsilon=1)
    for j in range(350):
        ledger.spend(f"marginal {j}", Fraction(1, 350))
    promise = dc.Guarantee.from_ledger(ledger, model="central", parameters={"target": "ill"})
    made = ModelSynopsis(domain, lower=low, upper=low + 1.0, weights=np.ones(1500), variances=np.zeros(1500),
                    guarantee=promise, measured=Marginals(bins, (*single, *pairs)), total_variance=90.0)  # fmt: skip
    place = tmp_path_factory.mktemp("wide") / "wide.parquet"
    made.save(place)
    return place


@pytest.mark.slow
def test_a_model_of_200_columns_has_a_page_to_read(wide_release: Path) -> None:
    begin = time.process_time()
    page = report_page(report_facts(wide_release))
    assert time.process_time() - begin < 10  # about one second
    assert len(page.encode()) < 300_000
    charts = re.findall(r"<figcaption[^>]*>([^<,:]*)", page)
    assert 5 < len(charts) < 20
    assert "ill" in charts[0] + charts[1]  # what the table was made for comes before what happens to stand first
    visible = re.sub(r"<style.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)
    assert (
        "and 168 more: only the first 12 columns" in visible
    )  # of 200 columns 12 have a chart, and 20 others are named
    shown = page.partition("<details")[0]
    assert shown.count("marginal ") < 20 < page.count("marginal ")  # lines of the ledger
    assert max(map(len, visible.split())) < 100


def test_synthetic_rows_are_called_that_and_the_target_has_a_chart(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"x{j:02d}" for j in range(14)]
    table = pa.table({**{name: rng.integers(0, 3, 300) for name in names}, "ill": rng.choice(["no", "yes"], 300)})
    domain = dc.Domain({**{name: dc.Integer(0, 2) for name in names}, "ill": ["no", "yes"]})
    pq.write_table(table, tmp_path / "t.parquet")
    outputs = {"table": "rows.csv", "release": "s.parquet"}
    dc.Job("synthesize", "t.parquet", domain.to_dict(), {"epsilon": 1, "target": "ill"}, outputs, tmp_path).run()
    page = report_page(report_facts(tmp_path / "rows.csv"))
    assert "ill, in the synthetic rows" in page
    assert "each value is noisy" not in page
    page = report_page(report_facts(tmp_path / "s.parquet"))
    assert "<figcaption>ill" in page


@pytest.mark.slow
def test_intervals_of_a_model_hold_its_own_error_and_no_plane_was_counted(wide_release: Path) -> None:
    release = report_facts(wide_release)["release"]
    assert release["plane"] is None
    made = Synopsis.load(wide_release).marginal("ill")
    assert (made.evenness_errors > 0).any()  # the pairs say otherwise than the single column
    shown = next(m for m in release["marginals"] if m["column"] == "ill")
    assert shown["std_errors"] == made.std_errors.tolist()


def test_what_was_predicted_comes_first_in_a_comparison() -> None:
    columns = [{"column": "age"}, {"column": "sex"}, {"column": "ill"}]
    facts = {"kind": "synopsis", "parameters": {"target": "sex"}, "release": {}, "comparison": {"columns": columns}}
    assert [c["column"] for c in prepared(facts)["comparison"]["columns"]] == ["sex", "age", "ill"]
    facts["comparison"] |= {"together": {"utility": {"target": "ill"}}}  # what was asked of the comparison itself
    assert [c["column"] for c in prepared(facts)["comparison"]["columns"]] == ["ill", "age", "sex"]


def test_the_headline_of_a_second_release_holds_for_readers_of_all_releases(tmp_path: Path) -> None:
    domain = dc.Domain(
        {
            "who": {"bounds": [0, 999], "role": "person"},
            "age": {"kind": "integer", "bounds": [0, 99], "role": "quasi-identifier"},
        }
    )
    ages = [20] * 20 + [70] * 20
    tree, history = dc.anonymity.DensityTree(5, domain=domain), dc.anonymity.ReleaseHistory(tmp_path / "people")
    for n, name in ((30, "one.csv"), (40, "two.csv")):
        release = tree.fit_transform(pa.table({"who": list(range(n)), "age": ages[:n]}), history=history)
        release.save(tmp_path / name)
    told = release.guarantee.parameters
    alone, together = told["reached"]["k"], told["reached_together"]["k"]
    assert together < alone
    assert terms_of(release.guarantee)["k"] == together
    write_report(tmp_path / "two.csv", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    first = page.partition("<h2>What is promised</h2>")[0]
    assert f"Everyone is hidden among {together} persons" in first
    assert "(quasi-identifiers): age." in first
    assert f"is identical to at least {together - 1} others" in first
    assert f"{alone} persons can be told apart in this table alone, {together} with earlier releases (1)." in first
    assert "so many" not in page  # each person has one row
    german = report_page(report_facts(tmp_path / "two.csv"), "de")
    assert f"Gruppe von weniger als {alone} Personen unterscheiden, zusammen mit früheren Freigaben (1) keine" in german
    assert "|{person(s) : QI(s) = QI(r)}|" in page


def test_pages_of_randomised_files_do_not_say_where_that_happened(tmp_path: Path) -> None:
    noisy = dc.metric.NDLaplace(epsilon=2, radius=0.1, domain=dc.Domain({"x": (0, 1)}), random_state=1)
    noisy.transform_file(pa.table({"x": np.linspace(0, 1, 50)}), tmp_path / "noisy.csv")
    sketch = dc.local.DirectResponse(2, domain=["a", "b"])
    (tmp_path / "c.counts").write_bytes(sketch.aggregate(sketch.encode(["a", "b"] * 20)).to_bytes())
    for name in ("noisy.csv", "c.counts"):
        said = " ".join(report_facts(tmp_path / name)["promise"]["plain"])
        whom = "only the result, not against a party that holds the true values"
        if name == "c.counts":
            whom = "the reports: against the collector too, if users randomised their own values"
        assert f"against anyone who sees {whom}" in said
        assert not re.search("device|not kept|never received", said)


def test_the_page_of_an_answer_shows_question_and_answers_and_draws_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("flow,town\n" + "1,a\n2,b\n" * 50)
    (tmp_path / "s.toml").write_text('[columns]\nflow = {bounds = [0, 5]}\ntown = {categories = ["a", "b"]}\n')
    query = "SELECT town, COUNT(*), AVG(flow) FROM t GROUP BY town"
    given = [str(tmp_path / "t.csv"), query, "--schema", str(tmp_path / "s.toml"), "--epsilon", "1", "--level", "0.9"]
    assert run("query", *given, "-o", str(tmp_path / "answer.csv")).exit_code == 0
    for language, caption in (("en", "with 90 % intervals"), ("de", "mit 90-%-Intervallen")):
        facts = write_report(tmp_path / "answer.csv", tmp_path / "page.html", language=language)
        page = (tmp_path / "page.html").read_text("utf-8")
        assert page.count(query) >= 2
        assert caption in page
        assert "each value is noisy" not in page
        assert "<figure>" not in page
    shown = facts["release"]["answers"]
    assert [row[0] for row in shown["shown"]] == ["a", "b"]
    assert ", ".join(shown["columns"]) in page
