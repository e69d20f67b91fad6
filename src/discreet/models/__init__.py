"""Private models from noisy moments: linear and logistic regression, principal components.

One pass adds up the products of all pairs of columns, one draw of noise pays for them, and the rest is post-processing.

>>> import discreet as dc
>>> dc.models.PrivateLinearRegression().epsilon
1.0
"""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
