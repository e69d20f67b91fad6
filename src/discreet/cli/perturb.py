"""What `perturb` shows: the promise, what it means, and the first rows of the table."""

import json
from typing import Any

import typer
from rich.markup import escape

from discreet.cli.common import console, preview, show_files, show_promise, warn, warn_if_seeded


def show(result: Any, as_json: bool) -> None:
    """Show what was released."""
    from discreet.jobs.work.perturb import distances

    noisy, guarantee, target = result.artifact, result.guarantee, result.files["release"]
    warnings = result.figures["warnings"]
    if as_json:
        typer.echo(json.dumps(result.figures))
        warn(warnings)
        return
    show_promise(guarantee)
    if meaning := distances(guarantee):
        console.print(f"[bold]In other words.[/] {escape(meaning)}")
    console.print(f"[bold]The table.[/] {noisy.n_rows:,} rows, {len(noisy.names)} columns")
    console.print(
        f"[bold]The files.[/] [cyan]{escape(str(target))}[/] and [cyan]{escape(target.name)}.guarantee.json[/]"
    )
    show_files(*(result.files.get(name) for name in ("report", "guarantee")))
    preview(noisy.head)
    warn_if_seeded(guarantee.seeded)
    warn(warnings)
