"""The verb `data`: synthetic tables to practise on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from discreet.cli.common import show_files
from discreet.cli.verbs import verb
from discreet.errors import DataSourceError, InvalidArgument
from discreet.jobs import option


def register(app: typer.Typer) -> None:
    """Add the verb."""
    verb(
        app,
        option("name", "text", "Name of the table: hospital, census or phones.", "hospital", required=True,
            positional=True),
        option("output", "folder", "Folder for the files.", "practice", default=".", short="-o"),
        examples=("data hospital", "data census -o practice"),
    )(data)  # fmt: skip


def data(*, name: str, output: Path) -> Iterator[Any]:
    """Write a synthetic table to practise on, as untidy as real ones. The tutorials start from it.

    Public tables come with the studies: discreet study fetch.
    """
    from discreet.core import check_place, write_whole
    from discreet.datasets import practice

    try:
        files = {output / file: content for file, content in practice(name).items()}
    except InvalidArgument as error:
        raise InvalidArgument("NAME", error.value, error.expected, "discreet data hospital") from None
    if output.exists() and not output.is_dir():
        raise InvalidArgument("--output", str(output), "a folder, and not a file", f"-o {output.stem}")
    for place in files:
        check_place(place)
        if place.exists():
            raise DataSourceError(f"output: {str(place)!r} already exists; name another folder, or remove it")
    for place, content in files.items():
        write_whole(place, content)
    yield {"files": [str(place) for place in files]}
    show_files(*files)
