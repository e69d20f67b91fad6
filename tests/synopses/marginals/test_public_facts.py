"""Every synthetic row is in the domain and keeps what was declared: functions of columns, and what cannot occur."""

from __future__ import annotations

import datetime
import itertools
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.evaluation import broken_facts
from discreet.synopses.marginals import bins, population, release
from discreet.synopses.marginals.facts import make_possible

FOLLOWS = {"none": 0, "school": 9, "college": 13, "doctor": 20}
COLUMNS: dict[str, Any] = {
    "education": {"categories": list(FOLLOWS), "missing": "own"},
    "years": {"kind": "integer", "bounds": [0, 20], "missing": "own"},
    "age": dc.Integer(0, 99),
    "group": dc.Categorical("group", ["child", "adult", "old"], ordered=True),
    "sex": ["f", "m"],
    "relation": ["none", "wife", "husband"],
    "gain": {"bounds": [0.0, 99_999.0], "missing": "own"},
    "salary": dc.Integer(0, 250_000),
    "bracket": ["low", "high"],
    "arrived": dc.Time("06:00", "22:00"),
    "shift": ["early", "late"],
    "met": (datetime.date(2000, 1, 1), datetime.date(2023, 12, 31)),
    "size": dc.Categorical("size", ["S", "M", "L"], ordered=True, missing="own"),
}
FUNCTIONS = {
    "years": {"education": FOLLOWS},
    "group": {"age": {"0..17": "child", (18, 64): "adult", "65..99": "old"}},
    "bracket": {"salary": {"0..61234": "low", "61235..250000": "high"}},
    "shift": {"arrived": {"06:00..13:29:59": "early", "13:30..22:00": "late"}},
}
IMPOSSIBLE = [
    {"sex": "m", "relation": "wife"},
    {"sex": "f", "relation": "husband"},
    {"age": (0, 15), "relation": ["wife", "husband"]},
    {"group": "child", "gain": (0.5, 99_999.0)},
    {"years": (13, 20), "age": (0, 17)},
    {"met": ("2019-05-17", "2023-12-31"), "size": "L", "sex": "f"},
    {"salary": (1, 250_000), "group": "child"},
]
DOMAIN = dc.Domain(COLUMNS, functions=FUNCTIONS, impossible=IMPOSSIBLE)


@lru_cache
def people(n: int = 3000) -> pd.DataFrame:
    """Rows that mostly keep to the facts; one in twenty breaks them as it likes, and no function is true."""
    rng = np.random.default_rng(3)
    age = rng.integers(0, 100, n)
    sex = rng.integers(0, 2, n)
    wed = (rng.random(n) < 0.5) & ((age > 15) | (rng.random(n) < 0.05))
    swapped = rng.random(n) < 0.05
    relation = np.where(wed, np.where((sex == 0) ^ swapped, 1, 2), 0)
    grown = (age > 17) | (rng.random(n) < 0.05)
    gain = np.where(grown & (rng.random(n) < 0.3), rng.gamma(2.0, 3000.0, n), 0.0)
    gain[rng.random(n) < 0.1] = np.nan
    education = np.where(grown, rng.integers(0, 4, n), rng.integers(0, 2, n))
    names = np.array(list(FOLLOWS), dtype=object)[education]
    names[rng.random(n) < 0.1] = None
    size = np.array(["S", "M", "L"], dtype=object)[rng.integers(0, 3, n)]
    size[rng.random(n) < 0.1] = None
    seconds = rng.integers(6 * 3600, 22 * 3600 + 1, n)
    return pd.DataFrame(
        {
            "education": names, "years": rng.integers(-5, 90, n), "age": age, "group": "?",
            "sex": np.array(["f", "m"])[sex], "relation": np.array(["none", "wife", "husband"])[relation],
            "gain": gain, "salary": np.where(grown, rng.integers(0, 250_001, n), 0), "bracket": "high",
            "arrived": [f"{s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}" for s in seconds], "shift": None,
            "met": np.datetime64("2000-01-01") + rng.integers(0, 8766, n).astype("timedelta64[D]"), "size": size,
        }
    )  # fmt: skip


