"""Answers of a synopsis: what they are, which part of their error is noise, and what two answers share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DiscreetError, InvalidArgument, InvalidType
from discreet.synopses import BoxSynopsis, Count, Figure, Synopsis
from handmade_synopses import PEOPLE, people, promise, survivors


def line(*weights: float, variance: float = 4.0, **more: Any) -> Synopsis:
    """Return leaves of width 10 side by side."""
    n = len(weights)
    return BoxSynopsis(
        dc.Domain({"x": (0, 10 * n)}),
        lower=[[10 * i] for i in range(n)],
        upper=[[10 * (i + 1)] for i in range(n)],
        weights=list(weights),
        variances=[variance] * n,
        guarantee=promise(),
        **more,
    )


def plane() -> Synopsis:
    """Return nine ages by two sexes, without noise to speak of."""
    domain = dc.Domain({"age": dc.Integer(0, 89), "sex": ["f", "m"], "born": ("1930-01-01", "2020-12-31")})
    low, high = domain.low[2], domain.high[2]
    places = [(a, s) for a in range(9) for s in range(2)]
    return BoxSynopsis(
        domain,
        lower=[[10 * a - 0.5, s, low] for a, s in places],
        upper=[[10 * a + 9.5, s + 1, high] for a, s in places],
        weights=[100 + 10 * a + 5 * s for a, s in places],
        variances=[1.0] * 18,
        guarantee=promise(),
        uncut=["born"],
    )


# Two parts of an error


def test_a_question_that_cuts_no_leaf_errs_by_noise_alone() -> None:
    answer = line(50, 70, 90).count(x=(10, 30))
    assert (answer.value, answer.noise_error, answer.evenness_error) == (160, math.sqrt(8), 0)
    assert answer.std_error == answer.noise_error
    assert repr(answer) == "Count(160 ± 2.83)"


def test_the_slope_of_the_neighbours_is_in_the_error_of_a_leaf_that_is_cut() -> None:
    steep, flat = line(0, 100, 200), line(100, 100, 100)
    cut = steep.count(x=(10, 15))
    # The line through 0 and 200 rises by 100 rows per leaf: half of the leaf holds 12.5 rows less than 50.
    assert cut.evenness_error is not None
    assert cut.evenness_error >= 100 / 2 * 0.25
    even = flat.count(x=(10, 15))
    assert even.evenness_error == pytest.approx(math.sqrt(100 * 0.25))  # rows are few; nothing else is to be seen
    assert even.noise_error == cut.noise_error == 1.0
    assert cut.std_error == pytest.approx(math.hypot(1.0, cut.evenness_error))


def test_a_column_that_was_never_cut_is_not_known() -> None:
    answer = plane().count(born=("1930-01-01", "1975-07-02"))
    assert answer.evenness_error is not None
    low, high = answer.interval(0.95)
    assert low < 0.05 * plane().total  # nothing says that rows are not all on one side
    assert high > 0.95 * plane().total


def test_a_leaf_alone_errs_by_no_more_than_all_its_rows() -> None:
    half = line(5000).count(x=(0, 5))
    # Nothing next to it: all rows may be on one side, and rows that fall evenly vary by sqrt(5000) / 2.
    assert half.evenness_error == pytest.approx(math.sqrt(2500**2 + 5000 / 4))


def test_intervals_of_counts_do_not_go_below_zero_but_those_of_differences_do() -> None:
    s = line(2, 3)
    assert s.count(x=(0, 10)).interval(0.99)[0] == 0
    assert (s.count(x=(0, 10)) + s.count(x=(10, 20))).interval(0.9999)[0] == 0
    assert (s.count(x=(0, 10)) - s.count(x=(10, 20))).interval(0.95)[0] < 0
    assert line(-50, 3).count(x=(0, 10)).interval() == (0, 0)
    assert min(s.marginal("x").to_arrow()["low"].to_pylist()) == 0


def test_noise_alone_says_so() -> None:
    answer = line(0, 100, 200).count(x=(10, 15)).noise_alone()
    assert repr(answer) == "Count(50 ± 1, noise alone)"
    assert answer.std_error == answer.noise_error
    assert answer.to_dict()["evenness_error"] is None
    assert "noise alone" in answer._repr_html_()
    assert (answer + answer).evenness_error is None
    assert (answer / answer).evenness_error is None


def test_intervals_widen_with_the_level_and_have_room_for_one_laplace_count() -> None:
    answer = Count(100, 3.0, 4.0)
    low, high = answer.interval()
    assert (low + high) / 2 == 100
    assert high - 100 == pytest.approx(5 * math.log(20) / math.sqrt(2))
    assert answer.interval(0.5)[1] < high < answer.interval(0.99)[1]
    assert Count(100, 3.0, 4.0, unlisted=30).interval() == (low, high + 30)
    for bad in (0, 1, 95, math.nan):
        with pytest.raises(InvalidArgument, match="level"):
            answer.interval(bad)


# Sums and differences


def test_what_two_counts_share_is_counted_once() -> None:
    s = line(50, 70, 90)
    a, b = s.count(x=(0, 20)), s.count(x=(10, 30))
    assert (a - b) == Count(-40, math.sqrt(8), 0)  # the middle leaf has no part in it
    assert (a + b).noise_error == pytest.approx(math.sqrt(4 + 4 * 4 + 4))
    assert (a - a) == Count(0, 0, 0)
    assert (2 * a).noise_error == pytest.approx(2 * a.noise_error) == (a + a).noise_error
    assert (-a).value == -a.value
    assert sum([s.count(x=(0, 10)), s.count(x=(10, 30))]) == Count(210, math.sqrt(12), 0)
    assert (s.count() - s.count(x=(0, 20))) == Count(90, 2, 0)
    assert (a / 2).value == 60


@given(st.floats(0, 30), st.floats(0, 30), st.floats(0, 30))
@settings(max_examples=60, deadline=None)
def test_a_sum_of_neighbouring_boxes_errs_as_the_box_they_make(x: float, y: float, z: float) -> None:
    s = line(20, 100, 45)
    a, b, c = sorted([x, y, z])
    parts, whole = s.count(x=(a, b)) + s.count(x=(b, c)), s.count(x=(a, c))
    assert parts.value == pytest.approx(whole.value)
    assert parts.noise_error == pytest.approx(whole.noise_error, abs=1e-6)
    assert parts.evenness_error == pytest.approx(whole.evenness_error, abs=1e-4)


def test_two_releases_have_independent_errors() -> None:
    north, south = line(50, 70), line(60, 80)
    found = north.count(x=(0, 10)) + south.count(x=(0, 10)) + north.count(x=(10, 20))
    assert (found.value, found.noise_error) == (180, pytest.approx(math.sqrt(12)))


def test_only_counts_of_synopses_are_added() -> None:
    a = line(50, 70).count(x=(0, 10))
    with pytest.raises(InvalidType, match="another count"):
        a + 3
    with pytest.raises(InvalidArgument, match="a count that a synopsis gave"):
        a + Count(1, 1)
    with pytest.raises(DiscreetError):
        a / 0
    with pytest.raises(TypeError):
        a * a  # type: ignore[operator]
    assert math.isnan((a / line(0, 0).count(x=(0, 10))).value)


def test_the_error_of_a_difference_is_what_simulation_gives() -> None:
    rng = np.random.default_rng(5)
    truth = np.array([500.0, 700, 900])
    draws = []
    for _ in range(400):
        s = line(*(truth + rng.laplace(0, 2, 3)).tolist(), variance=8.0)
        draws.append((s.count(x=(0, 20)) - s.count(x=(10, 25))).value)
    told = line(*truth.tolist(), variance=8.0)
    wanted = told.count(x=(0, 20)) - told.count(x=(10, 25))
    # 400 draws: the standard deviation is within 20 % but for once in 10,000.
    assert np.std(draws) == pytest.approx(wanted.noise_error, rel=0.2)


# Shares, means, quantiles


def test_shares_are_ratios_with_what_both_share_counted_once() -> None:
    s = line(60, 40)
    share = s.share({"x": (0, 10)})
    # 60 of 100: the error is that of (0.4 a - 0.6 b) / 100.
    assert (share.value, share.noise_error) == (0.6, pytest.approx(2 * math.hypot(0.4, 0.6) / 100))
    assert s.share("x < 10", given="x < 10") == Figure(1, 0, 0)
    assert plane().share("sex = 'm'", given="age < 10").value == pytest.approx(105 / 205)
    assert s.cdf("x", 10) == share
    assert plane().cdf("age", 9).value == pytest.approx(205 / plane().total)


def test_means_are_those_of_middles_with_both_errors() -> None:
    s = line(60, 40)
    mean = s.mean("x")
    assert mean.value == pytest.approx((60 * 5 + 40 * 15) / 100)
    assert mean.noise_error == pytest.approx(2 * math.hypot(5 - 9, 15 - 9) / 100)
    assert mean.evenness_error is not None
    assert 0 < mean.evenness_error < 5
    assert s.mean("x", where="x < 10").value == 5
    assert s.mean("x", where={"x": (0, 5)}).value == 2.5
    assert plane().mean("age", where={"age": 30}).value == pytest.approx(30)
    assert math.isnan(s.mean("x", where={"x": (3, 3)}).value)
    # A leaf without width has its rows where it is.
    flat = BoxSynopsis(
        dc.Domain.box(0, 10), lower=[[4], [10]], upper=[[4], [10]], weights=[30, 10], variances=[1.0, 1.0],
        guarantee=promise(),
    )  # fmt: skip
    assert flat.mean("x0").value == 5.5
    assert flat.mean("x0").evenness_error == 0


def test_quantiles_invert_the_distribution() -> None:
    s = line(50, 50, 100)
    assert s.quantile("x", 0.25).value == pytest.approx(10)
    assert s.quantile("x").value == pytest.approx(20)
    assert s.quantile("x", 0.75, where="x >= 20").value == pytest.approx(27.5)
    low, high = s.quantile("x").interval(0.95)
    assert low < 20 < high
    inside = s.quantile("x", 0.6)  # in a leaf, not between two
    widths = [np.ptp(f.interval(level)) for f, level in ((inside.noise_alone(), 0.95), (inside, 0.95), (inside, 0.99))]
    assert 0 < widths[0] < widths[1] <= widths[2]  # ends at edges of leaves
    assert set(inside.interval(0.95)) <= set(inside.edges.tolist())
    assert plane().quantile("age", 0.5).value == round(plane().quantile("age", 0.5).value)
    assert math.isnan(line(-5, 0).quantile("x").value)
    with pytest.raises(InvalidArgument, match="share"):
        s.quantile("x", 1.5)
    with pytest.raises(InvalidArgument, match="categories have no order"):
        plane().quantile("sex")


def test_a_mode_names_its_rivals() -> None:
    clear = line(50, 500, 40).mode("x")
    assert (clear.place, clear.count.value, clear.rivals) == ((10.0, 20.0), 500, ())
    close = line(50, 49, 10).mode("x")
    assert (close.place, close.rivals) == ((0.0, 10.0), ((10.0, 20.0),))
    assert plane().mode("sex").place == "m"
    assert plane().mode("age").place == (80, 89)  # both ends belong to it


# Tables


def test_tables_are_counts_of_their_groups() -> None:
    s = plane()
    found = s.table("sex", "age", bins={"age": [0, 20, 45, 90]}, where="age >= 10")
    assert found.counts.shape == (2, 3)
    rows = found.to_arrow().to_pylist()
    assert [(r["sex"], r["age_from"], r["age_to"]) for r in rows[:3]] == [("f", 0, 19), ("f", 20, 44), ("f", 45, 89)]
    for row in rows:
        asked = f"age >= 10 and age between {row['age_from']} and {row['age_to']} and sex = '{row['sex']}'"
        answer = s.ask(asked)
        assert row["count"] == pytest.approx(answer.value)
        assert row["noise_error"] == pytest.approx(answer.noise_error)
        assert row["evenness_error"] == pytest.approx(answer.evenness_error)
        assert (row["low"], row["high"]) == pytest.approx(answer.interval(0.95))
    assert found.counts.sum() == pytest.approx(s.ask("age >= 10").value)
    assert s.table("sex").counts.tolist() == [s.count(sex="f").value, s.count(sex="m").value]
    three = s.table("sex", "age", "born", bins={"born": 2, "age": 3})
    assert three.counts.shape == (2, 3, 2)
    assert three.to_arrow().schema.field("born_from").type == pa.date32()
    assert repr(three) == "<GroupTable by 'sex', 'age', 'born': 12 groups, 2,565 rows>"


def test_tables_become_frames() -> None:
    found = plane().table("sex")
    assert found.to_pandas()["count"].tolist() == found.counts.tolist()
    assert found.to_polars()["sex"].to_list() == ["f", "m"]
    marginal = plane().marginal("age")
    assert marginal.to_pandas()["count"].tolist() == marginal.counts.tolist() == marginal.to_polars()["count"].to_list()
    assert plane().to_polars().shape[0] == len(plane().to_pandas()) == 18
    assert plane().marginal("sex").plot().data[0].y.tolist() == plane().marginal("sex").counts.tolist()
    assert plane().marginal("age").plot().data[0].width.tolist() == [10] * 9


@pytest.mark.parametrize("columns", [(), ("sex", "sex"), ("age", "sex", "born", "age")])
def test_tables_have_one_to_three_columns(columns: tuple[str, ...]) -> None:
    with pytest.raises(InvalidArgument, match="one, two or three"):
        plane().table(*columns)


def test_tables_that_are_too_large_or_about_others_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="at most 100,000 groups"):
        plane().table("age", "born", bins={"born": 30_000})
    with pytest.raises(InvalidArgument, match="about columns of the table"):
        plane().table("sex", bins={"age": 3})
    with pytest.raises(InvalidArgument, match="level"):
        plane().table("sex", level=2)


def test_missing_and_unlisted_rows_keep_their_place() -> None:
    s = people()
    assert s.ask("sex is missing") == Count(-3, 2)
    assert s.marginal("sex").missing == s.ask("sex is missing")
    assert s.ask("age < 50").value == 58.5
    assert s.mean("age", where="sex is not missing").value == pytest.approx(45)
    some = survivors().ask("age < 50")
    assert some.unlisted > 0
    assert some.interval()[1] == pytest.approx(Count(some.value, some.std_error).interval()[1] + some.unlisted)
    assert PEOPLE.column("sex").missing == "own"


def test_leaves_next_to_each_other_are_found_in_trees_of_any_shape() -> None:
    # A wide leaf next to two narrow ones: its neighbour is the one that holds the place next to its middle.
    s = BoxSynopsis(
        dc.Domain.box([0, 0], [20, 10]),
        lower=[[0, 0], [10, 0], [10, 4]],
        upper=[[10, 10], [20, 4], [20, 10]],
        weights=[100, 8, 60],
        variances=[0.0, 0.0, 0.0],
        guarantee=promise(),
    )
    beside = s.neighbours.along(0, np.array([0]))
    # The one above has 60 rows on 60 units of area: 100 rows on the area of the wide leaf, so that it is even.
    assert beside.slope.tolist() == beside.bend.tolist() == [0]
    assert not beside.alone[0]
    assert s.neighbours.along(1, np.array([0])).alone.tolist() == [True]  # never cut on that axis


@pytest.mark.parametrize("parts", [9, 10, 23])
def test_every_day_is_counted_once_the_last_one_too(parts: int) -> None:
    """Leaves end between days or inside one, as it comes: a row is on its day, and questions are about days."""
    days = np.datetime64("2020-01-01") + np.repeat(np.arange(10), 100 * np.arange(1, 11))
    domain = dc.Domain({"d": ("2020-01-01", "2020-01-10")})
    frame = pa.table({"d": days})
    s = dc.GridSynopsis(epsilon=1e6, domain=domain, rule=parts, random_state=0).fit(frame).synopsis_
    held = [s.count(d=(str(day), str(day))) for day in np.unique(days)]
    both = parts == 9  # the last two days share a leaf, whose end is the last one
    expected = [*range(100, 900, 100), *([950, 950] if both else [900, 1000])]
    assert [round(c.value) for c in held] == expected
    for sign, true in (("<", 4500), (">=", 1000), ("<=", 5500), ("!=", 4500), (">", 0)):
        answer = s.ask(f"d {sign} '2020-01-10'")
        low, high = answer.interval(0.95)
        assert low - 1 <= true <= high + 1, sign
    assert s.cdf("d", "2020-01-03").value == pytest.approx(600 / 5500, abs=1e-4)
    assert s.ask("d between '2020-01-02' and '2020-01-04'").value == s.count(d=("2020-01-02", "2020-01-04")).value
    drawn = np.unique(s.sample(5500, 1).column("d").to_numpy(), return_counts=True)[1]
    np.testing.assert_allclose(drawn, expected, atol=120)
    table = s.table("d", bins={"d": ["2020-01-01", "2020-01-03", "2020-01-10"]}).to_arrow().to_pylist()
    assert [str(row["d_to"]) for row in table] == ["2020-01-02", "2020-01-10"]
    assert [round(row["count"]) for row in table] == [300, 5200]
