"""Runs: every release is made by a process of its own, whose folder tells how far it has come.

The server holds nothing of a table and nothing of a release. It starts a process, hands it the end of a pipe and a
lock, and reads what the process writes into the folder; killed and started again, it reads the same folders.
"""

from discreet.studio.runs.run import Run, runs_of
from discreet.studio.runs.supervisor import Supervisor

__all__ = ["Run", "Supervisor", "runs_of"]


def __dir__() -> list[str]:
    return __all__
