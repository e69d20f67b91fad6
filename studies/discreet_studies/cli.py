"""The verbs `study list`, `study run` and `study show`, which ``discreet`` finds by their entry point."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

import discreet_studies
from discreet.cli import Json, console, epilog, show_table, working

study = typer.Typer(
    name="study", help="Run published experiments again and set the figures side by side.", no_args_is_help=True
)
_Out = Annotated[Path, typer.Option("--out", help="Folder for results and report.")]
_Plotly = Annotated[bool, typer.Option("--plotly", help="Charts to zoom as well (5 MB; needs the extra plot).")]
_FOLDER = Path("discreet-studies")


@study.command("list", epilog=epilog("study list"))
def list_studies(as_json: Json = False) -> None:
    """Say which studies there are."""
    found = [discreet_studies.load(name) for name in discreet_studies.names()]
    if as_json:
        typer.echo(json.dumps([{"name": s.name, "title": s.title, "source": s.source} for s in found]))
        return
    columns = ("name", "what it asks", "after")
    show_table("Studies", columns, [(s.name, s.title, s.source) for s in found], prose=columns[1:])


@study.command("run", epilog=epilog("study run density-trees --quick"))
def run(
    name: Annotated[str, typer.Argument(help="The study; 'discreet study list' names them.")],
    quick: Annotated[bool, typer.Option("--quick", help="The small grid: minutes, and wide intervals.")] = False,
    out: _Out = _FOLDER,
    processes: Annotated[int, typer.Option(help="How many settings are measured at a time.")] = 2,
    plotly: _Plotly = False,
    as_json: Json = False,
) -> None:
    """Measure what is not measured yet, then write the report. An interrupted run goes on where it was."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from discreet_studies.harness.report import write_report
    from discreet_studies.harness.runner import results_file, run_study

    chosen = discreet_studies.load(name)
    absent = list(chosen.absent())
    if absent and not as_json:
        console.print(
            f"Left out, as they are not here: {escape(', '.join(absent))}. Real tables are read from the folder that "
            "the environment variable DISCREET_DATA names, or fetched beforehand: [cyan]discreet data fetch --all[/]"
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
    if as_json:
        facts = {"study": chosen.name, "settings": len(results.rows), "left_out": absent, "files": [*map(str, files)]}
        typer.echo(json.dumps(facts))
        return
    for path in files:
        console.print(f"  [cyan]{escape(str(path))}[/]", soft_wrap=True)


@study.command("show", epilog=epilog("study show density-trees"))
def show(
    name: Annotated[str, typer.Argument(help="The study; 'discreet study list' names them.")],
    out: _Out = _FOLDER,
    as_html: Annotated[Path | None, typer.Option("--html", help="Write the page with its charts here instead.")] = None,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the page as it is written.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON instead.")] = False,
) -> None:
    """Show the report: of your own run if the folder holds one, else of the results that came with the package."""
    with working("Reading the results ..."):
        from discreet.core import write_whole
        from discreet_studies.harness.report import html, page
        from discreet_studies.harness.runner import read_results

        chosen = discreet_studies.load(name)
        results = read_results(chosen, out)
        text = page(chosen, results)
    if as_json:
        findings = [asdict(finding) for finding in chosen.findings(results)]
        typer.echo(json.dumps({"study": chosen.name, "findings": findings}, default=str))
    elif as_html is not None:
        write_whole(as_html, html(chosen, results), streams=True)
        console.print(f"  [cyan]{escape(str(as_html))}[/]", soft_wrap=True)
    elif as_markdown:
        typer.echo(text, nl=False)
    else:
        _show(text)


def _show(text: str) -> None:
    """Show a page on a terminal: its tables as all tables are shown, which fit or say what they leave out."""
    from rich.markdown import Markdown

    for table, lines in groupby(text.splitlines(), lambda line: line.startswith("|")):
        if not table:
            console.print(Markdown("\n".join(lines)))
            continue
        names, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
        show_table("", names, rows, right=names[1:], prose=names[:1])
