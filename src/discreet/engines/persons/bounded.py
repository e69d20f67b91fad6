"""A table with a bounded number of rows per person: later steps read it instead of the rows.

Each row gets a random number: a keyed hash of the person, the row's declared columns after clamping, and its number
among the person's equal rows. The rows with the smallest numbers are kept.

- *The kept rows of a person depend on their own rows and the key only.* So adding or removing a person adds or removes
  at most ``rows`` rows and changes nothing else. Order, batches, files and engines do not matter either.
- *The choice is uniform*, because all rows hash different messages. (With a hash of the row alone, one different row
  among a hundred equal ones would be kept half of the time.)

One pass in bounded memory: every row becomes an entry (person, word of the row, number of equal rows, coordinates),
grouped by the first bits of the person. Beyond `MOST_BYTES`, equal entries are merged, then entries go to an unnamed
temporary file. At the end each group is sorted and chosen from, a large one range by range of the rows' words. That is
exact: equal rows share their word, and the smallest of all are among the smallest of each range.
"""

from __future__ import annotations

import math
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import (
    ANYBODY,
    BoolArray,
    Categorical,
    Column,
    Domain,
    FloatArray,
    IntArray,
    Integer,
    Numeric,
    Person,
    WordArray,
    category_text,
    few,
    in_order,
)
from discreet.core.schema import Dialect
from discreet.engines.persons import kernels, plain
from discreet.engines.persons.kernels import HEAD
from discreet.engines.readers.columns import column_batches, places_of
from discreet.engines.source import Source
from discreet.engines.tables.arrow import plainly
from discreet.engines.tables.encode import Encoder, arrow_kind
from discreet.engines.tables.memory import _Table
from discreet.engines.tables.part import Part, is_remote
from discreet.engines.tables.same import person_key, same_key
from discreet.noise.hashing import TAG_BYTES, siphash_bytes

#: What entries may take in memory before they are merged, and then go to a file.
MOST_BYTES = 1 << 29
#: Bits of the person that choose a part.
_BITS = 8
_FIRST = np.uint64(1)


@dataclass(frozen=True)
class Choice:
    """The rule for the kept rows of a person; small enough to be sent to where rows are.

    ``domain`` holds the columns of the bounded table and after them those for grouping, whose positions are ``groups``.
    """

    domain: Domain
    persons: PersonKeys
    groups: tuple[int, ...] = ()

    @property
    def key(self) -> WordArray:
        return self.persons.key

    @property
    def listed(self) -> bool:
        """True if persons are declared one by one."""
        declared = self.persons.declared
        return isinstance(declared, Categorical) and declared.categories != ANYBODY

    def entries(self, batch: tuple[list[FloatArray], pa.Array]) -> tuple[WordArray, IntArray]:
        """Turn coordinates and persons of some rows into entries, parted by person."""
        columns, people = batch
        x = np.column_stack(columns).astype(np.float64, copy=False) + 0.0
        p0, p1, kept = self.persons.words(people)
        words, own = x.view(np.uint64), np.array([c.missing == "own" for c in self.domain])
        loops = _loops(len(x))
        r = loops.fill_entries(x, words, self.domain.low, self.domain.high, own, p0, p1, kept, self.key)
        entries, starts = loops.part_entries(p0, p1, r, words, kept, _BITS)
        return entries, starts

    def group(self, entries: WordArray, loops: Any = kernels) -> WordArray:
        """Return a word for the group of every entry."""
        columns, people = np.array([HEAD + place for place in self.groups]), np.ascontiguousarray(entries[:, 1])
        return np.asarray(loops.group_words(people, entries, columns, self.key), np.uint64)

    def smallest(self, entries: WordArray, limit: int, per_group: int | None, loops: Any = kernels) -> WordArray:
        """Return the entries of the kept rows, one per row, each with its random number as its word.

        Rows are bounded first per group of a person, then per person. This may be done for each range of words and
        again for all: an entry with ``limit`` smaller ones in its range has as many in total, because one that its
        group leaves out gives its place to a smaller one.
        """
        if per_group is not None:
            entries = self.keep(entries, per_group, by_group=True, loops=loops)
        return self.keep(entries, limit, loops=loops)

    def keep(self, entries: WordArray, limit: int, *, by_group: bool = False, loops: Any = kernels) -> WordArray:
        """Keep ``limit`` rows of every person, or of every group of a person."""
        second = self.group(entries, loops) if by_group else np.ascontiguousarray(entries[:, 1])
        p0, r, counts = (np.ascontiguousarray(entries[:, place]) for place in (0, 2, 3))
        kept, sums = loops.merge_equal(loops.sort_entries(p0, second, r), p0, second, r, counts)
        chosen, ranks = loops.keep_smallest(kept, sums, p0, second, r, limit, self.key)
        found: WordArray = entries[chosen]
        found[:, 2], found[:, 3] = ranks, _FIRST
        return found


