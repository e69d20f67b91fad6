"""The parts of a source: tables in memory, files or a Spark frame, with one common interface."""

import json
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, Protocol, TypeAlias, TypeGuard

from discreet.core import FloatArray, nearest
from discreet.core.schema import looks_like_a_record
from discreet.engines.tables.encode import Encoder, column_kind
from discreet.errors import SchemaError

#: Rows read and counted at a time. Small enough for the cache of one core.
BATCH_SIZE = 2**17
#: Marks between fields other than commas.
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}

#: Some rows, one piece per column in whatever form the part keeps it, and how much of the part's size they are.
Batch: TypeAlias = tuple[list[Any], int]


class Part(Protocol):
    """A table in memory, one file, or a frame elsewhere. Values are defaults.

    Some parts have more. A file has a ``path``. A file that keeps types has ``kind(position)``, the Arrow type of a
    column as its values are passed on. One that can be read from several places at once has ``units``, the rows of
    each, and ``read_unit(unit, positions, batch_size)``: units hold disjoint rows and together all of them.

    A part whose rows stay where they are, as on Spark, runs passes there: ``gather(job, positions, dialect)`` returns
    their sums, ``counted(positions)`` yields the different rows in any order with how many are equal to each in a
    further column, ``people(choice, positions, dialect)`` returns rows by person (the last column), and ``states(work,
    positions)`` yields what ``work`` (an iterator of Arrow batches to bytes) returned for every partition.
    """

    names: tuple[str, ...]
    #: What an error calls it.
    label: str
    #: Whether columns have no names of their own, as in an array.
    bare: bool = False
    #: Whether the names were read from a first line, which may be a row after all: then no error quotes them, but for
    #: one that nearly is the name that was looked for (`near_names`).
    headed: bool = False
    #: Whether columns of the first line had one name; later ones are numbered (`distinct_names`).
    repeats: bool = False
    #: Whether reading is worth a thread of its own.
    slow: bool = False

    def size(self) -> int:
        """Return the amount to read, for the progress bar: rows or bytes; 0 if it is not known."""
        return 0

    def check_session(self) -> None:
        """Refuse a table that can no longer be reached."""
        return

    def check(self, position: int, encoder: Encoder) -> None:
        """Refuse a column whose type does not fit its declaration; without types every column is text."""
        kind = self.kind(position) if is_typed(self) else "text"
        encoder.check("text" if isinstance(kind, str) else column_kind(kind), kind, self.label)

    def read(self, positions: Sequence[int], batch_size: int) -> Iterator[Batch]:
        """Yield the asked columns, batch by batch."""

    def encode(self, piece: Any, encoder: Encoder) -> FloatArray:
        """Turn a piece of a column into coordinates."""
        return piece.encode(encoder) if hasattr(piece, "encode") else encoder.arrow(piece)


def distinct_names(names: Sequence[str]) -> tuple[str, ...]:
    """Number the later columns of one name: cost, cost_2. Columns without a name stay so."""
    found: list[str] = []
    for name in names:
        free = (new for number in count(2) if (new := f"{name}_{number}") not in (*found, *names))
        found.append(next(free) if name and name in found else name)
    return tuple(found)


def separated_by(names: Sequence[str]) -> str:
    """Return the mark that probably separates the fields of a file, if all of them were taken for one name."""
    return next((mark for mark in SEPARATORS if len(names) == 1 and mark in names[0]), "")


def near_names(part: Part, absent: Sequence[str], wanted: Sequence[str]) -> str:
    """Suggest names of a table that may be meant by missing names; nothing if its first line may be a record.

    A name that is wanted for itself is not suggested.
    """
    if part.bare or (part.headed and (part.repeats or looks_like_a_record(part.names))):
        return ""
    if mark := separated_by(part.names):
        declared = f"delimiter = {json.dumps(mark)} under [source] of a schema (--schema)"
        return f"; its fields seem to be separated by {SEPARATORS[mark]}: declare {declared}"
    if index := next((name for name in absent if name in getattr(part, "index_names", ())), None):
        return f"; {index!r} is its index: pass frame.reset_index()"
    free = [name for name in part.names if name not in wanted]
    near = {name: found for name in absent[:3] if (found := nearest(name, free, beginnings=False)) is not None}
    if blank := next((f"{found!r} to {name!r}" for name, found in near.items() if found != found.strip()), ""):
        return f"; rename {blank} in the table: no declared name begins or ends with a blank"
    said = ", ".join(f"{found!r} for {name!r}" for name, found in near.items())
    return f"; did you mean {said}?" if said else ""


def check_named(part: Part) -> None:
    """Refuse a file without a header whose columns are not named: its first row would decide how many there are."""
    if getattr(part, "unnamed", False):
        raise SchemaError(
            f"{part.label} has no header, and no row may tell how many columns there are; name all of them in order "
            'under [source], such as names = ["column_1", "column_2"]'
        )


def is_divided(part: Part) -> TypeGuard[Any]:
    """Return whether a part can be read from several places at once."""
    return hasattr(part, "read_unit")


def is_typed(part: Part) -> TypeGuard[Any]:
    """Return whether a part keeps a type for every column."""
    return hasattr(part, "kind")


def is_remote(part: Part) -> TypeGuard[Any]:
    """Return whether the rows of a part stay where they are."""
    return hasattr(part, "counted")
