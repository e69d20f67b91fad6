"""Pieces of a column as Arrow: numbers keep their type, other values become text, unreadable values are null."""

import dataclasses
import functools
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import Code, Column, Date, FloatArray, Integer, Numeric, Time
from discreet.core.schema import Dialect
from discreet.engines.tables.encode import Encoder, arrow_kind, as_stored
from discreet.engines.tables.formats.cells import Cells, Labelled
from discreet.engines.tables.text_kernels import Field
from discreet.engines.tables.text_numbers import readable
from discreet.engines.tables.texts import as_text, text_of


def present(piece: Any, dialect: Dialect) -> pa.Array:
    """Set values to null that the dialect calls missing: texts by spelling, numbers and dates by value."""
    column = as_arrow(piece)
    kind = arrow_kind(column.type)
    if not dialect.missing or kind not in ("text", "int", "float"):
        return column
    gone = np.zeros(len(column), np.bool_)
    if kind != "float":  # whole numbers beyond 2**53 differ in their digits only
        texts = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
        gone |= np.asarray(pc.is_in(texts, value_set=pa.array(dialect.missing, pa.large_string())))
    for encoder, marks in _marks_by_value(dialect):
        if kind == "text":
            read = encoder.arrow(pc.if_else(pc.is_in(pc.utf8_lower(texts), value_set=_WORDS), None, texts))
        else:
            read = encoder.arrow(column)
        if kind == "float":
            half = str(getattr(piece, "dtype", getattr(piece, "type", ""))) in ("float16", "halffloat")
            single = pa.types.is_float32(column.type)
            gone |= np.isin(read, as_stored(marks, np.float16 if half else np.float32 if single else np.float64))
        else:
            gone |= np.isin(read, marks[np.abs(marks) < 2**53])
    return pc.if_else(pa.array(gone), None, column) if gone.any() else column


#: What is read as a number where numbers are declared; here it is a text.
_WORDS = pa.array(["true", "false"], pa.large_string())


@functools.lru_cache(maxsize=64)
def _marks_by_value(dialect: Dialect) -> tuple[tuple[Encoder, FloatArray], ...]:
    """Return the marks of missing values that are numbers, and those that are dates, with what reads such values."""
    bare = dataclasses.replace(dialect, missing=(), true=(), false=())
    written = pa.array([mark for mark in dialect.missing if mark.lower() not in ("true", "false")], pa.large_string())
    found = []
    for column in (Numeric("x", 0, 1), Date("x", 0.0, 1.0)):
        encoder = Encoder(column, bare)
        marks = encoder.arrow(written)
        if not np.isnan(marks).all():
            found.append((encoder, np.unique(marks[~np.isnan(marks)])))
    return tuple(found)


def not_empty(column: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(column, ""), None, column) if pa.types.is_large_string(column.type) else column


def plainly(texts: pa.Array, piece: Any, column: Column | None, dialect: Dialect) -> pa.Array:
    """Write declared numbers and days plainly, whatever the dialect: later readers do not know it."""
    marked = dialect.decimal != "." or dialect.thousands or dialect.marks or dialect.dates
    if not marked or not isinstance(column, Numeric) or isinstance(column, (Time, Code)):
        return texts
    if not pa.types.is_large_string(texts.type):
        return texts
    objects = isinstance(piece, np.ndarray) and piece.dtype == object
    kind = piece.type if isinstance(piece, (pa.Array, pa.ChunkedArray)) else None
    if not (objects or isinstance(piece, Field) or (kind is not None and arrow_kind(kind) == "text")):
        return texts  # numbers of other kinds, such as decimals and cells of workbooks, are meant as they are
    if isinstance(column, Integer):  # which would take the nearest whole number
        column = Numeric(column.name, column.low, column.high)
    ways = [Encoder(column, way) for way in (dataclasses.replace(dialect, missing=()), Dialect())]
    meant, read = (way.objects(piece) if objects else way.arrow(texts) for way in ways)
    other = ~np.isnan(meant) & (meant != read)
    if not other.any():
        return texts
    days = isinstance(column, Date)
    numbers = pa.array(np.where(other, meant, 0.0)).cast(pa.int32()).cast(pa.date32()) if days else pa.array(meant)
    return pc.if_else(pa.array(other), numbers.cast(pa.large_string()), texts)


def as_arrow(piece: Any) -> pa.Array:
    """Turn a piece of a column, in whatever form its part keeps it, into Arrow numbers or Arrow text."""
    if isinstance(piece, (Field, Cells, Labelled)):
        return readable(piece.text())
    if isinstance(piece, np.ndarray) and piece.dtype.kind in "biuf":
        # Arrow computes with single and double precision only.
        small, large = piece.dtype == np.float16, piece.dtype == np.longdouble
        if small or large:
            with np.errstate(all="ignore"):
                piece = piece.astype(np.float32 if small else np.float64)
        return pa.array(np.ascontiguousarray(piece), from_pandas=True)
    if isinstance(piece, np.ndarray) and piece.dtype.kind == "M":
        # Arrow knows days, seconds and finer; NumPy also years, hours and more.
        known = ("datetime64[D]", "datetime64[s]", "datetime64[ms]", "datetime64[us]", "datetime64[ns]")
        piece = pa.array(piece if piece.dtype.name in known else piece.astype("datetime64[s]"))
    if isinstance(piece, pa.ChunkedArray):
        piece = piece.combine_chunks()
    if not isinstance(piece, pa.Array):
        values = piece.tolist() if hasattr(piece, "tolist") else list(piece)
        return readable(pa.array([text_of(v) for v in values], pa.large_binary()))
    if pa.types.is_dictionary(piece.type):
        piece = piece.dictionary_decode()
    if pa.types.is_float16(piece.type):
        piece = piece.cast(pa.float32())
    return piece if arrow_kind(piece.type) in ("bool", "int", "float") else as_text(piece)
