"""The facts as one page: no script, no outside file, light and dark, made to be printed."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape
from typing import Any

from discreet.core.guarantee import kept_text
from discreet.reporting import views
from discreet.reporting.pages import svg

#: Charts of columns on one page; the others are named.
_MOST_CHARTS = 12
#: The browser itself keeps the page from asking for anything.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = """
:root { --ink: #1b1f24; --soft: #57606a; --paper: #ffffff; --line: #d0d7de; --panel: #f6f8fa; --teal: #1f8a7d;
  --sand: #b8860b; --mark: #b42318; --good: #1a7f37; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa4af; --paper: #0d1117; --line: #30363d;
  --panel: #161b22; --teal: #4fc3b3; --sand: #e9c46a; --mark: #ff7b72; --good: #56d364; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; color: var(--ink); background: var(--paper);
  font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .2rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p, li { max-width: 46rem; }
.soft { color: var(--soft); } .mark { color: var(--mark); font-weight: 600; } .good { color: var(--good); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .8rem; margin: 1rem 0; }
.card { background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; padding: .7rem .9rem; }
.card b { display: block; font-size: 1.25rem; overflow-wrap: anywhere; }
.card span { color: var(--soft); font-size: .85rem; }
.alarm { border: 2px solid var(--mark); border-radius: .5rem; padding: .6rem .9rem; margin: 1rem 0; }
.cost { border: 2px solid var(--sand); border-radius: .5rem; padding: .6rem .9rem; margin: 1rem 0; }
.caution { border-left: 3px solid var(--sand); padding-left: .8rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .4rem 0; font-size: .92rem; }
caption { text-align: left; color: var(--soft); }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .8rem .25rem 0; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
code, pre { font: .86rem/1.5 ui-monospace, monospace; } pre { background: var(--panel); border: 1px solid var(--line);
  border-radius: .4rem; padding: .6rem .8rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: 1rem; }
figure { margin: 0; } figcaption { font-size: .88rem; color: var(--soft); }
svg { width: 100%; height: auto; } svg .bar, svg .people { fill: var(--teal); } svg .below { fill: var(--sand); }
svg .axis { stroke: var(--soft); fill: none; } svg .grid { stroke: var(--line); } svg .whisker { stroke: var(--ink); }
svg .paper { fill: var(--paper); } svg .unknown { fill: none; stroke: var(--soft); stroke-dasharray: 3 3; }
svg .hatch { fill: none; stroke: var(--soft); stroke-opacity: .55; }
svg text.words { fill: var(--ink); font-size: 13px; }
svg .raw { stroke: var(--sand); stroke-width: 2.5; } svg text { fill: var(--soft); font-size: 11px; }
svg .end { text-anchor: end; } svg .mid, svg .label { text-anchor: middle; }
@media print { :root { --ink: #000; --soft: #444; --paper: #fff; --line: #bbb; --panel: #fff; --teal: #1f8a7d;
  --sand: #b8860b; --mark: #b42318; --good: #1a7f37; } body { font-size: 11pt; max-width: none; padding: 0; }
  figure, table, .card { break-inside: avoid; } h2 { break-after: avoid; } }
"""


def report_page(facts: dict[str, Any]) -> str:
    """Return the page that shows the facts.

    Examples
    --------
    >>> from discreet.core.guarantee import Guarantee
    >>> facts = {"file": "t.csv", "kind": "anonymous table", "checks": {"seal": "intact", "seeded": False},
    ...     "promise": {"model": "syntactic", "epsilon": None, "delta": 0, "unit": "one row", "plain": ["Hidden."],
    ...     "symbols": []}, "ledger": [], "assumptions": [], "columns": [], "parameters": {}, "release": {"rows": 3},
    ...     "attacks": [], "audits": [], "digest": None, "made_by": "0", "reported_by": "0", "bytes": 1,
    ...     "file_sha256": ""}
    >>> "<script" in report_page(facts)
    False
    """
    body = "".join(
        part(facts)
        for part in (_head, _alarms, _promise, _ledger, _assumptions, _released, _comparison, _attacks, _audits, _facts)
    )
    title = f"{facts['file']}: what was promised"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{_STYLE}</style></head>'
        f"<body><main>{body}</main></body></html>\n"
    )


def _head(facts: dict[str, Any]) -> str:
    promise, release = facts["promise"], facts["release"]
    cards = [("kind of release", facts["kind"])]
    if promise["epsilon"] is not None:
        level = "∞" if math.isinf(promise["epsilon"]) else f"{promise['epsilon']:.4g}"
        cards.append((f"ε, {promise['model']} model", level))
        if promise["delta"]:
            cards.append(("δ", f"{promise['delta']:.2g}"))
    reached = facts["parameters"].get("reached", {})
    if "k" in reached:
        kept = facts["parameters"].get("kept")
        only = ", in the generalised columns" if kept else ""
        cards.append((f"everyone hides among{only}", f"{int(reached['k']):,}"))
        if kept and "k" in kept:
            cards.append(("with the kept columns known", f"{int(kept['k']):,}"))
    rows = release.get("rows", release.get("reports"))
    if rows is not None:
        cards.append(("rows" if "rows" in release else "reports", f"{rows:,.0f}"))
    seal = facts["checks"]["seal"]
    cards.append(("seal", {"intact": "intact", "none": "none", "BROKEN": "BROKEN"}[seal]))
    inner = "".join(f'<div class="card"><b>{escape(str(v))}</b><span>{escape(k)}</span></div>' for k, v in cards)
    return (
        f"<header><h1>{escape(facts['file'])}</h1>"
        '<p class="soft">An evidence report: what was released, what was promised, and how to check it.</p>'
        f'<div class="cards">{inner}</div></header>'
    )


def _alarms(facts: dict[str, Any]) -> str:
    alarms = []
    if facts["checks"]["seeded"]:
        alarms.append(
            "The noise was seeded: it can be repeated and taken off again. This release must not be published."
        )
    if facts["checks"]["seal"] == "BROKEN":
        alarms.append("The seal is broken: the file or its promise was changed after it was made. Believe neither.")
    if facts["promise"]["epsilon"] is not None and math.isinf(facts["promise"]["epsilon"]):
        alarms.append("There is no privacy: ε is infinite.")
    kept = facts["parameters"].get("kept")
    costs = f'<div class="cost">{escape(kept_text(kept))}</div>' if kept else ""
    costs += "".join(f'<div class="cost">{escape(_sentence(text))}</div>' for text in facts.get("warnings", ()))
    return costs + "".join(f'<div class="alarm mark">{escape(text)}</div>' for text in alarms)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _promise(facts: dict[str, Any]) -> str:
    plain = "".join(f"<p>{escape(line)}</p>" for line in facts["promise"]["plain"])
    symbols = escape("\n".join(facts["promise"]["symbols"]))
    return f"<section><h2>What is promised</h2>{plain}<h3>In symbols</h3><pre>{symbols}</pre></section>"


def _ledger(facts: dict[str, Any]) -> str:
    if not facts["ledger"]:
        return ""
    rows = [
        ("\u2003" * line["depth"] + line["step"], line["composition"], f"{line['epsilon']:.6g}")
        for line in facts["ledger"]
    ]
    rows.append(("spent in all", "", f"{facts['promise']['epsilon']:.6g}"))
    note = "Parallel steps touch disjoint parts of the table and cost what the dearest costs; sequential ones add up."
    return f"<section><h2>The ledger</h2>{_table(('step', 'composition', 'ε'), rows, note)}</section>"


def _assumptions(facts: dict[str, Any]) -> str:
    parts = []
    if facts["assumptions"]:
        items = "".join(f"<li>{escape(text)}</li>" for text in facts["assumptions"])
        parts.append(f"<p>The promise holds if:</p><ul>{items}</ul>")
    if facts["columns"]:
        rows = [(c["name"], _declared(c), c.get("role", ""), c.get("missing", "")) for c in facts["columns"]]
        parts.append(_table(("column", "declared as", "role", "missing values"), rows, "What was declared as public"))
    return f"<section><h2>What it rests on</h2>{''.join(parts)}</section>" if parts else ""


def _declared(column: dict[str, Any]) -> str:
    if "bounds" in column:
        low, high = column["bounds"]
        return f"{low} to {high}" if isinstance(low, str) else f"{low:,g} to {high:,g}"
    names = [str(c) for c in column.get("categories", [])]
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _released(facts: dict[str, Any]) -> str:
    release, parts = facts["release"], []
    if "leaves" in release:
        parts.append(
            f"<p>{release['leaves']:,} boxes with a noisy count each; about {release['rows']:,.0f} rows "
            f"(standard error {release['rows_std_error']:,.1f}).</p>"
        )
    parts.append(_not_known(release))
    pictures = []
    plane = release.get("plane")
    if plane:
        x, y = plane["columns"]
        picture = svg.boxes(
            plane["lower"], plane["upper"], plane["density"], title=f"{x} and {y}", x=x, y=y, low=plane["low"],
            high=plane["high"], ends=plane["ends"], gaps=plane["gaps"],
        )  # fmt: skip
        hatched = "; hatched: no box is listed there" if plane["gaps"] else ""
        pictures.append((picture, f"{x} and {y}: rows per area, by the noisy counts; sand is below zero{hatched}"))
    pictures += [_marginal(found) for found in release.get("marginals", [])[:_MOST_CHARTS]]
    if "classes" in release:
        found = release["classes"]
        picture = svg.bars(found["labels"], found["counts"], title="groups", axis="groups")
        pictures.append((picture, "how many groups have how many rows"))
    frequencies = release.get("frequencies")
    if frequencies:
        errors = [1.96 * f["std_error"] for f in frequencies]
        labels, values = [f["candidate"] for f in frequencies], [f["count"] for f in frequencies]
        picture = svg.bars(labels, values, errors, title="frequencies", axis="people")
        pictures.append((picture, "estimated numbers of people, with 95 % intervals"))
    if pictures:
        figures = "".join(f"<figure>{p}<figcaption>{escape(text)}</figcaption></figure>" for p, text in pictures)
        parts.append(f'<div class="pictures">{figures}</div>')
    parts.append(_left_out([*release.get("left_out", []), *_beyond(release.get("marginals", []))]))
    if release.get("note"):
        parts.append(f"<p>{escape(release['note'])}</p>")
    if "risk" in release:
        parts.append(_risk(release["risk"]))
    if "risk_with_kept" in release:
        parts.append("<h3>If the columns that were passed on are known too</h3>" + _risk(release["risk_with_kept"]))
    if release.get("first_rows"):
        names = list(release["first_rows"][0])
        rows = [tuple(row[n] for n in names) for row in release["first_rows"]]
        parts.append(_table(names, rows, "The first rows, as released"))
    return f"<section><h2>What was released</h2>{''.join(parts)}</section>"


def _not_known(release: dict[str, Any]) -> str:
    """Say what the boxes do not tell, before any of them is shown."""
    parts = [release["clustering"][:1].upper() + release["clustering"][1:] + "."] if "clustering" in release else []
    elsewhere = release.get("unlisted")
    if elsewhere:
        listed, other, error = (f"{elsewhere[key]:,.0f}" for key in ("listed_rows", "rows", "std_error"))
        text = (
            f"The boxes hold about {listed} of these rows. The other {other} (standard error {error}) are in cells "
            f"that are not listed: of {elsewhere['cells']:,} cells only those with a noisy count above "
            f"{elsewhere['cutoff']:,} are. Where in the table those rows lie is not known, and no chart below shows "
            "them."
        )
        if elsewhere["noise_alone"] >= 1:
            text += f" Up to about {elsewhere['noise_alone']:,.0f} of the boxes may be noise alone."
        parts.append(text)
    if release.get("uncut"):
        parts.append(
            "These columns were never divided, so nothing is known of how they are distributed: "
            f"{', '.join(release['uncut'])}."
        )
    return "".join(f'<p class="caution">{escape(text)}</p>' for text in parts)


def _marginal(found: dict[str, Any]) -> tuple[str, str]:
    """Return the chart of one column and its caption."""
    if not found.get("divided", True):
        return svg.unknown(views.NOT_DIVIDED, title=found["column"], ends=found["ends"]), found["column"]
    assumed = found.get("assumed")
    # Of a perturbed table the edges are equal steps: bars in their order say the same.
    picture = svg.bars(
        found["labels"], found["counts"], found["std_errors"], title=found["column"], axis="rows", assumed=assumed,
        edges=found["edges"] if assumed is not None else None,
    )  # fmt: skip
    text = found["column"] + (", with standard errors" if found["std_errors"] else "")
    if assumed is not None and any(abs(a) > 0 for a in assumed):
        text += "; hatched: boxes that reach beyond the bar, taken to be evenly filled"
    if "missing" in found:
        text += f"; missing: {found['missing']['value']:,.0f} ± {found['missing']['std_error']:,.1f} rows"
    return picture, text


def _beyond(marginals: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the columns for which there is no room, and why."""
    reasons = {True: f"no room: charts are shown for {_MOST_CHARTS} columns", False: views.NOT_DIVIDED}
    return [{"column": m["column"], "reason": reasons[m.get("divided", True)]} for m in marginals[_MOST_CHARTS:]]


def _left_out(columns: Sequence[dict[str, str]]) -> str:
    """List the columns without a chart by name, with the reason."""
    reasons: dict[str, list[str]] = {}
    for left in columns:
        reasons.setdefault(left["reason"], []).append(left["column"])
    items = "".join(f"<li>{escape(', '.join(names))}: {escape(reason)}</li>" for reason, names in reasons.items())
    return f"<p>Columns without a chart:</p><ul>{items}</ul>" if items else ""


def _risk(risk: dict[str, Any]) -> str:
    persons = risk.get("persons")
    rows = [
        ("smallest group, k" + (" (persons)" if persons else ""), f"{risk['k']:,}"),
        ("groups", f"{risk['classes']:,}"),
        ("risk of being found, at most", f"{risk['prosecutor']['max']:.3g}"),
    ]
    if persons and persons["largest_share"] is not None:
        rows.append(("largest share of one person's rows in a group", f"{persons['largest_share']:.3g}"))
    if not persons or persons["recounted"]:
        rows.append(("risk of being found, on average", f"{risk['prosecutor']['mean']:.3g}"))
    rows.append(("rows that are alone in their group", f"{risk['unique']:.3g}"))
    for name, found in risk.get("sensitive", {}).items():
        kept = {k: v for k, v in found.items() if isinstance(v, (int, float)) and not isinstance(v, bool)}
        rows += [(f"{name}: {k.replace('_', ' ')}", f"{v:.4g}") for k, v in kept.items()]
    said = "".join(f"<p>{escape(note)}</p>" for note in risk.get("notes", ()))
    table = _table(("measure", "value"), rows, "", numbers=(1,))
    return f"<h3>Risk, measured on the released table</h3>{said}{table}"


def _comparison(facts: dict[str, Any]) -> str:
    found = facts.get("comparison")
    if not found:
        return ""
    figures = "".join(
        "<figure>"
        + svg.bars(c["labels"], c["released"], title=c["column"], axis="share of rows", second=c["raw"])
        + f"<figcaption>{escape(c['column'])}: released (bars) and raw (lines); {c['total_variation']:.1%} of the rows "
        "would have to move</figcaption></figure>"
        for c in found["columns"]
    )
    return (
        "<section><h2>What it costs in accuracy</h2>"
        '<div class="alarm mark">This section looks at the raw table. It is not private and must not be published with '
        f'the release.</div><div class="pictures">{figures}</div>{_left_out(found.get("left_out", []))}</section>'
    )


def _attacks(facts: dict[str, Any]) -> str:
    return _attached(facts["attacks"], "Attacks", "How far an attacker gets, beside people who are not in the release.")


def _audits(facts: dict[str, Any]) -> str:
    return _attached(facts["audits"], "Audits", "A pass is no proof: it says what these runs would have caught.")


def _attached(results: Sequence[dict[str, Any]], title: str, note: str) -> str:
    if not results:
        return ""
    parts = [f"<p>{escape(note)}</p>"]
    for found in results:
        rows = list(_flat(found["result"]))[:40]
        parts.append(_table(("figure", "value"), rows, found["file"]))
    return f"<section><h2>{title}</h2>{''.join(parts)}</section>"


def _flat(value: Any, name: str = "") -> Any:
    """Yield the named figures of nested data; long lists, which are curves, are left out."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name} · {key}" if name else str(key))
    elif isinstance(value, list):
        if len(value) <= 4 and all(isinstance(v, (int, float, str)) for v in value):
            yield name, " to ".join(_text(v) for v in value)
    else:
        yield name, _text(value)


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _facts(facts: dict[str, Any]) -> str:
    rows = [
        ("file", f"{facts['file']}, {facts['bytes']:,} bytes"),
        ("SHA-256 of the file", facts["file_sha256"]),
        ("seal over content and promise", facts["digest"] or "none"),
        ("seal checked", facts["checks"]["seal"]),
        ("noise", "seeded: not to be published" if facts["checks"]["seeded"] else "operating-system entropy"),
        ("unit of privacy", facts["promise"]["unit"]),
        ("made by", f"Discreet {facts['made_by']}"),
        ("reported by", f"Discreet {facts['reported_by']}"),
    ]
    if not facts["ledger"]:
        rows = [row for row in rows if row[0] != "noise"]
    settings = escape(json.dumps(facts["parameters"], indent=1, ensure_ascii=False, default=str))
    check = f"discreet audit {facts['file']}"
    return (
        f"<section><h2>For the auditor</h2>{_table(('fact', 'value'), rows, '')}"
        f"<p>To check seal, ledger and domain again: <code>{escape(check)}</code></p>"
        f"<details><summary>All parameters</summary><pre>{settings}</pre></details></section>"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, numbers: Sequence[int] = ()) -> str:
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    top = "".join(f'<th{" class=n" if i in numbers else ""} scope="col">{escape(h)}</th>' for i, h in enumerate(head))
    body = "".join(
        "<tr>"
        + "".join(f"<td{' class=n' if i in numbers else ''}>{escape(str(v))}</td>" for i, v in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table>{title}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
