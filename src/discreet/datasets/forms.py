"""Converts downloads to tables: cells as text, columns named as in the copy on record."""

import gzip
import hashlib
import io
import re
import tempfile
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from discreet.core import FloatArray
from discreet.datasets.origins import Origin

#: No set is nearly as large, packed or not.
MOST_BYTES = 2**28


def table_of(origin: Origin, raws: Sequence[bytes], columns: Sequence[str]) -> pa.Table:
    """Return the table of downloaded files, side by side; raise ValueError if it has other columns or no rows."""
    parts = [_clicks(raw) if origin.form == "clicks" else _fields(raw, origin) for raw in raws]
    found = [pc.utf8_trim_whitespace(column) for part in parts for column in part.columns]
    if max(origin.keep, default=-1) >= len(found):
        raise ValueError(f"{len(found)} columns where {max(origin.keep) + 1} were expected")
    found = [found[i] for i in origin.keep or range(len(found))]
    return _named(found, origin, columns)


def openml_table(origin: Origin, columns: Sequence[str]) -> pa.Table:
    """Return a set of OpenML, features first, then the class. scikit-learn fetches it and checks its MD5."""
    from sklearn.datasets import fetch_openml

    # Not the parser that needs pandas, which is optional.
    form = {"as_frame": False, "parser": "liac-arff", "n_retries": 2, "delay": 0.5}
    with tempfile.TemporaryDirectory() as home, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns when it tries again
        got = fetch_openml(data_id=origin.openml, data_home=home, **form)
    found = []
    for j, name in enumerate(got.feature_names):
        values = np.asarray(got.data[:, j], np.float64)
        missing, words = np.isnan(values), (got.categories or {}).get(name)
        if words is None:
            found.append(pc.if_else(pa.array(missing), "?", pa.array(values).cast(pa.string())))
        else:
            places = np.where(missing, len(words), values).astype(np.int64)
            found.append(pa.array([*words, "?"]).take(pa.array(places)))
    return _named([*found, pa.array(np.asarray(got.target).astype(str))], origin, columns)


def _named(found: list[Any], origin: Origin, columns: Sequence[str]) -> pa.Table:
    rows = len(found[0])
    if origin.numbered:
        found.insert(0, pa.array(np.arange(1, rows + 1)).cast(pa.string()))
    if origin.blocks:
        found.append(pa.array(np.arange(rows) // origin.blocks + 1).cast(pa.string()))
    if len(found) != len(columns) or not rows:
        raise ValueError(f"{len(found)} columns and {rows} rows where {len(columns)} columns were expected")
    table = pa.table(dict(zip(columns, found, strict=True)))
    if origin.complete:
        keep = [pc.not_equal(column, "?") for column in table.columns]
        table = table.filter(np.logical_and.reduce([np.asarray(k) for k in keep]))
    return table


def _fields(raw: bytes, origin: Origin) -> pa.Table:
    text, delimiter, quote = _plain(raw), origin.delimiter, '"'
    if origin.form == "arff":
        text, quote = re.split(rb"(?im)^@data[^\n]*\n", text, maxsplit=1)[-1], "'"
    text = text.split(b"\n", origin.skip)[-1]
    if origin.ragged:
        text = re.sub(rb"(?m)^((?:[^,\n]*,){%d}[^,\r\n]*)[^\n]*$" % max(origin.keep), rb"\1", text)
    if delimiter == " ":
        text, delimiter = re.sub(rb"[ \t]+", b"\t", re.sub(rb"(?m)^[ \t]+|[ \t\r]+$", b"", text)), "\t"
    parse = csv.ParseOptions(delimiter=delimiter, quote_char=False if delimiter == "\t" else quote)
    width = csv.open_csv(pa.BufferReader(text), csv.ReadOptions(autogenerate_column_names=True), parse).schema.names
    as_text = csv.ConvertOptions(column_types=dict.fromkeys(width, pa.string()), strings_can_be_null=False)
    table = csv.read_csv(pa.BufferReader(text), csv.ReadOptions(autogenerate_column_names=True), parse, as_text)
    # Adult's test file ends its classes with a full stop.
    last = table.column(table.num_columns - 1)
    if pc.all(pc.ends_with(last, "K.")).as_py():
        table = table.set_column(table.num_columns - 1, width[-1], pc.utf8_rtrim(last, "."))
    return table


def _clicks(raw: bytes) -> pa.Table:
    """Return one row per click: the number of its session, and the item."""
    # The source is cut off in the middle of its last line, which is left out.
    lists = pc.utf8_split_whitespace(pa.array(_plain(raw).rpartition(b"\n")[0].decode().split("\n")))
    sessions = pc.list_parent_indices(lists).cast(pa.string())
    return pa.table({"session": sessions, "item": pc.list_flatten(lists)})


def _plain(raw: bytes) -> bytes:
    return unpacked(raw) if raw.startswith(b"\x1f\x8b") else raw


def unpacked(raw: bytes) -> bytes:
    """Unpack a file; refuse an incomplete one, and one larger than `MOST_BYTES`."""
    with gzip.open(io.BytesIO(raw)) as file:
        found = file.read(MOST_BYTES + 1)
    if len(found) > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES:,} bytes unpacked")
    return found


def packed(table: pa.Table) -> bytes:
    """Return a table as compressed CSV, the same bytes every time."""
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink, csv.WriteOptions(quoting_style="needed"))
    return gzip.compress(sink.getvalue().to_pybytes(), mtime=0)


def numbers(column: pa.ChunkedArray) -> FloatArray:
    """Read numbers; an empty cell is missing. One file has tabs around a number."""
    text = pc.utf8_trim_whitespace(column)
    filled = pc.if_else(pc.equal(text, ""), "nan", text)
    return np.asarray(filled.cast(pa.float64()))


def content_digest(table: pa.Table) -> str:
    """Return the SHA-256 of names and values; it does not depend on how numbers are written or the file is packed."""
    found = hashlib.sha256()
    for name, column in zip(table.column_names, table.columns, strict=True):
        found.update(f"{name}\n".encode())
        try:
            found.update(numbers(column).astype("<f8").tobytes())
        except pa.ArrowInvalid:
            found.update("\n".join(pc.utf8_trim_whitespace(column).to_pylist()).encode())
    return found.hexdigest()
