"""The verb `studio`: open the page."""

import json
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from discreet.cli.common import console, epilog, warn


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(epilog=epilog("studio", "studio people.csv", "studio job.toml"))(studio)


def studio(
    file: Annotated[
        str | None, typer.Argument(help="A table, a release or a job file to open.", show_default=False)
    ] = None,
    port: Annotated[int, typer.Option(help="The port on this computer; 0 takes a free one.")] = 0,
    folder: Annotated[
        Path | None, typer.Option(help="Where projects are kept; by default the user's state folder.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
    host: Annotated[
        list[str] | None,
        typer.Option(help="Another address of this computer than its own loopback; to be sure, say it twice."),
    ] = None,
    largest: Annotated[
        float, typer.Option("--largest-upload", min=0.001, help="Gibibytes that are taken through the browser.")
    ] = 2.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print each address as a line of JSON.")] = False,
) -> None:
    """Open a page on this computer that leads from a table to a release with evidence."""
    import webbrowser

    from discreet.studio import Workspace, checked_host, default_home, opened, serve

    chosen = checked_host(host or [])
    if not ip_address(chosen).is_loopback:
        warn([f"others on the network can reach {chosen}, unencrypted; whoever has the address below sees the table"])
    home = folder or default_home()
    first = "/"
    if file is not None:
        first = f"/p/{opened(Workspace(home), file).id}/data"

    opened_once: list[bool] = []

    def told(address: str) -> None:
        if as_json:
            typer.echo(json.dumps({"address": address}))
        else:
            console.print(f"Open  {escape(address)}", soft_wrap=True, highlight=False)
            console.print("It works once. Enter gives a new one, Ctrl-C ends the studio.", highlight=False)
        if browser and not opened_once:
            opened_once.append(True)
            webbrowser.open(address)

    serve(home, port=port, first=first, host=chosen, largest=int(largest * 2**30), told=told)
