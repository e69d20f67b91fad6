"""Synopses: the artifacts of the central model, small tables of noisy counts that may be published.

>>> import discreet as dc
>>> from discreet.synopses import Synopsis
>>> s = Synopsis(dc.Domain.box(0, 1), lower=[[0.0], [0.5]], upper=[[0.5], [1.0]], weights=[7, 3], variances=[1.0, 1.0],
...              guarantee=dc.Guarantee("central"))
>>> s.count(x0=(0.25, 1.0))
Count(6.5 ± 4.15: noise 1.12, evenness 4)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.synopses.artifact.answers import Count, Figure
from discreet.synopses.artifact.groups import GroupTable, Marginal
from discreet.synopses.artifact.lifted import Lifted
from discreet.synopses.artifact.measured import Marginals, MeasuredMarginal
from discreet.synopses.artifact.synopsis import Synopsis
from discreet.synopses.artifact.tables import HiddenCells, TreeTable

if TYPE_CHECKING:
    from discreet.synopses import refine
    from discreet.synopses.grid.estimator import GridSynopsis
    from discreet.synopses.marginals.estimator import MarginalSynopsis
    from discreet.synopses.ordered import OrderedMicroaggregation
    from discreet.synopses.session import Answer, QuerySession
    from discreet.synopses.tree.budgets import OwnBudget
    from discreet.synopses.tree.estimator import TreeSynopsis
    from discreet.synopses.tree.own import Boxes, Cuts, OwnPartitioner

__all__ = [
    "Answer",
    "Boxes",
    "Count",
    "Cuts",
    "Figure",
    "GridSynopsis",
    "GroupTable",
    "HiddenCells",
    "Lifted",
    "Marginal",
    "MarginalSynopsis",
    "Marginals",
    "MeasuredMarginal",
    "OrderedMicroaggregation",
    "OwnBudget",
    "OwnPartitioner",
    "QuerySession",
    "Synopsis",
    "TreeSynopsis",
    "TreeTable",
    "refine",
]

#: Loaded on first use: reading a synopsis does not need the methods that make one.
_HOME = {
    "Answer": "discreet.synopses.session",
    "Boxes": "discreet.synopses.tree.own",
    "Cuts": "discreet.synopses.tree.own",
    "GridSynopsis": "discreet.synopses.grid.estimator",
    "MarginalSynopsis": "discreet.synopses.marginals.estimator",
    "OrderedMicroaggregation": "discreet.synopses.ordered",
    "OwnBudget": "discreet.synopses.tree.budgets",
    "OwnPartitioner": "discreet.synopses.tree.own",
    "QuerySession": "discreet.synopses.session",
    "TreeSynopsis": "discreet.synopses.tree.estimator",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name == "refine":
        return import_module("discreet.synopses.refine")
    raise AttributeError(f"module 'discreet.synopses' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
