"""A check by public values, before rows are read, that a grid fits its memory; errors suggest what would fit."""

import dataclasses
import math
from typing import Any

from discreet.core import Categorical, Domain, Exact, checks
from discreet.engines import GridMap
from discreet.engines.passes import DENSE_LIMIT
from discreet.errors import InvalidArgument
from discreet.synopses.boxes.grid.settings import GridSettings
from discreet.synopses.boxes.memory import GIB, cell_bytes, listed_of_large, nested_bytes, shown


def check_size(domain: Domain, settings: GridSettings, epsilon: Any = None, n_rows: Any = None) -> None:
    """Refuse a grid that does not fit its memory, by public values alone, before anything is spent or read.

    ``epsilon`` and ``n_rows`` are what the user declared; None where that is not known yet.
    """
    rule = settings.rule
    floor = [None if isinstance(c, Categorical) else 1 for c in domain]
    if isinstance(rule, tuple) and len(rule) != len(domain):
        raise InvalidArgument("rule", rule, f"one number or {len(domain)} of them", "rule=2")
    if isinstance(rule, tuple):
        _check_parts(domain, rule)
    smallest = _n_cells(domain, floor if isinstance(rule, str) else rule)
    if settings.two_levels:
        most = min(DENSE_LIMIT, settings.most_nested(len(domain)) // 2)
        if smallest > most:
            needed = shown(2 * smallest * nested_bytes(len(domain)))
            expected = f"another: the categories alone make {smallest:,} cells, about {needed} in two levels, above the"
            limit = f"{most:,} that fit max_memory={settings.memory / GIB:g}"
            raise InvalidArgument("rule", rule, f"{expected} {limit}", _other_grid(domain, settings, epsilon, n_rows))
    elif smallest >= 2**63:
        raise InvalidArgument(
            "rule", rule, "a grid of fewer than 2**63 cells", _other_grid(domain, settings, epsilon, n_rows)
        )
    elif smallest > settings.most_listed(len(domain)):
        grid = GridMap(domain, floor if isinstance(rule, str) else rule)
        budget = math.inf if epsilon is None else checks.budget("epsilon", epsilon)
        rows = 0.0 if n_rows is None or epsilon is None else checks.finite("n_rows", n_rows)
        check_large(grid, settings, budget, rows)


def _check_parts(domain: Domain, rule: tuple[int | None, ...]) -> None:
    """Refuse parts that an axis cannot have: one of categories has a cell for each, any other needs a number."""
    fixed = [
        len(column.categories) if isinstance(column, Categorical) else parts or 16
        for column, parts in zip(domain, rule, strict=True)
    ]
    for column, parts, right in zip(domain, rule, fixed, strict=True):
        known = isinstance(column, Categorical)
        if parts != right and not (known and parts is None):
            expected = f"{right} for {column.name!r}, its categories" if known else f"a number for {column.name!r}"
            raise InvalidArgument("rule", list(rule), expected, f"rule={fixed}")


def _n_cells(domain: Domain, rule: Any) -> int:
    """Return the cells of a grid, also of one that is too large to be one."""
    parts = rule if isinstance(rule, (tuple, list)) else [rule] * len(domain)
    sizes = (len(c.categories) if isinstance(c, Categorical) else p for c, p in zip(domain, parts, strict=True))
    return math.prod((size or 1) + (c.missing == "own") for size, c in zip(sizes, domain, strict=True))


def _other_grid(domain: Domain, settings: GridSettings, epsilon: Any, n_rows: Any) -> str:
    """Return a rule that fits, or else another method."""
    if settings.rule != "rugnik":
        try:
            check_size(domain, dataclasses.replace(settings, rule="rugnik"), epsilon, n_rows)
        except InvalidArgument:
            pass
        else:
            return 'rule="rugnik"'
    return "TreeSynopsis, or fewer columns"


def survival_cutoff(n_cells: int, epsilon: Exact, expected_survivors: float) -> int:
    """Return the smallest cutoff τ >= 0 that at most the given number of empty cells exceeds in expectation.

    τ = ceil(ln(M/(σ (1+α)))/ε) - 1, a function of public values. ε = ∞: 0, which keeps the occupied cells.
    """
    if epsilon == math.inf:
        return 0
    rate = float(epsilon)
    return max(0, math.ceil(math.log(n_cells / (expected_survivors * (1 + math.exp(-rate)))) / rate) - 1)


def check_large(grid: GridMap, settings: GridSettings, epsilon: Exact, n_rows: float) -> None:
    """Refuse a grid with a cutoff that may list more cells than fit the memory; ``n_rows`` is noisy or public."""
    most = settings.memory // cell_bytes(len(grid.domain))

    def listed(survivors: float) -> float:
        cutoff = survival_cutoff(grid.n_cells, epsilon, survivors)
        return listed_of_large(grid.n_cells, n_rows, epsilon, cutoff, survivors)

    wanted = listed(settings.expected_survivors)
    if wanted <= most:
        return
    size = f"{wanted:,.0f} cells of {grid.n_cells:,}, about {shown(wanted * cell_bytes(len(grid.domain)))}"
    fewer = (settings.expected_survivors / 10**i for i in range(1, 16))
    found = next((f"expected_survivors={s:g}" for s in fewer if listed(float(f"{s:g}")) <= most), None)
    if n_rows <= most and found is not None:
        expected = f"smaller: the grid may list {size}, above max_memory={settings.memory / GIB:g}"
        raise InvalidArgument("expected_survivors", settings.expected_survivors, expected, found)
    expected = f"another: the grid may list {size}, above max_memory={settings.memory / GIB:g}"
    other = found if isinstance(settings.rule, str) else None
    fix = other or _other_grid(grid.domain, settings, epsilon, n_rows)
    raise InvalidArgument("rule", settings.rule, expected, fix)