@lru_cache
def made(epsilon: float = 1.0, delta: float = 1e-6) -> dc.Synopsis:
    return dc.MarginalSynopsis(epsilon, DOMAIN, delta=delta, random_state=5).fit(people()).synopsis_


def broken(rows: pa.Table) -> dict[str, int]:
    """Count the rows that break each thing that was declared, by means that have nothing to do with the library."""
    at = {name: rows[name].combine_chunks() for name in rows.column_names}
    seconds = at["arrived"].cast(pa.time64("us")).cast(pa.int64()).to_numpy() // 10**6
    age, salary = at["age"].to_numpy(), at["salary"].to_numpy()
    gain = at["gain"].to_numpy(zero_copy_only=False)
    met = at["met"].to_numpy(zero_copy_only=False).astype("datetime64[D]")
    education, sex, relation, group, bracket, shift, size = (
        at[name].to_pandas().to_numpy()
        for name in ("education", "sex", "relation", "group", "bracket", "shift", "size")
    )
    years = at["years"].to_numpy(zero_copy_only=False).astype(np.float64)
    expected = pd.Series(education).map(FOLLOWS).to_numpy(np.float64)
    child = age < 18
    found = {
        "education": ~(pd.isna(education) | np.isin(education.astype(str), list(FOLLOWS))),
        "sex": ~np.isin(sex.astype(str), ["f", "m"]),
        "relation": ~np.isin(relation.astype(str), ["none", "wife", "husband"]),
        "size": ~(pd.isna(size) | np.isin(size.astype(str), ["S", "M", "L"])),
        "age": ~((age >= 0) & (age <= 99)),
        "gain": ~(np.isnan(gain) | ((gain >= 0) & (gain <= 99_999))),
        "salary": ~((salary >= 0) & (salary <= 250_000)),
        "arrived": ~((seconds >= 6 * 3600) & (seconds <= 22 * 3600)),
        "met": ~((met >= np.datetime64("2000-01-01")) & (met <= np.datetime64("2023-12-31"))),
        "years follow": ~((years == expected) | (np.isnan(years) & np.isnan(expected))),
        "group follows": group != np.where(child, "child", np.where(age < 65, "adult", "old")),
        "bracket follows": bracket != np.where(salary <= 61_234, "low", "high"),
        "shift follows": shift != np.where(seconds < 13.5 * 3600, "early", "late"),
        "male wives": (sex == "m") & (relation == "wife"),
        "female husbands": (sex == "f") & (relation == "husband"),
        "wed at school": (age <= 15) & (relation != "none"),
        "gains of children": child & (gain >= 0.5),
        "years of children": child & (years >= 13),
        "large late women": (met >= np.datetime64("2019-05-17")) & (size == "L") & (sex == "f"),
        "salaries of children": child & (salary >= 1),
    }
    return {name: int(rows.sum()) for name, rows in found.items() if rows.any()}


def check(rows: pa.Table, n: int) -> None:
    assert rows.num_rows == n
    assert rows.column_names == list(COLUMNS)
    for name in ("age", "years", "salary"):
        assert rows[name].type == pa.int64()
    assert pa.types.is_date(rows["met"].type)
    assert broken(rows) == {}
    # Nothing of the above is true because there is nothing to be found.
    for name, value in (
        ("relation", "wife"),
        ("relation", "husband"),
        ("group", "child"),
        ("size", "L"),
        ("years", 20),
    ):
        assert pc.sum(pc.equal(rows[name], value)).as_py() > n // 100, name
    assert rows["education"].null_count > n // 100
    assert rows["education"].null_count == rows["years"].null_count


@pytest.mark.slow
def test_a_hundred_thousand_rows_keep_everything():
    check(made().sample(100_000, rng=1), 100_000)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.02, 0.0)], ids=["usual", "hardly any budget"])
def test_a_million_rows_keep_everything(epsilon, delta):
    rows = made(epsilon, delta).sample(1_000_000, rng=2)
    assert broken(rows) == {}
    if epsilon == 1:
        check(rows, 1_000_000)


def test_the_checker_sees_what_is_broken():
    rows = pa.table(made().sample(1000, rng=1).to_pandas().assign(years=3, sex="m", relation="wife", age=120))
    assert {"years follow", "male wives", "age", "group follows"} <= set(broken(rows))


