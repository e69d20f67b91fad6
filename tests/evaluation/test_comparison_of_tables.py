"""Comparing a synthetic table with the real one: known answers, ugly tables, and nothing of a row in any error."""

from __future__ import annotations

import datetime
import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import DiscreetError, InvalidArgument, InvalidType, SchemaError
from discreet.evaluation import compare_tables
from discreet.evaluation.comparison.records import Membership, nearest

ROWS = 600


def table(n: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Mixed kinds, missing values in all of them, columns that depend on each other."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    town = np.where(age < 40, "Ash", rng.choice(["Birch", "Cedar"], n)).astype(object)
    town[rng.random(n) < 0.1] = None
    cost = age * 10 + rng.normal(0, 20, n)
    cost[rng.random(n) < 0.1] = np.nan
    day = [datetime.date(2020, 1, 1) + datetime.timedelta(days=int(a) * 5) for a in age]
    ill = np.where(age + rng.normal(0, 10, n) > 60, "yes", "no")
    return pd.DataFrame({"age": age, "town": town, "cost": cost, "day": day, "ill": ill})


def shuffled(frame: pd.DataFrame, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: frame[name].to_numpy()[rng.permutation(len(frame))] for name in frame})


REAL = table()
DOMAIN = dc.Domain(
    {
        "age": dc.Integer(18, 90),
        "town": ["Ash", "Birch", "Cedar"],
        "cost": (0, 1000),
        "day": (datetime.date(2020, 1, 1), datetime.date(2021, 12, 31)),
        "ill": ["no", "yes"],
    }
)


@pytest.fixture(scope="module")
def same():
    return compare_tables(REAL, REAL.sample(frac=1, random_state=3), target="ill", random_state=1)


@pytest.fixture(scope="module")
def apart():
    return compare_tables(REAL, shuffled(REAL), target="ill", random_state=1)


def test_the_same_rows_in_another_order_have_no_error(same):
    assert [found.mean for found in same.marginals.values()] == [0, 0, 0]
    assert same.queries.mean_absolute == 0
    assert same.correlations.largest < 1e-12
    assert abs(same.propensity.auc - 0.5) < 1e-9  # doubles are in the same fold, so no copy is learnt by heart
    assert np.array_equal(same.pair_errors, np.zeros((5, 5)))


def test_a_copy_is_at_distance_zero_and_flagged(same):
    assert same.closeness.copies.value == 1
    assert same.closeness.median == 0
    assert same.closeness.copied
    assert "100.0 % of the synthetic rows are copies" in same.notes[1]


def test_shuffled_columns_keep_single_columns_and_lose_pairs(apart):
    assert apart.marginals[1].mean == 0
    assert apart.marginals[2].mean > 3 * apart.marginals[2].sampling
    assert apart.marginals[3].mean > apart.marginals[2].mean
    assert set(apart.marginals[2].worst(1)[0][0]) == {"age", "day"}  # one follows from the other
    a, b, before, after = apart.correlations.worst
    assert {a, b} <= {"age", "cost", "day"}
    assert before > 0.9
    assert abs(after) < 0.2
    assert apart.propensity.auc > 0.9
    assert apart.propensity.pmse_ratio > 1.5
    assert apart.queries.mean_absolute > 2 * apart.queries.sampling
    assert not apart.closeness.copied


def test_what_is_learnt_from_shuffled_columns_is_nothing(apart, same):
    assert apart.utility.measure == "AUC"
    assert apart.utility.on_real > 0.9
    assert apart.utility.on_synthetic < 0.8
    assert apart.utility.loss_interval[0] > 0.1
    assert same.utility.on_synthetic >= same.utility.on_real - 0.02
    assert same.utility.seen


def test_errors_are_total_variation():
    real = pa.table({"a": ["x", "x", "y", None], "b": [0, 0, 1, 1]})
    other = pa.table({"a": ["x", "y", "y", "z"], "b": [0, 1, 1, 1]})
    found = compare_tables(real, other, random_state=1)
    # x: 1/2 to 1/4, y: 1/4 to 1/2, missing: 1/4 to 0, z: 0 to 1/4.
    assert found.marginals[1].errors.tolist() == [0.5, 0.25]
    # (x, 0): 1/2 to 1/4; (y, 1): 1/4 to 1/2; (missing, 1): 1/4 to 0; (z, 1): 0 to 1/4.
    assert found.marginals[2].errors.tolist() == [0.5]
    assert found.pair_errors.tolist() == [[0.5, 0.5], [0.5, 0.25]]
    assert found.marginals[3].sets == []
    assert math.isnan(found.marginals[3].mean)
    assert found.propensity is None  # four rows teach nothing


def test_missing_values_are_values_of_their_own():
    gone = REAL.assign(town=None, cost=np.nan)
    found = compare_tables(REAL, gone, domain=DOMAIN, max_rows=0, random_state=1)
    by_name = dict(zip(found.columns, found.marginals[1].errors.tolist(), strict=True))
    assert abs(by_name["town"] - REAL["town"].notna().mean()) < 1e-12
    assert abs(by_name["cost"] - REAL["cost"].notna().mean()) < 1e-12
    assert by_name["age"] == 0


