"""A table that can be read and counted.

A source has one part per file, or one for a table in memory or on Spark. A part knows its column names and types and
yields its columns in batches. Matching columns, counting and progress work the same way for all parts.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa

from discreet.core import Domain, FloatArray, IntArray, Meter, checks, in_order
from discreet.core.schema import Dialect
from discreet.engines.gather import gather, units_of
from discreet.engines.passes.cells import CellMap, GridMap
from discreet.engines.passes.lattice import BallPass, batch_rows
from discreet.engines.passes.marginals import MarginalsPass
from discreet.engines.passes.sums import BoxedMap, CellSums, SumsPass
from discreet.engines.passes.tally import CellCounts, CountPass, KeyedNumbers, Pass
from discreet.engines.passes.where import GroupSums
from discreet.engines.tables.encode import Encoder
from discreet.engines.tables.memory import ArrayTable
from discreet.engines.tables.part import (
    BATCH_SIZE,
    Batch,
    Part,
    check_named,
    is_divided,
    is_remote,
    is_typed,
    near_names,
)
from discreet.errors import InvalidType, SchemaError


class Source:
    """A table that can be read in batches and counted by cell. `discreet.engines.open` makes it.

    It has names but no number of rows: that is a raw count, and publishing it costs budget. `count`, `sums` and the
    other passes return raw numbers. Other rooms read rows through `batches` (coordinates), `run` (any pass) and
    `discreet.engines.readers.column_batches` (columns as they are).

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as dc
    >>> source = dc.engines.open(np.array([[0.1, 0.9], [0.2, 0.8]]))
    >>> source.names
    ('x0', 'x1')
    """

    def __init__(self, parts: Sequence[Part], domain: Domain | None = None, dialect: Dialect | None = None) -> None:
        self.parts = tuple(parts)
        self.dialect = dialect or Dialect()
        self.domain = domain
        if domain is not None:
            self.match(domain)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order: those of the domain if the source was opened with one."""
        return self.parts[0].names if self.domain is None else self.domain.names

    @property
    def named(self) -> bool:
        """False if a part has no column names, such as an array."""
        return not any(part.bare for part in self.parts)

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Value labels that files of statistics packages declare, by column. They are metadata, not rows."""
        found: dict[str, dict[str, None]] = {}
        for part in self.parts:
            for name, texts in getattr(part, "labels", {}).items():
                found.setdefault(name, {}).update(dict.fromkeys(texts.values()))
        return {name: tuple(texts) for name, texts in found.items()}

    def count(self, cell_map: CellMap, *, batch_size: int = BATCH_SIZE) -> CellCounts:
        """Count rows by cell, in one pass. The counts are raw: add noise before anything else happens to them.

        Values beyond the bounds are clamped; rows with missing or unreadable values follow the rule of their column.
        The result does not depend on the batch size or on the order of files and rows.

        Examples
        --------
        >>> import numpy as np
        >>> import discreet as dc
        >>> grid = dc.engines.GridMap(dc.Domain.box(0, [1, 1]), 2)
        >>> dc.engines.open(np.array([[0.1, 0.9], [0.2, 0.8]])).count(grid).dense().tolist()
        [0, 2, 0, 0]
        """
        if not isinstance(cell_map, GridMap) and not isinstance(cell_map, CellMap):
            raise InvalidType("cell_map", type(cell_map), "a cell map", "cell_map=GridMap(domain, 16)")
        found = self.run(CountPass(cell_map), batch_size)
        return CellCounts(cell_map.n_cells, found.keys, found.values[0])

    def sums(self, cell_map: BoxedMap, scale: int = 1024, *, batch_size: int = BATCH_SIZE) -> CellSums:
        """Count rows by cell and add up their offsets from the cell's centre, in one pass.

        Offsets are whole numbers: a row at the upper face of its cell adds ``scale``, a row at the centre 0.
        """
        job = SumsPass(cell_map, scale)
        return job.result(self.run(job, batch_size))

    def marginals(self, job: MarginalsPass) -> list[IntArray]:
        """Count many marginals in one pass. Return the raw counts of each; its last column varies fastest."""
        return job.split(self.run(job))

    def ball_sums(self, job: BallPass) -> IntArray:
        """Count rows by group and add up their clipped offsets, in one pass. Return raw numbers, the count first."""
        return job.result(self.run(job, batch_rows(len(job.domain))))

    def group_sums(self, job: GroupSums) -> IntArray:
        """Count rows by group and add up one of their columns, in one pass. Return raw numbers."""
        return job.result(self.run(job))

    @property
    def headed(self) -> bool:
        """True if the names come from a first line, which may be a record."""
        return any(part.headed for part in self.parts)

    @property
    def types(self) -> tuple[str, ...]:
        """Types of the columns as the first file states them; empty if it keeps none."""
        part = self.parts[0]
        return tuple(str(part.kind(i)) for i in range(len(part.names))) if is_typed(part) else ()

    @property
    def remote(self) -> bool:
        """True if the rows stay where they are, as on Spark: passes are sent to them."""
        return is_remote(self.parts[0])  # such a part is the only one

    def states(self, work: Callable[[Iterator[pa.RecordBatch]], bytes], positions: Sequence[int]) -> Any:
        """Run ``work`` on every partition of a remote table and yield what it returned."""
        part = self.parts[0]
        assert is_remote(part)
        return part.states(work, positions)

    @property
    def _known_rows(self) -> int:
        """Number of rows by the files' own tables of contents. Use it to plan memory and nothing else."""
        return sum(sum(part.units) for part in self.parts if is_divided(part))

    def run(self, job: Pass, batch_size: int = BATCH_SIZE) -> KeyedNumbers:
        """Run a pass over all rows: on Spark, over several places of files at once, or over a table in memory."""
        matched = self.match(job.domain)
        if is_remote(first := self.parts[0]):  # such a part is the only one
            sums: KeyedNumbers = first.gather(job, matched[0][0], self.dialect)
            return sums
        batch_size = checks.whole("batch_size", batch_size, low=1)
        units = units_of(self.parts, [positions for positions, _ in matched])
        if len(units) < 2:
            adder = job.start()
            by_row = getattr(job, "by_row", False)
            batches = self.batches(job.domain, batch_size, matched=matched, by_row=by_row)
            # Threads are not worth starting for what is known to be a single batch.
            single = len(units) == 1 and units[0].number is not None and units[0].size <= batch_size
            for prepared in map(job.prepare, batches) if single else in_order(job.prepare, batches):
                adder.add(prepared)
            return adder.result()
        found: KeyedNumbers = gather(lambda: _Encoding(job, self.dialect), units, batch_size=batch_size)
        return found

    def batches(
        self,
        domain: Domain,
        batch_size: int = BATCH_SIZE,
        *,
        matched: list[tuple[list[int], list[Encoder]]] | None = None,
        by_row: bool = False,
    ) -> Iterator[Any]:
        """Yield the coordinates of the rows in batches, one array per column of the domain. Every pass reads these.

        Missing and unreadable values are NaN; nothing is clamped. ``matched`` is the result of `match`, if it is known.
        With ``by_row``, an array is yielded as it is (rows by columns) instead of column by column.
        """
        batch_size = checks.whole("batch_size", batch_size, low=1)
        jobs = self.match(domain) if matched is None else matched
        with Meter(sum(part.size() for part in self.parts)) as meter:
            for part, (positions, encoders) in zip(self.parts, jobs, strict=True):
                if by_row and isinstance(part, ArrayTable) and part.plain(positions, encoders):
                    for block in part.blocks(batch_size):
                        yield block
                        meter.advance(len(block))
                    continue
                encode = functools.partial(_encoded, part, encoders)
                batches = part.read(positions, batch_size)
                for columns, amount in in_order(encode, batches) if part.slow else map(encode, batches):
                    yield columns
                    meter.advance(amount)

    def match(self, domain: Domain) -> list[tuple[list[int], list[Encoder]]]:
        """Return the positions and encoders of a domain's columns for every part; check types, read no row."""
        encoders = [Encoder(column, self.dialect) for column in domain]
        jobs = []
        for part in self.parts:
            if self.domain is None or domain is self.domain:
                positions = _positions(part, domain)
            else:
                bound = _positions(part, self.domain)
                positions = [bound[self.domain.position(name)] for name in domain.names]
            for position, encoder in zip(positions, encoders, strict=True):
                part.check(position, encoder)
            jobs.append((positions, encoders))
        return jobs

    def check_numbers(self) -> None:
        """Refuse text columns when one pair of bounds holds for all columns: none of their rows could be counted."""
        for part in self.parts:
            for i, name in enumerate(() if part.bare else part.names):
                part.check(i, cast(Encoder, _Numbers(name)))

    def __repr__(self) -> str:
        return f"Source(names={self.names!r})"


