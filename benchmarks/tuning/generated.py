"""Invented tables of many shapes, to tune on: nothing here is modelled on a particular real table.

A table is named by its shape and its numbers, so a result file says what it was and the same name gives the same rows.
All lie in the unit box; what falls outside is clamped, as it is with declared bounds.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from discreet import datasets


@dataclass(frozen=True)
class Table:
    """What is needed to draw a table again.

    Attributes
    ----------
    shape : str
        One of `SHAPES`.
    n, d, k : int
        Rows, columns, clusters asked for.
    separation : float
        Of the nearest centres in standard deviations, where there are centres.
    """

    shape: str
    n: int
    d: int
    k: int
    separation: float = 8.0

    @property
    def name(self) -> str:
        return f"{self.shape} n={self.n} d={self.d} k={self.k} s={self.separation:g}"

    def rows(self) -> np.ndarray:
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return np.clip(SHAPES[self.shape](self, rng), 0.0, 1.0)


def _round(t: Table, rng: np.random.Generator) -> np.ndarray:
    """Round Gaussians of equal weight."""
    seed = int(rng.integers(2**31))
    return datasets.mixture(t.n, t.d, t.k, separation=t.separation, random_state=seed).X


def _parts(t: Table, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Centres of a mixture and the spread that its separation means."""
    seed = int(rng.integers(2**31))
    source = datasets.mixture(max(50 * t.k, 1000), t.d, t.k, separation=1e6, random_state=seed)
    centres = np.array([source.X[source.labels == j].mean(axis=0) for j in range(t.k)])
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2) + 9 * np.eye(t.k)
    return centres, float(gaps.min()) / t.separation


def _unequal(t: Table, rng: np.random.Generator) -> np.ndarray:
    """Sizes from one to about thirty, spreads that differ by cluster and by axis."""
    centres, spread = _parts(t, rng)
    sizes = np.exp(rng.uniform(0, 3.4, t.k))
    labels = rng.choice(t.k, t.n, p=sizes / sizes.sum())
    spreads = spread * np.exp(rng.normal(0, 0.5, (t.k, t.d)))
    return rng.normal(centres[labels], spreads[labels])


def _background(t: Table, rng: np.random.Generator) -> np.ndarray:
    """A mixture, and every fifth row anywhere in the box."""
    X = _round(t, rng)
    stray = rng.random(t.n) < 0.2
    X[stray] = rng.random((int(stray.sum()), t.d))
    return X


def _chain(t: Table, rng: np.random.Generator) -> np.ndarray:
    """Round Gaussians one after the other on a curve through the box."""
    at = np.linspace(0, 1, t.k)[:, None]
    waves, phases = rng.uniform(0.5, 2.5, t.d), rng.uniform(0, 2 * np.pi, t.d)
    centres = 0.5 + 0.4 * np.sin(2 * np.pi * waves * at + phases)
    gap = float(np.median(np.linalg.norm(np.diff(centres, axis=0), axis=1)))
    return rng.normal(centres[rng.integers(t.k, size=t.n)], gap / t.separation)


