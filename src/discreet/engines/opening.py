"""Open a table, whatever it is stored in."""

import dataclasses
import glob
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import Domain, promise_place
from discreet.core.schema import Dialect, is_address, read_address, read_dialect
from discreet.engines.source import Source
from discreet.engines.tables.csv_file import CsvTable
from discreet.engines.tables.escapes import format_of
from discreet.engines.tables.formats.excel import ExcelTable
from discreet.engines.tables.formats.sql import database
from discreet.engines.tables.formats.statistics import StatisticsTable
from discreet.engines.tables.formats.stream import StreamTable, is_stream
from discreet.engines.tables.memory import ArrayTable, ArrowTable, ColumnsTable, PandasTable, PolarsTable
from discreet.engines.tables.parquet import ParquetTable
from discreet.engines.tables.part import Part
from discreet.errors import DataSourceError, InvalidType

#: Files of fields under names that may be anything else too: read when named, passed over in a folder.
_LOOSE = tuple(f"{end}{packed}" for end in (".data", ".dat", ".txt") for packed in ("", ".gz", ".zst"))
_TEXT = (".csv", ".csv.gz", ".csv.zst", ".tsv", ".tsv.gz", ".tsv.zst", *_LOOSE)
_PARQUET = (".parquet", ".pq")
#: Readers that come with extras, by the ending of a file's name.
WORKBOOKS = (".xlsx", ".xls", ".xlsb", ".xlsm", ".ods")
_STATISTICS = (".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt")
ENDINGS = (*_TEXT, *_PARQUET, *WORKBOOKS, *_STATISTICS)
_FIX = 'data="people.parquet", or a data frame'


def open(data: Any, domain: Domain | None = None, *, dialect: Dialect | None = None) -> Source:
    """Open a table for counting. No row is read yet.

    Parameters
    ----------
    data : array, data frame, table or path
        A NumPy array (columns are called ``x0, x1, ...``), a pandas or Polars data frame or series, an Arrow table or
        record batch, a mapping of columns, a list of records, a Spark data frame, a DuckDB relation or other Arrow
        stream, the address of a database table (see `sql`), or files: a path, a glob, a folder or a list of paths of
        CSV (also ``.gz``, ``.zst``), Parquet, workbooks (Excel, ODS), Stata, SPSS or SAS.
    domain : Domain, optional
        All declared columns. They are matched by name, or by position if either side has no names.
    dialect : Dialect or mapping, optional
        The format of text files; by default ``domain.source``.

    Examples
    --------
    >>> import discreet as dc
    >>> domain = dc.Domain({"age": (0, 120), "sex": {"categories": [1, 2]}})
    >>> source = dc.engines.open(np.array([[35, 1], [52, 2]]), domain)
    >>> source.count(dc.engines.GridMap(domain.select(["sex"]), 2)).dense().tolist()
    [1, 1]
    """
    if domain is not None and not isinstance(domain, Domain):
        raise InvalidType("domain", type(domain), "a Domain", 'domain=Domain({"age": (0, 120)})')
    written = domain.source if dialect is None and domain is not None else read_dialect(dialect)
    if isinstance(data, Source):
        for part in data.parts:
            part.check_session()  # which may have ended since the table was opened
        if domain is None:
            return data
        parts: Sequence[Part] = data.parts
        written = read_dialect(dialect) if dialect is not None else data.dialect
    elif is_address(data):
        parts = [database(read_address(data))]
    elif isinstance(data, (str, Path)):
        parts = _files([data], written)
    elif isinstance(data, (list, tuple)) and data and all(isinstance(d, (str, Path)) for d in data):
        parts = _files(data, written)
    else:
        parts = [_table(data)]
    return Source(parts, domain, written)


def sql(address: str, query: str = "", *, table: str = "", domain: Domain | None = None) -> Source:
    """Open a table or a query of a database. No row is read yet.

    All passes see the same rows: the source holds a read-only transaction while it exists. Errors of the database are
    not repeated, because they may quote a row.

    Parameters
    ----------
    address : str
        ``sqlite:///people.db`` (four slashes before an absolute path) or ``postgresql://user@host/base``. Passwords are
        better given in ``PGPASSWORD`` or ``.pgpass``.
    query : str, optional
        What to select. It runs inside another query and cannot change the database.
    table : str, optional
        A table instead of a query, perhaps with its schema: ``public.people``.
    domain : Domain, optional
        As in `open`.

    Examples
    --------
    >>> import sqlite3, tempfile
    >>> import discreet as dc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     base = sqlite3.connect(f"{folder}/people.db")
    ...     _ = base.execute("create table people as select 35 as age union all select 52")
    ...     base.close()
    ...     source = dc.engines.sql(f"sqlite:///{folder}/people.db", "select age from people where age > 40")
    ...     source.count(dc.engines.GridMap(dc.Domain({"age": (0, 100)}), 2)).dense().tolist()
    [0, 1]
    """
    if not is_address(address):
        raise InvalidType("address", "another text", "an address of a database", "'sqlite:///people.db'")
    dialect = domain.source if domain is not None else Dialect()
    return Source([database(read_address(address, table=table, query=query))], domain, dialect)


