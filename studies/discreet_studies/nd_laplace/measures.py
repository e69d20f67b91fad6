"""What one setting of the nD-Laplace study measures: noise, clusters, attacks. One function for each part."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.cluster import OPTICS, KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    calinski_harabasz_score,
    silhouette_score,
)

from discreet import noise
from discreet.core import Domain, FloatArray, IntArray
from discreet.evaluation import membership_attack, nicv_ratio, reconstruction_attack
from discreet.metric import NDLaplace
from discreet_studies.as_published.laplace import (
    column_laplace,
    published_noise,
    to_nearest_record,
    whole_budget_on_every_column,
)
from discreet_studies.harness.study import Numbers, Setting
from discreet_studies.measured.agreement import perturbation_distance
from discreet_studies.measured.forest_attack import forest_attack
from discreet_studies.measured.membership import boundary_attack, plain_sum
from discreet_studies.measured.points import advantage_bound, best_advantage
from discreet_studies.nd_laplace import choosing, data
from discreet_studies.nd_laplace.clusters import cluster_after_noise
from discreet_studies.nd_laplace.resampling import resampled_rate
from discreet_studies.nd_laplace.rivals import equal_privacy

#: Clusters of k-means, clusters of the hierarchical method and least neighbours of OPTICS: by set, and by columns with
#: 4 for "four and more", as published.
PARAMETERS = {
    ("seeds", 2): (2, 2, 4),
    ("seeds", 3): (5, 2, 6),
    ("seeds", 4): (2, 4, 12),
    ("heart", 2): (2, 2, 4),
    ("heart", 3): (4, 4, 6),
    ("heart", 4): (2, 3, 18),
    ("circle", 2): (7, 7, 4),
    ("line", 2): (2, 2, 4),
    ("skewed", 2): (5, 6, 4),
    ("ring-like", 2): (7, 7, 4),
    ("band-like", 2): (2, 2, 4),
    ("skew-like", 2): (5, 6, 4),
}
_WINE = (3, 3, 12)
#: Draws from which a sampler's moments are taken.
_DRAWS = 100_000
#: Records of Seeds.
_SEEDS = 210
#: People of each kind in an attack.
_PEOPLE = 400


def parameters(name: str, columns: int) -> tuple[int, int, int]:
    """Return K of k-means, K of the hierarchical method and the least neighbours of OPTICS."""
    return PARAMETERS.get((name, min(columns, 4)), _WINE)


def laplace(X: FloatArray, rate: float, seed: int, **settings: Any) -> FloatArray:
    """Perturb in the units of X by the product's mechanism. Its bounds lie outside the data: nothing is clamped."""
    domain = Domain.box(X.min(axis=0) - 1, X.max(axis=0) + 1)
    return np.asarray(NDLaplace(rate, 1.0, domain, scaling="none", random_state=seed, **settings).transform(X))


def perturbed(X: FloatArray, sampler: str, rate: float, seed: int) -> FloatArray:
    """Perturb by the right sampler or the published one."""
    if sampler == "right":
        return laplace(X, rate, seed)
    drawn = published_noise(X.shape[0], X.shape[1], rate, noise.generator(seed))
    return np.asarray(X + drawn)


def points(setting: Setting) -> Numbers:
    """Fifty points in the plane: three algorithms after noise against the same on raw records."""
    rate, seed = float(setting["epsilon"]), int(setting["seed"])
    raw = data.blobs(50)
    X = data.in_box(raw) if setting["units"] == "box" else raw
    Z = laplace(X, rate, seed)
    found = {"distance": perturbation_distance(X, Z)}
    ways: dict[str, dict[str, Any]] = {"k-means": {"n_clusters": 4}}
    if setting["units"] == "box":
        ways |= {"affinity": {"preference": "median"}, "dbscan": {"radius": 0.5, "min_points": 4}}
    standard = Z / Z.std(axis=0)
    for way, extra in ways.items():
        truth = cluster_after_noise(X, way, **extra).labels
        labels = cluster_after_noise(Z, way, random_state=seed, **extra).labels
        found[f"ari {way}"] = float(adjusted_rand_score(truth, labels))
        found[f"ami {way}"] = float(adjusted_mutual_info_score(truth, labels))
        if 2 <= len(np.unique(labels)) < len(Z):  # of one cluster, or of one per point, they are not defined
            found[f"ch {way}"] = float(calinski_harabasz_score(standard, labels))
            found[f"silhouette {way}"] = float(silhouette_score(standard, labels))
    return found


@lru_cache(maxsize=256)
def _reference(name: str, file: str, columns: int, way: str) -> IntArray:
    return _labels(np.array(data.table(name, file)[:, :columns]), name, way, 0)


def _labels(X: FloatArray, name: str, way: str, seed: int) -> IntArray:
    """Cluster standardised rows with the published parameters."""
    k, hierarchical, least = parameters(name, X.shape[1])
    if way == "optics":
        unit = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        return np.asarray(OPTICS(min_samples=least).fit((X - X.mean(axis=0)) / unit).labels_, np.int64)
    clusters = k if way == "k-means" else hierarchical
    return np.asarray(cluster_after_noise(X, way, n_clusters=clusters, random_state=seed).labels, np.int64)


