"""Results as a page: Markdown for the terminal and the guide, one HTML page with its charts, CSV for programs."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from pathlib import Path

from jinja2 import PackageLoader
from markdown_it import MarkdownIt
from markupsafe import Markup

from discreet.core import write_whole
from discreet.errors import DataSourceError
from discreet.reporting.pages import Answer, render
from discreet_studies.harness.chart import STYLE
from discreet_studies.harness.study import CORRECTED, NOT, REPRODUCED, VERDICTS, Estimate, Finding, Results, Study

#: A table with more words than this is a file, in the guide.
LONG = 300
_HEAD = ("figure", "published", "measured", "95 % interval", "runs", "ours at best", "95 % interval", "verdict")


def page(study: Study, results: Results) -> str:
    """Return the whole report in Markdown."""
    found = study.findings(results)
    lines = [f"# {study.title}", "", f"After {study.source}.", ""]
    lines += [f"**{quick_run(results)}**", ""] if results.quick else []
    lines += [*verdicts(found), *_tables(study, results, found)]
    lines += [line for note in study.notes(results) for line in (note, "")]
    if absent := _absent(study, results):
        lines += [f"Not run here, because they are not available: {', '.join(absent)}."]
    return "\n".join(lines).rstrip() + "\n"


def quick_run(results: Results) -> str:
    """Return what the page of a quick run says first."""
    seeds = f", {found} seeds per setting" if (found := results.seeds()) else ""
    return (
        f"Quick run: a small part of the study{seeds}. Intervals are wide: do not quote these figures as the study's."
    )


def short(study: Study, results: Results, place: str) -> tuple[str, dict[str, str]]:
    """Return what the guide shows below its text, and the files with the rest by name, as CSV.

    Printed figures with their verdicts are in one file, and so is every table of more than `LONG` words. ``place`` is
    the folder that the links name.
    """
    found = study.findings(results)
    judged = any(f.verdict for f in found)
    files = {f"{study.name}.csv": comma_separated(found)} if judged else {}
    lines = [] if judged else _tables(study, results, found)
    if judged:
        told = f"[{len(found):,} figures]({place}/{study.name}.csv) as CSV"
        many = sum(bool(f.verdict) for f in found)
        told += ", all with a verdict." if many == len(found) else f"; {many:,} of them have a verdict."
        lines += ["## All figures", "", told, ""]
    heading = ""
    for note in study.notes(results):
        heading = note.lstrip("# ") if note.startswith("#") else heading
        if note.startswith("|") and len(note.split()) > LONG:
            before = sum(name.startswith(f"{study.name}-{_slug(heading)}") for name in files)
            name = f"{study.name}-{_slug(heading)}{f'-{before + 1}' if before else ''}.csv"
            head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in note.splitlines())
            files[name] = _csv([head, *rows])
            note = f"[The table]({place}/{name}): {len(rows)} rows as CSV."
        lines += [note, ""]
    return "\n".join(lines).rstrip() + "\n", files


def _tables(study: Study, results: Results, found: Sequence[Finding]) -> list[str]:
    if study.tables is not None:
        return [line for part in study.tables(results) for line in (part, "")]
    lines: list[str] = []
    for section in dict.fromkeys(f.section for f in found):
        lines += [f"## {section}", ""] if section else []
        lines += [*table([f for f in found if f.section == section]), ""]
    return lines


def counts(findings: Sequence[Finding]) -> dict[str, int]:
    """Return how many figures have which verdict; verdicts that none has are left out."""
    found = {verdict: sum(f.verdict == verdict for f in findings) for verdict in VERDICTS}
    return {verdict: n for verdict, n in found.items() if n}


def verdicts(findings: Sequence[Finding]) -> list[str]:
    """Return how many figures of each section have which verdict, for a study of several sections."""
    sections = list(dict.fromkeys(f.section for f in findings if f.verdict))
    if len(sections) < 2:
        return []
    held = counts(findings)
    rows = []
    for section in sections:
        own = counts([f for f in findings if f.section == section])
        rows.append([section, *(str(own.get(v, 0)) for v in held)])
    # The long name of a verdict would push the last column off a terminal of 80 columns.
    head = ["figures", *("corrected" if v == CORRECTED else v for v in held)]
    return ["## Verdicts", "", table_of(head, [*rows, ["all", *map(str, held.values())]]), ""]


def table(findings: Sequence[Finding]) -> list[str]:
    """Return findings as the lines of a Markdown table; columns that none of them fills are left out."""
    rows = []
    for f in findings:
        verdict = f"{f.verdict}: {f.note}" if f.verdict and f.note else f.verdict or f.note
        rows.append([f.figure, number(f.published), *_shown(f.measured, True), *_shown(f.best, False), verdict])
    judged = any(f.verdict for f in findings)
    head = [*_HEAD[:-1], "verdict" if judged else "note"]
    filled = [i for i in range(len(head)) if i in (0, 2) or any(row[i] not in ("–", "") for row in rows)]
    text = (0, len(head) - 1)
    rule = "".join("---|" if i in text else "---:|" for i in filled)
    lines = ["| " + " | ".join(row[i] for i in filled) + " |" for row in [head, *rows]]
    return [lines[0], "|" + rule, *lines[1:]]


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> str:
    """Return any table in Markdown; the first columns, so many, are words, the others are numbers."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * words + "---:|" * (len(head) - words)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def number(value: float | None) -> str:
    """Return a number with three digits after the point, without any if it is large, or a dash."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.3f}"


def comma_separated(findings: Sequence[Finding]) -> str:
    """Return findings as CSV, with all digits."""
    ends = ("mean", "low", "high", "runs")
    head = ["section", "figure", "published", *(f"measured_{e}" for e in ends), *(f"best_{e}" for e in ends)]
    rows: list[Sequence[object]] = [[*head, "verdict", "note"]]
    for f in findings:
        best = ["", "", "", ""] if f.best is None else [f.best.mean, f.best.low, f.best.high, f.best.runs]
        measured = [f.measured.mean, f.measured.low, f.measured.high, f.measured.runs]
        published = "" if f.published is None else f.published
        rows.append([f.section, f.figure, published, *measured, *best, f.verdict, f.note])
    return _csv(rows)


def _csv(rows: Sequence[Sequence[object]]) -> str:
    sink = io.StringIO()
    csv.writer(sink, lineterminator="\n").writerows(rows)
    return sink.getvalue()


def _slug(heading: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")[:40].strip("-")


def html(study: Study, results: Results) -> str:
    """Return the page to open in a browser: three answers, the charts, the tables; no script, light and dark."""
    found = study.findings(results)
    judged = [f for f in found if f.verdict]
    failed = [f for f in judged if f.verdict == NOT]
    tones = {REPRODUCED: "good", NOT: "warn"}
    told = [(tones.get(verdict, ""), f"{verdict}: {n:,}") for verdict, n in counts(judged).items()]
    doubts = [("warn", f"{f.section + ': ' if f.section else ''}{f.figure}") for f in failed[:4]]
    if len(failed) > 4:
        doubts.append(("soft", f"and {len(failed) - 4} more, in the tables below"))
    absent = _absent(study, results)
    doubts += [("soft", f"Not run here: {', '.join(absent)}.")] if absent else []
    told_of = [*([quick_run(results)] if results.quick else []), *study.doubts(results)]
    doubts += [("warn", doubt) for doubt in told_of]
    if not judged:
        doubts.append(("soft", "Nothing was published to compare with: these are figures of our own runs."))
    runs = sum(f.measured.runs for f in found)
    worry = "Read before you quote" if told_of else "Nothing that is known"
    worry = f"{len(failed):,} do not stand" if failed else worry
    standing = sum(f.verdict in (REPRODUCED, CORRECTED) for f in judged)
    stand = f"{standing:,} of {len(judged):,} published figures stand"
    answers = [
        Answer("What was asked?", _asked(study.title), [("", f"After {study.source}.")]),
        Answer(
            "What came out?",
            stand if judged else f"{len(found):,} figures",
            [*told, ("soft", f"{runs:,} runs behind {len(found):,} figures, with intervals")],
        ),
        Answer("What should worry me?", worry, doubts),
    ]
    body = page(study, results).split("\n", 4)[-1]
    made = MarkdownIt("commonmark", {"html": False}).enable("table").render(body)
    made = re.sub(r' style="text-align:(right|left)"', lambda found: ' class="n"' * (found[1] == "right"), made)
    made = made.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")
    charts = [(chart.title, chart.drawn()) for chart in study.pictures(results).values()]
    loader = PackageLoader("discreet_studies.harness")
    kind = "Study, quick run" if results.quick else "Study"
    return render("study.html", study.title, kind, answers, loader, charts=charts, style=STYLE, body=Markup(made))


def write_report(study: Study, results: Results, folder: str | Path, *, plotly: bool = False) -> list[Path]:
    """Write page and tables into a folder; return the files. ``plotly`` adds charts to zoom, and 5 MB of program."""
    place = Path(folder).expanduser()
    place.mkdir(parents=True, exist_ok=True)
    stem = f"{study.name}-quick" if results.quick else study.name  # the pages of a full run stay
    files = {place / f"{stem}.html": html(study, results), place / f"{stem}.md": page(study, results)}
    files[place / f"{stem}.csv"] = comma_separated(study.findings(results))
    if plotly:
        try:
            from plotly.offline import get_plotlyjs
        except ImportError:
            raise DataSourceError(
                "charts to zoom need Plotly: pip install 'discreet[plot]', or leave --plotly out"
            ) from None
        for name, chart in study.pictures(results).items():
            files[place / f"{stem}-{name}.html"] = chart.plotly().to_html(include_plotlyjs="directory")
        # Once for all charts, and beside them: a page must open without a network.
        files[place / "plotly.min.js"] = get_plotlyjs()
    for path, text in files.items():
        write_whole(path, text)
    return list(files)


def _asked(title: str) -> str:
    """Return what stands behind the colon of a title, which the page already shows above."""
    asked = title.partition(": ")[2] or title
    return asked[:1].upper() + asked[1:]


def _absent(study: Study, results: Results) -> list[str]:
    """Return what was not run; shipped results may hold what has no file here."""
    held = {value for setting, _ in results.rows for value in setting.values() if isinstance(value, str)}
    return [name for name in study.absent() if name not in held]


def _shown(estimate: Estimate | None, with_runs: bool) -> list[str]:
    if estimate is None or not estimate.runs:
        return ["–", "–"] + (["0"] if with_runs else [])
    interval = "–" if math.isinf(estimate.low) else f"{number(estimate.low)} to {number(estimate.high)}"
    return [number(estimate.mean), interval] + ([str(estimate.runs)] if with_runs else [])
