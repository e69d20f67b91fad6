"""Small SVG charts: vertical and horizontal bars, curves. What is not known is hatched.

Written by hand because a page that is mailed and printed cannot include a 5 MB chart library. Colours are classes of
the style sheet, for light and dark. Texts are escaped, so a picture is inserted as it is (`Markup`).
"""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np
from markupsafe import Markup

from discreet.reporting.pages import ink
from discreet.reporting.pages.ink import BOTTOM, HEIGHT, LETTER, RIGHT, TOP, WIDTH
from discreet.reporting.words import number

#: Rows of a ranking, and how wide its names and figures may be.
_MOST_ROWS, _ROW, _NAMES, _FIGURES = 12, 20, 112, 92
_LETTERS = 17  # of a name next to a bar


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
    marks: Sequence[tuple[float, str]] | None = None,
    ends: tuple[Sequence[float], Sequence[float]] | None = None,
) -> Markup:
    """Draw vertical bars with intervals (``errors`` to both sides, or their ``ends``), and a second series as lines.

    ``assumed`` is the part of each value that is not known: it is hatched. With ``edges`` the bars are as wide as
    their bins; if widths differ, heights are values per unit. ``marks`` are places and texts for dates.
    """
    v, e, doubt, other = (ink.clean(x, len(values)) for x in (values, errors, assumed, second))
    low_end, high_end = (ink.clean(x, len(v)) for x in ends) if ends is not None else (v - e, v + e)
    told, told_e = v, (high_end - low_end) / 2
    cuts = np.arange(len(v) + 1.0) if edges is None else np.asarray(edges, np.float64)
    widths = np.diff(cuts)
    if len(v) and float(widths.max()) > 1.01 * float(widths.min()):
        v, doubt, other, low_end, high_end = (x / widths for x in (v, doubt, other, low_end, high_end))
        axis += " per unit" if not marks else " per second" if ":" in marks[0][1] else " per day"
    top = max(float(high_end.max(initial=0)), float(other.max(initial=0)), 1e-12)
    bottom = min(float(low_end.min(initial=0)), 0.0)
    doubtful = errors is not None or ends is not None
    ticks = ink.linear(bottom, top, 5)
    left = ink.gutter(ticks)
    y = ink.scale(bottom, top, HEIGHT - BOTTOM, TOP)
    x = ink.scale(float(cuts[0]), float(cuts[-1]), left, WIDTH - RIGHT)
    parts = []
    for i in range(len(v)):
        start, step = x(float(cuts[i])), x(float(cuts[i + 1])) - x(float(cuts[i]))
        gap = min(step * 0.1, 1.5)
        tip = f"{labels[i]}: {number(told[i])}" + (f" ± {number(told_e[i], 3)}" if doubtful else "")
        known = float(v[i] - doubt[i])
        low, high = sorted((y(0.0), y(known)))
        parts.append(ink.rect("bar", start + gap, low, step - 2 * gap, max(high - low, 0.5), tip))
        if abs(doubt[i]) > 1e-9 * max(abs(v[i]), 1e-300):
            low, high = sorted((y(known), y(float(v[i]))))
            parts.append(ink.hatched(start + gap, low, step - 2 * gap, high - low, f"{tip}, in part assumed"))
        if doubtful and len(v) <= 80:
            middle = start + step / 2
            parts.append(f'<path class="whisker" d="M{middle:.1f} {y(low_end[i]):.1f}V{y(high_end[i]):.1f}"/>')
        if second is not None:
            parts.append(f'<path class="raw" d="M{start:.1f} {y(float(other[i])):.1f}h{step:.1f}"/>')
    if edges is None:
        under = [(float(a + b) / 2, text) for a, b, text in zip(cuts, cuts[1:], labels, strict=False)]
    else:
        under = list(marks) if marks else ink.linear(cuts[0], cuts[-1], 6).written
    return ink.frame(
        title,
        [*ink.levels(ticks, y, left), *parts, ink.base_line(left, y(0.0)), *ink.under_axis(under, x)],
        axis,
        ticks.times,
    )


