"""Clusters of a wide table on the command line: released with a δ, kept in one file, told on a page."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import discreet as dc
from command_line import output
from discreet.errors import DiscreetError
from discreet.synopses import Synopsis


@pytest.mark.slow
def test_a_wide_table_is_clustered_with_a_delta_and_its_page_says_how(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    centers = rng.uniform(0.2, 0.8, (3, 30))
    rows = rng.normal(centers[rng.integers(3, size=4000)], 0.05)
    names = [f"c{j}" for j in range(30)]
    pa_csv.write_csv(pa.table(dict(zip(names, rows.T, strict=True))), tmp_path / "t.csv")
    (tmp_path / "schema.toml").write_text("".join(f"[columns.{n}]\nbounds = [0, 1]\n" for n in names))
    release, page = tmp_path / "s.parquet", tmp_path / "page.html"
    job = ("cluster", tmp_path / "t.csv", "--schema", tmp_path / "schema.toml", "-k", 3)
    output(*job, "--epsilon", 1, "--delta", 1e-6, "-o", tmp_path / "c.csv", "--release", release, "--report", page)
    made = Synopsis.load(release)
    assert made.guarantee.delta == 1e-6
    assert made.guarantee.parameters["method"] == "lift"
    with (tmp_path / "c.csv").open() as file:
        written = np.array([[float(row[n]) for n in names] for row in csv.DictReader(file)])
    gaps = np.linalg.norm(written[:, None] - centers, axis=2)
    assert gaps.min(axis=0).max() < 0.1
    text = page.read_text()
    assert "Clusters in 30 columns" in text
    assert "Rows were projected to 8 random axes" in text
    assert text.count("not known: this column was not split") == 0, "no frames with nothing in them"
    assert "These columns were never split" in text
    again = json.loads(output("cluster", release, "-k", 3, "--json"))  # of the saved release: the same, at no cost
    assert np.allclose(again["centers"], written)
    assert "--method" in output("cluster", "--help")
    named = json.loads(
        output(*job, "--epsilon", 2, "--method", "lift", "--seed", 1, "--json", "-o", tmp_path / "d.csv")
    )
    assert len(named["centers"]) == 3
    assert named["epsilon"] == 2
    shown = output("cluster", release, "-k", 7)  # columns across or down, by the width of their numbers
    assert "c0" in shown
    assert "weight" in shown, "of thirty columns a few are shown, and always how many rows a cluster has"
    assert "± standard error" in shown


def test_clusters_against_a_file_that_was_misread_ask_for_its_schema(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b\n" + "0.2;0.3\n0.8;0.7\n" * 200)
    columns = "a = {bounds = [0, 1]}\nb = {bounds = [0, 1]}\n"
    (tmp_path / "s.toml").write_text(f'[source]\ndelimiter = ";"\n[columns]\n{columns}')
    release, clusters = tmp_path / "s.parquet", tmp_path / "clusters.json"
    output("synopsis", tmp_path / "t.csv", "--schema", tmp_path / "s.toml", "--epsilon", 2, "-o", release)
    clusters.write_text(output("cluster", release, "-k", 2, "--json"))
    asked = ["report", release, "--against", tmp_path / "t.csv", "--clusters", clusters, "-o", tmp_path / "page.html"]
    with pytest.raises(DiscreetError, match="describe its file with --schema"):
        output(*asked)
    output(*asked, "--schema", tmp_path / "s.toml")
    assert "Centres compared with k-means on the raw rows" in (tmp_path / "page.html").read_text()


def test_the_page_of_a_release_shows_its_centres_and_turns_a_wide_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = np.clip(rng.normal(rng.uniform(0.2, 0.8, (3, 30))[rng.integers(3, size=4000)], 0.05), 0, 1)
    made = dc.PrivateKMeans(3, 1.0, dc.Domain.box([0] * 30, 1), delta=1e-6, random_state=1).release(rows)
    made.save(tmp_path / "s.parquet")
    output("report", tmp_path / "s.parquet", "-o", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    table = text[text.index("Places of the centres") :]
    assert '<th scope="col" class="n">centre 3</th>' in table
    assert "18 more" in table  # of 30 columns a dozen is shown at once
    assert f"{made.lifted.centers[1, 0]:.3f}"[:4] in table
