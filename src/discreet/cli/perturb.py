"""The verb `perturb`: every row of a table moved by noise, so that rows near each other look alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from discreet.cli.common import Seed, Unit, complete, console, epilog, show_promise, warn, warn_if_seeded, working


def perturb(
    data: Annotated[str, typer.Argument(help="A CSV or Parquet file, a folder of them, or a pattern in quotes.")],
    schema: Annotated[Path, typer.Option(help="The declared columns; 'discreet schema' drafts such a file.")],
    epsilon: Annotated[float, typer.Option(help="Level at distance --radius: smaller is more private.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV or Parquet file to write.")],
    radius: Annotated[
        float | None, typer.Option(help="Distance at which epsilon holds: of the unit cube by default, see --scaling.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="nd-laplace; or by column: column-laplace, piecewise, hybrid, duchi, square-wave; or priv-unit.",
            autocompletion=complete("perturb"),
        ),
    ] = "nd-laplace",
    sphere: Annotated[
        bool, typer.Option("--sphere", help="Columns are latitude and longitude in degrees, --radius is in metres.")
    ] = False,
    remap: Annotated[
        str | None,
        typer.Option(
            help="What noisy points become: none, clip, grid, bayes (with --prior) or resample.",
            autocompletion=complete("remap"),
        ),
    ] = None,
    prior: Annotated[
        Path | None, typer.Option(help="For bayes: public places, as a table or as 'discreet synopsis' writes it.")
    ] = None,
    scaling: Annotated[
        str | None, typer.Option(help="The metric: box (columns by their width), none, or units such as 10,0.5.")
    ] = None,
    category_epsilon: Annotated[float | None, typer.Option(help="Budget of every column of categories.")] = None,
    step: Annotated[float | None, typer.Option(help="Distance of neighbouring values that may be written.")] = None,
    unit: Unit = None,
    order: Annotated[
        str | None,
        typer.Option(
            help="Of the rows: shuffled, or input for a table that stays in the house. [default: shuffled]",
            autocompletion=complete("order"),
        ),
    ] = None,
    seed: Seed = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print file, rows and promise as JSON instead.")] = False,
) -> None:
    """Move every row by noise and write the table: rows near each other can hardly be told apart afterwards.

    Rows are shuffled. Columns that are not declared, and identifiers, are left out.
    """
    from discreet.errors import InvalidArgument

    if sphere and method != "nd-laplace":
        raise InvalidArgument("--method", method, "left out with --sphere", "--sphere")
    settings = {
        "radius": radius,
        "remap": remap,
        "prior": prior,
        "scaling": scaling,
        "category_epsilon": category_epsilon,
        "step": step,
        "order": order,
    }
    with working("Perturbing the rows ..."):
        from discreet.jobs import perturb as jobs

        noisy, guarantee = jobs.perturb(
            data, schema, epsilon, output, "sphere" if sphere else method, settings, seed, unit
        )
    if as_json:
        typer.echo(json.dumps(jobs.figures(noisy, guarantee, output)))
        warn(jobs.warnings(noisy))
        return
    show_promise(guarantee)
    meaning = jobs.distances(guarantee)
    if meaning:
        console.print(f"[bold]In other words.[/] {escape(meaning)}")
    console.print(f"[bold]The table.[/] {noisy.n_rows:,} rows, {len(noisy.names)} columns")
    console.print(
        f"[bold]The files.[/] [cyan]{escape(str(output))}[/] and [cyan]{escape(output.name)}.guarantee.json[/]"
    )
    _preview(noisy.head)
    warn_if_seeded(guarantee.seeded)
    warn(jobs.warnings(noisy))


def _preview(table: Any) -> None:
    from rich.table import Table

    shown = Table(title="The first rows", title_justify="left")
    for name in table.column_names[:12]:
        shown.add_column(escape(name))
    for row in table.select(table.column_names[:12]).slice(0, 6).to_pylist():
        shown.add_row(*(escape(f"{v:.6g}" if isinstance(v, float) else str(v)) for v in row.values()))
    console.print(shown)


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    start = "perturb data.csv --schema schema.toml --epsilon 2"
    app.command(epilog=epilog(f"{start} --radius 0.1 -o noisy.csv", f"{start} --sphere --radius 200 -o noisy.csv"))(
        perturb
    )
