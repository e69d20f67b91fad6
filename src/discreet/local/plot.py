"""Draw estimates: bars with the intervals that go with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import MissingExtra

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from discreet.local.estimates import Estimate


def draw(found: Estimate) -> Figure:
    """Draw estimated shares, largest on top, each with its 95 % interval."""
    try:
        from plotly.graph_objects import Bar, Figure
    except ImportError:
        raise MissingExtra("drawing estimates", "plot") from None
    share = 100 * found.frequency
    low, high = (100 * end for end in found.interval(0.95, of="frequency"))
    errors = {"type": "data", "array": np.maximum(high - share, 0), "arrayminus": np.maximum(share - low, 0)}
    bars = Bar(
        x=share,
        y=[str(c) for c in found.candidates],
        orientation="h",
        error_x={**errors, "color": "#334155"},
        marker_color="#4f7cac",
        hovertemplate="%{y}: %{x:.2f} %<extra></extra>",
    )
    promise = f"ε = {found.guarantee.epsilon:g} per report, {found.n:,} reports"
    if found.guarantee.seeded:
        promise += " (seeded: not for publication)"
    figure = Figure(bars)
    figure.update_layout(
        title={"text": f"Estimated shares with 95 % intervals<br><sup>{promise}</sup>"},
        xaxis_title="share of the reporters, %",
        yaxis={"autorange": "reversed", "type": "category"},
        template="simple_white",
        height=180 + 22 * len(found),
        margin={"l": 120, "r": 30, "t": 80, "b": 60},
    )
    figure.update_xaxes(zeroline=True, zerolinecolor="#94a3b8")
    return figure
