"""Whole columns as they are, as Arrow: what anonymous tables pass on. The other reader, `Source.count`, only counts.

A column of numbers keeps its type; everything else becomes text. What cannot be read is null. No row causes an error.
"""

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import Categorical, Column, Date, Domain, FloatArray, IntArray, Integer, Numeric, Time
from discreet.core.schema import Dialect
from discreet.engines.progress import Meter
from discreet.engines.source import Source
from discreet.engines.tables.encode import Encoder, arrow_kind, as_stored
from discreet.engines.tables.formats.cells import Cells, Labelled
from discreet.engines.tables.part import BATCH_SIZE, Part, Remote, check_named, is_typed, near_names
from discreet.engines.tables.text_kernels import Field
from discreet.engines.tables.text_numbers import readable
from discreet.engines.tables.texts import as_text, text_of
from discreet.errors import SchemaError


def read_columns(source: Source, names: Sequence[str], persons: Mapping[str, Column | None] | None = None) -> pa.Table:
    """Return the named columns of a source; ``persons`` as in `column_batches`.

    Examples
    --------
    >>> import discreet as dc
    >>> source = dc.engines.open(pa.table({"age": [35, None], "job": ["cook", "smith"]}))
    >>> read_columns(source, ["job", "age"]).to_pydict()
    {'job': ['cook', 'smith'], 'age': [35, None]}
    """
    pieces: dict[str, list[pa.Array]] = {name: [] for name in names}
    for _, batch in column_batches(source, names, persons=persons):
        for name, piece in batch.items():
            pieces[name].append(piece)
    return pa.table(
        {name: pa.chunked_array(found, None if found else pa.large_string()) for name, found in pieces.items()}
    )


def column_batches(
    source: Source,
    names: Sequence[str],
    domain: Domain | None = None,
    batch_size: int = BATCH_SIZE,
    *,
    persons: Mapping[str, Column | None] | None = None,
) -> Iterator[tuple[list[FloatArray], dict[str, pa.Array]]]:
    """Yield some rows at a time: the coordinates of the columns of a domain, and the named columns as they are.

    An empty field of a text file is missing: it has no other way to say that nothing is there. Declared numbers and
    days that are written as a dialect has it (1.234,50 or 31.12.2025) come plainly, as all read them. A column has
    one type in all batches. Where files disagree on it, whole numbers of several sizes are those of the largest,
    and all else is text. Columns of ``persons``, by name and with their declarations, come as their codes, not as
    the labels that a file declares: another file may hold the same person without a label.

    Examples
    --------
    >>> import discreet as dc
    >>> source = dc.engines.open(pa.table({"age": [35, None], "job": ["cook", "smith"]}))
    >>> [(c[0].tolist(), b["job"].to_pylist()) for c, b in column_batches(source, ["job"], Domain({"age": (0, 120)}))]
    [([35.0, nan], ['cook', 'smith'])]
    """
    placed = [(part, places_of(source, part, names)) for part in source.parts]
    matched = source.match(domain) if domain is not None else [([], []) for _ in placed]
    named = source.domain
    columns = [named.column(name) if named is not None and name in named.names else None for name in names]
    whose = persons or {}
    shared = _shared_kinds(placed, names, whose)
    with Meter(sum(part.size() for part in source.parts), None) as meter:
        for (part, places), (positions, encoders) in zip(placed, matched, strict=True):
            asked = list(dict.fromkeys([*positions, *places]))  # a file reads a column once
            for pieces, amount in part.read(asked, batch_size):
                own = dict(zip(asked, pieces, strict=True))
                found = {}
                for name, place, column in zip(names, places, columns, strict=True):
                    piece = own[place]
                    if isinstance(piece, Labelled) and name in whose:
                        piece = piece.codes(whose[name])
                    present = _present(piece, source.dialect)
                    present = _not_empty(present) if isinstance(piece, Field) else present
                    found[name] = plainly(present, piece, column, source.dialect)
                found |= {name: _of_kind(found[name], kind) for name, kind in shared.items()}
                yield _coordinates(part, [own[p] for p in positions], encoders), found
                meter.advance(amount)


def counted_columns(
    source: Source,
    names: Sequence[str],
    batch_size: int = BATCH_SIZE,
    persons: Mapping[str, Column | None] | None = None,
) -> Iterator[tuple[dict[str, pa.Array], IntArray | None]]:
    """Yield the named columns of some rows at a time, and how many equal rows each stands for; None: one.

    Empty text is missing: a file of records has no other way to say that nothing is there. Rows that are elsewhere are
    counted there: only different ones are brought here, in any order.
    """
    part = source.parts[0]
    if not isinstance(part, Remote):
        for _, columns in column_batches(source, names, batch_size=batch_size, persons=persons):
            yield {name: _not_empty(column) for name, column in columns.items()}, None
        return
    for pieces, _ in part.counted(places_of(source, part, names)):
        found = {name: _present(p, source.dialect) for name, p in zip(names, pieces, strict=False)}
        yield {name: _not_empty(column) for name, column in found.items()}, np.asarray(pieces[-1], np.int64)


def _coordinates(part: Part, pieces: list[Any], encoders: list[Encoder]) -> list[FloatArray]:
    return [part.encode(piece, encoder) for piece, encoder in zip(pieces, encoders, strict=True)]


def places_of(source: Source, part: Part, names: Sequence[str]) -> list[int]:
    """Return where the named columns are in a part."""
    check_named(part)
    known = part.names if not part.bare or source.domain is None else source.domain.names
    absent = [name for name in names if name not in known]
    if absent:
        near = near_names(part, absent[:1])
        raise SchemaError(f"{part.label} has no column {absent[0]!r}{near or '; check the names'}")
    twice = [name for name in names if list(known).count(name) > 1]
    if twice:
        raise SchemaError(f"{part.label} has more than one column {twice[0]!r}; rename or drop the others")
    return [known.index(name) for name in names]


