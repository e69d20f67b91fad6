"""A table seen through a public projection: few columns computed from many.

It is a source like any other. Passes over remote rows are wrapped, so that rows are projected there. For a table that
is read here, the few columns are kept if they need little memory, and computed again for every pass otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from discreet.core import Domain, FloatArray, in_order
from discreet.core.schema import Dialect
from discreet.engines.passes.lattice import ProjectedPass, Projection, batch_rows
from discreet.engines.passes.tally import KeyedNumbers, Pass
from discreet.engines.readers.tree_rows import MEMORY
from discreet.engines.source import Source
from discreet.engines.tables.encode import Encoder
from discreet.engines.tables.part import Batch, Part


class ProjectedTable(Part):
    """The part of a projected source."""

    bare = True
    label = "the projected table"

    def __init__(self, source: Source, projection: Projection, domain: Domain) -> None:
        self.names = domain.names
        self._source, self._projection = source, projection
        self._kept: list[list[FloatArray]] | None = None

    def check(self, position: int, encoder: Encoder) -> None:
        """Let every column pass: it is as declared."""

    def encode(self, piece: FloatArray, encoder: Encoder) -> FloatArray:
        return piece

    def read(self, positions: Sequence[int], batch_size: int) -> Iterator[Batch]:
        if self._kept is not None:
            for rows in self._kept:
                for start in range(0, len(rows[0]), batch_size):
                    yield [rows[p][start : start + batch_size] for p in positions], 0
            return
        kept: list[list[FloatArray]] | None = []
        held = 0
        for rows in self._read(batch_size):
            held += sum(x.nbytes for x in rows)
            kept = None if kept is None or held > MEMORY // 4 else [*kept, rows]
            yield [rows[p] for p in positions], 0
        self._kept = kept

    def _read(self, batch_size: int) -> Iterator[list[FloatArray]]:
        domain = self._projection.lattice.domain
        batches = self._source.batches(domain, batch_rows(len(domain)), by_row=True)
        waiting: list[list[FloatArray]] = []
        for rows in in_order(self._projection.columns, batches):
            waiting.append(rows)
            if sum(len(r[0]) for r in waiting) >= batch_size:
                yield _joined(waiting)
                waiting = []
        if waiting:
            yield _joined(waiting)


class DistantProjection(ProjectedTable):
    """The same for remote rows: passes are sent on."""

    def gather(self, job: Pass, positions: Sequence[int], dialect: Dialect) -> KeyedNumbers:
        assert list(positions) == list(range(len(self.names)))
        return self._source.run(ProjectedPass(job, self._projection), batch_rows(len(self._projection.matrix)))

    def counted(self, positions: Sequence[int]) -> Iterator[Batch]:
        """Refuse: a projection has no distinct rows to ask for."""
        raise NotImplementedError


def _joined(rows: list[list[FloatArray]]) -> list[FloatArray]:
    return [np.concatenate(axis) for axis in zip(*rows, strict=True)]


def projected(source: Source, projection: Projection, domain: Domain) -> Source:
    """Return a source of the few columns of a projection, which ``domain`` declares."""
    kind = DistantProjection if source.remote else ProjectedTable
    return Source([kind(source, projection, domain)], domain)
