"""Whose privacy is promised: tables that name persons get no promise about rows by accident, and ids never leave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from command_line import exit_code
from discreet.core.budget.guarantee import Guarantee
from discreet.errors import FormatError, InvalidArgument, InvalidType, SchemaError
from discreet.jobs.job import Job
from discreet.reporting.words import for_lawyers
from small_tables import write_table

COLUMNS: dict[str, Any] = {
    "user": {"bounds": (0, 1000), "role": "person"},
    "name": {"categories": ["a", "b"], "role": "identifier"},
    "age": (0, 120),
    "cost": (0, 10),
}
SCHEMA = """[columns.user]
bounds = [0, 1000]
role = "person"

[columns.name]
categories = ["a", "b"]
role = "identifier"

[columns.age]
bounds = [0, 120]

[columns.cost]
bounds = [0, 10]
"""
CENTRAL = [
    dc.GridSynopsis(domain=COLUMNS, rule=4, random_state=1),
    dc.GridSynopsis(domain=COLUMNS, rule=[3, 5], random_state=1),
    dc.TreeSynopsis(domain=COLUMNS, max_depth=3, random_state=1),
    dc.PrivateKMeans(2, domain=COLUMNS, random_state=1),
    dc.DPLloyd(2, domain=COLUMNS, random_state=1),
]
METRIC = [
    dc.metric.NDLaplace(epsilon=1, radius=0.1, domain=COLUMNS, random_state=1),
    dc.metric.Piecewise(epsilon=1, domain=COLUMNS, random_state=1),
    dc.metric.Piecewise(epsilon=1, domain=COLUMNS, method="square_wave", random_state=1),
]


def _name(estimator: Any) -> str:
    return type(estimator).__name__


def _table(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "user": rng.integers(0, 1000, n),
            "name": ["zz"] * n,  # unknown to the schema: as an axis it would drop every row
            "age": rng.uniform(0, 120, n),
            "cost": rng.uniform(0, 10, n),
        }
    )


def _said(estimator: Any) -> Any:
    return estimator.__class__(**{**estimator.get_params(deep=False), "domain": dc.Domain(COLUMNS, unit="row")})


# ---- the domain keeps what was said


def test_a_domain_keeps_its_unit_through_every_form() -> None:
    said, silent = dc.Domain(COLUMNS, unit="row"), dc.Domain(COLUMNS)
    assert (said.unit, silent.unit) == ("row", None)
    assert said != silent
    assert said.select(["age"]).unit == "row"
    assert dc.Domain.from_toml(said.to_toml()) == said
    assert dc.Domain.from_toml(silent.to_toml()) == silent
    assert "unit='row'" in repr(said)
    assert "unit" not in repr(silent)
    assert silent.with_unit("row") == said
    for domain in (said, silent):
        promise = Guarantee("central", domain=domain)
        assert Guarantee.from_json(promise.to_json()).domain == domain


def test_what_was_not_said_leaves_no_trace_in_a_promise() -> None:
    assert set(Guarantee("central", domain=dc.Domain(COLUMNS)).to_dict()["domain"]) == {"named", "columns"}


@pytest.mark.parametrize("unit", ["person", "", 1, ["row"]])
def test_another_unit_is_refused_and_the_fix_works(unit: Any) -> None:
    with pytest.raises((InvalidArgument, InvalidType), match="unit='row'"):
        dc.Domain({"age": (0, 1)}, unit=unit)
    assert dc.Domain({"age": (0, 1)}, unit="row").unit == "row"


def test_a_unit_below_the_columns_is_told_where_it_belongs() -> None:
    with pytest.raises(SchemaError, match="above the first"):
        dc.Domain.from_toml(SCHEMA + 'unit = "row"\n')


def test_an_unknown_field_of_a_promised_domain_is_refused() -> None:
    facts = Guarantee("central", domain=dc.Domain({"age": (0, 1)})).to_dict()
    facts["domain"]["unitt"] = "row"
    with pytest.raises(FormatError, match="unitt"):
        Guarantee.from_dict(facts)


# ---- mechanisms


@pytest.mark.parametrize("estimator", [*CENTRAL, *METRIC], ids=_name)
def test_a_table_of_persons_is_refused_until_the_unit_is_said(estimator: Any) -> None:
    with pytest.raises(SchemaError, match="names a person") as caught:
        estimator.fit(_table())
    for fix in ('unit="row" in Domain', 'unit = "row" in the schema file', "[parameters]", "--unit row"):
        assert fix in str(caught.value)
    promise = _said(estimator).fit(_table()).guarantee_
    assert promise.unit == "one row"
    assert any("'user'" in text and "m times" in text for text in promise.assumptions)
    assert not any("every person is in one row" in text for text in promise.assumptions)


@pytest.mark.parametrize("estimator", CENTRAL, ids=_name)
@pytest.mark.parametrize("form", ["frame", "array"])
def test_columns_that_name_people_are_no_axes(estimator: Any, form: str) -> None:
    table = _table()
    rows: Any = table if form == "frame" else table.assign(name=0).to_numpy(float)
    made = _said(estimator).fit(rows)
    plain = estimator.__class__(
        **{**estimator.get_params(deep=False), "domain": dc.Domain({k: COLUMNS[k] for k in ("age", "cost")})}
    ).fit(table[["age", "cost"]] if form == "frame" else rows[:, 2:])
    assert made.guarantee_.domain.names == ("age", "cost")
    if hasattr(made, "cluster_centers_"):
        assert np.array_equal(made.cluster_centers_, plain.cluster_centers_)
        assert np.array_equal(
            made.predict(rows), plain.predict(table[["age", "cost"]] if form == "frame" else rows[:, 2:])
        )
    else:
        assert np.array_equal(made.synopsis_.weights, plain.synopsis_.weights)
        assert made.synopsis_.weights.sum() > 150
        assert made.synopsis_.sample(5).column_names == ["age", "cost"]


def test_an_identifier_alone_needs_no_unit_and_is_no_axis() -> None:
    columns = {k: v for k, v in COLUMNS.items() if k != "user"}
    made = dc.GridSynopsis(domain=columns, rule=2, random_state=1).fit(_table()).synopsis_
    assert made.domain.names == ("age", "cost")
    assert dc.metric.NDLaplace(epsilon=1, radius=0.1, domain=columns).transform(_table()).columns.tolist() == [
        "age",
        "cost",
    ]


def test_the_columns_that_name_people_need_not_be_there() -> None:
    made = dc.GridSynopsis(domain=dc.Domain(COLUMNS, unit="row"), rule=2).fit(_table()[["cost", "age"]]).synopsis_
    assert made.domain.names == ("age", "cost")


def test_a_schema_of_identifiers_only_is_refused() -> None:
    only = dc.Domain({k: COLUMNS[k] for k in ("user", "name")}, unit="row")
    for estimator in (dc.GridSynopsis(domain=only), dc.metric.NDLaplace(epsilon=1, radius=0.1, domain=only)):
        with pytest.raises(SchemaError, match="never released"):
            estimator.fit(_table())


@pytest.mark.parametrize("estimator", METRIC, ids=_name)
@pytest.mark.parametrize("form", ["frame", "array"])
def test_perturbed_tables_hold_no_identifier(estimator: Any, form: str) -> None:
    table = _table()
    rows: Any = table if form == "frame" else table.assign(name=0).to_numpy(float)
    with pytest.raises(SchemaError, match="names a person"):
        estimator.transform(rows)
    noisy = _said(estimator).transform(rows)
    plain = estimator.__class__(
        **{**estimator.get_params(deep=False), "domain": dc.Domain({k: COLUMNS[k] for k in ("age", "cost")})}
    ).transform(table[["age", "cost"]] if form == "frame" else np.ascontiguousarray(rows[:, 2:]))
    assert np.array_equal(np.asarray(noisy), np.asarray(plain))


def test_a_ledger_of_users_is_a_unit_of_its_own() -> None:
    table, mechanism = _table(20), METRIC[0]
    ledger = dc.metric.UserLedger(lifetime=40)
    noisy = mechanism.transform(table, users=table["user"], ledger=ledger)
    assert list(noisy.columns) == ["age", "cost"]
    assert not any("m times" in text for text in mechanism.guarantee_.assumptions)


def test_a_trajectory_leaves_persons_out_and_asks_whose_rows_they_are() -> None:
    table = _table(12)
    columns = {k: v for k, v in COLUMNS.items() if k != "name"}
    walker = dc.metric.NDLaplace(epsilon=1, radius=0.1, domain=columns, random_state=1)
    walk = dc.metric.Trajectory(walker, threshold=0.8, test_epsilon=0.25, budget=4)
    with pytest.raises(InvalidArgument, match=r"users=table\['user'\]"):
        walk.report(table)
    report = walk.report(table, users=table["user"])
    assert list(report.places.columns) == ["age", "cost"]
    assert report.guarantee.unit == "one user's trajectory"
    array = walk.report(table[["user", "age", "cost"]].to_numpy(float), users=table["user"])
    assert array.places.shape == (12, 2)


# ---- command line, jobs, words


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_table(tmp_path, _table(), SCHEMA, "rows.csv")


@pytest.mark.parametrize(
    "verb",
    [
        ("synopsis", "--epsilon", "1", "--rule", "4"),
        ("perturb", "--epsilon", "1", "--radius", "0.1"),
    ],
    ids=lambda v: v[0],
)
def test_the_fixes_that_the_command_line_names_work(
    verb: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = folder / ("out.parquet" if verb[0] == "synopsis" else "out.csv")
    line = [verb[0], folder / "rows.csv", "--schema", folder / "schema.toml", *verb[1:], "-o", out, "--json"]
    assert exit_code(*line) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "--unit row" in said
    assert not out.exists()
    assert exit_code(*line, "--unit", "row") == 0
    figures = json.loads(capsys.readouterr().out)
    assert "user" not in json.dumps(figures.get("columns", []))
    (folder / "schema.toml").write_text('unit = "row"\n' + SCHEMA)
    assert exit_code(*line) == 0
    assert exit_code(*line, "--unit", "person") == 2
    assert "--unit row" in capsys.readouterr().err
    assert exit_code("audit", out) == 0


@pytest.mark.parametrize("kind", ["synopsis", "cluster", "perturb"])
def test_jobs_say_the_unit_as_a_key_or_in_their_schema(kind: str, folder: Path) -> None:
    parameters: dict[str, Any] = {"epsilon": 1, **({"radius": 0.1} if kind == "perturb" else {"n_clusters": 2})}
    outputs = {"centers": "c.csv"} if kind == "cluster" else {"release": "r.parquet"}
    job = Job(kind, "rows.csv", COLUMNS, parameters, outputs, folder)
    with pytest.raises(SchemaError, match="unit"):
        job.run()
    keyed = Job(kind, "rows.csv", COLUMNS, {**parameters, "unit": "row"}, outputs, folder)
    assert Job.from_toml(keyed.to_toml()) == keyed
    assert keyed.run().guarantee.unit == "one row"
    schema = Job(kind, "rows.csv", dc.Domain(COLUMNS, unit="row"), parameters, outputs, folder)
    assert Job.from_toml(schema.to_toml()) == schema
    assert schema.run().guarantee.unit == "one row"


def test_anonymous_tables_count_persons_and_need_no_unit(folder: Path) -> None:
    roles = SCHEMA.replace("bounds = [0, 120]", 'bounds = [0, 120]\nrole = "quasi-identifier"')
    (folder / "schema.toml").write_text(roles.replace("[columns.cost]\nbounds = [0, 10]\n", ""))
    out = folder / "safe.csv"
    assert exit_code("anonymize", folder / "rows.csv", "--schema", folder / "schema.toml", "--k", "5", "-o", out) == 0
    assert "user" not in out.read_text().splitlines()[0]
    promise = Guarantee.from_json((folder / "safe.csv.guarantee.json").read_text())
    assert promise.unit == "one person"


@pytest.mark.parametrize("estimator", [*CENTRAL, *METRIC], ids=_name)
def test_promises_about_rows_never_speak_of_a_given_person(estimator: Any) -> None:
    domain = {k: COLUMNS[k] for k in ("age", "cost")}
    made = estimator.__class__(**{**estimator.get_params(deep=False), "domain": domain}).fit(_table()[["age", "cost"]])
    said = " ".join(for_lawyers(made.guarantee_))
    assert "person" not in said
    assert "row" in said
    assert "ε is m times as large" in said


def test_words_follow_the_unit() -> None:
    ledger = dc.Ledger(epsilon=1)
    ledger.spend("counts", 1)
    rows = " ".join(for_lawyers(Guarantee.from_ledger(ledger, model="central")))
    people = " ".join(for_lawyers(Guarantee.from_ledger(ledger, model="central", unit="one person")))
    assert "any single row" in rows
    assert "any single person" in people
    assert "m rows" not in people
