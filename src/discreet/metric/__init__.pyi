from .comparison import equal_privacy as equal_privacy
from .elastic.elastic_laplace import ElasticLaplace as ElasticLaplace
from .elastic.law import ElasticLaw as ElasticLaw
from .perturber import MISSING_VALUES as MISSING_VALUES
from .perturber import Perturber as Perturber
from .points.column_laplace import ColumnLaplace as ColumnLaplace
from .points.columns import Duchi as Duchi
from .points.columns import Hybrid as Hybrid
from .points.columns import Piecewise as Piecewise
from .points.law import IsotropicLaw as IsotropicLaw
from .points.nd_laplace import NDLaplace as NDLaplace
from .points.priv_unit import PrivUnit as PrivUnit
from .points.resampling import resampled_rate as resampled_rate
from .points.scaling import Scaling as Scaling
from .points.square_wave import SquareWave as SquareWave
from .rows import read_rows as read_rows
from .sphere.globe import great_circle as great_circle
from .sphere.spherical import SphericalLaplace as SphericalLaplace
from .users.trajectory import Trajectory as Trajectory
from .users.trajectory import TrajectoryReport as TrajectoryReport
from .users.user_ledger import UserLedger as UserLedger

# What users see. The other names are for other rooms.
__all__ = [
    "ColumnLaplace",
    "Duchi",
    "ElasticLaplace",
    "ElasticLaw",
    "Hybrid",
    "IsotropicLaw",
    "NDLaplace",
    "Piecewise",
    "PrivUnit",
    "Scaling",
    "SphericalLaplace",
    "SquareWave",
    "Trajectory",
    "TrajectoryReport",
    "UserLedger",
    "equal_privacy",
    "great_circle",
    "resampled_rate",
]
