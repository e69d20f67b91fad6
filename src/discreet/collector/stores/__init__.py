"""Stores of reports: SQLite by default, PostgreSQL for several processes, Parquet segments for many machines."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
