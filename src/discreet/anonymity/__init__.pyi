from discreet.mechanisms import sampling_delta as sampling_delta
from discreet.mechanisms import sampling_epsilon as sampling_epsilon

from .masking.microaggregation import Microaggregation as Microaggregation
from .masking.noise import MultiplicativeNoise as MultiplicativeNoise
from .masking.noise import NoiseAddition as NoiseAddition
from .masking.sampling import Sampling as Sampling
from .masking.swapping import RankSwapping as RankSwapping
from .masking.top_bottom import TopBottomCoding as TopBottomCoding
from .methods.density_tree import DensityTree as DensityTree
from .methods.generalization import Generalization as Generalization
from .methods.k_curve import KCurve as KCurve
from .methods.k_curve import KPoint as KPoint
from .methods.k_curve import k_curve as k_curve
from .methods.mondrian import Mondrian as Mondrian
from .methods.sampled import SampledGeneralization as SampledGeneralization
from .release.disclosure import record_linkage as record_linkage
from .release.history import ReleaseHistory as ReleaseHistory
from .release.release import Release as Release
from .risk.hierarchy import Hierarchy as Hierarchy
from .risk.report import RiskReport as RiskReport
from .risk.report import risk as risk
from .risk.rules import Rules as Rules

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
    "RiskReport",
    "Rules",
    "SampledGeneralization",
    "Sampling",
    "TopBottomCoding",
    "k_curve",
    "record_linkage",
    "risk",
    "sampling_delta",
    "sampling_epsilon",
]
