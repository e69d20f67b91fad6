"""Tables of many columns: noisy marginals, a model of them, rows of the model, and answers that say what they know."""

from __future__ import annotations

import datetime
import itertools
import math
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from threadpoolctl import threadpool_limits

import discreet as dc
from discreet.core.columns.unit import Person
from discreet.engines.passes.marginals import AxisGrids, GroupedMarginal
from discreet.synopses.marginals import population, release
from discreet.synopses.marginals.bins import consistent, levels
from discreet.synopses.marginals.choice import coarsen
from discreet.synopses.marginals.mixture import Factor, Mixture
from discreet.synopses.marginals.population import count_codes, draw, even_rows

DOMAIN = dc.Domain(
    {
        "age": dc.Integer(0, 99),
        "town": ["north", "south", "east"],
        "smokes": {"categories": [False, True], "missing": "own"},
        "cost": {"bounds": [0.0, 10_000.0], "missing": "own"},
        "seen": (datetime.date(2020, 1, 1), datetime.date(2023, 12, 31)),
        "ill": ["no", "yes"],
    }
)


@lru_cache
def people(n: int = 4000, seed: int = 0) -> pd.DataFrame:
    """Age decides smoking and illness, town decides cost, which is zero for half; some values are missing."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    town = rng.integers(0, 3, n)
    smokes = rng.random(n) < 0.1 + 0.5 * (age > 50)
    ill = rng.random(n) < np.where(smokes, 0.6, 0.1)
    cost = np.where(rng.random(n) < 0.5, 0.0, rng.gamma(2.0, 200.0 * (1 + 3 * town)))
    cost[rng.random(n) < 0.1] = np.nan
    days = np.datetime64("2020-01-01") + rng.integers(0, 1461, n)
    told = pd.array(smokes, dtype="boolean")
    told[rng.random(n) < 0.2] = pd.NA
    names = np.array(["north", "south", "east"])[town]
    return pd.DataFrame(
        {"age": age, "town": names, "smokes": told, "cost": cost, "seen": days, "ill": np.where(ill, "yes", "no")}
    )


@lru_cache
def made(epsilon: float = 2.0, delta: float = 1e-6, seed: int = 1) -> dc.Synopsis:
    return dc.MarginalSynopsis(epsilon, DOMAIN, delta=delta, random_state=seed).fit(people()).synopsis_


def half_l1(real: Any, invented: Any, columns: list[str]) -> float:
    shares = [frame[columns].astype("string").fillna("?").value_counts(normalize=True) for frame in (real, invented)]
    return float(0.5 * shares[0].sub(shares[1], fill_value=0).abs().sum())


# Rows


def test_synthetic_rows_are_rows_of_the_domain():
    rows = made().sample(30_000, rng=2)
    assert rows.column_names == list(DOMAIN.names)
    frame = rows.to_pandas()
    assert rows["age"].type == pa.int64()
    assert frame["age"].between(0, 99).all()
    assert set(frame["town"]) <= {"north", "south", "east"}
    assert frame["cost"].dropna().between(0, 10_000).all()
    assert frame["seen"].between(datetime.date(2020, 1, 1), datetime.date(2023, 12, 31)).all()
    assert 0.12 < frame["smokes"].isna().mean() < 0.28
    assert 0.05 < frame["cost"].isna().mean() < 0.15


def test_what_depends_on_what_is_kept():
    real, rows = people(), made().sample(4000, rng=2).to_pandas()
    for columns in (["smokes", "ill"], ["town", "ill"], ["town", "smokes"]):
        assert half_l1(real, rows, columns) < 0.03, columns
    old, young = rows[rows.age > 50], rows[rows.age <= 50]
    assert (old.smokes == True).mean() - (young.smokes == True).mean() > 0.25  # noqa: E712
    assert abs(rows.cost.mean() - real.cost.mean()) < 60
    # Half of the people have no costs at all: a bound has a cell of its own.
    assert abs((rows.cost == 0).mean() - (real.cost == 0).mean()) < 0.03


def test_a_small_table_is_told_of_more_than_two_pairs():
    # 1,500 rows, eight columns of three values in a chain: the noise of a pair is large, what it knows is larger.
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, 3, 1500)]
    for _ in range(7):
        columns.append(np.where(rng.random(1500) < 0.8, columns[-1], rng.integers(0, 3, 1500)))
    domain = dc.Domain({f"c{j}": [0, 1, 2] for j in range(8)})
    table = pd.DataFrame(dict(zip(domain.names, columns, strict=True)))
    made = dc.MarginalSynopsis(1.0, domain, delta=1e-9, random_state=0).fit(table).synopsis_
    assert sum(len(m.columns) == 2 for m in made.measured.measured) >= 7
    rows = made.sample(1500, rng=0)
    kept = [float(np.mean(rows[f"c{j}"].to_numpy() == rows[f"c{j + 1}"].to_numpy())) for j in range(7)]
    assert np.mean(kept) > 0.6  # 0.87 in the table, 0.33 if columns knew nothing of each other


def test_wide_tables_look_at_triples_that_measured_pairs_hold_together():
    def sets(width, pairs):
        domain = dc.Domain({f"c{j}": {"categories": [0, 1]} for j in range(width)})
        two = [np.arange(2), np.arange(2)]
        told = [release.Measured(GroupedMarginal(pair, two), np.zeros(4, np.int64), 1e-6) for pair in pairs]
        grid = AxisGrids(domain, (2,) * width, (False,) * width)
        found = release.Findings(grid, [], total=1e6, total_variance=0.0, measured=told)
        made = [s for s, _ in release._candidates(found, release.MarginalSettings(), 1)]
        return [s for s in made if len(s) == 3]

    assert len(sets(20, [(0, 1)])) == math.comb(20, 3)  # few columns: all
    assert sets(200, [(0, 1), (1, 2), (5, 9)]) == [(0, 1, 2)]
    chain = [(j, j + 1) for j in range(199)]
    assert sets(200, chain) == [(j, j + 1, j + 2) for j in range(198)]
    star = [(0, j) for j in range(1, 200)] + [(1, 2)]
    many = sets(200, star)
    assert len(many) == release.MOST_TRIPLES  # of 19,701
    assert (0, 1, 2) in many
    assert many == sorted(many)


def test_a_sample_of_any_size_keeps_the_marginals():
    """Rows are taken in turns, not drawn: the scatter of a sample is that of rounding."""
    few, many = (made().sample(n, rng=3).to_pandas() for n in (len(made().weights), 3 * len(made().weights)))
    assert half_l1(few, many, ["town", "ill"]) < 1e-9
    assert made().sample(0).num_rows == 0


# Answers


def test_answers_say_what_they_know():
    s = made()
    real = people()
    count = s.ask("smokes = 'true' and ill = 'yes'")
    truth = ((real.smokes == True) & (real.ill == "yes")).sum()  # noqa: E712
    low, high = count.interval(0.99)
    assert low <= truth <= high
    assert count.noise_error > 0
    assert not count.note
    assert s.measured is not None
    assert s.measured.says([2, 5]) == "measured"
    assert s.measured.says([0]) == "measured"
    three = s.count(town=["north"], ill=["yes"], age=(20, 40))
    assert "modelled" in repr(three)
    assert three.to_dict()["note"] == three.note
    assert three.std_error > count.std_error / 10
    assert abs(s.count().value - len(real)) < 5 * s.count().noise_error + 1
    assert s.mean("age").interval(0.99)[0] < real.age.mean() < s.mean("age").interval(0.99)[1]
    assert abs(s.quantile("age", 0.5).value - real.age.median()) < 5
    assert s.marginal("town").counts.sum() == pytest.approx(s.total)


@pytest.mark.slow
def test_intervals_cover():
    """Questions of one and two columns on tables with other noise: of 95 % intervals at least nine in ten hold."""
    real = people()
    hits = []
    for seed in range(3):
        s = made(seed=10 + seed)
        for town, ill in itertools.product(["north", "south", "east"], ["no", "yes"]):
            for where, truth in (
                ({"town": [town]}, (real.town == town).sum()),
                ({"town": [town], "ill": [ill]}, ((real.town == town) & (real.ill == ill)).sum()),
                ({"age": (20, 49), "ill": [ill]}, (real.age.between(20, 49) & (real.ill == ill)).sum()),
                ({"age": (30, 39), "town": [town]}, (real.age.between(30, 39) & (real.town == town)).sum()),
            ):
                low, high = s.count(where).interval(0.95)
                hits.append(low <= truth <= high)
    assert np.mean(hits) > 0.9


@pytest.mark.parametrize("budget", [{"epsilon": 1.0}, {"epsilon": 0.1, "delta": 1e-6}], ids=str)
@pytest.mark.parametrize("bound", [0.8, pytest.param(0.0, marks=pytest.mark.slow)], ids=["dependent", "independent"])
def test_intervals_cover_where_little_was_measured(budget, bound):
    """All cells of one and two columns, measured together or not: of 95 % intervals nearly nine in ten hold.

    An answer is held against the counts it was made from: the model may be further from them than their noise is.
    """
    rng = np.random.default_rng(5)
    a = rng.integers(0, 5, 4000)
    b, c = (np.where(rng.random(4000) < bound, a, rng.choice(5, 4000, p=[0.7, 0.2, 0.05, 0.04, 0.01])) for _ in "bc")
    table = np.column_stack([a, b, c, rng.integers(0, 2, 4000)])
    domain = dc.Domain({"a": list(range(5)), "b": list(range(5)), "c": list(range(5)), "d": {"categories": [0, 1]}})
    cells = [((j,), (v,)) for j in range(4) for v in range(5 if j < 3 else 2)]
    cells += [((i, j), (v, w)) for ((i,), (v,)), ((j,), (w,)) in itertools.combinations(cells, 2) if i != j]
    hits = []
    for seed in range(2):
        s = dc.MarginalSynopsis(domain=domain, random_state=seed, **budget).fit(table.astype(float)).synopsis_
        for columns, values in cells:
            low, high = s.count({"abcd"[j]: [v] for j, v in zip(columns, values, strict=True)}).interval(0.95)
            hits.append(low <= (table[:, columns] == values).all(axis=1).sum() <= high)
    assert np.mean(hits) > 0.88


@pytest.mark.slow
def test_intervals_cover_where_questions_cut_the_groups_that_were_measured():
    """Stretches of numbers at a small budget: every pair that was measured splits its groups by the same guess."""
    hits = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        age = rng.integers(18, 90, 3000)
        ill = rng.random(3000) < 0.1 + 0.6 * (age > 50)
        cost = np.minimum(np.where(rng.random(3000) < 0.4, 0, rng.gamma(2, 800, 3000) * (1 + ill)), 9999)
        domain = dc.Domain(
            {"age": dc.Integer(0, 99), "ill": {"categories": [0, 1]}, "cost": (0.0, 1e4), "town": list(range(12))}
        )
        table = np.column_stack([age, ill, cost, rng.choice(12, 3000, p=np.arange(12, 0, -1) / 78)])
        s = dc.MarginalSynopsis(0.2, domain, delta=1e-6, random_state=seed).fit(table.astype(float)).synopsis_
        for name, x, ends in (("age", age, (15, 80, 25)), ("cost", cost, (0, 3000, 4000))):
            for _ in range(15):
                low = rng.integers(*ends[:2])
                high = low + rng.integers(1, ends[2])
                answer = s.count({name: (int(low), int(high))}).interval(0.95)
                truth = ((x >= low) & (x < high + (name == "age"))).sum()
                hits.append(answer[0] <= truth <= answer[1])
    assert np.mean(hits) > 0.88


def test_a_column_in_one_group_was_not_measured():
    """A pair so coarse that one of its columns is a single group is a count of the other column."""
    single = [dc.synopses.MeasuredMarginal((j,), ((0, 1),), (50, 50), 4.0) for j in range(2)]
    pair = dc.synopses.MeasuredMarginal((0, 1), ((0, 0), (0, 1)), (48, 55), 4.0)
    assert dc.synopses.Marginals(((0, 1), (0, 1)), (*single, pair)).says([0, 1]) == "held independent"


def test_parity_is_not_seen_by_pairs(monkeypatch):
    """Each pair of three columns is independent, and the third decides: pairs cannot know, and the answer says so."""
    monkeypatch.setattr(release, "FINE", 0.0)  # else triples are looked at: they are cheap here
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 4000))
    table = np.column_stack([a, b, a ^ b])
    domain = dc.Domain({name: {"categories": [0, 1]} for name in "abc"})
    blind = dc.MarginalSynopsis(1.0, domain, random_state=0).fit(table).synopsis_
    answer = blind.count(a=[1], b=[1], c=[1])
    assert answer.value > 250
    assert "modelled" in answer.note
    seeing = dc.MarginalSynopsis(1.0, domain, workload="triples", random_state=0).fit(table).synopsis_
    assert seeing.count(a=[1], b=[1], c=[1]).value < 120


# The same on every engine


@pytest.mark.usefixtures("few_steps")
def test_engines_agree(tmp_path):
    frame = people().assign(smokes=people().smokes.astype("object"))
    table = pa.Table.from_pandas(people(), preserve_index=False)
    pq.write_table(table, tmp_path / "p.parquet", row_group_size=700)
    pacsv.write_csv(table, tmp_path / "p.csv")
    settings = {"delta": 1e-6, "random_state": 3}
    digests = {
        dc.MarginalSynopsis(1.0, DOMAIN, **settings).fit(data).synopsis_.digest
        for data in (frame, table, tmp_path / "p.parquet", tmp_path / "p.csv")
    }
    assert len(digests) == 1


def test_files_keep_everything(tmp_path):
    made().save(tmp_path / "s.parquet")
    read = dc.Synopsis.load(tmp_path / "s.parquet")
    assert read == made()
    assert read.measured == made().measured
    assert read.ask("ill = 'yes'") == made().ask("ill = 'yes'")
    assert read.replace(note="as it was").measured == made().measured


@pytest.mark.parametrize(
    "lie",
    [
        {"variance": -1.0}, {"variance": math.nan}, {"columns": [0, 99]}, {"counts": [1]}, {"columns": [0]},
        {"columns": [], "groups": [], "counts": [1]}, {"groups": [[0], [0]], "counts": [1]},
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_have_been_measured_is_refused(lie):
    facts = made().measured.to_dict()
    facts["measured"][-1] |= lie
    with pytest.raises(dc.errors.FormatError):
        dc.synopses.Marginals.from_dict(facts)


@pytest.mark.usefixtures("few_steps")
def test_answers_of_two_models_add_up():
    three = {"town": ["north"], "ill": ["yes"], "age": (20, 40)}
    other = dc.MarginalSynopsis(2.0, DOMAIN, delta=1e-6, random_state=10).fit(people(300)).synopsis_
    both = made().count(three) + other.count(three)
    assert both.value == made().count(three).value + other.count(three).value
    assert "modelled" in both.note


# Edges


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_hardly_any_rows(rows):
    s = dc.MarginalSynopsis(1.0, DOMAIN, random_state=0).fit(people().iloc[:rows]).synopsis_
    assert s.sample(50, rng=1).num_rows == 50
    assert s.guarantee.epsilon == 1


def test_one_column_and_no_noise():
    X = np.random.default_rng(0).random((500, 1))
    one = dc.MarginalSynopsis(1.0, (0, 1), random_state=0).fit(X).synopsis_
    assert one.guarantee.epsilon == 1
    assert abs(one.total - 500) < 100
    exact = dc.MarginalSynopsis(math.inf, DOMAIN.select(["town", "ill"]), random_state=0).fit(people()).synopsis_
    assert exact.total == len(people())
    assert exact.count(town=["north"]).value == pytest.approx((people().town == "north").sum(), abs=15)


@pytest.mark.usefixtures("few_steps")
def test_a_promise_to_persons():
    frame = people(600).assign(who=np.arange(600) // 2)
    declared = {**DOMAIN.to_dict(), "who": {"role": "person"}}
    domain = dc.Domain(declared, unit=Person("who", rows=2))
    for settings in ({}, {"delta": 1e-6}):
        s = dc.MarginalSynopsis(1.0, domain, random_state=0, **settings).fit(frame).synopsis_
        assert "person" in s.guarantee.unit
        assert 0.99 < s.guarantee.epsilon <= 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"workload": "all"}, "workload"),
        ({"target": "wealth"}, "wealth"),
        ({"rho": 0.1}, "delta"),
        ({"max_cells": 3}, "max_cells"),
        ({"epsilon": -1}, "epsilon"),
    ],
)
def test_wrong_arguments_are_refused_before_rows_are_read(settings, words):
    model = dc.MarginalSynopsis(**{"domain": DOMAIN, **settings})
    for act in (model.check, lambda: model.fit(people())):
        with pytest.raises(dc.errors.DiscreetError, match=words):
            act()


def test_cells_of_single_columns_must_fit():
    """They are all counted at once, whatever is done about pairs: too small a limit is refused beforehand."""
    wide = dc.Domain({"code": list(range(3000)), "x": (0, 1)})
    model = dc.MarginalSynopsis(1.0, wide, max_cells=2000)
    for act in (model.check, lambda: model.fit(np.zeros((2, 2)))):
        with pytest.raises(dc.errors.InvalidArgument, match="max_cells must be at least 3,514") as refused:
            act()
    assert refused.value.fix == "max_cells=3514"
    dc.MarginalSynopsis(1.0, wide, max_cells=3514).check()


@pytest.mark.usefixtures("few_steps")
def test_two_bounds_for_columns_of_text_are_refused():
    frame = pd.DataFrame({"town": ["Ulm", "Bonn"], "age": [3, 4]})
    for table in (frame, pa.Table.from_pandas(frame), frame.astype({"town": "string"})):
        for model in (dc.MarginalSynopsis, dc.GridSynopsis):
            with pytest.raises(dc.errors.SchemaError, match=r"column .town. of .* has type"):
                model(1.0, (0, 100), random_state=0).fit(table)
    numbers = frame[["age"]]
    assert dc.MarginalSynopsis(1.0, (0, 100), random_state=0).fit(numbers).synopsis_.domain.names == ("age",)
    assert len(dc.MarginalSynopsis(1.0, (0, 9), random_state=0).fit([[1, 2], [3, 4]]).synopsis_.domain) == 2


def test_a_stretch_without_width_says_so():
    """Both ends of whole numbers and days belong to a question; of other numbers the upper end does not."""
    X = np.column_stack([np.zeros(400), np.zeros(400)])
    for model in (dc.MarginalSynopsis, dc.GridSynopsis):
        s = model(math.inf, dc.Domain({"g": (0, 9), "n": dc.Integer(0, 9)}), random_state=0).fit(X).synopsis_
        assert s.count(n=(0, 0)).value == pytest.approx(400, rel=0.01)
        none = s.count(g=(0, 0))
        assert none.value == 0
        assert "does not belong to it" in none.note
        assert not s.count(g=(0, 9)).note


@pytest.mark.usefixtures("few_steps")
def test_an_account_is_charged(tmp_path):
    account = dc.Account.create(tmp_path / "a.account", dataset="people", epsilon=3, delta=1e-5)
    dc.MarginalSynopsis(1.0, DOMAIN, ledger=account, random_state=0).fit(people(300))
    assert float(dc.Account(account.path).remaining) == 2


# The model


def chain(n: int = 3) -> tuple[list[Factor], Any]:
    """Pairs of three binary columns along a chain, exact."""
    rng = np.random.default_rng(1)
    a = rng.random(40_000) < 0.3
    b = rng.random(40_000) < np.where(a, 0.8, 0.2)
    c = rng.random(40_000) < np.where(b, 0.6, 0.1)
    codes = np.stack([a, b, c]).astype(np.int16)
    marginals = [GroupedMarginal([j], [np.arange(2)]) for j in range(n)]
    marginals += [GroupedMarginal([j, j + 1], [np.arange(2)] * 2) for j in range(2)]
    counts = count_codes(codes, marginals)
    return [Factor(m, y.astype(float), np.full(len(y), 1e-3)) for m, y in zip(marginals, counts, strict=True)], codes


def test_exact_pairs_of_a_chain_are_reproduced():
    factors, codes = chain()
    model = Mixture([2, 2, 2], [f.counts / 40_000 for f in factors[:3]], (5, 1))
    model.fit(factors, 40_000)
    rows = draw(model, 40_000, [], None, (5, 2))
    for found, factor in zip(count_codes(rows, [f.marginal for f in factors]), factors, strict=True):
        assert np.abs(found - factor.counts).max() < 60
    ends = GroupedMarginal([0, 2], [np.arange(2)] * 2)  # never measured: it follows from the chain, if not exactly
    assert np.abs(count_codes(rows, [ends])[0] - count_codes(codes, [ends])[0]).max() < 800


@pytest.mark.parametrize("size", [2, 3])
def test_a_sum_of_two_columns_that_no_pair_shows_is_fitted_to_its_noise(size):
    """A third column is the sum of two others modulo their size. Single values drawn in turn would hardly move."""
    every = [np.arange(size)] * 3
    at = np.indices([size] * 3)
    truth = np.where((at[0] + at[1]) % size == at[2], 9000 / size**2, 0.0).ravel()
    single = [
        Factor(GroupedMarginal([j], every[:1]), np.full(size, 9000 / size), np.full(size, 400.0)) for j in range(3)
    ]
    noise = np.random.default_rng(size).normal(size=size**3) * 20
    whole = Factor(GroupedMarginal([0, 1, 2], every), truth + noise, np.full(size**3, 400.0))
    model = Mixture([size] * 3, [np.full(size, 1 / size)] * 3, (1, 1))
    model.fit([*single, whole], 9000)
    assert model.missed == []
    assert 0.5 * np.abs(model.expected([whole.marginal])[0] - truth / 9000).sum() < 0.03


def test_measurements_that_contradict_each_other_are_reported_as_missed():
    pair = GroupedMarginal([0, 1], [np.arange(2)] * 2)
    told = [np.array([900.0, 100, 100, 900]), np.array([100.0, 900, 900, 100])]
    single = [Factor(GroupedMarginal([j], [np.arange(2)]), np.full(2, 1000.0), np.full(2, 9.0)) for j in range(2)]
    model = Mixture([2, 2], [np.full(2, 0.5)] * 2, (1, 1))
    model.fit([*single, *(Factor(pair, y, np.full(4, 9.0)) for y in told)], 2000)
    assert (0, 1) in model.missed


def test_nothing_measured_is_independent():
    rows = even_rows([np.array([3.0, 1.0]), np.array([1.0, 1.0])], 20_000, (7, 0))
    found = count_codes(rows, [GroupedMarginal([0, 1], [np.arange(2)] * 2)])[0]
    assert np.abs(found - np.array([7500, 7500, 2500, 2500])).max() < 200


def test_rows_scatter_neither_about_what_was_measured_nor_about_what_follows_from_it(monkeypatch):
    """The ends of a chain were never counted together; drawn rows would miss the model by √cell, these by less."""
    same = np.full((8, 8), 0.5 / 64) + np.eye(8) * 0.5 / 8
    ends = GroupedMarginal([0, 2], [np.arange(8)] * 2)
    every = [np.arange(8)] * 2
    single = [Factor(GroupedMarginal([j], every[:1]), np.full(8, 500.0), np.full(8, 25.0)) for j in range(3)]
    pairs = [Factor(GroupedMarginal([j, j + 1], every), 4000 * same.ravel(), np.full(64, 25.0)) for j in range(2)]
    model = Mixture([8, 8, 8], [np.full(8, 1 / 8)] * 3, (1, 1))
    model.fit([*single, *pairs], 4000)
    missed = []
    for times in (0, population.EVENED):
        monkeypatch.setattr(population, "EVENED", times)
        found = count_codes(draw(model, 4000, [], None, (1, 2)), [ends])[0]
        missed.append(np.abs(found - 4000 * model.expected([ends])[0]).mean())
    assert missed[1] < 0.8 * missed[0]


def test_rare_categories_are_joined_with_their_like():
    counts = [np.array([500.0, 3, 40, 260, 35, 2, 30, 30, 50, 50]), np.array([600.0, 400])]
    groups = coarsen([0, 1], counts, [False, True], noise=10.0).groups[0]
    assert [set(np.flatnonzero(groups == g)) for g in range(4)] == [{0}, {3}, {8}, {9}]
    assert max(np.bincount(groups, weights=counts[0])[4:]) < 150  # not all of the rest in one


def test_nothing_is_spent_on_pairs_that_tell_of_one_column():
    rng = np.random.default_rng(0)
    rare = np.where(rng.random(3000) < 0.002, 1, 0)  # noise hides the second value: a pair with it is of one group
    table = np.column_stack([rare, *rng.integers(0, 3, (3, 3000))]).astype(float)
    domain = dc.Domain({"rare": {"categories": [0, 1]}, **{name: [0, 1, 2] for name in "abc"}})
    known = dc.MarginalSynopsis(0.5, domain, random_state=1).fit(table).synopsis_.measured
    assert len(known.measured) > 4
    assert all(len(set(g)) > 1 for m in known.measured[4:] for g in m.groups)


@pytest.mark.slow
def test_noise_puts_no_rows_on_stretches_that_are_empty():
    """Most have no gain, and the bounds are wide: noise of hundreds of empty cells would double the mean."""
    rng = np.random.default_rng(0)
    gain = np.where(rng.random(20_000) < 0.92, 0, rng.choice([3000, 7000, 15_000], 20_000))
    table = np.column_stack([gain, *rng.integers(0, 2, (5, 20_000))]).astype(float)
    domain = dc.Domain({"gain": dc.Integer(0, 99_999), **{name: {"categories": [0, 1]} for name in "abcde"}})
    off = []
    for seed in range(2):
        s = dc.MarginalSynopsis(0.5, domain, delta=1e-9, random_state=seed).fit(table).synopsis_
        off.append(float(s.sample(20_000, rng=seed)["gain"].to_numpy().mean()) / gain.mean() - 1)
    assert np.mean(np.abs(off)) < 0.35


@pytest.mark.slow
def test_levels_agree_and_know_their_noise():
    """The variance of a bin that cells of several levels tell of is that of its estimates over many draws."""
    column = DOMAIN.column("cost")
    groups = levels(column, 514, np.arange(514.0))
    truth = np.zeros(514)
    truth[[0, 40, 300]] = 5000, 700, 400
    rng = np.random.default_rng(0)
    sums = []
    for _ in range(100):
        noisy = [np.rint(np.bincount(g, weights=truth) + rng.normal(0, 20, g[-1] + 1)).astype(np.int64) for g in groups]
        fine, spread = consistent(groups, noisy, [400.0] * len(groups))
        sums.append([fine[100:400].sum(), fine[300]])
    part = np.arange(514)[:, None] == 300
    wide = ((np.arange(514) >= 100) & (np.arange(514) < 400))[:, None]
    for k, chosen in enumerate((wide, part)):
        told = float((chosen.T @ spread @ chosen)[0, 0])
        assert np.mean(sums, axis=0)[k] == pytest.approx((truth @ chosen)[0], abs=4 * math.sqrt(told / 100))
        assert np.var(sums, axis=0)[k] == pytest.approx(told, rel=0.5)
    assert (wide.T @ spread @ wide)[0, 0] < 300 * 400 / 8


def test_threads_of_linear_algebra_change_nothing():
    rows = np.random.default_rng(0).random((3000, 3))
    made = set()
    for threads in (1, 2, 4):
        with threadpool_limits(threads, "blas"):
            made.add(dc.MarginalSynopsis(1.0, (0, 1), random_state=1).fit(rows).synopsis_.digest)
    assert len(made) == 1


def test_pairs_are_counted_in_one_pass_if_there_is_room_and_the_release_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 12, 3000)
    X = np.column_stack([first, (first + rng.integers(0, 3, 3000)) % 12, *rng.integers(0, 12, (2, 3000))])
    domain = dc.Domain({f"c{j}": {"categories": list(range(12))} for j in range(4)})
    passes: list[int] = []
    plain = dc.engines.Source.marginals

    def counted(self: Any, job: Any) -> Any:
        passes.append(len(job.marginals))
        return plain(self, job)

    monkeypatch.setattr(dc.engines.Source, "marginals", counted)
    made = [
        dc.MarginalSynopsis(1.0, domain, random_state=3, **more).fit(X).synopsis_ for more in ({}, {"max_cells": 1024})
    ]
    assert passes == [4, 6, 4, 6, 6]  # 6 pairs of 144 cells are more than half of 1,024
    assert np.array_equal(made[0].lower, made[1].lower)
    assert made[0].measured == made[1].measured
