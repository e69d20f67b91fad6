"""Pictures of a synopsis, with Plotly: where the rows are, by the noisy counts alone.

Colour is density relative to an even spread over the domain, so that leaves of any size compare. Sand is below
zero, which only noise makes; white is zero; teal is people.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import FloatArray, IntArray, category_text, plotly, portable, round_marks
from discreet.errors import InvalidArgument, InvalidType
from discreet.synopses.queries.answers import rows_text, wide

if TYPE_CHECKING:
    from discreet.synopses.queries.groups import Marginal
    from discreet.synopses.synopsis import Synopsis

SCALE = [[0.0, "#e9c46a"], [0.2, "#ffffff"], [1.0, "#1f8a7d"]]
INK, MARK = "#57606a", "#d1242f"
#: What is not known to be there.
_HATCHED = {
    "color": "#ffffff",
    "pattern": {"shape": "/", "fgcolor": INK, "bgcolor": "#ffffff", "size": 6},
    "line": {"color": INK, "width": 0.5},
}
#: Beyond these, pictures grow heavy and marks too small to see.
_MOST_EDGES, _MOST_OUTLINES, _MOST_POINTS = 400, 4000, 2000


def draw(synopsis: Synopsis, columns: object) -> Any:
    """Return a figure: bars for one column, coloured boxes for two."""
    go = plotly("a synopsis")
    names = synopsis.domain.names
    if columns is None:
        columns = names[:2]
    if isinstance(columns, str) or not isinstance(columns, (tuple, list)):
        raise InvalidType("columns", columns, "a pair of column names", f"columns={names[:2]}")
    axes = [synopsis.domain.position(c) for c in columns]
    if len(axes) not in (1, 2) or len(set(axes)) < len(axes):
        raise InvalidArgument("columns", columns, "one column name, or two different ones", f"columns={names[:2]}")
    figure = bars(synopsis.marginal(columns[0])) if len(axes) == 1 else _boxes(go, synopsis, axes[0], axes[1])
    return figure.update_layout(
        title={"text": _title(synopsis, axes), "font": {"size": 15}}, template="plotly_white", width=760, height=640
    )


def bars(found: Marginal) -> Any:
    """Return a figure of a marginal: bars with 95 % intervals, hatched where leaves reach beyond a bar."""
    go = plotly("a synopsis")
    edges = np.arange(len(found.counts) + 1.0) if found.edges is None else found.edges
    widths = np.diff(edges)
    assumed = found.counts if not found.divided else 0.0 * found.counts if found.assumed is None else found.assumed
    solid = {"color": "#1f8a7d", "line": {"color": "#ffffff", "width": 0.5}}
    place = {"x": edges[:-1] + widths / 2, "width": widths, "showlegend": False}
    doubtful = bool(np.abs(assumed).any())
    whole = go.Bar(
        **place, y=found.counts / widths, marker=_HATCHED if doubtful else solid,
        error_y={"array": wide(0.95) * found.std_errors / widths, "color": INK, "thickness": 1},
        name="with rows of leaves that reach beyond the bar" if doubtful else "known",
        customdata=np.column_stack([edges[:-1], edges[1:], found.counts, found.std_errors]),
        hovertemplate="%{customdata[0]:.4g} to %{customdata[1]:.4g}: %{customdata[2]:.4g} ± %{customdata[3]:.3g}"
                      "<extra></extra>",
    )  # fmt: skip
    figure = portable(go.Figure(whole))
    if doubtful:  # in front of the whole
        known = (found.counts - assumed) / widths
        figure.add_trace(go.Bar(**place, y=known, marker=solid, hoverinfo="skip", name="known"))
    title = f"{found.column}, with 95 % intervals (noise and {'model' if found.modelled else 'non-uniformity'})"
    layout = {"template": "plotly_white", "width": 760, "height": 420, "barmode": "overlay"}
    figure.update_layout(title={"text": title, "font": {"size": 15}}, **layout)
    ticks = _ticks(found.kind, float(edges[0]), float(edges[-1]), found.categories)
    figure.update_xaxes(title=found.column, range=[edges[0], edges[-1]], showgrid=False, **ticks)
    figure.update_yaxes(title="rows" if found.edges is None else f"rows per unit of {found.column}")
    return figure


def _title(synopsis: Synopsis, axes: list[int]) -> str:
    epsilon = synopsis.guarantee.epsilon
    text = f"{synopsis.n_leaves:,} leaves, {rows_text(synopsis.total)}"
    if epsilon is not None:
        text += f", ε = {epsilon:.4g}"
    if any(synopsis.domain.columns[a].missing == "own" for a in axes):
        text += " (missing values not shown)"
    if (elsewhere := synopsis.unlisted) is not None:
        text += f"<br>{elsewhere.value:,.0f} ± {elsewhere.std_error:,.0f} of the rows are in cells that are not listed"
    if unknown := [name for name in synopsis.uncut if synopsis.domain.position(name) in axes]:
        text += f"<br>not known: {' and '.join(unknown)} {'was' if len(unknown) == 1 else 'were'} not divided"
    if synopsis.guarantee.seeded:
        text += f"<br><span style='color:{MARK}'>seeded: not to be published</span>"
    return text


def _boxes(go: Any, synopsis: Synopsis, i: int, j: int) -> Any:
    first, second = synopsis.domain.columns[i], synopsis.domain.columns[j]
    x, y = _edges(synopsis, i), _edges(synopsis, j)
    density = _density(synopsis, i, j, x, y)
    top = _reach(density, np.outer(np.diff(y), np.diff(x)))
    hover = f"{first.name} %{{x:.4g}}, {second.name} %{{y:.4g}}: %{{z:.3g}}<extra></extra>"
    bar = {"title": {"text": "density, 1 = even"}, "thickness": 12, "len": 0.8}
    figure = go.Figure(
        go.Heatmap(x=x, y=y, z=density, zmin=-top / 4, zmax=top, colorscale=SCALE, colorbar=bar, hovertemplate=hover,
                   name="density")
    )  # fmt: skip
    if len(synopsis.domain) == 2 and 0 < synopsis.n_leaves <= _MOST_OUTLINES:
        figure.add_trace(_outlines(go, synopsis, i, j))
    figure.add_trace(_points(go, synopsis, i, j))
    for column, update in ((first, figure.update_xaxes), (second, figure.update_yaxes)):
        ticks = _ticks(column.kind, column.low, column.high, getattr(column, "categories", None))
        update(title=column.name, range=[column.low, column.high], showgrid=False, **ticks)
    return portable(figure)


def _ticks(kind: str, low: float, high: float, categories: Sequence[Any] | None) -> dict[str, Any]:
    if categories is not None:
        marks = [(place + 0.5, category_text(name)) for place, name in enumerate(categories)]
    elif kind in ("date", "time"):
        marks = round_marks(kind, low, high)
    else:
        return {}
    return {"tickvals": [place for place, _ in marks], "ticktext": [text for _, text in marks]}


def _edges(synopsis: Synopsis, axis: int) -> FloatArray:
    column = synopsis.domain.columns[axis]
    ends = np.concatenate([synopsis.lower[:, axis], synopsis.upper[:, axis], [column.low, column.high]])
    edges: FloatArray = np.unique(ends[~np.isnan(ends)])
    return edges if len(edges) <= _MOST_EDGES + 1 else np.linspace(column.low, column.high, _MOST_EDGES + 1)


def _density(synopsis: Synopsis, i: int, j: int, x: FloatArray, y: FloatArray) -> FloatArray:
    """Spread the weights over the tiles between edges; NaN where no leaf is.

    Each leaf adds its density to a rectangle of tiles. It is noted at the four corners of the rectangle, and two
    cumulative sums fill in the rest, so that the work does not grow with the size of the leaves.
    """
    left, right = _span(synopsis, i, x)
    low, high = _span(synopsis, j, y)
    placed = (left >= 0) & (low >= 0)
    left, right, low, high = left[placed], right[placed], low[placed], high[placed]
    domain = synopsis.domain.high - synopsis.domain.low
    areas = (x[right] - x[left]) * (y[high] - y[low]) / (domain[i] * domain[j])
    values = synopsis.weights[placed] / areas / max(synopsis.total, 1.0)
    rows, cover = np.zeros((len(y), len(x))), np.zeros((len(y), len(x)), dtype=np.int64)
    for across, along, sign in ((left, low, 1), (right, low, -1), (left, high, -1), (right, high, 1)):
        np.add.at(rows, (along, across), sign * values)
        np.add.at(cover, (along, across), sign)
    density, covered = (np.cumsum(np.cumsum(a, axis=0), axis=1)[:-1, :-1] for a in (rows, cover))
    return np.where(covered > 0, density, np.nan)


def _span(synopsis: Synopsis, axis: int, edges: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the first and last edge of each leaf, at least one tile apart; -1 for a leaf of missing values."""
    middles = edges[:-1] + np.diff(edges) / 2
    first = np.minimum(np.searchsorted(middles, synopsis.lower[:, axis]), len(edges) - 2)
    last = np.maximum(np.searchsorted(middles, synopsis.upper[:, axis]), first + 1)
    gone = np.isnan(synopsis.lower[:, axis])
    return np.where(gone, -1, first), np.where(gone, -1, last)