@dataclass(frozen=True)
class _Numbers:
    """Takes the place of an encoder when a part states the type of a column."""

    name: str

    def check(self, kind: str, shown: object, where: str) -> None:
        if kind == "text" and shown != "text":  # what keeps no types calls everything text
            raise SchemaError(
                f"domain: two bounds hold for columns of numbers, and column {self.name!r} of {where} has type {shown};"
                f' declare each column, such as domain={{{self.name!r}: ["a", "b"]}}, or convert the column to numbers'
            )


class _Encoding:
    """An adder of a pass that accepts columns in the form in which parts keep them."""

    def __init__(self, job: Pass, dialect: Dialect) -> None:
        self._job, self._encoders = job, [Encoder(column, dialect) for column in job.domain]
        self._adder = job.start()
        self.result = self._adder.result

    def add(self, part: Part, pieces: list[Any]) -> None:
        self._adder.add(self._job.prepare(_encoded(part, self._encoders, (pieces, 0))[0]))


def _encoded(part: Part, encoders: list[Encoder], batch: Batch) -> tuple[list[FloatArray], int]:
    pieces, amount = batch
    return [part.encode(piece, encoder) for piece, encoder in zip(pieces, encoders, strict=True)], amount


def _positions(part: Part, domain: Domain) -> list[int]:
    """Return the positions of the columns of a domain: by name if both sides have names, by position otherwise."""
    check_named(part)
    places: dict[str, list[int]] = {}
    for i, name in enumerate(part.names):
        places.setdefault(name, []).append(i)
    available = ", ".join(map(repr, part.names[:20])) + (", ..." if len(part.names) > 20 else "")
    if part.headed:
        one = len(part.names) == 1
        available = f"{len(part.names)} other{'' if one else 's'}, if its first line holds "
        available += "its name" if one else "their names"
    if part.bare or not domain.named:
        if len(part.names) != len(domain):
            raise SchemaError(
                f"{part.label} has {len(part.names)} columns ({available}), but {len(domain)} are declared, and "
                "they match by position; select the declared columns, or give names on both sides"
            )
        wanted = part.names
    else:
        wanted = domain.names
        missing = [name for name in wanted if name not in places]
        if missing:
            listed = ", ".join(map(repr, missing[:20]))
            other = next((d for d in (";", "\t", "|", ",") if len(part.names) == 1 and d in part.names[0]), None)
            if part.headed and other is not None:
                available += f"; its first line has one field with {other!r} in it, so declare delimiter = {other!r} "
                available += "under [source], or skip = 1 if that line belongs to no table"
            near = near_names(part, missing, wanted)
            raise SchemaError(f"{part.label} has no column {listed}; it has {available}{near}")
    for name in wanted:
        if len(places[name]) > 1:
            shown = "" if part.headed and name not in domain.names else f" {name!r}"
            raise SchemaError(f"{part.label} has more than one column{shown}; rename or drop the others")
    return [places[name][0] for name in wanted]
