"""Pictures of clusters, with Plotly: what speaks for a number of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import MissingExtra

if TYPE_CHECKING:
    from discreet.clustering.central.how_many import KSuggestion

TEAL, INK, MARK = "#1f8a7d", "#57606a", "#d1242f"


def _plotly() -> Any:
    try:
        import plotly.graph_objects as go
    except ImportError:
        raise MissingExtra("drawing clusters", "plot") from None
    return go


def draw_suggestion(found: KSuggestion) -> Any:
    """Draw the four curves, each with its own vote, and the answer above them."""
    go = _plotly()
    from plotly.subplots import make_subplots

    panels = {
        "elbow": ("elbow: bend of the log cost", found.elbow, None),
        "silhouette": ("silhouette, beyond no clusters", found.silhouette, None),
        "gap": ("gap to no clusters", found.gap, found.gap_errors),
        "BIC": ("BIC, above the best", found.bic - np.nanmin(found.bic) if np.isfinite(found.bic).any() else found.bic,
                None),
    }  # fmt: skip
    figure = make_subplots(2, 2, subplot_titles=[title for title, _, _ in panels.values()], vertical_spacing=0.16)
    numbers = np.arange(1, len(found.gap) + 1)
    for place, (name, (_, values, errors)) in enumerate(panels.items()):
        row, column = place // 2 + 1, place % 2 + 1
        error = None if errors is None else {"array": errors, "color": INK, "thickness": 1}
        line = {"color": TEAL, "width": 2}
        curve = go.Scatter(x=numbers, y=values, error_y=error, mode="lines+markers", line=line, marker={"size": 5})
        figure.add_trace(curve, row, column)
        if name in found.votes and np.isfinite(values[found.votes[name] - 1]):
            vote = found.votes[name]
            mark = {"size": 12, "color": MARK, "symbol": "circle-open", "line": {"width": 2}}
            dot = go.Scatter(x=[vote], y=[values[vote - 1]], mode="markers+text", marker=mark, text=[f" {vote}"],
                             textposition="top center", textfont={"color": MARK})  # fmt: skip
            figure.add_trace(dot, row, column)
        elif name in found.votes:
            figure.add_annotation(text=f"vote: {found.votes[name]}", x=0, y=1, xref="x domain", yref="y domain",
                                  showarrow=False, font={"color": MARK}, row=row, col=column)  # fmt: skip
        else:
            figure.add_annotation(text="not worked out", x=0.5, y=0.5, xref="x domain", yref="y domain",
                                  showarrow=False, font={"color": INK}, row=row, col=column)  # fmt: skip
    for column in (1, 2):
        figure.update_xaxes(title="number of clusters", row=2, col=column)
    title = found.text.split(";")[0] + (f"<br><sup>{found.reason}</sup>" if found.n_clusters and found.reason else "")
    figure.update_layout(
        title={"text": title}, template="plotly_white", width=760, height=620, showlegend=False, margin={"t": 100}
    )
    return figure
