"""What `risk` shows: how well people hide in a table, and what was required and is not met."""

import json
from typing import Any

import typer
from rich.markup import escape

from discreet.cli.common import console, measures


def show(result: Any, as_json: bool) -> None:
    """Show the measures."""
    if as_json:
        typer.echo(json.dumps(result.figures))
        return
    measures("Risk", result.artifact.to_rows())
    for note in result.artifact.notes:
        console.print(f"[bold yellow]Note:[/] {escape(note)}", highlight=False)
    for line in result.more:
        console.print(f"[bold red]Not met:[/] {escape(line)}")
    required = result.job.parameters.get("require")
    if required and not result.more:
        console.print(f"[green]Met:[/] {escape(','.join(f'{k}={v:g}' for k, v in required.items()))}")
