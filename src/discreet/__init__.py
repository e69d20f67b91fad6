"""Discreet: turn a table of sensitive records into something that may be published.

>>> import discreet as dc
>>> domain = dc.Domain({"age": (0, 120), "income": (0, 1e6), "sex": ["f", "m"]})
>>> ledger = dc.Ledger(epsilon=1.0)
>>> noisy = 1000 + dc.noise.discrete_laplace(scale=1 / ledger.spend("count", 0.25))
>>> float(ledger.remaining)
0.75

Names load on first use, so that ``discreet --help`` does not wait for the numerical libraries.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from discreet._version import __version__
from discreet.errors import MissingStudies

if TYPE_CHECKING:
    from discreet import (
        accounts,
        anonymity,
        clustering,
        datasets,
        engines,
        errors,
        evaluation,
        local,
        metric,
        noise,
        planning,
        reporting,
        synopses,
    )
    from discreet.accounts import Account
    from discreet.clustering import DPLloyd, PrivateKMeans
    from discreet.clustering.pipelines import DomainScaler, private_pipeline
    from discreet.core.domain import Box, Categorical, Date, Domain, Integer, Numeric
    from discreet.core.guarantee import Guarantee, Ledger
    from discreet.core.schema.dialect import Dialect
    from discreet.core.unit import Person
    from discreet.jobs.job import Job
    from discreet.mechanisms import private_bounds, private_categories
    from discreet.synopses import GridSynopsis, MarginalSynopsis, QuerySession, Synopsis, TreeSynopsis

__all__ = [
    "Account",
    "Box",
    "Categorical",
    "DPLloyd",
    "Date",
    "Dialect",
    "Domain",
    "DomainScaler",
    "GridSynopsis",
    "Guarantee",
    "Integer",
    "Job",
    "Ledger",
    "MarginalSynopsis",
    "Numeric",
    "Person",
    "PrivateKMeans",
    "QuerySession",
    "Synopsis",
    "Time",
    "TreeSynopsis",
    "__version__",
    "accounts",
    "anonymity",
    "categories_from",
    "clustering",
    "datasets",
    "engines",
    "errors",
    "evaluation",
    "local",
    "metric",
    "noise",
    "planning",
    "private_bounds",
    "private_categories",
    "private_pipeline",
    "reporting",
    "studies",
    "synopses",
]

_HOME = {
    "Box": "discreet.core.domain",
    "Categorical": "discreet.core.domain",
    "Date": "discreet.core.domain",
    "Dialect": "discreet.core.schema.dialect",
    "Domain": "discreet.core.domain",
    "Integer": "discreet.core.domain",
    "Numeric": "discreet.core.domain",
    "Person": "discreet.core.unit",
    "Time": "discreet.core.domain",
    "categories_from": "discreet.core.lists",
    "Guarantee": "discreet.core.guarantee",
    "Ledger": "discreet.core.guarantee",
    "Account": "discreet.accounts",
    "Job": "discreet.jobs",
    "DomainScaler": "discreet.clustering.pipelines",
    "private_pipeline": "discreet.clustering.pipelines",
    "DPLloyd": "discreet.clustering",
    "private_bounds": "discreet.mechanisms",
    "private_categories": "discreet.mechanisms",
    "PrivateKMeans": "discreet.clustering",
    "GridSynopsis": "discreet.synopses",
    "MarginalSynopsis": "discreet.synopses",
    "QuerySession": "discreet.synopses",
    "Synopsis": "discreet.synopses",
    "TreeSynopsis": "discreet.synopses",
}
_ROOMS = {
    "accounts",
    "anonymity",
    "clustering",
    "datasets",
    "engines",
    "errors",
    "evaluation",
    "local",
    "metric",
    "noise",
    "planning",
    "reporting",
    "synopses",
}


def __getattr__(name: str) -> Any:
    if name == "studies":  # a package of its own
        if find_spec("discreet_studies") is None:
            raise MissingStudies
        return import_module("discreet_studies")
    if name in _ROOMS:
        return import_module(f"discreet.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    where = "" if name.startswith("_") else _elsewhere(name)
    raise AttributeError(f"module 'discreet' has no attribute {name!r}{where}")


def _elsewhere(name: str) -> str:
    """Name the room that has what was looked for here; it may be of an extra that is not installed."""
    for room in sorted(_ROOMS - {"errors"}):
        if name in getattr(import_module(f"discreet.{room}"), "__all__", ()):
            return f"; try discreet.{room}.{name}"
    return ""


def __dir__() -> list[str]:
    return __all__
