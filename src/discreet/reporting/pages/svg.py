"""Small pictures as SVG text: bars with error bars, and boxes coloured by density. What is not known is hatched.

Written by hand because a page that must be mailed, printed and read in the dark cannot carry a 5 MB chart library; the
colours are names that the page's style sheet sets for light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 420, 220, 56, 44, 12
#: More boxes than this are drawn on a raster of their own.
_MOST_BOXES = 1500
#: Distance of the lines of a hatching, and how many a picture may have: wide ones are spaced further apart.
_HATCH = 7.0


def bars(
    labels: Sequence[str],
    values: Sequence[float],
    errors: Sequence[float] | None = None,
    *,
    title: str,
    axis: str,
    second: Sequence[float] | None = None,
    assumed: Sequence[float] | None = None,
    edges: Sequence[float] | None = None,
) -> str:
    """Draw bars, with error bars, and a second series as outlines.

    ``assumed`` is the part of each value that is not known to be there: it is hatched. With ``edges`` the bars are as
    wide as their intervals; where those differ, the height is the value per unit, and the axis says so.

    Examples
    --------
    >>> picture = bars(["a", "b"], [3.0, 5.0], [0.5, 0.5], title="two", axis="rows", assumed=[0.0, 2.0])
    >>> picture.startswith("<svg"), picture.count('class="bar"'), picture.count('class="hatch"')
    (True, 2, 1)
    """
    v = np.nan_to_num(np.asarray(values, np.float64))
    e = np.zeros(len(v)) if errors is None else np.nan_to_num(np.asarray(errors, np.float64))
    doubt = np.zeros(len(v)) if assumed is None else np.nan_to_num(np.asarray(assumed, np.float64))
    told, told_e = v, e
    cuts = np.arange(len(v) + 1.0) if edges is None else np.asarray(edges, np.float64)
    widths = np.diff(cuts)
    if len(v) and float(widths.max()) > 1.01 * float(widths.min()):
        v, e, doubt, axis = v / widths, e / widths, doubt / widths, f"{axis} per unit"
    other = None if second is None else np.nan_to_num(np.asarray(second, np.float64))
    top = max(float((v + e).max(initial=0)), 0.0 if other is None else float(other.max(initial=0)), 1e-12)
    bottom = min(float((v - e).min(initial=0)), 0.0)
    plot_w, plot_h = _WIDTH - _LEFT - 8, _HEIGHT - _BOTTOM - _TOP

    def y(value: float) -> float:
        return _TOP + plot_h * (top - value) / (top - bottom)

    places = _LEFT + plot_w * (cuts - cuts[0]) / max(float(cuts[-1] - cuts[0]), 1e-300) if len(v) else cuts
    parts = []
    for i in range(len(v)):
        x, step = float(places[i]), float(places[i + 1] - places[i])
        tip = f"{labels[i]}: {told[i]:,.4g}" + (f" ± {told_e[i]:,.3g}" if errors is not None else "")
        known = float(v[i] - doubt[i])
        low, high = sorted((y(0.0), y(known)))
        parts.append(
            f'<rect class="bar" x="{x + step * 0.1:.1f}" y="{low:.1f}" width="{step * 0.8:.1f}" '
            f'height="{max(high - low, 0.5):.1f}"><title>{escape(tip)}</title></rect>'
        )
        if abs(doubt[i]) > 1e-9 * max(abs(v[i]), 1e-300):
            low, high = sorted((y(known), y(float(v[i]))))
            parts.append(_hatched(x + step * 0.1, low, step * 0.8, high - low, f"{tip}, in part assumed"))
        if errors is not None and len(v) <= 80:
            middle = x + step / 2
            parts.append(
                f'<line class="whisker" x1="{middle:.1f}" x2="{middle:.1f}" y1="{y(float(v[i] - e[i])):.1f}" '
                f'y2="{y(float(v[i] + e[i])):.1f}"/>'
            )
        if other is not None:
            level, left, right = y(float(other[i])), x + step * 0.05, x + step * 0.95
            parts.append(f'<path class="raw" d="M{left:.1f} {level:.1f}H{right:.1f}"/>')
    return _frame(title, axis, parts, _ticks(bottom, top, y), _labels(labels, places), y(0.0))


def unknown(words: str, *, title: str, ends: Sequence[str] = ("", "")) -> str:
    """Draw what is not known: one hatched field, with words in it.

    Examples
    --------
    >>> picture = unknown("not known", title="age", ends=("0", "120"))
    >>> picture.count('class="hatch"'), "not known" in picture
    (1, True)
    """
    width, height = _WIDTH - _LEFT - 8, _HEIGHT - _BOTTOM - _TOP
    left, right = ((text if len(text) <= 18 else text[:17] + "…") for text in ends)
    middle, base = _LEFT + width / 2, _HEIGHT - _BOTTOM + 18
    inside = min(6.6 * len(words) + 20, width - 10)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"><title>{escape(f"{title}: {words}")}</title>'
        f"{_hatched(_LEFT, _TOP, width, height, words)}"
        f'<rect class="paper" x="{middle - inside / 2:.1f}" y="{_TOP + height / 2 - 14:.1f}" '
        f'width="{inside:.1f}" height="28"/>'
        f'<text class="words mid" x="{middle:.1f}" y="{_TOP + height / 2 + 5:.1f}">{escape(words)}</text>'
        f'<text class="tick" x="{_LEFT}" y="{base}">{escape(left)}</text>'
        f'<text class="tick end" x="{_WIDTH - 8}" y="{base}">{escape(right)}</text></svg>'
    )


def boxes(
    lower: Any,
    upper: Any,
    density: Any,
    *,
    title: str,
    x: str,
    y: str,
    low: Any,
    high: Any,
    ends: Sequence[Sequence[str]] | None = None,
    gaps: bool = False,
) -> str:
    """Draw boxes of the plane, coloured by density; below zero, which only noise makes, in another colour.

    ``ends`` are the words at the ends of the axes. ``gaps`` says that boxes do not cover the plane: the
    rest is hatched.

    Examples
    --------
    >>> picture = boxes([[0, 0]], [[1, 1]], [2.0], title="one", x="a", y="b", low=[0, 0], high=[1, 1])
    >>> picture.count("<rect")
    1
    """
    lower, upper = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
    d = np.nan_to_num(np.asarray(density, np.float64))
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    kept = ~np.isnan(lower).any(axis=1)
    lower, upper, d = lower[kept], upper[kept], d[kept]
    if len(d) > _MOST_BOXES:
        lower, upper, d = _raster(lower, upper, d, low, high)
    side = 320
    scale = side / np.where(high > low, high - low, 1.0)
    most = float(np.quantile(d, 0.98)) if len(d) else 1.0
    most = most if most > 0 else float(np.abs(d).max(initial=1.0)) or 1.0
    parts = [_hatched(_LEFT, _TOP, side, side, "not listed")] if gaps else []
    for a, b, value in zip(lower, upper, d, strict=True):
        left, right = (a[0] - low[0]) * scale[0], (b[0] - low[0]) * scale[0]
        under, over = side - (a[1] - low[1]) * scale[1], side - (b[1] - low[1]) * scale[1]
        shade = min(abs(value) / most, 1.0)
        where = (
            f'x="{left + _LEFT:.1f}" y="{over + _TOP:.1f}" width="{right - left + 0.3:.1f}" '
            f'height="{under - over + 0.3:.1f}"'
        )
        if gaps:
            parts.append(f'<rect class="paper" {where}/>')
        if shade < 0.01:
            continue
        parts.append(f'<rect class="{"people" if value > 0 else "below"}" {where} fill-opacity="{shade:.2f}"/>')
    (x0, x1), (y0, y1) = ends or [(_short(low[j]), _short(high[j])) for j in (0, 1)]
    frame = (
        f'<path class="axis" d="M{_LEFT} {_TOP}V{side + _TOP}H{side + _LEFT}"/>'
        f'<text class="tick" x="{_LEFT}" y="{side + _TOP + 16}">{_cut(x0, 22)}</text>'
        f'<text class="tick end" x="{side + _LEFT}" y="{side + _TOP + 16}">{_cut(x1, 22)}</text>'
        f'<text class="tick end" x="{_LEFT - 6}" y="{side + _TOP}">{_cut(y0, 7)}</text>'
        f'<text class="tick end" x="{_LEFT - 6}" y="{_TOP + 10}">{_cut(y1, 7)}</text>'
        f'<text class="label" x="{_LEFT + side / 2}" y="{side + _TOP + 34}">{escape(x)}</text>'
        f'<text class="label" transform="translate(14 {_TOP + side / 2}) rotate(-90)">{escape(y)}</text>'
    )
    size = f"0 0 {side + _LEFT + 12} {side + _TOP + 44}"
    return f'<svg viewBox="{size}" role="img"><title>{escape(title)}</title>{"".join(parts)}{frame}</svg>'


def _raster(lower: Any, upper: Any, d: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """Gather many boxes on 48 by 48 squares by the middle of each box: a picture, not a query."""
    n = 48
    unit = (high - low) / n
    cell = np.clip(((lower + upper) / 2 - low) / unit, 0, n - 1).astype(int)
    area = np.prod(upper - lower, axis=1)
    mass = np.zeros((n, n))
    np.add.at(mass, (cell[:, 0], cell[:, 1]), d * area)
    i, j = np.nonzero(mass)
    corner = low + np.column_stack([i, j]) * unit
    return corner, corner + unit, mass[i, j] / float(np.prod(unit))


def _frame(title: str, axis: str, parts: list[str], ticks: str, labels: str, zero: float) -> str:
    base = f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{zero:.1f}" y2="{zero:.1f}"/>'
    name = f'<text class="label" transform="translate(12 {_TOP + 80}) rotate(-90)">{escape(axis)}</text>'
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"><title>{escape(title)}</title>{ticks}{"".join(parts)}{base}'
        f"{labels}{name}</svg>"
    )


def _ticks(bottom: float, top: float, y: Any) -> str:
    step = 10 ** np.floor(np.log10(max(top - bottom, 1e-12) / 3))
    for times in (1, 2, 5, 10):
        if (top - bottom) / (step * times) <= 5:
            step = step * times
            break
    values = np.arange(np.ceil(bottom / step), np.floor(top / step) + 1) * step
    return "".join(
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{y(v):.1f}" y2="{y(v):.1f}"/>'
        f'<text class="tick end" x="{_LEFT - 5}" y="{y(v) + 4:.1f}">{_short(v)}</text>'
        for v in values
    )


def _labels(labels: Sequence[str], places: Any) -> str:
    """Write labels under the middles of their bars, as many as there is room for."""
    shown, free = [], -np.inf
    for i, text in enumerate(labels):
        middle = float(places[i] + places[i + 1]) / 2
        if middle >= free:
            text = _cut(text, 10)
            # The last one must not run off the picture.
            shown.append((min(middle, _WIDTH - 3.0 * len(text)), text))
            free = middle + 52
    return "".join(
        f'<text class="tick mid" x="{middle:.1f}" y="{_HEIGHT - _BOTTOM + 18}">{text}</text>' for middle, text in shown
    )


def _hatched(x: float, y: float, width: float, height: float, tip: str) -> str:
    """Return a field of slanted lines, cut off at its border: patterns would need names that are unique on a page."""
    gap = max(_HATCH, (width + height) / 90)
    lines = []
    for c in np.arange(x - height + gap / 2, x + width, gap).tolist():
        start, stop = max(0.0, x - c), min(height, x + width - c)
        if stop > start:
            lines.append(f"M{c + start:.1f} {y + height - start:.1f}L{c + stop:.1f} {y + height - stop:.1f}")
    return (
        f'<rect class="unknown" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{max(height, 0.5):.1f}">'
        f'<title>{escape(tip)}</title></rect><path class="hatch" d="{"".join(lines)}"/>'
    )


def _cut(text: str, length: int) -> str:
    return escape(text if len(text) <= length else text[: length - 1] + "…")


def _short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 10:
            return f"{value / size:.3g}{letter}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
