"""Evaluation: what a release costs in accuracy. It looks at the raw data, so its figures are not for publication.

>>> from discreet import evaluation
>>> evaluation.nicv([[0.0], [2.0]], [[1.0]])
1.0
"""

from discreet.evaluation.metrics import centroid_index, nicv, nicv_ratio, range_query_error

__all__ = ["centroid_index", "nicv", "nicv_ratio", "range_query_error"]
