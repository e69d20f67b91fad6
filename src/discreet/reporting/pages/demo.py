"""The picture of the demonstration: the raw rows, and what is published of them, with the centres found in each."""

from __future__ import annotations

from pathlib import Path

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from discreet.core.arrays import FloatArray
from discreet.core.output import write_whole
from discreet.datasets import Dataset
from discreet.synopses import Synopsis

PLAIN, PRIVATE = "#1b1f24", "#d1242f"


def draw(path: Path, synopsis: Synopsis, private: FloatArray, plain: FloatArray, table: Dataset) -> None:
    """Write a self-contained page with two panels."""
    low, high = table.domain.low, table.domain.high
    figure = make_subplots(
        cols=2,
        horizontal_spacing=0.08,
        subplot_titles=("The raw rows (never released)", "What is published: noisy counts of cells"),
    )
    rows = go.Scattergl(
        x=table.X[:, 0],
        y=table.X[:, 1],
        mode="markers",
        marker={"size": 3, "color": "#57606a", "opacity": 0.35},
        hoverinfo="skip",
        showlegend=False,
    )
    figure.add_trace(rows, row=1, col=1)
    figure.add_trace(synopsis.plot().data[0], row=1, col=2)  # the density of the leaves
    marks = [
        (plain, "plain k-means on the raw rows", "circle-open", PLAIN),
        (private, "k-means on the release", "x-thin", PRIVATE),
    ]
    for column in (1, 2):
        for points, name, symbol, colour in marks:
            figure.add_trace(_centers(points, name, symbol, colour, column), row=1, col=column)
        figure.update_xaxes(title="age (years)", range=[low[0], high[0]], row=1, col=column)
        figure.update_yaxes(title="cost (1000 euro a year)", range=[low[1], high[1]], row=1, col=column)
    figure.update_layout(
        title=f"{len(table):,} invented patients, before and after (ε = {synopsis.guarantee.epsilon:g})",
        template="plotly_white",
        width=1180,
        height=600,
        legend={"orientation": "h", "y": -0.16, "x": 0.5, "xanchor": "center"},
    )
    write_whole(path, figure.to_html(include_plotlyjs=True, full_html=True))


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
