"""Whole pipelines of private clustering, by enumeration: they lose ε and nothing more, and they reach it.

An outcome is what was published and every noisy value on the way: the histogram that looks for tight clusters and the
iterations of `DPLloyd` are not published, and are paid for anyway.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.clustering.central import auto
from discreet.mechanisms import gate
from discreet.synopses import publishing
from scripted_noise import worst_loss

#: What a row at the upper bound adds to a count and its sum, in fixed point.
FULL = publishing.FIXED_POINT


# DPLloyd


def fit_lloyd(X: Any, **settings: Any) -> str:
    model = dc.DPLloyd(settings.pop("n_clusters", 1), 2, (0, 1), size_share=0.25, random_state=0, **settings).fit(X)
    assert model.guarantee_.epsilon == 2  # all of it is charged
    return f"{model.cluster_centers_.tolist()} {model.guarantee_.digest}"


@pytest.mark.parametrize(("rows", "n_clusters", "n_iter"), [([], 1, 1), ([[0.1], [0.9]], 1, 2), ([[0.1], [0.9]], 2, 1)])
def test_joint_iterations_by_enumeration(rows: Any, n_clusters: int, n_iter: int) -> None:
    settings = {"vectors": [(0, 0), (2048, 100)], "moved": [(FULL, FULL)]}
    loss = worst_loss(lambda X: fit_lloyd(X, n_iter=n_iter, n_clusters=n_clusters), rows, [1.0], **settings)
    assert loss == pytest.approx(2.0, abs=1e-9)


@pytest.mark.unmetered
def test_less_noise_on_the_counts_of_an_iteration_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = gate._drawn

    def less(law: Any, size: Any, stream: Any) -> Any:
        """Of all but the number of rows, which is a single number."""
        return drawn(law if size is None else replace(law, scale=law.scale * Fraction(4, 5)), size, stream)

    monkeypatch.setattr(gate, "_drawn", less)

    settings = {"vectors": [(0, 0), (2048, 100)], "moved": [(FULL, FULL)]}
    loss = worst_loss(lambda X: fit_lloyd(X, n_iter=1), [], [1.0], **settings)
    assert loss == pytest.approx(0.5 + 1.5 / 0.8, abs=1e-9)


@pytest.mark.unmetered
def test_centres_stay_in_the_domain_whatever_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        dc.noise, "max_norm_laplace", lambda scale, d, n, rng: np.full((n, d), [1024, *[10**6] * (d - 1)])
    )
    model = dc.DPLloyd(2, 2, (0, 1), n_iter=2, random_state=0).fit([[0.2]] * 50 + [[0.9]] * 50)
    assert ((model.cluster_centers_ >= 0) & (model.cluster_centers_ <= 1)).all()


def test_one_row_moves_a_centre_where_there_is_no_noise() -> None:
    """The least that a mean is made of is one row, or as many as the noise has: exactly as many are enough."""
    model = dc.DPLloyd(1, math.inf, (0, 1), n_iter=1, random_state=0).fit([[0.3125]])
    assert model.cluster_centers_.tolist() == [[0.3125]]


# PrivateKMeans that chooses


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants of the chooser for tables of a few rows: two cells to look for tight clusters in, and both answers."""
    for name, value in {
        "PROBE_FROM": 1.0,
        "PROBE_CELLS": 2,
        "PROBE_CELLS_PER_CLUSTER": 2,
        "PROBE_SHARE": Fraction(1, 2),
        "TIGHT_ROWS": 0.9,
        "TIGHT_DOMAIN": 0.5,
    }.items():
        monkeypatch.setattr(auto, name, value)
    # Two cells whatever the number of rows; three for tight clusters.
    monkeypatch.setattr(auto, "rugnik_root", lambda *_: 2.0)


def fit_auto(X: Any, seen: set[bool]) -> str:
    model = dc.PrivateKMeans(1, 4, (0, 1), size_share=0.25, n_init=1, random_state=0).fit(X)
    seen.add(bool(model.guarantee_.parameters["leaf_means"]))
    assert model.guarantee_.epsilon == 4
    labels = [line.label for line in model.guarantee_.ledger]
    assert labels == ["number of rows", "looking for tight clusters", "cells"]
    return f"{model.synopsis_.digest} {model.cluster_centers_.tolist()}"


@pytest.mark.parametrize("rows", [[[0.1], [0.1], [0.1]], [[0.1], [0.1], [0.9]]], ids=["tight", "apart"])
def test_the_chosen_pipeline_by_enumeration(tiny: None, rows: Any) -> None:
    """Number of rows, the look for tight clusters, the grid it leads to: ε in all, and it is reached.

    The row sits at the upper bound of the domain and of its cell, so means move as far as they can.
    """
    seen: set[bool] = set()

    def numbers(draw: int) -> tuple[int, ...]:
        return (0, 1) if draw < 2 else (0,)

    loss = worst_loss(lambda X: fit_auto(X, seen), rows, [1.0], numbers=numbers, vectors=[(0, 0)], moved=[(FULL, FULL)])
    assert loss == pytest.approx(4.0, abs=1e-9)
    assert seen == {True, False}


@pytest.mark.unmetered
def test_a_look_without_noise_or_with_half_of_it_is_caught(tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The raw histogram gives an answer that the neighbour cannot get; half the noise costs twice what is charged."""
    settings: dict[str, Any] = {"numbers": lambda draw: (0,), "vectors": [(0, 0)], "moved": [(FULL, FULL)]}
    look, drawn = auto.finds_tight, gate._drawn

    def planted(draw: Callable[..., Any]) -> Callable[..., bool]:
        def look_with(*asked: Any) -> bool:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(gate, "_drawn", draw)
                return look(*asked)

        return look_with

    half = planted(lambda law, size, stream: drawn(replace(law, scale=law.scale / 2), size, stream))
    monkeypatch.setattr(auto, "finds_tight", half)
    loss = worst_loss(lambda X: fit_auto(X, set()), [[0.1], [0.1], [0.1]], [1.0], **settings)
    assert loss == pytest.approx(4.0 + 1.5, abs=1e-9)
    monkeypatch.setattr(auto, "finds_tight", planted(lambda law, size, stream: np.zeros(size, np.int64)))
    assert worst_loss(lambda X: fit_auto(X, set()), [[0.1], [0.1], [0.1]], [1.0], **settings) == math.inf


@pytest.mark.unmetered
def test_clusters_are_tight_from_the_stated_share_of_rows_on(tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "TIGHT_ROWS", 1.0)
    monkeypatch.setattr(
        dc.noise,
        "discrete_laplace",
        lambda scale, size=None, rng=None: 0 if size is None else np.zeros(size, dtype=np.int64),
    )
    seen: set[bool] = set()
    fit_auto([[0.1], [0.1], [0.1]], seen)
    assert seen == {True}
