"""The verbs of `data`: synthetic tables for practice, and public tables, which the studies need."""

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from discreet.cli.common import Group, app, console, echo, group, show_files, show_table
from discreet.cli.verbs import verb
from discreet.errors import DataSourceError, InvalidArgument
from discreet.jobs import option


class _NamesToo(Group):
    """Takes the name of a practice table in place of a verb: ``discreet data hospital``."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the verb; a mistyped verb is not taken for a name."""
        typed = get_close_matches(args[0], self.commands) if args else []
        return super().resolve_command(ctx, args if typed else ["invent", *args])


data = group("data", "Get tables to try things on: synthetic ones for practice, and public ones.", app, cls=_NamesToo)
NAME = option("name", "text", "Name of a public table; see 'discreet data list'.", "adult", required=True,
    positional=True)  # fmt: skip


@verb(
    data,
    option(
        "name", "text", "Name of the table: hospital, census or phones.", "hospital", required=True, positional=True
    ),
    option("output", "folder", "Folder for the files.", "practice", default=".", short="-o"),
    examples=("data invent hospital", "data hospital"),
)  # fmt: skip
def invent(*, name: str, output: Path) -> Iterator[Any]:
    """Write a synthetic table to practise on, as untidy as real ones. The tutorials start from it.

    The word "invent" may be left out.
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


@verb(data, name="list", examples=("data list", "data list --json"))
def listed() -> Iterator[Any]:
    """List the public tables with their licences and sources, and which are already downloaded."""
    from discreet.datasets import public_tables

    found = public_tables()
    yield [table.to_dict() for table in found]
    rows = [[table.name, "yes" if table.here else "no", table.licence, table.source] for table in found]
    names = ("name", "downloaded", "licence", "source")
    show_table("Public tables", names, rows, prose=names[2:])
    here = sum(table.here for table in found)
    console.print(f"{here} of {len(found)} are downloaded. [cyan]discreet data fetch NAME[/] downloads one.")


@verb(
    data,
    option("names", "list", "Names of public tables; see 'discreet data list'.", ["adult"], positional=True),
    option("all", "flag", "Download all tables, about 60 MB.", True),
    examples=("data fetch adult", "data fetch --all"),
)
def fetch(*, names: list[str] | None, all: bool, as_json: bool) -> None:
    """Download public tables, once, and check them. If a download fails, says what to fetch by hand."""
    if bool(names) == all:
        raise InvalidArgument("NAME", names, "given, or --all, but not both", "discreet data fetch adult")
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from discreet.datasets import fetch as fetched
    from discreet.datasets import public_table, public_tables

    wanted = [public_table(name) for name in names] if names else public_tables()
    done, failed = [], []
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)

        def update(file: str, came: int, total: int | None) -> None:
            progress.update(task, description=file, completed=came, total=total)

        for table in wanted:
            try:
                places = fetched(table.name, progress=update)
                done.append({**table.to_dict(), "here": True, "places": [str(path) for path in places]})
            except DataSourceError as error:
                failed.append(str(error))
    if as_json:
        echo({"fetched": done, "failed": failed})
    else:
        for table in (public_table(row["name"]) for row in done):
            console.print(f"[bold]{escape(table.name)}[/]: {escape(table.source)}; licence: {escape(table.licence)}")
            for path in table.places:
                console.print(f"  [cyan]{escape(str(path))}[/]", soft_wrap=True)
    if failed:
        raise DataSourceError("\n".join(failed))


@verb(data, NAME, examples=("data path adult",))
def path(*, name: str) -> Iterator[Any]:
    """Print the paths of a downloaded public table, one per line."""
    from discreet.datasets import public_table

    table = public_table(name)
    yield table.to_dict()
    if not table.here:
        raise DataSourceError(f"{name}: not downloaded; run  discreet data fetch {name}")
    for place in table.places:
        typer.echo(str(place))
