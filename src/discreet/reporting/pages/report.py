"""The page of a release: what was released, what is promised to whom, warnings, and the evidence."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.anonymity.risk import loss_rows
from discreet.core import (
    at_most,
    category_text,
    ends_of,
    error_percent,
    hidden_among,
    kept_text,
    left_of,
    noise_width,
    percent_up,
    plural,
    unit_noun,
)
from discreet.core import counted as counted_of
from discreet.reporting import views
from discreet.reporting.language import translated
from discreet.reporting.pages import clusters, counted, plane, svg
from discreet.reporting.pages.frame import PROMISED, RELEASED, WORRYING, Answer, render
from discreet.reporting.words import flat, number, plain, prose, share, spent_on, unbroken

#: Charts of columns on one page; the others are named.
_MOST_CHARTS = 12
#: Columns with unique values that are named one by one.
_MOST_UNIQUE = 4
#: A chance of being found above it is called high, as `anonymity.risk` does.
_HIGH_RISK = 0.2

#: Marks that turn the order of letters around: names from others could make numbers read otherwise.
_TURNING = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")

#: Openings of sentences of a promise that its short form shows too.
_SHOWN = ("Each group ", "In each group, ", "No group ", "Further reports ")

Pictures = list[tuple[Any, str]]


def report_page(facts: dict[str, Any], language: str = "en") -> str:
    """Return the page that shows the facts of `report_facts`, in English or another language, such as "de".

    Examples
    --------
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
    with_kept = "The same, for someone who also knows the columns that were passed on"
    risks.append((with_kept, release.get("risk_with_kept")))
    attached = [
        ("Attacks", "How far an attacker gets, compared with people who are not in the release.", facts["attacks"]),
        ("Audits", "A pass is not a proof. It shows which leaks these runs would have detected.", facts["audits"]),
    ]
    signed = f"signed with key {facts['signer']}" if facts.get("signer") else "not signed"
    page = render(
        "report.html",
        about.get("title") or "What was released, and what is promised",
        "Evidence report",
        sorted([_released(facts), _promised(facts), worrying(facts)], key=lambda a: not (broken and a[0] == WORRYING)),
        about=[*_about(about), ("file", facts["file"]), ("signature", signed)],
        facts={**facts, "release": {"note": "", **release}},
        ledger=ledger,
        steps=counted.in_short(ledger),
        ledger_unit="ε" if facts["promise"].get("rho") is None else "ρ",
        level="" if facts["promise"]["epsilon"] is None else at_most(facts["promise"]["epsilon"]),
        slack=number(facts["promise"]["delta"], 2),
        columns=[(c["name"], _declared(c), c.get("role", ""), c.get("missing", "")) for c in facts["columns"]],
        not_known=_not_known(release),
        charts=[*_fitness(facts.get("fitness")), *_charts(release)],
        reasons=_reasons(left_out),
        risks=[(heading, found.get("notes", ()), _risk(found)) for heading, found in risks if found],
        first_rows=[list(first[0]), [[unbroken(v) for v in row.values()] for row in first]] if first else None,
        asked=_answers(release.get("answers"), release.get("rows", 0)),
        clusters=clusters.told(release.get("clusters")),
        comparison=_comparison(facts.get("comparison")),
        attached=[(heading, note, [_result(r) for r in found]) for heading, note, found in attached if found],
        auditor=_auditor(facts),
        broken=broken,
    )
    return translated(page, language, own_texts(facts), page=True).translate(_TURNING)


def own_texts(facts: dict[str, Any]) -> Iterator[Any]:
    """Yield the texts of a page that are the user's: names, categories, released values, and what was said of it."""
    about, release = facts.get("about", {}), facts["release"]
    yield from (facts["file"], facts["file_sha256"], facts["digest"], facts.get("signer"))
    yield from map(about.get, ("title", "owner", "purpose"))
    behind, named = facts.get("behind") or {}, facts["parameters"].get("account")
    held = named if isinstance(named, Mapping) else {}
    yield from (behind.get("file"), behind.get("digest"), held.get("head"))
    yield (facts.get("account") or held).get("dataset")
    yield from (each["file"] for each in (*facts["attacks"], *facts["audits"]))
    for column in facts["columns"]:
        named = column.get("categories", ()) if column.get("role") not in ("identifier", "person") else ()
        listed = _declared(column) if named else ""
        yield from (
            column["name"],
            *map(category_text, named),
            listed if len(named) <= 12 else listed.rpartition(" and ")[0],
        )
    for shown in release.get("marginals", ()):
        yield from (shown["column"], *(() if shown["edges"] else (t for t in shown["labels"] if t != views.NO_VALUE)))
    yield from (row["candidate"] for row in release.get("frequencies", ()))
    if asked := release.get("answers"):
        yield from (asked["query"], *asked["columns"])


