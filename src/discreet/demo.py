"""The main job in miniature, on an invented table: release a synopsis, cluster it, compare, draw, write files.

The steps are those of any central-model release: declare the domain, open a ledger, count by public cells, add
exact noise to every count, refine without touching the data again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from sklearn.cluster import KMeans

from discreet import datasets, engines, noise
from discreet.domain import Domain
from discreet.guarantee import Guarantee, Ledger

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

CLUSTERS = 15
ROWS = 10_000
#: Share of ε for the noisy number of rows, which sets the size of the grid.
SIZE_SHARE = Fraction(3, 100)


@dataclass(frozen=True)
class Release:
    """A grid of noisy counts: all that leaves the building."""

    parts: int
    weights: IntArray
    lower: FloatArray
    upper: FloatArray
    guarantee: Guarantee
    ledger: Ledger


@dataclass(frozen=True)
class DemoResult:
    """What the demonstration did, for the command line to tell."""

    rows: int
    clusters: int
    parts: int
    guarantee: Guarantee
    ledger_rows: list[tuple[str, str, str]]
    nicv_private: float
    nicv_plain: float
    folder: Path
    files: Mapping[str, str]
    note: str

    @property
    def ratio(self) -> float:
        """Squared error of the private centres over that of plain k-means."""
        return self.nicv_private / self.nicv_plain

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "rows": self.rows,
            "clusters": self.clusters,
            "cells": self.parts**2,
            "epsilon": self.guarantee.epsilon,
            "seeded": self.guarantee.seeded,
            "nicv_private": self.nicv_private,
            "nicv_plain": self.nicv_plain,
            "ratio": self.ratio,
            "files": [str(self.folder / name) for name in self.files],
        }


def run(folder: str | Path = "discreet-demo", *, epsilon: float = 1.0, seed: int | None = None) -> DemoResult:
    """Run the demonstration and write its files.

    Parameters
    ----------
    folder : path
        Where to write; made if missing.
    epsilon : float
        Privacy budget of the release.
    seed : int, optional
        Repeat a run. The guarantee is then marked as seeded.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = run(folder, seed=1)
    >>> result.guarantee.epsilon, result.ratio < 1.2
    (1.0, True)
    """
    table = datasets.patients(n=ROWS)
    release = release_grid(table.to_arrow(), table.domain, epsilon=epsilon, rng=seed)
    private = cluster(release, table.domain)

    # From here on the raw rows are looked at: a comparison for the reader, possible because they are invented.
    X = table.domain.to_unit(table.X)
    plain = KMeans(CLUSTERS, n_init=20, random_state=0).fit(X).cluster_centers_
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files, note = write(folder, release, private, plain, table)
    return DemoResult(
        rows=ROWS,
        clusters=CLUSTERS,
        parts=release.parts,
        guarantee=release.guarantee,
        ledger_rows=release.ledger.rows(),
        nicv_private=nicv(X, private),
        nicv_plain=nicv(X, plain),
        folder=folder,
        files=files,
        note=note,
    )


def release_grid(data: Any, domain: Domain, *, epsilon: float, rng: object) -> Release:
    """Release the noisy counts of a grid whose size follows from a noisy number of rows.

    Privacy
    -------
    Neighbours: add or remove one row. The number of rows changes by 1, so ``N + Z`` with scale 1/ε_N costs ε_N. A row
    is in one cell, so all cell counts with scale 1/ε_c cost ε_c together (parallel). Sum: ε_N + ε_c = ε. The size of
    the grid depends on the noisy number only.
    """
    stream = noise.generator(rng)
    ledger = Ledger(epsilon=epsilon)
    exact = ledger.total.exact
    price = ledger.spend("number of rows, to size the grid", exact * SIZE_SHARE)
    source = engines.open(data)
    rows = int(source.count(engines.GridMap(domain, 1)).dense().sum())
    noisy_rows = max(1, rows + noise.discrete_laplace(1 / price, rng=stream))

    price = ledger.spend("count in every cell", ledger.remaining, "parallel")
    # About theta rows a cell at epsilon 1 balance noise against coarseness (EUGkM, theta = 10); never under k cells.
    parts = max(math.ceil(math.sqrt(CLUSTERS)), min(1000, round(math.sqrt(noisy_rows * min(float(price), 50) / 10))))
    grid = engines.GridMap(domain, parts)
    counts = source.count(grid).dense()
    weights = counts + noise.discrete_laplace(1 / price, size=len(counts), rng=stream)
    lower, upper = grid.boxes(np.arange(grid.n_cells))
    guarantee = Guarantee.from_ledger(
        ledger,
        model="central",
        parameters={"method": "uniform grid", "parts_per_axis": parts},
        domain=domain,
        assumptions=(
            "the bounds of the columns were declared without looking at the data",
            "each person is one row",
        ),
        seeded=stream.seeded,
    )
    return Release(parts, weights, lower, upper, guarantee.seal(weights.astype("<i8").tobytes()), ledger)


def cluster(release: Release, domain: Domain) -> FloatArray:
    """Find centres in the release alone (post-processing: costs nothing).

    Weights are projected on the non-negative ones with the same total, then k-means runs on the middles of the cells.
    """
    weights = project(release.weights.astype(np.float64))
    middles = domain.to_unit((release.lower + release.upper) / 2)
    kept = weights > 0
    if kept.sum() < CLUSTERS:  # decided on noisy values: too little is left to tell cells apart
        weights, kept = np.ones_like(weights), np.ones(len(weights), dtype=bool)
    model = KMeans(CLUSTERS, n_init=20, random_state=0).fit(middles[kept], sample_weight=weights[kept])
    centers: FloatArray = model.cluster_centers_
    return centers


def project(weights: FloatArray) -> FloatArray:
    """Move weights to the nearest non-negative ones with the same total (spec partition-synopsis 9.11).

    Examples
    --------
    >>> project(np.array([5.0, -1.0, 2.0])).tolist()
    [4.5, 0.0, 1.5]
    """
    total = weights.sum()
    if total <= 0:
        return np.zeros_like(weights)
    ordered = np.sort(weights)[::-1]
    shift = (np.cumsum(ordered) - total) / np.arange(1, len(weights) + 1)
    projected: FloatArray = np.maximum(weights - shift[np.flatnonzero(ordered > shift)[-1]], 0)
    return projected


def nicv(X: FloatArray, centers: FloatArray) -> float:
    """Return the mean squared distance of the rows to their nearest centre."""
    return float(np.mean(((X[:, None, :] - centers[None]) ** 2).sum(axis=2).min(axis=1)))


def write(
    folder: Path, release: Release, private: FloatArray, plain: FloatArray, table: datasets.Dataset
) -> tuple[dict[str, str], str]:
    """Write the release, the centres, the guarantee and, if Plotly is there, the picture."""
    names = table.domain.names
    sides = {"from": release.lower, "to": release.upper}
    corners = {f"{name}_{side}": x[:, i] for side, x in sides.items() for i, name in enumerate(names)}
    cells = pa.table({**corners, "weight": release.weights})
    promise = release.guarantee.to_json()
    pq.write_table(cells.replace_schema_metadata({"discreet.guarantee": promise}), folder / "synopsis.parquet")
    centers = table.domain.from_unit(private)
    pa_csv.write_csv(pa.table({n: centers[:, i] for i, n in enumerate(names)}), folder / "centers.csv")
    (folder / "guarantee.json").write_text(release.guarantee.to_json(indent=2) + "\n", encoding="utf-8")
    files = {
        "synopsis.parquet": "the noisy cells: what may be published",
        "centers.csv": "the cluster centres found in them",
        "guarantee.json": "the promise, the ledger, the assumptions, the seal",
    }
    try:
        from discreet._demo_picture import draw
    except ImportError:
        return files, "Install the extra 'plot' (pip install 'discreet[plot]') to get a picture too."
    epsilon = release.guarantee.epsilon or 0.0
    draw(folder / "picture.html", release.weights, release.parts, private, plain, table, epsilon)
    files["picture.html"] = "data, release and centres side by side: open it in a browser"
    return files, ""
