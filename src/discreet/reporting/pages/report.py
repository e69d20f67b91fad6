"""The page of a release: what was released, what is promised to whom, what should worry, and the evidence."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from discreet.core import at_most, kept_text
from discreet.reporting import views
from discreet.reporting.pages import clusters, counted, plane, svg
from discreet.reporting.pages.frame import PROMISED, RELEASED, WORRYING, Answer, render
from discreet.reporting.words import flat, number, plain, prose, share, spent_on, unbroken

#: Charts of columns on one page; the others are named.
_MOST_CHARTS = 12
#: Half a 95 % interval, in standard errors.
_WIDE = 1.96
#: A chance of being found above it is called high, as `anonymity.risk` does.
_HIGH_RISK = 0.2

Pictures = list[tuple[Any, str]]


def report_page(facts: dict[str, Any]) -> str:
    """Return the page that shows the facts.

    Examples
    --------
    >>> from discreet.core.budget.guarantee import Guarantee
    >>> facts = {"file": "t.csv", "kind": "anonymous table", "checks": {"seal": "intact", "seeded": False},
    ...     "promise": {"model": "syntactic", "epsilon": None, "delta": 0, "unit": "one row", "plain": ["Hidden."],
    ...     "symbols": []}, "ledger": [], "assumptions": [], "columns": [], "parameters": {}, "release": {"rows": 3},
    ...     "attacks": [], "audits": [], "digest": None, "made_by": "0", "reported_by": "0", "bytes": 1,
    ...     "file_sha256": ""}
    >>> page = report_page(facts)
    >>> "<script" in page, page.count("not stated")
    (False, 4)
    """
    facts = counted.prepared(facts)
    broken = bool(contradictions(facts))
    release, about, ledger = facts["release"], facts.get("about", {}), spent_on(facts)
    marginals = release.get("marginals", [])
    left_out = [*release.get("left_out", []), *([] if "lifted" in release else _beyond(marginals))]
    first = release.get("first_rows") or []
    risks = [("Risk, measured on the released table", release.get("risk"))]
    risks.append(("The same, if the columns that were passed on are known too", release.get("risk_with_kept")))
    attached = [
        ("Attacks", "How far an attacker gets, beside people who are not in the release.", facts["attacks"]),
        ("Audits", "A pass is no proof: it says what these runs would have caught.", facts["audits"]),
    ]
    return render(
        "report.html",
        about.get("title") or "What was released, and what is promised",
        "Evidence report",
        sorted([_released(facts), _promised(facts), worrying(facts)], key=lambda a: not (broken and a[0] == WORRYING)),
        about=[*((name, about.get(name)) for name in ("title", "owner", "purpose", "date")), ("file", facts["file"])],
        facts={**facts, "release": {"note": "", **release}},
        ledger=ledger,
        steps=counted.in_short(ledger),
        ledger_unit="ε" if facts["promise"].get("rho") is None else "ρ",
        level="" if facts["promise"]["epsilon"] is None else at_most(facts["promise"]["epsilon"]),
        slack=number(facts["promise"]["delta"], 2),
        columns=[(c["name"], _declared(c), c.get("role", ""), c.get("missing", "")) for c in facts["columns"]],
        not_known=_not_known(release),
        charts=_charts(release),
        reasons=_reasons(left_out),
        risks=[(heading, found.get("notes", ()), _risk(found)) for heading, found in risks if found],
        first_rows=[list(first[0]), [[unbroken(v) for v in row.values()] for row in first]] if first else None,
        clusters=clusters.told(release.get("clusters")),
        comparison=_comparison(facts.get("comparison")),
        attached=[(heading, note, [_result(r) for r in found]) for heading, note, found in attached if found],
        auditor=_auditor(facts),
        broken=broken,
    )


def _released(facts: dict[str, Any]) -> Answer:
    release = facts["release"]
    named = [c["name"] for c in facts["columns"] if c.get("role") not in ("identifier", "person")]
    lines = []
    if "leaves" in release:
        headline = counted.headline(release, len(named))
        rows, error = release["rows"], _WIDE * release["rows_std_error"]
        span = f"{max(rows - error, 0.0):,.0f} to {rows + error:,.0f}"
        lines.append(("", f"about {rows:,.0f} rows (95 % interval {span})"))
    elif "reports" in release:
        headline = f"Counts of {release['reports']:,} randomised reports"
    else:
        groups = f" in {release['risk']['classes']:,} groups" if "risk" in release else ""
        article = "An" if facts["kind"][0] in "aeiou" else "A"
        headline = f"{article} {facts['kind']}: {release['rows']:,} rows{groups}"
        if facts["kind"].endswith(" rows"):  # invented, or drawn
            headline = f"{release['rows']:,} {facts['kind']}"
    if named:
        more = f" and {len(named) - 8:,} more" if len(named) > 8 else ""
        lines.append(("", f"columns: {', '.join(named[:8])}{more}"))
    seal = {"intact": f"{_guard(facts)} intact", "none": "no seal", "BROKEN": "seal BROKEN"}[facts["checks"]["seal"]]
    lines.append(("soft", f"{facts['file']}, {facts['bytes']:,} bytes, {seal}"))
    return Answer(RELEASED, headline, lines)


def _promised(facts: dict[str, Any]) -> Answer:
    promise, kept = facts["promise"], facts["parameters"].get("kept")
    told = [("", prose(text)) for text in promise["plain"][:2]]
    if contradictions(facts):
        said = "What was claimed stands below; the file does not keep it."
        if facts["checks"]["seal"] == "BROKEN":
            said = "File and promise do not belong together: one of them was changed. What was claimed stands below."
        return Answer(PROMISED, "Nothing that can be relied on", [("bad", said)])
    if promise["epsilon"] is None:
        k = facts["parameters"].get("reached", {}).get("k")
        headline = "No differential privacy" if k is None else f"Everyone hides among {int(k):,}"
        if kept and k is not None:
            headline += " in the generalised columns"
            if "k" in kept:
                told.insert(0, ("warn", f"with the kept columns known, among {int(kept['k']):,}"))
        return Answer(PROMISED, headline, told)
    slack = f", δ = {number(promise['delta'], 2)}" if promise["delta"] else ""
    return Answer(
        PROMISED, f"ε = {number(promise['epsilon'])}{slack} to {promise['unit']}, {promise['model']} model", told
    )


def contradictions(facts: dict[str, Any]) -> list[str]:
    """Say what of the promise does not hold, as the verdict has it; the seal first."""
    checks = facts["checks"]
    told = {
        "BROKEN": "The seal is broken: the file or its promise was changed after it was made. Believe neither.",
        "none": "The promise is not sealed, so nothing ties it to this file.",
    }
    first = [told[checks["seal"]]] if checks["seal"] in told else []
    return [*first, *(f"Does not hold: {text}." for text in checks.get("failures", ()))]


def worrying(facts: dict[str, Any]) -> Answer:
    """Red is for promises that do not hold, amber for what weakens or clouds them, grey for what is not known."""
    promise, checks = facts["promise"], facts["checks"]
    epsilon, kept = promise["epsilon"], facts["parameters"].get("kept")
    lines = []
    lines += [("bad", text) for text in contradictions(facts)]
    if checks["seeded"]:
        said = "The noise was seeded: it can be repeated and taken off again. This release must not be published."
        lines.append(("bad", said))
    if epsilon is not None and math.isinf(epsilon):
        lines.append(("bad", "There is no privacy: ε is infinite."))
    elif epsilon is not None and epsilon > 5:
        lines.append(("warn", "The level is weak on its own (ε above 5)."))
    elif (promise.get("whole_row_epsilon") or 0) > 5:
        said = (
            f"Rows far apart can be told apart: over the whole table ε is {at_most(promise['whole_row_epsilon'], 3)}."
        )
        lines.append(("warn", said))
    if kept:
        lines.append(("warn", kept_text(kept)))
    lines += [("warn", f"{text[:1].upper()}{text[1:]}.") for text in facts.get("warnings", ())]
    release = facts["release"]
    if release.get("leaves") and release["box_rows_std_error"] * math.sqrt(release["leaves"]) > release["rows"]:
        said = f"Most of the {release['leaves']:,} boxes hold fewer rows than their noise: fewer columns tell more."
        lines.append(("warn", said))
    risk = release.get("risk", {}).get("prosecutor", {})
    if risk.get("max", 0) > _HIGH_RISK:
        lines.append(("warn", f"Whoever is easiest to find is found with a chance of {share(risk['max'])}."))
    told = [text for text in facts["assumptions"] if "times the epsilon only" in text]
    lines += [("warn", f"{text[:1].upper()}{text[1:]}.") for text in told]
    seen = [text for text in facts["assumptions"] if text.startswith("the first ")]
    lines += [("soft", f"{text[:1].upper()}{text[1:]}.") for text in seen]
    for name, found in facts["release"].get("risk", {}).get("sensitive", {}).items():
        if found["homogeneous"] > 0:
            lines.append(
                ("warn", f"{share(found['homogeneous'])} of the rows lie in groups that give their {name} away.")
            )
    shown = release.get("marginals", [])
    blank = sum(not m.get("divided", True) for m in shown)
    guessed = sum(m.get("divided", True) and m.get("assumed") is not None and views.doubt(m) > 0.5 for m in shown)
    if 2 * (blank + guessed) > len(shown):
        said = (
            f"{blank + guessed:,} of {len(shown):,} columns are not known or mostly assumed: fewer columns tell more."
        )
        lines.append(("warn", said))
    if "comparison" in facts:
        lines.append(("warn", "This page compares with the raw table: keep it inside."))
        together = facts["comparison"].get("together") or {"notes": []}
        lines += [("warn", text) for text in together["notes"][1:]]
    weighed = bool(lines)
    if not weighed:
        good = (
            f"The {_guard(facts)} is intact"
            if checks["seal"] == "intact"
            else "The file is not sealed, so changes would not show"
        )
        said = f"{good}{', the ledger adds up, the noise cannot be repeated' if facts['ledger'] else ''}."
        lines.append(("good" if checks["seal"] == "intact" else "warn", said))
    if blank and 2 * (blank + guessed) <= len(shown):
        lines.append(("soft", f"Not known: how {blank:,} of the columns are distributed."))
    lines += [("soft", f"{text[:1].upper()}{text[1:]}.") for text in checks.get("open", ())]
    if not facts["attacks"] and not facts["audits"]:
        lines.append(("soft", "Not known from this page: how far an attack gets. No attack and no audit was attached."))
    headline = f"{len(lines)} thing{'s' if len(lines) > 1 else ''} to weigh" if weighed else "Nothing was found"
    if any(tone == "bad" for tone, _ in lines):
        headline = "A promise that does not hold"
    return Answer(WORRYING, headline, lines)


def _declared(column: dict[str, Any]) -> str:
    if "bounds" in column:
        coded = "".join(f", {side} {plain(column[side])}" for side in ("bottom", "top") if side in column)
        return " to ".join(end if isinstance(end, str) else number(end, 6) for end in column["bounds"]) + coded
    names = [str(c) for c in column.get("categories", [])]
    return ", ".join(names[:12]) + (f" and {len(names) - 12:,} more" if len(names) > 12 else "")


def _not_known(release: dict[str, Any]) -> list[str]:
    """Say what the boxes do not tell, before any of them is shown."""
    parts = [release["clustering"][:1].upper() + release["clustering"][1:] + "."] if "clustering" in release else []
    parts += counted.told(release.get("measured", ())) + counted.projected(release)
    if elsewhere := release.get("unlisted"):
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
    elif "box_rows" in release and abs(release["box_rows"] - release["rows"]) >= max(1, 0.01 * release["rows"]):
        held, error = f"{release['box_rows']:,.0f}", f"{_WIDE * release['box_rows_std_error']:,.0f}"
        parts.append(
            f"The boxes, and so the bars of a chart below, add up to {held} ± {error} rows: each box has its own "
            f"noise. That there are about {release['rows']:,.0f} rows is known better."
        )
    if release.get("uncut"):
        names = plain(release["uncut"])
        parts.append(f"These columns were never divided, so nothing is known of how they are distributed: {names}.")
    return parts


def _charts(release: dict[str, Any]) -> Pictures:
    found: Pictures = []
    if facts := release.get("plane"):
        x, y = facts["columns"]
        marks = clusters.marks(release.get("clusters"), [x, y])
        picture = plane.boxes(
            facts["lower"], facts["upper"], facts["density"], title=f"{x} and {y}", x=x, y=y, low=facts["low"],
            high=facts["high"], ends=facts["ends"], gaps=facts["gaps"], marks=marks,
        )  # fmt: skip
        more = "; hatched: no box is listed there" if facts["gaps"] else ""
        more += "; crosses: the centres that were found" if marks else ""
        found.append((picture, f"{x} and {y}: where the rows lie, by the noisy counts; grey is below zero{more}"))
    # Of a projection no column is known: a dozen empty frames would only say again what stands above them.
    drawn = [] if "lifted" in release else release.get("marginals", [])[:_MOST_CHARTS]
    found += [*counted.drawn(release.get("measured", ())), *map(_marginal, drawn)]
    if facts := release.get("classes"):
        picture = svg.ranked([f"{t} rows" for t in facts["labels"]], facts["counts"], title="groups", axis="groups")
        found.append((picture, "how many groups hold how many rows: the smaller the group, the easier to be found"))
    if rows := release.get("frequencies"):
        names, values, low, high = ([row[key] for row in rows] for key in ("candidate", "count", "lower", "upper"))
        # Whole people: what stands behind the point is far within the interval.
        picture = svg.ranked(names, values, low, high, title="frequencies", axis="people", form=_whole)
        found.append((picture, "estimated numbers of people, with 95 % intervals"))
    return found


def _whole(value: float) -> str:
    return number(round(value) + 0.0, 12)


def _marginal(found: dict[str, Any]) -> tuple[Any, str]:
    """Return the chart of one column and its caption."""
    name = found["column"]
    if not found.get("divided", True):
        return svg.unknown(found.get("why", views.NOT_DIVIDED), title=name, ends=found["ends"]), name
    assumed, errors = found.get("assumed"), found["std_errors"]
    if assumed is not None and views.doubt(found) > 0.5:
        errors = None  # they would be those of the noise, around what is not known in the first place
    wide = None if errors is None else [_WIDE * e for e in errors]
    how: dict[str, Any] = {"title": name, "axis": "rows", "assumed": assumed}
    if found["edges"] is None and not found.get("ordered"):
        low, high = (None if wide is None else [v + s * w for v, w in zip(found["counts"], wide, strict=True)]
                     for s in (-1, 1))  # fmt: skip
        form = number if wide and max(wide) < 1 else _whole
        picture = svg.ranked(found["labels"], found["counts"], low, high, form=form, **how)
    else:
        how |= {"edges": found["edges"], "marks": found.get("marks")}
        picture = svg.bars(found["labels"], found["counts"], wide, **how)
    doubtful = assumed is not None and any(abs(a) > 0 for a in assumed)
    if errors is not None:
        text = f"{name}, with 95 % intervals{' of the noise' * doubtful}"
    else:
        said = found.get("said", "as released: every value is noisy")
        text = f"{name}, {said if assumed is None else 'mostly assumed: no intervals'}"
    if doubtful:
        text += "; hatched: boxes that reach beyond the bar, taken to be evenly filled"
    if "missing" in found:
        text += f"; missing: {found['missing']['value']:,.0f} ± {number(_WIDE * found['missing']['std_error'], 2)} rows"
    return picture, text


def _beyond(marginals: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the columns for which there is no room, and why."""
    room = f"no room: charts are shown for {_MOST_CHARTS} columns"
    return [
        {"column": m["column"], "reason": room if m.get("divided", True) else m.get("why", views.NOT_DIVIDED)}
        for m in marginals[_MOST_CHARTS:]
    ]