def _answers(found: dict[str, Any] | None, rows: int) -> dict[str, Any] | None:
    """Return the answers as a table: keys, and each figure with its interval and standard error."""
    if found is None:
        return None
    ends = {"std_error": "standard error", "low": "from", "high": "to", "few": "few rows"}
    said = {f"{name}_{end}": told for name in found["columns"] for end, told in ends.items()} | ends
    names = [said.get(name, name) for name in found["columns"]]
    numbers = [i for i in range(len(names)) if any(isinstance(row[i], (int, float)) for row in found["shown"])]
    level = f", with {number(100 * found['level'])} % intervals (from, to)" if found["level"] else ""
    caption = "The answers" + (level if rows == len(found["shown"]) else f": the first {len(found['shown'])}{level}")
    return {"heads": names, "rows": [list(map(plain, row)) for row in found["shown"]], "numbers": numbers,
            "caption": caption, "query": found["query"]}  # fmt: skip


def _about(about: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what the maker of the page states; without a date of the release, the day of the page."""
    yield from ((name, about.get(name)) for name in ("title", "owner", "purpose"))
    made = about.get("page_made") if not about.get("date") else None
    yield ("page made", made) if made else ("date", about.get("date"))


def _released(facts: dict[str, Any]) -> Answer:
    release = facts["release"]
    named = [c["name"] for c in facts["columns"] if c.get("role") not in ("identifier", "person")]
    lines = []
    if "leaves" in release:
        headline = counted.headline(release, len(named))
        low, high = release["rows_interval"]
        size = f"about {release['rows']:,.0f} rows (95 % interval {low:,.0f} to {high:,.0f})"
        if "handed_out" in release:
            lines.append(("", f"drawn from: {headline[:1].lower()}{headline[1:]}"))
            headline, size = f"{release['handed_out']:,} synthetic rows", f"the model counts {size}"
        lines.append(("", size))
    elif "reports" in release:
        headline = f"Counts of {release['reports']:,} randomised reports"
    else:
        groups = f" in {release['risk']['classes']:,} groups" if "risk" in release else ""
        article = "An" if facts["kind"][0] in "aeiou" else "A"
        headline = f"{article} {facts['kind']}: {release['rows']:,} rows{groups}"
        if facts["kind"].endswith(" rows"):  # synthetic, or drawn
            headline = f"{release['rows']:,} {facts['kind']}"
    if asked := release.get("answers"):
        named = asked["columns"]
        lines += [("", f"question: {asked['query']}")] if asked["query"] else []
    if named:
        lines.append(("", f"columns: {', '.join(named)}"))
    if told := facts.get("fitness"):
        lines.append(("", told["line"].replace(" %", "\u00a0%")))
    seal = {"intact": f"{_guard(facts)} intact", "none": "no seal", "BROKEN": "seal BROKEN"}[facts["checks"]["seal"]]
    lines.append(("soft", f"{facts['file']}, {facts['bytes']:,} bytes, {seal}"))
    lines.append(("soft", f"SHA-256 {facts['file_sha256']}"))
    return Answer(RELEASED, headline, lines)


def _promised(facts: dict[str, Any]) -> Answer:
    promise, kept = facts["promise"], facts["parameters"].get("kept")
    more = [text for text in promise["plain"][1:3] if text.startswith(_SHOWN)]
    told = [("", prose(text)) for text in promise["plain"][: 2 + len(more)]]
    if contradictions(facts):
        said = "The file does not keep its promise. The claim is shown below."
        if facts["checks"]["seal"] == "BROKEN":
            said = "File and promise do not belong together: one of them was changed. The claim is shown below."
        return Answer(PROMISED, "Nothing that you can rely on", [("bad", said)])
    if promise["epsilon"] is None:
        k = hidden_among(facts["parameters"])
        among = "" if k is None else f"Everyone is hidden among {k:,} {plural(unit_noun(promise['unit']))}"
        headline = among or ("It promises nothing" if facts["kind"] == "masked table" else "No differential privacy")
        if kept and k is not None:
            headline += " in the generalised columns"
            if "k" in kept:
                told.insert(0, ("warn", f"among {int(kept['k']):,} for someone who knows the kept columns"))
        return Answer(PROMISED, headline, [*told, *_account(facts)])
    slack = f", δ = {number(promise['delta'], 2)}" if promise["delta"] else ""
    level = f"ε = {number(float(at_most(promise['epsilon'])), 6)}{slack}"
    return Answer(PROMISED, f"{level} to {promise['unit']}, {promise['model']} model", [*told, *_account(facts)])


def _account(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield where the release is booked: price, limit and what is left."""
    account, named = facts.get("account"), facts["parameters"].get("account")
    if account is None:
        if isinstance(named, Mapping):
            yield "", f"Account of {named['dataset']}: its balance is not on this page."
        return
    unit = account["currency"]
    price = "not known there" if account["entry"] is None else f"entry {account['entry']}, {account['price']}"
    if account.get("model") == "central":
        price = f"entry {account['entry']}, {unit} {account['price']}"
    spent = f"{unit} {number(account['spent'])} of {number(account['total'])} spent"
    rest = number(float(left_of(account["total"], account["remaining"])))
    after = f"{rest} left after {counted_of(account['releases'], 'release')}"
    yield "", f"Account of {account['dataset']}: {price}; {spent}, {after}."
    if account.get("model", "central") != "central":
        yield "", f"This release adds no {unit} there. What it reveals is not limited by that sum."


def contradictions(facts: dict[str, Any]) -> list[str]:
    """Return what does not hold of the promise, the seal first."""
    checks = facts["checks"]
    told = {
        "BROKEN": "The seal is broken: the file or its promise was changed after it was made. Trust neither.",
        "none": "The promise is not sealed, so nothing ties it to this file.",
    }
    first = [told[checks["seal"]]] if checks["seal"] in told else []
    return [*first, *(f"Does not hold: {text}." for text in checks.get("failures", ()))]


def worrying(facts: dict[str, Any]) -> Answer:
    """Return warnings: red for broken promises, amber for weak points, grey for what is not known."""
    promise, checks = facts["promise"], facts["checks"]
    epsilon, kept = promise["epsilon"], facts["parameters"].get("kept")
    lines = []
    lines += [("bad", text) for text in contradictions(facts)]
    if checks["seeded"]:
        # A table without an epsilon has no noise, but rows were drawn or shuffled.
        noise, choices = "noise was seeded, so it can be reproduced and removed", "random choices were seeded"
        seeded = noise if epsilon is not None else f"{choices}, so they can be repeated"
        lines.append(("bad", f"The {seeded}. Do not publish this release."))
    broken = bool(lines)
    lines += [("bad", f"{text[:1].upper()}{text[1:]}.") for text in facts.get("doubts", ())]
    if epsilon is not None and math.isinf(epsilon):
        broken = True
        lines.append(("bad", "There is no privacy guarantee: ε is infinite."))
    elif epsilon is not None and epsilon > 5:
        lines.append(("warn", "The level is weak on its own (ε above 5)."))
    elif (promise.get("whole_row_epsilon") or 0) > 5:
        level = at_most(promise["whole_row_epsilon"], 4)
        lines.append(("warn", f"Rows that are far apart can be distinguished: for them ε is up to {level}."))
    lines += [("warn", text) for text in _measured(facts)]
    lines += _not_protected(facts["release"])
    if kept:
        lines.append(("warn", kept_text(kept)))
    left_out = list(_left_out(facts["parameters"]))
    lines += [line for line in left_out if line[0] == "warn"]
    own = facts["parameters"].get("nearly_unique")
    if own and not set(own) <= set(facts["release"].get("passed_on", ())):
        lines.append(("warn", _nearly_unique(own)))
    lines += [("warn", f"{text[:1].upper()}{text[1:]}.") for text in facts.get("warnings", ())]
    release = facts["release"]
    alone = [row[i] for i, row in enumerate((facts.get("fitness") or {}).get("errors", ()))]
    unfit = sum(error is None or error > 0.5 for error in alone)
    if 2 * unfit > len(alone):
        said = f"{unfit:,} of {len(alone):,} columns are of no use: mostly noise, too coarse, or not known."
        lines.append(("warn", f"{said} Fewer columns would give more."))
    if facts["kind"] == "synthetic rows" and not facts.get("behind"):
        said = "How good counts of these rows are is not known from them alone."
        lines.append(("warn", f"{said} The synopsis that they were drawn from states it: ask for its page."))
    risk = release.get("risk", {}).get("prosecutor", {})
    if risk.get("max", 0) > _HIGH_RISK:
        worst = percent_up(risk["max"])
        said = f"The person who is easiest to find is found with a probability of {worst}"
        persons, k = release["risk"].get("persons") or {}, hidden_among(facts["parameters"])
        if k and (persons.get("largest_share") or 0) * (persons.get("k") or 0) > 1 + 1e-9:
            who = persons["called"]
            said = f"A row of the {who} who is easiest to find is picked with a probability of {worst}"
            said += f", although {k:,} or more {plural(who)} share each group: one {who} has so many"
        lines.append(("warn", f"{said}."))
    told = [text for text in facts["assumptions"] if "times the epsilon only" in text]
    lines += [("warn", f"{text[:1].upper()}{text[1:]}.") for text in told]
    seen = [text for text in facts["assumptions"] if text.startswith("the first ")]
    lines += [("soft", f"{text[:1].upper()}{text[1:]}.") for text in seen]
    lines += [("warn", text) for text in _of_sensitive(release, facts["parameters"].get("required") or {})]
    shown = release.get("marginals", [])
    blank = [m["column"] for m in shown if not m.get("divided", True)]
    if "comparison" in facts or any(each.get("result", {}).get("private") is False for each in facts["attacks"]):
        lines.append(("warn", "This page uses the raw table: keep it internal."))
    if "comparison" in facts:
        together = facts["comparison"].get("together") or {"notes": []}
        lines += [("warn", text) for text in together["notes"][1:]]
    account = facts.get("account") or {}
    lines += [("warn", f"{text}.") for text in account.get("warnings", ()) if promise["model"] == "syntactic"]
    if "entry" in account and account["entry"] is None:
        lines.append(("bad", f"The account of {account['dataset']} does not know this file."))
    warnings = sum(kind != "soft" for kind, _ in lines)
    if not warnings:
        good = f"The {_guard(facts)} is intact" if checks["seal"] == "intact" else ""
        good = good or "The file is not sealed, so changes would go unnoticed"
        said = f"{good}{', the ledger adds up, the noise cannot be reproduced' if facts['ledger'] else ''}."
        lines.append(("good" if checks["seal"] == "intact" else "warn", said))
    lines += [line for line in left_out if line[0] == "soft"]
    if not account and not facts["parameters"].get("account") and "reports" not in release:
        said = "The release names no account: no one adds it up with others about the same people."
        lines.append(("soft", said))
    lines += _used(promise)
    if blank:
        more = f" and {len(blank) - 12:,} more" if len(blank) > 12 else ""
        lines.append(("soft", f"Not known: the distribution of {', '.join(blank[:12])}{more}."))
    lines += [("soft", f"{text[:1].upper()}{text[1:]}.") for text in checks.get("open", ())]
    if not facts["attacks"] and not facts["audits"]:
        lines.append(("soft", "Not measured: how far an attack gets. No attack and no audit is attached."))
    headline = counted_of(warnings, "warning") if warnings else "No violation was found"
    if broken or facts.get("doubts"):
        headline = "A promise is broken" if broken else "The table may have been misread"
    return Answer(WORRYING, headline, lines)


def _of_sensitive(release: dict[str, Any], required: Mapping[str, Any]) -> Iterator[str]:
    """Say in how many rows a sensitive value is revealed, and, where l or t is promised, in how many it is blank."""
    for name, found in release.get("risk", {}).get("sensitive", {}).items():
        if found["homogeneous"] > 0:
            yield f"{share(found['homogeneous'])} of the rows are in groups that reveal their {name}."
    for name, n in release.get("blank", {}).items() if required.get("l") or required.get("t") else ():
        yield f"{name} is blank in {n:,} of {release['rows']:,} rows: in l and t, a blank counts as a value."


def _used(promise: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Say that counts leave rows beyond the bound of a person out."""
    if promise.get("model") == "central" and (most := re.search(r"\(at most ([\d,]+) used", promise["unit"])):
        said = f"Counts cover only the rows that were used, at most {most[1]} per {unit_noun(promise['unit'])}"
        yield "soft", f"{said}: the table may have more."


def _measured(facts: dict[str, Any]) -> Iterator[str]:
    """Say how many rows of a masked table were found again, as its maker measured."""
    found = facts["parameters"].get("disclosure") if facts["kind"] == "masked table" else None
    found = found if isinstance(found, Mapping) else {}
    linked, near = (found.get(name) or {} for name in ("record_linkage", "interval_disclosure"))
    if linked.get("share") is not None:
        said = f"{share(linked['share'])} of the rows were linked with their originals by distance alone"
        yield f"{said}; guessing would link {share(linked['guessing'])}. A better attack may link more."
    if near.get("share") is not None:
        far = share(near["width"])
        yield f"{share(near['share'])} of the changed values have an original within {far} of the rows by rank."


def _not_protected(release: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Say which values of an anonymous table are passed on exactly, and how many of them are unique."""
    if not (passed := release.get("passed_on")):
        return
    yield "warn" if any(passed.values()) else "soft", f"Passed on exactly, so not protected: {', '.join(passed)}."
    unique = sorted(((n, name) for name, n in passed.items() if n), reverse=True)
    for n, name in unique[:_MOST_UNIQUE]:
        said = (
            f"{n:,} of {release['rows']:,} rows ({share(n / release['rows'])}) have a value of {name} that occurs once"
        )
        yield "warn", f"{said}: anyone who knows it finds the row."
    if more := len(unique) - _MOST_UNIQUE:
        yield from [("warn", f"The same holds for rows of {more:,} more columns.")] * (more > 0)


def _left_out(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Say how many rows of an anonymous table were left out, and why; a tenth of them is a warning."""
    suppressed, dropped = facts.get("suppressed") or 0, facts.get("dropped_for_missing_values") or 0
    unnamed = facts.get("left_out_without_person") or 0
    gone = suppressed + dropped + unnamed
    tone = "warn" if 10 * gone > facts.get("rows", 0) + gone else "soft"
    asked = facts.get("left_out_published_before", 0)
    if facts.get("on_conflict") == "new" and asked:
        yield "soft", f"Rows of people who were published before were left out, as asked: {asked:,}."
        suppressed, asked = suppressed - asked, 0
    if suppressed > 0:
        more = f" Of them, {asked:,} were published before." if asked else ""
        yield tone, f"Rows that were left out so that the rules hold: {suppressed:,}.{more}"
    if dropped:
        yield tone, f"Rows that were left out for missing values: {dropped:,}."
    if unnamed:
        yield tone, f"Rows that were left out because they have no person: {unnamed:,}."
    if over := facts.get("left_out_over_most_rows"):
        yield "soft", f"Rows that were left out, as asked, because their person has more than are released: {over:,}."
    if blanked := facts.get("blanked"):
        yield "soft", f"Rows in which single values were blanked so that the rules hold: {blanked:,}."


def _nearly_unique(shares: Any) -> str:
    """Warn of columns in which most rows have a value of their own."""
    found = dict(shares) if isinstance(shares, dict) else dict.fromkeys(shares)
    named = [name if part is None else f"{name} ({share(part)} of the rows)" for name, part in found.items()]
    return (
        f"Most values occur once in {', '.join(named)}. Anyone who knows a person's value there finds their row. Leave "
        "such columns out, or generalise them."
    )


def _declared(column: dict[str, Any]) -> str:
    if "bounds" in column:
        coded = "".join(f", {side} {plain(column[side])}" for side in ("bottom", "top") if side in column)
        return " to ".join(end if isinstance(end, str) else number(end, 6) for end in column["bounds"]) + coded
    if "pattern" in column:
        return f"codes of the pattern {column['pattern']}"
    names = [f'"{c}"' if "," in c else c for c in map(category_text, column.get("categories", []))]
    return ", ".join(names[:12]) + (f" and {len(names) - 12:,} more" if len(names) > 12 else "")


def _not_known(release: dict[str, Any]) -> list[str]:
    """Return what the boxes do not show."""
    parts = [release["clustering"][:1].upper() + release["clustering"][1:] + "."] if "clustering" in release else []
    parts += counted.told(release.get("measured", ())) + counted.projected(release)
    if elsewhere := release.get("unlisted"):
        listed, other, error = (f"{elsewhere[key]:,.0f}" for key in ("listed_rows", "rows", "std_error"))
        text = (
            f"The boxes hold about {listed} of these rows. The other {other} (standard error {error}) are in cells "
            f"that are not listed: only cells with a noisy count above {elsewhere['cutoff']:,} are, out of "
            f"{elsewhere['cells']:,}. Where those rows are is not known. No chart below shows them."
        )
        if elsewhere["noise_alone"] >= 1:
            text += f" Up to about {elsewhere['noise_alone']:,.0f} of the boxes may be pure noise."
        parts.append(text)
    elif "box_rows" in release and abs(release["box_rows"] - release["rows"]) >= max(1, 0.01 * release["rows"]):
        held, error = f"{release['box_rows']:,.0f}", f"{noise_width(0.95) * release['box_rows_std_error']:,.0f}"
        parts.append(
            f"The boxes, and so the bars of the charts below, add up to {held} ± {error} rows, because each box has "
            f"its own noise. The total of about {release['rows']:,.0f} rows is more accurate."
        )
    if release.get("uncut"):
        names = plain(release["uncut"])
        parts.append(f"These columns were never split, so their distribution is not known: {names}.")
    return parts


def _fitness(told: dict[str, Any] | None) -> Pictures:
    """Draw the expected errors of counts by one and two columns."""
    if not told or len(told.get("columns", ())) < 2:
        return []
    errors = np.array(told["errors"], np.float64)
    said = (
        "Expected errors of counts, in % of the counts: by one column on the diagonal, by two elsewhere, numbers in 8 "
        "equal parts of their range. Counts with more than 50 % are of no use."
    )
    said += " Hatched: not known." if np.isnan(errors).any() else ""
    picture = plane.pairs(told["columns"], errors, title="errors of counts", form=error_percent, top=0.5)
    guessed = list(zip(*np.nonzero(np.triu(told["assumed"], 1)), strict=True))
    named = [" by ".join(told["columns"][i] for i in pair) for pair in guessed[:6]]
    more = f" and {len(guessed) - 6:,} more" if len(guessed) > 6 else ""
    return [(picture, said + (f" Not measured but modelled: {', '.join(named)}{more}." if named else ""))]


def _charts(release: dict[str, Any]) -> Pictures:
    found: Pictures = []
    if facts := release.get("plane"):
        x, y = facts["columns"]
        marks = clusters.marks(release.get("clusters"), [x, y])
        picture = plane.boxes(
            facts["lower"], facts["upper"], facts["density"], title=f"{x} and {y}", x=x, y=y, low=facts["low"],
            high=facts["high"], ends=facts["ends"], gaps=facts["gaps"], marks=marks,
        )  # fmt: skip
        more = "; hatched: no box is listed" if facts["gaps"] else ""
        more += "; crosses: cluster centres" if marks else ""
        found.append((picture, f"{x} and {y}: density of rows by the noisy counts; grey is below zero{more}"))
    # A projection has no distributions of single columns.
    drawn = [] if "lifted" in release else release.get("marginals", [])[:_MOST_CHARTS]
    return [*found, *counted.drawn(release.get("measured", ())), *map(marginal, drawn), *sizes(release)]


def sizes(release: dict[str, Any]) -> Pictures:
    """Draw the sizes of the groups of a table, and the frequencies that counts of reports estimate."""
    found: Pictures = []
    if facts := release.get("classes"):
        picture = svg.ranked([f"{t} rows" for t in facts["labels"]], facts["counts"], title="groups", axis="groups")
        found.append((picture, "number of groups by size: people in small groups are easier to find"))
    if rows := release.get("frequencies"):
        names, values, low, high = ([row[key] for row in rows] for key in ("candidate", "count", "lower", "upper"))
        picture = svg.ranked(names, values, low, high, title="frequencies", axis="reports", form=whole, span=ends_of)
        found.append((picture, "estimated numbers of reports, with 95 % intervals"))
    return found


def whole(value: float) -> str:
    return number(round(value) + 0.0, 12)


def marginal(found: dict[str, Any]) -> tuple[Any, str]:
    """Return the chart of one column and its caption."""
    name, assumed, errors = found["column"], found.get("assumed"), found["std_errors"]
    if not found.get("divided", True):
        return svg.unknown(found.get("why", views.NOT_DIVIDED), title=name, ends=found["ends"]), name
    if assumed is not None and views.doubt(found) > 0.5:
        errors = None  # intervals of the noise around an assumption would mislead
    wide = None if errors is None else (noise_width(0.95) * np.asarray(errors)).tolist()
    how: dict[str, Any] = {"title": name, "axis": "rows", "assumed": assumed}
    if found["edges"] is None and not found.get("ordered"):
        low, high = (None if wide is None else [v + s * w for v, w in zip(found["counts"], wide, strict=True)]
                     for s in (-1, 1))  # fmt: skip
        form = number if wide and max(wide) < 1 else whole
        picture = svg.ranked(found["labels"], found["counts"], low, high, form=form, **how)
    else:
        picture = svg.bars(
            found["labels"], found["counts"], wide, edges=found["edges"], marks=found.get("marks"), **how
        )
    doubtful = assumed is not None and any(abs(a) > 0 for a in assumed)
    if wide is not None:
        text = f"{name}, with 95 % intervals{' of the noise' * doubtful}"
    else:
        said = found.get("said", "as released: each value is noisy")
        text = f"{name}, {said if assumed is None else 'mostly assumed: no intervals'}"
    if doubtful:
        text += "; hatched: from boxes wider than the bar, assumed to be uniform"
    if "missing" in found:
        missing = found["missing"]
        half = number(noise_width(0.95) * missing["std_error"], 2)
        text += f"; missing: {missing['value']:,.0f} ± {half} rows"
    return picture, text


def _beyond(marginals: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the columns without a chart, and why."""
    room = f"only the first {_MOST_CHARTS} columns have a chart"
    return [
        {"column": m["column"], "reason": room if m.get("divided", True) else m.get("why", views.NOT_DIVIDED)}
        for m in marginals[_MOST_CHARTS:]
    ]


def _reasons(columns: Sequence[dict[str, str]]) -> dict[str, list[str]]:
    """Group the columns without a chart by the reason."""
    found: dict[str, list[str]] = {}
    for left in columns:
        found.setdefault(left["reason"], []).append(left["column"])
    return found


#: Measures of a sensitive column: format and meaning.
_MEASURES = {
    "distinct_l": (number, "fewest different values in a group (distinct l)"),
    "entropy_l": (number, "fewest effective values in a group (entropy l)"),
    "recursive_c": (number, "most frequent value against the rarer ones, worst group (recursive c)"),
    "t_equal": (number, "largest distance of a group from the table, values unordered (t)"),
    "t_ordered": (number, "largest distance of a group from the table, values in order (t)"),
    "alpha": (share, "largest share of one value in a group"),
    "beta": (number, "largest relative gain of belief in a value"),
    "enhanced_beta": (number, "the same, limited for rare values"),
    "delta": (number, "largest change of belief, as a logarithm; ∞ if a group lacks a value"),
    "homogeneous": (share, "rows whose value the group reveals"),
}


def _risk(risk: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return measure, value and meaning. If k counts persons, so do the figures where they are known."""
    persons, found = risk.get("persons"), risk["prosecutor"]
    called = persons["called"] if persons else "row"
    who = plural(called)
    rows = [
        (f"smallest group, k{f' ({who})' * bool(persons)}", number(risk["k"]),
         f"every group of this table has at least this many {who}"),
        ("groups", number(risk["classes"]), "rows of one group are identical"),
        ("risk of being found, at most", percent_up(found["max"]),
         "probability that a prosecutor picks the right row, worst group"),
    ]  # fmt: skip
    if persons and persons["largest_share"] is not None:
        told = f"a {called} with many rows of a group is easiest to find"
        rows.append((f"largest share of one {called}'s rows in a group", percent_up(persons["largest_share"]), told))
    if not persons or persons["recounted"]:
        rows.append(("risk of being found, on average", share(found["mean"]), "the same, mean over all rows"))
        rows.append(("marketer", share(risk["marketer"]), "share of correct rows if all are matched"))
    rows.append(("alone in their group", share(risk["unique"]), "rows that are unique"))
    rows += loss_rows(risk.get("information_loss"))
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
        said = f"{c['column']}: released (bars) and raw (lines); {moved} of the rows would have to move"
        charts.append((picture, said))
    return {
        "charts": charts, "reasons": _reasons(found.get("left_out", [])), "together": _together(found.get("together")),
        "clusters": clusters.compared(found.get("clusters")), "loss": loss_rows(found.get("information_loss")),
    }  # fmt: skip


def _together(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the heat map of pairs, the worst of them, and every other figure of a comparison of rows."""
    if found is None:
        return None
    from discreet.evaluation import comparison_rows  # here: other pages do without classifiers

    names, pairs = found["columns"], found["marginals"]["2"]
    errors = np.diag([found["column_errors"][name] for name in names])
    for pair in found["pair_errors"]:
        i, j = (names.index(name) for name in pair["columns"])
        errors[i, j] = errors[j, i] = pair["error"]
    said = (
        "The error of a pair is the share of rows that would have to move to match the raw counts, with numbers in 16 "
        f"equal bins: 0 is identical, 1 has nothing in common. Sampling alone gives {pairs['sampling']:.3f}."
    )
    more = f"; the {plane.MOST_PAIRED} columns with the largest" if len(names) > plane.MOST_PAIRED else ""
    caption = f"errors of pairs of columns; single columns are on the diagonal{more}"
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
    """Yield the figures of an attack or audit that have an interval: name, value and both ends."""
    for key, value in result.items():
        if isinstance(value, dict):
            yield from intervals(value, key.replace("_", " "))
        ends = result.get(f"{key}_interval", result.get("interval") if key in ("rate", "advantage") else None)
        if isinstance(value, (int, float)) and isinstance(ends, list) and len(ends) == 2 and None not in ends:
            yield name if key == "rate" else key.replace("_", " "), float(value), float(ends[0]), float(ends[1])


def _guard(facts: dict[str, Any]) -> str:
    """Return the name of the check for changes: counts of reports have a checksum, and no seal."""
    return "checksum" if facts["digest"] is None and facts["checks"]["seal"] == "intact" else "seal"


def _booked(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the model behind synthetic rows, the account, and the head that the release names."""
    named = facts["parameters"].get("account")
    if behind := facts.get("behind"):
        yield from (("model behind it", behind["file"]), ("seal of the model", behind["digest"]))
    if account := facts.get("account"):
        entry = account["entry"]
        yield from (("account", account["dataset"]), ("its entry", "not known" if entry is None else number(entry)))
    if isinstance(named, Mapping):
        yield "line in the account", str(named["head"])


def _auditor(facts: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("file", f"{facts['file']}, {facts['bytes']:,} bytes"),
        ("SHA-256 of the file", facts["file_sha256"]),
        ("seal over content and promise", facts["digest"] or "none"),
        (f"{_guard(facts)} checked", facts["checks"]["seal"]),
        ("noise", "seeded: do not publish" if facts["checks"]["seeded"] else "operating-system entropy"),
        ("unit of privacy", facts["promise"]["unit"]),
        *_booked(facts),
        ("made by", f"Discreet {facts['made_by']}"),
        ("reported by", f"Discreet {facts['reported_by']}"),
    ]
    return rows if facts["ledger"] else [row for row in rows if row[0] != "noise"]