def ranked(
    labels: Sequence[str],
    values: Sequence[float],
    lower: Sequence[float] | None = None,
    upper: Sequence[float] | None = None,
    *,
    title: str,
    axis: str,
    second: Sequence[float] | None = None,
    assumed: Sequence[float] | None = None,
    form: Callable[[float], str] = number,
    span: Callable[[float, float], str] | None = None,
    letters: int = _LETTERS,
) -> Markup:
    """Draw horizontal bars with names and figures, the twelve largest if there are more.

    ``span`` writes intervals by their ends; without it they are written as ± half of their width.
    """
    v, doubt, other = (ink.clean(x, len(values)) for x in (values, assumed, second))
    low, high = (ink.clean(values if x is None else x, len(v)) for x in (lower, upper))
    shown = np.arange(len(v))
    if len(v) > _MOST_ROWS:
        shown = np.argsort(-np.maximum(v, other), kind="stable")[:_MOST_ROWS]
    most = max(float(high[shown].max(initial=0)), float(v[shown].max(initial=0)), float(other[shown].max(initial=0)))
    least = min(float(low[shown].min(initial=0)), float(v[shown].min(initial=0)), 0.0)
    room = _NAMES * letters // _LETTERS
    figures = {}
    for i in shown.tolist():
        half, said = (high[i] - low[i]) / 2, form(float(v[i]))
        if lower is not None and half > 0:
            said += f" ± {form(float(half))}" if span is None else f" ({span(float(low[i]), float(high[i]))})"
        figures[i] = said
    wide = 0 if span is None else LETTER * max(map(len, figures.values()), default=0)
    x = ink.scale(least, most if most > least else least + 1, room, WIDTH - max(_FIGURES, wide))
    parts = [f'<text class="tick" x="0" y="11">{escape(axis)}</text>']
    for place, i in enumerate(shown.tolist()):
        top, middle = TOP + place * _ROW, TOP + (place + 0.5) * _ROW
        figure = figures[i]
        parts.append(
            f'<text class="name end" x="{room - 6}" y="{middle + 4:.0f}">{ink.cut_text(labels[i], letters)}</text>'
        )
        known = float(v[i] - doubt[i])
        a, b = sorted((x(0.0), x(known)))
        parts.append(ink.rect("bar", a, top + 3, max(b - a, 0.5), _ROW - 6, f"{labels[i]}: {figure}"))
        if abs(doubt[i]) > 1e-9 * max(abs(v[i]), 1e-300):
            a, b = sorted((x(known), x(float(v[i]))))
            parts.append(ink.hatched(a, top + 3, b - a, _ROW - 6, f"{labels[i]}: in part assumed"))
        if lower is not None:
            parts.append(f'<path class="whisker" d="M{x(low[i]):.1f} {middle:.1f}H{x(high[i]):.1f}"/>')
        if second is not None:
            parts.append(f'<path class="raw" d="M{x(float(other[i])):.1f} {top + 1}v{_ROW - 2}"/>')
        parts.append(f'<text class="tick end" x="{WIDTH}" y="{middle + 4:.0f}">{escape(figure)}</text>')
    end = TOP + len(shown) * _ROW
    parts.append(f'<path class="axis" d="M{x(0.0):.1f} {TOP}V{end}"/>')
    if len(v) > len(shown):
        parts.append(f'<text class="tick" x="{room}" y="{end + 14}">and {len(v) - len(shown):,} more</text>')
        end += 18
    return ink.picture(title, parts, WIDTH, end + 4)


