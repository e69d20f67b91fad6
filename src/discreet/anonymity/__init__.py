"""Anonymous tables: every record hides among k, with diverse and close sensitive values.

>>> import discreet as dc
>>> people = dc.datasets.people(1000)
>>> release = dc.anonymity.DensityTree(k=10, l_diversity=2, domain=people.domain).fit_transform(people.table)
>>> report = dc.anonymity.risk(release.table, ["age", "town", "job", "hours"], ["illness"])
>>> report.k >= 10, report.sensitive["illness"].distinct_l >= 2
(True, True)
"""

from discreet.anonymity.density_tree import DensityTree
from discreet.anonymity.disclosure import interval_disclosure, record_linkage
from discreet.anonymity.generalization import Generalization
from discreet.anonymity.hierarchy import Hierarchy
from discreet.anonymity.house import House
from discreet.anonymity.masking import NoiseAddition, RankSwapping
from discreet.anonymity.microaggregation import Microaggregation
from discreet.anonymity.mondrian import Mondrian
from discreet.anonymity.release import Release
from discreet.anonymity.risk import RiskReport, risk
from discreet.anonymity.rules import Rules

__all__ = [
    "DensityTree",
    "Generalization",
    "Hierarchy",
    "House",
    "Microaggregation",
    "Mondrian",
    "NoiseAddition",
    "RankSwapping",
    "Release",
    "RiskReport",
    "Rules",
    "interval_disclosure",
    "record_linkage",
    "risk",
]