def _reasons(columns: Sequence[dict[str, str]]) -> dict[str, list[str]]:
    """Gather the columns without a chart by the reason."""
    found: dict[str, list[str]] = {}
    for left in columns:
        found.setdefault(left["reason"], []).append(left["column"])
    return found


#: What the measures of a sensitive column say: how they are written, and in words.
_MEASURES = {
    "distinct_l": (number, "fewest different values in a group (distinct l)"),
    "entropy_l": (number, "fewest equally likely values a group amounts to (entropy l)"),
    "recursive_c": (number, "the commonest value against the rarer ones, worst group (recursive c)"),
    "t_equal": (number, "farthest that a group lies from the whole table, values unordered (t)"),
    "t_ordered": (number, "farthest group from the table, by the order of the values (t)"),
    "alpha": (share, "largest share of one value in a group"),
    "beta": (number, "largest relative gain of belief in a value"),
    "enhanced_beta": (number, "the same, capped for rare values"),
    "delta": (number, "largest change of belief, as a logarithm; ∞ if a group lacks a value"),
    "homogeneous": (share, "rows whose value the group gives away"),
}


def _risk(risk: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return measure, value and meaning. Where k counts persons, so do the figures, as far as they are known."""
    persons, found = risk.get("persons"), risk["prosecutor"]
    who = "persons" if persons else "rows"
    rows = [
        (
            f"smallest group, k{' (persons)' if persons else ''}",
            number(risk["k"]),
            f"everyone hides among this many {who}",
        ),
        ("groups", number(risk["classes"]), "rows of one group look alike"),
        ("risk of being found, at most", share(found["max"]), "chance of a prosecutor to pick right, worst group"),
    ]
    if persons and persons["largest_share"] is not None:
        told = "who has many rows of a group is found there the easiest"
        rows.append(("largest share of one person's rows in a group", share(persons["largest_share"]), told))
    if not persons or persons["recounted"]:
        rows.append(("risk of being found, on average", share(found["mean"]), "the same, mean over all"))
        rows.append(("marketer", share(risk["marketer"]), "rows right if all are matched"))
    rows.append(("alone in their group", share(risk["unique"]), "rows that nobody else's resemble"))
    for name, measured in risk.get("sensitive", {}).items():
        rows += [
            (f"{name}: {key.replace('_', ' ')}", write(float(measured[key])), told)
            for key, (write, told) in _MEASURES.items()
            if measured.get(key) is not None
        ]
    return rows


def _comparison(found: dict[str, Any] | None) -> dict[str, Any] | None:
    if found is None:
        return None
    charts: Pictures = []
    for c in found["columns"]:
        how: dict[str, Any] = {"title": c["column"], "axis": "share of rows", "second": c["raw"]}
        if c.get("edges") is None:
            picture = svg.ranked(c["labels"], c["released"], form=share, **how)
        else:
            picture = svg.bars(c["labels"], c["released"], edges=c["edges"], marks=c.get("marks"), **how)
        moved = share(c["total_variation"])
        charts.append(
            (picture, f"{c['column']}: released (bars) and raw (lines); {moved} of the rows would have to move")
        )
    return {
        "charts": charts, "reasons": _reasons(found.get("left_out", [])), "together": _together(found.get("together")),
        "clusters": clusters.compared(found.get("clusters")),
    }  # fmt: skip


def _together(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the heat map of pairs, the worst of them, and every other figure of a comparison of rows."""
    if found is None:
        return None
    from discreet.evaluation.comparison import comparison_rows  # here: other pages do without classifiers

    names, pairs = found["columns"], found["marginals"]["2"]
    errors = np.diag([found["column_errors"][name] for name in names])
    for pair in found["pair_errors"]:
        i, j = (names.index(name) for name in pair["columns"])
        errors[i, j] = errors[j, i] = pair["error"]
    said = (
        "The error of a pair is the share of rows that would have to move for its counts to be the raw ones, numbers "
        f"in 16 equal bins: 0 is the same, 1 nothing in common. Drawing rows anew costs {pairs['sampling']:.3f}."
    )
    more = f"; the {plane.MOST_PAIRED} columns with the largest" if len(names) > plane.MOST_PAIRED else ""
    caption = f"errors of pairs of columns, of single columns on the long side{more}"
    return {
        "said": said,
        "charts": [(plane.pairs(names, errors, title="errors of pairs"), caption)] if len(names) > 1 else [],
        "worst": [(" and ".join(pair["columns"]), number(pair["error"], 3)) for pair in pairs["worst"]],
        "figures": comparison_rows(found),
    }


def _result(attached: dict[str, Any]) -> tuple[str, Pictures, list[tuple[str, str]]]:
    """Return a result by name: a chart of all figures that have an interval, and every figure."""
    drawn = list(intervals(attached["result"]))
    charts: Pictures = []
    if drawn:
        names, values, low, high = zip(*drawn, strict=True)
        picture = svg.ranked(names, values, low, high, title=attached["file"], axis="share or advantage")
        charts = [(picture, "figures with their intervals")]
    return attached["file"], charts, list(flat(attached["result"]))


def intervals(result: dict[str, Any], name: str = "") -> Iterator[tuple[str, float, float, float]]:
    """Go through the figures of an attack or audit that have an interval: name, value and both ends."""
    for key, value in result.items():
        if isinstance(value, dict):
            yield from intervals(value, key.replace("_", " "))
        ends = result.get(f"{key}_interval", result.get("interval") if key in ("rate", "advantage") else None)
        if isinstance(value, (int, float)) and isinstance(ends, list) and len(ends) == 2 and None not in ends:
            yield name if key == "rate" else key.replace("_", " "), float(value), float(ends[0]), float(ends[1])


def _guard(facts: dict[str, Any]) -> str:
    """Return what shows a change of the file: counts of reports have a checksum, and no seal."""
    return "checksum" if facts["digest"] is None and facts["checks"]["seal"] == "intact" else "seal"


def _auditor(facts: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("file", f"{facts['file']}, {facts['bytes']:,} bytes"),
        ("SHA-256 of the file", facts["file_sha256"]),
        ("seal over content and promise", facts["digest"] or "none"),
        (f"{_guard(facts)} checked", facts["checks"]["seal"]),
        ("noise", "seeded: not to be published" if facts["checks"]["seeded"] else "operating-system entropy"),
        ("unit of privacy", facts["promise"]["unit"]),
        ("made by", f"Discreet {facts['made_by']}"),
        ("reported by", f"Discreet {facts['reported_by']}"),
    ]
    return rows if facts["ledger"] else [row for row in rows if row[0] != "noise"]
