"""A picture of what a perturbed point tells: where reports of one place land, how far, and what they do not tell apart.

The circles are drawn in the columns' own units, so under most scalings they are ellipses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import FloatArray, checks
from discreet.errors import InvalidArgument, MissingExtra
from discreet.metric.perturber import checked_domain, numeric_mechanism, numeric_names
from discreet.noise import generator

if TYPE_CHECKING:
    from discreet.metric.points.nd_laplace import NDLaplace

INK, TEAL, MARK = "#57606a", "#1f8a7d", "#d1242f"


def draw(mechanism: NDLaplace, point: Any, reports: int, delta: float) -> Any:
    """Return a figure of simulated reports of one public place, in the first two numeric columns."""
    try:
        import plotly.graph_objects as go
    except ImportError:
        raise MissingExtra("drawing a mechanism", "plot") from None
    domain = checked_domain(mechanism)
    numeric = domain.select(numeric_names(domain))
    if len(numeric) < 2:
        raise InvalidArgument("domain", numeric.names, "at least two numeric columns to draw", "domain with two")
    noise = numeric_mechanism(mechanism, domain)
    place = numeric.bounds.center if point is None else np.asarray(point, np.float64)
    if place.shape != (len(numeric),) or not np.isfinite(place).all():
        raise InvalidArgument("point", point, f"{len(numeric)} finite coordinates", f"point={place.tolist()}")
    count = checks.whole("reports", reports, low=1, high=20_000)
    # A picture of a public place: the seed hides nothing that the law does not show.
    drawn = noise.perturb(np.tile(place, (count, 1)), generator(0))
    law = mechanism.law
    alpha = law.accuracy_radius(delta)
    level = float(noise.noise_law.epsilon)  # of the whole: drawing again until a point fits doubles it
    figure = go.Figure()
    figure.add_trace(
        go.Scatter(x=drawn[:, 0], y=drawn[:, 1], mode="markers", name=f"{count} reports of the place",
                   marker={"size": 4, "color": INK, "opacity": 0.45})
    )  # fmt: skip
    rings = (
        (alpha, TEAL, "solid", f"accuracy: {1 - delta:.0%} of reports lie within {alpha:.3g}"),
        (float(noise.radius), MARK, "dash",
         f"indistinguishable: places {float(noise.radius):.3g} apart look alike up to e^{level:.3g}"),
    )  # fmt: skip
    for size, colour, dash, label in rings:
        ring = _ring(noise.scaling, place, size)
        figure.add_trace(
            go.Scatter(x=ring[:, 0], y=ring[:, 1], mode="lines", name=label, line={"color": colour, "width": 2.5,
                                                                                  "dash": dash})
        )  # fmt: skip
    figure.add_trace(
        go.Scatter(x=place[:1], y=place[1:2], mode="markers", name="the place", marker={"size": 11, "color": MARK,
                                                                                        "symbol": "x"})
    )  # fmt: skip
    figure.update_layout(
        title={"text": f"n-dimensional Laplace, level {level:.3g} at distance {float(noise.radius):.3g} "
               f"(rate {mechanism.rate:.3g}), {law.dimension} columns", "font": {"size": 15}},
        template="plotly_white", width=760, height=720, xaxis_title=numeric.names[0], yaxis_title=numeric.names[1],
        legend={"orientation": "h", "y": -0.14, "x": 0},
    )  # fmt: skip
    return figure


def _ring(scaling: Any, place: FloatArray, size: float) -> FloatArray:
    """Return the points at distance ``size`` of a place, in the plane of the first two columns."""
    turn = np.linspace(0, 2 * np.pi, 181)
    ring = np.tile(scaling.apply(place[None, :]), (len(turn), 1))
    ring[:, 0] += size * np.cos(turn)
    ring[:, 1] += size * np.sin(turn)
    return np.asarray(scaling.back(ring))
