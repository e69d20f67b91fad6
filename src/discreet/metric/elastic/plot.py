"""A picture of elastic noise: how far off reports are over the map, and where those of one place land."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InvalidArgument, MissingExtra
from discreet.metric.perturber import checked_domain, numeric_names
from discreet.noise import generator

if TYPE_CHECKING:
    from discreet.metric.elastic.elastic_laplace import ElasticLaplace

MARK = "#d1242f"
#: Points of the picture along each axis, and reports that are drawn.
_FINE, _REPORTS = 160, 300


def draw(mechanism: ElasticLaplace, point: Any = None) -> Any:
    """Return a figure of the mean error over the map, with simulated reports of one public place."""
    try:
        import plotly.graph_objects as go
    except ImportError:
        raise MissingExtra("drawing a mechanism", "plot") from None
    domain = checked_domain(mechanism)
    numeric = domain.select(numeric_names(domain))
    if len(numeric) != 2:
        raise InvalidArgument("domain", numeric.names, "two numeric columns to draw", "domain with two")
    law, box = mechanism.law, numeric.bounds
    axes = [box.lower[i] + box.widths[i] * (np.arange(_FINE) + 0.5) / _FINE for i in (0, 1)]
    grid = np.stack(np.meshgrid(*axes, indexing="xy"), axis=-1).reshape(-1, 2)
    errors = law.expected_error()[law.cells(grid)].reshape(_FINE, _FINE)
    place = law.places[int(np.argmax(law.people))] if point is None else np.asarray(point, np.float64)
    if place.shape != (2,) or not np.isfinite(place).all():
        raise InvalidArgument("point", point, "two finite coordinates", f"point={box.center.tolist()}")
    # A picture of a public place: the seed hides nothing that the law does not show.
    own = np.repeat(law.cells(place[None]), _REPORTS)
    drawn = law.places[law.table.draw(own, generator(0))]
    logs = np.log10(np.maximum(errors, errors[errors > 0].min(initial=1e-300)))
    ticks = np.linspace(logs.min(), logs.max(), 5)
    figure = go.Figure(
        go.Heatmap(
            x=axes[0], y=axes[1], z=logs, colorscale="Teal", customdata=errors,
            hovertemplate="%{x:.4g}, %{y:.4g}: %{customdata:.3g} off on average<extra></extra>",
            colorbar={"title": "mean error", "tickvals": ticks, "ticktext": [f"{10**t:.2g}" for t in ticks]},
        )
    )  # fmt: skip
    figure.add_trace(
        go.Scatter(x=drawn[:, 0], y=drawn[:, 1], mode="markers", name=f"{_REPORTS} reports of the place",
                   marker={"size": 4, "color": "#1f2328", "opacity": 0.45})
    )  # fmt: skip
    figure.add_trace(
        go.Scatter(x=place[:1], y=place[1:], mode="markers", name="the place", marker={"size": 11, "color": MARK,
                                                                                      "symbol": "x"})
    )  # fmt: skip
    figure.update_layout(
        title={"text": f"Elastic noise, level {float(mechanism.epsilon):.3g} in a crowd of "
               f"{float(mechanism.min_people):,.6g} ({len(law.lower):,} cells)", "font": {"size": 15}},
        template="plotly_white", width=760, height=720, xaxis_title=numeric.names[0], yaxis_title=numeric.names[1],
        legend={"orientation": "h", "y": -0.14, "x": 0},
    )  # fmt: skip
    return figure
