from .central.auto import Choice as Choice
from .central.auto import choose as choose
from .central.how_many import KSuggestion as KSuggestion
from .central.how_many import suggest_k as suggest_k
from .central.lloyd import DPLloyd as DPLloyd
from .central.mixture import MixtureFit as MixtureFit
from .central.mixture import mixture as mixture
from .central.of_synopsis import ClusterResult as ClusterResult
from .central.of_synopsis import cluster_synopsis as cluster_synopsis
from .central.private_kmeans import PrivateKMeans as PrivateKMeans
from .kmeans import WeightedClusters as WeightedClusters
from .kmeans import nearest as nearest
from .kmeans import weighted_kmeans as weighted_kmeans
from .noisy.clusters import NoisyClusters as NoisyClusters
from .noisy.clusters import cluster_after_noise as cluster_after_noise
from .noisy.kmeans import DenoisingKMeans as DenoisingKMeans
from .pipelines import DomainScaler as DomainScaler
from .pipelines import private_pipeline as private_pipeline
from .shapes.density import DensityClusters as DensityClusters
from .shapes.gaussians import GaussianClusters as GaussianClusters
from .shapes.spectral import SpectralClusters as SpectralClusters
from .shapes.ward import WardClusters as WardClusters

# What users see. The other names are for other rooms.
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
