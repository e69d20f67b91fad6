from .central.auto import choose as choose
from .central.lloyd import DPLloyd as DPLloyd
from .central.of_synopsis import ClusterResult as ClusterResult
from .central.of_synopsis import cluster_synopsis as cluster_synopsis
from .central.private_kmeans import PrivateKMeans as PrivateKMeans
from .how_many.suggest import KSuggestion as KSuggestion
from .how_many.suggest import suggest_k as suggest_k
from .leaves.kmeans import nearest as nearest
from .leaves.kmeans import weighted_kmeans as weighted_kmeans
from .leaves.mixture import fit_mixture as fit_mixture
from .noisy.kmeans import DenoisingKMeans as DenoisingKMeans
from .pipelines import DomainScaler as DomainScaler
from .pipelines import private_pipeline as private_pipeline
from .shapes.density import DensityClusters as DensityClusters
from .shapes.gaussians import GaussianClusters as GaussianClusters

# What users see. The other names are for other rooms.
__all__ = [
    "ClusterResult",
    "DPLloyd",
    "DenoisingKMeans",
    "DensityClusters",
    "GaussianClusters",
    "KSuggestion",
    "PrivateKMeans",
    "cluster_synopsis",
    "fit_mixture",
    "suggest_k",
]
