"""The verbs `study list`, `study run` and `study show`, which ``discreet`` finds by their entry point."""

import re
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

import discreet_studies
from discreet.cli import console, echo, group, show_files, show_table, verb, working
from discreet.jobs import option

study = group("study", "Rerun published experiments, and compare the results.")
_NAME = option("name", "text", "Name of the study; see 'discreet study list'.", "density-trees", required=True,
    positional=True)  # fmt: skip
_OUT = option("out", "folder", "Folder for results and report.", "discreet-studies", default="discreet-studies")


@verb(study, name="list", examples=("study list",))
def list_studies() -> Iterator[Any]:
    """List the studies."""
    found = [discreet_studies.load(name) for name in discreet_studies.names()]
    yield [{"name": s.name, "title": s.title, "source": s.source} for s in found]
    columns = ("name", "question", "source")
    show_table("Studies", columns, [(s.name, s.title, s.source) for s in found], prose=columns[1:])


@verb(
    study,
    _NAME,
    option("quick", "flag", "Run the small grid: it takes minutes, and the intervals are wide.", True),
    _OUT,
    option("processes", "whole", "Number of settings to measure at the same time.", 2, default=2, low=1),
    option("plotly", "flag", "Add charts that can be zoomed (5 MB; needs the extra plot).", True),
    examples=("study run density-trees --quick",),
)
def run(*, name: str, quick: bool, out: Path, processes: int, plotly: bool, as_json: bool) -> None:
    """Run a study and write its report. An interrupted run continues where it stopped."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from discreet_studies.harness.report import counts, write_report
    from discreet_studies.harness.runner import results_file, run_study

    chosen = discreet_studies.load(name)
    absent = list(chosen.absent())
    if absent and not as_json:
        console.print(
            f"Left out, because they are not here: {escape(', '.join(absent))}. [cyan]discreet data fetch --all[/] "
            "downloads tables, and DISCREET_DATA names another folder of them; the page of the study says how to get "
            "other programs."
        )
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(chosen.name, total=None)
        results = run_study(
            chosen,
            out,
            quick=quick,
            processes=processes,
            tell=lambda done, total: progress.update(task, completed=done, total=total),
        )
    files = [results_file(chosen, out, quick=quick), *write_report(chosen, results, out, plotly=plotly)]
    found = counts(chosen.findings(results))
    if as_json:
        told = {"study": chosen.name, "settings": len(results.rows), "left_out": absent}
        echo({**told, "verdicts": found, "files": [*map(str, files)]})
    else:
        show_files(*files)
        if found:
            console.print("Published figures: " + ", ".join(f"{n:,} {verdict}" for verdict, n in found.items()) + ".")


@verb(
    study,
    _NAME,
    _OUT,
    option("html", "output", "Write the page with its charts to this file.", "study.html", streams=True),
    option("markdown", "flag", "Print the page as Markdown.", True),
    examples=("study show density-trees",),
)
def show(*, name: str, out: Path, html: Path | None, markdown: bool, as_json: bool) -> None:
    """Show the report: of your own run if the folder has one, otherwise of the results in the package."""
    with working("Reading the results ..."):
        from discreet.core import write_whole
        from discreet_studies.harness import report
        from discreet_studies.harness.runner import read_results

        chosen = discreet_studies.load(name)
        results = read_results(chosen, out)
        text = report.page(chosen, results)
    kind = "quick" if results.quick else "full"
    if as_json:
        findings = [asdict(finding) for finding in chosen.findings(results)]
        echo({"study": chosen.name, "file": str(results.file), "run": kind, "findings": findings})
    elif html is not None:
        write_whole(html, report.html(chosen, results), streams=True)
        show_files(html)
    elif markdown:
        typer.echo(text, nl=False)
    else:
        console.print(f"Results of a {kind} run: {escape(str(results.file))}", soft_wrap=True, highlight=False)
        _show(text)


def _show(text: str) -> None:
    """Show a page on a terminal. Its tables are shown like all others, without marks of Markdown."""
    from rich.markdown import Markdown

    for table, lines in groupby(text.splitlines(), lambda line: line.startswith("|")):
        if not table:
            console.print(Markdown("\n".join(lines)))
            continue
        plain = (re.sub(r"\*\*(.+?)\*\*|`(.+?)`", r"\1\2", line) for line in lines)
        names, rule, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in plain)
        if names[-1] == "verdict":  # next to the figure: behind all numbers it would be in a second table
            names, rule = [names[0], "verdict", *names[1:-1], "note"], [rule[0], rule[-1], *rule[1:]]
            rows = [[row[0], said, *row[1:-1], note] for row in rows for said, note in [_verdict(row[-1])]]
        right = [name for name, mark in zip(names, rule, strict=True) if mark.endswith(":")]
        show_table("", names, rows, right=right, prose=[name for name in names if name not in right])


def _verdict(cell: str) -> tuple[str, str]:
    """Return verdict and note of a cell that holds one of them, or both."""
    from discreet_studies.harness.study import VERDICTS

    found = re.fullmatch(rf"({'|'.join(VERDICTS)})(?:: (.*))?", cell)
    return (found[1], found[2] or "") if found else ("", cell)
