"""The settings of a grid synopsis, checked against each other before any row is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import Exact, checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.synopses.boxes.memory import cell_bytes, memory_bytes, nested_bytes
from discreet.synopses.publishing import TYPICAL_OFFSET

RULES = ("rugnik", "eugkm", "adaptive", "dpkfm")


@dataclass(frozen=True)
class Adaptive:
    """The constants of an adaptive grid.

    ``first_share`` of the budget goes to the first level; ``c`` and ``c2`` say how coarse the levels are.
    """

    first_share: Fraction
    c: float
    c2: float

    @classmethod
    def read(cls, settings: Mapping[str, Any] | None) -> Adaptive:
        """Check the given constants; missing ones are those of Qardaji, Yang and Li."""
        given = {"first_share": 0.5, "c": 10, "c2": 5, **(settings or {})}
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
    """The checked settings of a grid, named as in `GridSynopsis`."""

    rule: Any
    n_clusters: int
    axes: str
    max_cells: int
    expected_survivors: float
    leaf_means: bool | str
    adaptive: Adaptive
    memory: int
    theta: float

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> GridSettings:
        """Read the clean options of a `GridSynopsis`."""
        rule = options["rule"]
        if isinstance(rule, (Sequence, np.ndarray)) and not isinstance(rule, str):
            rule = tuple(None if p is None else checks.whole(f"rule[{i}]", p, low=1) for i, p in enumerate(rule))
        elif isinstance(rule, bool) or not isinstance(rule, (str, int)):
            raise InvalidType("rule", rule, f"one of {', '.join(RULES)}, a number of parts or several", 'rule="rugnik"')
        return cls(
            rule, options["n_clusters"], options["axes"], options["max_cells"], float(options["expected_survivors"]),
            options["leaf_means"], Adaptive.read(options["adaptive"]), memory_bytes(options["max_memory"]),
            float(options["theta"]),
        )  # fmt: skip

    @property
    def two_levels(self) -> bool:
        """True if cells are divided by their own noisy counts."""
        return self.rule in ("adaptive", "dpkfm")

    def most_listed(self, n_columns: int) -> int:
        """Return how many cells a grid of one level lists at most: ``max_cells``, or as many as fit the memory."""
        return max(1, min(self.max_cells, self.memory // cell_bytes(n_columns, means=self.leaf_means is not False)))

    def most_nested(self, n_columns: int) -> int:
        """Return how many cells both levels of an adaptive grid may have together."""
        return max(1, self.memory // nested_bytes(n_columns, means=self.leaf_means is not False))

    def wants_means(self, n_rows: float, n_cells: int, epsilon: Exact, d: int) -> bool:
        """Return whether cells get means: they pay when a cell's rows times ε exceed √((d+2)(d+3)/3)/β."""
        if self.leaf_means != "auto":
            return bool(self.leaf_means)
        return n_rows / n_cells * float(epsilon) >= math.sqrt((d + 2) * (d + 3) / 3) / TYPICAL_OFFSET
