"""Charts of a study: described once, drawn as SVG, and as a Plotly figure for whoever wants to zoom.

A `Chart` has panels, a panel has lines, a line has marks with their intervals. Panels are drawn one by one, so that a
page can set them side by side or, on a phone, below each other; `Chart.image` is all of them in one file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from discreet.reporting import number
from discreet.reporting.pages import (
    LETTER,
    RIGHT,
    WIDTH,
    Axis,
    base_line,
    decades,
    gutter,
    linear,
    padded,
    scale,
    under_axis,
    with_times,
)
from discreet_studies.harness.study import Estimate

#: Shapes tell lines apart where colours do not: circle, square, diamond, triangle, x, cross, star.
_SHAPES = (
    "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",
    "m-3-3h6v6h-6z",
    "m0-4.4l4.4 4.4l-4.4 4.4l-4.4-4.4z",
    "m0-4.2l4 7.2h-8z",
    "m-3-4.4l3 3l3-3l1.4 1.4l-3 3l3 3l-1.4 1.4l-3-3l-3 3l-1.4-1.4l3-3l-3-3z",
    "m-1-4h2v3h3v2h-3v3h-2v-3h-3v-2h3z",
    "m0-5l1.3 3.3l3.6.2l-2.8 2.3l.9 3.5l-3-1.9l-3 1.9l.9-3.5l-2.8-2.3l3.6-.2z",
)
STAR = 6
_PLOTLY = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star")
#: Colours that colour-blind readers can tell apart (Okabe and Ito 2008); the style sheet has them for light and dark.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = 7
_HEIGHT, _ROW, _GAP, _HIDDEN, _MANY = 250, 18, 24, 5, 6
STYLE = (Path(__file__).parent / "templates" / "chart.css").read_text(encoding="utf-8")
_ALONE = """
:root { --ink: #1b1f24; --soft: #57606a; --paper: #ffffff; --line: #d0d7de; --teal: #1f8a7d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa4af; --paper: #1e2129; --line: #3a424b;
  --teal: #4fc3b3; } }
svg { font-family: system-ui, "DejaVu Sans", sans-serif; } svg text { fill: var(--soft); font-size: 11px; }
svg text.name { fill: var(--ink); } svg .axis { stroke: var(--soft); fill: none; }
svg .grid { stroke: var(--line); fill: none; } svg .end { text-anchor: end; }
svg .mid, svg .label { text-anchor: middle; }
"""


class Mark(NamedTuple):
    """A point, the ends of its interval upwards and across (NaN for none), and words beside it."""

    x: float
    y: float
    low: float = math.nan
    high: float = math.nan
    left: float = math.nan
    right: float = math.nan
    text: str = ""


@dataclass(frozen=True)
class Line:
    """Marks that belong together.

    Parameters
    ----------
    name : str
        What the key calls them; "" leaves them out of it.
    marks : sequence of Mark
        In the order in which they are joined.
    look : int
        Which colour and shape; `GREY` for what others are compared with.
    dash : {"solid", "dash", "dots", "none"}
        How they are joined.
    shape : int or None
        Another shape than that of the look, or None for no marks.
    hollow : bool
        For printed figures beside measured ones.
    """

    name: str
    marks: Sequence[Mark]
    look: int = 0
    dash: str = "solid"
    shape: int | None = -1
    hollow: bool = False

    @property
    def path(self) -> str:
        """The shape of a mark, "" for none."""
        shape = self.look if self.shape == -1 else self.shape
        return "" if shape is None else _SHAPES[shape % len(_SHAPES)]


@dataclass(frozen=True)
class Panel:
    """Two axes and what is drawn on them.

    ``across`` and ``up`` are marks of the axes where round numbers would tell less; ``x_range`` and ``y_range`` bound
    them; ``level`` is a value to compare with, and its words.
    """

    x: str
    y: str
    lines: Sequence[Line]
    title: str = ""
    log_x: bool = False
    log_y: bool = False
    across: Sequence[tuple[float, str]] = ()
    up: Sequence[tuple[float, str]] = ()
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    level: tuple[float, str] | None = None


@dataclass(frozen=True)
class Cells:
    """A table of shares as a map: columns across, rows down, NaN where there is none."""

    x: str
    y: str
    columns: Sequence[str]
    rows: Sequence[str]
    values: Sequence[Sequence[float]]
    title: str = ""
    lines: Sequence[Line] = ()


@dataclass(frozen=True)
class Chart:
    """Panels under one title, with one key.

    Examples
    --------
    >>> line = Line("measured", measured([(1, Estimate.of([2.0, 3.0])), (2, Estimate.of([4.0, 5.0]))]))
    >>> chart = Chart("Growth", [Panel("ε", "error", [line])])
    >>> [drawn.count("<svg") for drawn in chart.drawn()], "measured" in chart.image()
    ([1, 1], True)
    """

    title: str
    panels: Sequence[Panel | Cells]

    def drawn(self) -> list[Markup]:
        """Return every panel as SVG, and the key."""
        digits = 1 if len(self.panels) <= _MANY else 0  # small multiples are drawn small: half a unit is not seen
        made = [Markup(_svg(*_draw(panel, digits), title=panel.title or self.title)) for panel in self.panels]
        parts, height = self._key(WIDTH)
        return [*made, Markup(_svg(parts, height, title="key"))] if parts else made

    def image(self, columns: int = 2) -> str:
        """Return all panels and the key in one SVG file, light and dark."""
        columns = max(1, min(columns, len(self.panels)))
        width = columns * WIDTH + (columns - 1) * _GAP
        lines = _wrapped(self.title, width)
        head = [f'<text class="name head" x="0" y="{14 + 18 * i}">{escape(t)}</text>' for i, t in enumerate(lines)]
        parts, y = head, 18.0 * len(lines) + 8
        for start in range(0, len(self.panels), columns):
            row = [_draw(panel) for panel in self.panels[start : start + columns]]
            for i, (inside, height) in enumerate(row):
                parts.append(f'<svg x="{i * (WIDTH + _GAP)}" y="{y:.0f}" width="{WIDTH}" height="{height:.0f}">'
                             f"{''.join(inside)}</svg>")  # fmt: skip
            y += max(height for _, height in row) + 12
        key, height = self._key(width)
        parts.append(f'<svg x="0" y="{y:.0f}" width="{width}" height="{height:.0f}">{"".join(key)}</svg>')
        y += height + 4
        box = f'viewBox="-6 -4 {width + 12} {y + 8:.0f}" width="{width + 12}" height="{y + 8:.0f}"'
        style = f"<title>{escape(self.title)}</title><style>{_ALONE}{STYLE}</style>"
        style += '<rect x="-6" y="-4" width="100%" height="100%" fill="var(--paper)"/>'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img">{style}{"".join(parts)}</svg>\n'

    def _key(self, width: float) -> tuple[list[str], float]:
        """Return samples of all named lines, as many side by side as there is room for."""
        named = {line.name: line for panel in self.panels for line in panel.lines if line.name}
        parts: list[str] = []
        x, y = 0.0, 12.0
        for name, line in named.items():
            room = 34 + 6.0 * len(name) + 12
            if x and x + room > width:
                x, y = 0.0, y + _ROW
            if line.dash != "none":
                parts.append(f'<path class="line s{line.look} {line.dash}" d="M{x:.0f} {y - 4:.0f}h26"/>')
            if line.path:
                parts.append(f'<path class="{_kind(line)}" d="M{x + 13:.0f} {y - 4:.0f}{line.path}"/>')
            parts.append(f'<text class="name" x="{x + 32:.0f}" y="{y:.0f}">{escape(name)}</text>')
            x += room
        return parts, y + 6 if parts else 0.0

    def plotly(self) -> Any:
        """Return a Plotly figure of the same, to be turned and zoomed."""
        from plotly import graph_objects as go
        from plotly.subplots import make_subplots

        columns = min(3, len(self.panels))
        down = math.ceil(len(self.panels) / columns)
        figure = make_subplots(down, columns, subplot_titles=[panel.title for panel in self.panels])
        named: set[str] = set()
        for i, panel in enumerate(self.panels):
            place = {"row": i // columns + 1, "col": i % columns + 1}
            figure.update_xaxes(title_text=panel.x, **place)
            figure.update_yaxes(title_text=panel.y, **place)
            if isinstance(panel, Cells):
                shown = [[None if math.isnan(v) else v for v in row] for row in panel.values]
                heat = go.Heatmap(x=panel.columns, y=panel.rows, z=shown, coloraxis="coloraxis")
                figure.add_trace(heat, **place)
                figure.update_yaxes(autorange="reversed", type="category", **place)
                continue
            for line in panel.lines:
                figure.add_trace(_trace(go, line, line.name not in named), **place)
                named.add(line.name)
            for update, log, ticks in ((figure.update_xaxes, panel.log_x, panel.across),
                                       (figure.update_yaxes, panel.log_y, panel.up)):  # fmt: skip
                update(type="log" if log else "linear", **place)
                if ticks:
                    update(tickvals=[v for v, _ in ticks], ticktext=[t for _, t in ticks], **place)
            if panel.level is not None:
                figure.add_hline(y=panel.level[0], line={"dash": "dash"}, annotation_text=panel.level[1], **place)
        return figure.update_layout(title=self.title, template="plotly_white", height=110 + 330 * down)


def measured(points: Iterable[tuple[float, Estimate]]) -> list[Mark]:
    """Return marks of means with their intervals, without what was never run."""
    found = [(float(x), e) for x, e in points if e.runs and math.isfinite(e.mean)]
    return [Mark(x, e.mean, e.low, e.high) if math.isfinite(e.high) else Mark(x, e.mean) for x, e in found]


def printed(points: Iterable[tuple[float, float]]) -> list[Mark]:
    """Return marks of single figures."""
    return [Mark(float(x), float(y)) for x, y in points]


def plain(values: Iterable[float]) -> list[tuple[float, str]]:
    """Return marks of an axis at these values."""
    return [(float(v), f"{v / 1e6:g}M" if abs(v) >= 1e6 else f"{v:,g}") for v in values]


class _Scale:
    """One axis: from a value to a place."""

    def __init__(self, values: Sequence[float], ends: tuple[float, float] | None, log: bool) -> None:
        values = [v for v in values if math.isfinite(v) and (not log or v > 0)] or [1.0]
        low, high = ends or (min(values), max(values))
        self.log, self.low, self.high = log, low, high
        if ends is None:
            inside = padded([self._at(low), self._at(high)])
            room = 0.04 * (inside[1] - inside[0])
            self.low, self.high = (self._back(inside[0] - room), self._back(inside[1] + room))
        self.start, self.stop, self.digits = 0.0, 1.0, 1

    def _at(self, value: float) -> float:
        return math.log10(max(value, 1e-300)) if self.log else value

    def _back(self, place: float) -> float:
        return 10.0**place if self.log else place

    def marks(self, own: Sequence[tuple[float, str]]) -> Axis:
        """Return the marks of the axis: its own, or round ones."""
        if own:
            return Axis([(v, t) for v, t in own if self.low <= v <= self.high], "")
        return decades(self.low, self.high, number) if self.log else linear(self.low, self.high, 6)

    def __call__(self, value: float) -> float:
        inside = min(max(value, self.low), self.high) if math.isfinite(value) else self.low
        place = scale(self._at(self.low), self._at(self.high), self.start, self.stop)(self._at(inside))
        return round(place, self.digits)


def _draw(panel: Panel | Cells, digits: int = 1) -> tuple[list[str], float]:
    """Return the parts of a panel and its height."""
    head = [f'<text class="name strong" x="0" y="11">{escape(panel.title)}</text>'] if panel.title else []
    top = 18 if panel.title else 4
    if isinstance(panel, Cells):
        return _cells(panel, head, top)
    every = [mark for line in panel.lines for mark in line.marks]
    x = _Scale([v for m in every for v in (m.x, m.left, m.right)], panel.x_range, panel.log_x)
    about = [panel.level[0]] if panel.level and panel.y_range is None else []
    y = _Scale([*(v for m in every for v in (m.y, m.low, m.high)), *about], panel.y_range, panel.log_y)
    ticks, under = y.marks(panel.up), x.marks(panel.across)
    named = 0 if panel.log_y else 24 + 20 * len(panel.up)  # categories want a row each
    left, base = gutter(ticks), top + max(_HEIGHT - 44, named)
    left = min(left, 236)
    x.start, x.stop, y.start, y.stop = left + 2, WIDTH - RIGHT, base, top + 20
    x.digits = y.digits = digits
    parts = [*head, f'<text x="0" y="{top + 11}">{escape(with_times(panel.y, ticks.times))}</text>']
    parts += [*_levels(ticks, y, left), base_line(left, base), *under_axis(under.marks, x, base + 15)]
    if panel.level is not None:
        height = y(panel.level[0])
        parts.append(f'<path class="line s{GREY} dash" d="M{left} {height:.1f}H{WIDTH - RIGHT}"/>')
        height += -4 if height > top + 36 else 13
        words = f'y="{height:.1f}">{escape(panel.level[1])}</text>'
        side = f'<text x="{left + 4}" ' if _leaves_room(panel, y) else f'<text class="end" x="{WIDTH - RIGHT}" '
        parts.append(side + words)
    for line in panel.lines:
        parts += _line(line, x, y)
    parts += _beside(panel.lines, x, y)
    name = escape(with_times(panel.x, under.times))
    parts.append(f'<text class="label" x="{(left + WIDTH) / 2:.0f}" y="{base + 31}">{name}</text>')
    return parts, base + 38


def _levels(ticks: Axis, y: _Scale, left: int) -> list[str]:
    lines = "".join(f"M{left} {y(v):g}H{WIDTH - RIGHT}" for v, _ in ticks.marks)
    texts = "".join(f'<tspan x="{left - 5}" y="{y(v) + 4:g}">{escape(text)}</tspan>' for v, text in ticks.marks)
    return [f'<path class="grid" d="{lines}"/><text class="end">{texts}</text>']


def _kind(line: Line) -> str:
    return f"{'hollow' if line.hollow else 'mark'} s{line.look}"


def _line(line: Line, x: _Scale, y: _Scale) -> list[str]:
    marks = [m for m in line.marks if math.isfinite(m.x) and math.isfinite(m.y)]
    marks = [m for m in marks if not (y.log and m.y <= 0) and not (x.log and m.x <= 0)]
    if not marks:
        return []
    parts = []
    # An interval inside its mark is not seen.
    tall = [m for m in marks if math.isfinite(m.high) and y(m.low) - y(m.high) > _HIDDEN]
    wide = [m for m in marks if math.isfinite(m.right) and x(m.right) - x(m.left) > _HIDDEN]
    bars = "".join(f"M{x(m.x):g} {y(m.low):g}V{y(m.high):g}" for m in tall)
    bars += "".join(f"M{x(m.left):g} {y(m.y):g}H{x(m.right):g}" for m in wide)
    if bars:
        parts.append(f'<path class="bars s{line.look}" d="{bars}"/>')
    if line.dash != "none":
        joined = "L".join(f"{x(m.x):g} {y(m.y):g}" for m in marks)
        parts.append(f'<path class="line s{line.look} {line.dash}" d="M{joined}"/>')
    if line.path:
        # Filled circles and squares are ends of lines without length, which take a tenth of the room.
        ends = {_SHAPES[0]: " round", _SHAPES[1]: " square"}.get(line.path, "") if not line.hollow else ""
        drawn = "".join(f"M{x(m.x):g} {y(m.y):g}{'h0' if ends else line.path}" for m in marks)
        parts.append(f'<path class="{_kind(line)}{ends}" d="{drawn}"/>')
    return parts


def _leaves_room(panel: Panel, y: _Scale) -> bool:
    """Tell whether lines keep further from the level where they begin than where they end."""
    assert panel.level is not None
    level, drawn = y(panel.level[0]), [line.marks for line in panel.lines if line.marks]
    first, last = (min((abs(y(marks[i].y) - level) for marks in drawn), default=0.0) for i in (0, -1))
    return first > last


def _beside(lines: Sequence[Line], x: _Scale, y: _Scale) -> list[str]:
    """Write what stands beside marks, where it covers nothing that was written before."""
    parts: list[str] = []
    taken: list[tuple[float, float]] = []
    for line in lines:
        for m in line.marks:
            place = (x(m.x) + 6, y(m.y) - 5)
            if m.text and all(abs(place[0] - a) > 5 * len(m.text) + 5 or abs(place[1] - b) > 9 for a, b in taken):
                taken.append(place)
                at = f'x="{place[0]:.1f}" y="{place[1]:.1f}"'
                parts.append(f'<text class="beside s{line.look}" {at}>{escape(m.text)}</text>')
    return parts


def _cells(panel: Cells, head: list[str], top: int) -> tuple[list[str], float]:
    """Return a map: the stronger the colour, the higher the value, which is written in it."""
    left = gutter(Axis([(0.0, row) for row in panel.rows], ""))
    wide, high = (WIDTH - RIGHT - left) / len(panel.columns), 19
    known = [v for row in panel.values for v in row if math.isfinite(v)] or [0.0]
    low, span = min(known), (max(known) - min(known)) or 1.0
    parts = [*head, f'<text x="0" y="{top + 11}">{escape(panel.y)}</text>']
    boxes: dict[int, str] = {}
    for i, (name, row) in enumerate(zip(panel.rows, panel.values, strict=True)):
        y = top + 18 + i * high
        parts.append(f'<text class="end" x="{left - 5}" y="{y + 13}">{escape(name)}</text>')
        texts = []
        for j, value in enumerate(row):
            if math.isfinite(value):
                x, shade = left + j * wide, round(8 * (value - low) / span)
                boxes[shade] = boxes.get(shade, "") + f"M{x:.0f} {y}h{wide - 1:.0f}v18h-{wide - 1:.0f}z"
                texts.append(f'<tspan x="{x + wide / 2:.0f}">{value:.2f}</tspan>'.replace(">0.", ">."))
        parts.append(f'<text class="name mid" y="{y + 13}">{"".join(texts)}</text>')
    shown = [f'<path class="cell" fill-opacity="{0.08 + 0.08 * s:.2f}" d="{d}"/>' for s, d in sorted(boxes.items())]
    parts = [*shown, *parts]
    base = top + 18 + high * len(panel.rows)
    heads = [f'<tspan x="{left + (j + 0.5) * wide:.0f}">{escape(name)}</tspan>' for j, name in enumerate(panel.columns)]
    parts.append(f'<text class="mid" y="{base + 13}">{"".join(heads)}</text>')
    parts.append(f'<text class="label" x="{(left + WIDTH) / 2:.0f}" y="{base + 29}">{escape(panel.x)}</text>')
    return parts, base + 36


def _svg(parts: Sequence[str], height: float, title: str) -> str:
    head = f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img"><title>{escape(title)}</title>'
    return f"{head}{''.join(parts)}</svg>"


def _wrapped(text: str, width: float) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and 1.45 * LETTER * len(f"{lines[-1]} {word}") > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _trace(go: Any, line: Line, first: bool) -> Any:
    colour = "#57606a" if line.look == GREY else COLOURS[line.look % len(COLOURS)]
    shape = line.look if line.shape == -1 else line.shape
    mode = "+".join(m for m, on in (("lines", line.dash != "none"), ("markers", shape is not None)) if on) or "lines"
    ends = [(0.0, 0.0) if math.isnan(m.high) else (m.high - m.y, m.y - m.low) for m in line.marks]
    return go.Scatter(
        x=[m.x for m in line.marks], y=[m.y for m in line.marks], mode=mode, name=line.name, legendgroup=line.name,
        showlegend=first and bool(line.name), text=[m.text for m in line.marks],
        error_y={"array": [a for a, _ in ends], "arrayminus": [b for _, b in ends], "thickness": 1},
        line={"color": colour, "dash": {"dash": "dash", "dots": "dot"}.get(line.dash, "solid")},
        marker={"symbol": _PLOTLY[(shape or 0) % len(_PLOTLY)] + ("-open" if line.hollow else ""), "color": colour},
    )  # fmt: skip
