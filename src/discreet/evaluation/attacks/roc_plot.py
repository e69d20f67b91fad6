"""Pictures of attacks, with Plotly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.errors import MissingExtra

if TYPE_CHECKING:
    from discreet.evaluation.attacks.averaging import AveragingResult
    from discreet.evaluation.attacks.roc import ScoredAttack

TEAL, SAND, INK = "#1f8a7d", "#e9c46a", "#57606a"


def _plotly() -> Any:
    try:
        import plotly.graph_objects as go
    except ImportError:
        raise MissingExtra("drawing an attack", "plot") from None
    return go


def draw(found: ScoredAttack) -> Any:
    """Draw the curve on logarithmic axes: what counts is how many are found when hardly anybody is wrongly accused."""
    go = _plotly()
    figure = go.Figure()
    least = 0.5 / max(len(found.control_scores), 1)
    curves = [(found, "attack", TEAL)] + ([] if found.blind is None else [(found.blind, "without the release", SAND)])
    for one, name, colour in curves:
        curve = one.roc
        line = {"color": colour, "width": 2}
        figure.add_trace(
            go.Scatter(x=curve.fpr.clip(least), y=curve.tpr.clip(least), name=name, mode="lines", line=line)
        )
    dashes = {"color": INK, "width": 1, "dash": "dot"}
    figure.add_trace(go.Scatter(x=[least, 1], y=[least, 1], name="guessing", mode="lines", line=dashes))
    low, high = found.advantage_interval
    title = (
        f"{found.name}<br><sup>advantage {found.advantage:.3f} ({low:.3f} to {high:.3f}), area {found.auc:.3f}</sup>"
    )
    figure.update_layout(title={"text": title}, template="plotly_white", width=640, height=600)
    figure.update_xaxes(title="called members, of people who are not", type="log")
    figure.update_yaxes(title="called members, of people who are", type="log")
    return figure


def draw_averaging(found: AveragingResult) -> Any:
    """Draw the error against the number of reports."""
    go = _plotly()
    figure = go.Figure()
    lines = (("mean of the reports", found.mean_errors, SAND), ("most likely point", found.likely_errors, TEAL))
    for name, errors, colour in lines:
        figure.add_trace(go.Scatter(x=list(found.repeats), y=errors, name=name, line={"color": colour, "width": 2}))
    dashes = {"color": INK, "width": 1, "dash": "dot"}
    flat = [found.expected_noise] * len(found.repeats)
    figure.add_trace(go.Scatter(x=list(found.repeats), y=flat, name="one report, n/rate", line=dashes))
    figure.update_layout(title={"text": found.name}, template="plotly_white", width=640, height=480)
    figure.update_xaxes(title="reports about each person", type="log")
    figure.update_yaxes(title="mean distance from the truth", type="log")
    return figure
