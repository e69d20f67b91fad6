"""The audited mechanisms of synopses, clustering and models, on few rows and unusual neighbours."""

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from discreet import anonymity, synopses
from discreet.clustering import DPLloyd, PrivateKMeans
from discreet.core import Domain, FloatArray, Guarantee, Integer, Ledger, Person, epsilon_to_zcdp, later
from discreet.errors import DiscreetWarning
from discreet.evaluation.audits.features import FeatureMap
from discreet.evaluation.audits.neighbours import NeighbourPair, neighbour_pairs
from discreet.evaluation.audits.release_features import LeafFeatures, differing
from discreet.evaluation.registry.mechanisms import AuditedMechanism
from discreet.models import PrivateLinearRegression, PrivateLogisticRegression, PrivatePCA

base = later("sklearn.base")

#: Neighbours that every method is run on.
_CHOSEN = (
    "no one against one row in the middle",
    "equal rows, one just below",
    "half at each end, one more at the upper end",
    "spread-out rows, one with missing values",
    "no one against one row of missing values",
)
_EPSILON = 1.0
_DELTA = 1e-3
_QUICK = 100
#: Rows of two columns of categories: no one against somebody, and somebody who makes a rare cell less so.
_CROSSED = (
    NeighbourPair("no one against one row", np.zeros((0, 2)), np.array([[1.0, 2.0]])),
    NeighbourPair("equal rows, one in another cell", np.zeros((8, 2)), np.array([[0.0, 0.0]] * 8 + [[1.0, 1.0]])),
    NeighbourPair("equal rows, one more", np.zeros((8, 2)), np.zeros((9, 2))),
)


def entries() -> Iterator[AuditedMechanism]:
    plane, line = Domain.box([0.0, 0.0], [1.0, 1.0]), Domain.box(0.0, 1.0)
    grids: dict[str, Any] = {
        "rugnik": {"rule": "rugnik", "n_clusters": 2},
        "eugkm": {"rule": "eugkm", "n_clusters": 2},
        "adaptive": {"rule": "adaptive"},
        "fixed": {"rule": 2},
        "hidden cells": {"rule": 64, "max_cells": 64, "expected_survivors": 3},
        "leaf means": {"rule": 2, "leaf_means": True},
        "declared rows": {"rule": 2, "n_rows": 10},
    }
    for name, settings in grids.items():
        method: Any = synopses.GridSynopsis(epsilon=_EPSILON, domain=plane, **settings)
        yield _entry(f"synopses.GridSynopsis/{name}", method, plane)
    trees: dict[str, Any] = {name: name for name in ("binary", "median", "quantile", "uniform", "privtree", "density")}
    trees |= {
        "mixed": ["median", "binary"],
        "grids below": ["binary", "uniform"],
        "above privtree": ["median", "privtree"],
    }
    for name, partitioner in trees.items():
        method = synopses.TreeSynopsis(epsilon=_EPSILON, domain=plane, partitioner=partitioner, max_depth=2, bits=4)
        yield _entry(f"synopses.TreeSynopsis/{name}", method, plane)
    method = synopses.TreeSynopsis(epsilon=_EPSILON, domain=line, partitioner="binary", max_depth=2, leaf_means=True)
    yield _entry("synopses.TreeSynopsis/leaf means", method, line)
    crosses = Domain({"a": {"categories": [0, 1]}, "b": [0, 1, 2]})
    relaxed = epsilon_to_zcdp(_EPSILON, _DELTA)
    prices: dict[str, Any] = {"pure": {}, "concentrated": {"rho": relaxed, "delta": _DELTA}}
    for name, settings in prices.items():
        method = synopses.MarginalSynopsis(_EPSILON, crosses, **settings)
        delta = _DELTA if settings else 0.0
        yield _few(f"synopses.MarginalSynopsis/{name}", partial(_fit, method), _CROSSED, delta, MeasuredCounts())
    for synopsis in ("auto", "grid", "tree"):
        method = PrivateKMeans(2, epsilon=_EPSILON, domain=line, synopsis=synopsis, n_init=1)
        yield _entry(f"clustering.PrivateKMeans/{synopsis}", method, line)
    solid = Domain.box([0.0] * 3, 1.0)
    for name, settings in prices.items():
        method = PrivateKMeans(2, epsilon=_EPSILON, domain=solid, synopsis="lift", n_init=1, **settings)
        delta = _DELTA if settings else 0.0
        yield _few(f"clustering.PrivateKMeans/lift, {name}", partial(_fit, method), _pairs(solid), delta)
    yield _entry("clustering.DPLloyd", DPLloyd(2, epsilon=_EPSILON, domain=line), line)
    crossed = Domain({"a": (0.0, 1.0), "b": {"categories": [0, 1]}})
    for model, given in ((PrivateLinearRegression, plane), (PrivateLogisticRegression, crossed), (PrivatePCA, plane)):
        name, pairs = f"models.{model.__name__}", _CROSSED if given is crossed else _pairs(plane)
        yield _few(name, partial(_published, model(_EPSILON, given)), pairs)
    yield from _persons()
    yield from _questions()
    yield _drawn_classes()


