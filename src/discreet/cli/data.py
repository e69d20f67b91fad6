"""The verbs of `data`: invented tables to practise on, and public ones, which the studies need."""

import json
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

from discreet.cli.common import Json, console, epilog, show_files
from discreet.errors import DataSourceError, InvalidArgument


class _NamesToo(TyperGroup):
    """A name in place of a verb is that of an invented table: ``discreet data hospital``."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the verb that is meant; one that was mistyped is not taken for a name."""
        verb = get_close_matches(args[0], self.commands) if args else []
        return super().resolve_command(ctx, args if verb else ["invent", *args])


data = typer.Typer(
    name="data",
    cls=_NamesToo,
    help="Tables to try things on: invented ones to practise with, and public ones, which the studies need.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="A public table, as `discreet data list` calls it.")]


@data.command(epilog=epilog("data invent hospital", "data hospital"))
def invent(
    name: Annotated[str, typer.Argument(help="hospital, census or phones.", metavar="NAME")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the files.")] = Path(),
    as_json: Json = False,
) -> None:
    """Write an invented table to practise on, as untidy as real ones: what the tutorials start from.

    The word "invent" may be left out.
    """
    from discreet.core import check_place, write_whole
    from discreet.datasets import practice

    try:
        files = {output / file: content for file, content in practice(name).items()}
    except InvalidArgument as error:
        raise InvalidArgument("NAME", error.value, error.expected, "discreet data hospital") from None
    for place in files:
        check_place(place)
        if place.exists():
            raise DataSourceError(f"output: {str(place)!r} is there already; name another folder or remove it")
    for place, content in files.items():
        write_whole(place, content)
    if as_json:
        typer.echo(json.dumps({"files": [str(place) for place in files]}))
        return
    show_files(*files)


@data.command("list", epilog=epilog("data list", "data list --json"))
def listed(as_json: Json = False) -> None:
    """List the public tables with their licences: which are here, and where the others come from."""
    from rich.table import Table

    from discreet.datasets import public_tables

    found = public_tables()
    if as_json:
        typer.echo(json.dumps([table.to_dict() for table in found]))
        return
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("name", "here", "licence", "source"):
        shown.add_column(heading, overflow="fold")
    for table in found:
        shown.add_row(table.name, "yes" if table.here else "no", escape(table.licence), escape(table.source))
    console.print(shown)
    here = sum(table.here for table in found)
    console.print(f"\n{here} of {len(found)} are here. [cyan]discreet data fetch NAME[/] gets one.")


@data.command(epilog=epilog("data fetch adult", "data fetch --all"))
def fetch(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Public tables, as `discreet data list` calls them.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every table of the list; some 60 MB.")] = False,
    as_json: Json = False,
) -> None:
    """Download public tables into the cache, once, and check them. Says what to fetch by hand where that fails."""
    if bool(names) == everything:
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

        def tell(file: str, came: int, total: int | None) -> None:
            progress.update(task, description=file, completed=came, total=total)

        for table in wanted:
            try:
                places = fetched(table.name, progress=tell)
                done.append({**table.to_dict(), "here": True, "places": [str(path) for path in places]})
            except DataSourceError as error:
                failed.append(str(error))
    if as_json:
        typer.echo(json.dumps({"fetched": done, "failed": failed}))
    else:
        for table in (public_table(row["name"]) for row in done):
            console.print(f"[bold]{escape(table.name)}[/]: {escape(table.source)}; licence: {escape(table.licence)}")
            for path in table.places:
                console.print(f"  [cyan]{escape(str(path))}[/]", soft_wrap=True)
    if failed:
        raise DataSourceError("\n".join(failed))


@data.command(epilog=epilog("data path adult"))
def path(name: Name, as_json: Json = False) -> None:
    """Print where the files of a public table lie, one per line; refuse one that is not here."""
    from discreet.datasets import public_table

    table = public_table(name)
    if as_json:
        typer.echo(json.dumps(table.to_dict()))
    elif not table.here:
        raise DataSourceError(f"{name}: not here; discreet data fetch {name}")
    else:
        for place in table.places:
            typer.echo(str(place))
