"""The labelled tables of the density-tree experiments have the published shape and stay inside their domain."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import InvalidArgument
from discreet_studies.density_trees.labelled import labelled, labelled_names


def test_labelled_tables_have_the_published_shape() -> None:
    shapes = {name: labelled(name).X.shape for name in labelled_names()}
    published = {"iris": (150, 4), "wine": (178, 13), "iris+1": (150, 5), "iris+5": (150, 9), "iris+10": (150, 14)}
    sizes = [(1000, 5), (1000, 10), (10_000, 2), (20_000, 2), *[(1000, 2)] * 4]
    published |= {f"synthetic-{i}": size for i, size in enumerate(sizes, start=1)}
    assert {name: shape for name, shape in shapes.items() if name in published} == published
    assert set(shapes) - set(published) <= {"breast", "glass"}


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_real_labelled_tables_do_not_depend_on_the_seed_or_leave_their_domain(name: str) -> None:
    from sklearn.datasets import load_iris, load_wine

    data = labelled(name, random_state=5)
    X, y = {"iris": load_iris, "wine": load_wine}[name](return_X_y=True)
    assert np.array_equal(data.X, X)  # nothing is clamped
    assert np.array_equal(data.labels, y)


def test_the_two_blobs_are_well_apart() -> None:
    for seed in range(10):
        data = labelled("synthetic-7", random_state=seed)
        means = [data.X[data.labels == c].mean(axis=0) for c in (0, 1)]
        assert np.linalg.norm(means[0] - means[1]) > 7.8


@pytest.mark.parametrize("name", ["iris+1", "iris+5", "iris+10", *(f"synthetic-{i}" for i in range(1, 9))])
def test_synthetic_tables_repeat_and_stay_inside_their_domain(name: str) -> None:
    data, again, other = (labelled(name, random_state=seed) for seed in (3, 3, 4))
    assert np.array_equal(data.X, again.X)
    assert not np.array_equal(data.X, other.X)
    assert np.array_equal(data.domain.clamp(data.X), data.X)
    assert data.X.shape == (len(data.labels), len(data.domain))
    assert set(data.labels) == set(range(data.n_clusters))


@pytest.mark.parametrize(("name", "seed", "argument"), [("iris+2", 0, "name"), ("iris", -1, "random_state")])
def test_bad_arguments_are_named(name: str, seed: int, argument: str) -> None:
    with pytest.raises(InvalidArgument, match=f"^{argument} must be"):
        labelled(name, random_state=seed)