def _reach(density: FloatArray, areas: FloatArray) -> float:
    """Return the density that only a hundredth of the shown area exceeds: one bright leaf must not blank the rest."""
    shown = ~np.isnan(density)
    if not shown.any():
        return 1.0
    order = np.argsort(density[shown])
    filled = np.cumsum(areas[shown][order])
    return max(1.0, float(density[shown][order][np.searchsorted(filled, 0.99 * filled[-1])]))


def _outlines(go: Any, synopsis: Synopsis, i: int, j: int) -> Any:
    a, b = synopsis.lower, synopsis.upper
    gap = np.full(synopsis.n_leaves, np.nan)
    x = np.column_stack([a[:, i], b[:, i], b[:, i], a[:, i], a[:, i], gap]).ravel()
    y = np.column_stack([a[:, j], a[:, j], b[:, j], b[:, j], a[:, j], gap]).ravel()
    line = {"color": "#b8bfc7", "width": 0.5}
    return go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", name="leaves", showlegend=False)


def _points(go: Any, synopsis: Synopsis, i: int, j: int) -> Any:
    weights = synopsis.weights
    heaviest = np.argsort(-weights, kind="stable")[:_MOST_POINTS]
    heaviest = heaviest[weights[heaviest] > 0]
    top = float(weights[heaviest[0]]) if len(heaviest) else 1.0
    size = 2 + 10 * np.sqrt(weights[heaviest] / top)
    return go.Scatter(
        x=synopsis.points[heaviest, i], y=synopsis.points[heaviest, j], mode="markers", name="representatives",
        marker={"size": size, "color": MARK, "opacity": 0.65, "line": {"width": 0}}, showlegend=False,
        customdata=weights[heaviest], hovertemplate="weight %{customdata:.4g}<extra></extra>",
    )  # fmt: skip
