"""The telemetry service: takes noisy reports from devices, stores them durably, and shows estimates.

>>> import tempfile
>>> import discreet as dc
>>> from discreet import collector
>>> colours = dc.local.DirectResponse(epsilon=2, domain=["red", "green", "blue"])
>>> task = dc.local.Task(colours, name="favourite colour", per_day=2, wanted=1000, minimum=100,
...                      opens="2026-11-16T00:00:00Z", closes="2026-12-16T00:00:00Z")
>>> with tempfile.TemporaryDirectory() as folder:
...     store = collector.open_store(folder)
...     made = store.create(task)
...     found = collector.standing(store, task.digest)
...     store.shut()
>>> made, found["reports"]
(True, 0)

``discreet collect serve`` runs it; see docs/collector.md.
"""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
