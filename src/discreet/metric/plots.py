"""Figures of noise: where reports of one public place land, and how accurate they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core import FloatArray, checks, plotly, portable
from discreet.errors import InvalidArgument
from discreet.metric.perturber import checked_domain, numeric_mechanism, numeric_names
from discreet.noise import generator

_INK, _TEAL, _MARK = "#57606a", "#1f8a7d", "#d1242f"
#: Points of a map along each axis, and reports that are drawn on it.
_FINE, _REPORTS = 160, 300


def draw_point_noise(mechanism: Any, point: Any, reports: int, delta: float) -> Any:
    """Return a figure of simulated reports of one public place, in the first two numeric columns.

    The circles are drawn in the columns' own units, so under most scalings they are ellipses.
    """
    numeric = _columns(mechanism, most=None)
    noise = numeric_mechanism(mechanism, checked_domain(mechanism))
    place = _place(point, numeric.bounds.center)
    count = checks.whole("reports", reports, low=1, high=20_000)
    drawn = noise.perturb(np.tile(place, (count, 1)), generator(0))  # the place is public, so a fixed seed is harmless
    law = mechanism.law
    alpha, radius = law.accuracy_radius(delta), float(noise.radius)
    level = float(noise.noise_law.epsilon)  # resampling doubles it
    title = f"n-dimensional Laplace, level {level:.3g} at distance {radius:.3g} (rate {mechanism.rate:.3g}), "
    figure = _figure(numeric, title + f"{law.dimension} columns", drawn, place)
    rings = (
        (alpha, _TEAL, "solid", f"accuracy: {1 - delta:.0%} of reports are within {alpha:.3g}"),
        (radius, _MARK, "dash", f"indistinguishable: places {radius:.3g} apart, up to e^{level:.3g}"),
    )
    for size, colour, dash, label in rings:
        ring = _ring(noise.scaling, place, size)
        line = {"color": colour, "width": 2.5, "dash": dash}
        figure.add_scatter(x=ring[:, 0], y=ring[:, 1], mode="lines", name=label, line=line)
    return figure


def draw_elastic_noise(mechanism: Any, point: Any = None) -> Any:
    """Return a figure of the mean error over the map, with simulated reports of one public place."""
    numeric = _columns(mechanism, most=2)
    law, box = mechanism.law, numeric.bounds
    axes = [box.lower[i] + box.widths[i] * (np.arange(_FINE) + 0.5) / _FINE for i in (0, 1)]
    grid = np.stack(np.meshgrid(*axes, indexing="xy"), axis=-1).reshape(-1, 2)
    errors = law.expected_error()[law.cells(grid)].reshape(_FINE, _FINE)
    place = _place(point, law.places[int(np.argmax(law.people))])
    drawn = law.places[law.table.draw(np.repeat(law.cells(place[None]), _REPORTS), generator(0))]
    title = (
        f"Elastic noise, level {float(mechanism.epsilon):.3g} among at least {float(mechanism.min_people):,.6g} people "
        f"({len(law.lower):,} cells)"
    )
    figure = _figure(numeric, title, drawn, place)
    logs = np.log10(np.maximum(errors, errors[errors > 0].min(initial=1e-300)))
    ticks = np.linspace(logs.min(), logs.max(), 5)
    figure.add_heatmap(
        x=axes[0], y=axes[1], z=logs, colorscale="Teal", customdata=errors,
        hovertemplate="%{x:.4g}, %{y:.4g}: mean error %{customdata:.3g}<extra></extra>",
        colorbar={"title": "mean error", "tickvals": ticks, "ticktext": [f"{10**t:.2g}" for t in ticks]},
    )  # fmt: skip
    figure.data = (figure.data[-1], *figure.data[:-1])  # the map below the points
    return figure


def _columns(mechanism: Any, most: int | None) -> Any:
    domain = checked_domain(mechanism)
    numeric = domain.select(numeric_names(domain))
    if len(numeric) < 2 or (most is not None and len(numeric) > most):
        expected = "two numeric columns to draw" if most else "at least two numeric columns to draw"
        raise InvalidArgument("domain", numeric.names, expected, "domain with two")
    return numeric


def _place(point: Any, default: FloatArray) -> FloatArray:
    place = np.asarray(default if point is None else point, np.float64)
    if place.shape != default.shape or not np.isfinite(place).all():
        raise InvalidArgument("point", point, f"{len(default)} finite coordinates", f"point={default.tolist()}")
    return place


def _figure(numeric: Any, title: str, drawn: FloatArray, place: FloatArray) -> Any:
    figure = portable(plotly("a mechanism").Figure())
    dots, cross = {"size": 4, "color": _INK, "opacity": 0.45}, {"size": 11, "color": _MARK, "symbol": "x"}
    name = f"{len(drawn)} reports of the place"
    figure.add_scatter(x=drawn[:, 0], y=drawn[:, 1], mode="markers", name=name, marker=dots)
    figure.add_scatter(x=place[:1], y=place[1:2], mode="markers", name="the place", marker=cross)
    return figure.update_layout(
        title={"text": title, "font": {"size": 15}}, template="plotly_white", width=760, height=720,
        xaxis_title=numeric.names[0], yaxis_title=numeric.names[1], legend={"orientation": "h", "y": -0.14, "x": 0},
    )  # fmt: skip


def _ring(scaling: Any, place: FloatArray, size: float) -> FloatArray:
    """Return the points at distance ``size`` of a place, in the plane of the first two columns."""
    turn = np.linspace(0, 2 * np.pi, 181)
    ring = np.tile(scaling.apply(place[None, :]), (len(turn), 1))
    ring[:, 0] += size * np.cos(turn)
    ring[:, 1] += size * np.sin(turn)
    return np.asarray(scaling.back(ring))
