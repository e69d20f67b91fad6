"""Runs: every release is made by a process of its own, whose folder tells how far it has come.

The server holds nothing of a table and nothing of a release. It starts a process, hands it the end of a pipe and a
lock, and reads what the process writes into the folder; killed and started again, it reads the same folders.
"""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