def _persons() -> Iterator[AuditedMechanism]:
    """Yield methods whose unit is a person: neighbours differ by a person with more rows than are used."""
    domain = Domain({"who": {"role": "person"}, "x": (0.0, 1.0)}, unit=Person("who", rows=3))
    methods = {
        "synopses.GridSynopsis/persons": synopses.GridSynopsis(_EPSILON, domain, 2, n_rows=10, leaf_means=False),
        "synopses.GridSynopsis/private bound": synopses.GridSynopsis(
            _EPSILON, domain.with_unit(Person("who", rows="auto")), 2, n_rows=10, leaf_means=False
        ),
        "synopses.TreeSynopsis/persons": synopses.TreeSynopsis(_EPSILON, domain, max_depth=2),
        "synopses.TreeSynopsis/persons, median": synopses.TreeSynopsis(
            _EPSILON, domain, partitioner="median", max_depth=1, bits=4
        ),
        "clustering.PrivateKMeans/persons": PrivateKMeans(2, _EPSILON, domain, synopsis="grid", n_init=1),
        "clustering.DPLloyd/persons": DPLloyd(2, _EPSILON, domain),
    }
    axes, pairs = domain.select(["x"]), person_pairs()
    without = tuple(NeighbourPair(p.name, p.data[:, 1:], p.neighbour[:, 1:]) for p in pairs)
    for name, method in methods.items():
        features = None if name.startswith("clustering") else few_leaves(axes, without)
        yield _few(name, partial(_fit, method), pairs, features=features)


def _questions() -> Iterator[AuditedMechanism]:
    line = Domain.box(-1.0, 1.0)
    asked: dict[str, Any] = {"count": (), "histogram": ("x0", 2)}
    asked |= dict.fromkeys(("sum", "mean", "variance", "quantile", "quantiles"), ("x0",))
    for name, given in asked.items():
        yield _few(f"synopses.QuerySession/{name}", partial(_asked, name, given, line), _pairs(line))
    counted, grouped = Domain({"x0": Integer(-1, 1)}), {"by": "x0", "bins": [-1, 0, 1]}
    ask = partial(_asked, "distinct", ("x0",), counted)
    yield _few("synopses.QuerySession/distinct", ask, _pairs(line))
    yield _few("synopses.QuerySession/groups", partial(_asked, "mean", ("x0",), line, **grouped), _pairs(line))


def _drawn_classes() -> AuditedMechanism:
    """Return sampling before k-anonymity, with classes of few rows."""
    k, chance, delta = 3, 0.3, 0.03
    pairs = tuple(
        NeighbourPair(f"{n} equal rows, one more", np.zeros((n, 1)), np.zeros((n + 1, 1))) for n in (k, k - 1, 4, 12)
    )
    epsilon = anonymity.sampling_epsilon(k, chance, delta)
    return _few("anonymity.SampledGeneralization", partial(_drawn, (k, chance, delta)), pairs, delta, epsilon=epsilon)


