"""Clusters of tables with categories: centres are places among numbers, categories are described by their shares."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.cli.app import main
from discreet.clustering import cluster_synopsis
from discreet.clustering.leaves.columns import view
from discreet.errors import DiscreetError
from discreet.reporting import write_report
from discreet.synopses import BoxSynopsis, Synopsis

TOWNS = ["here", "there", "nowhere", "elsewhere"]


def people(n: int = 4000) -> pd.DataFrame:
    """Two groups: the young live here or there, the old elsewhere or nowhere; three of four are women among the old."""
    rng = np.random.default_rng(0)
    old = np.arange(n) >= n // 2
    town = np.where(old, rng.choice(["nowhere", "elsewhere"], n), rng.choice(["here", "there"], n))
    sex = np.where(rng.random(n) < np.where(old, 0.75, 0.5), "f", "m")
    age = np.clip(rng.normal(np.where(old, 75, 25), 4), 0, 100)
    return pd.DataFrame({"town": town, "age": age, "sex": sex, "cost": np.where(old, 80.0, 20.0) + rng.normal(0, 3, n)})


def declared(towns: list[str] = TOWNS) -> dc.Domain:
    return dc.Domain({"town": towns, "age": (0, 100), "sex": ["f", "m"], "cost": (0, 100)})


def without_sex() -> Synopsis:
    """A release that was never cut along the column of sexes."""
    small = dc.GridSynopsis(1.0, declared().select(["town", "age", "cost"]), [4, 10, 10], random_state=0)
    made = small.fit(people()).synopsis_
    return BoxSynopsis(
        declared(),
        lower=np.insert(made.lower, 2, 0.0, axis=1),
        upper=np.insert(made.upper, 2, 2.0, axis=1),
        weights=made.weights,
        variances=made.variances,
        total=made.total,
        total_variance=made.total_variance,
        guarantee=dataclasses.replace(made.guarantee, domain=None, digest=None),
        uncut=["sex"],
    )


def shell(*args: object) -> int:
    with pytest.raises(SystemExit) as left:
        main([str(a) for a in args])
    return int(left.value.code or 0)


@pytest.mark.parametrize("estimator", [dc.PrivateKMeans, dc.DPLloyd])
def test_centres_are_places_among_numbers(estimator: Any) -> None:
    model = estimator(2, epsilon=2.0, domain=declared(), random_state=1).fit(people())
    assert model.domain_.names == ("age", "cost")
    centers = model.cluster_centers_[np.argsort(model.cluster_centers_[:, 0])]
    assert np.abs(centers - [[25, 20], [75, 80]]).max() < 10
    assert "town, sex took no part" in model.guarantee_.parameters["clustering"]
    assert (
        'took no part: the mean of categories is not a place; with PrivateKMeans(synopsis="marginals")' in model.note_
    )
    assert model.guarantee_.epsilon == 2.0


@pytest.mark.parametrize("estimator", [dc.PrivateKMeans, dc.DPLloyd])
def test_full_tables_are_labelled_by_name_and_by_place(estimator: Any) -> None:
    frame = people()
    model = estimator(2, epsilon=2.0, domain=declared(), random_state=1).fit(frame)
    labels = model.predict(frame)
    assert len(set(labels[:2000])) == 1
    assert labels[0] != labels[-1]
    assert np.array_equal(model.predict(frame[["cost", "sex", "age", "town"]]), labels)
    assert model.transform(frame).shape == (4000, 2)
    assert np.array_equal(estimator(2, epsilon=2.0, domain=declared(), random_state=1).fit_predict(frame), labels)


def test_the_order_of_categories_moves_no_centre() -> None:
    frame, turned = people(), declared(TOWNS[::-1])
    first = dc.PrivateKMeans(2, domain=declared(), random_state=1).fit(frame).cluster_centers_
    assert np.array_equal(first, dc.PrivateKMeans(2, domain=turned, random_state=1).fit(frame).cluster_centers_)
    found = []
    for domain in (declared(), turned):
        made = dc.GridSynopsis(math.inf, domain, [4, 10, 2, 10]).fit(frame).synopsis_
        found.append(cluster_synopsis(made, 2).centers)
    assert np.allclose(found[0], found[1])


def test_tables_of_numbers_alone_are_clustered_as_ever() -> None:
    data = dc.datasets.mixture(2000, 2, 3, random_state=0)
    model = dc.PrivateKMeans(3, domain=data.domain, random_state=0).fit(data.X)
    assert "clustering" not in model.guarantee_.parameters
    assert model.note_ == ""
    named = dc.PrivateKMeans(3, domain=data.domain, columns=list(data.domain.names), random_state=0).fit(data.X)
    assert np.array_equal(named.cluster_centers_, model.cluster_centers_)
    assert named.synopsis_.digest == model.synopsis_.digest
    found = cluster_synopsis(model.synopsis_, 3)
    assert found.columns == data.domain.names
    assert found.categories == {}


def test_columns_can_be_chosen() -> None:
    frame = people()
    model = dc.PrivateKMeans(2, domain=declared(), columns=["cost"], random_state=1).fit(frame)
    assert model.cluster_centers_.shape == (2, 1)
    assert "town, age, sex took no part" in model.note_
    asked = dc.PrivateKMeans(2, domain=declared(), columns=["age", "town"], random_state=1).fit(frame)
    assert asked.domain_.names == ("age", "town")
    assert len(asked.predict(frame)) == 4000


def test_a_table_of_categories_alone_is_refused_and_the_way_out_works() -> None:
    domain = dc.Domain({"town": TOWNS, "sex": ["f", "m"]})
    with pytest.raises(DiscreetError, match=r"no declared column is numeric.*try columns=\['town'\]"):
        dc.PrivateKMeans(2, domain=domain).fit(people())
    assert dc.PrivateKMeans(2, domain=domain, columns=["town"], random_state=0).fit(people()).domain_.names == ("town",)
    with pytest.raises(DiscreetError, match="columns must be a list"):
        dc.PrivateKMeans(2, domain=declared(), columns="age").fit(people())
    with pytest.raises(DiscreetError, match="height"):
        dc.PrivateKMeans(2, domain=declared(), columns=["height"]).fit(people())


@pytest.mark.parametrize("kind", ["grid", "tree"])
def test_categories_are_described_by_their_shares_in_each_cluster(kind: str) -> None:
    frame = people()
    if kind == "grid":
        made = dc.GridSynopsis(math.inf, declared(), [4, 10, 2, 10]).fit(frame).synopsis_
    else:
        made = dc.TreeSynopsis(5.0, declared(), "binary", max_depth=9, random_state=0).fit(frame).synopsis_
    found = cluster_synopsis(made, 2)
    assert found.columns == ("age", "cost")
    assert found.centers.shape == (2, 2)
    old = int(np.argmax(found.centers[:, 0]))
    sex, town = found.categories["sex"], found.categories["town"]
    assert sex is not None
    assert town is not None
    women = (frame["sex"][2000:] == "f").mean(), (frame["sex"][:2000] == "f").mean()
    assert sex[[old, 1 - old], 0] == pytest.approx(women, abs=0.05)
    assert town[old, :2].max() < 0.05
    assert town[old].sum() == pytest.approx(1, abs=0.02)
    assert float(found.weights.sum()) == pytest.approx(4000, rel=0.05)


def test_what_was_not_divided_is_not_described() -> None:
    found = cluster_synopsis(without_sex(), 2)
    assert found.categories["sex"] is None
    assert found.categories["town"] is not None
    blind = dc.GridSynopsis(1.0, declared(), [4, 1, 2, 1], random_state=0).fit(people()).synopsis_
    assert "does not know where clusters are" in cluster_synopsis(blind, 2).note


def test_no_output_holds_the_mean_of_a_category(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    without_sex().save(tmp_path / "s.parquet")
    assert shell("cluster", tmp_path / "s.parquet", "-k", 2, "-o", tmp_path / "c.csv") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "clustered on age, cost; town, sex took no part" in told
    with (tmp_path / "c.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["sex"] for row in rows] == ["unknown", "unknown"]
    assert all("%" in row["town"] and any(town in row["town"] for town in TOWNS) for row in rows)
    assert {float(row["age"]) > 50 for row in rows} == {True, False}
    assert shell("cluster", tmp_path / "s.parquet", "-k", 2, "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["columns"] == ["age", "cost"]
    assert figures["categories"]["sex"] is None
    assert set(figures["categories"]["town"][0]) <= set(TOWNS)
    assert figures["rows_in_clusters"] == pytest.approx(sum(figures["weights"]))
    assert shell("cluster", tmp_path / "s.parquet", "-k", 2, "--columns", "town,age", "--json") == 0
    asked = json.loads(capsys.readouterr().out)
    assert all(row[0] in TOWNS for row in asked["centers"])


def test_weights_and_rows_are_never_mistaken_for_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If cells are not listed, the clusters hold fewer rows than the table, and both numbers are shown."""
    frame = people()
    made = dc.GridSynopsis(1.0, declared(), [4, 600, 2, 600], random_state=0).fit(frame).synopsis_
    assert made.unlisted is not None
    made.save(tmp_path / "s.parquet")
    held = float(cluster_synopsis(made, 2).weights.sum())
    assert shell("cluster", tmp_path / "s.parquet", "-k", 2) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"with {held:,.0f} of about {made.total:,.0f} rows" in told
    assert "not listed" in told


