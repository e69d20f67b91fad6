"""The four privacy models on one table: synopses, local reports, noisy rows and anonymous cells."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.anonymity import DensityTree, Mondrian
from discreet.anonymity.release import read_table
from discreet.core import FloatArray, IntArray
from discreet.local import LocalHashing
from discreet.metric import NDLaplace
from discreet.synopses import GridSynopsis, Synopsis, TreeSynopsis
from discreet.synopses.boxes.grid import eugkm
from discreet_studies.frontier.forms import Cells, Points, Raw, ReleasedForm
from discreet_studies.frontier.people import People, domain

#: The distance at which the level of metric privacy is stated: a tenth of both ranges.
RADIUS = 0.1
#: Public, and the same for all: the hash functions hide nothing.
_KEY = 7


def release(method: str, value: float, table: People, seed: int) -> ReleasedForm:
    """Release a table by a method with its parameter: ε, or k."""
    return METHODS[method](table, value, seed)


def _arrow(table: People) -> pa.Table:
    return pa.table({"x": table.q[:, 0], "y": table.q[:, 1], "s": np.array(["0", "1"])[table.v]})


def _synopsis(made: Synopsis) -> Cells:
    return Cells(made.lower, made.upper, np.asarray(made.weights, np.float64), made.variances)


def _grid(table: People, epsilon: float, seed: int) -> ReleasedForm:
    made = GridSynopsis(epsilon, domain(), rule="eugkm", random_state=seed)
    return _synopsis(made.fit(_arrow(table)).synopsis_)


def _privtree(table: People, epsilon: float, seed: int) -> ReleasedForm:
    made = TreeSynopsis(epsilon, domain(), partitioner="privtree", max_depth=12, random_state=seed)
    return _synopsis(made.fit(_arrow(table)).synopsis_)


def _local(table: People, epsilon: float, seed: int) -> ReleasedForm:
    """Send the cell of a public grid by local hashing.

    The grid is sized by the rule of the grid synopsis, for the ε at which its counts would be as noisy as these.
    """
    plain = LocalHashing(epsilon, key=_KEY)
    parts = eugkm(len(table), math.sqrt(2 / plain.variance(len(table))), 2)
    mechanism = LocalHashing(epsilon, candidates=2 * parts * parts, key=_KEY)

    def cell(q: FloatArray, v: npt.ArrayLike) -> IntArray:
        at = np.minimum((q * parts).astype(np.int64), parts - 1)
        return np.asarray((at[:, 0] * parts + at[:, 1]) * 2 + v, np.int64)

    reports = mechanism.encode(cell(table.q, table.v), rng=seed)
    found = mechanism.estimate(mechanism.aggregate(reports), np.arange(2 * parts * parts))
    corner = np.stack(np.meshgrid(np.arange(parts), np.arange(parts), [0, 1], indexing="ij"), axis=-1).reshape(-1, 3)
    size = np.array([1 / parts, 1 / parts, 1.0])

    def odds(places: IntArray, people: People) -> FloatArray:
        seeds, buckets = reports.field("seed")[places], reports.field("bucket")[places]
        hit = [mechanism.family(cell(people.q, v), index=seeds) == buckets for v in (0, 1)]
        return np.asarray((hit[1].astype(np.float64) - hit[0]) * epsilon)

    variances = np.full(len(corner), mechanism.variance(len(table)))
    return Cells(corner * size, (corner + 1) * size, found.count, variances, even_out=True, own_odds=odds)


def _metric(table: People, epsilon: float, seed: int) -> ReleasedForm:
    """Spend half of the level on the place and half on the sensitive value."""
    mechanism = NDLaplace(epsilon / 2, RADIUS, domain(), category_epsilon=epsilon / 2, random_state=seed)
    made = mechanism.transform(_arrow(table))
    z = np.column_stack([made["x"].to_numpy(), made["y"].to_numpy()])
    w = np.array([s == "1" for s in made["s"].to_pylist()]).astype(np.int64)
    return Points(z, w, epsilon / 2 / RADIUS, 1 / (1 + math.exp(-epsilon / 2)))


def _anonymous(make: type[DensityTree] | type[Mondrian]) -> Callable[[People, float, int], ReleasedForm]:
    def made(table: People, k: float, seed: int) -> ReleasedForm:
        model = make(int(k), domain=domain(), grid=256).fit(_arrow(table))
        leaf = model.tree_.route(read_table(_arrow(table), model.plan_).bins)
        nodes, place = np.unique(leaf, return_inverse=True)
        first, last = (bins[nodes] for bins in model.tree_.cells)
        edges = [np.array(g.edges) for g in model.tree_.grids]
        low = np.column_stack([e[first[:, a]] for a, e in enumerate(edges)])
        high = np.column_stack([e[last[:, a] + 1] for a, e in enumerate(edges)])
        counts = np.bincount(place * 2 + table.v, minlength=2 * len(nodes)).astype(np.float64)
        value = np.tile([0.0, 1.0], len(nodes))[:, None]
        lower = np.hstack([np.repeat(low, 2, axis=0), value])
        upper = np.hstack([np.repeat(high, 2, axis=0), value + 1])
        return Cells(lower, upper, counts, np.zeros(len(counts)), row_like=True)

    return made


def _nothing(table: People, value: float, seed: int) -> ReleasedForm:
    """Publish how many rows there are, about."""
    size = round(len(table), -3)
    return Cells(np.zeros((1, 3)), np.array([[1.0, 1.0, 2.0]]), np.array([float(size)]), np.array([1e6]))


METHODS: dict[str, Callable[[People, float, int], ReleasedForm]] = {
    "grid": _grid,
    "privtree": _privtree,
    "local": _local,
    "metric": _metric,
    "density-tree": _anonymous(DensityTree),
    "mondrian": _anonymous(Mondrian),
    "raw": lambda table, value, seed: Raw(table),
    "nothing": _nothing,
}
