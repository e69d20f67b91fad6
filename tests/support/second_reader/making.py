"""Random releases of every room, each by its number: bytes, guarantee, and every sentence printed about them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import discreet as dc
from discreet.errors import DiscreetError
from second_reader.drawing import Draw, Made, finish, write_promised
from second_reader.making_tables import again, anonymous
from second_reader.tables import Rows, declared, rows_of

# ---- the central room


def _central(draw: Draw) -> tuple[Rows, Any, dict[str, Any]]:
    rows = rows_of(draw, people=draw.chance(0.25), most=3)
    domain = declared(draw, rows, bounded=True)
    settings = {"epsilon": draw.epsilon(), "domain": domain, "random_state": draw.state}
    if draw.chance(0.2):
        settings["n_rows"] = int(draw.rng.integers(0, 500))
    if draw.chance(0.03):
        settings["epsilon"] = float("inf")
    if "n_rows" in settings and settings["epsilon"] < 1000:  # no draw of its own: other cases stay what they were
        settings["ledger"] = dc.Account.create(draw.file("patients.account"), dataset="patients", epsilon=1000)
    return rows, draw.form(rows), settings


def _save(draw: Draw, synopsis: Any, rows: Rows, **more: Any) -> Made:
    path = draw.file("s.parquet")
    synopsis.save(path)
    return finish(draw, "synopsis", path, synopsis.guarantee, rows, **more)


def grid(draw: Draw) -> Made:
    rows, data, settings = _central(draw)
    rule = draw.one(2, 3, 5, "rugnik", "eugkm", "adaptive")
    means = draw.one(False, False, True) if rule != "adaptive" else False
    return _save(draw, dc.GridSynopsis(**settings, rule=rule, leaf_means=means).fit(data).synopsis_, rows)


def lazy(draw: Draw) -> Made:
    rows, data, settings = _central(draw)
    made = dc.GridSynopsis(**settings, rule=draw.one(30, 100), max_cells=50, expected_survivors=draw.one(2, 20))
    return _save(draw, made.fit(data).synopsis_, rows)


def tree(draw: Draw) -> Made:
    rows, data, settings = _central(draw)
    partitioner = draw.one("binary", "median", "quantile", "uniform", "privtree", "density")
    shape = {"max_depth": draw.one(1, 2, 3), "budget": draw.one("uniform", "linear", "geometric")}
    made = dc.TreeSynopsis(**settings, partitioner=partitioner, **shape, leaf_means=draw.chance(0.25)).fit(data)
    found = made.synopsis_
    if draw.chance(0.2):
        found = dc.synopses.refine.consistent(found)
    return _save(draw, found, rows)


def kmeans(draw: Draw) -> Made:
    rows, data, settings = _central(draw)
    made = dc.PrivateKMeans(draw.one(1, 3), **settings, synopsis=draw.one("auto", "grid", "tree"), n_init=2).fit(data)
    clusters = {
        "columns": list(made.synopsis_.domain.names),
        "centers": made.cluster_centers_.tolist(),
        "weights": made.cluster_weights_.tolist(),
        "std_errors": made.cluster_std_errors_.tolist(),
        "may_be_noise": made.cluster_may_be_noise_.tolist(),
    }
    return _save(draw, made.synopsis_, rows, extra={"clusters": clusters})


def lloyd(draw: Draw) -> Made:
    rows, data, settings = _central(draw)
    made = dc.DPLloyd(draw.one(1, 3), **settings, n_iter=draw.one("auto", 1)).fit(data)
    path = draw.file("centers.bin")
    path.write_bytes(np.ascontiguousarray(made.cluster_centers_).tobytes())
    return finish(draw, "centers", path, made.guarantee_, rows, words=False)


def moments(draw: Draw) -> Made:
    rows, data, settings = _central(draw)
    settings.pop("n_rows", None)
    made = draw.one(dc.PrivatePCA, dc.PrivateLinearRegression)(**settings).fit(data)
    path = draw.file("moments.bin")
    path.write_bytes(made.moments_.values.tobytes())
    return finish(draw, "moments", path, made.guarantee_, rows, words=False)


# ---- the local room

_LABELS = ["red", "green", "blue", "pink", "grey", "teal", "café"]


def _mechanisms(draw: Draw) -> dict[str, Callable[[], tuple[Any, Any]]]:
    n = int(draw.one(0, 1, 3, 40, 150))
    labels = _LABELS[: int(draw.rng.integers(2, 8))]
    values = [labels[i] for i in draw.rng.integers(0, len(labels), n)]
    numbers, words = draw.rng.random(n), [draw.one("ab", "ba", "abc", "c") for _ in range(n)]
    epsilon, key = draw.epsilon(), int(draw.rng.integers(1000))
    sketch = {"n_hashes": draw.one(2, 8), "width": draw.one(8, 16), "key": key}
    tiny = {"n_hashes": 4, "width": 16, "fragment_hashes": 4, "fragment_width": 16, "alphabet": "abc", "length": 4}
    local = dc.local
    return {
        "direct": lambda: (local.DirectResponse(epsilon, labels), values),
        "direct-many": lambda: (local.DirectResponse(epsilon, 30), draw.rng.integers(0, 30, n)),
        "unary": lambda: (local.UnaryEncoding(epsilon, labels, draw.one("optimised", "symmetric")), values),
        "subset": lambda: (local.SubsetSelection(epsilon, labels), values),
        "hadamard": lambda: (local.HadamardResponse(epsilon, labels), values),
        "projective": lambda: (local.ProjectiveGeometry(epsilon, 7, order=2), draw.rng.integers(0, 7, n)),
        "hashing": lambda: (local.LocalHashing(epsilon, key=key, candidates=labels), values),
        "hashing-pool": lambda: (local.LocalHashing(epsilon, pool=16, key=key), values),
        "sketch": lambda: (local.CountMeanSketch(epsilon, **sketch), values),
        "hadamard-sketch": lambda: (local.HadamardSketch(epsilon, **sketch, skip_zero=draw.chance(0.5)), values),
        "puzzle": lambda: (
            local.FragmentPuzzle(epsilon, draw.epsilon(), key=key, split=draw.one("budget", "users"), **tiny),
            words,
        ),
        "prefix": lambda: (local.PrefixExtension(epsilon, alphabet="abc", length=3, key=key, pool=16), words),
        "mean": lambda: (
            local.MeanResponse(epsilon, 0, 1, method=draw.one("hybrid", "duchi", "piecewise")),
            numbers,
        ),
        "vector": lambda: (local.MeanVector(epsilon, [0, 0], [1, 2]), np.column_stack([numbers, numbers])),
        "wave": lambda: (local.SquareWave(epsilon, 0, 1, buckets=draw.one(8, 16)), numbers),
        "flip": lambda: (local.BitFlip(epsilon, labels, bits=draw.one(1, 2), memoised=draw.chance(0.5)), values),
        "rappor": lambda: (
            local.Rappor(draw.one(0.5, 0.25, 0.3), 0.5, draw.one(0.75, 0.7), bits=16, cohorts=4, key=key),
            values,
        ),
    }


def local(draw: Draw) -> Made:
    kinds = _mechanisms(draw)
    mechanism, values = kinds[draw.one(*kinds)]()
    remembers = type(mechanism).__name__ == "Rappor" or getattr(mechanism, "memoised", False)
    more: dict[str, Any] = {}
    if remembers:
        more = {"users": range(len(values)), "memo": dc.local.Memo(b"a secret of 32 bytes for testing")}
    reports = mechanism.encode(values, rng=draw.state, **more)
    if draw.chance(0.4):
        path = draw.file("r.reports")
        path.write_bytes(reports.to_bytes())
        # Reports carry a mark, not a promise; what is made of them says whether they were seeded.
        return finish(draw, "reports", path, mechanism.aggregate(reports).guarantee, words=False)
    counts = mechanism.aggregate(reports)
    path = draw.file("c.counts")
    counts.save(path)
    estimates = {}
    if type(mechanism).__name__ in ("DirectResponse", "UnaryEncoding"):
        found = mechanism.estimate(counts)
        estimates = {"counts": found.count.tolist(), "errors": found.std_error.tolist(), "n": found.n}
        assert found.guarantee == counts.guarantee
    return finish(draw, "counts", path, counts.guarantee, extra={"estimates": estimates})


# ---- the metric room


def metric(draw: Draw) -> Made:
    numeric = draw.chance(0.6)
    rows = rows_of(draw, people=draw.chance(0.25), most=3, numeric=numeric, sort=True)
    domain = declared(draw, rows)
    names = [c.name for c in domain if c.role not in ("identifier", "person")]
    shared = {"epsilon": draw.epsilon() * draw.one(1, 1, 20), "domain": domain, "random_state": draw.state}
    if any(c.kind == "categorical" for c in domain if c.name in names):
        shared["category_epsilon"] = draw.epsilon()
    radius = draw.one(0.1, 0.25, 1 / 3, round(float(draw.rng.uniform(0.01, 0.9)), 9))
    m = dc.metric
    one = {"attributes": draw.one("all", "sample")}
    kinds: dict[str, Callable[[], Any]] = {
        "nd": lambda: m.NDLaplace(radius=radius, remap=draw.one("none", "clip", "resample", "grid"), **shared),
        "piecewise": lambda: m.Piecewise(**one, **shared),
        "duchi": lambda: m.Piecewise(**one, **shared, method="duchi"),
        "hybrid": lambda: m.Piecewise(**one, **shared, method="hybrid"),
        "wave": lambda: m.Piecewise(**one, **shared, method="square_wave"),
        "unit": lambda: m.PrivUnit(**shared),
    }
    mechanism = kinds[draw.one(*kinds, "nd")]()
    return _perturbed(draw, mechanism, rows, names[0])


def sphere(draw: Draw) -> Made:
    n = int(draw.one(0, 1, 40))
    table = pa.table({"lat": np.sort(draw.rng.uniform(46, 56, n)), "lon": draw.rng.uniform(5, 16, n)})
    rows = Rows(table, {"lat": (47, 55), "lon": (6, 15)})
    mechanism = dc.metric.SphericalLaplace(
        epsilon=draw.epsilon(),
        radius=draw.one(200, 1000, 1234567.891, round(float(draw.rng.uniform(50, 5000)), 4)),
        domain=dc.Domain(rows.columns),
        remap=draw.one("none", "clip", "grid"),
        random_state=draw.state,
    )
    return _perturbed(draw, mechanism, rows, "lat")


def _perturbed(draw: Draw, mechanism: Any, rows: Rows, first: str) -> Made:
    path = draw.file(draw.one("noisy.csv", "noisy.csv", "noisy.parquet", "noisy.xlsx"))
    numeric = all(not isinstance(c, list) and "categories" not in str(c) for c in rows.columns.values())
    data = draw.form(rows, numeric=numeric and not rows.dates)
    more: dict[str, Any] = {}
    if draw.chance(0.2) and rows.table.num_rows:
        users = rows.table["user"] if "user" in rows.table.column_names else range(rows.table.num_rows)
        lifetime = draw.one(10**6, 1234567.5)
        more = {"ledger": dc.metric.UserLedger(lifetime=lifetime), "users": np.asarray(users)}
    if draw.chance(0.6):
        more |= {"csv_dialect": draw.dialect()} if path.suffix == ".csv" else {}
        written = mechanism.transform_file(data, path, order=draw.one("shuffled", "shuffled", "input"), **more)
        return finish(draw, "noisy", path, written.guarantee, rows, sorted_by=first)
    found = mechanism.transform(data, **more)
    names = [c.name for c in mechanism.guarantee_.domain]
    if isinstance(found, np.ndarray):
        table = pa.table(dict(zip(names, found.T, strict=True)))
    else:
        table = found if isinstance(found, pa.Table) else pa.Table.from_pandas(found)
    path = path.with_suffix(".csv")
    guarantee = write_promised(path, table, mechanism.guarantee_)
    return finish(draw, "noisy", path, guarantee, rows, sorted_by=first)


def trajectory(draw: Draw) -> Made:
    users, times = int(draw.one(1, 3, 12)), int(draw.one(1, 4))
    table = {"user": np.repeat(np.arange(users) * 17 + 100_003, times)}
    if draw.chance(0.3):
        mechanism = dc.metric.SphericalLaplace(
            epsilon=draw.epsilon(), radius=draw.one(500, 777.77777), random_state=draw.state
        )
        names, low, high = ("latitude", "longitude"), (-40, -90), (40, 90)
    else:
        mechanism = dc.metric.NDLaplace(
            epsilon=draw.epsilon(), radius=draw.one(0.1, 1 / 3), domain={"x": (0, 1), "y": (0, 2)},
            random_state=draw.state,
        )  # fmt: skip
        names, low, high = ("x", "y"), (0, 0), (1, 2)
    for name, a, b in zip(names, low, high, strict=True):
        table[name] = np.sort(draw.rng.uniform(a, b, users * times))
    budget = round(float(mechanism.epsilon) * draw.one(1, 3, 10) + 0.01, 4)
    plan = dc.metric.Trajectory(mechanism, mechanism.radius * 3, draw.one(0.1, 0.3), budget)
    frame = pd.DataFrame(table, index=[f"name of {i}" for i in range(users * times)])
    found = plan.report(frame[list(names)], users=frame["user"], order=draw.one("shuffled", "input"))
    path = draw.file("walk.csv")
    guarantee = write_promised(path, pa.Table.from_pandas(found.places), found.guarantee)
    rows = Rows(pa.table(table), {}, secrets=("100003",))
    known = {"trajectory": found.trajectory.tolist(), "fresh": found.fresh.tolist(), "tested": found.tested.tolist()}
    return finish(draw, "noisy", path, guarantee, rows, extra=known)


def make(number: int, folder: Path) -> Made:
    """Make the release of that number. Where arguments are refused, others are drawn: a refusal releases nothing."""
    kinds = list(KINDS)
    name = kinds[number % len(kinds)]
    for attempt in range(40):
        draw = Draw(number + 1_000_003 * attempt, folder)
        try:
            made = KINDS[name](draw)
        except DiscreetError:
            continue
        return made
    raise AssertionError(f"release {number} ({name}) was refused forty times")


KINDS: dict[str, Callable[[Draw], Made]] = {
    "grid": grid,
    "anonymous": anonymous,
    "local": local,
    "metric": metric,
    "tree": tree,
    "anonymous-2": anonymous,
    "lazy": lazy,
    "local-2": local,
    "metric-2": metric,
    "anonymous-3": anonymous,
    "kmeans": kmeans,
    "again": again,
    "sphere": sphere,
    "trajectory": trajectory,
    "lloyd": lloyd,
    "moments": moments,
}