def test_jobs_and_their_pages_say_which_columns_took_part(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "t.csv", index=False)
    outputs = {"centers": "c.csv", "release": "s.parquet", "report": "r.html"}
    parameters = {"n_clusters": 2, "epsilon": 1.0, "seed": 1}
    dc.Job("cluster", "t.csv", declared(), parameters, outputs, tmp_path).run()
    assert (tmp_path / "c.csv").read_text().splitlines()[0].replace('"', "") == "age,cost,weight,weight_std_error"
    assert "Clustered on age, cost; town, sex took no part" in (tmp_path / "r.html").read_text()
    parameters["columns"] = ["cost"]
    dc.Job("cluster", "t.csv", declared(), parameters, {"centers": "d.csv"}, tmp_path).run()
    assert (tmp_path / "d.csv").read_text().splitlines()[0].replace('"', "") == "cost,weight,weight_std_error"
    write_report(tmp_path / "s.parquet", tmp_path / "again.html")


def test_what_a_synopsis_says_of_some_columns_stays_in_its_boxes() -> None:
    """Points at the edge of a box: their mean, weighted and rounded, may be a digit beyond it."""
    rng = np.random.default_rng(0)
    edges, n = rng.random(200) + 0.1, 5
    lower = np.column_stack([np.repeat(edges - 0.1, n), np.tile(np.arange(n), 200)])
    upper = np.column_stack([np.repeat(edges, n), np.tile(np.arange(n) + 1, 200)])
    whole = BoxSynopsis(
        dc.Domain({"a": (0, 2), "b": [f"{i}" for i in range(n)]}), lower=lower, upper=upper,
        weights=rng.random(200 * n) * 30, variances=np.ones(200 * n), points=upper - [0.0, 0.5],
        guarantee=dc.Guarantee("central"),
    )  # fmt: skip
    seen = view(whole, ["a"])
    assert (seen.points <= seen.upper).all()
    assert np.allclose(seen.points, seen.upper, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")
def test_categories_take_part_through_the_marginal_model() -> None:
    """Numbers say nothing here: only towns and sexes tell the groups apart."""
    frame = people(1500)
    frame["age"] = frame["cost"] = 50.0
    frame["sex"] = np.where(np.isin(frame["town"], ["here", "there"]), "m", "f")
    model = dc.PrivateKMeans(2, 5.0, declared(), synopsis="marginals", random_state=1).fit(frame)
    assert model.domain_.names == ("town", "age", "sex", "cost")
    assert model.guarantee_.epsilon == 5.0
    assert model.note_ == ""
    labels = model.predict(frame)
    assert np.mean(labels[:750] == labels[0]) > 0.9
    assert np.mean(labels[750:] != labels[0]) > 0.9
    assert model.transform(frame).shape == (1500, 2)
    assert np.allclose(model.cluster_categories_["sex"].sum(axis=1), 1)
    assert model.cluster_weights_.sum() == pytest.approx(1500, rel=0.1)
    far, edge = frame.assign(age=1e9), frame.assign(age=100.0)
    assert np.array_equal(model.transform(far), model.transform(edge))
    alone = dc.PrivateKMeans(2, 5.0, declared().select(["town", "sex"]), synopsis="marginals", random_state=1).fit(
        frame
    )
    assert alone.cluster_centers_.shape == (2, 2)
