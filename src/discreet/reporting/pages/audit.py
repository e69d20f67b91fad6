"""The page of the verb `audit`: findings and curves in one file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from discreet.errors import MissingExtra

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}"
    "table{border-collapse:collapse;width:100%}"
    "td,th{border-bottom:1px solid #d0d7de;padding:.35rem .5rem;text-align:left;"
    "vertical-align:top}.good{color:#1f8a7d}.bad{color:#d1242f;font-weight:600}.open{color:#57606a}"
)
_NO_PROOF = (
    "A refutation is a proof up to the confidence. A pass is none: only these inputs, these features and so many runs "
    "were looked at."
)


def mechanism_page(facts: dict[str, Any]) -> str:
    """Return the page of an audited mechanism; needs the extra 'plot'."""
    try:
        import plotly.io as pio
    except ImportError:
        raise MissingExtra("drawing an audit", "plot") from None
    rows, figures = [], []
    for name, found in facts["results"]:
        rows.append(
            (
                name,
                f"{found.epsilon_lower:.4g}",
                _verdict(found.passed),
                f"{found.trials:,}",
                f"{found.event}: {found.counts['data']:,} and {found.counts['neighbour']:,} of {found.counted:,}",
            )
        )
        figures.append((name, found.plot()))
    if facts.get("exact_result") is not None:
        figures.append(("the law itself, first pair", facts["exact_result"].plot()))
    drawn = [
        f"<h2>{escape(title)}</h2>" + pio.to_html(figure, include_plotlyjs=place == 0, full_html=False)
        for place, (title, figure) in enumerate(figures)
    ]
    claim = f"claimed ε = {facts['claimed']:.6g}" if "claimed" in facts else "k, l and t counted again"
    if facts.get("delta"):
        claim += f", δ = {facts['delta']:g}"
    failures = "".join(f"<p class='bad'>{escape(text)}</p>" for text in facts.get("failures", ()))
    head = ("neighbours", "ε at least", "claim", "runs on each", "event")
    table = _table(head, rows) if rows else ""
    body = f"<p>{escape(claim)}: {_verdict(facts['passed'])}</p>{failures}{table}<p>{_NO_PROOF}</p>{''.join(drawn)}"
    return _page(f"Audit of {facts['mechanism']}", body)


def artifact_page(facts: dict[str, Any]) -> str:
    """Return the page of an examined file.

    Examples
    --------
    >>> facts = {"file": "s.parquet", "kind": "synopsis", "passed": False, "seeded": False, "epsilon": None,
    ...          "digest": None, "checks": [{"check": "seal", "holds": False, "detail": "changed"}]}
    >>> "does not hold" in artifact_page(facts)
    True
    """
    rows = [(c["check"], _verdict(c["holds"], "holds", "does not hold"), c["detail"]) for c in facts["checks"]]
    verdict = _verdict(facts["passed"], "nothing was found that does not hold", "REFUSED")
    seeded = "<p class='bad'>Seeded: it must not be published.</p>" if facts["seeded"] else ""
    said = [("kind", facts["kind"]), ("ε", str(facts["epsilon"])), ("seal", str(facts["digest"]))]
    body = f"<p>{verdict}</p>{seeded}{_table(('check', 'result', 'detail'), rows)}{_table(('fact', 'value'), said)}"
    return _page(f"Audit of {facts['file']}", body)


def _verdict(holds: bool | None, good: str = "not refuted", bad: str = "REFUTED") -> str:
    if holds is None:
        return "<span class='open'>not checked</span>"
    return f"<span class='{'good' if holds else 'bad'}'>{good if holds else bad}</span>"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    top = "".join(f"<th>{escape(h)}</th>" for h in head)
    lines = ("".join(f"<td>{c if c.startswith('<span') else escape(c)}</td>" for c in row) for row in rows)
    return f"<table><tr>{top}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _page(title: str, body: str) -> str:
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{escape(title)}</title>"
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>{body}</body></html>\n"
    )