def test_values_outside_the_real_range_do_not_hide_in_the_last_bin():
    real, other = pa.table({"x": np.linspace(0, 1, 100)}), pa.table({"x": np.full(100, 1.5)})
    found = compare_tables(real, other, max_rows=0, random_state=1)
    assert found.marginals[1].mean == 1


def test_a_bin_of_equal_rows_sees_what_equal_widths_hide():
    rng = np.random.default_rng(5)
    gain = np.where(rng.random(2000) < 0.9, 0, rng.integers(1, 1000, 2000)).astype(float)
    gain[0] = 100_000
    flat = np.where(gain == 0, rng.integers(0, 1000, 2000), gain)
    tables = pa.table({"gain": gain}), pa.table({"gain": flat})
    even, quantiles = (
        compare_tables(*tables, edges=rule, max_rows=0, random_state=1).marginals[1].mean
        for rule in ("even", "quantiles")
    )
    assert even == 0
    assert quantiles > 0.8


def test_every_form_of_table_gives_the_same_figures(tmp_path):
    other = table(300, seed=9)
    other.to_csv(tmp_path / "o.csv", index=False)
    other.to_parquet(tmp_path / "o.parquet")
    forms = [other, pl.from_pandas(other), pa.Table.from_pandas(other), tmp_path / "o.csv", str(tmp_path / "o.parquet")]
    found = [compare_tables(REAL, form, domain=DOMAIN, max_rows=0, queries=20, random_state=1) for form in forms]
    assert len({json.dumps(one.to_dict(), sort_keys=True) for one in found}) == 1


def test_a_domain_is_not_needed_for_dates_in_text(tmp_path):
    REAL.to_csv(tmp_path / "r.csv", index=False)
    found = compare_tables(tmp_path / "r.csv", REAL, max_rows=0, random_state=1)
    assert found.marginals[2].mean == 0
    assert found.correlations.pairs == 3  # age, cost and the day


def test_names_of_people_and_strangers_are_left_out():
    real = REAL.assign(name=[f"person {i}" for i in range(ROWS)], own=1)
    other = REAL.assign(name=[f"somebody {i}" for i in range(ROWS)], new=2)
    found = compare_tables(real, other, max_rows=0, random_state=1)
    assert found.columns == tuple(REAL.columns)
    assert found.left_out == {
        "name": "nearly every value is different: it names rows",
        "own": "is not in the synthetic table",
        "new": "is not in the real table",
    }
    declared = dc.Domain({"age": dc.Integer(18, 90), "ill": {"categories": ["no", "yes"], "role": "identifier"}})
    found = compare_tables(real, other, domain=declared, max_rows=0, random_state=1)
    assert found.columns == ("age",)
    assert found.left_out["ill"] == "has the role identifier"
    assert found.left_out["town"] == "is not declared"


def test_targets_of_every_kind():
    other = table(400, seed=9)
    holdout = table(200, seed=8)
    more = {"max_rows": 0, "queries": 5, "holdout": holdout, "random_state": 1}
    number = compare_tables(REAL, other, target="cost", **more).utility
    assert number.measure == "R²"
    assert number.on_synthetic > 0.8
    assert not number.seen
    assert number.tested_on == holdout["cost"].notna().sum()
    classes = compare_tables(REAL, other, target="town", **more).utility
    assert classes.measure == "accuracy"
    assert classes.on_synthetic > 0.6
    assert classes.loss_interval[0] <= classes.loss <= classes.loss_interval[1]
    single = compare_tables(REAL, other.assign(ill="no"), target="ill", **more).utility
    assert single.on_synthetic == 0.5


def test_other_people_like_them_come_no_nearer_than_a_holdout():
    found = compare_tables(REAL, table(seed=11), holdout=table(seed=12), max_rows=0, random_state=1).closeness
    assert found.baseline == "holdout"
    assert found.near.interval[0] < 0.08
    assert not found.copied


def test_distance_counts_missing_and_categories_as_one():
    numeric = np.array([True, False, True])
    real = np.array([[0.0, 1.0, np.nan], [0.5, 0.0, 0.5]])
    rows = np.array([[0.0, 1.0, np.nan], [0.25, 1.0, 0.5], [9.0, 2.0, 0.5]])
    # The second: 0.25 + 0 + 1 from the first, 0.25 + 1 + 0 from the second row; far numbers count 1.
    assert np.allclose(nearest(rows, real, numeric, np.full(1, -1)), [0, 1.25 / 3, 2 / 3])
    assert np.allclose(nearest(real, real, numeric, np.arange(2)), [2.5 / 3, 2.5 / 3])