def _skewed(t: Table, rng: np.random.Generator) -> np.ndarray:
    """Correlated columns with long tails and no clusters; the bounds are wide, as declared ones are."""
    hidden = max(1, t.d // 3)
    loads = rng.normal(size=(hidden, t.d))
    z = rng.normal(size=(t.n, hidden)) @ loads / np.sqrt(hidden) + 0.7 * rng.normal(size=(t.n, t.d))
    return np.exp(rng.uniform(0.2, 1.2, t.d) * z) * np.exp(rng.uniform(-4.0, -1.0, t.d))


def _scores(t: Table, rng: np.random.Generator) -> np.ndarray:
    """Correlated whole numbers from 0 to 10, around class means that overlap."""
    hidden = max(1, t.d // 4)
    loads = rng.normal(size=(hidden, t.d))
    means = rng.normal(5, 1.5, (t.k, t.d))
    noise = rng.normal(size=(t.n, hidden)) @ loads / np.sqrt(hidden) + rng.normal(size=(t.n, t.d))
    return np.clip(np.rint(means[rng.integers(t.k, size=t.n)] + 1.3 * noise), 0, 10) / 10


def _tubes(t: Table, rng: np.random.Generator) -> np.ndarray:
    """Stretched Gaussians in random directions, of unequal weight: clusters that no axis-parallel model fits."""
    centres, spread = _parts(t, rng)
    sizes = np.exp(rng.uniform(0, 2, t.k))
    labels = rng.choice(t.k, t.n, p=sizes / sizes.sum())
    way = rng.normal(size=(t.k, t.d))
    way /= np.linalg.norm(way, axis=1)[:, None]
    along = rng.normal(0, 4 * spread, t.n)[:, None] * way[labels]
    return centres[labels] + along + rng.normal(0, spread / 2, (t.n, t.d))


def _heavy(t: Table, rng: np.random.Generator) -> np.ndarray:
    """Clusters of unequal weight with tails so long that their variance barely exists."""
    centres, spread = _parts(t, rng)
    sizes = np.exp(rng.uniform(0, 2, t.k))
    labels = rng.choice(t.k, t.n, p=sizes / sizes.sum())
    return centres[labels] + spread / 2 * rng.standard_t(2.2, (t.n, t.d))


def _sparse(t: Table, rng: np.random.Generator) -> np.ndarray:
    """Mostly zeros: a cluster has columns of its own that are likely to be in use, as words or pixels are."""
    common = rng.random(t.d) ** 4
    likely = np.clip(common * rng.gamma(0.7, 1.4, (t.k, t.d)), 0.0, 0.95)
    labels = rng.integers(t.k, size=t.n)
    used = rng.random((t.n, t.d)) < likely[labels]
    return used * rng.beta(2.0, 1.5, (t.n, t.d))


def _narrow(t: Table, rng: np.random.Generator) -> np.ndarray:
    """Round Gaussians that may overlap, near the middle of bounds that are far too wide."""
    centres = rng.normal(size=(t.k, t.d))
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2) + 9e9 * np.eye(t.k)
    spread = np.exp(rng.uniform(np.log(0.02), np.log(0.12)))
    centres *= t.separation * spread / gaps.min()
    return 0.5 + rng.uniform(-0.1, 0.1, t.d) + rng.normal(centres[rng.integers(t.k, size=t.n)], spread)


def _answers(t: Table, rng: np.random.Generator) -> np.ndarray:
    """Answers yes or no, by latent classes of unequal size."""
    likely = rng.beta(0.6, 0.9, (t.k, t.d))
    sizes = np.exp(rng.uniform(0, 2, t.k))
    return (rng.random((t.n, t.d)) < likely[rng.choice(t.k, t.n, p=sizes / sizes.sum())]).astype(float)


def _images(t: Table, rng: np.random.Generator) -> np.ndarray:
    """Rows of pixels: a few soft strokes for each class, moved a little from row to row; margins stay empty."""
    at = np.linspace(-0.4, 1.4, t.d)
    strokes = rng.uniform(0, 1, (t.k, 3))
    labels = rng.integers(t.k, size=t.n)
    X = np.zeros((t.n, t.d))
    for j in range(3):
        places = strokes[labels, j] + rng.normal(0, 0.06, t.n)
        X += rng.uniform(0.5, 1.2, (t.n, 1)) * np.exp(-(((at - places[:, None]) / 0.07) ** 2))
    return X


def _spectra(t: Table, rng: np.random.Generator) -> np.ndarray:
    """Readings of neighbouring columns: smooth curves of a few hidden numbers, by class; bounds have some room."""
    at, hidden = np.linspace(0, 1, t.d), int(rng.integers(2, 6))
    loads = np.sin(2 * np.pi * (rng.uniform(0.2, 1.5, (hidden, 1)) * at + rng.random((hidden, 1))))
    means = rng.normal(size=(t.k, hidden))
    rows = means[rng.integers(t.k, size=t.n)] + rng.normal(size=(t.n, hidden)) * rng.uniform(0.2, 0.8)
    X = rows @ loads / np.sqrt(hidden) + 0.1 * rng.normal(size=(t.n, t.d))
    return rng.uniform(0.35, 0.55) + X * rng.uniform(0.1, 0.25) / X.std()


def _patients(t: Table, rng: np.random.Generator) -> np.ndarray:
    """The invented patients: two columns, 15 groups of 2 to 16 per cent."""
    return datasets.patients(t.n, random_state=int(rng.integers(2**31))).X / 100


def _s_like(t: Table, rng: np.random.Generator) -> np.ndarray:
    """15 round Gaussians in the plane; the separation is the level, 1 to 4."""
    return datasets.s_like(int(t.separation), n=t.n, random_state=int(rng.integers(2**31))).X / 1e6


def _shells(t: Table, rng: np.random.Generator) -> np.ndarray:
    """Rows on spheres around centres, with nothing inside."""
    centres, spread = _parts(t, rng)
    way = rng.normal(size=(t.n, t.d))
    way *= spread * np.sqrt(t.d) / np.linalg.norm(way, axis=1)[:, None]
    return centres[rng.integers(t.k, size=t.n)] + way * rng.normal(1, 0.05, (t.n, 1))


def _forms(t: Table, rng: np.random.Generator) -> np.ndarray:
    """Forms: every other column yes or no, the others numbers, by latent classes of unequal size."""
    labels = rng.choice(t.k, t.n, p=(w := rng.dirichlet(np.full(t.k, 2.0))) / w.sum())
    likely, places = rng.beta(0.5, 0.5, (t.k, t.d)), rng.beta(2, 3, (t.k, t.d))
    numbers = rng.normal(places[labels], 0.08)
    numbers[:, ::2] = rng.random((t.n, len(range(0, t.d, 2)))) < likely[labels][:, ::2]
    return numbers


def _counts(t: Table, rng: np.random.Generator) -> np.ndarray:
    """Small counts of events in bounds of 0 to 20, with rates by class and row."""
    rates = rng.gamma(1.0, 2.0, (t.k, t.d))
    busy = rng.gamma(4.0, 0.25, (t.n, 1))
    return rng.poisson(rates[rng.integers(t.k, size=t.n)] * busy) / 20


def _roads(t: Table, rng: np.random.Generator) -> np.ndarray:
    """Rows along lines between places in the box, of different lengths."""
    ends = rng.uniform(0.1, 0.9, (2, t.k, t.d))
    road = rng.integers(t.k, size=t.n)
    at = rng.random((t.n, 1))
    return (1 - at) * ends[0, road] + at * ends[1, road] + rng.normal(0, 0.3 / t.separation, (t.n, t.d))


def _islands(t: Table, rng: np.random.Generator) -> np.ndarray:
    """Clusters on half of the columns, away from the middle; the other columns are even."""
    places = np.where(
        rng.random((t.k, t.d)) < 0.7, rng.uniform(0.05, 0.3, (t.k, t.d)), rng.uniform(0.7, 0.95, (t.k, t.d))
    )
    X = rng.normal(places[rng.integers(t.k, size=t.n)], 0.4 / t.separation)
    X[:, 1::2] = rng.random((t.n, t.d // 2))
    return X


#: Kinds that no constant was chosen on.
HELD_OUT = ("shells", "forms", "counts", "roads", "islands")
SHAPES = {
    "shells": _shells,
    "forms": _forms,
    "counts": _counts,
    "roads": _roads,
    "islands": _islands,
    "round": _round,
    "unequal": _unequal,
    "background": _background,
    "chain": _chain,
    "skewed": _skewed,
    "scores": _scores,
    "tubes": _tubes,
    "heavy": _heavy,
    "sparse": _sparse,
    "narrow": _narrow,
    "answers": _answers,
    "images": _images,
    "spectra": _spectra,
    "patients": _patients,
    "s_like": _s_like,
}
