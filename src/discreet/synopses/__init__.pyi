from . import refine as refine
from .artifact.answers import Count as Count
from .artifact.answers import Figure as Figure
from .artifact.groups import GroupTable as GroupTable
from .artifact.groups import Marginal as Marginal
from .artifact.lifted import Lifted as Lifted
from .artifact.measured import Marginals as Marginals
from .artifact.measured import MeasuredMarginal as MeasuredMarginal
from .artifact.synopsis import Synopsis as Synopsis
from .artifact.tables import HiddenCells as HiddenCells
from .artifact.tables import TreeTable as TreeTable
from .consistency import rate_of as rate_of
from .grid.estimator import GridSynopsis as GridSynopsis
from .marginals.estimator import MarginalSynopsis as MarginalSynopsis
from .opening import AUTO_ROWS as AUTO_ROWS
from .opening import OpenRelease as OpenRelease
from .opening import bind as bind
from .opening import check_release as check_release
from .opening import note_columns as note_columns
from .opening import open_for as open_for
from .opening import table as table
from .ordered import OrderedMicroaggregation as OrderedMicroaggregation
from .publishing import FIXED_POINT as FIXED_POINT
from .publishing import TYPICAL_OFFSET as TYPICAL_OFFSET
from .publishing import count_variance as count_variance
from .publishing import publish as publish
from .session import Answer as Answer
from .session import QuerySession as QuerySession
from .tree.budgets import OwnBudget as OwnBudget
from .tree.estimator import TreeSynopsis as TreeSynopsis
from .tree.own import Boxes as Boxes
from .tree.own import Cuts as Cuts
from .tree.own import OwnPartitioner as OwnPartitioner

# What users see. The other names are for other rooms.
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
