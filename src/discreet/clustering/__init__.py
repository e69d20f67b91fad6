"""Private clustering: k-means on a synopsis, and the interactive method it is measured against.

>>> from discreet.clustering import weighted_kmeans
>>> weighted_kmeans([[0.0], [1.0], [9.0]], [1, 1, 2], 2).centers.tolist()
[[0.5], [9.0]]
"""

from discreet.clustering.central.auto import Choice, choose
from discreet.clustering.central.how_many import KSuggestion, suggest_k
from discreet.clustering.central.lloyd import DPLloyd
from discreet.clustering.central.mixture import MixtureFit, mixture
from discreet.clustering.central.of_synopsis import ClusterResult, cluster_synopsis
from discreet.clustering.central.private_kmeans import PrivateKMeans
from discreet.clustering.kmeans import WeightedClusters, weighted_kmeans
from discreet.clustering.noisy.clusters import NoisyClusters, cluster_after_noise
from discreet.clustering.noisy.kmeans import DenoisingKMeans
from discreet.clustering.shapes.density import DensityClusters
from discreet.clustering.shapes.gaussians import GaussianClusters
from discreet.clustering.shapes.spectral import SpectralClusters
from discreet.clustering.shapes.ward import WardClusters

__all__ = [
    "Choice",
    "ClusterResult",
    "DPLloyd",
    "DenoisingKMeans",
    "DensityClusters",
    "GaussianClusters",
    "KSuggestion",
    "MixtureFit",
    "NoisyClusters",
    "PrivateKMeans",
    "SpectralClusters",
    "WardClusters",
    "WeightedClusters",
    "choose",
    "cluster_after_noise",
    "cluster_synopsis",
    "mixture",
    "suggest_k",
    "weighted_kmeans",
]


def __dir__() -> list[str]:
    return __all__