def test_an_auditor_sees_it_too():
    """The library's own check finds what the one above finds, fact by fact."""
    rows = made().sample(5000, rng=1)
    assert broken_facts(rows, DOMAIN) == ()
    frame = rows.to_pandas()
    for changes, words in (
        ({"years": 3}, "years is a function"),
        ({"group": "old"}, "group is a function"),
        ({"bracket": "low"}, "bracket is a function"),
        ({"shift": "late"}, "shift is a function"),
        ({"sex": "m"}, "no row has sex = m and relation = wife"),
        ({"met": datetime.date(2019, 5, 17)}, "no row has met = 2019-05-17"),
        ({"gain": 0.5}, "no row has group = child and gain"),
    ):
        found = broken_facts(pa.Table.from_pandas(frame.assign(**changes)), DOMAIN)
        assert any(text.startswith(words) for text in found), (changes, found)
    assert broken_facts(pa.Table.from_pandas(frame.assign(met=datetime.date(2019, 5, 16))), DOMAIN) == ()


def test_without_facts_the_same_table_breaks_them():
    """Facts hold because they are declared, not by chance."""
    plain = dc.Domain({n: c for n, c in COLUMNS.items() if n in ("age", "sex", "relation")})
    rows = dc.MarginalSynopsis(1.0, plain, random_state=5).fit(people()).synopsis_.sample(20_000, rng=1).to_pandas()
    assert ((rows.sex == "m") & (rows.relation == "wife")).any()
    assert ((rows.age <= 15) & (rows.relation != "none")).any()


@pytest.mark.usefixtures("few_steps")
def test_a_column_that_follows_costs_nothing_and_is_never_read():
    columns = {n: COLUMNS[n] for n in ("education", "years", "sex")}
    told = dc.Domain(columns, functions={"years": FUNCTIONS["years"]})
    settings = {"epsilon": 1.0, "delta": 1e-6, "random_state": 7}
    frame = people()[["education", "years", "sex"]]
    fits = [
        dc.MarginalSynopsis(domain=told, **settings).fit(table).synopsis_
        for table in (frame, frame.assign(years=None), frame.drop(columns="years"))
    ]
    assert len({s.digest for s in fits}) == 1
    assert not any("years" in line.label for top in fits[0].guarantee.ledger for _, line in top.walk())
    # The others are what they are without it.
    alone = told.select(["education", "sex"])
    other = dc.MarginalSynopsis(domain=alone, **settings).fit(frame).synopsis_
    assert other.count(education=["college"], sex=["f"]) == fits[0].count(education=["college"], sex=["f"])


def test_questions_about_it_are_questions_about_its_source():
    s = made()
    for one, other in (
        ({"years": 13}, {"education": ["college"]}),
        ({"years": (9, 13), "sex": ["f"]}, {"education": ["school", "college"], "sex": ["f"]}),
        ({"group": ["old"]}, {"age": (65, 99)}),
        ({"bracket": ["low"], "group": ["adult"]}, {"salary": (0, 61_234), "age": (18, 64)}),
        ({"shift": ["late"]}, {"arrived": ("13:30", "22:00")}),
    ):
        assert s.count(one) == s.count(other), one
        assert s.measured is not None
        assert s.measured.says(list(one)) == s.measured.says(list(other))
    assert s.ask("years is missing") == s.ask("education is missing")
    assert s.ask("years > 9 and sex = 'f'").value == s.count(education=["college", "doctor"], sex=["f"]).value
    counts = s.marginal("years").counts
    shares = np.array([s.count(education=[name]).value for name in FOLLOWS])
    assert counts.sum() == pytest.approx(shares.sum())
    assert s.mean("years").value == pytest.approx(shares @ list(FOLLOWS.values()) / shares.sum())
    assert s.mean("years").noise_error > 0
    assert s.quantile("years").value in FOLLOWS.values()
    assert s.quantile("group").category in ("child", "adult", "old")
    assert s.count(years=13, education=["doctor"]).value == 0


