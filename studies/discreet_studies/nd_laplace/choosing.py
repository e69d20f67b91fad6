"""Parameters chosen on noisy points: the number of clusters (figure 7) and the radius of DBSCAN (figure 8)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.neighbors import NearestNeighbors

from discreet import noise
from discreet.clustering import DenoisingKMeans
from discreet.clustering.noisy import deconvolution
from discreet.core import Domain, FloatArray
from discreet.evaluation.attacks import draws
from discreet.metric import NDLaplace
from discreet_studies.harness.study import Numbers, Setting
from discreet_studies.nd_laplace import data
from discreet_studies.nd_laplace.clusters import cluster_after_noise, elbow_of

#: Clusters that are tried; of a generated table the true ones, which change with the seed (a rule that always says the
#: same must not look right), its rows, their deviation and the least distance of centres.
MOST, TRUE, ROWS, DEVIATION, APART = 7, (2, 3, 4, 5, 6), 500, 0.06, 0.3
#: Figure 8: the neighbour of fifty points, and the shares of the sorted points at which the curve is kept.
NEIGHBOUR, SHARES = 3, (0, 10, 20, 30, 40, 50, 60, 70, 80, 85, 90, 95, 100)
#: Points of a grid per axis, and steps of EM, of the server's remap.
GRID, STEPS = 31, 100


def _votes(points: FloatArray, seed: int) -> tuple[FloatArray, dict[str, float]]:
    """Return the cost of 1, 2, … centres, and the numbers that the elbow and the silhouette are for."""
    fits = [KMeans(k, n_init=3, random_state=seed).fit(points) for k in range(1, MOST + 1)]
    cost = np.array([fit.inertia_ for fit in fits])
    held = [silhouette_score(points, fit.labels_) for fit in fits[1:]]
    # From two on, as elbow plots are drawn: the fall from one cluster to two would hide the bend.
    chord = np.linspace(cost[1], cost[-1], MOST - 1)
    return cost / cost[0], {"elbow": float(np.argmax(chord - cost[1:])) + 2, "silhouette": float(np.argmax(held)) + 2}


def _fifty(setting: Setting) -> FloatArray:
    """Return the fifty points of the thesis in [-1, 1]², with noise unless ε is "none", standardised unless asked."""
    X = data.in_box(data.blobs(50))
    if setting["epsilon"] != "none":
        domain = Domain.box([-2.0] * 2, [2.0] * 2)
        mechanism = NDLaplace(float(setting["epsilon"]), 1.0, domain, scaling="none", random_state=setting["seed"])
        X = np.asarray(mechanism.transform(X))
    elif setting.get("units") == "own":
        return data.blobs(50)
    return np.asarray(X / X.std(axis=0))


def elbow(setting: Setting) -> Numbers:
    """Figure 7: the elbow plot of fifty points, before and after noise."""
    cost, votes = _votes(_fifty(setting), int(setting["seed"]))
    return {**{f"cost {k}": float(c) for k, c in enumerate(cost, start=1)}, **votes}


def choose(setting: Setting) -> Numbers:
    """Two to six clusters behind noise: how many do the elbow, the silhouette and the likelihood of the noise find."""
    n, seed = int(setting["columns"]), int(setting["seed"])
    true = TRUE[seed % len(TRUE)]
    X, domain = _clusters(n, true, seed), Domain.box([0.0] * n, [1.0] * n)
    mechanism = NDLaplace(float(setting["epsilon"]), 1.0, domain, random_state=seed)
    Z = np.asarray(mechanism.transform(X))
    votes = _votes(Z, seed)[1]
    ways: dict[str, Any] = {"domain": domain, "method": "clusters", "n_init": 4, "random_state": seed}
    fits = [DenoisingKMeans(k, mechanism.law, **ways).fit(Z).bic_ for k in range(1, MOST + 1)]
    votes["likelihood"] = float(np.argmin(fits)) + 1
    return {**votes, **{f"right {name}": float(vote == true) for name, vote in votes.items()}}


def _clusters(n: int, true: int, seed: int) -> FloatArray:
    stream = noise.generator(80_000 + seed)
    centers = 0.1 + 0.8 * draws.uniforms((true, n), stream)
    while np.linalg.norm(centers[:, None] - centers, axis=2)[np.triu_indices(true, 1)].min() < APART:
        centers = 0.1 + 0.8 * draws.uniforms((true, n), stream)
    spread = DEVIATION * ndtri(draws.uniforms((ROWS, n), stream))
    return np.asarray(np.clip(centers[np.arange(ROWS) % true] + spread, 0, 1))


def k_distances(points: Any, k: int) -> FloatArray:
    """Return the distance of every point to its k-th neighbour, sorted: the curve of a k-distance plot.

    Examples
    --------
    >>> k_distances([[0.0], [1.0], [3.0]], 1).tolist()
    [1.0, 1.0, 2.0]
    """
    return np.sort(NearestNeighbors(n_neighbors=k).fit(points).kneighbors()[0][:, -1])


def neighbours(setting: Setting) -> Numbers:
    """Figure 8: the k-distance plot of fifty points, before and after noise, and its elbow."""
    reaches = k_distances(_fifty(setting), NEIGHBOUR)
    curve = np.interp(np.array(SHARES) / 100, np.linspace(0, 1, len(reaches)), reaches)
    return {**{f"at {share}": float(v) for share, v in zip(SHARES, curve, strict=True)}, "elbow": elbow_of(reaches)}


def radius(setting: Setting) -> Numbers:
    """DBSCAN with a radius: clusters found, outliers, and agreement with the four clusters of the raw points."""
    truth = KMeans(4, n_init=10, random_state=0).fit(data.blobs(50)).labels_
    given = setting["radius"]
    reach = given if given == "k-distance" else float(given)
    found = cluster_after_noise(_fifty(setting), "dbscan", standardize=False, radius=reach, min_points=4)
    labels = found.labels
    return {
        "clusters": float(len(found.centers)),
        "outliers": float((labels < 0).sum()),
        "ari": float(adjusted_rand_score(truth, labels)),
        "radius": float(found.parameters["radius"]),
    }


def density_remap(Z: FloatArray, law: Any, low: FloatArray, high: FloatArray) -> FloatArray:
    """Move noisy points to the mean of their possible origins; the server's own estimate of the density is the prior.

    EM over a public grid estimates the density from the noisy points and the law of the noise (few columns only).
    Nothing else enters, so it costs no privacy.

    Examples
    --------
    >>> from discreet.metric import IsotropicLaw
    >>> Z = np.repeat([[0.2, 0.2], [0.8, 0.8]], 50, axis=0)
    >>> moved = density_remap(Z, IsotropicLaw(2, 30.0), np.zeros(2), np.ones(2))
    >>> moved[[0, -1]].round(2).tolist()
    [[0.2, 0.2], [0.8, 0.8]]
    """
    places = deconvolution.grid(low, high, GRID)
    f = deconvolution.densities(Z, places, law.log_density)
    weights = deconvolution.weights_by_em(f, np.ones(len(Z)), STEPS)
    origin = f * weights
    return np.asarray(origin @ places / origin.sum(axis=1, keepdims=True))
