"""Whole columns as they are, as Arrow: what anonymous tables pass on.

A column of numbers keeps its type; everything else becomes text. Unreadable values are null. No row causes an error.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import Categorical, Column, Domain, FloatArray, IntArray, Meter
from discreet.engines.source import Source
from discreet.engines.tables.arrow import as_arrow, not_empty, plainly, present
from discreet.engines.tables.formats.cells import Labelled
from discreet.engines.tables.part import BATCH_SIZE, Part, check_named, is_remote, is_typed, near_names
from discreet.engines.tables.text_kernels import Field
from discreet.engines.tables.texts import as_text
from discreet.errors import SchemaError


def read_columns(source: Source, names: Sequence[str], persons: Mapping[str, Column | None] | None = None) -> pa.Table:
    """Return the named columns of a source; ``persons`` as in `column_batches`."""
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
    """Yield the rows in batches: the coordinates of the columns of a domain, and the named columns as they are.

    Empty fields of text files are missing. Declared numbers and days in a dialect (1.234,50 or 31.12.2025) are written
    plainly. A column has the same type in all batches: if files disagree, whole numbers get the largest type, and
    everything else becomes text. Columns of ``persons`` (by name, with their declarations) come as codes, not as value
    labels: another file may hold the same person without a label.
    """
    placed = [(part, places_of(source, part, names)) for part in source.parts]
    matched = source.match(domain) if domain is not None else [([], []) for _ in placed]
    named = source.domain
    columns = [named.column(name) if named is not None and name in named.names else None for name in names]
    whose = persons or {}
    shared = _shared_kinds(placed, names, whose)
    with Meter(sum(part.size() for part in source.parts)) as meter:
        for (part, places), (positions, encoders) in zip(placed, matched, strict=True):
            asked = list(dict.fromkeys([*positions, *places]))  # a file reads a column once
            for pieces, amount in part.read(asked, batch_size):
                own = dict(zip(asked, pieces, strict=True))
                found = {}
                for name, place, column in zip(names, places, columns, strict=True):
                    piece = own[place]
                    if isinstance(piece, Labelled) and name in whose:
                        piece = piece.codes(whose[name])
                    kept = present(piece, source.dialect)
                    kept = not_empty(kept) if isinstance(piece, Field) else kept
                    found[name] = plainly(kept, piece, column, source.dialect)
                found |= {name: _of_kind(found[name], kind) for name, kind in shared.items()}
                pairs = zip(positions, encoders, strict=True)
                yield [part.encode(own[place], encoder) for place, encoder in pairs], found
                meter.advance(amount)


def counted_columns(
    source: Source, names: Sequence[str], persons: Mapping[str, Column | None] | None = None
) -> Iterator[tuple[dict[str, pa.Array], IntArray | None]]:
    """Yield the named columns in batches, with the number of equal rows that each row represents (None: one).

    Empty text is missing. Remote rows are counted where they are: only distinct ones come here, in any order.
    """
    part = source.parts[0]
    if not is_remote(part):
        for _, columns in column_batches(source, names, persons=persons):
            yield {name: not_empty(column) for name, column in columns.items()}, None
        return
    for pieces, _ in part.counted(places_of(source, part, names)):
        found = {name: present(p, source.dialect) for name, p in zip(names, pieces, strict=False)}
        yield {name: not_empty(column) for name, column in found.items()}, np.asarray(pieces[-1], np.int64)


def places_of(source: Source, part: Part, names: Sequence[str]) -> list[int]:
    """Return the positions of the named columns in a part."""
    check_named(part)
    known = part.names if not part.bare or source.domain is None else source.domain.names
    absent = [name for name in names if name not in known]
    if absent:
        near = near_names(part, absent[:1], names)
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
    """Return the columns whose type differs between files, each with the type to give it.

    A column that is empty in a file has no type there. If one file keeps numbers in floating point, they are rounded in
    the same way everywhere (`_Rounded`); otherwise one number would become two.
    """
    found: dict[str, pa.DataType | _Rounded] = {}
    for i, name in enumerate(names if len(placed) > 1 else ()):
        kinds = set()
        for part, places in placed:
            # Only files come in several parts, and those that keep no types hold text.
            kind = part.kind(places[i]) if is_typed(part) else pa.large_string()
            if name in persons and hasattr(part, "code_kind") and not isinstance(persons[name], Categorical):
                kind = part.code_kind(places[i])
            kinds.add(None if pa.types.is_null(kind) else as_arrow(pa.array([], kind)).type)
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
    """Write numbers as texts, rounded as a floating-point type does; also texts that are numbers of many digits."""
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
