"""Synthetic tables: the patients of the demonstration, and Gaussian mixtures.

The same arguments give the same table, as long as NumPy does not change its distributions.
"""

import numpy as np

from discreet.core import Domain, FloatArray, checks
from discreet.datasets.dataset import Dataset

#: Kinds of patient: share of all, then mean and spread of the age (years) and of the yearly cost (1000 euro).
_KINDS = {
    "newborn care": (0.04, 3, 2, 30, 5),
    "childhood asthma": (0.06, 10, 3, 8, 3),
    "growing pains": (0.05, 17, 3, 24, 4),
    "young and well": (0.16, 27, 4, 4, 2),
    "sports injury": (0.06, 26, 4, 42, 5),
    "maternity": (0.09, 33, 3, 20, 4),
    "transplant": (0.02, 38, 5, 85, 5),
    "in work and well": (0.15, 46, 5, 6, 3),
    "depression": (0.06, 45, 5, 52, 5),
    "back surgery": (0.07, 51, 4, 30, 4),
    "oncology": (0.05, 61, 5, 70, 6),
    "diabetes": (0.09, 65, 4, 14, 4),
    "heart failure": (0.06, 71, 4, 42, 5),
    "dialysis": (0.02, 77, 4, 88, 4),
    "frailty": (0.02, 88, 4, 24, 5),
}

#: Spread of a cluster of the published sets S1 to S4, from their reference labels.
_S_SPREADS = {1: 30_000, 2: 38_000, 3: 49_000, 4: 53_000}


def patients(n: int = 10_000, *, random_state: int = 0) -> Dataset:
    """Generate n patients of a hospital: age (0 to 100), yearly cost of care (1000 euro, 0 to 100), in 15 groups.

    Examples
    --------
    >>> data = patients(n=3)
    >>> data.domain
    Domain({'age': (0.0, 100.0), 'cost': (0.0, 100.0)})
    >>> data.X.tolist()
    [[45.5, 58.5], [24.9, 5.9], [11.1, 5.9]]
    """
    n = checks.whole("n", n, low=1)
    rng = _generator(random_state)
    share, age, age_spread, cost, cost_spread = np.array(list(_KINDS.values())).T
    labels = rng.choice(len(_KINDS), size=n, p=share)
    X = np.column_stack([rng.normal(age[labels], age_spread[labels]), rng.normal(cost[labels], cost_spread[labels])])
    domain = Domain({"age": (0, 100), "cost": (0, 100)})
    X = domain.clamp(X.round(1))
    return Dataset(
        "patients", X, domain, len(_KINDS), labels, "simulated hospital patients: age and yearly cost of care"
    )


def mixture(n: int, n_columns: int, n_clusters: int, *, separation: float = 8.0, random_state: int = 0) -> Dataset:
    """Draw a mixture of round Gaussians of equal weight in the unit box; rows outside are clamped into it.

    ``separation`` is the distance of the two nearest centres, in standard deviations. At 8 they are well apart, below 4
    they overlap.

    Examples
    --------
    >>> mixture(500, 3, 4, random_state=1)
    <Dataset mixture: 500 rows, columns x1, x2, x3, 4 clusters>
    """
    n, n_columns = checks.whole("n", n, low=1), checks.whole("n_columns", n_columns, low=1)
    n_clusters = checks.whole("n_clusters", n_clusters, low=1)
    apart = float(checks.positive("separation", separation))
    rng = _generator(random_state)
    centres = _scattered(n_clusters, n_columns, rng)
    labels = rng.integers(n_clusters, size=n)
    X = rng.normal(centres[labels], _smallest_distance(centres) / apart)
    domain = Domain.box([0.0] * n_columns, [1.0] * n_columns, names=[f"x{i + 1}" for i in range(n_columns)])
    description = f"{n_clusters} round Gaussians in the unit box, nearest centres {apart:g} deviations apart"
    return Dataset("mixture", domain.clamp(X), domain, n_clusters, labels, description)


def s_like(level: int = 1, *, n: int = 5000, random_state: int = 0) -> Dataset:
    """Draw a table like the published sets S1 to S4 (``level``): 15 round Gaussians in [0, 10^6]².

    Clusters have the spread of that set, and other centres.

    Examples
    --------
    >>> s_like(level=2)
    <Dataset s_like_2: 5000 rows, columns x1, x2, 15 clusters>
    """
    level = checks.whole("level", level, low=1, high=4)
    n = checks.whole("n", n, low=1)
    rng = _generator(random_state)
    centres = 1e6 * _scattered(15, 2, rng)
    labels = rng.integers(15, size=n)
    X = rng.normal(centres[labels], _S_SPREADS[level])
    domain = Domain({"x1": (0, 1e6), "x2": (0, 1e6)})
    return Dataset(
        f"s_like_{level}", domain.clamp(X), domain, 15, labels, f"15 Gaussians spread like those of S{level}"
    )


def _generator(random_state: object) -> np.random.Generator:
    return np.random.default_rng(checks.whole("random_state", random_state))


def _scattered(k: int, n_columns: int, rng: np.random.Generator) -> FloatArray:
    """Draw k centres in [0.1, 0.9]^d that keep apart: each is the best placed of 10 random candidates."""
    centres = np.empty((k, n_columns))
    for i in range(k):
        candidates = rng.uniform(0.1, 0.9, (10, n_columns))
        gaps = np.linalg.norm(candidates[:, None] - centres[None, :i], axis=2)
        nearest = gaps.min(axis=1, initial=np.inf)
        centres[i] = candidates[nearest.argmax()]
    return centres


def _smallest_distance(centres: FloatArray) -> float:
    if len(centres) == 1:
        return 1.0  # the side of the box
    gaps = np.linalg.norm(centres[:, None] - centres[None, :], axis=2)
    return float(gaps[~np.eye(len(centres), dtype=bool)].min())
