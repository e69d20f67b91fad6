"""Anonymous tables: every record hides among k, with diverse and close sensitive values.

>>> import discreet as dc
>>> people = dc.datasets.people(1000)
>>> release = dc.anonymity.DensityTree(k=10, l_diversity=2, domain=people.domain).fit_transform(people.table)
>>> report = dc.anonymity.risk(release.table, ["age", "town", "job", "hours"], ["illness"])
>>> report.k >= 10, report.sensitive["illness"].distinct_l >= 2
(True, True)
"""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
