"""Plotly figures of attacks and comparisons, for their ``plot()`` methods."""

from typing import Any

from discreet.core import plotly, portable

TEAL, SAND, INK = "#1f8a7d", "#e9c46a", "#57606a"


def _figure(title: str, x: dict[str, Any], y: dict[str, Any]) -> Any:
    figure = portable(plotly("an attack or a comparison").Figure())
    figure.update_layout(title={"text": title}, template="plotly_white", width=640, height=600)
    return figure.update_xaxes(**x).update_yaxes(**y)


def _line(figure: Any, x: Any, y: Any, name: str, colour: str, dash: str = "solid", width: float = 2) -> None:
    figure.add_scatter(x=x, y=y, name=name, mode="lines", line={"color": colour, "width": width, "dash": dash})


def draw_roc(found: Any) -> Any:
    low, high = found.advantage_interval
    said = f"advantage {found.advantage:.3f} ({low:.3f} to {high:.3f}), area {found.auc:.3f}"
    axes = [{"title": f"called members, of people who are{no}", "type": "log"} for no in (" not", "")]
    figure = _figure(f"{found.name}<br><sup>{said}</sup>", *axes)
    least = 0.5 / max(len(found.control_scores), 1)
    for one, name, colour in ((found, "attack", TEAL), (found.blind, "without the release", SAND)):
        if one is not None:
            _line(figure, one.roc.fpr.clip(least), one.roc.tpr.clip(least), name, colour)
    _line(figure, [least, 1], [least, 1], "guessing", INK, "dot", 1)
    return figure


def draw_pairs(found: Any) -> Any:
    said = f"mean {found.marginals[2].mean:.4f}; not private: made from raw rows"
    figure = _figure(f"error of pairs of columns<br><sup>{said}</sup>", {}, {"autorange": "reversed"})
    names, scale = list(found.columns), [[0, "#ffffff"], [1, TEAL]]
    return figure.add_heatmap(z=found.pair_errors, x=names, y=names, colorscale=scale, zmin=0)
