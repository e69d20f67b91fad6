"""Pictures of two columns: boxes coloured by density, points and marks; and errors of all pairs of columns."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np
from markupsafe import Markup

from discreet.reporting.pages import ink
from discreet.reporting.pages.ink import LETTER, RIGHT, TOP, WIDTH
from discreet.reporting.words import number

_SIDE = 290
#: More boxes than this are drawn on a raster of their own.
_MOST_BOXES, _RASTER = 3000, 48
_SHADES = 12
#: Most columns in a chart of pairs.
MOST_PAIRED = 20


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
    ends: Sequence[Sequence[Any] | None] = (None, None),
    gaps: bool = False,
    marks: Sequence[tuple[Any, str]] = (),
    unit: str = "rows per unit area",
    above: str = "{most} or more",
    hidden: str = "not listed",
    assumed: str = "",
) -> Markup:
    """Draw boxes of the plane, coloured by density; negative densities, which only noise causes, in another colour.

    ``ends`` are words at the ends of an axis without numbers, or places with texts. With ``gaps`` the boxes do not
    cover the plane: the rest is hatched. ``marks`` are points with their shape, "ring" or "cross". ``unit``, ``above``
    and ``hidden`` are words of the key. With ``assumed`` (a text) the whole plane is hatched: a model made it.
    """
    lower, upper = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
    d = np.nan_to_num(np.asarray(density, np.float64))
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    kept = ~np.isnan(lower).any(axis=1)
    lower, upper, d = lower[kept], upper[kept], d[kept]
    # Overlapping boxes, from releases of more columns, add up.
    over = float(np.prod(upper - lower, axis=1).sum()) > 1.001 * float(np.prod(high - low))
    if len(d) > _MOST_BOXES or over:
        lower, upper, d = _raster(lower, upper, d, low, high)
    most = float(np.quantile(d, 0.98)) if len(d) else 1.0
    most = most if most > 0 else float(np.abs(d).max(initial=1.0)) or 1.0
    plane = _Plane(low, high, ends)
    start, size = plane.at(np.column_stack([lower[:, 0], upper[:, 1]])), plane.stretch * (upper - lower)
    shade = np.where(d < 0, -1, 1) * np.ceil(_SHADES * np.minimum(np.abs(d) / most, 1.0) - 1e-9).astype(int)
    # One path for every shade: a box then costs some 25 characters.
    drawn = [f"M{a:.1f} {b:.1f}h{w + 0.2:.1f}v{h + 0.2:.1f}h-{w + 0.2:.1f}z"
             for (a, b), (w, h) in zip(start.tolist(), size.tolist(), strict=True)]  # fmt: skip
    parts = []
    if gaps:
        parts = [ink.hatched(plane.left, TOP, _SIDE, _SIDE, hidden), f'<path class="paper" d="{"".join(drawn)}"/>']
    for level in np.unique(shade[np.abs(d) >= 0.01 * most]).tolist():
        path = "".join(drawn[i] for i in np.flatnonzero(shade == level))
        kind = "people" if level > 0 else "below"
        parts.append(f'<path class="{kind}" fill-opacity="{abs(level) / _SHADES:.2f}" d="{path}"/>')
    # From the right end, so that a long figure is not cut there.
    if assumed:
        parts.append(ink.hatched(plane.left, TOP, _SIDE, _SIDE, assumed))
    said = above.format(most=number(most, 2))
    start_of_key = plane.left + _SIDE - LETTER * len(said) - 60
    key = [ink.rect("people", start_of_key + 11 * i, 5, 11, 8, "", (i + 1) / 5) for i in range(5)]
    key.append(f'<text class="tick end" x="{start_of_key - 6:.1f}" y="13">{escape(unit)}</text>')
    key.append(f'<text class="tick end" x="{plane.left + _SIDE}" y="13">{said}</text>')
    return plane.draw(title, [*parts, *key], x, y, marks)


def cloud(points: Any, *, title: str, x: str, y: str, low: Any, high: Any, marks: Sequence[tuple[Any, str]]) -> Markup:
    """Draw points of the plane, each place once."""
    plane = _Plane(np.asarray(low, np.float64), np.asarray(high, np.float64), (None, None))
    places = np.unique(np.round(plane.at(np.asarray(points, np.float64))).astype(int), axis=0)
    path = "".join(f"M{a} {b}h0" for a, b in places.tolist())
    return plane.draw(title, [f'<path class="points" d="{path}"/>'], x, y, marks)


def pairs(
    names: Sequence[str], errors: Any, *, title: str, form: Callable[[float], str] = "{:.3f}".format, top: float = 0.0
) -> Markup:
    """Draw errors of pairs of columns, single ones on the diagonal; NaN is hatched. Of many, those with the largest.

    The darkest colour is that of the largest error, or of ``top`` and all that is larger.
    """
    found = np.asarray(errors, np.float64)
    chosen = np.sort(np.argsort(-np.nansum(found, axis=0), kind="stable")[:MOST_PAIRED])
    found, shown = found[np.ix_(chosen, chosen)], [names[i] for i in chosen]
    most, n = top or max(float(np.nanmax(found, initial=0)), 1e-12), len(shown)
    left = min(max(len(ink.cut_text(name, 14)) for name in shown) * LETTER + 8, 98)
    side = min((WIDTH - left) / n, 44.0)
    parts = []
    for i, j in np.argwhere(np.tri(n)).tolist():
        value = float(found[i, j])
        tip = f"{shown[i] if i == j else f'{shown[j]} and {shown[i]}'}: {number(value, 3)}"
        at = left + j * side, TOP + i * side
        if np.isnan(value):
            parts.append(ink.hatched(*at, side, side, tip))
            continue
        parts.append(ink.rect("people cell", *at, side, side, tip, min(max(value / most, 0.0), 1.0)))
        if side >= 30:
            tone = "on" if value > 0.7 * most else "words"
            parts.append(f'<text class="{tone} mid" x="{at[0] + side / 2:.1f}" y="{at[1] + side / 2 + 4:.1f}">'
                         f"{form(value)}</text>")  # fmt: skip
    base = TOP + n * side + 6
    for i, name in enumerate(ink.cut_text(name, 14) for name in shown):
        middle = (i + 0.5) * side
        parts.append(f'<text class="name end" x="{left - 5:.1f}" y="{TOP + middle + 4:.1f}">{name}</text>')
        parts.append(f'<text class="name end" transform="translate({left + middle + 4:.1f} {base:.1f}) rotate(-90)">'
                     f"{name}</text>")  # fmt: skip
    key = [ink.rect("people cell", WIDTH - 95 + 11 * i, 5, 11, 8, "", (i + 1) / 5) for i in range(5)]
    key.append(f'<text class="tick end" x="{WIDTH - 100}" y="13">error, 0 to</text>')
    key.append(f'<text class="tick" x="{WIDTH - 36}" y="13">{form(most)}</text>')
    return ink.picture(title, [*parts, *key], WIDTH, base + left)


def _marks(low: float, high: float, ends: Sequence[Any]) -> Sequence[tuple[float, str]]:
    return [(low, ends[0]), (high, ends[1])] if isinstance(ends[0], str) else ends


class _Plane:
    """A square with two axes."""

    def __init__(self, low: Any, high: Any, ends: Sequence[Sequence[Any] | None]) -> None:
        self.low, self.stretch = low, _SIDE / np.where(high > low, high - low, 1.0)
        self.axes = [
            ink.linear(a, b, 5)
            if not e
            else ink.Axis([(float(v), str(text)) for v, text in _marks(float(a), float(b), e)], "")
            for a, b, e in zip(low, high, ends, strict=True)
        ]
        self.left = max(ink.gutter(ink.Axis([(v, text[:9]) for v, text in self.axes[1].marks], "")), 30) + 12

    def at(self, points: Any) -> Any:
        """Return where points lie in the picture."""
        return np.array([self.left, TOP + _SIDE]) + np.array([1, -1]) * (points - self.low) * self.stretch

    def draw(self, title: str, parts: list[str], x: str, y: str, marks: Sequence[tuple[Any, str]]) -> Markup:
        base, across = TOP + _SIDE, self.axes[0].marks
        parts = [*parts, f'<path class="axis" d="M{self.left} {TOP}V{base}H{self.left + _SIDE}"/>']
        for points, shape in marks:
            path = "".join(_SHAPES[shape].format(a, b) for a, b in self.at(np.asarray(points, np.float64)).tolist())
            parts += [f'<path class="{shape} {layer}" d="{path}"/>' for layer in ("under", "over")]
        right = ink.scale(self.low[0], self.low[0] + _SIDE / self.stretch[0], self.left, self.left + _SIDE)
        parts += ink.under_axis(across, right, base + 16, self.left + _SIDE + RIGHT, 16)
        for value, text in self.axes[1].marks:
            height = base - (value - self.low[1]) * self.stretch[1]
            parts.append(
                f'<text class="tick end" x="{self.left - 5}" y="{height + 4:.1f}">{ink.cut_text(text, 9)}</text>'
            )
        parts.append(f'<text class="label" x="{self.left + _SIDE / 2}" y="{base + 32}">'
                     f"{escape(ink.with_times(x, self.axes[0].times))}</text>")  # fmt: skip
        parts.append(f'<text class="label" transform="translate(10 {TOP + _SIDE / 2}) rotate(-90)">'
                     f"{escape(ink.with_times(y, self.axes[1].times))}</text>")  # fmt: skip
        return ink.picture(title, parts, self.left + _SIDE + RIGHT, base + 38)


_SHAPES = {
    "ring": "M{0:.1f} {1:.1f}m-6 0a6 6 0 1 0 12 0a6 6 0 1 0 -12 0",
    "cross": "M{0:.1f} {1:.1f}m-5 -5l10 10m0 -10l-10 10",
}


def _raster(lower: Any, upper: Any, d: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """Spread many boxes over 48 by 48 squares, by the area of overlap."""
    edges = [np.linspace(low[j], high[j], _RASTER + 1) for j in (0, 1)]
    mass = np.zeros((_RASTER, _RASTER))
    for start in range(0, len(d), 1 << 16):  # in portions: a release may have millions of boxes
        part = slice(start, start + (1 << 16))
        over = [
            np.clip(np.minimum(upper[part, j, None], e[1:]) - np.maximum(lower[part, j, None], e[:-1]), 0, None)
            for j, e in enumerate(edges)
        ]
        mass += (over[0] * d[part, None]).T @ over[1]
    i, j = np.nonzero(mass)
    corner = np.column_stack([edges[0][i], edges[1][j]])
    unit = (high - low) / _RASTER
    return corner, corner + unit, mass[i, j] / float(np.prod(unit))