def test_what_cannot_occur_is_answered_by_nothing_and_says_why():
    found = made().count(sex=["m"], relation=["wife"])
    assert (found.value, found.std_error) == (0, 0)
    assert "declared" in found.note
    assert made().count(group=["child"], years=(13, 20)).std_error == 0  # through the columns they follow from
    assert made().count(sex=["m"], relation=["wife", "husband"]).value > 0
    table = made().table("sex", "relation").to_arrow().to_pandas()
    none = table[(table.sex == "f") & (table.relation == "husband")]
    assert none["count"].item() == none["std_error"].item() == 0


@pytest.mark.usefixtures("few_steps")
def test_rows_that_break_a_fact_are_left_out_one_by_one():
    columns = {n: COLUMNS[n] for n in ("sex", "relation")}
    told = dc.Domain(columns, impossible=IMPOSSIBLE[:2])
    frame = people()[["sex", "relation"]]
    wrong = ((frame.sex == "m") & (frame.relation == "wife")) | ((frame.sex == "f") & (frame.relation == "husband"))
    assert wrong.sum() > 25
    digests = {dc.MarginalSynopsis(1.0, told, random_state=7).fit(t).synopsis_.digest for t in (frame, frame[~wrong])}
    assert len(digests) == 1


@pytest.mark.usefixtures("few_steps")
def test_engines_and_persons_keep_facts_alike(tmp_path):
    """The same release from memory, a Parquet file in pieces, and a CSV file; persons are promised the same facts."""
    told = DOMAIN.select(["age", "group", "sex", "relation", "met", "size"])
    frame = people()[list(told.names)][:1000]
    table = pa.Table.from_pandas(frame.assign(group="child"), preserve_index=False)
    pq.write_table(table, tmp_path / "p.parquet", row_group_size=700)
    frame.drop(columns="group").to_csv(tmp_path / "p.csv", index=False)
    tables = (frame, tmp_path / "p.parquet", tmp_path / "p.csv")
    digests = {dc.MarginalSynopsis(1.0, told, random_state=3).fit(data).synopsis_.digest for data in tables}
    assert len(digests) == 1
    persons = told.with_unit(dc.Person("who", rows=2))
    s = dc.MarginalSynopsis(1.0, persons, random_state=3).fit(frame.assign(who=np.arange(len(frame)) // 3)).synopsis_
    assert "person" in s.guarantee.unit
    assert broken_facts(s.sample(5000, rng=1), s.domain) == ()
    assert s.domain.facts == told.facts


@pytest.mark.usefixtures("few_steps")
def test_a_target_may_follow_from_another_column():
    told = dc.Domain({n: COLUMNS[n] for n in ("education", "years", "sex")}, functions={"years": FUNCTIONS["years"]})
    fits = [dc.MarginalSynopsis(1.0, told, target=t, random_state=7).fit(people()) for t in ("years", "education")]
    assert fits[0].synopsis_.digest == fits[1].synopsis_.digest


def test_files_and_promises_keep_the_facts(tmp_path):
    made().save(tmp_path / "s.parquet")
    read = dc.Synopsis.load(tmp_path / "s.parquet")
    assert read == made()
    assert read.domain.facts == DOMAIN.facts
    assert read.count(years=13) == made().count(years=13)
    promise = made().guarantee
    assert "years is a function of education" in promise.parameters["facts"]
    assert "Public facts used" in str(promise)
    assert any("functions and impossible combinations are public" in text for text in promise.assumptions)
    assert dc.Guarantee.from_json(promise.to_json()) == promise


def test_what_does_not_keep_facts_says_so():
    told = DOMAIN.select(["sex", "relation"])
    for model in (dc.GridSynopsis, dc.TreeSynopsis):
        s = model(1.0, told, random_state=0).fit(people()).synopsis_
        assert any("not kept" in text for text in s.warnings)
        assert not s.looks_empty
        assert "not used by this method" in str(s.guarantee)
    assert made().warnings == ()


@pytest.mark.usefixtures("few_steps")
def test_hardly_any_combination_is_left():
    """Rows are sampled even if independent columns would hardly ever be possible."""
    names = [f"c{i}" for i in range(6)]
    never = [{a: [0, 1, 2], b: [0, 1, 2]} for a, b in itertools.pairwise(names)]
    told = dc.Domain({n: [0, 1, 2, 3] for n in names}, impossible=[*never, {"c0": 3, "c2": 3}])
    X = np.random.default_rng(0).integers(0, 4, (300, 6)).astype(float)
    rows = dc.MarginalSynopsis(0.5, told, random_state=0).fit(X).synopsis_.sample(5000, rng=0).to_pandas()
    for one in told.facts.to_dict()["impossible"]:
        assert not np.logical_and.reduce([rows[name].isin(values) for name, values in one.items()]).any()


def test_a_population_of_which_no_row_is_possible_is_given_one_that_is():
    codes = np.zeros((3, 5), np.int16)
    both = np.array([True, False])
    make_possible(codes, [{0: both, 1: both}, {0: ~both, 2: both}], (1, 2))
    assert not (both[codes[0]] & both[codes[1]]).any()
    assert not (~both[codes[0]] & both[codes[2]]).any()


@pytest.mark.parametrize("fault", ["as_factors", "kept_apart"])
def test_a_model_that_forgets_what_cannot_occur_is_caught(monkeypatch, fault):
    forgets = {"as_factors": lambda *_: [], "kept_apart": lambda *_: None}[fault]
    for module in (release, population):
        monkeypatch.setattr(module, fault, forgets, raising=False)
    monkeypatch.setattr(population, "make_possible", lambda *_: None)
    monkeypatch.setattr(bins, "FEW_BINS", 8)
    monkeypatch.setattr(bins, "ALL_BINS", 8)  # a bin of about twelve years, of which three are impossible
    columns = {name: COLUMNS[name] for name in ("age", "relation")}
    told = dc.Domain(columns, impossible=[{"age": (64, 66), "relation": ["wife", "husband"]}])
    s = dc.MarginalSynopsis(1.0, told, random_state=5).fit(people()).synopsis_
    rows = s.sample(20_000, rng=1).to_pandas()
    assert (rows.age.between(64, 66) & (rows.relation != "none")).any()


@pytest.mark.usefixtures("few_steps")
def test_facts_are_kept_far_from_zero():
    """Milliseconds since 1970, and numbers with few digits left behind the point: no row is rounded into the next cell.

    A sum that is rounded up to the end of its cell would have the next value, and the column that follows the old one.
    """
    first, far = 2 * 10**15, 1e12
    told = dc.Domain(
        {"t": dc.Integer(first, first + 9), "late": [False, True], "sex": ["f", "m"], "x": (far, far + 0.25)},
        functions={"late": {"t": {(first, first + 4): False, (first + 5, first + 9): True}}},
        impossible=[{"x": (far + 0.125, far + 0.25), "sex": "m"}],
    )
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "t": first + rng.integers(0, 10, 500),
            "sex": np.array(["f", "m"])[rng.integers(0, 2, 500)],
            "x": far + 0.25 * rng.random(500),
        }
    )
    rows = dc.MarginalSynopsis(100.0, told, random_state=0).fit(table).synopsis_.sample(20_000, rng=1).to_pandas()
    assert (rows.late == (rows.t > first + 4)).all()
    assert not ((rows.x >= far + 0.125) & (rows.sex == "m")).any()
    assert set(rows.t - first) == set(range(10))


def test_an_auditor_finds_nothing_where_a_number_follows():
    """A declared value inside the bounds of a column of numbers is not taken for the bound."""
    told = dc.Domain(
        {"size": ["S", "M", "L", "XL"], "price": (0.0, 10.0), "sex": ["f", "m"]},
        functions={"price": {"size": {"S": 0.0, "M": 2.5, "L": 9.99, "XL": 10.0}}},
    )
    table = pd.DataFrame({"size": ["S", "M", "L", "XL"] * 50, "sex": ["f", "m"] * 100})
    rows = dc.MarginalSynopsis(5.0, told, random_state=0).fit(table).synopsis_.sample(400, rng=1)
    assert set(rows["price"].to_pylist()) == {0.0, 2.5, 9.99, 10.0}
    assert broken_facts(rows, told) == ()
    wrong = rows.to_pandas().assign(price=2.6)
    assert broken_facts(pa.Table.from_pandas(wrong), told) == ("price is a function of size",)
