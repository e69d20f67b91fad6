"""The settings of a tree, checked before any row is read, and the public rules that "auto" stands for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.core import checks
from discreet.core.checks import Exact
from discreet.errors import InvalidArgument
from discreet.synopses.grid.rules import rugnik
from discreet.synopses.memory import GIB, MOST_MEMORY, node_bytes, read_memory
from discreet.synopses.tree.budgets import BUDGETS, OwnBudget, read_shares
from discreet.synopses.tree.own import OwnPartitioner
from discreet.synopses.tree.partitioners import ROWS_PER_PART

PARTITIONERS = ("binary", "median", "quantile", "uniform", "privtree", "density")
AXES = ("auto", "spread", "widest")
#: Shares of tests, splits and publication where none are given.
SHARES = (Fraction(15, 100), Fraction(25, 100), Fraction(60, 100))
HALVES = {
    "privtree": (Fraction(1, 2), Fraction(0), Fraction(1, 2)),
    "density": (Fraction(0), Fraction(1, 2), Fraction(1, 2)),
}
#: Leaves that a tree may have if nothing but its depth bounds them.
MOST_LEAVES = 2**22
#: While the number of columns is not known, what is suggested should do for this many.
WIDE = 1000


@dataclass(frozen=True)
class TreeSettings:
    """The checked settings of a tree; see `TreeSynopsis`."""

    partitioner: str
    max_depth: int
    threshold: float | None
    budget: str | OwnBudget
    shares: tuple[Fraction, Fraction, Fraction]
    n_quantiles: int
    test_from: int | None
    leaf_means: bool
    bits: int
    n_clusters: int | None
    axis: str
    memory: int
    own: OwnPartitioner | None = None

    @classmethod
    def read(
        cls,
        *,
        partitioner: Any = "binary",
        max_depth: Any = 8,
        threshold: Any = "auto",
        budget: Any = "geometric",
        shares: Any = None,
        n_quantiles: Any = 3,
        test_from: Any = "auto",
        leaf_means: Any = False,
        bits: Any = 20,
        n_clusters: Any = None,
        axis: Any = "auto",
        max_memory: Any = MOST_MEMORY,
    ) -> TreeSettings:
        """Check them, before any row is read."""
        own = partitioner if isinstance(partitioner, OwnPartitioner) else None
        kind = checks.choice("partitioner", partitioner, PARTITIONERS) if own is None else type(own).__name__
        depth = checks.whole("max_depth", max_depth, high=62)
        limit = (
            None
            if isinstance(threshold, str) and threshold == "auto"
            else checks.finite("threshold", threshold, fix='threshold="auto"')
        )
        first = (
            None
            if isinstance(test_from, str) and test_from == "auto"
            else checks.whole("test_from", test_from, high=depth)
        )
        chosen = checks.choice("axis", axis, AXES)
        if kind == "privtree" and chosen == "spread":
            raise InvalidArgument("axis", axis, 'a public rule with partitioner="privtree"', 'axis="auto"')
        cuts = {"median": 1, "quantile": checks.whole("n_quantiles", n_quantiles, low=1, high=31)}.get(kind, 1)
        if own is not None:
            cuts = checks.whole("fan_out", own.fan_out, low=2, high=1024) - 1
        divided = HALVES.get(kind, SHARES) if shares is None else read_shares(shares)
        if kind == "privtree" and not divided[0] + divided[1]:
            raise InvalidArgument("shares", shares, "something for the structure of the tree", "shares=(0.5, 0, 0.5)")
        bought = kind in ("median", "quantile", "density") or (kind == "binary" and chosen == "spread")
        bought = bought if own is None else own.paid
        if bought and not divided[1]:
            raise InvalidArgument("shares", shares, "something for the cuts of the tree", "shares=(0.15, 0.25, 0.6)")
        settings = cls(
            kind,
            depth,
            limit,
            budget if isinstance(budget, OwnBudget) else checks.choice("budget", budget, BUDGETS),
            divided,
            cuts,
            first,
            checks.choice("leaf_means", leaf_means, (False, True)),
            checks.whole("bits", bits, low=1, high=30),
            None if n_clusters is None else checks.whole("n_clusters", n_clusters, low=1),
            chosen,
            read_memory(max_memory),
            own,
        )
        settings._check_leaves(MOST_LEAVES, f"small enough for {MOST_LEAVES} leaves", WIDE)
        return settings

    def check_size(self, n_axes: int) -> None:
        """Refuse a tree whose untested levels alone have too many nodes: the depth, not the rows, decides on them."""
        most = self.most_leaves(n_axes)
        fits = f"small enough for the {most:,} leaves of {n_axes} columns that fit max_memory={self.memory / GIB:g}"
        self._check_leaves(most, fits, n_axes)

    def _check_leaves(self, most: int, expected: str, n_axes: int) -> None:
        """Refuse levels that nothing but their number bounds; suggest what fits for that many axes."""
        by_depth = self.threshold is not None or not self.shares[0]
        free = self.max_depth if by_depth else self.test_from or 0
        if (self.own is None and self.partitioner in ("privtree", "uniform")) or self.fan_out**free <= most:
            return
        fits = _levels_within(self.most_leaves(n_axes), self.fan_out)
        expected += ", if no test with an automatic threshold bounds the tree"
        if not by_depth:
            raise InvalidArgument("test_from", self.test_from, expected, f"test_from={fits}")
        also = f", test_from={fits}" if self.test_from is not None and self.test_from > fits else ""
        raise InvalidArgument("max_depth", self.max_depth, expected, f"max_depth={fits}{also}")

    def most_leaves(self, n_axes: int) -> int:
        """Return how many leaves a tree may have by its depth alone."""
        return max(1, min(MOST_LEAVES, self.most_nodes(n_axes) // 2))

    def most_nodes(self, n_axes: int) -> int:
        """Return how many nodes fit the memory."""
        held = self.partitioner if self.own is None else "quantile"  # it may buy quantiles
        return self.memory // node_bytes(n_axes, held, means=self.leaf_means)

    @property
    def fan_out(self) -> int:
        """Children of a node, as the rules for budgets and thresholds count them."""
        return self.n_quantiles + 1

    def axis_rule(self, n_axes: int) -> str:
        """Return the rule that "auto" stands for."""
        if self.own is not None:
            return "own"
        if self.axis != "auto":
            return self.axis
        buy = self.partitioner in ("binary", "median", "quantile") and self.max_depth < 2 * n_axes and n_axes > 1
        return "spread" if buy else "widest"

    def pays_splits(self, axis: str) -> bool:
        """Return whether cuts are bought, with this rule for the axis."""
        if self.own is not None:
            return self.own.paid
        return self.partitioner in ("median", "quantile", "density") or (self.partitioner, axis) == ("binary", "spread")

    def first_test(self, epsilon: Exact, n_rows: float, n_axes: int, axis: str) -> int:
        """Return the first tested level: the largest s with F^s no more than the cells of a grid for these data.

        The grid is the one for the budget that leaves would have without any test.
        """
        if self.partitioner == "uniform" and self.own is None:
            return 0  # its tests also set the size of the grids
        if self.test_from is not None:
            return self.test_from
        most = self.most_leaves(n_axes)
        if isinstance(epsilon, float):
            return min(self.max_depth, _levels_within(most, self.fan_out))
        whole = self.shares[2] + (self.shares[1] if self.pays_splits(axis) else 0)
        share = float(epsilon * self.shares[2] / whole)
        if self.n_clusters is None:
            cells = (share * max(1.0, n_rows) / ROWS_PER_PART) ** (2 * n_axes / (2 + n_axes))
        else:
            cells = float(rugnik(n_rows, share, n_axes, self.n_clusters)) ** n_axes
        return min(self.max_depth, _levels_within(min(max(cells, 1.0), most), self.fan_out))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data, for the guarantee."""
        return {
            "method": "tree",
            "partitioner": self.partitioner,
            "max_depth": self.max_depth,
            "threshold": "auto" if self.threshold is None else self.threshold,
            "budget": self.budget if isinstance(self.budget, str) else type(self.budget).__name__,
            "shares": [float(s) for s in self.shares],
            "n_quantiles": self.n_quantiles,
            "leaf_means": self.leaf_means,
            "bits": self.bits,
        }


def _levels_within(n_leaves: float, fan_out: int) -> int:
    """Return the largest s with F^s leaves at most."""
    return max(0, math.floor(math.log(n_leaves, fan_out) + 1e-9))
