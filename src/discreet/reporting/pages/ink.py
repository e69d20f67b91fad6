"""Parts of all charts: axes with round marks, fields, text. Outside texts are escaped here."""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from discreet.reporting.words import SUPERSCRIPT

WIDTH, HEIGHT, TOP, BOTTOM, RIGHT = 360, 200, 24, 24, 10
#: About how wide a character is.
LETTER = 6.4
MOST_TICKS = 6
#: Distance of the lines of a hatching; wide fields have them further apart.
_HATCH = 7.0


class Axis(NamedTuple):
    """Marks of an axis: place and text, and what the texts are multiples of (empty for one)."""

    marks: list[tuple[float, str]]
    times: str

    @property
    def written(self) -> list[tuple[float, str]]:
        """Marks with the unit written at the middle one."""
        middle = len(self.marks) // 2
        return [(v, f"{t} {self.times}" if self.times and i == middle else t) for i, (v, t) in enumerate(self.marks)]


def linear(low: float, high: float, most: int = MOST_TICKS) -> Axis:
    """Return round marks of an axis, at most as many as wanted, without exponents."""
    low, high = float(low), float(high)
    span = high - low if high > low else max(abs(high), 1e-300)
    base = 10.0 ** math.floor(math.log10(span / most))
    step = next(s for s in (base * t for t in (1, 2, 5, 10, 20, 50)) if _steps(low, high, s)[1] <= most)
    first, n = _steps(low, high, step)
    values = [(first + i) * step for i in range(n)]
    largest = max((abs(v) for v in values), default=1.0)
    exponent = 3 * math.floor(math.log10(largest) / 3) if largest and not 1e-3 <= largest < 1e6 else 0
    unit = 10.0**exponent
    digits = max(0, -math.floor(math.log10(step / unit) + 1e-9))
    texts = [f"{v / unit + 0.0:,.{digits}f}".replace("-", "−") for v in values]
    power = "" if not exponent else f"× 10{str(exponent).translate(SUPERSCRIPT)}"
    places = [round(v, 12 - math.floor(math.log10(step)) if step < 1 else 3) + 0.0 for v in values]
    return Axis(list(zip(places, texts, strict=True)), {6: "millions", 9: "billions"}.get(exponent, power))


def _steps(low: float, high: float, step: float) -> tuple[int, int]:
    first = math.ceil(low / step - 1e-9)
    return first, math.floor(high / step + 1e-9) - first + 1


def decades(low: float, high: float, form: Callable[[float], str]) -> Axis:
    """Return marks of a logarithmic axis: 1, 2, 5 where there is room, else powers of ten."""
    low, high = max(float(low), 1e-300), max(float(high), 1e-300)
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    for times in ((1, 2, 5), (1, 3), (1,)):
        found = [t * 10.0**p for p in powers for t in times]
        found = [v for v in found if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]
        if len(found) <= MOST_TICKS:
            break
    found = found[:: math.ceil(len(found) / MOST_TICKS)] if found else [low]
    return Axis([(v, form(float(f"{v:.6g}"))) for v in found], "")


def padded(logs: Any) -> tuple[float, float]:
    low, high = float(np.min(logs)), float(np.max(logs))
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def scale(low: float, high: float, start: float, stop: float) -> Callable[[float], float]:
    width = (high - low) or 1.0
    return lambda value: start + (stop - start) * (float(value) - low) / width


def clean(values: Any, n: int) -> Any:
    return np.zeros(n) if values is None else np.nan_to_num(np.asarray(values, np.float64))


def gutter(axis: Axis) -> int:
    return max(22, round(max((len(text) for _, text in axis.marks), default=1) * LETTER) + 8)


def levels(ticks: Axis, y: Callable[[float], float], left: int) -> list[str]:
    return [
        f'<path class="grid" d="M{left} {y(v):.1f}H{WIDTH - RIGHT}"/>'
        f'<text class="tick end" x="{left - 5}" y="{y(v) + 4:.1f}">{escape(text)}</text>'
        for v, text in ticks.marks
    ]


def base_line(left: float, height: float) -> str:
    return f'<path class="axis" d="M{left} {height:.1f}H{WIDTH - RIGHT}"/>'


def under_axis(
    marks: Sequence[tuple[float, str]],
    x: Callable[[float], float],
    height: float = HEIGHT - BOTTOM + 16,
    width: float = WIDTH,
    longest: int = 12,
) -> list[str]:
    """Write texts under an axis: as many as fit, evenly spaced, within the border."""
    step = max(1, math.ceil(len(marks) / MOST_TICKS))
    while True:
        shown = [(x(place), cut_text(text, longest)) for place, text in marks[::step]]
        halves = [LETTER * len(text) / 2 for _, text in shown]
        shown = [(min(max(p, h), width - h), text) for (p, text), h in zip(shown, halves, strict=True)]
        room = [b[0] - a[0] - h - k for a, b, h, k in zip(shown, shown[1:], halves, halves[1:], strict=False)]
        if min(room, default=9.0) >= 6 or len(shown) <= 1:
            break
        step += 1
    return [f'<text class="tick mid" x="{place:.1f}" y="{height:.0f}">{text}</text>' for place, text in shown]


def rect(kind: str, x: float, y: float, width: float, height: float, tip: str, opacity: float = 1.0) -> str:
    shade = "" if opacity == 1 else f' fill-opacity="{opacity:.2f}"'
    inside = f"><title>{escape(tip)}</title></rect>" if tip else "/>"
    return f'<rect class="{kind}"{shade} x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"{inside}'


def hatched(x: float, y: float, width: float, height: float, tip: str) -> str:
    """Return a field of slanted lines. SVG patterns would need names that are unique on a page."""
    gap = max(_HATCH, (width + height) / 90)
    lines = []
    for c in np.arange(x - height + gap / 2, x + width, gap).tolist():
        start, stop = max(0.0, x - c), min(height, x + width - c)
        if stop > start:
            lines.append(f"M{c + start:.1f} {y + height - start:.1f}L{c + stop:.1f} {y + height - stop:.1f}")
    return f'{rect("unknown", x, y, width, max(height, 0.5), tip)}<path class="hatch" d="{"".join(lines)}"/>'


def halo(words: str, x: float, y: float, side: str) -> str:
    return f'<text class="words halo {side}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def with_times(name: str, times: str) -> str:
    return f"{name} ({times})" if times else name


def cut_text(text: str, length: int) -> str:
    return escape(text if len(text) <= length else text[: length - 1] + "…")


def frame(title: str, parts: Sequence[str], axis: str, times: str, height: int = HEIGHT) -> Markup:
    name = f'<text class="tick" x="0" y="11">{escape(with_times(axis, times))}</text>'
    return picture(title, [name, *parts], WIDTH, height)


def picture(title: str, parts: Sequence[str], width: float, height: float) -> Markup:
    head = f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img"><title>{escape(title)}</title>'
    return Markup(f"{head}{''.join(parts)}</svg>")
