"""What `report` shows: the promise in plain words, and where the page is."""

import json
from typing import Any

import typer
from rich.markup import escape

from discreet.cli.common import console, warn


def show(result: Any, as_json: bool) -> None:
    """Show what the page says first."""
    facts = result.figures
    if as_json:
        typer.echo(json.dumps(facts, ensure_ascii=False, default=str))
    else:
        for line in facts["promise"]["plain"]:
            console.print(escape(line))
        page = escape(str(result.files["report"]))
        console.print(f"[bold]The page.[/] [cyan]{page}[/] (self-contained; open it in any browser)")
        if "against" in result.job.parameters:
            console.print("[bold red]It compares with the raw table: keep it inside.[/]")
        if facts["checks"]["seeded"]:
            console.print("[bold red]Seeded: this release must not be published.[/]")
    warn(facts["warnings"])
    if result.failed:
        console.print("[bold red]The seal is broken: file or promise was changed.[/]", highlight=False)
