"""Checks of a released table against its own promise: rules counted again, declared columns, form, public facts."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
