"""Metric privacy: points near each other look alike. n-dimensional Laplace noise, remapping, and its rivals.

>>> import numpy as np
>>> from discreet import metric
>>> metric.NDLaplace(epsilon=2, radius=0.1, domain=(0, 1)).transform(np.array([[0.2, 0.3]])).shape
(1, 2)
"""

from discreet.metric.comparison import equal_privacy
from discreet.metric.elastic.elastic_laplace import ElasticLaplace
from discreet.metric.elastic.law import ElasticLaw
from discreet.metric.points.column_laplace import ColumnLaplace
from discreet.metric.points.columns import Duchi, Hybrid, Piecewise
from discreet.metric.points.law import IsotropicLaw
from discreet.metric.points.nd_laplace import NDLaplace
from discreet.metric.points.priv_unit import PrivUnit
from discreet.metric.points.resampling import resampled_rate
from discreet.metric.points.scaling import Scaling
from discreet.metric.points.square_wave import SquareWave
from discreet.metric.sphere.globe import great_circle
from discreet.metric.sphere.spherical import SphericalLaplace
from discreet.metric.users.trajectory import Trajectory, TrajectoryReport
from discreet.metric.users.user_ledger import UserLedger

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


def __dir__() -> list[str]:
    return __all__
