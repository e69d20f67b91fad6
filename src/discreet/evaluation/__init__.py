"""Evaluation: what a release costs in accuracy, and what it leaks. It looks at the raw data: not for publication.

>>> from discreet import evaluation
>>> evaluation.nicv([[0.0], [2.0]], [[1.0]])
1.0
"""

from discreet.evaluation.metrics import centroid_index, nicv, nicv_ratio, range_query_error
from discreet.evaluation.rates import AttackResult, Rate
from discreet.evaluation.table_attacks import inference, linkability, singling_out

__all__ = [
    "AttackResult",
    "Rate",
    "centroid_index",
    "inference",
    "linkability",
    "nicv",
    "nicv_ratio",
    "range_query_error",
    "singling_out",
]
