"""Whole columns as they are, as Arrow: what anonymous tables pass on. The other reader, `Source.count`, only counts.

A column of numbers keeps its type; everything else becomes text. What cannot be read is null. No row causes an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.engines._encode import _text, arrow_kind
from discreet.engines.part import BATCH_SIZE
from discreet.engines.source import Source
from discreet.errors import SchemaError


def read_columns(source: Source, names: Sequence[str]) -> pa.Table:
    """Return the named columns of a source.

    Examples
    --------
    >>> import discreet as dc
    >>> source = dc.engines.open(pa.table({"age": [35, None], "job": ["cook", "smith"]}))
    >>> read_columns(source, ["job", "age"]).to_pydict()
    {'job': ['cook', 'smith'], 'age': [35, None]}
    """
    pieces: dict[str, list[pa.Array]] = {name: [] for name in names}
    for part in source._parts:
        known = part.names if not part.bare or source._domain is None else source._domain.names
        absent = [name for name in names if name not in known]
        if absent:
            raise SchemaError(f"{part.label} has no column {absent[0]!r}; check the names")
        twice = [name for name in names if list(known).count(name) > 1]
        if twice:
            raise SchemaError(f"{part.label} has more than one column {twice[0]!r}; rename or drop the others")
        places = [known.index(name) for name in names]
        for batch, _ in part.read(places, BATCH_SIZE):
            for name, piece in zip(names, batch, strict=True):
                pieces[name].append(_as_arrow(piece))
    return pa.table({name: _joined(found) for name, found in pieces.items()})


def _as_arrow(piece: Any) -> pa.Array:
    """Turn a piece of a column, in whatever form its part keeps it, into Arrow numbers or Arrow text."""
    if isinstance(piece, np.ndarray) and piece.dtype.kind in "biuf":
        return pa.array(np.ascontiguousarray(piece), from_pandas=True)
    if isinstance(piece, np.ndarray) and piece.dtype.kind == "M":
        piece = pa.array(_with_unit(piece))
    if isinstance(piece, pa.ChunkedArray):
        piece = piece.combine_chunks()
    if not isinstance(piece, pa.Array):
        values = piece.tolist() if hasattr(piece, "tolist") else list(piece)
        return _readable(pa.array([_text(v) for v in values], pa.large_binary()))
    if pa.types.is_dictionary(piece.type):
        piece = piece.dictionary_decode()
    kind = arrow_kind(piece.type)
    if kind == "text":
        return _readable(piece.cast(pa.large_binary()))
    if kind in ("bool", "int", "float"):
        return piece
    if kind == "null":
        return pa.nulls(len(piece), pa.large_string())
    return _as_text(piece)


def _with_unit(times: Any) -> Any:
    """Arrow knows days, seconds and finer; NumPy also years, hours and more."""
    known = ("datetime64[D]", "datetime64[s]", "datetime64[ms]", "datetime64[us]", "datetime64[ns]")
    return times if times.dtype.name in known else times.astype("datetime64[s]")


def _as_text(piece: pa.Array) -> pa.Array:
    """Write values of other kinds as text; those that Arrow cannot write by their own."""
    try:
        return piece.cast(pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return pa.array([None if v is None else str(v) for v in piece.to_pylist()], pa.large_string())


def _readable(column: pa.LargeBinaryArray) -> pa.Array:
    """Read bytes as text; where they are no UTF-8, with marks in place of what cannot be read."""
    try:
        return column.cast(pa.large_string())
    except pa.ArrowInvalid:
        return pa.array(
            [None if v is None else v.decode("utf-8", "replace") for v in column.to_pylist()], pa.large_string()
        )


def _joined(pieces: list[pa.Array]) -> pa.ChunkedArray:
    """Join pieces; those of files that disagree on the type become text."""
    kinds = {piece.type for piece in pieces}
    if len(kinds) > 1:
        pieces = [piece.cast(pa.large_string()) for piece in pieces]
    return pa.chunked_array(pieces, None if pieces else pa.large_string())
