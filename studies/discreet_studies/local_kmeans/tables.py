"""Tables of the study of local k-means: numbers in [0, 1], numbers of categories, and how many values each has."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from discreet import datasets, noise
from discreet.core import FloatArray, IntArray
from discreet.datasets import is_here, load
from discreet.evaluation.attacks import draws

#: Shares of the four clusters, their deviation, least distance of their centres in units of √(columns/2), and the
#: share of each cluster that has its own value of a category.
_SHARES, _DEVIATION, _APART, _OWN = (0.4, 0.3, 0.2, 0.1), 0.07, 0.3, 0.8
#: Numeric columns and sizes of the categorical columns of "mixed".
_MIXED = 3, (2, 4, 6)
_ADULT = ("sex", "marital-status", "education", "workclass", "salary-class")
#: Rows that are taken of a long table.
_ROWS = 30_000


class Rows(NamedTuple):
    """A table."""

    numbers: FloatArray
    labels: IntArray
    categories: tuple[int, ...] = ()


def rows(name: str, n: int, columns: int, seed: int) -> Rows:
    """Return a generated table ("round", "mixed") of its own for every seed, or a public one.

    Examples
    --------
    >>> rows("mixed", 100, 3, 0).labels.max(axis=0).tolist()
    [1, 3, 5]
    """
    if name in ("skin", "adult"):
        return _public(name)
    stream = noise.generator(70_000 + seed)
    columns, categories = _MIXED if name == "mixed" else (columns, ())
    centers = 0.15 + 0.7 * draws.uniforms((4, columns), stream)
    while _nearest(centers) < _APART * (columns / 2) ** 0.5:
        centers = 0.15 + 0.7 * draws.uniforms((4, columns), stream)
    own = np.searchsorted(np.cumsum(_SHARES)[:-1], draws.uniforms(n, stream))
    spread = _DEVIATION * ndtri(draws.uniforms((n, columns), stream))
    labels = np.empty((n, len(categories)), np.int64)
    for j, size in enumerate(categories):
        typical = np.asarray(noise.below(size, size=4, rng=stream))[own]
        other = noise.below(size, size=n, rng=stream)
        labels[:, j] = np.where(draws.uniforms(n, stream) < _OWN, typical, other)
    return Rows(np.clip(centers[own] + spread, 0, 1), labels, categories)


def _nearest(centers: FloatArray) -> float:
    apart = np.linalg.norm(centers[:, None] - centers, axis=2)
    return float(apart[np.triu_indices(len(centers), 1)].min())


@lru_cache(maxsize=2)
def _public(name: str) -> Rows:
    """Skin: three colours of pixels. Adult: age and five categories."""
    if name == "skin":
        found = load("skin")
        low, high = found.domain.low, found.domain.high
        X = (np.asarray(found.X, np.float64) - low) / (high - low)
        X = X[draws.order(len(X), noise.generator(0))[:_ROWS]]
        return Rows(X, np.empty((len(X), 0), np.int64))
    people = datasets.adult()
    values: dict[str, Any] = {name: people.domain.column(name) for name in _ADULT}
    codes = []
    for name, column in values.items():
        order = {value: i for i, value in enumerate(column.categories)}
        codes.append([order[value] for value in people.table[name].to_pylist()])
    age = np.asarray(people.table["age"], np.float64)[:, None] / 120
    sizes = tuple(len(column.categories) for column in values.values())
    return Rows(age, np.array(codes).T, sizes)


FILES = {"skin": "uci-skin", "adult": "arx-adult/adult.csv.gz"}


def absent() -> list[str]:
    """Return the public tables that have no file here."""
    have = set(datasets.available())
    return [n for n in FILES if not (n in have if n == "skin" else is_here(FILES[n]))]
