from .elastic.elastic_laplace import ElasticLaplace as ElasticLaplace
from .elastic.law import ElasticLaw as ElasticLaw
from .fitness import fitness_of as fitness_of
from .geometry.laws import IsotropicLaw as IsotropicLaw
from .geometry.scaling import Scaling as Scaling
from .perturber import MISSING_VALUES as MISSING_VALUES
from .perturber import Perturber as Perturber
from .points.nd_laplace import NDLaplace as NDLaplace
from .points.piecewise import Piecewise as Piecewise
from .points.priv_unit import PrivUnit as PrivUnit
from .rows import read_rows as read_rows
from .sphere.globe import great_circle as great_circle
from .sphere.spherical import SphericalLaplace as SphericalLaplace
from .stated import restated as restated
from .trajectory import Trajectory as Trajectory
from .trajectory import TrajectoryReport as TrajectoryReport
from .user_ledger import UserLedger as UserLedger

# What users see. The other names are for other rooms.
__all__ = [
    "ElasticLaplace",
    "ElasticLaw",
    "IsotropicLaw",
    "NDLaplace",
    "Piecewise",
    "PrivUnit",
    "Scaling",
    "SphericalLaplace",
    "Trajectory",
    "TrajectoryReport",
    "UserLedger",
    "great_circle",
]
