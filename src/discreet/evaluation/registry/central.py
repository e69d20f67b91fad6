"""The audited mechanisms of `discreet.synopses` and `discreet.clustering`, on few rows and unusual neighbours."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet import anonymity
from discreet.clustering import DPLloyd, PrivateKMeans
from discreet.core import Domain, FloatArray, Guarantee, Ledger, Person, epsilon_to_zcdp
from discreet.errors import DiscreetWarning
from discreet.evaluation.audits.differing import differing
from discreet.evaluation.audits.features import OneByOne
from discreet.evaluation.audits.neighbours import NeighbourPair, neighbour_pairs
from discreet.evaluation.audits.release_features import LeafFeatures
from discreet.evaluation.registry.mechanisms import AuditedMechanism
from discreet.synopses import BoxSynopsis, GridSynopsis, MarginalSynopsis, QuerySession, TreeSynopsis

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
    """Yield them."""
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
        method = GridSynopsis(epsilon=_EPSILON, domain=plane, **settings)
        yield _entry(f"synopses.GridSynopsis/{name}", method, plane)
    for partitioner in ("binary", "median", "quantile", "uniform", "privtree", "density"):
        method = TreeSynopsis(epsilon=_EPSILON, domain=plane, partitioner=partitioner, max_depth=2, bits=4)
        yield _entry(f"synopses.TreeSynopsis/{partitioner}", method, plane)
    for name, levels in {"mixed": ["median", "binary"], "above privtree": ["median", "privtree"]}.items():
        method = TreeSynopsis(epsilon=_EPSILON, domain=plane, partitioner=levels, max_depth=2, bits=4)
        yield _entry(f"synopses.TreeSynopsis/{name}", method, plane)
    method = TreeSynopsis(epsilon=_EPSILON, domain=line, partitioner="binary", max_depth=2, leaf_means=True)
    yield _entry("synopses.TreeSynopsis/leaf means", method, line)
    crosses = Domain({"a": {"categories": [0, 1]}, "b": [0, 1, 2]})
    relaxed = epsilon_to_zcdp(_EPSILON, _DELTA)
    prices: dict[str, Any] = {"pure": {}, "concentrated": {"rho": relaxed, "delta": _DELTA}}
    for name, settings in prices.items():
        method = MarginalSynopsis(_EPSILON, crosses, **settings)
        delta = _DELTA if settings else 0.0
        yield AuditedMechanism(
            f"synopses.MarginalSynopsis/{name}", _Fit(method), _CROSSED, _EPSILON, delta, batch=False,
            features=MeasuredCounts(), trials=_QUICK,
        )  # fmt: skip
    for synopsis in ("auto", "grid", "tree"):
        method = PrivateKMeans(2, epsilon=_EPSILON, domain=line, synopsis=synopsis, n_init=1)
        yield _entry(f"clustering.PrivateKMeans/{synopsis}", method, line)
    solid = Domain.box([0.0] * 3, 1.0)
    for name, settings in prices.items():
        method = PrivateKMeans(2, epsilon=_EPSILON, domain=solid, synopsis="lift", n_init=1, **settings)
        delta = _DELTA if settings else 0.0
        yield AuditedMechanism(
            f"clustering.PrivateKMeans/lift, {name}", _Fit(method), _pairs(solid), _EPSILON, delta, batch=False,
            trials=_QUICK,
        )  # fmt: skip
    yield _entry("clustering.DPLloyd", DPLloyd(2, epsilon=_EPSILON, domain=line), line)
    yield from _persons()
    yield from _questions()
    yield _drawn_classes()


def _persons() -> Iterator[AuditedMechanism]:
    """Yield methods whose unit is a person: neighbours differ by a person with more rows than are used."""
    domain = Domain({"who": {"role": "person"}, "x": (0.0, 1.0)}, unit=Person("who", rows=3))
    methods = {
        "synopses.GridSynopsis/persons": GridSynopsis(_EPSILON, domain, 2, n_rows=10, leaf_means=False),
        "synopses.GridSynopsis/private bound": GridSynopsis(
            _EPSILON, domain.with_unit(Person("who", rows="auto")), 2, n_rows=10, leaf_means=False
        ),
        "synopses.TreeSynopsis/persons": TreeSynopsis(_EPSILON, domain, max_depth=2),
        "synopses.TreeSynopsis/persons, median": TreeSynopsis(
            _EPSILON, domain, partitioner="median", max_depth=1, bits=4
        ),
        "clustering.PrivateKMeans/persons": PrivateKMeans(2, _EPSILON, domain, synopsis="grid", n_init=1),
        "clustering.DPLloyd/persons": DPLloyd(2, _EPSILON, domain),
    }
    axes, pairs = domain.select(["x"]), person_pairs()
    without = tuple(NeighbourPair(p.name, p.data[:, 1:], p.neighbour[:, 1:]) for p in pairs)
    for name, method in methods.items():
        features = None if name.startswith("clustering") else few_leaves(axes, without)
        yield AuditedMechanism(name, _Fit(method), pairs, _EPSILON, batch=False, features=features, trials=_QUICK)


def _questions() -> Iterator[AuditedMechanism]:
    """Yield the questions of a session, one by one."""
    line = Domain.box(-1.0, 1.0)
    asked: dict[str, Any] = {
        "count": lambda s: s.count(epsilon=_EPSILON),
        "sum": lambda s: s.sum("x0", epsilon=_EPSILON),
        "mean": lambda s: s.mean("x0", epsilon=_EPSILON),
        "histogram": lambda s: s.histogram("x0", 2, epsilon=_EPSILON),
        "quantile": lambda s: s.quantile("x0", epsilon=_EPSILON),
    }
    for name, ask in asked.items():
        yield AuditedMechanism(
            f"synopses.QuerySession/{name}", _Asked(ask, line), _pairs(line), _EPSILON, batch=False, trials=_QUICK
        )


def _drawn_classes() -> AuditedMechanism:
    """Return sampling before k-anonymity, with classes of few rows."""
    k, chance, delta = 3, 0.3, 0.03
    pairs = tuple(
        NeighbourPair(f"{n} equal rows, one more", np.zeros((n, 1)), np.zeros((n + 1, 1))) for n in (k, k - 1, 4, 12)
    )
    epsilon = anonymity.sampling_epsilon(k, chance, delta)
    return AuditedMechanism(
        "anonymity.SampledGeneralization", _Drawn(k, chance, delta), pairs, epsilon, delta, batch=False, trials=_QUICK
    )


class _Drawn:
    """Numbers of rows shown of each of two classes."""

    def __init__(self, k: int, chance: float, delta: float) -> None:
        self.settings = (k, chance, delta)

    def __call__(self, rows: Any, rng: Any) -> Any:
        domain = Domain.box(-1.0, 1.0)
        method = anonymity.SampledGeneralization(*self.settings, domain=domain, grid=2, levels={}, random_state=rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscreetWarning)  # a small delta would show nothing in so few trials
            shown = method.fit_transform(np.asarray(rows)).table[0].to_pylist()
        return np.array([shown.count("[-1, 0)"), shown.count("[0, 1]")], np.float64)


class _Asked:
    """One question of a new session."""

    def __init__(self, ask: Any, domain: Domain) -> None:
        self.ask, self.domain = ask, domain

    def __call__(self, rows: Any, rng: Any) -> Any:
        ledger = Ledger(epsilon=_EPSILON)
        session = QuerySession(np.asarray(rows), ledger, domain=self.domain, random_state=rng)
        return np.atleast_1d(self.ask(session).value)


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
    return AuditedMechanism(name, _Fit(method), pairs, _EPSILON, batch=False, features=features, trials=_QUICK)


def _pairs(domain: Domain) -> tuple[NeighbourPair, ...]:
    found = {pair.name: pair for pair in neighbour_pairs(domain, rows=8)}
    return tuple(found[name] for name in _CHOSEN)


class _Fit:
    """A method fitted anew; the fitted object is the release."""

    def __init__(self, method: Any) -> None:
        self.method = method

    def __call__(self, rows: Any, rng: Any) -> Any:
        method = self.method.__class__(**{**self.method.get_params(deep=False), "random_state": rng})
        fitted = method.fit(np.asarray(rows))
        if hasattr(fitted, "means_"):
            return fitted.means_.ravel()
        return fitted if hasattr(fitted, "cluster_centers_") else fitted.synopsis_


class MeasuredCounts(OneByOne):
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
    whole = BoxSynopsis(domain, **bounds, weights=[0.0], variances=[1.0], guarantee=Guarantee("central"))
    return LeafFeatures(whole, list(records.values()), levels=4, leaves=12)
