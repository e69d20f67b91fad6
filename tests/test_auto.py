"""The automatic choice for private k-means: on public and noisy numbers only, paid for, and sensible."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet import engines, noise
from discreet.clustering import auto

PLANE = dc.Domain.box([0, 0], 1)


@pytest.mark.parametrize(
    ("n_rows", "d", "k", "epsilon", "occupied", "method", "refine"),
    [
        (500, 2, 15, 0.1, None, "grid", ("project",)),  # clusters drown in noise
        (5000, 2, 15, 0.1, None, "grid", ("mixture",)),
        (5000, 2, 15, math.inf, None, "grid", ("mixture",)),
        (100_000, 2, 100, 0.1, 0.08, "grid", ("threshold",)),  # tight clusters
        (10_000_000, 2, 100, 1.0, None, "grid", ("threshold",)),  # too large for a mixture
        (5000, 24, 5, 0.1, None, "tree", ("threshold",)),
        (5000, 4, 50, 0.1, None, "tree", ("threshold",)),
    ],
)
def test_the_choice_follows_public_numbers(
    n_rows: float, d: int, k: int, epsilon: float, occupied: float | None, method: str, refine: tuple[str]
) -> None:
    choice = auto.choose(n_rows, dc.Domain.box([0] * d, 1), k, epsilon, occupied)
    assert (choice.method, choice.refine) == (method, refine)
    assert bool(choice.settings.get("leaf_means")) == (occupied is not None or method == "tree")


def test_tight_clusters_get_a_finer_grid() -> None:
    wide = auto.choose(100_000, PLANE, 100, 0.5).settings["rule"]
    tight = auto.choose(100_000, PLANE, 100, 0.5, 0.05).settings["rule"]
    assert tight > 1.4 * wide


def test_categories_are_left_to_the_grid_rule() -> None:
    domain = dc.Domain({"a": (0, 1), "b": ["x", "y"]})
    assert auto.choose(1000, domain, 3, 1.0).settings["rule"] == "rugnik"
    assert not auto.wants_probe(1e9, domain, 3, 1.0)


@pytest.mark.parametrize(("separation", "tight"), [(60, True), (4, False)])
def test_tight_clusters_are_recognised_from_noisy_counts(separation: float, tight: bool) -> None:
    data = dc.datasets.mixture(50_000, 2, 8, separation=separation, random_state=1)
    for seed in range(5):
        ledger = dc.Ledger(epsilon=1)
        found = auto.tight_share(engines.open(data.X), data.domain, 50_000, ledger, noise.generator(seed))
        assert (found is not None) == tight
        assert ledger.spent.exact == Fraction(1, 20)


@pytest.mark.parametrize("n", [0, 1, 40, 20_000])
def test_the_ledger_adds_up_exactly_with_and_without_the_histogram(n: int) -> None:
    data = dc.datasets.mixture(20_000, 2, 5, separation=30)
    model = dc.PrivateKMeans(5, epsilon=0.7, domain=data.domain, random_state=0).fit(data.X[:n])
    assert model.guarantee_.spent.exact == Fraction(7, 10)
    labels = [line.label for line in model.guarantee_.ledger]
    assert ("looking for tight clusters" in labels) == (n == 20_000)
    assert np.isfinite(model.cluster_centers_).all()


def test_overspending_the_histogram_is_impossible() -> None:
    ledger = dc.Ledger(epsilon=1)
    ledger.spend("all", 1)
    with pytest.raises(dc.errors.DiscreetError):
        auto.tight_share(engines.open(np.zeros((1, 2))), PLANE, 1, ledger, noise.generator(0))


def test_it_is_close_to_plain_k_means_on_unequal_clusters() -> None:
    """The patients: shares from 2 to 16 per cent, so a choice that drops small clusters would show."""
    table = dc.datasets.patients()
    from sklearn.cluster import KMeans

    best = dc.evaluation.nicv(table.X, KMeans(15, n_init=10, random_state=0).fit(table.X).cluster_centers_)
    ratios = [
        dc.evaluation.nicv(
            table.X,
            dc.PrivateKMeans(15, epsilon=0.5, domain=table.domain, random_state=s).fit(table.X).cluster_centers_,
        )
        / best
        for s in range(3)
    ]
    assert np.mean(ratios) < 1.05


def test_more_clusters_than_places_is_said_plainly() -> None:
    model = dc.PrivateKMeans(40, epsilon=math.inf, domain=(0, 1), random_state=0).fit(np.full((50, 2), 0.3))
    assert len(model.cluster_centers_) < 40
    assert "fewer than 40" in model.note_
