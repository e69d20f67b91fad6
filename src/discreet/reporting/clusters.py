"""Centres of a release, and their comparison with k-means on the raw rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.core import Domain
from discreet.engines import open as open_table
from discreet.synopses import CenterSynopsis


def of_release(thing: Any) -> dict[str, Any] | None:
    """Return the centres of a release in many dimensions, as ``discreet cluster --json`` does; None for others."""
    if not isinstance(thing, CenterSynopsis):
        return None
    from discreet.clustering import cluster_synopsis  # here: other pages do without scikit-learn
    from discreet.clustering.leaves import place_texts

    found = cluster_synopsis(thing, len(thing.lifted.centers), scale=thing.lifted.scale)
    places = [place_texts(c, found.centers[:, j]) for j, c in enumerate(thing.domain)]
    errors = np.zeros(len(found.weights)) if found.std_errors is None else found.std_errors
    doubtful = np.zeros(len(found.weights), bool) if found.may_be_noise is None else found.may_be_noise
    return {
        "columns": list(found.columns),
        "centers": [list(row) for row in zip(*places, strict=True)],
        "weights": found.weights.tolist(),
        "weight_std_errors": errors.tolist(),
        "may_be_noise": doubtful.tolist(),
    }


def against_raw(clusters: Mapping[str, Any], domain: Domain | None, against: Any) -> dict[str, Any] | None:
    """Return the figures of `compare_centers`; None if a column has no numbers, or rows are fewer than centres."""
    from discreet.evaluation import compare_centers  # here: other pages do without scikit-learn

    names, centers = list(clusters["columns"]), clusters["centers"]
    if domain is None or not centers or any(isinstance(place, str) for center in centers for place in center):
        return None
    batches = open_table(against).batches(domain.select(names))
    rows = np.concatenate([np.empty((0, len(names))), *(np.column_stack(list(batch)) for batch in batches)])
    rows = domain.select(names).clamp(rows)
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(np.unique(rows, axis=0)) < len(centers):
        return None
    return compare_centers(rows, np.asarray(centers, dtype=np.float64)).to_dict()
