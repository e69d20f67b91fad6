"""The tables of the nD-Laplace study: the published ones where their files are, and generated ones like them."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from sklearn.datasets import load_wine, make_blobs

from discreet import noise
from discreet.core import FloatArray
from discreet.datasets import is_here, numbers, read_file
from discreet.evaluation.attacks import draws
from discreet_studies.as_published.laplace import lost_points

#: Columns in the order in which the published runs took them, one more at a time.
_COLUMNS = {
    "seeds": ("A", "P", "LK", "C", "WK", "A_Coef", "LKG"),
    "heart": (
        "baseline value",
        "histogram_min",
        "accelerations",
        "fetal_movement",
        "uterine_contractions",
        "light_decelerations",
        "histogram_width",
        "histogram_max",
        "histogram_number_of_peaks",
    ),
    "circle": ("x1", "x2"),
    "line": ("x1", "x2"),
    "skewed": ("x1", "x2"),
}
_FILES = {"seeds": "seed_data", "heart": "heart_numerical"}
_FILES |= {name: f"{name}_1000" for name in ("circle", "line", "skewed")}
#: Need the files of the publication; the others are made here.
FROM_FILES = tuple(_FILES)
MADE = ("wine", "ring-like", "band-like", "skew-like")
#: Rows of a generated shape, as of the published ones.
_ROWS = 1000


def available() -> list[str]:
    """Return the tables that can be had here."""
    return [*(name for name in _FILES if is_here(_file(name))), *MADE]


def _file(name: str) -> str:
    return f"nd-laplace-thesis/{_FILES[name]}.csv.gz"


@lru_cache(maxsize=32)
def table(name: str, file: str = "right") -> FloatArray:
    """Return a table in its own units; ``file="lost"`` is Seeds with the decimal points that the published file lost.

    Examples
    --------
    >>> table("wine").shape
    (178, 13)
    """
    if name in _COLUMNS:
        rows = _from_file(name)
    elif name == "wine":
        rows = np.asarray(load_wine().data, np.float64)
    else:
        rows = _shape(name)
    rows = lost_points(rows) if file == "lost" else rows
    rows.flags.writeable = False
    return rows


def _from_file(name: str) -> FloatArray:
    read = read_file(_file(name), name)
    return np.stack([numbers(read[column]) for column in _COLUMNS[name]], axis=1)


def _shape(name: str) -> FloatArray:
    """Draw a table like the published shapes: two rings, two crossing bands, or two clusters that lean."""
    stream = noise.generator(11)
    u = draws.uniforms((_ROWS, 3), stream)
    soft = draws.isotropic(_ROWS, 2, 40.0, stream)
    second = np.arange(_ROWS) % 2
    if name == "ring-like":
        turn, reach = 2 * math.pi * u[:, 0], 1.0 - 0.7 * second
        return np.asarray(np.stack([reach * np.cos(turn), reach * np.sin(turn)], axis=1) + 3 * soft)
    if name == "band-like":
        side = 2 * second - 1
        return np.asarray(np.stack([2 * u[:, 0], side * (0.6 + u[:, 0]) + 0.3 * u[:, 1]], axis=1) + 3 * soft)
    lean = np.array([[0.6, -0.6], [-0.4, 0.8]])
    centers = np.stack([4 * second - 2, second - 0.5], axis=1)
    return np.asarray(centers + 12 * soft @ lean)


def in_box(X: FloatArray) -> FloatArray:
    """Scale every column to [-1, 1] by its own ends. They are public here; a user's bounds must be declared.

    Examples
    --------
    >>> in_box(np.array([[1.0], [2.0], [5.0]])).ravel().tolist()
    [-1.0, -0.5, 1.0]
    """
    low, high = X.min(axis=0), X.max(axis=0)
    return np.asarray(2 * (X - low) / (high - low) - 1)


def blobs(rows: int, seed: int = 0) -> FloatArray:
    """Return four round clusters in the plane; 50 rows of seed 0 are the table behind the figures of the thesis.

    Examples
    --------
    >>> blobs(50)[0].round(6).tolist()
    [0.914339, 4.550146]
    """
    return np.asarray(make_blobs(rows, centers=4, cluster_std=0.6, random_state=seed)[0], np.float64)


def crowd(rows: int, columns: int, seed: int) -> FloatArray:
    """Return people in four round clusters of the cube [-1, 1]^n: the same clusters for every seed."""
    places = 1.4 * (draws.uniforms((4, columns), noise.generator(5)) - 0.5)
    stream = noise.generator(1000 + seed)
    which = np.floor(4 * draws.uniforms(rows, stream)).astype(np.int64)
    # A normal spread of 0.1 per column, as the sum of twelve uniform numbers.
    spread = 0.1 * (draws.uniforms((12, rows, columns), stream).sum(axis=0) - 6)
    return np.asarray(np.clip(places[which] + spread, -1, 1))