def _table(data: Any) -> Part:
    if isinstance(data, np.ndarray):
        return ArrayTable(data)
    if isinstance(data, (pa.Table, pa.RecordBatch)):
        return ArrowTable(data)
    if isinstance(data, Mapping):
        return ColumnsTable(data)
    if is_records(data):
        return ColumnsTable.of_records(data)
    # By name, so that a library is not imported only to ask whether the object is one of its own.
    for kind in type(data).__mro__:
        if kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas":
            return PandasTable(data)
        if kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "polars":
            return PolarsTable(data)
        if kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pyspark":
            from discreet.engines.spark import SparkTable

            return SparkTable(data)
        if kind.__name__ == "Series" and kind.__module__.partition(".")[0] in ("pandas", "polars"):
            part = _table(data.to_frame())
            part.bare = data.name in (None, "")  # a column without a name is known by its place
            return part
    if is_stream(data):
        return StreamTable(data)
    expected = "a NumPy array, a pandas, Polars or Arrow table, columns by name, a Spark frame, or a path"
    # The type only: the object may hold rows.
    raise InvalidType("data", type(data), expected, "data=np.array(data)" if isinstance(data, (list, tuple)) else _FIX)


def is_records(data: Any) -> bool:
    """Return whether data is a list of records (mappings of values by column)."""
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(isinstance(row, Mapping) for row in data)


def _files(paths: Sequence[str | Path], dialect: Dialect) -> list[Part]:
    found: set[Path] = set()
    for given in paths:
        path = Path(given).expanduser()
        matches = [path] if path.exists() else [Path(p) for p in glob.glob(str(path), recursive=True)]
        # A directory stands for the tables in it; Spark, for one, writes a table as a directory.
        files = [f for m in matches for f in (_tables_in(m) if m.is_dir() else [m])]
        if not files:
            raise DataSourceError(f"data: no file matches {str(given)!r}; check the path")
        found.update(f.resolve() for f in files)  # a file named twice, or linked to, holds its rows once
    return [_file(path, dialect) for path in sorted(found)]


def _tables_in(folder: Path) -> list[Path]:
    # What begins so is not a table of its own: marks of Spark, hidden files, locks of open workbooks.
    held = (p for p in folder.iterdir() if p.is_file() and _suffix(p) not in (None, *_LOOSE))
    found = [p for p in held if not p.name.startswith(("_", ".", "~$"))]
    kinds = {_suffix(p) if _suffix(p) in (*WORKBOOKS, *_STATISTICS) else "" for p in found}
    if len(kinds) > 1:
        # One table saved twice would hold everybody's row twice, and a promise about one row would not.
        endings = sorted({str(_suffix(p)) for p in found})
        raise DataSourceError(
            f"data: folder {str(folder)!r} holds files of several programs ({', '.join(endings)}), perhaps one table "
            f"twice; name those that are meant, such as {str(folder / ('*' + endings[0]))!r}"
        )
    return found


def _file(path: Path, dialect: Dialect) -> Part:
    suffix = _suffix(path)
    if suffix is None:
        listed = ", ".join(ENDINGS)
        raise DataSourceError(f"data: {str(path)!r} is not a table of a known format; its name must end in {listed}")
    if suffix in _PARQUET:
        return ParquetTable(path)
    # One of our own releases, or a part of one, whatever the table it was made of is written like.
    ours = promise_place(path).is_file() or promise_place(path.parent).is_file()
    if suffix in WORKBOOKS:
        return ExcelTable(path, Dialect() if ours else dialect)
    if suffix in _STATISTICS:
        return StatisticsTable(path, suffix)
    if ours:
        return CsvTable(path, *format_of(path))
    tabs = suffix.startswith(".tsv") and dialect.delimiter == ","
    return CsvTable(path, dataclasses.replace(dialect, delimiter="\t") if tabs else dialect)


def _suffix(path: Path) -> str | None:
    return next((s for s in ENDINGS if path.name.lower().endswith(s)), None)


def is_text_table(path: Path) -> bool:
    """Return whether a file is a text table, by name."""
    return _suffix(path) in _TEXT