def columns(setting: Setting) -> Numbers:
    """A table of n columns: labels after noise against those of the raw records, and how the noise is shared out."""
    name, file, n = str(setting["set"]), str(setting["file"]), int(setting["columns"])
    rate, seed = float(setting["epsilon"]), int(setting["seed"])
    X = np.array(data.table(name, file)[:, :n])
    if setting["units"] == "box":
        X = data.in_box(X)
    Z = perturbed(X, str(setting["sampler"]), rate, seed)
    found = {"distance": perturbation_distance(X, Z)}
    for way in str(setting["ways"]).split("+"):
        truth = _reference(name, file, n, way)  # standardised: the same in either unit
        found[f"ami {way}"] = float(adjusted_mutual_info_score(truth, _labels(Z, name, way, seed)))
    return found


def sampler(setting: Setting) -> Numbers:
    """Moments of a sampler at rate 1, and between which ends 95 % of tables as long as Seeds have them."""
    n, seed = int(setting["columns"]), int(setting["seed"])
    drawn = perturbed(np.zeros((_DRAWS, n)), str(setting["sampler"]), 1.0, seed)
    tables = drawn[: _DRAWS // _SEEDS * _SEEDS].reshape(-1, _SEEDS, n)
    found = {"upwards 1": float((drawn[:, 0] > 0).mean())}
    moments = {"mean 1": (drawn[:, 0].mean(), tables[:, :, 0].mean(axis=1))}
    moments |= {f"deviation {j + 1}": (drawn[:, j].std(), tables[:, :, j].std(axis=1)) for j in range(n)}
    for name, (whole, parts) in moments.items():
        low, high = np.quantile(parts, [0.025, 0.975])
        found |= {name: float(whole), f"{name}, low": float(low), f"{name}, high": float(high)}
    return found


def pair(setting: Setting) -> Numbers:
    """Two records that differ in the last column only: the advantage of who looks at that column."""
    n, level, seed = int(setting["columns"]), float(setting["level"]), int(setting["seed"])
    rows = np.zeros((2 * 20_000, n))
    rows[20_000:, -1] = level
    last = perturbed(rows, str(setting["sampler"]), 1.0, seed)[:, -1]
    said = last > level / 2
    advantage = float(said[20_000:].mean() - said[:20_000].mean())
    return {"advantage": advantage, "best": best_advantage(level, n), "bound": advantage_bound(level)}


def law(setting: Setting) -> Numbers:
    """What the best attack on the right noise reaches: no draws."""
    level, n = float(setting["level"]), int(setting["columns"])
    return {"best": best_advantage(level, n), "bound": advantage_bound(level)}


def resampling(setting: Setting) -> Numbers:
    """What drawing again until the point lies in [-1, 1]² multiplies the rate by: no draws."""
    rate = 2 * float(setting["epsilon"])  # the square is twice the unit square, so the rate of that one is double
    return {"factor": resampled_rate(rate, 2) / rate}


def records(setting: Setting) -> Numbers:
    """Fifty points, moved to the nearest record where they leave the box: the share that is then a record verbatim."""
    X = data.in_box(data.blobs(50))
    rate, seed = float(setting["epsilon"]), int(setting["seed"])
    moved = to_nearest_record(laplace(X, rate, seed), X, grid=int(setting["grid"]))
    same = (moved[:, None, :] == X[None, :, :]).all(axis=2)
    return {"anybody's": float(same.any(axis=1).mean()), "own": float(np.diagonal(same).mean())}


def forest(setting: Setting) -> Numbers:
    """One run of the published attack: a forest on noisy members with cluster labels, three shadow forests."""
    seed, budget = int(setting["seed"]), setting["epsilon"]
    people = data.in_box(data.blobs(2000))
    perturb = None if budget == "none" else lambda rows: laplace(np.asarray(rows), float(budget), seed)
    return {"advantage": forest_attack(people, perturb, repeats=1, random_state=seed).advantage}


def boundary(setting: Setting) -> Numbers:
    """The same forest, asked for labels only: how far a record lies from where its label changes."""
    seed, budget = int(setting["seed"]), setting["epsilon"]
    people = data.in_box(data.blobs(2000))
    label = KMeans(4, n_init=4, random_state=0).fit(people).predict
    order = np.argsort(noise.below(2**62, size=len(people), rng=seed), kind="stable")
    members, others = people[order[:250]], people[order[250:500]]
    shown = members if budget == "none" else laplace(members, float(budget), seed)
    model = RandomForestClassifier(random_state=seed).fit(shown, label(members))
    found = boundary_attack(model, members, others, label=label, directions=10, steps=8, random_state=seed)
    return {"advantage": found.advantage}


def attack(setting: Setting) -> Numbers:
    """Membership and reconstruction by the law of the noise, with public records of the same kind of people."""
    n, seed = int(setting["columns"]), int(setting["seed"])
    size = float(setting["size"])
    rate = size if setting["by"] == "rate" else size / (2 * math.sqrt(n))
    if setting["set"] == "crowd":
        rows = data.crowd(3 * _PEOPLE, n, seed)
    else:
        whole = data.in_box(np.array(data.table(str(setting["set"]))[:, :n]))
        order = np.argsort(noise.below(2**62, size=len(whole), rng=seed), kind="stable")
        rows = whole[order[: 3 * min(_PEOPLE, len(whole) // 3)]]
    people, others, public = np.split(rows, 3)
    mechanism = NDLaplace(rate, 1.0, Domain.box([-1.0] * n, [1.0] * n), scaling="none", random_state=seed)
    Z = mechanism.transform(people)
    member = membership_attack(Z, people, others, metric=mechanism, reference=public, random_state=seed)
    guess = reconstruction_attack(Z, people, reference=public, metric=mechanism, random_state=seed)
    blind = float(np.linalg.norm(people - public.mean(axis=0), axis=1).mean())
    return {
        "advantage": member.advantage,
        "found at 1 %": member.tpr_at(0.01),
        "error": guess.mean_error / blind,
    }


def remap(setting: Setting) -> Numbers:
    """What becomes of noisy points: error, labels, centres on raw records, and who can be told to be in the release."""
    method, rate, seed = str(setting["remap"]), float(setting["epsilon"]), int(setting["seed"])
    X, public, k = _remapped_set(str(setting["set"]), seed)
    n = X.shape[1]
    domain = Domain.box([-1.0] * n, [1.0] * n)
    ways: dict[str, dict[str, Any]] = {"bayes": {"prior": public}, "grid": {"grid": 12}}
    extra = {} if method in ("noise-aware", "density") else {"remap": method, **ways.get(method, {})}
    # Drawing again costs twice the rate: at equal privacy its noise has half of it.
    noise_rate = rate / 2 if method == "resample" else rate
    mechanism = NDLaplace(noise_rate, 1.0, domain, scaling="none", random_state=seed, **extra)
    Z = np.asarray(mechanism.transform(X))
    if method == "density":
        Z = choosing.density_remap(Z, mechanism.law, domain.low, domain.high)
    truth = cluster_after_noise(X, "k-means", n_clusters=k, standardize=False)
    if method == "noise-aware":
        made = cluster_after_noise(Z, "noise-aware", n_clusters=k, law=mechanism.law, domain=domain, random_state=seed)
    else:
        made = cluster_after_noise(Z, "k-means", n_clusters=k, standardize=False, random_state=seed)
    nearest = np.linalg.norm(X[:, None, :] - made.centers[None, :, :], axis=2).argmin(axis=1)
    member = membership_attack(Z, X, public, score=plain_sum(noise_rate), random_state=seed)
    return {
        "error": perturbation_distance(X, Z),
        "ami": float(adjusted_mutual_info_score(truth.labels, made.labels)),
        "ari centres": float(adjusted_rand_score(truth.labels, nearest)),
        "cost": nicv_ratio(X, made.centers, truth.centers),
        "advantage": member.advantage,
    }


def _remapped_set(name: str, seed: int) -> tuple[FloatArray, FloatArray, int]:
    """Return people, public records of the same kind, and the number of clusters."""
    if name == "blobs":
        people, public = np.split(data.in_box(data.blobs(1000, seed)), 2)
        return people, public, 4
    if name == "crowd-5":
        return data.crowd(500, 5, seed), data.crowd(500, 5, seed + 500), 4
    whole = data.in_box(np.array(data.table(name)))
    order = np.argsort(noise.below(2**62, size=len(whole), rng=seed), kind="stable")
    half = len(whole) // 2
    return whole[order[:half]], whole[order[half : 2 * half]], parameters(name, whole.shape[1])[0]


def equal(setting: Setting) -> Numbers:
    """Labels after rivals of the same total ε between any two rows of the box."""
    name, n, seed = str(setting["set"]), int(setting["columns"]), int(setting["seed"])
    total, method = float(setting["total"]), str(setting["mechanism"])
    X = data.in_box(np.array(data.table(name)[:, :n]))
    if method == "whole ε on every column":
        Z = whole_budget_on_every_column(X, total, seed)
    elif method == "column_laplace":
        Z = column_laplace(X, total, Domain.box([-1.0] * n, [1.0] * n), seed)
    else:
        Z = equal_privacy(method, total, Domain.box([-1.0] * n, [1.0] * n), seed).transform(X)
    labels = _labels(np.asarray(Z), name, "k-means", seed)
    return {"ami": float(adjusted_mutual_info_score(_reference(name, "right", n, "k-means"), labels))}


PARTS: dict[str, Callable[[Setting], Numbers]] = {
    "points": points,
    "columns": columns,
    "sampler": sampler,
    "pair": pair,
    "law": law,
    "resampling": resampling,
    "records": records,
    "forest": forest,
    "boundary": boundary,
    "attack": attack,
    "remap": remap,
    "equal": equal,
    "elbow": choosing.elbow,
    "choose k": choosing.choose,
    "k-distance": choosing.neighbours,
    "radius": choosing.radius,
}
