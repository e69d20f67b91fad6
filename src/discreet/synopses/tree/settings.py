"""The settings of a tree, checked before any row is read, and the public rules that "auto" stands for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.core import checks
from discreet.core.checks import Exact
from discreet.errors import InvalidArgument
from discreet.noise.choice.many import least_price
from discreet.noise.integer.laplace import LARGEST_SCALE
from discreet.synopses.grid.rules import rugnik
from discreet.synopses.memory import GIB, MOST_MEMORY, node_bytes, read_memory
from discreet.synopses.tree.budgets import BUDGETS, LevelBudgets, OwnBudget, read_shares, scale_of
from discreet.synopses.tree.own import OwnPartitioner
from discreet.synopses.tree.partitioners import ROWS_PER_PART, most_lines

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

    def check_fit(self, n_axes: int, epsilon: Any, n_rows: Any, size_share: Any) -> None:
        """Refuse by what the user declared, before rows are read: a tree too large, or cuts that cannot be paid."""
        self.check_size(n_axes)
        whole = checks.budget("epsilon", epsilon)
        bought = n_rows is None and isinstance(whole, Fraction)
        self.check_prices(
            n_axes, whole * (1 - checks.probability("size_share", size_share)) if bought else whole, whole
        )

    def check_prices(self, n_axes: int, epsilon: Exact, whole: Exact | None = None) -> None:
        """Refuse a tree with a level that cannot pay: noise too wide to be drawn, or cuts for less than rounding costs.

        ``whole`` is what the user gave, if some of it is for the number of rows. Which levels test may depend on that
        noisy number; if all of them do, the least is left for cuts.
        """
        if self._pays(n_axes, epsilon):
            return
        given = epsilon if whole is None else whole
        shallow = (replace(self, max_depth=d, test_from=self._first_until(d)) for d in range(self.max_depth - 1, 0, -1))
        fits = next((other for other in shallow if other._pays(n_axes, epsilon)), None)
        if fits is not None:
            also = f", test_from={fits.test_from}" if fits.test_from != self.test_from else ""
            expected = f"small enough that every level can pay for its tests and cuts from epsilon={float(given):g}"
            raise InvalidArgument("max_depth", self.max_depth, expected, f"max_depth={fits.max_depth}{also}")
        enough = given
        while not self._pays(n_axes, enough * epsilon / given):
            enough *= 2
        expected = "large enough that every level can pay for its tests and cuts"
        raise InvalidArgument("epsilon", float(given), expected, f"epsilon={_rounded_up(enough)}")

    def _first_until(self, depth: int) -> int | None:
        return None if self.test_from is None else min(self.test_from, depth)

    def _pays(self, n_axes: int, epsilon: Exact) -> bool:
        """Return whether every level can pay for its tests and cuts, and every path for its leaf."""
        if (self.own is None and self.partitioner == "privtree") or isinstance(epsilon, float):
            return True
        axis = self.axis_rule(n_axes)
        plan = self.plan(epsilon, self.test_from or 0, axis)  # refuses shares that leave nothing for the leaves
        counts = [price for price in (*plan.tests, plan.left(self.max_depth)) if price]
        paid = all(scale_of(price) <= LARGEST_SCALE for price in counts)
        if self.own is not None or not self.pays_splits(axis):
            return paid  # a rule of one's own says for each purchase what it pays
        n_cuts = self.n_quantiles if self.partitioner == "quantile" else 1
        halves = 2 if axis == "spread" and self.partitioner in ("median", "quantile") else 1
        cuts = [Fraction(price) / halves for price in plan.splits]
        return paid and all(price > least_price(n_cuts, most_lines(n_cuts), price) for price in cuts)

    def plan(self, epsilon: Exact, first_test: int, axis: str) -> LevelBudgets:
        """Return what every level may spend."""
        shares = self.shares
        if self.own is None and self.partitioner == "uniform":
            shares = (shares[0] + shares[1], Fraction(0), shares[2])
        return LevelBudgets.make(
            epsilon,
            depth=self.max_depth,
            first_test=first_test,
            shares=shares,
            kind=self.budget,
            fan_out=self.fan_out,
            paid_splits=self.pays_splits(axis),
        )

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


def _rounded_up(number: Exact) -> str:
    """Write a number with three digits, no less than it is."""
    text = f"{float(number):.3g}"
    return text if Fraction(text) >= number else f"{float(number) * 1.01:.3g}"
