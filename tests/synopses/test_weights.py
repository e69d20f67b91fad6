"""A column of weights: answers of every synopsis are weighted, and the promise says what it covers."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from command_line import output, run
from discreet.errors import InvalidArgument, SchemaError
from discreet.planning import outlook
from discreet.reporting.words import for_lawyers

COLUMNS: dict[str, Any] = {"sex": ["f", "m"], "age": dc.Integer(0, 99), "w": dc.Numeric("w", 0, 400, role="weight")}
DOMAIN = dc.Domain(COLUMNS)


def survey(n: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    sex = rng.choice(["f", "m"], n)
    age = rng.integers(0, 100, n)
    weights = np.minimum(np.exp(rng.normal(4, 0.5, n)) * np.where(sex == "m", 1.5, 1.0), 400)
    return pd.DataFrame({"sex": sex, "age": age, "w": weights, "hh": np.arange(n) // 2})


def true(table: pd.DataFrame, **asked: str) -> float:
    for name, value in asked.items():
        table = table[table[name] == value]
    return float(table["w"].sum())


METHODS = {
    "grid": lambda e, d: dc.GridSynopsis(e, d, [2, 10], leaf_means=False, random_state=1),
    "means": lambda e, d: dc.GridSynopsis(e, d, [2, 4], leaf_means=True, random_state=1),
    "adaptive": lambda e, d: dc.GridSynopsis(e, d, "adaptive", random_state=1),
    "tree": lambda e, d: dc.TreeSynopsis(e, d, max_depth=4, random_state=1),
    "privtree": lambda e, d: dc.TreeSynopsis(e, d, partitioner="privtree", random_state=1),
    "gaussian": lambda e, d: dc.GridSynopsis(
        None, d, [2, 10], leaf_means=False, rho=e / 4, delta=1e-6, size_share=0.5, random_state=1
    ),
    "model": lambda e, d: dc.MarginalSynopsis(e, d, random_state=1),
}


@pytest.mark.parametrize("name", METHODS)
def test_almost_without_noise_the_answers_are_the_weighted_counts(name: str) -> None:
    table = survey()
    made = METHODS[name](1e4, DOMAIN).fit(table).synopsis_
    assert made.count().value == pytest.approx(true(table), rel=0.02)
    if name != "model" and not (made.tree is not None and name == "privtree"):
        assert made.count(sex="m").value == pytest.approx(true(table, sex="m"), rel=0.02)
    young = float(table[table["age"] < 50]["w"].sum())
    low, high = made.count(age=(0, 49)).interval(0.999)
    assert low - 0.05 * young <= young <= high + 0.05 * young
    assert "weighted rows" in repr(made)


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "model")) for n in METHODS])
def test_intervals_hold_the_weighted_count(name: str) -> None:
    """Of 16 intervals of 99 %, more than two fail with probability below 0.001."""
    table, failed = survey(), 0
    for seed in range(8):
        made = METHODS[name](1.0, DOMAIN).set_params(random_state=seed).fit(table).synopsis_
        for sex in ("f", "m"):
            low, high = made.count(sex=sex).interval(0.99)
            failed += not low <= true(table, sex=sex) <= high
    assert failed <= 2


@pytest.mark.parametrize("unit", [None, {"household": "hh", "rows": 2}])
def test_every_draw_is_paid_for_the_copies_of_a_unit(unit: Any) -> None:
    rows = 1 if unit is None else 2
    for name in ("grid", "tree", "means", "gaussian"):
        made = METHODS[name](1.0, dc.Domain(COLUMNS, unit=unit)).fit(survey()).guarantee_
        drawn = [(line, draw) for top in made.ledger for _, line in top.walk() for draw in line.draws]
        # In ρ a unit is its rows squared.
        assert {draw.rows for _, draw in drawn} == {(64 * rows) ** (2 if name == "gaussian" else 1)}
        for line, draw in drawn:
            assert draw.law not in ("laplace", "max-norm") or line.amount == 64 * rows * draw.moves / draw.scale
            if draw.law == "gaussian":
                assert line.amount == Fraction(64 * rows) ** 2 / (2 * draw.scale**2)
        assert made.parameters["weight"] == {"column": "w", "most": 400.0, "units": 64}
        assert any("calibrated to population totals" in text for text in made.assumptions)
        assert "a row counts as 400 at most" in " ".join(for_lawyers(made))
        assert "w" not in made.domain.names


def test_a_model_keeps_the_sensitivity_of_rows_and_its_rows_carry_weights() -> None:
    table = survey()
    model = dc.MarginalSynopsis(3.0, DOMAIN, random_state=1).fit(table)
    drawn = [draw for top in model.guarantee_.ledger for _, line in top.walk() for draw in line.draws]
    assert {draw.rows for draw in drawn} == {1}
    rows = model.synopsis_.sample(rng=1)
    assert rows.num_rows == pytest.approx(len(table), rel=0.05)
    weights = rows["w"].to_numpy()
    assert weights.sum() == pytest.approx(model.synopsis_.total, rel=0.02)
    men = rows["sex"].to_numpy() == "m"
    assert weights[men].sum() == pytest.approx(model.synopsis_.count(sex="m").value, rel=0.05)


@pytest.mark.parametrize("name", ["grid", "privtree", "model"])
def test_a_weighted_synopsis_is_read_back(name: str, tmp_path: Path) -> None:
    made = METHODS[name](1.0, DOMAIN).fit(survey()).synopsis_
    made.save(tmp_path / "s.parquet")
    again = dc.Synopsis.load(tmp_path / "s.parquet")
    assert again == made
    assert again.count(sex="f").value == made.count(sex="f").value
    assert again.marginal("sex").counts.sum() == pytest.approx(made.count().value, rel=0.01)


def test_rows_of_a_grid_need_a_number() -> None:
    made = METHODS["grid"](1.0, DOMAIN).fit(survey()).synopsis_
    with pytest.raises(InvalidArgument, match=r"n must be given.*n=10000"):
        made.sample()
    assert made.sample(10, rng=1).num_rows == 10


def test_questions_are_weighted_one_by_one() -> None:
    table = survey()
    ask = dc.QuerySession(table, dc.Ledger(epsilon=1e6), domain=DOMAIN, random_state=1)
    assert ask.count({"sex": ["m"]}, epsilon=1e4).value == pytest.approx(true(table, sex="m"), rel=0.003)
    assert ask.histogram("sex", epsilon=1e4).value.tolist() == pytest.approx(
        [true(table, sex="f"), true(table, sex="m")], rel=0.003
    )
    assert ask.sum("age", epsilon=1e4).value == pytest.approx(float((table["w"] * table["age"]).sum()), rel=0.003)
    mean = float(np.average(table["age"], weights=table["w"]))
    assert ask.mean("age", epsilon=1e4).value == pytest.approx(mean, abs=0.1)
    low, high = ask.count(epsilon=0.1).interval(0.95)  # rounded weights hardly matter next to the noise
    assert high - low == pytest.approx(2 * 4000 * math.log(20), rel=0.05)  # Laplace noise for the largest weight


def test_a_public_number_of_rows_is_the_population() -> None:
    table = survey()
    made = dc.GridSynopsis(1.0, DOMAIN, "eugkm", n_rows=true(table), random_state=1).fit(table).synopsis_
    assert made.guarantee.parameters["n_rows"] == pytest.approx(true(table))


def test_the_plan_knows_weights_and_rows_of_households() -> None:
    """The forecast of one count is the standard error of the noise, as a share of the people."""
    table, rows = survey(), 2
    domain = dc.Domain(COLUMNS, unit={"household": "hh", "rows": rows})
    people = true(table)
    planned = outlook(len(table), 2, epsilon=0.5, rows_each=rows, heaviest=400 * len(table) / people)
    ask = dc.QuerySession(table, dc.Ledger(epsilon=1), domain=domain)
    low, high = ask.count({"sex": ["m"]}, epsilon=0.5).interval(0.95)
    error = math.sqrt(2) * (high - low) / 2 / math.log(20)  # of a Laplace law
    assert planned["central histogram"].error * people == pytest.approx(error, rel=0.05)
    doubtful = dc.GridSynopsis(1.0, domain, [2, 10], expect_rows=len(table)).fit(table).synopsis_
    assert doubtful.doubts == ()  # people are not compared with rows


def test_the_plan_of_a_schema_with_weights_asks_for_the_population(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(dc.Domain(COLUMNS, unit={"household": "hh", "rows": 2}).to_toml())
    asked = ["plan", "-n", 3000, "--schema", tmp_path / "s.toml"]
    assert "--population must be given" in str(run(*asked, catch=True).exception)
    told = output(*asked, "--population", 240_000)
    assert "at most 2 rows, and a row as at most 5 rows of average weight" in " ".join(told.split())
    assert "'weight'" in str(run("plan", "-n", 9, "-d", 2, "--population", 9, catch=True).exception)


def test_clusters_are_weighted() -> None:
    table = survey()
    found = dc.PrivateKMeans(2, 100.0, DOMAIN, columns=["age"], random_state=1).fit(table)
    assert found.cluster_weights_.sum() == pytest.approx(true(table), rel=0.05)
    assert dc.DPLloyd(2, 10.0, DOMAIN, columns=["age"], random_state=1).fit(table).cluster_centers_.shape == (2, 1)


@pytest.mark.parametrize(
    "release",
    [
        lambda: dc.metric.NDLaplace(1.0, 0.1, DOMAIN).transform(survey()),
        lambda: dc.metric.Piecewise(1.0, DOMAIN).transform(survey()),
        lambda: dc.clustering.DomainScaler(DOMAIN).fit(survey()),
    ],
)
def test_what_cannot_weigh_says_so(release: Any) -> None:
    with pytest.raises(SchemaError, match="'w' has the role 'weight'"):
        release()


def test_the_same_seed_gives_the_same_release_in_any_order() -> None:
    table = survey()
    made = [METHODS["grid"](1.0, DOMAIN).fit(t).synopsis_.digest for t in (table, table.sample(frac=1, random_state=2))]
    assert made[0] == made[1]


def test_a_survey_of_households_from_spss_to_answers(tmp_path: Path) -> None:
    """The story of a survey: draft, risk, a synopsis and a synthetic survey, all with weights and households."""
    pyreadstat = pytest.importorskip("pyreadstat")
    table, data, schema = survey().rename(columns={"w": "wgt"}), tmp_path / "s.sav", tmp_path / "s.toml"
    pyreadstat.write_sav(table.assign(sex=(table["sex"] == "m") + 1), data, variable_value_labels={
        "sex": {1: "f", 2: "m"}})  # fmt: skip
    drafted = output("schema", data)
    assert 'role = "weight" (how many people a row stands for' in drafted
    said = ["sex=f,m", "age=0..99", "wgt=0:400", "wgt=weight", "hh=household:2", "age,sex=quasi-identifier"]
    declared = [word for text in said for word in ("--declare", text)]
    output("schema", data, *declared, "-o", schema)
    assert 'household = "hh"' in schema.read_text()
    risk = output("risk", data, "--schema", schema, COLUMNS="200")
    assert "households of the smallest group" in risk
    assert f"{true(survey()):,.0f} people by the weights" in risk
    made = tmp_path / "s.parquet"
    shown = output("synopsis", data, "--schema", schema, "--epsilon", 2, "--columns", "sex", "--seed", 1, "-o", made)
    assert "one household, with all their rows (at most 2 used)" in " ".join(shown.replace("│", " ").split())
    assert "At most 2 rows of one household are counted" in " ".join(shown.split())
    found = dc.Synopsis.load(made)
    low, high = found.count(sex="m").interval(0.999)
    assert low <= true(survey(), sex="m") <= high
    answer = output("ask", made, "sex = 'm'")
    assert "per household" in answer
    rows = tmp_path / "rows.csv"
    output("synthesize", data, "--schema", schema, "--epsilon", 4, "--seed", 1, "-o", rows)
    synthetic = pd.read_csv(rows)
    assert list(synthetic) == ["sex", "age", "wgt"]
    assert len(synthetic) == pytest.approx(3000, rel=0.1)
    assert synthetic["wgt"].sum() == pytest.approx(true(survey()), rel=0.2)
    anonymous = output("anonymize", data, "--schema", schema, "--k", 5, "-o", tmp_path / "k.csv")
    assert "k counts households" in " ".join(anonymous.replace("│", " ").split())
    refused = run("perturb", data, "--schema", schema, "--epsilon", 1, "--radius", 0.1, "-o", rows, catch=True)
    assert "'wgt' has the role 'weight'" in str(refused.exception)