@dataclass(frozen=True)
class _Rounded:
    """Text, of numbers that some files keep no more precisely than in a floating-point type."""

    kind: pa.DataType


def _shared_kinds(
    placed: Sequence[tuple[Part, Sequence[int]]], names: Sequence[str], persons: Mapping[str, Column | None]
) -> dict[str, pa.DataType | _Rounded]:
    """Return the columns whose type differs from file to file, and the one to give them all: text, if need be.

    What has a single part has a single type. A file that says of a column no more than that it is empty has none. Where
    a file keeps numbers as floating-point ones, it has rounded them: then they are rounded alike everywhere, or one
    number would be two (`_Rounded`).
    """
    found: dict[str, pa.DataType | _Rounded] = {}
    for i, name in enumerate(names if len(placed) > 1 else ()):
        kinds = set()
        for part, places in placed:
            # Only files come in several parts, and those that keep no types hold text.
            kind = part.kind(places[i]) if is_typed(part) else pa.large_string()
            if name in persons and hasattr(part, "code_kind") and not isinstance(persons[name], Categorical):
                kind = part.code_kind(places[i])
            kinds.add(None if pa.types.is_null(kind) else _as_arrow(pa.array([], kind)).type)
        if len(kinds) > 1:
            typed = kinds - {None}
            found[name] = typed.pop() if len(typed) == 1 else _common(typed)
    return found


def _common(kinds: set[pa.DataType]) -> pa.DataType | _Rounded:
    """Return the one type for columns of several: the larger of whole numbers, else text."""
    if all(pa.types.is_integer(kind) for kind in kinds):
        wide = {kind for kind in kinds if pa.types.is_unsigned_integer(kind) and kind.bit_width == 64}
        return pa.large_string() if wide and len(kinds) > 1 else pa.int64()
    floats = [kind for kind in kinds if pa.types.is_floating(kind)]
    return _Rounded(min(floats, key=lambda kind: kind.bit_width)) if floats else pa.large_string()


def _of_kind(column: pa.Array, kind: pa.DataType | _Rounded) -> pa.Array:
    """Give a column the type of its fellows: it has it, or is to be text, or is all missing."""
    if isinstance(kind, _Rounded):
        return _rounded_texts(column, kind.kind)
    if pa.types.is_integer(kind) and pa.types.is_integer(column.type):
        return column.cast(kind)
    if pa.types.is_large_string(kind):
        return as_text(column)
    return column if column.type == kind else pa.nulls(len(column), kind)


#: Digits that a number may have and be told from its neighbours by a floating-point type.
_SURE_DIGITS = {32: 6, 64: 15}
_NUMBER = r"^\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?\s*$"


def _rounded_texts(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Write numbers as texts, rounded as a floating-point type does; of texts, those that are numbers of many digits.

    Examples
    --------
    >>> _rounded_texts(pa.array(["9007199254740993", "007", "ann"], pa.large_string()), pa.float64()).to_pylist()
    ['9007199254740992', '007', 'ann']
    """
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return as_text(column.cast(kind, safe=False))
    texts = as_text(column)
    digits = pc.replace_substring_regex(texts, r"[eE].*$|[^0-9]", "")
    long = pc.greater(pc.utf8_length(pc.utf8_ltrim(digits, "0")), _SURE_DIGITS[kind.bit_width])
    chosen = pc.fill_null(pc.and_(long, pc.match_substring_regex(texts, _NUMBER)), False)
    if not pc.any(chosen).as_py():
        return texts
    plain = pc.utf8_ltrim(pc.utf8_trim_whitespace(texts.filter(chosen)), "+")
    return pc.replace_with_mask(texts, chosen, as_text(plain.cast(pa.float64()).cast(kind, safe=False)))


def _present(piece: Any, dialect: Dialect) -> pa.Array:
    """Leave out what the dialect calls missing: texts as they are written, and numbers and dates by their value.

    Examples
    --------
    >>> _present(pa.array(["-999.0", "?", "true", "7"], pa.large_string()), Dialect(missing=["-999", "?"])).to_pylist()
    [None, None, 'true', '7']
    >>> _present(pa.array([-999, 7]), Dialect(missing=["-999"])).to_pylist()
    [None, 7]
    """
    column = _as_arrow(piece)
    kind = arrow_kind(column.type)
    if not dialect.missing or kind not in ("text", "int", "float"):
        return column
    gone = np.zeros(len(column), np.bool_)
    if kind != "float":  # whole numbers beyond 2**53 are told apart by their digits alone
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


def _not_empty(column: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(column, ""), None, column) if pa.types.is_large_string(column.type) else column


def plainly(texts: pa.Array, piece: Any, column: Column | None, dialect: Dialect) -> pa.Array:
    """Write declared numbers and days plainly where a dialect writes them otherwise; all else stays as it is.

    Whoever gets them later does not know the dialect: order, distances and bounds would be read off letters.
    """
    marked = dialect.decimal != "." or dialect.thousands or dialect.marks or dialect.dates
    if not marked or not isinstance(column, Numeric) or isinstance(column, Time):
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


def _as_arrow(piece: Any) -> pa.Array:
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
        piece = pa.array(_with_unit(piece))
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


def _with_unit(times: Any) -> Any:
    """Arrow knows days, seconds and finer; NumPy also years, hours and more."""
    known = ("datetime64[D]", "datetime64[s]", "datetime64[ms]", "datetime64[us]", "datetime64[ns]")
    return times if times.dtype.name in known else times.astype("datetime64[s]")
