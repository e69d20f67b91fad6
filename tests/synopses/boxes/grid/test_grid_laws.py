"""Whole grids, adaptive grids and leaf means: their law by enumeration on tiny domains, and an audit of real noise.

Enumeration runs the real `fit` with scripted noise: every draw takes all values of a small set in turn, and its chance
is that of the law the code asked for. An outcome is the digest of the artifact, which covers everything published. So
noise that is too small shows, and so does any decision on raw rows.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.errors import FormatError
from discreet.mechanisms import gate
from discreet.synopses import Synopsis
from discreet.synopses.boxes.grid import adaptive, estimator
from discreet.synopses.boxes.grid.rules import rugnik
from enumeration import worst_loss


def halve_the_noise(patch: pytest.MonkeyPatch) -> None:
    """Draw half of the noise of all cells and leaves, and state the whole of it in the ledger."""
    drawn = gate._drawn

    def half(law: Any, size: Any, stream: Any) -> Any:
        return drawn(law if size is None else dataclasses.replace(law, scale=law.scale / 2), size, stream)

    patch.setattr(gate, "_drawn", half)


def fit_rugnik(X: Any) -> str:
    settings = {"n_clusters": 2, "max_cells": 4, "size_share": 0.25, "random_state": 0}
    return dc.GridSynopsis(1, (0, 1), "rugnik", **settings).fit(X).synopsis_.digest


def test_rugnik_by_enumeration(monkeypatch):
    """Number of rows, the grid of 2 to 4 cells it asks for, counts, total: the worst loss is ε, and it is reached."""
    assert [rugnik(n, 0.75, 1, 2) for n in (1, 2, 3)] == [2, 3, 4]
    for rows, sizes in (([], range(4)), ([0.1, 0.8], range(-1, 1))):
        assert worst_loss(fit_rugnik, rows, 0.6, monkeypatch, sizes=sizes) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.unmetered
def test_a_broken_rugnik_is_caught(monkeypatch):
    with monkeypatch.context() as patch:
        halve_the_noise(patch)
        assert worst_loss(fit_rugnik, [], 0.6, patch) == pytest.approx(0.25 + 2 * 0.75, abs=1e-9)

    with monkeypatch.context() as patch:  # a line that states half the noise says itself that it is too cheap
        law = gate.law_for
        patch.setattr(gate, "law_for", lambda price, *rest: law(price * 2, *rest))
        with pytest.raises(FormatError, match="cheaper than the noise"):
            fit_rugnik(np.array([[0.2]]))

    def by_true_size(X: Any) -> str:
        monkeypatch.setattr(estimator, "_parts", lambda *_: 1 + len(X))
        return fit_rugnik(X)

    assert worst_loss(by_true_size, [0.2], 0.6, monkeypatch) == math.inf


def fit_adaptive(X: Any, rule: str = "adaptive", leaf_means: bool = False) -> str:
    """Return the artifact and, as "adaptive" publishes only what the two levels agree on, the counts of the first."""
    settings = {"max_cells": 8, "size_share": 0.25, "leaf_means": leaf_means, "random_state": 0}
    coarse, reconcile = [], adaptive._reconcile
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adaptive, "C2", 1.0)
        patch.setattr(adaptive, "_reconcile", lambda *views: coarse.append(views[1]) or reconcile(*views))
        made = dc.GridSynopsis(2, (0, 1), rule, **settings).fit(X).synopsis_
    return f"{coarse[0].weights} {made.n_leaves} {made.digest}"


@pytest.mark.parametrize("rule", ["adaptive", pytest.param("dpkfm", marks=pytest.mark.slow)])
def test_adaptive_grids_by_enumeration(monkeypatch, rule):
    """Two noisy cells, each divided if its count is 2 or more: both levels together lose ε, and it is reached.

    What "adaptive" publishes is a function of the two levels, so it loses no more.
    """
    seen = set()

    def fit(X: Any) -> str:
        outcome = fit_adaptive(X, rule)
        seen.add(outcome.split("]")[1].split()[0])
        return outcome

    assert worst_loss(fit, [0.2, 0.8], 0.1, monkeypatch) == pytest.approx(2.0, abs=1e-9)
    assert seen == {"2", "3", "4"}


@pytest.mark.slow
@pytest.mark.unmetered
def test_a_broken_adaptive_grid_is_caught(monkeypatch):
    with monkeypatch.context() as patch:
        halve_the_noise(patch)
        assert worst_loss(fit_adaptive, [], 0.1, patch) == pytest.approx(0.5 + 2 * 1.5, abs=1e-9)

    def by_true_counts(X: Any) -> str:
        monkeypatch.setattr(adaptive, "_inner_parts", lambda *_: np.array([1 + len(X), 1]))
        return fit_adaptive(X)

    assert worst_loss(by_true_counts, [], 0.1, monkeypatch) == math.inf


#: A row at 0.3125 is so far from the middle of its leaf, in 1024ths of the half width.
IN_WHOLE, IN_HALF, IN_QUARTER = (1024, -384), (1024, 256), (1024, -512)


def fit_means(X: Any) -> str:
    return dc.GridSynopsis(2, (0, 1), 2, leaf_means=True, size_share=0.25, random_state=0).fit(X).synopsis_.digest


@pytest.mark.parametrize(
    "rows", [pytest.param([], id="empty", marks=pytest.mark.slow), pytest.param([0.1, 0.8], id="two rows")]
)
@pytest.mark.unmetered
def test_cell_means_by_enumeration(monkeypatch, rows):
    vectors = [(0, 0), (300, -100), (2048, 100)]
    loss = worst_loss(fit_means, rows, 0.3125, monkeypatch, vectors=vectors, moved=[IN_HALF])
    assert loss == pytest.approx(2.0, abs=1e-9)
    halve_the_noise(monkeypatch)
    loss = worst_loss(fit_means, rows, 0.3125, monkeypatch, vectors=vectors, moved=[IN_HALF])
    assert loss == pytest.approx(0.5 + 2 * 1.5, abs=1e-9)


def test_means_of_an_adaptive_grid_by_enumeration(monkeypatch):
    """The boxes that sums refer to come from noisy counts: a row's share of them is one thing or another."""
    fit = functools.partial(fit_adaptive, leaf_means=True)
    loss = worst_loss(fit, [0.2], 0.3125, monkeypatch, vectors=[(0, 0)], moved=[IN_HALF, IN_QUARTER])
    assert loss == pytest.approx(2.0, abs=1e-9)


