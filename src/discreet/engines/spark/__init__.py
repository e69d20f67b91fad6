"""Spark data frames: passes go to the rows, exact whole numbers come back, noise is drawn on the driver."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
