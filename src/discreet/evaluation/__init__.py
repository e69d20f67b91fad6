"""Evaluation: what a release costs in accuracy, and what it reveals. It looks at the raw data: do not publish it.

>>> from discreet import evaluation
>>> evaluation.nicv([[0.0], [2.0]], [[1.0]])
1.0
"""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
