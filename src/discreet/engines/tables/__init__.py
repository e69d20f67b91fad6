"""What can be read: arrays, data frames, CSV and Parquet files, Spark frames."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
