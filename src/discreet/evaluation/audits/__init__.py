"""Audits of mechanisms: lower bounds on ε from runs, and exact laws."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
