"""What `anonymize` shows: the promise, the groups, and the first rows of the table."""

from typing import Any

import typer
from rich.markup import escape

from discreet.cli.common import console, preview, show_files, show_promise


def show(result: Any, as_json: bool) -> None:
    """Show what was released."""
    release, target = result.artifact, result.files["release"]
    if as_json:
        typer.echo(release.guarantee.to_json())
        return
    show_promise(release.guarantee)
    left_out, facts = result.figures["left_out"], release.guarantee.parameters
    console.print(
        f"[bold]The table.[/] {len(release):,} rows in {facts.get('cells', facts.get('groups')):,} groups"
        + (f"; {left_out:,} rows were left out" if left_out else "; no row was left out")
    )
    console.print(
        f"[bold]The files.[/] [cyan]{escape(str(target))}[/] and [cyan]{escape(target.name)}.guarantee.json[/]"
    )
    show_files(*(result.files.get(name) for name in ("report", "guarantee")))
    if "house" in result.files:
        console.print(
            f"[bold]For you alone.[/] [cyan]{escape(str(result.files['house']))}[/] says who was published where"
        )
    preview(release.table, len(release.table.column_names))
