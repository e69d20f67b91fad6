"""Privacy budgets that outlive programs, and the cost of several releases together.

>>> import tempfile
>>> from pathlib import Path
>>> import discreet as dc
>>> with tempfile.TemporaryDirectory() as folder:
...     account = dc.Account.create(Path(folder) / "patients.account", dataset="patients 2026", epsilon=3)
...     _ = account.spend("how many", 0.5)
...     float(dc.Account(account.path).remaining)
2.5
"""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
