"""A table that can be counted: the one operation engines offer.

A source consists of parts (one for a table in memory, one a file otherwise). A part knows its column names and
types and yields its columns batch by batch; matching columns, counting and progress are the same for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeAlias, TypeVar

from discreet import _checks
from discreet.domain import Domain, FloatArray
from discreet.engines._encode import Encoder
from discreet.engines._progress import Meter
from discreet.engines._threads import in_order
from discreet.engines.cells import CellMap
from discreet.engines.counts import CellCounts, Tally
from discreet.engines.sums import BoxedMap, CellSums, sums
from discreet.errors import InvalidType, SchemaError

#: Rows read and counted at a time. Small enough for the cache of one core.
BATCH_SIZE = 2**17

#: Some rows, one piece a column in whatever form the part keeps it, and how much of the part's size they are.
Batch: TypeAlias = tuple[list[Any], int]
T = TypeVar("T")


class Part(Protocol):
    """A table in memory or one file."""

    names: tuple[str, ...]
    #: What an error calls it.
    label: str
    #: Whether columns have no names of their own, as in an array.
    bare: bool
    #: Whether the names were read from a first line, which may be a row after all: then no error quotes them.
    headed: bool
    #: Whether reading is worth a thread of its own.
    slow: bool

    def size(self) -> int:
        """How much there is to read, for the progress bar: rows or bytes."""

    def check(self, position: int, encoder: Encoder) -> None:
        """Refuse a column whose type does not fit its declaration."""

    def read(self, positions: Sequence[int], batch_size: int) -> Iterator[Batch]:
        """Yield the asked columns, batch by batch."""

    def encode(self, piece: Any, encoder: Encoder) -> FloatArray:
        """Turn a piece of a column into coordinates."""


class Source:
    """A table that can be counted by cell. Made by `discreet.engines.open`.

    It has names, and no number of rows: that is a raw count, and one to spend budget on.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as dc
    >>> source = dc.engines.open(np.array([[0.1, 0.9], [0.2, 0.8]]))
    >>> source.names
    ('x0', 'x1')
    """

    def __init__(self, parts: Sequence[Part], domain: Domain | None = None) -> None:
        self._parts = tuple(parts)
        self._domain = domain
        if domain is not None:
            self._match(domain)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order: those of the domain if the source was opened with one."""
        return self._parts[0].names if self._domain is None else self._domain.names

    @property
    def named(self) -> bool:
        """Whether the columns have names of their own, as those of an array do not."""
        return not any(part.bare for part in self._parts)

    def count(self, cell_map: CellMap, *, batch_size: int = BATCH_SIZE, progress: bool | None = None) -> CellCounts:
        """Count rows by cell, in one pass.

        Values beyond the bounds are clamped, rows with missing or unreadable values follow the rule of their
        column; how many were is told nowhere. Neither the batch size nor the order of files and rows changes the
        result.

        Parameters
        ----------
        cell_map : CellMap
            The cells, and by its domain the columns they need.
        batch_size : int, default 131072
            Rows held in memory at a time.
        progress : bool, optional
            Whether to show a bar; by default when work takes long and stderr is a terminal.

        Returns
        -------
        counts : CellCounts
            Raw counts: add noise before anything else happens to them.

        Examples
        --------
        >>> import numpy as np
        >>> import discreet as dc
        >>> grid = dc.engines.GridMap(dc.Domain.box(0, [1, 1]), 2)
        >>> dc.engines.open(np.array([[0.1, 0.9], [0.2, 0.8]])).count(grid).dense().tolist()
        [0, 2, 0, 0]
        """
        if not isinstance(cell_map, CellMap):
            raise InvalidType("cell_map", type(cell_map), "a cell map", "cell_map=GridMap(domain, 16)")
        tally = Tally(cell_map.n_cells)
        for ids in in_order(cell_map.ids, self._batches(cell_map.domain, batch_size, progress)):
            tally.add(ids)
        return tally.result()

    def sums(self, cell_map: BoxedMap, scale: int = 1024, *, batch_size: int = BATCH_SIZE) -> CellSums:
        """Count rows by cell and add up where in the cell's box they lie, in fixed point, in one pass.

        Parameters
        ----------
        cell_map : GridMap or another map with ``boxes``
            The cells.
        scale : int, default 1024
            Steps of half a box: a row at the upper face of its cell adds ``scale``, one at the centre 0.
        batch_size : int, default 131072
            Rows held in memory at a time.

        Returns
        -------
        sums : CellSums
            Raw counts and sums, as sensitive as the rows.

        Examples
        --------
        >>> import numpy as np
        >>> import discreet as dc
        >>> grid = dc.engines.GridMap(dc.Domain.box(0, [1, 1]), 1)
        >>> dc.engines.open(np.array([[1.0, 0.5], [1.0, 0.25]])).sums(grid).sums.tolist()
        [[2048, -512]]
        """
        return sums(self, cell_map, scale, batch_size=batch_size)

    def _batches(
        self, domain: Domain, batch_size: int = BATCH_SIZE, progress: bool | None = None
    ) -> Iterator[list[FloatArray]]:
        """Yield the coordinates of some rows at a time, one array a column of the domain: what every pass reads."""
        batch_size = _checks.whole("batch_size", batch_size, low=1)
        if progress is not None:
            progress = _checks.choice("progress", progress, (True, False))
        jobs = self._match(domain)
        with Meter(sum(part.size() for part in self._parts), progress) as meter:
            for part, (positions, encoders) in zip(self._parts, jobs, strict=True):
                batches = part.read(positions, batch_size)
                for pieces, amount in _ahead(batches) if part.slow else batches:
                    yield [part.encode(p, e) for p, e in zip(pieces, encoders, strict=True)]
                    meter.advance(amount)

    def _match(self, domain: Domain) -> list[tuple[list[int], list[Encoder]]]:
        """Find the columns of a domain in every part and check their types, before any row is read."""
        encoders = [Encoder(column) for column in domain]
        jobs = []
        for part in self._parts:
            if self._domain is None or domain is self._domain:
                positions = _positions(part, domain)
            else:
                bound = _positions(part, self._domain)
                positions = [bound[self._domain.position(name)] for name in domain.names]
            for position, encoder in zip(positions, encoders, strict=True):
                part.check(position, encoder)
            jobs.append((positions, encoders))
        return jobs

    def __repr__(self) -> str:
        return f"Source(names={self.names!r})"


