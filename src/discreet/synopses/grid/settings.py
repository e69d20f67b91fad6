"""The settings of a grid synopsis, checked in one place before any row is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import Exact, checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.synopses.grid.rules import THETA
from discreet.synopses.memory import MOST_MEMORY, cell_bytes, nested_bytes, read_memory
from discreet.synopses.publishing import TYPICAL_OFFSET

#: More empty cells than this are not worth listing.
MOST_SURVIVORS = 10**7
RULES = ("rugnik", "eugkm", "adaptive", "rugnik-adaptive", "dpkfm")


@dataclass(frozen=True)
class Adaptive:
    """The constants of an adaptive grid.

    Attributes
    ----------
    first_share : Fraction
        Share of the budget for the first level.
    c, c2 : float
        How coarse the first and the second level are.
    """

    first_share: Fraction
    c: float
    c2: float

    @classmethod
    def read(cls, settings: Any) -> Adaptive:
        """Check what the user gave; None and missing entries are the published constants."""
        if settings is None:
            settings = {}
        if not isinstance(settings, Mapping):
            raise InvalidType("adaptive", settings, "a mapping", 'adaptive={"first_share": 0.5}')
        given = {"first_share": 0.5, "c": 10, "c2": 5, **settings}
        if len(given) > 3:
            unknown = sorted(map(str, set(given) - {"first_share", "c", "c2"}))
            raise InvalidArgument(
                "adaptive", unknown, "a mapping with first_share, c and c2 only", 'adaptive={"c": 10}'
            )
        return cls(
            checks.probability("adaptive['first_share']", given["first_share"]),
            float(checks.positive("adaptive['c']", given["c"])),
            float(checks.positive("adaptive['c2']", given["c2"])),
        )


@dataclass(frozen=True)
class GridSettings:
    """The settings of a grid, checked; named as in `GridSynopsis`."""

    rule: Any
    n_clusters: int
    axes: str
    max_cells: int
    expected_survivors: float
    leaf_means: Any
    adaptive: Adaptive
    memory: int
    theta: float = THETA

    @classmethod
    def read(
        cls,
        rule: Any = "rugnik",
        n_clusters: Any = 8,
        axes: Any = "scaled",
        max_cells: Any = 2**20,
        expected_survivors: Any = 100,
        leaf_means: Any = False,
        adaptive: Any = None,
        max_memory: Any = MOST_MEMORY,
        theta: Any = THETA,
    ) -> GridSettings:
        """Check every setting."""
        if isinstance(rule, str):
            rule = checks.choice("rule", rule, RULES)
        elif isinstance(rule, (Sequence, np.ndarray)):
            rule = tuple(None if p is None else checks.whole(f"rule[{i}]", p, low=1) for i, p in enumerate(rule))
        elif isinstance(rule, (int, np.integer)) and not isinstance(rule, bool):
            rule = checks.whole("rule", rule, low=1)
        else:
            raise InvalidType("rule", rule, f"one of {', '.join(RULES)}, a number of parts or several", 'rule="rugnik"')
        if not isinstance(leaf_means, (bool, np.bool_)) and leaf_means != "auto":
            kind = InvalidArgument if isinstance(leaf_means, str) else InvalidType
            raise kind("leaf_means", leaf_means, "True, False or 'auto'", "leaf_means='auto'")
        return cls(
            rule,
            checks.whole("n_clusters", n_clusters, low=1, high=2**31),
            checks.choice("axes", axes, ("scaled", "units")),
            checks.whole("max_cells", max_cells, low=1, high=2**27),
            _survivors(expected_survivors),
            leaf_means,
            Adaptive.read(adaptive),
            read_memory(max_memory),
            float(checks.positive("theta", theta)),
        )

    @property
    def two_levels(self) -> bool:
        """Whether cells are divided by their own noisy counts."""
        return self.rule in ("adaptive", "rugnik-adaptive", "dpkfm")

    def most_listed(self, n_columns: int) -> int:
        """Return how many cells a grid of one level lists at most: ``max_cells``, or as many as fit the memory."""
        return max(1, min(self.max_cells, self.memory // cell_bytes(n_columns, means=self.leaf_means is not False)))

    def most_nested(self, n_columns: int) -> int:
        """Return how many cells both levels of an adaptive grid may have together."""
        return max(1, self.memory // nested_bytes(n_columns, means=self.leaf_means is not False))

    def wants_means(self, n_rows: float, n_cells: int, epsilon: Exact, d: int) -> bool:
        """Tell whether cells get means: they pay when a cell's rows times ε exceed √((d+2)(d+3)/3)/β (spec 9.9)."""
        if self.leaf_means != "auto":
            return bool(self.leaf_means)
        return n_rows / n_cells * float(epsilon) >= math.sqrt((d + 2) * (d + 3) / 3) / TYPICAL_OFFSET


def _survivors(value: Any) -> float:
    number = float(checks.positive("expected_survivors", value))
    if number > MOST_SURVIVORS:
        raise InvalidArgument("expected_survivors", value, f"at most {MOST_SURVIVORS}", "expected_survivors=100")
    return number
