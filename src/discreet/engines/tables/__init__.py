"""Tables that can be read: arrays, data frames, CSV and Parquet files, and other formats."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
