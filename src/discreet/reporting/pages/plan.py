"""The outlook as one page: the table, and a picture of every error over ε."""

from __future__ import annotations

from html import escape

from discreet.planning import Outlook
from discreet.reporting.pages import svg
from discreet.reporting.pages.report import _POLICY, _STYLE, _table

#: What the errors of a question are shares of.
UNITS = {
    "counts": "share of all rows",
    "places": "declared widths",
    "clusters": "excess of the squared error",
}


def page(found: Outlook) -> str:
    """Return a page without scripts or outside files.

    Examples
    --------
    >>> from discreet.planning import outlook
    >>> text = page(outlook(1000, 2))
    >>> text.count("<svg"), "<script" in text
    (6, False)
    """
    title = f"What to expect of {found.n:,} rows and {found.d} columns"
    asked = f"ε = {found.epsilon:g}, {found.clusters} clusters, k = {found.k}, {found.values:,} values, radius "
    head = ["question", "method", "promise", "what is released", "error", "the error is"]
    target = found.target_error
    if target is not None:
        head.append(f"ε for an error of {target:g}")
    rows = [
        [
            row.question,
            row.method,
            row.model,
            row.release,
            f"{'' if row.sense == 'about' else row.sense + ' '}{percent(row.error)}",
            f"{row.reading} ({UNITS[row.question]})",
            *([] if target is None else [needed(row.needed_epsilon)]),
        ]
        for row in found.rows
    ]
    pictures = "".join(
        f"<figure>{svg.bars([f'{e:g}' for e in found.budgets], row.curve, title=row.method, axis='error')}"
        f"<figcaption>{escape(row.method)}: error over ε, {escape(UNITS[row.question])}</figcaption></figure>"
        for row in found.rows
        if row.model != "syntactic"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{_STYLE}</style></head>'
        f"<body><main><h1>{escape(title)}</h1><p class='soft'>{escape(asked)}{found.radius:g}. No data were looked at; "
        "errors of different questions cannot be compared.</p>"
        f"<div class='scroll'>{_table(head, rows, 'Methods', (4,))}</div>"
        f"<h2>The errors over ε</h2><div class='pictures'>{pictures}</div></main></body></html>\n"
    )


def percent(share: float) -> str:
    """Write a share for people."""
    return f"{share:.3g}" if share >= 1 else f"{100 * share:.3g} %"


def needed(epsilon: float | None) -> str:
    """Write a needed budget for people."""
    return "none" if epsilon is None else f"{epsilon:.3g}"
