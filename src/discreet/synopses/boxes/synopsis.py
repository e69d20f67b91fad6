"""A noisy histogram: the cells of a grid or the leaves of a tree, and the nodes above them."""

from __future__ import annotations

import numpy as np

from discreet.core import FloatArray, IntArray
from discreet.errors import InvalidArgument, InvalidType
from discreet.noise import Generator, below
from discreet.synopses.boxes.refine import projected_weights
from discreet.synopses.boxes.tables import HiddenCells, TreeTable
from discreet.synopses.queries.answers import Count
from discreet.synopses.queries.counts import STEPS
from discreet.synopses.synopsis import Synopsis

UNUSED = (
    "declared functions, combinations and rules are not kept by grids and trees: synthetic rows may break them, "
    "and counts ignore them; MarginalSynopsis (discreet synthesize) keeps them"
)


class BoxSynopsis(Synopsis):
    """Boxes with noisy counts, as `GridSynopsis` and `TreeSynopsis` publish them.

    Parameters are those of `Synopsis`; ``tree``, the nodes above the leaves; and ``hidden``, which states that a larger
    grid lists only the cells whose noisy count exceeds a cutoff.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.synopses import BoxSynopsis
    >>> ledger = dc.Ledger(epsilon=1)
    >>> _ = ledger.spend("counts", 1, "parallel")
    >>> s = BoxSynopsis(dc.Domain({"age": (0, 120)}), lower=[[0], [60]], upper=[[60], [120]], weights=[70, 30],
    ...                 variances=[1.8, 1.8], guarantee=dc.Guarantee.from_ledger(ledger, model="central"))
    >>> s
    <Synopsis: 2 leaves of 1 column, about 100 rows, epsilon 1>
    >>> s.count(age=(0, 60)), s.count(age=(30, 60))
    (Count(70 ± 1.34), Count(35 ± 18.5: noise 0.671, non-uniformity 18.5))
    """

    parts = (*Synopsis.parts, "tree", "hidden")

    def _take(  # type: ignore[override]
        self, *, tree: TreeTable | None = None, hidden: HiddenCells | None = None
    ) -> None:
        leaves, columns = self.lower.shape
        if tree is not None and (not isinstance(tree, TreeTable) or tree.lower.shape[1] != columns):
            raise InvalidType("tree", type(tree), f"a TreeTable with {columns} axes", "tree=None")
        if tree is not None and not np.array_equal(np.sort(tree.leaf[tree.leaf >= 0]), np.arange(leaves)):
            raise InvalidArgument("tree", tree, f"a tree that names each of the {leaves} leaves once", "tree=None")
        if hidden is not None and not isinstance(hidden, HiddenCells):
            raise InvalidType("hidden", type(hidden), "HiddenCells", "hidden=None")
        self.tree, self.hidden = tree, hidden

    @property
    def unlisted(self) -> Count | None:
        """Estimated number of rows in the cells that are not listed: `total` less what is listed; None if all are.

        Noise may make it negative. Some listed cells may be empty (`HiddenCells.noise_alone`): then it is too small.
        """
        if self.hidden is None:
            return None
        spread = float(np.sqrt(self.total_variance + self.variances.sum()))
        return Count(self.total - float(self.weights.sum()), spread)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes that a reader should see before using it; usually none."""
        return (*super().warnings, *([UNUSED] if self.domain.facts else []))

    def _choose(self, n: int, stream: Generator) -> IntArray:
        running = np.cumsum(self._chances() if self.n_leaves else np.ones(1))
        picks = below(STEPS, size=n, rng=stream) / STEPS * running[-1]
        # Rounding must not lead past the last leaf that has a chance at all.
        last = np.searchsorted(running, running[-1], side="left")
        return np.asarray(np.minimum(np.searchsorted(running, picks, side="right"), last))

    def _chances(self) -> FloatArray:
        """Return non-negative weights near the noisy ones; uniform by volume if none is positive."""
        weights = projected_weights(self)[0]
        if weights.sum() > 0:
            return weights
        spans = (self.upper - self.lower) / (self.domain.high - self.domain.low)
        volumes: FloatArray = np.prod(np.nan_to_num(spans, nan=1.0), axis=1)
        return volumes if volumes.sum() > 0 else np.ones(len(volumes))
