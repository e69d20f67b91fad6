"""Opening a store by its address."""

from pathlib import Path

from discreet.collector.stores.base import Store
from discreet.errors import DataSourceError


def open_store(address: str | Path, *, serving: bool = False, segments: str | Path | None = None) -> Store:
    """Open a store.

    Parameters
    ----------
    address : path or str
        A folder (SQLite), or ``postgresql://user:password@host/database``.
    serving : bool
        True to write reports; with SQLite only one process may.
    segments : path, optional
        A folder to write reports to as Parquet, instead of counting them; with SQLite.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = open_store(folder)
    ...     found = store.tasks()
    ...     store.shut()
    >>> found
    {}
    """
    if str(address).startswith(("postgresql://", "postgres://")):
        from discreet.collector.stores.postgres import PostgresStore

        if segments is not None:
            raise DataSourceError("segments are written by collectors that keep reports in a folder; leave --store out")
        return PostgresStore(str(address))
    from discreet.collector.stores.sqlite import SqliteStore

    return SqliteStore(address, serving=serving, segments=segments)
