"""The verb `studio`: open the page."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.common import console, epilog


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(epilog=epilog("studio", "studio people.csv"))(studio)


def studio(
    file: Annotated[
        str | None, typer.Argument(help="A table, a release or a job file to open.", show_default=False)
    ] = None,
    port: Annotated[int, typer.Option(help="The port on this computer; 0 takes a free one.")] = 0,
    folder: Annotated[
        Path | None, typer.Option(help="Where projects are kept; by default the user's state folder.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
) -> None:
    """Open a page on this computer that leads from a table to a release with evidence."""
    import webbrowser

    from discreet.studio.jobs import opened
    from discreet.studio.serve import serve
    from discreet.studio.workspace import Workspace, default_home

    home = folder or default_home()
    first = "/"
    if file is not None:
        first = f"/p/{opened(Workspace(home), file).id}/data"

    def told(address: str) -> None:
        console.print(f"Open  {address}", soft_wrap=True, highlight=False)
        if browser:
            webbrowser.open(address)

    serve(home, port=port, first=first, told=told)