def _positions(part: Part, domain: Domain) -> list[int]:
    """Return where the columns of a domain are: by name if both sides have names, by place otherwise."""
    available = ", ".join(map(repr, part.names[:20])) + (", ..." if len(part.names) > 20 else "")
    if part.headed:
        available = f"{len(part.names)} others, if its first line holds their names"
    if part.bare or not domain.named:
        if len(part.names) != len(domain):
            raise SchemaError(
                f"{part.label} has {len(part.names)} columns ({available}), but {len(domain)} are declared, and "
                "they match by position; select the declared columns, or give names on both sides"
            )
        wanted = part.names
    else:
        wanted = domain.names
        missing = [name for name in wanted if name not in part.names]
        if missing:
            listed = ", ".join(map(repr, missing[:20]))
            raise SchemaError(f"{part.label} has no column {listed}; it has {available}")
    for name in wanted:
        if part.names.count(name) > 1:
            shown = "" if part.headed and name not in domain.names else f" {name!r}"
            raise SchemaError(f"{part.label} has more than one column{shown}; rename or drop the others")
    return [part.names.index(name) for name in wanted]


def _ahead(batches: Iterator[T]) -> Iterator[T]:
    """Read the next batch in a thread of its own while the current one is counted."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        coming = pool.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = pool.submit(next, batches, None)
            yield batch
