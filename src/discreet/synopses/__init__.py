"""Synopses: the artifacts of the central model, small tables of noisy counts that may be published.

>>> import discreet as dc
>>> from discreet.synopses import BoxSynopsis
>>> s = BoxSynopsis(dc.Domain.box(0, 1), lower=[[0.0], [0.5]], upper=[[0.5], [1.0]], weights=[7, 3],
...                 variances=[1.0, 1.0], guarantee=dc.Guarantee("central"))
>>> s.count(x0=(0.25, 1.0))
Count(6.5 ± 4.15: noise 1.12, non-uniformity 4)
"""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
