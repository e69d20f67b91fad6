"""The fifteen labelled tables of the density-tree experiments (Pors 2018).

Four are real, three are iris with columns of noise, and eight are synthetic. The source leaves some choices open. They
are made here so that the tables look like the published figures: all columns of the first four synthetic tables depend
on the class, and the two blobs of the seventh are at least eight standard deviations apart. Bounds are round numbers
around the published files and the generated values; values outside are clamped.
"""

from collections.abc import Callable

import numpy as np

from discreet.core import Domain, FloatArray, IntArray, checks
from discreet.datasets import Dataset, available, load

Bounds = dict[str, tuple[float, float]]
Maker = Callable[[int], tuple[FloatArray, IntArray]]

_IRIS: Bounds = {
    "sepal_length": (4, 8),  # cm
    "sepal_width": (2, 4.5),
    "petal_length": (1, 7),
    "petal_width": (0, 2.5),
}
_WINE: Bounds = {
    "alcohol": (11, 15),
    "malic_acid": (0, 6),
    "ash": (1, 3.5),
    "alcalinity_of_ash": (10, 30),
    "magnesium": (70, 165),
    "total_phenols": (0.5, 4),
    "flavanoids": (0, 5.5),
    "nonflavanoid_phenols": (0, 0.7),
    "proanthocyanins": (0, 4),
    "color_intensity": (1, 13),
    "hue": (0.4, 1.8),
    "od280_od315": (1, 4),
    "proline": (250, 1700),
}
#: Least distance of the two blobs, in deviations.
_APART = 8.0


def _iris(noise: int) -> tuple[Bounds, Maker, str]:
    def make(seed: int) -> tuple[FloatArray, IntArray]:
        from sklearn.datasets import load_iris

        X, y = load_iris(return_X_y=True)
        more = np.random.default_rng(seed).normal(size=(len(X), noise))
        return np.hstack([X, more]), y

    bounds = _IRIS | {f"noise_{i + 1}": (-3.5, 3.5) for i in range(noise)}
    return bounds, make, "Iris (Fisher 1936)" + (f" with {noise} columns of standard normal noise" if noise else "")


def _wine(seed: int) -> tuple[FloatArray, IntArray]:
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    return X, y


def _clouds(n: int, columns: int) -> tuple[Bounds, Maker, str]:
    def make(seed: int) -> tuple[FloatArray, IntArray]:
        from sklearn.datasets import make_classification

        X, y = make_classification(n, columns, n_informative=columns, n_redundant=0, random_state=seed)
        return X, y

    size = 9.0 if columns > 5 else 7.0
    return _box(columns, -size, size), make, f"Gaussian clouds at the corners of a cube, {columns} columns"


def _moons(seed: int) -> tuple[FloatArray, IntArray]:
    from sklearn.datasets import make_moons

    X, y = make_moons(1000, noise=0.1, random_state=seed)
    return X, y


def _circles(seed: int) -> tuple[FloatArray, IntArray]:
    from sklearn.datasets import make_circles

    X, y = make_circles(1000, random_state=seed)
    return X, y


def _blobs(centres: int) -> tuple[Bounds, Maker, str]:
    def make(seed: int) -> tuple[FloatArray, IntArray]:
        from sklearn.datasets import make_blobs

        rng = np.random.default_rng(seed)
        places = rng.uniform(-10, 10, (centres, 2))
        while centres == 2 and np.linalg.norm(places[0] - places[1]) < _APART:
            places = rng.uniform(-10, 10, (centres, 2))
        X, y = make_blobs(1000, centers=places, random_state=seed)
        return X, y

    return _box(2, -13, 13), make, f"{centres} round Gaussians of 1000 rows"


def _box(columns: int, low: float, high: float) -> Bounds:
    return {f"x{i + 1}": (low, high) for i in range(columns)}


_MADE: dict[str, tuple[Bounds, Maker, str]] = {
    "iris": _iris(0),
    "wine": (_WINE, _wine, "Wine: chemistry of Italian wines from three growers (UCI, Aeberhard and Forina 1992)"),
    "iris+1": _iris(1),
    "iris+5": _iris(5),
    "iris+10": _iris(10),
    "synthetic-1": _clouds(1000, 5),
    "synthetic-2": _clouds(1000, 10),
    "synthetic-3": _clouds(10_000, 2),
    "synthetic-4": _clouds(20_000, 2),
    "synthetic-5": ({"x1": (-1.5, 2.5), "x2": (-1, 1.5)}, _moons, "two moons with noise 0.1"),
    "synthetic-6": (_box(2, -1.25, 1.25), _circles, "two circles, the inner one 0.8 times as wide"),
    "synthetic-7": _blobs(2),
    "synthetic-8": _blobs(6),
}
_READ = ("breast", "glass")


def labelled(name: str, *, random_state: int = 0) -> Dataset:
    """Return one of the fifteen labelled tables of the density-tree experiments.

    Parameters
    ----------
    name : str
        breast, glass (both need the data folder: see `load`), iris, wine, iris+1, iris+5, iris+10, or synthetic-1 to
        synthetic-8.
    random_state : int, default 0
        Seed of the synthetic columns and tables.

    Examples
    --------
    >>> labelled("iris+5")
    <Dataset iris+5: 150 rows, columns sepal_length, sepal_width, petal_length, petal_width, ..., 3 clusters>
    """
    seed = checks.whole("random_state", random_state)
    if checks.choice("name", name, [*_READ, *_MADE]) in _READ:
        return load(name)
    bounds, make, description = _MADE[name]
    X, y = make(seed)
    domain = Domain(bounds)
    return Dataset(name, domain.clamp(X), domain, int(y.max()) + 1, y.astype(np.int64), description)


def labelled_names() -> list[str]:
    """Return the names that `labelled` can make or read here."""
    return [name for name in _READ if name in available()] + list(_MADE)
