"""Where reports are kept: SQLite by default, PostgreSQL for several processes, Parquet segments beyond one machine."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
