from .run import Run as Run
from .run import runs_of as runs_of
from .supervisor import Supervisor as Supervisor

__all__ = ["Run", "Supervisor", "runs_of"]
