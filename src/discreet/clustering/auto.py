"""Which synopsis and which refinement for private k-means: a choice on public quantities only.

Public are the noisy or declared number of rows, the domain, the number of clusters and the budget. Nothing here sees
the data, and nothing is tried out on them: a choice by result would be one more release to pay for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from discreet.domain import Domain

#: Up to so many axes a grid of counts resolves the clusters.
FEW_AXES = 3
#: A grid that halves every axis is worth more than a tree if a cell has so many rows on average, times ε.
ROWS_PER_CELL = 10
#: Levels of a tree over many axes: so many cuts per axis, at most this many.
CUTS_PER_AXIS, DEEPEST = 3, 24


@dataclass(frozen=True)
class Choice:
    """A method with its settings, and the refinement that goes with it.

    Examples
    --------
    >>> Choice("grid", {"rule": "rugnik"}, ("mixture",)).method
    'grid'
    """

    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    refine: Any = "auto"


def choose(n_rows: float, domain: Domain, n_clusters: int, epsilon: float) -> Choice:
    """Choose a synopsis for k-means.

    Parameters
    ----------
    n_rows : float
        Noisy or public number of rows.
    domain : Domain
        The declared columns.
    n_clusters : int
        Number of clusters.
    epsilon : float
        What is left of the budget.

    Examples
    --------
    >>> choose(5000, Domain.box(0, [1, 1]), 15, 1.0).settings
    {'rule': 'rugnik', 'n_clusters': 15}
    >>> choose(5000, Domain.box([0] * 12, 1), 5, 0.1).method
    'tree'
    """
    d = len(domain)
    if d <= FEW_AXES:
        return Choice("grid", {"rule": "rugnik", "n_clusters": n_clusters}, ("mixture",))
    if 2**d * ROWS_PER_CELL <= n_rows * epsilon:
        return Choice("grid", {"rule": "rugnik", "n_clusters": n_clusters, "leaf_means": True}, ("threshold",))
    depth = min(DEEPEST, CUTS_PER_AXIS * d)
    settings = {"partitioner": "privtree", "max_depth": depth, "leaf_means": True, "n_clusters": n_clusters}
    return Choice("tree", settings, ("threshold",))
