"""`discreet cluster -k auto`: the number is read off the release, said in the terminal, and drawn on the page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import discreet as dc
from command_line import run
from small_tables import write_table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = dc.datasets.mixture(4000, 2, 4, random_state=1)
    write_table(tmp_path, data.to_arrow(), data.domain, "rows.csv")
    dc.GridSynopsis(1.0, data.domain, 16, random_state=1).fit(data.X).synopsis_.save(tmp_path / "s.parquet")
    return tmp_path


def test_the_number_of_a_saved_synopsis(folder: Path) -> None:
    page = folder / "page.html"
    done = run("cluster", folder / "s.parquet", "-k", "auto", "--report", page, catch=True)
    assert done.exit_code == 0, done.output
    assert "4 centres" in done.output
    assert "elbow 4" in done.output
    text = page.read_text("utf-8")
    assert "The number of clusters was chosen from the release" in text
    for name in ("elbow", "silhouette", "gap", "BIC"):
        assert f"{name}, which suggests 4" in text


def test_the_number_of_a_table_and_its_curves_as_data(folder: Path) -> None:
    place = ["--schema", folder / "schema.toml", "-o", folder / "c.csv"]
    done = run(*("cluster", folder / "rows.csv", "-k", "auto", "--epsilon", 1,
                                                    "--max-clusters", 9, "--json", *place), catch=True)  # fmt: skip
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["suggestion"]["n_clusters"] == len(told["centers"]) == 4
    assert len(told["suggestion"]["curves"]["gap"]) <= 9


def test_another_word_is_refused(folder: Path) -> None:
    done = run("cluster", folder / "s.parquet", "-k", "five", catch=True)
    assert done.exit_code != 0
    assert "a whole number" in str(done.exception) + done.output


@pytest.mark.parametrize("algorithm", ["density", "gaussians"])
def test_other_algorithms_find_the_same_clusters_where_they_stand_apart(folder: Path, algorithm: str) -> None:
    page, centers = folder / "page.html", folder / "c.csv"
    asked = ["cluster", folder / "s.parquet", "-k", "auto", "--algorithm", algorithm, "-o", centers, "--report", page]
    done = run(*asked, catch=True)
    assert done.exit_code == 0, done.output
    assert "4 centres" in done.output
    assert pa_csv.read_csv(centers).num_rows == 4
    assert "centre 4" in page.read_text("utf-8")


def test_a_table_is_clustered_by_another_algorithm_at_the_same_price(folder: Path) -> None:
    asked = ["cluster", folder / "rows.csv", "--schema", folder / "schema.toml", "-k", 4, "--epsilon", 1, "--algorithm",
             "gaussians", "-o", folder / "c.csv", "--json"]  # fmt: skip
    done = run(*asked, catch=True)
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert (len(told["centers"]), told["epsilon"]) == (4, 1.0)


def test_a_refinement_is_refused_where_it_would_not_be_used(folder: Path) -> None:
    asked = ["cluster", folder / "s.parquet", "-k", "auto", "--algorithm", "density", "--refine", "project"]
    done = run(*asked, catch=True)
    assert done.exit_code != 0
    assert "k-means" in str(done.exception) + done.output


def test_centres_are_compared_with_the_raw_rows_on_a_page_that_is_not_private(folder: Path) -> None:
    done = run("cluster", folder / "s.parquet", "-k", "4", "--json", catch=True)
    (folder / "clusters.json").write_text(done.output, "utf-8")
    asked = ["report", folder / "s.parquet", "--against", folder / "rows.csv", "--clusters", folder / "clusters.json",
             "-o", folder / "inside.html", "--json"]  # fmt: skip
    done = run(*asked, catch=True)
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)["comparison"]["clusters"]
    assert told["centroid_index"] == 0
    assert told["ari"] > 0.98
    text = (folder / "inside.html").read_text("utf-8")
    assert "adjusted Rand index" in text
    assert "It is not private" in text
    (folder / "clusters.json").write_text("[]", "utf-8")
    wrong = run(*asked, catch=True)
    assert wrong.exit_code != 0
    assert "discreet cluster --json" in str(wrong.exception) + wrong.output


def test_another_algorithm_finds_the_clusters_of_a_table_too(folder: Path) -> None:
    """Two rings, where every k-means cuts through both: the algorithm that was asked for is the one that runs."""
    rng = np.random.default_rng(3)
    angle, radius = rng.uniform(0, 2 * np.pi, 6000), np.repeat([0.12, 0.42], 3000) + rng.normal(0, 0.01, 6000)
    rings = {"x1": 0.5 + radius * np.cos(angle), "x2": 0.5 + radius * np.sin(angle)}
    pa_csv.write_csv(pa.table(rings), folder / "rings.csv")
    asked = ["cluster", folder / "rings.csv", "--schema", folder / "schema.toml", "--epsilon", 2, "-k", 2, "--seed", 1,
             "-o", folder / "c.csv", "--release", folder / "r.parquet", "--algorithm", "density", "--json"]  # fmt: skip
    done = run(*asked, catch=True)
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    again = dc.clustering.DensityClusters().fit(dc.Synopsis.load(folder / "r.parquet")).clusters_
    assert np.allclose(told["centers"], again.centers)
    inner = np.abs(np.asarray(told["centers"])[:2] - 0.5).max()
    assert inner < 0.1, "both rings have their middle in the middle; k-means would put centres on either side"


def test_density_does_not_ask_for_a_number_of_clusters_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("density clusters need no number")

    monkeypatch.setattr("discreet.clustering.central.of_synopsis.suggest_k", refuse)
    monkeypatch.setattr("discreet.clustering.shapes.base.suggest_k", refuse)
    asked = ["cluster", folder / "rows.csv", "--schema", folder / "schema.toml", "-k", "auto", "--epsilon", 1,
             "--seed", 1, "--algorithm", "density", "-o", folder / "c.csv", "--release", folder / "r.parquet",
             "--json"]  # fmt: skip
    done = run(*asked, catch=True)
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert (len(told["centers"]), told["epsilon"]) == (4, 1.0)
    assert dc.Synopsis.load(folder / "r.parquet").guarantee.epsilon == 1.0


def test_one_centre_is_not_called_centres(folder: Path) -> None:
    done = run("cluster", folder / "s.parquet", "-k", "1", catch=True)
    assert "1 centre, " in done.output


@pytest.mark.parametrize(("words", "fix"), [(("-k", "7"), "auto"), (("-k", "auto", "--max-clusters", "5"), "leaving")])
def test_density_refuses_a_number_that_it_would_not_use(folder: Path, words: tuple[str, ...], fix: str) -> None:
    done = run("cluster", folder / "s.parquet", *words, "--algorithm", "density", catch=True)
    assert done.exit_code
    assert "finds the number of clusters" in str(done.exception)
    assert f"try {fix}" in str(done.exception).replace("--n-clusters ", "").replace("--k ", "").replace("-k ", "")
