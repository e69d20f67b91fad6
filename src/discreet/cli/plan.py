"""The verb `plan`: what to expect from which method, before any data are touched."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from discreet.cli.common import Json, console, epilog, show_files, working

_STEPS = "▁▂▃▄▅▆▇█"


def plan(
    rows: Annotated[int, typer.Option("--rows", "-n", help="Rows, or people.")],
    columns: Annotated[int, typer.Option("--columns", "-d", help="Numeric columns.")],
    epsilon: Annotated[float, typer.Option(help="Privacy budget: smaller is more private, and coarser.")] = 1.0,
    n_clusters: Annotated[int, typer.Option("--n-clusters", help="Clusters to be found.")] = 8,
    k: Annotated[int, typer.Option("--k", help="Anonymous tables: everyone hides among so many rows.")] = 10,
    values: Annotated[int, typer.Option(help="Values of a column whose frequencies are asked for.")] = 100,
    radius: Annotated[
        float, typer.Option(help="Metric noise: the distance at which epsilon holds, in declared widths.")
    ] = 0.1,
    target_error: Annotated[
        float | None, typer.Option(help="A wanted error, such as 0.01: adds the epsilon that each method needs.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="HTML file for table and curves.")] = None,
    as_json: Json = False,
) -> None:
    """Say what to expect from each method, and how the error falls with epsilon. No data are touched.

    Errors are shares: of all rows (counts), of the declared widths (places), or by how much the squared error exceeds
    that of k-means on the raw rows (clusters). Methods can be compared within a question only.
    """
    with working("Working out what to expect ..."):
        from discreet.core.output import check_place, write_whole
        from discreet.planning import outlook
        from discreet.reporting.pages.plan import UNITS, needed, page, percent

        if html is not None:
            check_place(html)
        found = outlook(
            rows,
            columns,
            clusters=n_clusters,
            k=k,
            values=values,
            epsilon=epsilon,
            radius=radius,
            target_error=target_error,
        )
        if html is not None:
            write_whole(html, page(found))
    if as_json:
        typer.echo(json.dumps({**found.to_dict(), "file": None if html is None else str(html)}))
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    ends = f"{found.budgets[0]:g} to {found.budgets[-1]:g}"
    console.print(f"{rows:,} rows, {columns} columns, epsilon {epsilon:g}. No data were looked at.\n")
    for question, unit in UNITS.items():
        table = Table(title=f"{question}: {unit}", title_justify="left", box=SIMPLE_HEAD)
        table.add_column("method (promise)")
        table.add_column("error", justify="right")
        table.add_column(f"at epsilon {ends}", no_wrap=True)
        if target_error is not None:
            table.add_column(f"epsilon for {target_error:g}", justify="right")
        table.add_column("what is released")
        notes = []
        for row in found.rows:
            if row.question != question:
                continue
            error = f"{'' if row.sense == 'about' else row.sense + ' '}{percent(row.error)}"
            free = row.model == "syntactic"  # of any epsilon
            more = [] if target_error is None else ["" if free else needed(row.needed_epsilon)]
            curve = "" if free else sparkline(row.curve)
            table.add_row(f"{escape(row.method)} ({row.model})", error, curve, *more, escape(row.release))
            notes.append(f"{row.method}: {row.reading}")
        console.print(table)
        console.print(f"[dim]{escape('; '.join(notes))}.[/]\n", highlight=False)
    show_files(html)


def sparkline(values: Sequence[float]) -> str:
    """Draw numbers as blocks, on a logarithmic scale.

    Examples
    --------
    >>> sparkline([8, 4, 2, 1])
    '█▆▃▁'
    """
    logs = [math.log(max(v, 1e-300)) for v in values]
    low, high = min(logs), max(logs)
    width = (high - low) or 1.0
    return "".join(_STEPS[round((v - low) / width * (len(_STEPS) - 1))] for v in logs)


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    examples = (
        "plan --rows 100000 --columns 2 --epsilon 0.5",
        "plan -n 5000 -d 3 --target-error 0.01 --html plan.html",
    )
    app.command(epilog=epilog(*examples))(plan)
