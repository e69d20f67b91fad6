"""Engines: the only reader of rows. One operation, counting rows by cell.

>>> import numpy as np
>>> import discreet as dc
>>> domain = dc.Domain({"age": (0, 120), "income": (0, 1e6)})
>>> rows = np.array([[35.0, 20_000.0], [36.0, 900_000.0], [np.nan, 0.0]])
>>> counts = dc.engines.open(rows).count(dc.engines.GridMap(domain, 4))
>>> counts.cells.tolist(), counts.counts.tolist()
([4, 7], [1, 1])

Whatever the table is stored in, the same rows give the same counts. Rows never cause an error: what cannot be
read is missing, and what is missing follows the declared rule.
"""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