def fit_tree_means(X: Any) -> str:
    settings = {"max_depth": 1, "test_from": 0, "threshold": 2, "axis": "widest", "bits": 2, "leaf_means": True}
    return dc.TreeSynopsis(6, (0, 1), "binary", n_rows=2, random_state=0, **settings).fit(X).synopsis_.digest


@pytest.mark.parametrize(
    "rows", [[0.1, 0.8], pytest.param([0.1, 0.8, 0.9], marks=pytest.mark.slow)], ids=["two rows", "three rows"]
)
@pytest.mark.unmetered
def test_leaf_means_of_a_tree_by_enumeration(monkeypatch, rows):
    """A noisy count of 2 is a leaf with a mean, 3 two leaves without, 4 two leaves with means: ε, and it is reached."""
    settings = {"sizes": range(2), "vectors": [(0, 0), (2048, 100)], "moved": [IN_WHOLE, IN_HALF]}
    assert worst_loss(fit_tree_means, rows, 0.3125, monkeypatch, **settings) == pytest.approx(6.0, abs=1e-9)
    halve_the_noise(monkeypatch)
    assert worst_loss(fit_tree_means, rows, 0.3125, monkeypatch, **settings) == pytest.approx(2 * (1.2 + 4.8), abs=1e-9)


# An audit of whole fits with real noise


def audited(fit: Callable[[Any], Synopsis], points: np.ndarray) -> float:
    """Return a lower bound of ε from two fits: every leaf empty, every leaf with one record at the same place in it.

    Leaves are disjoint and get independent noise, so each is a trial of "empty block against the same with one record".
    Clopper-Pearson bounds of 16 events that were chosen beforehand; all hold but once in 10^4 seeds.
    """
    with_row, empty = fit(points), fit(points[:0])
    assert with_row.n_leaves == empty.n_leaves == len(points)
    places = [2 * ((s.points - s.lower) / (s.upper - s.lower) - 0.5).ravel() for s in (with_row, empty)]
    tail, n, best = 1e-4 / 64, len(points), -math.inf
    for weight, offset in itertools.product((-1, 0, 1, 2), (-2, -0.01, 0, 0.01)):
        hits = [
            int(((s.weights >= weight) & (place > offset)).sum())
            for s, place in zip((with_row, empty), places, strict=True)
        ]
        for k, other in (hits, hits[::-1], [n - h for h in hits], [n - h for h in hits[::-1]]):
            low = stats.beta.ppf(tail, k, n - k + 1) if k else 0.0
            high = stats.beta.ppf(1 - tail, other + 1, n - other) if other < n else 1.0
            best = max(best, math.log(low / high) if low else -math.inf)
    return best


@pytest.mark.parametrize("kind", ["grid", "tree"])
@pytest.mark.unmetered
def test_means_with_real_noise_pass_the_audit_and_half_the_noise_does_not(monkeypatch, kind):
    n, epsilon = 2**14, 1.0

    def fit(X: Any) -> Synopsis:
        if kind == "grid":
            model: Any = dc.GridSynopsis(epsilon, (0, 1), n, leaf_means=True, n_rows=1, random_state=5)
        else:
            shape = {"max_depth": 14, "test_from": 14, "axis": "widest", "leaf_means": True}
            model = dc.TreeSynopsis(epsilon, (0, 1), "binary", n_rows=2**30, random_state=5, **shape)
        found = model.fit(X).synopsis_
        assert found.guarantee.epsilon == epsilon
        return found

    points = ((np.arange(n) + 0.8) / n)[:, np.newaxis]
    assert 0.5 < audited(fit, points) <= epsilon
    halve_the_noise(monkeypatch)
    assert audited(fit, points) > 1.2 * epsilon
