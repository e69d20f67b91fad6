"""The verb `attack`: what somebody with the release could find out about people in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from discreet.cli.common import Json, complete, console, epilog, working


def attack(
    released: Annotated[Path, typer.Argument(help="What was released: noisy points, centres, or a synopsis.")],
    against: Annotated[str, typer.Option(help="The records behind it: CSV or Parquet.")],
    control: Annotated[str, typer.Option(help="Records of such people that are not in it.")],
    schema: Annotated[Path | None, typer.Option(help="The declared columns; a synopsis has its own.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Points: the level at distance --radius.")] = None,
    radius: Annotated[
        float | None, typer.Option(help="Points: that distance, in shares of the declared widths.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="membership, reconstruction or attribute.", autocompletion=complete("attack"))
    ] = "membership",
    kind: Annotated[str, typer.Option(help="points, synopsis or centers.", autocompletion=complete("kind"))] = "points",
    reference: Annotated[
        str | None, typer.Option(help="Public records of such people; else half of the control is taken.")
    ] = None,
    column: Annotated[str | None, typer.Option(help="Attribute: the column to guess, all others being known.")] = None,
    linked: Annotated[
        bool, typer.Option("--linked/--unlinked", help="Attribute: whether it is known whose point is whose.")
    ] = True,
    estimate: Annotated[str | None, typer.Option(help="Reconstruction: mean, median or mode.")] = None,
    within: Annotated[
        float | None, typer.Option(help="A guess this near counts; for points in shares of the widths.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Repeat a run; an attack is never for publication.")] = None,
    as_json: Json = False,
) -> None:
    """Attack a release as an outsider would, beside a control group. The result is not for publication."""
    settings = {
        "epsilon": epsilon,
        "radius": radius,
        "reference": reference,
        "column": column,
        "linked": linked,
        "estimate": estimate,
        "within": within,
    }
    with working("Attacking ..."):
        from discreet.jobs import attack as jobs

        found = jobs.attack(released, against, control, schema, method, kind, settings, seed)
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
        return
    from rich.table import Table

    title = f"{found.name}: {len(found.scores):,} people in the release, {len(found.control_scores):,} others"
    table = Table(title=escape(title), title_justify="left")
    for name in ("measure", "value", "meaning"):
        table.add_column(name, justify="right" if name == "value" else "left")
    for row in found.rows():
        table.add_row(*map(escape, row))
    console.print(table)
    verdict = "finds people beyond chance" if found.advantage_interval[0] > 0 else "is no better than guessing"
    console.print(f"The attack {verdict} ({found.confidence:.0%} intervals in brackets).")


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    files = "--against data.csv --control others.csv"
    app.command(
        epilog=epilog(
            f"attack noisy.csv {files} --schema schema.toml --epsilon 2 --radius 0.1",
            f"attack s.parquet --kind synopsis {files}",
        )
    )(attack)
