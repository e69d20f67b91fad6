"""Turn the tutorial notebooks into pages when the guide is built: their cells, run in order, with what they show.

Charts become small drawings, as in reports: a page with Plotly would have 5 MB.
"""

from __future__ import annotations

import ast
import io
import json
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from discreet.reporting.pages import svg


def page(path: Path) -> str:
    """Return a notebook as Markdown."""
    space: dict[str, Any] = {"__name__": path.stem}
    lines: list[str] = []
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        text = "".join(cell["source"])
        lines += [text, ""] if cell["cell_type"] == "markdown" else [_block(text, "python"), _ran(text, space)]
    there = f"[Download this notebook]({path.name}) to run it yourself. It takes a few seconds."
    title, _, rest = "\n".join(lines).partition("\n")
    return f"{title}\n\n{there}\n{rest}"


def _ran(text: str, space: dict[str, Any]) -> str:
    """Run a cell; return what it prints and what its last line shows."""
    body = ast.parse(text).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), "cell", "exec"), space)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), space) if last else None
    told = printed.getvalue().rstrip()
    return (_block(told, "text") if told else "") + ("" if value is None else _shown(value, space))


def _shown(value: Any, space: dict[str, Any]) -> str:
    figures = [each for each in (value, *reversed(space.values())) if hasattr(type(each), "to_plotly_json")]
    html = None if figures and value is figures[0] else getattr(value, "_repr_html_", lambda: None)()
    if html is not None and "Plotly" not in html:
        plain = re.sub(r"<style.*?</style>|\n", "", re.sub(r' (class|border|style)="[^"]*"', "", html), flags=re.S)
        return f'\n<div class="shown">{plain}</div>\n\n'
    if figures and (html is not None or value is figures[0]):
        return f'\n<div class="shown chart">{drawn(figures[0])}</div>\n\n'
    return _block(repr(value), "text")


def drawn(figure: Any) -> str:
    """Draw the first trace of a Plotly figure: bars or marks, with intervals."""
    trace, layout = figure.data[0], figure.layout
    across = trace.type == "bar" and trace.orientation == "h"
    places, sizes = (trace.y, trace.x) if across else (trace.x, trace.y)
    error, values = trace.error_x if across else trace.error_y, np.asarray(sizes, float)
    up = np.zeros(len(values)) if error.array is None else np.asarray(error.array)
    down = up if error.arrayminus is None else np.asarray(error.arrayminus)
    title, axis = (
        re.sub(r"<[^>]*>", " ", layout.title.text or ""),
        (layout.xaxis if across else layout.yaxis).title.text,
    )
    if across or trace.type != "bar" or trace.width is None:
        named = [str(place) for place in places]
        return str(svg.ranked(named, values, values - down, values + up, title=title, axis=axis or "")).replace(
            "\n", ""
        )
    wide, middles = np.asarray(trace.width), np.asarray(places)
    edges, labels = [*(middles - wide / 2), middles[-1] + wide[-1] / 2], [f"{place:g}" for place in middles]
    return str(svg.bars(labels, values * wide, up * wide, edges=edges, title=title, axis="rows")).replace("\n", "")


def _block(text: str, kind: str) -> str:
    return f"\n```{kind}\n{text}\n```\n"
