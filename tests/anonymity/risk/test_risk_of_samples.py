"""The risk of a survey: individual and global risk from population weights, and of households, by other ways."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import integrate, stats

import discreet as dc
from command_line import run
from discreet.anonymity.risk.population import individual_risk
from discreet.cli import common
from discreet.errors import InvalidArgument

CASES = [(f, p) for f in (1, 2, 3, 5, 20, 21, 300, 30_000) for p in (1e-5, 1e-3, 0.02, 0.3, 0.9, 0.999)]


@pytest.mark.parametrize(("f", "p"), CASES)
def test_the_risk_is_the_mean_of_one_over_a_negative_binomial(f: int, p: float) -> None:
    """By quadrature of the generating function, and for large p by the sum over the law itself."""
    steep = integrate.quad(
        lambda t: p * math.exp((f - 1) * t) * math.exp(t) / (p + (1 - p) * math.exp(t)), -60 / f, 0, limit=500
    )
    found = float(individual_risk(f, p))
    assert found == pytest.approx(steep[0], rel=1e-6)
    if p >= 0.02 and f <= 300:
        more = np.arange(200_000)
        assert found == pytest.approx(float((stats.nbinom.pmf(more, f, p) / (f + more)).sum()), rel=1e-8)


@pytest.mark.parametrize("p", [1e-6, 1e-3, 0.1, 0.5, 0.99])
def test_the_published_forms_for_one_and_two_rows(p: float) -> None:
    q = 1 - p
    assert float(individual_risk(1, p)) == pytest.approx(p / q * math.log(1 / p), rel=1e-9)
    assert float(individual_risk(2, p)) == pytest.approx(p / q**2 * (q + p * math.log(p)), rel=1e-6)
    assert float(individual_risk(4, 1.0)) == 0.25


def survey() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 60
    return pd.DataFrame(
        {"age": rng.integers(0, 4, n), "town": rng.choice(["a", "b"], n), "w": rng.choice([1.0, 3.5, 80.0, 0.2], n),
         "hh": rng.choice([*map(str, range(20)), None], n), "pid": rng.integers(0, 40, n)}
    )  # fmt: skip


def brute(table: pd.DataFrame, person: str | None = None, *, weighted: bool = True) -> tuple[list[float], list[float]]:
    """Return the risk of every row, and of every household, row by row."""
    risks, homes = [], {}
    for i, row in enumerate(table.to_dict("records")):
        same = table[(table["age"] == row["age"]) & (table["town"] == row["town"])]
        f = len(same) if person is None else same[person].nunique()
        p = min(1.0, len(same) / same["w"].sum()) if weighted else 1.0
        risk = integrate.quad(lambda s, f=f, p=p: p * s ** (f - 1) / (p + (1 - p) * s), 0, 1)[0]
        risks.append(risk)
        home = row["hh"] if isinstance(row["hh"], str) else f"row {i}"
        homes[home] = homes.get(home, 1.0) * (1 - risk)
    return risks, [1 - safe for safe in homes.values()]


@pytest.mark.parametrize(("person", "weighted"), [(None, True), ("pid", True), (None, False)])
def test_figures_are_those_of_a_count_row_by_row(person: str | None, weighted: bool) -> None:
    table = survey()
    rows, homes = brute(table, person, weighted=weighted)
    more: dict[str, Any] = {"weight": "w"} if weighted else {}
    found = dc.anonymity.risk(table, ["age", "town"], person=person, household="hh", threshold=0.1, **more)
    pairs = [(found.households, homes), *([(found.population, rows)] if weighted else [])]
    for told, true in pairs:
        assert told is not None
        assert told["number"] == len(true)
        assert told["max"] == pytest.approx(max(true), rel=1e-9)
        assert told["expected"] == pytest.approx(sum(true), rel=1e-9)
        assert told["mean"] == pytest.approx(np.mean(true), rel=1e-9)
        assert told["share"] == pytest.approx(np.mean(np.array(true) > 0.1))
    assert (found.population is None) == (not weighted)
    if weighted:
        assert found.population["people"] == pytest.approx(table["w"].sum())
        assert found.check(individual=0.0)[0].startswith("individual is")
        assert "expected number of rows found" in str(found)
    else:
        assert found.check(individual=0.5) == ["individual is not known here"]


def test_all_weights_one_is_the_risk_of_a_prosecutor_and_says_that_no_population_is_behind_it() -> None:
    table = survey().assign(w=1.0)
    found = dc.anonymity.risk(table, ["age", "town"], weight="w")
    assert found.population["mean"] == pytest.approx(found.prosecutor["mean"])
    assert "add up to about the number of rows" in found.notes[0]


def test_a_column_has_one_part_only() -> None:
    with pytest.raises(InvalidArgument, match="weight"):
        dc.anonymity.risk(survey(), ["age"], weight="age")
    with pytest.raises(InvalidArgument, match="household"):
        dc.anonymity.risk(survey(), ["age"], household="age")


def test_a_file_with_decimal_commas_and_roles_from_the_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common.console, "_width", 200)
    table = survey()
    table.to_csv(tmp_path / "s.csv", sep=";", decimal=",", index=False)
    (tmp_path / "s.toml").write_text(
        '[source]\ndelimiter = ";"\ndecimal = ","\n[unit]\nhousehold = "hh"\nrows = 6\n[columns]\n'
        'age = {kind = "integer", bounds = [0, 9], role = "quasi-identifier"}\n'
        'town = {categories = ["a", "b"], role = "quasi-identifier"}\nw = {bounds = [0, 100], role = "weight"}\n'
    )
    done = run("risk", tmp_path / "s.csv", "--schema", tmp_path / "s.toml", "--json")
    told = json.loads(done.output)
    assert told["called"] == "household"
    assert told["person"] == "hh"
    assert told["population"]["people"] == pytest.approx(table["w"].sum())
    shown = run("risk", tmp_path / "s.csv", "--schema", tmp_path / "s.toml").output
    assert "households of the smallest group" in shown
    assert "chance that at least one member is found" in shown
    direct = run("risk", tmp_path / "s.csv", "--schema", tmp_path / "s.toml", "--weight", "ww", catch=True)
    assert "ww" in str(direct.exception)


def test_rows_of_a_table_in_memory_keep_their_own_types() -> None:
    weights = pa.array([None, "2", "x"])
    found = dc.anonymity.risk(pa.table({"a": [1, 1, 2], "w": weights}), ["a"], weight="w")
    assert found.population["people"] == 4  # a row without a weight stands for itself
