"""Weights of clusters come with standard errors, and a centre that noise alone can explain says so."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from command_line import run
from discreet.clustering import cluster_synopsis
from small_tables import write_table

DOMAIN = dc.Domain({"a": (0, 100), "b": (0, 100)})


def two_clusters(n: int = 1000) -> Any:
    rng = np.random.default_rng(1)
    return np.vstack([rng.normal([20, 20], 3, (n, 2)), rng.normal([80, 60], 3, (n, 2))])


def test_the_standard_error_is_the_spread_of_the_counts_over_draws_of_noise():
    """Clusters far apart: about every centre the same leaves are counted, with fresh noise.

    The spread of 100 draws is within 25 % of the true one in all but one case of a thousand.
    """
    X, z = two_clusters(), []
    for seed in range(100):
        made = dc.GridSynopsis(1.0, DOMAIN, 4, n_rows=2000, random_state=seed).fit(X).synopsis_
        found = cluster_synopsis(made, 2, refine="none", n_init=1)
        gaps = np.linalg.norm(made.points[:, np.newaxis] - found.centers, axis=2)
        counted = made.weights[gaps[:, 0] < gaps[:, 1]].sum()
        z.append((counted - 1000) / found.std_errors[0])
    assert np.std(z) == pytest.approx(1.0, rel=0.25)


def test_intervals_of_weights_cover_the_rows_nearest_to_each_centre():
    """Wide clusters have rows in cells of few rows, which refinement empties: weights must not lose them.

    160 intervals of 95 %, two to a release: fewer than 0.88 cover with a probability below 1e-4.
    """
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal([25, 25], 6, (4000, 2)), rng.normal([75, 75], 6, (4000, 2))])
    covered = []
    for seed in range(80):
        made = dc.GridSynopsis(1.0, DOMAIN, 30, random_state=seed).fit(X).synopsis_
        found = cluster_synopsis(made, 2, n_init=1)
        rows = np.bincount(np.linalg.norm(X[:, np.newaxis] - found.centers, axis=2).argmin(axis=1), minlength=2)
        low, high = found.interval(0.95)
        covered += ((low <= rows) & (rows <= high)).tolist()
    assert np.mean(covered) >= 0.88


@pytest.mark.parametrize("synopsis", ["grid", "auto"])
def test_centres_in_the_empty_are_marked_and_true_ones_are_not(synopsis):
    X = two_clusters()
    empty, marked, true_ones = 0, 0, 0
    for seed in range(4):
        km = dc.PrivateKMeans(5, 1.0, DOMAIN, synopsis=synopsis, refine="project", n_init=2, random_state=seed).fit(X)
        for center, doubtful in zip(km.cluster_centers_, km.cluster_may_be_noise_, strict=True):
            near = (np.linalg.norm(X - center, axis=1) < 10).sum()
            empty += near == 0
            marked += near == 0 and doubtful
            true_ones += near > 100 and doubtful
    assert marked == empty > 0
    assert true_ones == 0


def test_every_centre_of_an_empty_table_may_be_noise():
    for seed in range(3):
        km = dc.PrivateKMeans(3, 1.0, DOMAIN, n_rows=2000, refine="project", random_state=seed).fit(np.zeros((0, 2)))
        assert km.cluster_may_be_noise_.all()
        assert f"{len(km.cluster_centers_)} of {len(km.cluster_centers_)} clusters may be noise" in km.note_


def test_survivors_of_a_cutoff_are_measured_against_empty_ones():
    """Noise lifts some of three million empty cells above the cutoff: their sums are many standard errors."""
    rng = np.random.default_rng(1)
    X = rng.random((2000, 6)) * 100
    X[:1000] = 50 + rng.normal(0, 1, (1000, 6))
    made = dc.GridSynopsis(1.0, dc.Domain.box([0] * 6, 100), 12, random_state=1).fit(X).synopsis_
    assert made.hidden is not None
    assert made.hidden.noise_alone > 10
    found = cluster_synopsis(made, 5)
    real = np.linalg.norm(found.centers - 50, axis=1) < 15
    assert real.sum() == 1
    assert found.may_be_noise.tolist() == (~real).tolist()
    assert (found.weights > 5 * found.std_errors).all()  # standard errors alone would believe all of them


def test_no_noise_is_no_doubt():
    km = dc.PrivateKMeans(2, math.inf, DOMAIN, random_state=0).fit(two_clusters())
    assert (km.cluster_std_errors_ == 0).all()
    assert not km.cluster_may_be_noise_.any()
    assert "may be noise" not in km.note_


@pytest.fixture
def folder(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "200")
    return write_table(workdir, pd.DataFrame(two_clusters(), columns=["a", "b"]), DOMAIN, "t.csv")


def test_terminal_json_and_page_say_it(folder):
    words = [
        "cluster",
        "t.csv",
        "--schema",
        "schema.toml",
        "--epsilon",
        "0.1",
        "-k",
        "6",
        "--seed",
        "3",
        "--refine",
        "project",
    ]
    files = ["-o", "c.csv", "--release", "s.parquet", "--report", "r.html"]
    said = run(*words, *files, catch=True)
    assert said.exit_code == 0, said.output
    assert "± standard error" in said.output
    figures = json.loads(run(*words, "-o", "c.csv", "--json", catch=True).stdout)
    doubtful = figures["may_be_noise"]
    assert 0 < sum(doubtful) < len(doubtful) == len(figures["weight_std_errors"]) == len(figures["weights"])
    assert said.output.count("may be only noise") == sum(doubtful) + 1  # and once in the line of fitness
    page = re.sub("<meta name=.discreet-facts[^>]*>", "", (folder / "r.html").read_text())
    assert page.count("may be only noise") == sum(doubtful) + 1
    for error in figures["weight_std_errors"]:
        assert f"{error:,.1f}" in page


def test_nothing_is_said_where_all_are_sure(folder):
    words = ["cluster", "t.csv", "--schema", "schema.toml", "--epsilon", "2", "-k", "2", "--seed", "3", "-o", "c.csv"]
    said = run(*words, catch=True)
    assert "may be noise" not in said.output
    assert "± standard error" in said.output
