"""The verbs `study list`, `study run` and `study show`: published experiments, run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

study = typer.Typer(
    name="study", help="Run published experiments again and set the figures side by side.", no_args_is_help=True
)
console = Console()
_Out = Annotated[Path, typer.Option("--out", help="Folder for results and report.")]
_FOLDER = Path("discreet-studies")


@study.command("list", epilog="Example:  discreet study list")
def list_studies() -> None:
    """Say which studies there are."""
    from discreet import studies

    shown = Table(title="Studies", title_justify="left")
    for column in ("name", "what it asks", "after"):
        shown.add_column(column)
    for name in studies.names():
        found = studies.load(name)
        shown.add_row(name, escape(found.title), escape(found.source))
    console.print(shown)


@study.command("run", epilog="Example:  discreet study run density-trees --quick")
def run(
    name: Annotated[str, typer.Argument(help="The study; 'discreet study list' names them.")],
    quick: Annotated[bool, typer.Option("--quick", help="The small grid: minutes, and wide intervals.")] = False,
    out: _Out = _FOLDER,
    processes: Annotated[int, typer.Option(help="How many settings are measured at a time.")] = 2,
) -> None:
    """Measure what is not measured yet, then write the report. An interrupted run goes on where it was."""
    from discreet import studies
    from discreet.studies._report import write_report
    from discreet.studies._runner import results_file, run_study

    chosen = studies.load(name)
    if absent := list(chosen.absent()):
        console.print(f"Left out, for want of their files: {escape(', '.join(absent))}")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(chosen.name, total=None)
        results = run_study(
            chosen,
            out,
            quick=quick,
            processes=processes,
            tell=lambda done, total: progress.update(task, completed=done, total=total),
        )
    for path in [results_file(chosen, out, quick=quick), *write_report(chosen, results, out)]:
        console.print(f"  [cyan]{escape(str(path))}[/]", soft_wrap=True)


@study.command("show", epilog="Example:  discreet study show density-trees")
def show(
    name: Annotated[str, typer.Argument(help="The study; 'discreet study list' names them.")],
    out: _Out = _FOLDER,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the page as it is written.")] = False,
) -> None:
    """Show the report: of your own run if the folder holds one, else of the results that came with the package."""
    from discreet import studies
    from discreet.studies._report import page
    from discreet.studies._runner import read_results

    chosen = studies.load(name)
    text = page(chosen, read_results(chosen, out))
    if as_markdown:
        typer.echo(text, nl=False)
    else:
        console.print(Markdown(text))