def _loops(rows: int) -> Any:
    """Return the module whose functions are to go through so many rows."""
    return plain if few(kernels.fill_entries, rows) else kernels


def merged(entries: WordArray, loops: Any = kernels) -> WordArray:
    """Make equal rows one entry."""
    p0, p1, r, counts = (np.ascontiguousarray(entries[:, place]) for place in range(HEAD))
    kept, sums = loops.merge_equal(loops.sort_entries(p0, p1, r), p0, p1, r, counts)
    found: WordArray = entries[kept]
    found[:, 3] = sums
    return found


class RowsOfPersons:
    """All rows by person: as sensitive as the rows, and dropped when the used rows are chosen."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._held: list[list[WordArray]] = [[] for _ in range(1 << _BITS)]
        self._rows, self._bytes, self._lock = 0, 0, threading.Lock()
        self._spilled: list[list[tuple[int, int]]] = [[] for _ in range(1 << _BITS)]
        self._file: Any = None

    def add(self, entries: WordArray, starts: IntArray) -> None:
        """Take in the entries of a batch."""
        for part in np.flatnonzero(np.diff(starts)).tolist():
            self._held[part].append(entries[starts[part] : starts[part + 1]])
        self._rows += len(entries)
        self._bytes += entries.nbytes
        if self._bytes > MOST_BYTES:
            self._make_room()

    def _make_room(self) -> None:
        """Make equal rows one; if most are still there, put all into the file."""
        self._held = [[merged(np.concatenate(part))] if part else [] for part in self._held]
        self._bytes = sum(piece.nbytes for part in self._held for piece in part)
        if self._bytes <= MOST_BYTES // 2:
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as this object is there
            weakref.finalize(self, self._file.close)
        for part, held in enumerate(self._held):
            for piece in held:
                self._spilled[part].append((self._file.seek(0, 2), piece.nbytes))
                self._file.write(piece.tobytes())
        self._held, self._bytes = [[] for _ in self._held], 0

    def _pieces(self, part: int) -> list[WordArray]:
        """Return the entries of a part, in pieces."""
        pieces = list(self._held[part])
        with self._lock:
            for start, size in self._spilled[part]:
                self._file.seek(start)
                found = np.frombuffer(self._file.read(size), np.uint64)
                pieces.append(found.reshape(-1, HEAD + len(self._choice.domain)))
        return pieces

    def _reduced(self, reduce: Callable[[WordArray, Any], WordArray]) -> Iterator[WordArray]:
        """Yield what ``reduce`` makes of the entries of every part, range by range where a part is large."""
        loops = _loops(self._rows)
        if loops is plain and self._rows and self._file is None:  # all parts at once
            yield reduce(np.concatenate([piece for part in self._held for piece in part]), plain)
            return

        def work(part: int) -> WordArray:
            size = sum(piece.nbytes for piece in self._held[part]) + sum(size for _, size in self._spilled[part])
            bits = max(0, math.ceil(math.log2(max(1, 4 * size / MOST_BYTES))))
            found = []
            for at in range(1 << bits):
                pieces = self._pieces(part)
                if bits:
                    pieces = [piece[piece[:, 2] >> np.uint64(64 - bits) == at] for piece in pieces]
                found.append(reduce(np.concatenate(pieces), loops))
            return found[0] if len(found) == 1 else reduce(np.concatenate(found), loops)

        yield from in_order(work, [part for part, held in enumerate(self._held) if held or self._spilled[part]])

    def histogram(self, most: int) -> IntArray:
        """Return how many persons have 1, 2, ... rows, the last for ``most`` or more: raw counts."""
        found = np.zeros(most, np.int64)
        for entries in self._reduced(_persons):
            p0, p1, r, counts = (np.ascontiguousarray(entries[:, place]) for place in range(HEAD))
            loops = _loops(self._rows)
            found += loops.rows_of_persons(loops.sort_entries(p0, p1, r), p0, p1, counts, most)
        return found

    def bounded(self, limit: int, per_group: int | None, axes: Domain) -> Part:
        """Return the table of the rows that are kept."""
        found = [np.empty((0, len(self._choice.domain)), np.uint64)]
        found += [
            part[:, HEAD:] for part in self._reduced(lambda e, by: self._choice.smallest(e, limit, per_group, by))
        ]
        rows = np.ascontiguousarray(np.concatenate(found)).view(np.float64)
        return CoordinateTable(axes, rows[:, : len(axes)])


def _persons(entries: WordArray, loops: Any) -> WordArray:
    """Take all rows of a person as equal."""
    found = entries.copy()
    found[:, 2] = 0
    return merged(found, loops)


class CoordinateTable(_Table):
    """Rows that are coordinates already, clamped, in the order of a domain."""

    def __init__(self, domain: Domain, rows: FloatArray) -> None:
        super().__init__(domain.names, len(rows), "the bounded table")
        self._rows = rows

    def check(self, position: int, encoder: Encoder) -> None:
        """Let every column pass: it is as declared."""

    def encode(self, piece: FloatArray, encoder: Encoder) -> FloatArray:
        return piece

    def _slice(self, position: int, start: int, stop: int) -> FloatArray:
        return self._rows[start:stop, position]


def check_person(source: Source, person: Person) -> None:
    """Refuse a table without a column of persons."""
    for part in source.parts:
        places_of(source, part, [person.column])


class PersonTable:
    """The rows of a source by person. It is made when a release begins, and dropped when its rows are chosen.

    ``declared`` holds all declared columns, ``axes`` those of the bounded table; ``key`` (eight words) is drawn for
    this release.
    """

    def __init__(self, source: Source, person: Person, declared: Domain, axes: Domain, key: WordArray) -> None:
        names = [name for name in person.group if name not in axes.names]
        wanted = Domain._of([*axes, *declared.select(names)], named=axes.named) if names else axes
        column = declared.column(person.column) if person.column in declared.names else None
        self._axes, self._per_group = axes, person.per_group
        groups = tuple(wanted.position(name) for name in person.group)
        choice = Choice(wanted, PersonKeys(column, source.dialect, key), groups)
        if is_remote(part := source.parts[0]):
            positions = [*source.match(wanted)[0][0], *places_of(source, part, [person.column])]
            self._found: Any = part.people(choice, positions, source.dialect)
            return
        self._found = RowsOfPersons(choice)
        found = column_batches(source, [person.column], wanted, persons={person.column: column})
        batches = ((x, people[person.column]) for x, people in found)
        for entries, starts in in_order(choice.entries, batches):
            self._found.add(entries, starts)

    def histogram(self, most: int) -> IntArray:
        """Return how many persons have 1, 2, ... rows, the last for ``most`` or more: raw counts."""
        return np.asarray(self._found.histogram(most), np.int64)

    def bounded(self, rows: int) -> Source:
        """Return the table of the rows that are used."""
        return Source([self._found.bounded(rows, self._per_group, self._axes)], self._axes)


# The person of a row is two words, the same for every spelling (`discreet.engines.tables.same`). A whole number of 64
# bits gets a word by a keyed permutation, and 0 as the second word, so two numbers are never one person. Any other key
# gets two SipHashes under independent keys; the second is odd. The release's own random stream draws the keys: among a
# thousand million persons, two share both words with probability below 10⁻²⁰.


@dataclass(frozen=True)
class PersonKeys:
    """Turns the column of persons into words. Rows outside its declared bounds or categories belong to no one."""

    declared: Column | None
    dialect: Dialect
    key: WordArray

    def words(self, values: pa.Array) -> tuple[WordArray, WordArray, BoolArray]:
        """Return both words of every row's person, and which rows have one."""
        p0, p1, known = np.zeros(len(values), np.uint64), np.zeros(len(values), np.uint64), self._inside(values)
        values = plainly(values, values, self.declared, self.dialect)  # 7,0 where commas are decimal is the person 7
        kind = arrow_kind(values.type)
        if isinstance(self.declared, Categorical) and self.declared.categories != ANYBODY:
            own = same_key(pa.array([category_text(c) for c in self.declared.categories]), self.declared)
            found = same_key(values, self.declared)
            known &= pc.is_in(found, value_set=own).to_numpy(zero_copy_only=False)
            self._hash(found.fill_null(""), p0, p1)
        elif kind in ("int", "float") and not pa.types.is_decimal(values.type):
            self._numbers(values, p0, p1, known)
        else:
            self._texts(values, p0, p1, known)
        return p0, p1, known

    def texts(self, values: pa.Array) -> pa.Array:
        """Return the words of every row's person as text, null for rows without one."""
        p0, p1, known = self.words(values)
        first, second = (pa.array(words).cast(pa.large_string()) for words in (p0, p1))
        return pc.if_else(pa.array(known), pc.binary_join_element_wise(first, second, pa.scalar("-", first.type)), None)

    def _inside(self, values: pa.Array) -> BoolArray:
        """Return which rows are within declared bounds; all that hold anything where there are none."""
        known: BoolArray = values.is_valid().to_numpy(zero_copy_only=False).copy()
        column = self.declared
        if not isinstance(column, Numeric):
            return known
        low, high = column.low, column.high
        if isinstance(column, Integer) and column.kind == "integer":  # as it is: no person is rounded to another
            low, high = float(column.least), float(column.most)
            column = Numeric(column.name, low, high)
        read = Encoder(column, self.dialect).arrow(values)
        with np.errstate(invalid="ignore"):
            known &= (read >= low) & (read <= high)
            if isinstance(self.declared, Integer):
                known &= read == np.floor(read)
        return known

    def _numbers(self, values: pa.Array, p0: WordArray, p1: WordArray, known: BoolArray) -> None:
        """Take whole numbers by their value; the others by their text."""
        found = values.cast(pa.float64()) if pa.types.is_floating(values.type) else values
        plain = found.fill_null(0).to_numpy(zero_copy_only=False)
        with np.errstate(invalid="ignore"):
            whole = np.ones(len(plain), np.bool_) if plain.dtype.kind == "i" else plain < 2**63
            if plain.dtype.kind == "f":
                whole &= (plain >= -(2.0**63)) & (np.floor(plain) == plain)
        numbers = np.where(whole, plain, 0).astype(np.int64)
        _loops(len(numbers)).number_words(numbers, self.key[0], self.key[1], p0)
        if not whole.all():
            self._some(values, ~whole, p0, p1, known)

    def _some(self, values: pa.Array, chosen: BoolArray, p0: WordArray, p1: WordArray, known: BoolArray) -> None:
        """Take chosen rows by their keys."""
        keys = person_key(values.filter(pa.array(chosen)))
        here = [p0[chosen], p1[chosen], known[chosen] & keys.is_valid().to_numpy(zero_copy_only=False)]
        self._hash(keys.fill_null(""), here[0], here[1])
        for out, found in zip((p0, p1, known), here, strict=True):
            out[chosen] = found

    def _texts(self, values: pa.Array, p0: WordArray, p1: WordArray, known: BoolArray) -> None:
        """Take texts: those that are their own keys at once, the others by their keys."""
        if arrow_kind(values.type) != "text" or pa.types.is_dictionary(values.type):
            self._some(values, np.ones(len(values), np.bool_), p0, p1, known)
            return
        texts = values.cast(pa.large_string()).fill_null("")
        hard = self._hash(texts, p0, p1) & known
        if hard.any():
            self._some(texts, hard, p0, p1, known)

    def _hash(self, texts: pa.Array, p0: WordArray, p1: WordArray) -> BoolArray:
        """Hash texts as they are, and plain whole numbers as numbers; mark texts that may not be their keys."""
        _, places, buffer = texts.buffers()
        offsets = np.frombuffer(places, np.int64, len(texts) + 1, texts.offset * 8)
        data = np.frombuffer(buffer if buffer is not None and buffer.size else b"\0", np.uint8)
        numbers, kinds = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.int8)
        loops = _loops(len(texts))
        loops.plain_texts(data, offsets, numbers, kinds)
        siphash_bytes(data, offsets, TAG_BYTES, self.key[0], self.key[1], p0)
        siphash_bytes(data, offsets, TAG_BYTES, self.key[2], self.key[3], p1)
        p1 |= np.uint64(1)
        whole = kinds == 1
        if whole.any():
            words = np.empty(int(whole.sum()), np.uint64)
            loops.number_words(numbers[whole], self.key[0], self.key[1], words)
            p0[whole], p1[whole] = words, 0
        return np.asarray(kinds == 0)
