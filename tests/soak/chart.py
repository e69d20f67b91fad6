"""The memory of the services over time, as an SVG picture without a library."""

from __future__ import annotations

from typing import Any

_WIDTH, _HEIGHT, _LEFT, _TOP = 720, 130, 60, 24


def chart(told: dict[str, Any]) -> str:
    """Return a picture with one band per service; a gap is a kill."""
    end, rows = 60 * told["minutes"], []
    for number, (name, lives) in enumerate(told["series"].items()):
        top = number * (_HEIGHT + 36) + _TOP
        most = 1.1 * max((mib for life in lives for _, mib in life), default=1.0)
        lines = "".join(
            '<polyline fill="none" stroke="#2a6f97" stroke-width="1.5" points="'
            + " ".join(
                f"{_LEFT + _WIDTH * at / end:.1f},{top + _HEIGHT * (1 - mib / most):.1f}"
                for at, mib in life
                if at <= end
            )
            + '"/>'
            for life in lives
        )
        facts = told["memory"][name]
        title = f"{name}: {facts['mean_mib']:g} MiB, {facts['mib_per_hour']:+g} MiB per hour within a life"
        axis = f'<path d="M{_LEFT} {top}v{_HEIGHT}h{_WIDTH}" fill="none" stroke="#888"/>'
        ticks = "".join(
            _text(_LEFT - 6, top + _HEIGHT * (1 - share) + 4, "end", f"{most * share:.0f}") for share in (0, 0.5, 1)
        )
        rows.append(f'<text x="{_LEFT}" y="{top - 8}" font-weight="600">{title}</text>{axis}{ticks}{lines}')
    height = len(rows) * (_HEIGHT + 36) + _TOP
    feet = "".join(
        _text(_LEFT + _WIDTH * share, height - 2, "middle", f"{told['minutes'] * share:g} min")
        for share in (0, 0.25, 0.5, 0.75, 1)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 40} {height + 4}" '
        'font-family="system-ui,sans-serif" font-size="12" fill="#444">'
        f"<title>Memory of the services in MiB</title>{''.join(rows)}{feet}</svg>\n"
    )


def _text(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{text}</text>'
