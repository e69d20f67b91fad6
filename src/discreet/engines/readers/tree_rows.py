"""The rows of a source as cells of a growing tree: read once and kept, if they fit into memory."""

from collections.abc import Callable, Sequence

import numpy as np

from discreet.core import WORKERS, Domain, FloatArray, IntArray, in_threads
from discreet.engines.passes import trees
from discreet.engines.passes.tally import CellCounts, CellTally
from discreet.engines.passes.trees import Block, HistogramPass, SpreadPass, TreeMap, blank, encode
from discreet.engines.source import Source

#: Cells of rows are kept between passes if they need no more bytes than this.
MEMORY = 2**30


class RowCells:
    """The rows of a source as grid cells, for the many passes of a growing tree. As sensitive as the rows.

    Cells are read once and kept together with the node that each row has reached. If that needs more than ``memory``
    bytes, they are read again for every pass. Remote rows stay where they are. Maps must come from one growing tree and
    be used in its order; `count` with ``ahead`` leaves the rows where they are.
    """

    def __init__(self, source: Source, domain: Domain, bits: int, *, memory: int = MEMORY) -> None:
        self._source, self._domain, self._bits, self._memory = source, domain, bits, memory
        self._kept: list[Block] | None = None
        # Rows that are known not to fit are not kept at first either. That is all their number decides.
        self._distant = source.remote or source._known_rows * 4 * (len(domain) + 1) > memory

    def count(self, tree_map: TreeMap, *, ahead: bool = False) -> CellCounts:
        """Count rows by cell of a map."""
        if self._distant:
            return self._source.count(tree_map)
        # Made when a worker comes: with few rows there is one, and room for all cells is not cheap.
        tallies: dict[int, CellTally] = {}

        def use(worker: int, block: Block) -> None:
            if worker not in tallies:
                tallies[worker] = CellTally(tree_map.n_cells)
            tallies[worker].add(tree_map.block_ids((block[0], block[1].copy()) if ahead else block))

        self._pass(use)
        total, *others = [tally.result() for tally in tallies.values()] or [CellTally(tree_map.n_cells).result()]
        for other in others:
            total += other
        return total

    def histograms(self, tree_map: TreeMap, bins: int) -> IntArray:
        """Count rows by slot, axis and part of the slot's box on that axis: shape (slots, axes, bins)."""
        job = HistogramPass(tree_map, bins)
        if self._distant:
            return job.result(self._source.run(job))
        adders = [job.start() for _ in range(WORKERS)]
        self._pass(lambda worker, block: adders[worker].add_block(block))
        return np.asarray(sum(adder.totals for adder in adders))

    def spreads(self, tree_map: TreeMap) -> tuple[IntArray, IntArray]:
        """Return rows by slot, and by axis their total distance from its middle, in 1/256 of half its width."""
        job = SpreadPass(tree_map)
        if self._distant:
            return job.result(self._source.run(job))
        adders = [job.start() for _ in range(WORKERS)]
        self._pass(lambda worker, block: adders[worker].add_block(block))
        return np.asarray(sum(a.counts for a in adders)), np.asarray(sum(a.sums for a in adders))

    def _pass(self, use: Callable[[int, Block], None]) -> None:
        if self._kept is not None:
            in_threads(use, self._kept)
            return
        kept: list[Block] | None = []
        size = 0
        for columns in self._source.batches(self._domain):
            whole = blank(columns)

            def read(worker: int, start: int, columns: Sequence[FloatArray] = columns, whole: Block = whole) -> Block:
                block = encode(self._domain, self._bits, columns, start, whole)
                use(worker, block)
                return block

            blocks = in_threads(read, range(0, len(columns[0]), trees.CHUNK))
            size += sum(block[0].nbytes + block[1].nbytes for block in blocks)
            kept = None if kept is None or size > self._memory else kept + blocks
        self._kept = kept
        self._distant = kept is None
