from .boxes import refine as refine
from .boxes.consistency import rate_of as rate_of
from .boxes.grid.estimator import GridSynopsis as GridSynopsis
from .boxes.synopsis import BoxSynopsis as BoxSynopsis
from .boxes.tables import HiddenCells as HiddenCells
from .boxes.tables import TreeTable as TreeTable
from .boxes.tree.budgets import OwnBudget as OwnBudget
from .boxes.tree.estimator import TreeSynopsis as TreeSynopsis
from .boxes.tree.own import Boxes as Boxes
from .boxes.tree.own import Cuts as Cuts
from .boxes.tree.own import Offers as Offers
from .boxes.tree.own import OwnPartitioner as OwnPartitioner
from .centers import CenterSynopsis as CenterSynopsis
from .centers import Lifted as Lifted
from .file import CHECKSUM_MARK as CHECKSUM_MARK
from .file import FACTS as FACTS
from .file import check_ending as check_ending
from .file import promise_of as promise_of
from .marginals.estimator import MarginalSynopsis as MarginalSynopsis
from .marginals.measured import Marginals as Marginals
from .marginals.measured import MeasuredMarginal as MeasuredMarginal
from .marginals.synopsis import ModelSynopsis as ModelSynopsis
from .opening import AUTO_ROWS as AUTO_ROWS
from .opening import OpenRelease as OpenRelease
from .opening import bind as bind
from .opening import check_release as check_release
from .opening import method_options as method_options
from .opening import note_columns as note_columns
from .opening import open_for as open_for
from .opening import open_release as open_release
from .opening import table as table
from .publishing import FIXED_POINT as FIXED_POINT
from .publishing import TYPICAL_OFFSET as TYPICAL_OFFSET
from .publishing import count_variance as count_variance
from .publishing import publish as publish
from .queries.answers import Count as Count
from .queries.answers import Figure as Figure
from .queries.groups import GroupTable as GroupTable
from .queries.groups import Marginal as Marginal
from .session import Answer as Answer
from .session import QueryPlan as QueryPlan
from .session import QuerySession as QuerySession
from .synopsis import Synopsis as Synopsis

# What users see. The other names are for other rooms.
__all__ = [
    "Answer",
    "BoxSynopsis",
    "Boxes",
    "CenterSynopsis",
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
    "ModelSynopsis",
    "Offers",
    "OwnBudget",
    "OwnPartitioner",
    "QueryPlan",
    "QuerySession",
    "Synopsis",
    "TreeSynopsis",
    "TreeTable",
    "open_release",
    "refine",
]
