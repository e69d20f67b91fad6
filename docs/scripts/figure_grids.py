"""Tables of what was tried on generated tables for grids, and of starts of k-means."""

from __future__ import annotations

import figure_results as results
from figure_results import table

RULES = ("rugnik", "adaptive", "rugnik-adaptive")


def two_levels() -> str:
    """Return k-means on grids of one and two levels, by columns and budget."""
    rows = []
    for line in results.read("two_levels")["summary"]:
        low, middle, high = (line["rugnik-adaptive over adaptive, refined"][i] for i in (1, 0, 2))
        name = f"{line['d']}, {line['epsilon']:g}" if line["d"] else "all"
        costs = [f"{line[f'{rule}, {kind}']:.3f}" for kind in ("as drawn", "refined") for rule in RULES]
        rows.append([name, str(line["tables"]), *costs, f"{middle:.3f} ({low:.3f} to {high:.3f})"])
    heads = [f"`{rule}`, {kind}" for kind in ("as drawn", "refined") for rule in RULES]
    return table(["columns, ε", "tables", *heads, "the last two, paired"], rows)


def starts() -> str:
    """Return the cost and time of k-means‖ over those of the start in use."""
    rows = []
    for line in results.read("tune_starts")["k-means‖ over in use"]:
        name = f"{line['cells']:,} cells in {line['d']} columns, k = {line['k']}"
        whole = [_interval(line[key]) if key in line else "–" for key in ("search cost", "search seconds")]
        rows.append([name, _interval(line["cost"]), _interval(line["seconds"]), *whole])
    return table(["k-means‖ over k-means++", "one start: cost", "time", "whole search: cost", "time"], rows)


def _interval(ends: list[float]) -> str:
    return f"{ends[1]:.3f} ({ends[0]:.3f} to {ends[2]:.3f})"
