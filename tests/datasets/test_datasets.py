"""Synthetic tables are the same everywhere and inside their domain."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import datasets
from discreet.errors import InvalidArgument, InvalidType

GENERATED = {
    "patients": lambda seed: datasets.patients(2000, random_state=seed),
    "mixture": lambda seed: datasets.mixture(500, 4, 6, random_state=seed),
    "wide mixture": lambda seed: datasets.mixture(300, 30, 3, separation=2, random_state=seed),
    "one Gaussian": lambda seed: datasets.mixture(100, 1, 1, random_state=seed),
    "like S1": lambda seed: datasets.s_like(1, random_state=seed),
    "like S4": lambda seed: datasets.s_like(4, n=700, random_state=seed),
}


def assert_inside(data: datasets.Dataset) -> None:
    rows = data.X[~np.isnan(data.X).any(axis=1)]
    assert np.array_equal(data.domain.clamp(rows), rows)


@pytest.mark.parametrize("name", GENERATED)
def test_generators_repeat_and_stay_inside_their_domain(name: str) -> None:
    data, again, other = GENERATED[name](3), GENERATED[name](3), GENERATED[name](4)
    assert np.array_equal(data.X, again.X)
    assert not np.array_equal(data.X, other.X)
    assert_inside(data)
    assert data.X.shape == (len(data.labels), len(data.domain))
    assert data.labels.dtype == np.int64
    assert data.labels.min() >= 0
    assert data.labels.max() < data.n_clusters


@pytest.mark.parametrize("name", ["patients", "mixture", "like S1"])
def test_the_true_clusters_can_be_found(name: str) -> None:
    """Rows lie nearest to the mean of their own cluster, but for the overlap (at most a tenth)."""
    data = GENERATED[name](0)
    U = data.domain.to_unit(data.X)
    means = np.array([U[data.labels == c].mean(axis=0) for c in range(data.n_clusters)])
    nearest = np.linalg.norm(U[:, None] - means, axis=2).argmin(axis=1)
    assert (nearest == data.labels).mean() > 0.9


def test_patients_are_the_table_of_the_demonstration() -> None:
    data = datasets.patients()
    sizes = np.bincount(data.labels)
    assert len(data) == 10_000
    assert len(sizes) == data.n_clusters == 15
    assert sizes.max() > 5 * sizes.min()
    assert data.to_arrow().to_pydict()["age"] == data.X[:, 0].tolist()


def test_separation_is_the_distance_of_the_nearest_centres_in_deviations() -> None:
    close, apart = (datasets.mixture(20_000, 2, 3, separation=s) for s in (10, 40))
    spread = [data.X[data.labels == 0].std() for data in (close, apart)]
    means = np.array([apart.X[apart.labels == c].mean(axis=0) for c in range(3)])
    gap = min(np.linalg.norm(means[a] - means[b]) for a, b in ((0, 1), (0, 2), (1, 2)))
    within = apart.X[apart.labels == 0].std(axis=0).mean()
    assert spread[0] >= spread[1]
    assert gap / within == pytest.approx(40, rel=0.05)


@pytest.mark.parametrize(
    ("call", "name", "kind"),
    [
        (lambda: datasets.patients(0), "n", InvalidArgument),
        (lambda: datasets.patients(10.0), "n", InvalidType),
        (lambda: datasets.patients(random_state=None), "random_state", InvalidType),
        (lambda: datasets.mixture(10, 0, 2), "n_columns", InvalidArgument),
        (lambda: datasets.mixture(10, 2, 0), "n_clusters", InvalidArgument),
        (lambda: datasets.mixture(10, 2, 2, separation=0), "separation", InvalidArgument),
        (lambda: datasets.s_like(5), "level", InvalidArgument),
    ],
)
def test_bad_arguments_are_named(call: object, name: str, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=f"^{name} must be"):
        call()  # type: ignore[operator]


def test_names_that_moved_to_the_studies_are_found_there() -> None:
    with pytest.raises(AttributeError, match=r"discreet_studies\.public_tables"):
        datasets.load  # noqa: B018
