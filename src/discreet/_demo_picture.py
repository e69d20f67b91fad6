"""The picture of the demonstration: the raw rows, and what is published of them, with the centres found in each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from discreet.datasets import Dataset

FloatArray = npt.NDArray[np.float64]
PLAIN, PRIVATE = "#1b1f24", "#d1242f"
#: Sand for counts below zero, white for zero, teal for people.
SCALE = [[0.0, "#e9c46a"], [0.2, "#ffffff"], [1.0, "#1f8a7d"]]


def draw(
    path: Path,
    weights: npt.NDArray[np.int64],
    parts: int,
    private: FloatArray,
    plain: FloatArray,
    table: Dataset,
    epsilon: float,
) -> None:
    """Write a self-contained page with two panels."""
    x_name, y_name = table.domain.names
    low, high = table.domain.low, table.domain.high
    axes = [low[i] + (np.arange(parts) + 0.5) * (high[i] - low[i]) / parts for i in range(2)]
    private, plain = table.domain.from_unit(private), table.domain.from_unit(plain)
    figure = make_subplots(
        cols=2,
        horizontal_spacing=0.08,
        subplot_titles=("The raw rows (never released)", "What is published: noisy counts of cells"),
    )
    figure.add_trace(
        go.Scattergl(
            x=table.X[:, 0],
            y=table.X[:, 1],
            mode="markers",
            marker={"size": 3, "color": "#57606a", "opacity": 0.35},
            hoverinfo="skip",
            showlegend=False,
        ),
        row=1,
        col=1,
    )
    reach = max(1.0, float(np.quantile(weights, 0.99)))
    figure.add_trace(
        go.Heatmap(
            x=axes[0],
            y=axes[1],
            z=weights.reshape(parts, parts).T,
            zmin=-reach / 4,
            zmax=reach,
            colorscale=SCALE,
            colorbar={"title": "noisy count", "thickness": 12, "len": 0.8},
            hovertemplate=f"{x_name} %{{x:.4g}}, {y_name} %{{y:.4g}}: %{{z}}<extra></extra>",
        ),
        row=1,
        col=2,
    )
    marks = [
        (plain, "plain k-means on the raw rows", "circle-open", PLAIN),
        (private, "k-means on the release", "x-thin", PRIVATE),
    ]
    for column in (1, 2):
        for points, name, symbol, colour in marks:
            figure.add_trace(_centers(points, name, symbol, colour, column), row=1, col=column)
        figure.update_xaxes(title=f"{x_name} (years)", range=[low[0], high[0]], row=1, col=column)
        figure.update_yaxes(title=f"{y_name} (1000 euro a year)", range=[low[1], high[1]], row=1, col=column)
    figure.update_layout(
        title=f"{len(table):,} invented patients, before and after (ε = {epsilon:g})",
        template="plotly_white",
        width=1180,
        height=600,
        legend={"orientation": "h", "y": -0.16, "x": 0.5, "xanchor": "center"},
    )
    figure.write_html(path, include_plotlyjs=True, full_html=True)


def _centers(points: FloatArray, name: str, symbol: str, colour: str, column: int) -> go.Scatter:
    return go.Scatter(
        x=points[:, 0],
        y=points[:, 1],
        mode="markers",
        name=name,
        legendgroup=name,
        showlegend=column == 1,
        marker={"symbol": symbol, "size": 13, "color": colour, "line": {"width": 3, "color": colour}},
    )
