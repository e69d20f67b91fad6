"""The settings of a grid synopsis, checked against each other before any row is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import Exact, checks
from discreet.errors import InvalidType
from discreet.synopses.boxes.memory import cell_bytes, memory_bytes, nested_bytes
from discreet.synopses.publishing import TYPICAL_OFFSET

RULES = ("rugnik", "eugkm", "adaptive", "dpkfm")


@dataclass(frozen=True)
class GridSettings:
    """The checked settings of a grid, named as in `GridSynopsis`."""

    rule: Any
    n_clusters: int
    max_cells: int
    expected_survivors: float
    leaf_means: bool | str
    memory: int

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> GridSettings:
        """Read the clean options of a `GridSynopsis`."""
        rule = options["rule"]
        if isinstance(rule, (Sequence, np.ndarray)) and not isinstance(rule, str):
            rule = tuple(None if p is None else checks.whole(f"rule[{i}]", p, low=1) for i, p in enumerate(rule))
        elif isinstance(rule, bool) or not isinstance(rule, (str, int)):
            raise InvalidType("rule", rule, f"one of {', '.join(RULES)}, a number of parts or several", 'rule="rugnik"')
        plain = {name: options[name] for name in ("n_clusters", "max_cells", "leaf_means")}
        survivors, memory = float(options["expected_survivors"]), memory_bytes(options["max_memory"])
        return cls(rule, expected_survivors=survivors, memory=memory, **plain)

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
