"""A table of starts of k-means on generated tables."""

from __future__ import annotations

import figure_results as results
from figure_results import table


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
