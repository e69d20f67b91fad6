"""A table of hospital stays with rules: every synthetic row keeps them, and durations keep their correlation."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.csv as csv
import pytest

import discreet as dc
from discreet.evaluation import broken_facts

RULES = ["admission <= discharge", "discharge - admission <= 60", "total = cost + drugs"]
COLUMNS: dict[str, Any] = {
    "age": dc.Integer(0, 110),
    "ward": ["surgery", "medicine", "children", "neurology", "emergency"],
    "admission": ("2025-01-01", "2025-12-31"),
    "discharge": {"bounds": ["2025-01-01", "2026-01-31"], "missing": "own"},
    "season": ["first", "second"],
    "cost": (0, 35_000),
    "drugs": (0, 400),
    "total": (0, 35_000),
}
SEASONS = {"season": {"admission": {"2025-01-01..2025-06-30": "first", "2025-07-01..2025-12-31": "second"}}}
PERSON = dc.Person("patient", rows=4)


@lru_cache
def stays(people: int = 3000) -> pd.DataFrame:
    """About 8,000 stays; one in fifty breaks a rule, one in twenty has no end yet, and no total is true."""
    rng = np.random.default_rng(0)
    p = np.repeat(np.arange(people), 1 + rng.binomial(5, 0.34, people))
    n = len(p)
    stay = np.minimum(rng.negative_binomial(1.6, 0.2, n), 60)
    start = rng.integers(0, 365, n)
    day = np.datetime64("2025-01-01")
    made = pd.DataFrame(
        {
            "patient": p,
            "age": np.clip(rng.gamma(9, 6.2, people), 0, 104).astype(int)[p],
            "ward": rng.choice(COLUMNS["ward"], n),
            "admission": day + start.astype("timedelta64[D]"),
            "discharge": day + np.minimum(start + stay, 395).astype("timedelta64[D]"),
            "cost": np.round(np.maximum(300 + 620 * stay * rng.lognormal(0, 0.18, n) + rng.normal(0, 500, n), 50), 2),
            "drugs": np.round(rng.gamma(2, 40, n), 2),
        }
    )
    made.loc[rng.random(n) < 0.02, "discharge"] = pd.Timestamp("2025-01-01")
    made.loc[rng.random(n) < 0.05, "discharge"] = pd.NaT
    return made


def domain(unit: Any = None, **more: Any) -> dc.Domain:
    return dc.Domain({**COLUMNS, **more}, functions=SEASONS, rules=RULES, unit=unit)


@lru_cache
def made(epsilon: float = 3.0) -> dc.Synopsis:
    return dc.MarginalSynopsis(epsilon, domain(PERSON), random_state=1).fit(stays()).synopsis_


def days(table: pd.DataFrame) -> pd.Series:
    return (pd.to_datetime(table["discharge"]) - pd.to_datetime(table["admission"])).dt.days


@pytest.mark.parametrize("epsilon", [0.01, 3.0])
def test_every_synthetic_row_keeps_every_rule_also_as_text(epsilon, tmp_path):
    rows = made(epsilon).sample(20_000, rng=0)
    table = rows.to_pandas()
    held = days(table).dropna()
    assert held.between(0, 60).all()
    assert (table["total"] == table["cost"] + table["drugs"]).all()
    assert table["total"].between(0, 35_000).all()
    first = pd.to_datetime(table["admission"]) < "2025-07-01"
    assert (table["season"] == np.where(first, "first", "second")).all()
    assert broken_facts(rows, made().domain) == ()
    csv.write_csv(rows.slice(0, 2000), tmp_path / "t.csv")
    text = pd.read_csv(tmp_path / "t.csv", dtype=str)
    for cost, drugs, total in zip(text["cost"], text["drugs"], text["total"], strict=True):
        assert Decimal(cost) + Decimal(drugs) == Decimal(total)
    broken = table.assign(total=table["total"] + 1, discharge=pd.Timestamp("2025-01-01"))
    assert broken_facts(broken, made().domain) == ("every row has admission <= discharge", "every row has " + RULES[2])


def test_missing_ends_stay_and_rows_that_break_a_rule_are_moved():
    table = made().sample(rng=0).to_pandas()
    assert 0.02 < table["discharge"].isna().mean() < 0.09
    # A stay of a negative length counts as one of no days: it is neither dropped nor named.
    before = stays().assign(discharge=pd.Timestamp("2024-12-24"))
    same = stays().assign(discharge=stays()["admission"])
    first, second = (dc.MarginalSynopsis(1.0, domain(), random_state=1).fit(t).synopsis_ for t in (before, same))
    assert np.array_equal(first.lower, second.lower, equal_nan=True)


def test_files_frames_and_orders_of_rows_give_the_same_release(tmp_path):
    frame = stays()
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    tables = [frame.sample(frac=1, random_state=0), tmp_path / "t.csv", tmp_path / "t.parquet"]
    for table in tables:
        assert dc.MarginalSynopsis(3.0, domain(PERSON), random_state=1).fit(table).synopsis_ == made()
    made().save(tmp_path / "s.parquet")
    assert dc.Synopsis.load(tmp_path / "s.parquet") == made()


def test_questions_about_columns_that_rules_give_are_answered():
    truth = stays()
    march = ("2025-03-01", "2025-03-31")
    found = made().count(discharge=march)
    exact = truth["discharge"].between(*map(pd.Timestamp, march)).sum()
    assert found.interval(0.99)[0] < exact < found.interval(0.99)[1]
    assert found.std_error < 400
    assert made().count(discharge=march, admission=("2025-04-01", "2025-05-01")).value == 0
    assert "declared not to occur" in made().count(discharge=march, admission=("2025-04-01", "2025-05-01")).note
    assert made().count(discharge=("2025-12-01", "2026-01-31"), admission=("2025-01-01", "2025-02-01")).value == 0
    total = made().mean("total")
    assert abs(total.value - (truth["cost"] + truth["drugs"]).mean()) < 3 * total.std_error
    assert made().measured.says(["discharge"]) in ("measured", "modelled", "held independent")
    assert made().table("season", "discharge", bins={"discharge": 4}).counts.shape == (2, 5)
    assert "discharge - admission" in made().counted_names


def test_the_guarantee_says_which_rules_were_used_and_costs_are_the_same():
    promise = made().guarantee
    assert promise.epsilon == 3.0
    assert "every row has admission <= discharge" in str(promise)
    assert any("rules between columns are public" in text for text in promise.assumptions)
    assert any("discharge - admission" in m["columns"] for m in promise.parameters["measured"])
    aimed = dc.MarginalSynopsis(3.0, domain(PERSON), target="discharge", random_state=1).fit(stays()).synopsis_
    assert aimed.guarantee.parameters["target"] == "discharge - admission"


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "off"), [(PERSON, 0.15), (None, 0.18)])
def test_length_of_stay_keeps_its_correlation_with_cost(unit, off):
    truth = stays().assign(discharge=stays()["discharge"].where(days(stays()) >= 0))
    exact = days(truth).corr(truth["cost"])
    found = []
    for seed in range(20):
        s = dc.MarginalSynopsis(3.0, domain(unit), random_state=seed).fit(truth).synopsis_
        table = s.sample(rng=seed).to_pandas()
        found.append(days(table).corr(table["cost"]))
    error = 2.09 * np.std(found, ddof=1) / np.sqrt(len(found))  # 95 %, 19 degrees of freedom
    assert np.mean(found) - error > exact - off
