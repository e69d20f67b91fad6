"""Anonymous tables: every record hides among k, with diverse and close sensitive values.

>>> import discreet as dc
>>> people = dc.datasets.people(1000)
>>> release = dc.anonymity.DensityTree(k=10, l_diversity=2, domain=people.domain).fit_transform(people.table)
>>> report = dc.anonymity.risk(release.table, ["age", "town", "job", "hours"], ["illness"])
>>> report.k >= 10, report.sensitive["illness"].distinct_l >= 2
(True, True)
"""

from discreet.anonymity.growth.hierarchy import Hierarchy
from discreet.anonymity.masking.microaggregation import Microaggregation
from discreet.anonymity.masking.multiplicative import MultiplicativeNoise
from discreet.anonymity.masking.noise_and_swapping import NoiseAddition, RankSwapping
from discreet.anonymity.masking.top_bottom import TopBottomCoding
from discreet.anonymity.methods.choice import KCurve, KPoint, suggest_k
from discreet.anonymity.methods.density_tree import DensityTree
from discreet.anonymity.methods.generalization import Generalization
from discreet.anonymity.methods.mondrian import Mondrian
from discreet.anonymity.methods.sampled import SampledGeneralization
from discreet.anonymity.release.history import ReleaseHistory
from discreet.anonymity.release.record import ReleaseRecord
from discreet.anonymity.release.release import Release
from discreet.anonymity.risk.disclosure import interval_disclosure, record_linkage
from discreet.anonymity.risk.report import RiskReport, risk
from discreet.anonymity.risk.rules import Rules
from discreet.mechanisms import sampling_delta, sampling_epsilon

__all__ = [
    "DensityTree",
    "Generalization",
    "Hierarchy",
    "KCurve",
    "KPoint",
    "Microaggregation",
    "Mondrian",
    "MultiplicativeNoise",
    "NoiseAddition",
    "RankSwapping",
    "Release",
    "ReleaseHistory",
    "ReleaseRecord",
    "RiskReport",
    "Rules",
    "SampledGeneralization",
    "TopBottomCoding",
    "interval_disclosure",
    "record_linkage",
    "risk",
    "sampling_delta",
    "sampling_epsilon",
    "suggest_k",
]


def __dir__() -> list[str]:
    return __all__
