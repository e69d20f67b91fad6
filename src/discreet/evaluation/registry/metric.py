"""The audited mechanisms of `discreet.metric`: one row, perturbed anew in every run.

Neighbours are two places of that row. Entries called "bits" audit the last bits of the coordinates.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from discreet import metric
from discreet.core import Domain, later
from discreet.evaluation.audits.bit_patterns import BitPatterns
from discreet.evaluation.audits.neighbours import NeighbourPair
from discreet.evaluation.registry.mechanisms import AuditedMechanism

base = later("sklearn.base")

_RADIUS, _METRES = 0.125, 200.0
_AROUND = {"latitude": (47.99, 48.01), "longitude": (1.99, 2.01)}
_PLACES = (np.array([[47.995, 1.995], [48.0, 2.0], [48.005, 2.005]]), np.array([1.0, 2.0, 1.0]))
_PRIOR = (np.array([[0.25, 0.25], [0.5, 0.5], [0.75, 0.75]]), np.array([1.0, 2.0, 1.0]))


def entries() -> Iterator[AuditedMechanism]:
    near = (
        NeighbourPair("points a radius apart", (0.5, 0.5), (0.5 + _RADIUS, 0.5)),
        NeighbourPair("at the edge, across the box's corner", (0.0, 0.0), (_RADIUS / math.sqrt(2),) * 2),
    )
    for remap in ("none", "clip", "resample", "grid", "bayes"):
        options: dict[str, Any] = {"prior": _PRIOR} if remap == "bayes" else {}
        law = metric.NDLaplace(1, _RADIUS, (0, 1), remap, **options)
        claim = 2.0 if remap == "resample" else 1.0
        yield AuditedMechanism(f"metric.NDLaplace/{remap}", partial(_perturbed, law), near, claim, trials=10_000)
    yield from _bits("metric.NDLaplace/bits", metric.NDLaplace(1, _RADIUS, (0, 1)), near[:1])
    yield from _one_dimension()
    yield from _sphere()
    yield from _elastic()
    yield from _local()
    yield from _trajectories()


def _one_dimension() -> Iterator[AuditedMechanism]:
    """Yield the line, where drawing again until the point fits costs nearly twice the ε."""
    edge = (NeighbourPair("at the edge and a radius inside", (0.0,), (_RADIUS,)),)
    law = metric.NDLaplace(1, _RADIUS, (0, 1), "resample")
    yield AuditedMechanism("metric.NDLaplace/resample on a line", partial(_perturbed, law), edge, 2.0, trials=10_000)
    law = metric.NDLaplace(1, _RADIUS, (0, 1))
    yield AuditedMechanism("metric.NDLaplace/line", partial(_perturbed, law), edge, 1.0, trials=10_000, tight=True)


def _sphere() -> Iterator[AuditedMechanism]:
    degree = math.degrees(_METRES / 6371008.8)
    places = (
        NeighbourPair("places a radius apart", (48.0, 2.0), (48.0 + degree, 2.0)),
        NeighbourPair("on both sides of the date line", (0.0, -180.0), (0.0, 180.0 - degree)),
        NeighbourPair("across the pole", (90.0 - degree / 2, 0.0), (90.0 - degree / 2, 180.0)),
    )
    for remap in ("none", "grid", "bayes"):
        options: dict[str, Any] = {"prior": _PLACES} if remap == "bayes" else {}
        law = metric.SphericalLaplace(1, _METRES, None if remap == "none" else _AROUND, remap, **options)
        pairs = places if remap == "none" else places[:1]  # the others lie outside of the box of the grid
        yield AuditedMechanism(f"metric.SphericalLaplace/{remap}", partial(_perturbed, law), pairs, 1.0, trials=10_000)
    yield from _bits("metric.SphericalLaplace/bits", metric.SphericalLaplace(1, _METRES), places[:1])


def _elastic() -> Iterator[AuditedMechanism]:
    """Yield elastic noise on a town and the country around it."""
    people = np.ones((8, 8))
    people[2:5, 2:5] = 100.0
    law = metric.ElasticLaplace(1, 100, Domain.box([0, 0], [1, 1]), density=people, cells=64)
    town, country = np.array([[0.40625, 0.40625], [0.46875, 0.40625]]), np.array([[0.9, 0.9], [0.9, 0.1]])
    for words, pair in (("two streets of a town", town), ("two places in the country", country)):
        claim = float(law.law.distance(pair[:1], pair[1:])[0])
        pairs = (NeighbourPair(words, tuple(pair[0]), tuple(pair[1])),)
        yield AuditedMechanism(
            f"metric.ElasticLaplace/{words.split()[-1]}", partial(_perturbed, law), pairs, claim, trials=10_000
        )


def _local() -> Iterator[AuditedMechanism]:
    corners = (
        NeighbourPair("opposite corners", (0.0, 0.0), (1.0, 1.0)),
        NeighbourPair("a corner and the middle", (0.0, 0.0), (0.5, 0.5)),
        NeighbourPair("a corner and a row out of bounds", (0.0, 0.0), (1e9, -1e9)),
    )
    laws: dict[str, Any] = {
        "Piecewise": metric.Piecewise(1, (0, 1)),
        "Piecewise/sample": metric.Piecewise(1, (0, 1), "sample"),
        "Piecewise/duchi": metric.Piecewise(1, (0, 1), method="duchi"),
        "Piecewise/hybrid": metric.Piecewise(1, (0, 1), method="hybrid"),
        "Piecewise/hybrid, sample": metric.Piecewise(1, (0, 1), "sample", method="hybrid"),
        "Piecewise/square wave": metric.Piecewise(1, (0, 1), method="square_wave"),
        "PrivUnit": metric.PrivUnit(1, (0, 1)),
    }
    for name, law in laws.items():
        yield AuditedMechanism(f"metric.{name}", partial(_perturbed, law), corners, 1.0, trials=10_000)
    for name in ("Piecewise", "PrivUnit"):
        yield from _bits(f"metric.{name}/bits", laws[name], corners[:1])


def _trajectories() -> Iterator[AuditedMechanism]:
    still, moved = ((0.5, 0.5),) * 4, ((0.5, 0.5), (0.5, 0.5 + _RADIUS), (0.5 + _RADIUS, 0.5), (0.5, 0.5))
    there = ((0.5 + _RADIUS, 0.5),) * 4
    pairs = (
        NeighbourPair("a radius apart at all times", still, there),
        NeighbourPair("at rest against moving", still, moved),
    )
    law = metric.NDLaplace(0.5, _RADIUS, (0, 1))
    yield AuditedMechanism("metric.Trajectory", partial(_walks, law), pairs, 2.0, trials=4000)


def _bits(name: str, law: Any, pairs: tuple[NeighbourPair, ...]) -> Iterator[AuditedMechanism]:
    yield AuditedMechanism(name, partial(_perturbed, law), pairs, 1.0, features=BitPatterns(2), trials=10_000)


def _perturbed(law: Any, row: Any, rng: Any, size: int) -> Any:
    return base.clone(law).set_params(random_state=rng).transform(np.tile(row, (size, 1)))


def _walks(law: Any, walk: Any, rng: Any, size: int) -> Any:
    """Report one trajectory for ``size`` users."""
    plan = metric.Trajectory(base.clone(law).set_params(random_state=rng), threshold=0.5, test_epsilon=0.25, budget=2)
    report = plan.report(np.tile(np.asarray(walk), (size, 1, 1)))
    seen = np.column_stack([report.fresh, report.tested])
    return np.column_stack([report.places.reshape(size, -1), seen.astype(np.float64)])
