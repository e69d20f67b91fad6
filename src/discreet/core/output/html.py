"""Small pieces of HTML for notebooks: a heading with facts, a table. They suit light and dark themes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any

import pyarrow as pa

from discreet.errors import MissingExtra

_FRAME = "font:13px/1.45 system-ui,sans-serif;max-width:60em;overflow-x:auto;font-variant-numeric:tabular-nums"
_CELL = "padding:2px 10px 2px 0;vertical-align:top;background:none;color:inherit;border:0;white-space:normal"
_LINE = "border:0;border-bottom:1px solid color-mix(in srgb,currentColor 25%,transparent)"
_TABLE = '<table style="border-collapse:collapse;border:0;margin:0;font:inherit;color:inherit">'
#: Rows that a notebook shows; the rest is named.
_MOST = 20


def facts(title: str, told: Mapping[str, Any], note: str = "") -> str:
    """Return a heading and a list of facts; a note under it, as a warning."""
    rows = "".join(
        f'<tr style="background:none"><td style="{_CELL};text-align:left;opacity:.7">{escape(str(name))}</td>'
        f'<td style="{_CELL};text-align:left;overflow-wrap:anywhere">{escape(str(value))}</td></tr>'
        for name, value in told.items()
    )
    return _framed(title, f"{_TABLE}{rows}</table>" * bool(rows), note)


def level(guarantee: Any) -> str:
    """Return ε and δ of a guarantee; empty for a syntactic one."""
    if guarantee.epsilon is None:
        return ""
    return f"{guarantee.epsilon:.6g}" + (f" at delta {guarantee.delta:g}" if guarantee.delta else "")


def promise(guarantee: Any) -> str:
    """Return a `Guarantee` in a few lines: what it says first, then its parts."""
    told: dict[str, Any] = {"model": guarantee.model, "unit": guarantee.unit, "neighbours": guarantee.neighbours}
    told["epsilon"] = level(guarantee)
    sign = "ρ " if guarantee.accounting == "rho" else ""
    told["spent on"] = "; ".join(f"{line.label} {sign}{float(line.amount):.6g}" for line in guarantee.ledger)
    told["assumes"] = "; ".join(guarantee.assumptions)
    told["sealed"] = guarantee.digest or "not sealed"
    first = str(guarantee).partition(" The unit of privacy is ")[0]
    worry = "Seeded: this run can be repeated and undone. Do not publish its result." if guarantee.seeded else ""
    return facts(f"Guarantee: {first}", {name: text for name, text in told.items() if text}, worry)


def table(title: str, names: Sequence[str], rows: Sequence[Sequence[Any]], note: str = "") -> str:
    """Return a heading and the first rows of a table, numbers to the right."""
    first = rows[0] if rows else [""] * len(names)
    sides = ["right" if isinstance(value, (int, float)) else "left" for value in first]
    heads = "".join(
        f'<th style="{_CELL};{_LINE};text-align:{side};font-weight:600">{escape(str(name))}</th>'
        for name, side in zip(names, sides, strict=True)
    )
    # Ends of bins must not look alike; three digits are enough for estimates.
    digits = [6 if str(name).endswith(("_from", "_to")) else 3 for name in names]
    lines = []
    for row in rows[:_MOST]:
        cells = (
            f'<td style="{_CELL};text-align:{side}">{escape(_text(value, places))}</td>'
            for value, side, places in zip(row, sides, digits, strict=True)
        )
        lines.append(f'<tr style="background:none">{"".join(cells)}</tr>')
    more = f'<div style="opacity:.7">and {len(rows) - _MOST:,} more</div>' if len(rows) > _MOST else ""
    return _framed(title, f'{_TABLE}<tr style="background:none">{heads}</tr>{"".join(lines)}</table>{more}', note)


def _framed(title: str, body: str, note: str) -> str:
    # An amber bar, not amber letters: these would be too pale on one of the themes.
    bar = "border-left:3px solid #d08700;padding-left:8px;margin-top:4px"
    told = f'<div style="{bar}">{escape(note)}</div>' if note else ""
    return (
        f'<div style="{_FRAME}"><div style="font-weight:600;margin-bottom:2px">{escape(title)}</div>{body}{told}</div>'
    )


def _text(value: Any, digits: int) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "" if value is None else str(value)
    few = isinstance(value, float) and abs(value) < 10 ** (digits - 1)
    return f"{value:,.{digits}g}" if few else f"{value:,.0f}"


class EstimatorHtml:
    """Estimators in a notebook: scikit-learn reads their docstrings, and warns of a section that it does not know."""

    def _html_repr(self) -> str:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Unknown section Privacy")
            return str(super()._html_repr())  # type: ignore[misc]  # of scikit-learn's BaseEstimator


class Told:
    """Results in a notebook: the figures of `to_dict`."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return facts(type(self).__name__, {name.replace("_", " "): _short(v) for name, v in self.to_dict().items()})


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{str(name).replace('_', ' ')} {_short(v)}" for name, v in list(value.items())[:_MOST])
    if isinstance(value, (list, tuple)):
        return (" to " if len(value) == 2 else ", ").join(map(_short, value[:_MOST]))
    return f"{value:,.4g}" if isinstance(value, float) else "" if value is None else str(value)


class Frames:
    """Conversions that follow from `to_arrow`."""

    def to_arrow(self) -> pa.Table:
        """Return the result as an Arrow table."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return `to_arrow` as a pandas data frame; pandas must be installed."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return `to_arrow` as a Polars data frame; Polars must be installed."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def _shown(self) -> pa.Table:
        """Return what a notebook shows."""
        return self.to_arrow()

    def _repr_html_(self) -> str:
        held = self._shown()
        return table(repr(self).strip("<>"), held.column_names, [list(row.values()) for row in held.to_pylist()])


def plotly(what: str) -> Any:
    """Return ``plotly.graph_objects``; if Plotly is missing, the error says what cannot be drawn."""
    try:
        return import_module("plotly.graph_objects")
    except ImportError:
        raise MissingExtra(f"drawing {what}", "plot") from None


def portable(figure: Any) -> Any:
    """Let a Plotly figure survive the export of a notebook to HTML, and return it.

    In Jupyter, Plotly shows a figure as data that only Jupyter can draw: an exported page stays blank. The figure then
    gets a second form, HTML with Plotly's script in it (5 MB), which asks no network. Other renderers are left as set.
    """
    usual = figure._ipython_display_

    def show() -> Any:
        import plotly.io as pio

        if pio.renderers.default not in ("plotly_mimetype", "jupyterlab", "nteract", "vscode"):
            return usual()
        page = figure.to_html(full_html=False, include_plotlyjs=True, include_mathjax=False)
        display = import_module("IPython.display").display  # only a notebook calls this
        return display({**figure._repr_mimebundle_(), "text/html": page, "text/plain": "a chart"}, raw=True)

    figure._ipython_display_ = show
    return figure
