"""What `attack` shows: what somebody with the release could find out about people in it."""

import json
from typing import Any

import typer

from discreet.cli.common import console, measures


def show(result: Any, as_json: bool) -> None:
    """Show the figures and a verdict."""
    if as_json:
        typer.echo(json.dumps(result.figures))
        return
    found = result.artifact
    title = f"{found.name}: {len(found.scores):,} people in the release, {len(found.control_scores):,} others"
    measures(title, found.rows())
    verdict = "finds people beyond chance" if found.advantage_interval[0] > 0 else "is no better than guessing"
    console.print(f"The attack {verdict} ({found.confidence:.0%} intervals in brackets).")
