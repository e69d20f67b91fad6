"""The settings of a tree, checked before any row is read, and the public rules that "auto" stands for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.core import at_most, checks
from discreet.core.budget import Epsilon, Price
from discreet.errors import InvalidArgument, InvalidType
from discreet.mechanisms import law_for, least_price
from discreet.synopses.boxes.grid.rules import rugnik
from discreet.synopses.boxes.memory import GIB, memory_bytes, node_bytes
from discreet.synopses.boxes.tree.budgets import LevelBudgets, OwnBudget, read_shares
from discreet.synopses.boxes.tree.own import OwnPartitioner
from discreet.synopses.boxes.tree.partitioners import ROWS_PER_PART, most_lines

PARTITIONERS = ("binary", "median", "quantile", "uniform", "privtree", "density")
#: Those that pay for splits. "uniform" does where others take turns with it; alone, its tests are its sizes.
_PRIVATE = ("median", "quantile", "density")
#: Shares of tests, splits and publication where none are given.
SHARES = (Fraction(15, 100), Fraction(25, 100), Fraction(60, 100))
HALVES = {
    "privtree": (Fraction(1, 2), Fraction(0), Fraction(1, 2)),
    "density": (Fraction(0), Fraction(1, 2), Fraction(1, 2)),
}
#: Where a PrivTree grows below levels of another kind: its structure, the splits above it, publication
#: (benchmarks/tuning/mixed_trees.py).
ABOVE_PRIVTREE = (Fraction(35, 100), Fraction(10, 100), Fraction(55, 100))
#: Levels below the first tested one with ``max_depth="auto"`` (benchmarks/tuning/depth.py).
#: Levels whose cuts are free may be more. A PrivTree pays for none, so its limit is far; a tree of grids needs two.
DEEPER = {"binary": 4, "median": 2, "quantile": 1, "density": 2, "privtree": 6}
_MOST_DEPTH = 62
#: Leaves that a tree may have if nothing but its depth bounds them.
MOST_LEAVES = 2**22
#: Number of columns that suggestions should work for while the true one is not known.
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
    #: The partitioners of the levels, the last one for all below, where they take turns.
    levels: tuple[str, ...] = ()
    auto_depth: bool = False

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> TreeSettings:
        """Check the options of a `TreeSynopsis` against each other; each by itself is clean already."""
        partitioner, shares, chosen = (options[name] for name in ("partitioner", "shares", "axis"))
        own = partitioner if isinstance(partitioner, OwnPartitioner) else None
        levels = _read_levels(partitioner)
        kind, levels = (levels[0], ()) if len(levels) == 1 else ("mixed", levels)
        auto_depth = options["max_depth"] == "auto"
        # Until the noisy number of rows is known, an automatic depth stands for the least that the settings need.
        depth = max(1, len(levels)) if auto_depth else options["max_depth"]
        if depth < len(levels):
            expected = f"at least {len(levels)}, one level for each of the partitioners"
            raise InvalidArgument("max_depth", depth, expected, f"max_depth={len(levels)}")
        limit = None if options["threshold"] == "auto" else float(options["threshold"])
        first = None if options["test_from"] == "auto" else options["test_from"]
        if first is not None and first > (_MOST_DEPTH if auto_depth else depth):
            expected = f"at most the depth of the tree, {depth}"
            raise InvalidArgument("test_from", first, expected, f"test_from={depth}")
        if kind == "privtree" and chosen == "spread":
            raise InvalidArgument("axis", chosen, 'a public rule with partitioner="privtree"', 'axis="auto"')
        cuts = options["n_quantiles"] if "quantile" in (kind, *levels) else 1
        if own is not None:
            cuts = checks.whole("fan_out", own.fan_out, low=2, high=1024) - 1
        usual = ABOVE_PRIVTREE if "privtree" in levels else HALVES.get(kind, SHARES)
        divided = usual if shares is None else read_shares(shares)
        if "privtree" in (kind, *levels) and not divided[0] + (0 if levels else divided[1]):
            raise InvalidArgument("shares", shares, "something for the structure of the tree", "shares=(0.5, 0, 0.5)")
        if not isinstance(options["budget"], (str, OwnBudget)):
            raise InvalidType("budget", options["budget"], "a name or an OwnBudget", 'budget="geometric"')
        plain = {name: options[name] for name in ("budget", "leaf_means", "bits", "n_clusters", "axis")}
        settings = cls(
            partitioner=kind, max_depth=depth, threshold=limit, shares=divided, n_quantiles=cuts, test_from=first,
            memory=memory_bytes(options["max_memory"]), own=own, levels=levels, auto_depth=auto_depth,
            **plain,
        )  # fmt: skip
        if settings.pays_splits(chosen) and not divided[1]:
            raise InvalidArgument("shares", shares, "something for the cuts of the tree", "shares=(0.15, 0.25, 0.6)")
        settings._check_leaves(MOST_LEAVES, f"small enough for {MOST_LEAVES} leaves", WIDE)
        return settings

    @property
    def kinds(self) -> tuple[str, ...]:
        """The partitioner of every level."""
        if not self.levels:
            return (self.partitioner,) * self.max_depth
        return tuple(self.levels[min(i, len(self.levels) - 1)] for i in range(self.max_depth))

    @property
    def roots_at(self) -> int | None:
        """The level at which PrivTrees begin below others, if they do."""
        return len(self.levels) - 1 if self.levels and self.levels[-1] == "privtree" else None

    def above(self) -> TreeSettings:
        """Return the settings of the levels above PrivTrees: no tests, whose share waits for what is below."""
        tests, splits, counts = self.shares
        depth = self.roots_at or 0
        shares = (Fraction(0), splits, tests + counts)
        return replace(self, levels=self.levels[:-1], max_depth=depth, test_from=depth, shares=shares)

    def deepened(self, epsilon: Epsilon, n_rows: float, n_axes: int) -> TreeSettings:
        """Return the settings with the depth that "auto" stands for: as many levels as the rows can fill, and can pay.

        That is some levels below the first tested one, whose nodes are as many as the cells of a grid for these data.
        """
        if not self.auto_depth:
            return self
        deep = replace(self, max_depth=62, test_from=None)
        most = _levels_within(self.most_leaves(n_axes), self.fan_out)
        first = min(most, self._grid_levels(epsilon, n_rows, n_axes))
        least = max(1, len(self.levels))
        last = (self.levels or (self.partitioner,))[-1]
        depth = max(2, least) if last == "uniform" else min(62, max(least, first + DEEPER.get(last, 2)))
        if self.threshold is not None or not self.shares[0]:
            depth = max(least, min(depth, most))  # nothing but the depth bounds it
        while depth > least and not replace(deep, max_depth=depth)._pays(n_axes, epsilon):
            depth -= 1
        return replace(self, max_depth=depth, test_from=self._first_until(depth))

    def check_size(self, n_axes: int) -> None:
        """Refuse a tree whose untested levels alone have too many nodes: the depth, not the rows, decides on them."""
        most = self.most_leaves(n_axes)
        fits = f"small enough for the {most:,} leaves of {n_axes} columns that fit max_memory={self.memory / GIB:g}"
        self._check_leaves(most, fits, n_axes)

    def check_fit(self, n_axes: int, epsilon: Any, n_rows: Any, size_share: Any) -> None:
        """Refuse by what the user declared, before rows are read: a tree too large, or cuts that cannot be paid."""
        self.check_size(n_axes)
        whole = Epsilon(checks.budget("epsilon", epsilon))
        left = whole * (1 - checks.probability("size_share", size_share)) if n_rows is None else whole
        self.check_prices(n_axes, left, whole)

    def check_prices(self, n_axes: int, epsilon: Epsilon, whole: Epsilon | None = None) -> None:
        """Refuse a tree with a level that cannot pay: noise too wide to be drawn, or cuts for less than rounding costs.

        ``whole`` is what the user gave, if some of it is for the number of rows.
        """
        if self._pays(n_axes, epsilon):
            return
        given = epsilon if whole is None else whole
        shallow = (replace(self, max_depth=d, test_from=self._first_until(d)) for d in range(self.max_depth - 1, 0, -1))
        fits = next((other for other in shallow if other._pays(n_axes, epsilon)), None)
        if fits is not None:
            also = f", test_from={fits.test_from}" if fits.test_from != self.test_from else ""
            expected = f"small enough that every level can pay for its tests and cuts from epsilon={given.shown:g}"
            raise InvalidArgument("max_depth", self.max_depth, expected, f"max_depth={fits.max_depth}{also}")
        enough = given
        while not self._pays(n_axes, enough * (Fraction(epsilon.amount) / Fraction(given.amount))):
            enough = enough * 2
        expected = "large enough that every level can pay for its tests and cuts"
        raise InvalidArgument("epsilon", given.shown, expected, f"epsilon={at_most(Fraction(enough.amount), 3)}")

    def _first_until(self, depth: int) -> int | None:
        return None if self.test_from is None else min(self.test_from, depth)

    def _pays(self, n_axes: int, epsilon: Epsilon) -> bool:
        """Return whether every level can pay for its tests and cuts, and every path for its leaf."""
        if (self.own is None and self.partitioner == "privtree") or epsilon.infinite:
            return True
        if self.roots_at is not None:
            return self.above()._pays(n_axes, epsilon)
        axis = self.axis_rule(n_axes)
        plan = self.plan(epsilon, self.test_from or 0, axis)  # refuses shares that leave nothing for the leaves
        counts = [price for price in (*plan.tests, plan.left(self.max_depth)) if price]
        paid = all(law_for(price).drawable for price in counts)
        if self.own is not None or not self.pays_splits(axis):
            return paid  # a rule of one's own says for each purchase what it pays
        for kind, price in zip(self.kinds, plan.splits, strict=True):
            n_cuts = self.n_quantiles if kind == "quantile" else 1
            if kind == "uniform":
                paid = paid and law_for(price).drawable
                continue
            half = Fraction(price.amount) / (2 if axis == "spread" and kind in ("median", "quantile") else 1)
            paid = paid and (not price or half > least_price(n_cuts, most_lines(n_cuts), half))
        return paid

    def plan(self, price: Price, first_test: int, axis: str) -> LevelBudgets:
        """Return what every level may spend."""
        shares = self.shares
        if self.own is None and self.partitioner == "uniform":
            shares = (shares[0] + shares[1], Fraction(0), shares[2])
        return LevelBudgets.make(
            price,
            depth=self.max_depth,
            first_test=first_test,
            shares=shares,
            kind=self.budget,
            fan_out=self.fan_out,
            paid_splits=[self._level_pays(kind, axis) for kind in self.kinds],
        )

    def _check_leaves(self, most: int, expected: str, n_axes: int) -> None:
        """Refuse levels that nothing but their number bounds; suggest what fits for ``n_axes``."""
        by_depth = self.threshold is not None or not self.shares[0]
        free = self.max_depth if by_depth else self.test_from or 0
        if self.roots_at is not None:
            free = self.roots_at
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
        held = self.levels or ((self.partitioner if self.own is None else "quantile"),)  # it may ask for quantiles
        return self.memory // max(node_bytes(n_axes, kind, means=self.leaf_means) for kind in held)

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
        if self.levels:
            return "widest"
        private = self.partitioner in ("binary", "median", "quantile") and self.max_depth < 2 * n_axes and n_axes > 1
        return "spread" if private else "widest"

    def pays_splits(self, axis: str) -> bool:
        """Return whether cuts cost budget, with this rule for the axis."""
        return any(self._level_pays(kind, axis) for kind in self.levels or (self.partitioner,))

    def _level_pays(self, kind: str, axis: str) -> bool:
        if self.own is not None:
            return self.own.paid
        return kind in _PRIVATE or (kind, axis) == ("binary", "spread") or (kind == "uniform" and bool(self.levels))

    def first_test(self, epsilon: Epsilon, n_rows: float, n_axes: int, axis: str) -> int:
        """Return the first tested level: the largest s with F^s no more than the cells of a grid for these data.

        The grid is the one for the budget that leaves would have without any test.
        """
        if self.partitioner == "uniform" and self.own is None:
            return 0  # its tests also set the size of the grids
        if self.roots_at is not None:
            return self.roots_at
        if self.test_from is not None:
            return self.test_from
        return min(self.max_depth, self._grid_levels(epsilon, n_rows, n_axes, axis))

    def _grid_levels(self, epsilon: Epsilon, n_rows: float, n_axes: int, axis: str = "widest") -> int:
        most = self.most_leaves(n_axes)
        if "uniform" in self.levels:  # a grid makes at once what others make in many levels
            return self.levels.index("uniform") + 1
        if epsilon.infinite:
            return _levels_within(most, self.fan_out)
        whole = self.shares[2] + (self.shares[1] if self.pays_splits(axis) else 0)
        share = (epsilon * (self.shares[2] / whole)).shown
        if self.n_clusters is None:
            cells = (share * max(1.0, n_rows) / ROWS_PER_PART) ** (2 * n_axes / (2 + n_axes))
        else:
            cells = float(rugnik(n_rows, share, n_axes, self.n_clusters)) ** n_axes
        return _levels_within(min(max(cells, 1.0), most), self.fan_out)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data, for the guarantee."""
        return {
            "method": "tree",
            "partitioner": list(self.levels) if self.levels else self.partitioner,
            "max_depth": self.max_depth,
            "threshold": "auto" if self.threshold is None else self.threshold,
            "budget": self.budget if isinstance(self.budget, str) else type(self.budget).__name__,
            "shares": [float(s) for s in self.shares],
            "n_quantiles": self.n_quantiles,
            "leaf_means": self.leaf_means,
            "bits": self.bits,
            **({"depth": "auto"} if self.auto_depth else {}),
        }


def _read_levels(partitioner: Any) -> tuple[str, ...]:
    """Return the names of the partitioners, checked; one if it is not a list."""
    if isinstance(partitioner, (str, OwnPartitioner)):
        return (partitioner if isinstance(partitioner, str) else type(partitioner).__name__,)
    fix = 'partitioner=["median", "median", "privtree"]'
    if not isinstance(partitioner, Sequence) or isinstance(partitioner, (bytes, bytearray, memoryview)):
        raise InvalidType("partitioner", partitioner, "a name, a list of names or an OwnPartitioner", fix)
    if not 0 < len(partitioner) <= _MOST_DEPTH:
        raise InvalidArgument("partitioner", list(partitioner), f"a name, or a list of 1 to {_MOST_DEPTH}", fix)
    if "privtree" in partitioner[:-1]:
        expected = "a list in which privtree is last: it grows to its end"
        raise InvalidArgument("partitioner", list(partitioner), expected, fix)
    return tuple(partitioner)


def _levels_within(n_leaves: float, fan_out: int) -> int:
    """Return the largest s with F^s leaves at most."""
    return max(0, math.floor(math.log(n_leaves, fan_out) + 1e-9))
