"""The verb `studio`: a local web page."""

from ipaddress import ip_address
from pathlib import Path

from rich.markup import escape

from discreet.cli.common import app, console, echo, printing, warn
from discreet.cli.verbs import verb
from discreet.jobs import option


@verb(
    app,
    option("file", "text", "A table, a release or a job file to open.", "people.csv", positional=True),
    option("port", "whole", "Port on this computer; 0 takes a free one.", 8000, default=0, low=0, high=65535),
    option("folder", "folder", "Folder of the projects; by default the user's state folder.", "projects"),
    option("browser", "flag", "Open the page in a browser, or do not.", True, default=True, off="no-browser"),
    option("host", "texts", "Address to listen on, if others may reach the page; give it twice to confirm.",
        ["192.168.1.5", "192.168.1.5"]),
    option("largest_upload", "number", "Largest upload through the browser, in GiB.", 2.0, default=2.0,
        low=0.001),
    option("sign", "file", "Private key that signs every report; 'discreet key create' makes one.", "office.key"),
    examples=("studio", "studio people.csv", "studio job.toml"),
)  # fmt: skip
def studio(
    *, file: str | None, port: int, folder: Path | None, browser: bool, host: list[str] | None, largest_upload: float,
    sign: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Open a page on this computer that leads from a table to a release with evidence."""
    import webbrowser

    from discreet.core import SigningKey
    from discreet.studio import Workspace, checked_host, default_home, opened, serve

    chosen, key = checked_host(host or []), None if sign is None else SigningKey.load(sign)
    if not ip_address(chosen).is_loopback:
        warn(
            [f"others on the network can reach {chosen} without encryption, and see the table if they know the address"]
        )
    home = folder or default_home()
    first = "/"
    if file is not None:
        first = f"/p/{opened(Workspace(home), file).id}/data"

    opened_once: list[bool] = []

    def told(address: str) -> None:
        with printing():
            if as_json:
                echo({"address": address})
            else:
                console.print(f"Open  {escape(address)}", soft_wrap=True, highlight=False)
                console.print("The address works once. Press Enter for a new one, Ctrl-C to stop.", highlight=False)
        if browser and not opened_once:
            opened_once.append(True)
            webbrowser.open(address)

    serve(home, port=port, first=first, host=chosen, largest=int(largest_upload * 2**30), key=key, told=told)
