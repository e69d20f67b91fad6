"""People in clusters, and their points after isotropic noise: what the tests of attacks are run on."""

from __future__ import annotations

from typing import Any

import numpy as np


def crowd(n: int, d: int, seed: int) -> Any:
    """Four clusters of people in the unit cube, the same ones for every seed."""
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(5).random((4, d)) * 0.7 + 0.15
    return centers[rng.integers(0, 4, n)] + rng.normal(0, 0.05, (n, d))


def noisy(rows: Any, rate: float, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    way = rng.normal(size=rows.shape)
    radius = rng.gamma(rows.shape[1], 1 / rate, (len(rows), 1))
    return rows + radius * way / np.linalg.norm(way, axis=1, keepdims=True)
