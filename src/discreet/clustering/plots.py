"""Pictures of clusters, with Plotly: the votes for their number, and where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import plotly, portable
from discreet.errors import InvalidArgument

if TYPE_CHECKING:
    from discreet.clustering.how_many.suggest import KSuggestion
    from discreet.clustering.shapes.base import LeafClusters

TEAL, INK, MARK = "#1f8a7d", "#57606a", "#d1242f"
#: Colours of clusters; with more clusters they repeat.
COLOURS = ("#1f8a7d", "#e76f51", "#3a5a98", "#e9c46a", "#8e5ea2", "#7f9f3f", "#c2557a", "#4fb3c9", "#a0703c", "#6b7280")


def draw_suggestion(found: KSuggestion) -> Any:
    """Draw the four curves, each with its own vote, and the answer above them."""
    plotly("clusters")
    from plotly.subplots import make_subplots

    bic = found.bic - np.nanmin(found.bic) if np.isfinite(found.bic).any() else found.bic
    panels = {
        "elbow": ("elbow: bend of the log cost", found.elbow),
        "silhouette": ("silhouette, beyond no clusters", found.silhouette),
        "gap": ("gap to no clusters", found.gap),
        "BIC": ("BIC, above the best", bic),
    }
    titles = [title for title, _ in panels.values()]
    figure = portable(make_subplots(2, 2, subplot_titles=titles, vertical_spacing=0.16))
    look: dict[str, Any] = {"mode": "lines+markers", "line": {"color": TEAL, "width": 2}, "marker": {"size": 5}}
    mark = {"size": 12, "color": MARK, "symbol": "circle-open", "line": {"width": 2}}
    for place, (name, (_, values)) in enumerate(panels.items()):
        at = {"row": place // 2 + 1, "col": place % 2 + 1}
        error = {"array": found.gap_errors, "color": INK, "thickness": 1} if name == "gap" else None
        figure.add_scatter(x=np.arange(1, len(found.gap) + 1), y=values, error_y=error, **look, **at)
        vote = found.votes.get(name)
        if vote is not None and np.isfinite(values[vote - 1]):
            figure.add_scatter(x=[vote], y=[values[vote - 1]], mode="markers+text", marker=mark, text=[f" {vote}"],
                               textposition="top center", textfont={"color": MARK}, **at)  # fmt: skip
        else:
            said, colour = ("not worked out", INK) if vote is None else (f"vote: {vote}", MARK)
            figure.add_annotation(text=said, x=0.5, y=0.5, xref="x domain", yref="y domain", showarrow=False,
                                  font={"color": colour}, **at)  # fmt: skip
    for column in (1, 2):
        figure.update_xaxes(title="number of clusters", row=2, col=column)
    title = found.text.split(";")[0] + (f"<br><sup>{found.reason}</sup>" if found.n_clusters and found.reason else "")
    layout = {"template": "plotly_white", "width": 760, "height": 620, "showlegend": False, "margin": {"t": 100}}
    return figure.update_layout(title={"text": title}, **layout)


def draw_clusters(found: LeafClusters, columns: tuple[str, str] | None) -> Any:
    """Draw the leaves of each cluster in its colour, and the mean of each."""
    go = plotly("clusters")
    seen = found.synopsis_
    names = seen.domain.names[:2] if columns is None else tuple(columns)
    if len(names) != 2 or len(set(names)) < 2 or not set(names) <= set(seen.domain.names):
        known = seen.domain.names
        raise InvalidArgument("columns", columns, f"two of {', '.join(known)}", f"columns={known[:2]}")
    axes = [seen.domain.position(name) for name in names]
    figure = portable(go.Figure())
    for label in range(found.n_clusters_):
        own = np.flatnonzero(found.labels_ == label)
        (x0, y0), (x1, y1) = seen.lower[own][:, axes].T, seen.upper[own][:, axes].T
        gap = np.full(len(own), np.nan)
        x, y = (np.column_stack(c).ravel() for c in ([x0, x1, x1, x0, x0, gap], [y0, y0, y1, y1, y0, gap]))
        colour = COLOURS[label % len(COLOURS)]
        said = f"cluster {label}, about {found.clusters_.weights[label]:,.0f} rows"
        box = go.Scatter(x=x, y=y, fill="toself", mode="lines", line={"width": 0}, fillcolor=colour, opacity=0.75,
                         name=said, hoverinfo="name", showlegend=found.n_clusters_ <= len(COLOURS))  # fmt: skip
        figure.add_trace(box)
    middle = found.clusters_.centers[:, axes]
    mark = {"symbol": "x", "size": 8, "color": "#24292f"}
    figure.add_trace(go.Scatter(x=middle[:, 0], y=middle[:, 1], mode="markers", marker=mark, name="means"))
    n = found.n_clusters_
    title = f"{n} cluster{'s' * (n != 1)} of {type(found).__name__}"
    legend = {"orientation": "h", "y": -0.14}
    figure.update_layout(title={"text": title}, template="plotly_white", width=760, height=700, legend=legend)
    for axis, at, update in zip(names, axes, (figure.update_xaxes, figure.update_yaxes), strict=True):
        update(title=axis, range=[seen.domain.low[at], seen.domain.high[at]])
    return figure
