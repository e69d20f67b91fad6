"""The command line: one verb a job. Thin: each verb calls the same public functions that a program would.

Heavy modules are imported inside the verbs, so that ``discreet --help`` answers at once.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from discreet._version import __version__
from discreet.errors import DiscreetError

app = typer.Typer(
    name="discreet",
    help="Turn a table of sensitive records into something that may be published, with its privacy guarantee attached.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
console = Console()


def _version(asked: bool) -> None:
    if asked:
        console.print(f"discreet {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Hold the options that come before any verb."""


@app.command(epilog="Example:  discreet demo --epsilon 0.5 --output ./try-it")
def demo(
    epsilon: Annotated[float, typer.Option(help="Privacy budget: smaller is more private, and coarser.")] = 1.0,
    output: Annotated[Path, typer.Option(help="Folder for the files it writes.")] = Path("discreet-demo"),
    seed: Annotated[int | None, typer.Option(help="Repeat a run. Its result must not be published.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON instead.")] = False,
) -> None:
    """Run the main job in miniature on an invented table of patients: no file needed.

    A synopsis of the table is released, clusters are found in it, and both are set against what an analyst
    with the raw rows would have got.
    """
    from discreet.demo import run

    with console.status("Working on 10,000 invented patients ..."):
        result = run(output, epsilon=epsilon, seed=seed)
    if as_json:
        typer.echo(json.dumps(result.to_dict()))
        return
    _tell(result)


def _tell(result: Any) -> None:
    """Say in plain words what happened."""
    colour = "red" if result.guarantee.seeded else "green"
    console.print(
        f"\n[bold]The table.[/] {result.rows:,} invented patients, two columns (age, yearly cost), "
        f"{result.clusters} groups of people. Pretend it may not leave the building."
    )
    console.print(
        f"[bold]The release.[/] The declared range of the columns was cut into {result.parts} x {result.parts} cells, "
        "the patients in each were counted, and every count, also of the empty cells, got random noise.\n"
    )
    console.print(Panel(str(result.guarantee), title="What is promised", border_style=colour))
    table = Table(title="The ledger", title_justify="left")
    table.add_column("step")
    table.add_column("composition")
    table.add_column("epsilon", justify="right")
    for row in result.ledger_rows:
        table.add_row(*row, style="bold" if not row[1] else None)
    console.print(table)
    console.print(
        f"[bold]The clusters.[/] {result.clusters} centres were found in the release alone. On the raw rows, their "
        f"squared error is [bold]{result.ratio:.3f}[/] times that of plain k-means, which sees every patient "
        f"({result.nicv_private:,.5f} against {result.nicv_plain:,.5f} in units of the squared range).\n"
        "[dim](This comparison looks at the raw rows. It is shown because they are invented; it is not part of the "
        "release.)[/]\n"
    )
    console.print(f"[bold]The files.[/] In [cyan]{result.folder}[/]:")
    for name, meaning in result.files.items():
        console.print(f"  [cyan]{name:<16}[/] {meaning}")
    if result.note:
        console.print(f"\n{result.note}")
    if result.guarantee.seeded:
        console.print("\n[bold red]Seeded: this run can be repeated and undone. Do not publish its result.[/]")


def main() -> None:
    """Run the command line; an error that names its fix is shown without a traceback."""
    try:
        app()
    except DiscreetError as error:
        Console(stderr=True).print(f"[bold red]Error:[/] {error}", highlight=False, markup=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
