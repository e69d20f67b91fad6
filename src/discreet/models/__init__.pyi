from .estimator import Coefficients as Coefficients
from .linear import PrivateLinearRegression as PrivateLinearRegression
from .logistic import PrivateLogisticRegression as PrivateLogisticRegression
from .moments import Moments as Moments
from .pca import PrivatePCA as PrivatePCA

# What users see. The other names are for other rooms.
__all__ = ["Coefficients", "Moments", "PrivateLinearRegression", "PrivateLogisticRegression", "PrivatePCA"]
