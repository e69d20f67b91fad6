"""Plotly figures of attacks, audits and comparisons."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingExtra

if TYPE_CHECKING:
    from discreet.evaluation.attacks.roc import ScoredAttack
    from discreet.evaluation.audits.exact import ExactAudit
    from discreet.evaluation.audits.result import AuditResult
    from discreet.evaluation.comparison.compare import TableComparison

TEAL, SAND, MARK, INK = "#1f8a7d", "#e9c46a", "#d1242f", "#57606a"


def _plotly() -> Any:
    try:
        import plotly.graph_objects as go
    except ImportError:
        raise MissingExtra("drawing an attack or an audit", "plot") from None
    return go


def draw_roc(found: ScoredAttack) -> Any:
    """Draw the curve on logarithmic axes, which show low false positive rates."""
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


def draw_power(found: AuditResult) -> Any:
    """Draw the chance of detecting a true ε, with the claim and the bound."""
    go = _plotly()
    figure = go.Figure()
    line = {"color": TEAL, "width": 2}
    figure.add_trace(
        go.Scatter(
            x=found.power.epsilons, y=found.power.chances, name="chance of being caught", mode="lines", line=line
        )
    )
    marks = [(found.epsilon_lower, "lower bound", MARK if found.passed is False else INK)]
    if found.claimed is not None and found.claimed != float("inf"):
        marks.append((found.claimed, "claimed", INK))
    for x, name, colour in marks:
        dash = {"color": colour, "width": 1.5, "dash": "dot" if name == "claimed" else "solid"}
        figure.add_trace(go.Scatter(x=[x, x], y=[0, 1], name=f"{name} {x:.3g}", mode="lines", line=dash))
    verdict = {True: "not refuted (no proof)", False: "claim refuted", None: "nothing claimed"}[found.passed]
    title = f"{verdict}<br><sup>{found.event[:90]}</sup>"
    figure.update_layout(title={"text": title}, template="plotly_white", width=640, height=480)
    # Where the curve rises; what lies far beyond would press it against the axis.
    shown = [x for x, _, _ in marks] + [x for x in (found.power.detectable,) if x is not None and math.isfinite(x)]
    span = [0.9 * min(shown), 1.1 * max(shown) + 0.05]
    figure.update_xaxes(title="true ε, in an event as frequent as this one", range=span)
    figure.update_yaxes(title="chance of exceeding the claim", range=[0, 1.02])
    return figure


def draw_exact(found: ExactAudit) -> Any:
    """Draw δ against ε, both directions."""
    go = _plotly()
    figure = go.Figure()
    grid, deltas = found.curve()
    line = {"color": TEAL, "width": 2}
    figure.add_trace(go.Scatter(x=grid, y=deltas, name="δ(ε)", mode="lines", line=line))
    figure.update_layout(title={"text": "the promise, exactly"}, template="plotly_white", width=640, height=480)
    figure.update_xaxes(title="ε")
    figure.update_yaxes(title="δ")
    return figure


def draw_pairs(found: TableComparison) -> Any:
    """Draw the errors of all pairs of columns; the diagonal has those of single columns."""
    go = _plotly()
    names, scale = list(found.columns), [[0, "#ffffff"], [1, TEAL]]
    figure = go.Figure(go.Heatmap(z=found.pair_errors, x=names, y=names, colorscale=scale, zmin=0))
    mean = found.marginals[2].mean
    title = f"error of pairs of columns<br><sup>mean {mean:.4f}; not private: raw rows were looked at</sup>"
    figure.update_layout(title={"text": title}, template="plotly_white", width=640, height=600)
    figure.update_yaxes(autorange="reversed")
    return figure
