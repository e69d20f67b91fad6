"""Private clustering: k-means on a synopsis, and the interactive method it is measured against.

>>> from discreet.clustering import weighted_kmeans
>>> weighted_kmeans([[0.0], [1.0], [9.0]], [1, 1, 2], 2).centers.tolist()
[[0.5], [9.0]]
"""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