def _drawn(settings: tuple[int, float, float], rows: Any, rng: Any) -> Any:
    domain = Domain.box(-1.0, 1.0)
    method = anonymity.SampledGeneralization(*settings, domain=domain, grid=2, levels={}, random_state=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)  # a small delta would show nothing in so few trials
        shown = method.fit_transform(np.asarray(rows)).table[0].to_pylist()
    return np.array([shown.count("[-1, 0)"), shown.count("[0, 1]")], np.float64)


def _asked(question: str, arguments: tuple[Any, ...], domain: Domain, rows: Any, rng: Any, **how: Any) -> Any:
    session = synopses.QuerySession(np.asarray(rows), Ledger(epsilon=_EPSILON), domain=domain, random_state=rng)
    return np.atleast_1d(getattr(session, question)(*arguments, epsilon=_EPSILON, **how).value)


def person_pairs() -> tuple[NeighbourPair, ...]:
    """Return tables of person and number, with and without a person who has many rows."""
    empty = np.empty((0, 2))
    crowd = np.column_stack([np.repeat(np.arange(4.0), 6), np.tile([0.1, 0.9, 0.9, 0.1, 0.9, 0.1], 4)])
    canary = np.column_stack([np.full(40, 9.0), np.full(40, 0.2)])
    return (
        NeighbourPair("no one against a person with as many rows as are used", empty, canary[:3]),
        NeighbourPair("no one against a person with many rows", empty, canary),
        NeighbourPair("a crowd, and before it a person with many rows", crowd, np.vstack([canary, crowd])),
    )


def _entry(name: str, method: Any, domain: Domain) -> AuditedMechanism:
    pairs = _pairs(domain)
    features = None if name.startswith("clustering") else few_leaves(domain, pairs)
    return _few(name, partial(_fit, method), pairs, features=features)


def _few(
    name: str, run: Any, pairs: tuple[NeighbourPair, ...], delta: float = 0.0, features: Any = None,
    epsilon: float = _EPSILON,
) -> AuditedMechanism:  # fmt: skip
    return AuditedMechanism(name, run, pairs, epsilon, delta, batch=False, features=features, trials=_QUICK)


def _pairs(domain: Domain) -> tuple[NeighbourPair, ...]:
    found = {pair.name: pair for pair in neighbour_pairs(domain, rows=8)}
    return tuple(found[name] for name in _CHOSEN)


def _fit(method: Any, rows: Any, rng: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)  # so few rows look like none
        fitted = base.clone(method).set_params(random_state=rng).fit(np.asarray(rows))
    return fitted if hasattr(fitted, "cluster_centers_") else fitted.synopsis_


def _published(method: Any, rows: Any, rng: Any) -> FloatArray:
    fitted = base.clone(method).set_params(random_state=rng).fit(np.asarray(rows))
    return np.append(fitted.moments_.values, getattr(fitted, "gradient_", ()))


class MeasuredCounts(FeatureMap):
    """Features of a small marginal synopsis: total, counts of single columns, scores, and the first pair."""

    _PAIR = 6
    names = ("total", *(f"count {i}" for i in range(5)), "score", *(f"pair {i}" for i in range(_PAIR)))

    def __call__(self, release: Any) -> FloatArray:
        found = release.measured
        pair = found.measured[2].counts[: self._PAIR]
        score = found.scores[0][1] if found.scores else 0.0
        first = (*found.measured[0].counts, *found.measured[1].counts)
        return np.array([release.total, *first, score, *pair, *[0.0] * (self._PAIR - len(pair))])


def few_leaves(domain: Domain, pairs: tuple[NeighbourPair, ...]) -> LeafFeatures:
    """Return the features of a small synopsis: the places of differing records, few levels and the first leaves."""
    records = {repr(r): r for p in pairs for side in differing(p.data, p.neighbour) for r in side}
    bounds: dict[str, Any] = {"lower": domain.low[None], "upper": domain.high[None]}
    whole = synopses.BoxSynopsis(domain, **bounds, weights=[0.0], variances=[1.0], guarantee=Guarantee("central"))
    return LeafFeatures(whole, list(records.values()), levels=4, leaves=12)