def curve(
    xs: Any,
    ys: Any,
    *,
    title: str,
    x: str,
    y: str,
    log: bool = False,
    form: Callable[[float], str] = number,
    upright: Sequence[tuple[float, str, str]] = (),
    dot: tuple[float, float, str] | None = None,
    level: tuple[float, str] | None = None,
    top: float = -math.inf,
) -> Markup:
    """Draw one curve, with logarithmic axes if ``log``; the vertical axis reaches ``top`` at least.

    ``upright`` are vertical lines (place, text, class), ``level`` a horizontal one, ``dot`` a point with text.
    """
    a, b = ink.clean(xs, 0), ink.clean(ys, 0)
    across = [*a, *(place for place, _, _ in upright)]
    along = [*b, *([] if level is None else [level[0]])]
    if log:
        ticks, under = ink.decades(min(along), max(along), form), ink.decades(min(across), max(across), number)
        (low, high), (near, far) = (ink.padded(np.log10(np.maximum(w, 1e-300))) for w in (along, across))
    else:
        low, high, near, far = min(*along, 0.0), max(*along, top), min(across), max(across)
        near -= 0.06 * (far - near) if upright else 0.0  # a line at the very edge would pass for the axis
        ticks, under = ink.linear(low, high, 5), ink.linear(near, far, 5)
    left = ink.gutter(ticks)
    mapped = [ink.scale(low, high, HEIGHT - BOTTOM, TOP), ink.scale(near, far, left, WIDTH - RIGHT)]

    def at(which: int) -> Callable[[float], float]:
        return lambda value: mapped[which](math.log10(max(value, 1e-300)) if log else value)

    up, right = at(0), at(1)
    line = "L".join(f"{right(p):.1f} {up(q):.1f}" for p, q in zip(a, b, strict=True))
    parts = [*ink.levels(ticks, up, left), ink.base_line(left, HEIGHT - BOTTOM), f'<path class="curve" d="M{line}"/>']
    for place, _, kind in upright:
        parts.append(f'<path class="{escape(kind)}" d="M{right(place):.1f} {TOP}V{HEIGHT - BOTTOM}"/>')
    for i, (place, words, _) in enumerate(upright):
        side = "end" if right(place) > (left + WIDTH) / 2 else ""
        parts.append(ink.halo(words, right(place) + (-5 if side else 5), TOP + 14 + 15 * i, side))
    if level is not None:
        parts.append(f'<path class="claim" d="M{left} {up(level[0]):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(ink.halo(level[1], WIDTH - RIGHT, up(level[0]) - 5, "end"))
    if dot is not None:
        where, height, words = right(dot[0]), up(dot[1]), dot[2]
        side = "end" if where + 8 + LETTER * len(words) > WIDTH else ""
        parts.append(f'<circle class="dot" cx="{where:.1f}" cy="{height:.1f}" r="4"/>')
        # On the side of the curve where it does not run: under it where it rises away from the dot.
        under_it = (b[-1] > b[0]) != bool(side)
        side_of_dot = min(height + 17, HEIGHT - BOTTOM - 5) if under_it else max(height - 7, TOP + 10)
        parts.append(ink.halo(words, where + (-8 if side else 8), side_of_dot, side))
    marks = [*ink.under_axis(under.marks, right), f'<text class="label" x="{(left + WIDTH) / 2}" y="{HEIGHT + 12}">'
             f"{escape(ink.with_times(x, under.times))}</text>"]  # fmt: skip
    return ink.frame(title, [*parts, *marks], y, ticks.times, HEIGHT + 18)


def unknown(words: str, *, title: str, ends: Sequence[str] = ("", "")) -> Markup:
    """Draw a hatched field with text, for what is not known."""
    width, height = WIDTH - RIGHT, HEIGHT - BOTTOM - TOP
    middle, base = width / 2, HEIGHT - BOTTOM + 16
    inside = min(LETTER * len(words) + 16, width - 6)
    parts = [
        ink.hatched(0, TOP, width, height, words),
        f'<rect class="paper" x="{middle - inside / 2:.1f}" y="{TOP + height / 2 - 14:.1f}" width="{inside:.1f}" '
        f'height="28"/><text class="words mid" x="{middle:.1f}" y="{TOP + height / 2 + 4:.1f}">{escape(words)}</text>',
        f'<text class="tick" x="0" y="{base}">{ink.cut_text(ends[0], 18)}</text>',
        f'<text class="tick end" x="{width}" y="{base}">{ink.cut_text(ends[1], 18)}</text>',
    ]
    return ink.picture(f"{title}: {words}", parts, WIDTH, HEIGHT)
