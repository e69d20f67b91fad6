"""Four clusters, and isotropic Laplace noise by its definition."""

from __future__ import annotations

import numpy as np


def laplace(rng, n, d, rate):
    """Isotropic noise by its definition: a uniform direction and a Gamma length."""
    g = rng.standard_normal((n, d))
    return g / np.linalg.norm(g, axis=1, keepdims=True) * rng.gamma(d, 1 / rate, (n, 1))


def four_clusters(n, d, rng, spread=0.05):
    centers = np.where(rng.random((4, d)) < 0.5, 0.25, 0.75)
    centers[0], centers[1] = 0.25, 0.75
    centers[2, : d // 2], centers[2, d // 2 :] = 0.25, 0.75
    centers[3, : d // 2], centers[3, d // 2 :] = 0.75, 0.25
    labels = rng.integers(4, size=n)
    return centers, labels, np.clip(centers[labels] + spread * rng.standard_normal((n, d)), 0, 1)
