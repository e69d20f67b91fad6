"""Local privacy: each device randomises its value; the collector only ever holds noisy counters.

>>> import discreet as dc
>>> m = dc.local.DirectResponse(epsilon=2, domain=["yes", "no"])
>>> reports = m.encode(["yes", "no", "yes"])               # on the devices
>>> counts = m.aggregate(reports)                          # at the collector: integers that add up
>>> found = m.estimate(counts)                             # found.count, found.std_error, found.interval(0.95)
>>> len(found), m.guarantee.epsilon
(2, 2.0)
"""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
