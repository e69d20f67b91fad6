"""A noisy histogram: the cells of a grid or the leaves of a tree, and the nodes above them."""

from __future__ import annotations

import numpy as np

from discreet.core import FloatArray, IntArray
from discreet.errors import InvalidArgument, InvalidType, SchemaError
from discreet.noise import Generator, below
from discreet.synopses.boxes.merge import joint_hidden, joint_promise
from discreet.synopses.boxes.projection import projected_weights
from discreet.synopses.boxes.tables import HiddenCells, TreeTable
from discreet.synopses.queries.answers import Count
from discreet.synopses.queries.counts import STEPS
from discreet.synopses.synopsis import Synopsis

UNUSED = (
    "declared functions and impossible combinations are not kept by grids and trees: synthetic rows may break them, "
    "and counts ignore them; MarginalSynopsis (discreet synthesize) keeps them"
)


class BoxSynopsis(Synopsis):
    """Boxes with noisy counts, as `GridSynopsis` and `TreeSynopsis` publish them.

    Parameters
    ----------
    domain, lower, upper, weights, variances, points, guarantee, total, total_variance, uncut
        See `Synopsis`.
    tree : TreeTable, optional
        The nodes above the leaves.
    hidden : HiddenCells, optional
        States that a larger grid lists only the cells whose noisy count exceeds a cutoff.

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
    (Count(70 ± 1.34), Count(35 ± 18.5: noise 0.671, evenness 18.5))
    """

    parts = (*Synopsis.parts, "tree", "hidden")

    def _take(  # type: ignore[override]
        self, *, tree: TreeTable | None = None, hidden: HiddenCells | None = None
    ) -> None:
        leaves, columns = self._lower.shape
        if tree is not None and (not isinstance(tree, TreeTable) or tree.lower.shape[1] != columns):
            raise InvalidType("tree", type(tree), f"a TreeTable with {columns} axes", "tree=None")
        if tree is not None and not np.array_equal(np.sort(tree.leaf[tree.leaf >= 0]), np.arange(leaves)):
            raise InvalidArgument("tree", tree, f"a tree that names each of the {leaves} leaves once", "tree=None")
        if hidden is not None and not isinstance(hidden, HiddenCells):
            raise InvalidType("hidden", type(hidden), "HiddenCells", "hidden=None")
        self._tree, self._hidden = tree, hidden

    @property
    def tree(self) -> TreeTable | None:
        """The nodes above the leaves, if there are any."""
        return self._tree

    @property
    def hidden(self) -> HiddenCells | None:
        """A description of the cells that are not listed; None if all are listed."""
        return self._hidden

    @property
    def unlisted(self) -> Count | None:
        """Estimated number of rows in the cells that are not listed: `total` less what is listed; None if all are.

        Noise may make it negative. Some listed cells may be empty (`HiddenCells.noise_alone`): then it is too small.
        """
        if self._hidden is None:
            return None
        spread = float(np.sqrt(self._total_variance + self._variances.sum()))
        return Count(self._total - float(self._weights.sum()), spread)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes that a reader should see before using it; usually none."""
        return (*super().warnings, *([UNUSED] if self._domain.facts else []))

    def merge(self, other: Synopsis, *, disjoint_people: bool = False) -> BoxSynopsis:
        """Combine the synopses of two disjoint tables over the same domain.

        Parameters
        ----------
        other : BoxSynopsis
            Its leaves are added to these; they may overlap in space. The trees are left out.
        disjoint_people : bool
            Declare that no person has rows in both tables. Then the promise is the weaker of the two. By default both
            are about the same people, and ε adds up.

        Privacy
        -------
        Neighbours: add or remove one row, which is in one of the tables. By sequential composition the pair of releases
        costs ε₁ + ε₂ for a person who is in both. If no person is, one of the releases does not change at all: the
        price is max(ε₁, ε₂). The data cannot show that, so it is recorded as an assumption.

        Examples
        --------
        >>> import discreet as dc
        >>> def release(weight, price):
        ...     ledger = dc.Ledger(epsilon=price)
        ...     ledger.spend("count", price)
        ...     return BoxSynopsis(dc.Domain.box(0, 1), lower=[[0]], upper=[[1]], weights=[weight], variances=[1.0],
        ...                        guarantee=dc.Guarantee.from_ledger(ledger, model="central"))
        >>> north, south = release(40, 0.5), release(70, 0.25)
        >>> both = north.merge(south)
        >>> both.total, both.guarantee.epsilon, north.merge(south, disjoint_people=True).guarantee.epsilon
        (110.0, 0.75, 0.5)
        """
        if not isinstance(other, Synopsis):
            raise InvalidType("other", type(other), "a Synopsis", "first.merge(second)")
        if not isinstance(disjoint_people, bool):
            raise InvalidType("disjoint_people", disjoint_people, "True or False", "disjoint_people=False")
        if self.domain != other.domain:
            raise SchemaError(
                f"synopses can be merged over one domain only, got {self.domain} and {other.domain}; "
                "release both with the same declaration"
            )
        if not isinstance(other, BoxSynopsis):
            other.merge(self)  # refuses
        return BoxSynopsis(
            self.domain,
            **{
                name: np.concatenate([getattr(self, name), getattr(other, name)])
                for name in ("lower", "upper", "weights", "variances", "points")
            },
            guarantee=joint_promise(self.guarantee, other.guarantee, disjoint_people),
            total=self.total + other.total,
            total_variance=self.total_variance + other.total_variance,
            hidden=joint_hidden([(s.n_leaves, s.hidden) for s in (self, other)]),
            uncut=set(self.uncut) & set(other.uncut),
        )

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
        spans = (self._upper - self._lower) / (self._domain.high - self._domain.low)
        volumes: FloatArray = np.prod(np.nan_to_num(spans, nan=1.0), axis=1)
        return volumes if volumes.sum() > 0 else np.ones(len(volumes))
