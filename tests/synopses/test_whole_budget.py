"""Methods charge what they use: the guarantee states the whole budget, for every way to spend it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc

X = np.random.default_rng(0).random((200, 2))
WAYS: dict[str, Any] = {
    **{
        f"grid {rule}": dc.GridSynopsis(2, (0, 1), rule, random_state=1)
        for rule in (3, "rugnik", "eugkm", "adaptive", "dpkfm")
    },
    "grid means": dc.GridSynopsis(2, (0, 1), 3, leaf_means=True, random_state=1),
    "grid lazy": dc.GridSynopsis(2, (0, 1), 400, max_cells=100, random_state=1),
    **{
        f"tree {cut}": dc.TreeSynopsis(2, (0, 1), cut, max_depth=3, random_state=1)
        for cut in ("binary", "median", "quantile", "uniform", "privtree", "density")
    },
    "tree mixed": dc.TreeSynopsis(2, (0, 1), ["median", "quantile", "binary"], max_depth=4, random_state=1),
    "tree above privtree": dc.TreeSynopsis(2, (0, 1), ["median", "density", "privtree"], max_depth=6, random_state=1),
    "tree of its own depth": dc.TreeSynopsis(2, (0, 1), "median", max_depth="auto", random_state=1),
    "tree linear": dc.TreeSynopsis(2, (0, 1), "median", budget="linear", random_state=1),
    "tree means": dc.TreeSynopsis(2, (0, 1), leaf_means=True, max_depth=3, random_state=1),
    "k-means": dc.PrivateKMeans(2, 2, (0, 1), random_state=1),
    "Lloyd": dc.DPLloyd(2, 2, (0, 1), random_state=1),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_whole_budget_is_charged(way: str) -> None:
    model = WAYS[way].fit(X)
    promise = model.guarantee_ if hasattr(model, "guarantee_") else model.synopsis_.guarantee
    assert promise.epsilon == 2