def test_a_membership_attack_finds_everybody_in_a_copy_and_hardly_anybody_in_noise():
    real = REAL[["age", "town"]].assign(cost=np.arange(ROWS) / ROWS)  # everybody has a double of no one

    def noisy(rows, seed):
        return pd.DataFrame({"age": [20, 30], "town": ["Ash", "Cedar"], "cost": [0.5, 0.6]})

    more = {"max_rows": 0, "queries": 5, "epsilon": 1.0, "shadows": 6, "random_state": 1}
    copied = compare_tables(real, real, release=lambda rows, seed: rows, **more)
    assert copied.membership.attack.advantage > 0.95
    assert copied.membership.refuted
    assert copied.membership.epsilon_lower > 2
    assert "claim does not hold" in copied.notes[-1]
    hidden = compare_tables(real, real, release=noisy, **more).membership
    assert hidden.attack.advantage_interval[0] < 0.06
    assert not hidden.refuted


def test_what_epsilon_allows():
    found = Membership(None, 1.0, 0.0, 8, 10)
    assert abs(found.allowed_advantage - math.tanh(0.5)) < 1e-12
    assert abs(found.allowed_tpr(0.01) - 0.01 * math.e) < 1e-12
    assert Membership(None, 1.0, 0.1, 8, 10).allowed_tpr(0.0) == pytest.approx(0.1)
    assert Membership(None, math.inf, 0.0, 8, 10).allowed_advantage == 1
    # At the point where true and false positive rate sum to 1 both bounds meet in the advantage.
    f = 1 / (1 + math.e)
    assert abs(found.allowed_tpr(f) - f - found.allowed_advantage) < 1e-12


def test_the_result_reads_well(apart):
    facts = json.loads(json.dumps(apart.to_dict()))
    assert facts["private"] is False
    assert "not private" in facts["notes"][0]
    assert len(facts["pair_errors"]) == 10
    page = apart._repr_html_()
    assert "not private" in page
    assert "<script" not in page
    assert str(apart).startswith("<TableComparison, not private: error of columns 0.0000")
    drawn = apart.plot()
    assert drawn.data[0].z.shape == (5, 5)


def test_the_same_seed_gives_the_same_figures():
    first, again = (compare_tables(REAL[:80], REAL[80:160], target="ill", random_state=1) for _ in range(2))
    assert first.to_dict() == again.to_dict()


BAD = {
    "domain": [{"age": (0, 1)}, 3],
    "columns": ["age", [], ["nope"], [1], ["age", "age"]],
    "target": ["nope", 3],
    "bins": [1, 2.5, None],
    "edges": ["odd", None],
    "triples": [-1, None],
    "queries": [0, "3"],
    "max_rows": [-1, None],
    "release": [3, "make"],
    "epsilon": [1.0],
    "delta": [-1, 2, None],
    "shadows": [1, None],
    "confidence": [0, 1, None],
    "random_state": ["x", -1],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_bad_arguments_are_named(name, value):
    with pytest.raises((InvalidArgument, InvalidType)) as raised:
        compare_tables(REAL, REAL, **{"max_rows": 0, name: value})
    assert {"epsilon": "release"}.get(name, name) in str(raised.value)


SECRET = "Zanzibar"


@pytest.mark.parametrize(
    ("real", "synthetic", "options"),
    [
        ({"a": [SECRET]}, {"b": [SECRET]}, {}),
        ({"a": [SECRET]}, {"a": pa.array([], pa.string())}, {}),
        ({"a": [SECRET] * 8}, {"a": [SECRET] * 8}, {"target": "a"}),
        ({"a": [SECRET + str(i) for i in range(300)]}, {"a": [SECRET] * 300}, {"target": "a"}),
        ({"a": [SECRET + str(i) for i in range(300)], "b": [1] * 300}, {"a": [SECRET] * 300, "b": [1] * 300},
         {"target": "a", "columns": ["a", "b"]}),
        ({"a": [SECRET] * 9, "b": [None] * 9}, {"a": [SECRET] * 9, "b": [1] * 9}, {"target": "b"}),
    ],
)  # fmt: skip
def test_no_row_is_quoted_in_an_error(real, synthetic, options):
    with pytest.raises(DiscreetError) as raised:
        compare_tables(pa.table(real), pa.table(synthetic), max_rows=0, random_state=1, **options)
    assert SECRET not in str(raised.value)
    assert isinstance(raised.value, (InvalidArgument, SchemaError))


def test_odd_rows_cause_no_error():
    odd = pa.table({"x": [math.inf, -math.inf, math.nan, 1.0] * 5, "y": ["", " ", None, "\x00"] * 5, "z": [True] * 20})
    found = compare_tables(odd, odd, random_state=1)
    assert found.marginals[1].mean == 0
    wide = pa.table({f"c{i}": np.arange(30) % (i + 1) for i in range(40)})
    assert len(compare_tables(wide, wide, triples=50, max_rows=0, random_state=1).marginals[3].sets) == 50


def test_a_column_of_zeros_has_distances():
    """The next number after zero is no measure of how far another one is: everything would be infinitely far."""
    real = pa.table({"x": [0.0] * 40, "y": np.arange(40) % 4})
    found = compare_tables(real, pa.table({"x": [0.0, 2.5] * 20, "y": np.arange(40) % 4}), random_state=1)
    assert 0 < found.closeness.median < 10
    assert found.marginals[1].mean == pytest.approx(0.25)
