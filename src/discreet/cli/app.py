"""The command line: one verb a job. Thin: each verb calls the same public functions that a program would.

Heavy modules are imported inside the verbs, so that ``discreet --help`` answers at once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from discreet._version import __version__
from discreet.cli.attack import register as register_attack
from discreet.cli.audit import register as register_audit
from discreet.cli.common import (
    Json,
    Seed,
    Unit,
    complete,
    console,
    epilog,
    show_files,
    show_promise,
    warn,
    warn_if_seeded,
    working,
)
from discreet.cli.look import looking_first
from discreet.cli.perturb import register as register_perturb
from discreet.cli.plan import register as register_plan
from discreet.cli.report import register as register_report
from discreet.cli.run import register as register_run
from discreet.cli.sketch import sketch
from discreet.cli.study import study
from discreet.cli.tables import register
from discreet.errors import DataSourceError, DiscreetError

app = typer.Typer(
    name="discreet",
    help="Turn a table of sensitive records into something that may be published, with its privacy guarantee attached.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
app.add_typer(sketch)
app.add_typer(study)
register(app)
register_attack(app)
register_audit(app)
register_perturb(app)
register_plan(app)
register_report(app)
register_run(app)


def _version(asked: bool) -> None:
    if asked:
        console.print(f"discreet {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Hold the options that come before any verb."""


@app.command(epilog=epilog("demo --epsilon 0.5 --output ./try-it"))
def demo(
    epsilon: Annotated[float, typer.Option(help="Privacy budget: smaller is more private, and coarser.")] = 1.0,
    output: Annotated[Path, typer.Option(help="Folder for the files it writes.")] = Path("discreet-demo"),
    seed: Seed = None,
    as_json: Json = False,
) -> None:
    """Run the main job in miniature on an invented table of patients: no file needed.

    A synopsis of the table is released, clusters are found in it, and both are set against what an analyst
    with the raw rows would have got.
    """
    with working("Working on 10,000 invented patients ..."):
        from discreet.demo import run

        result = run(output, epsilon=epsilon, seed=seed)
    if as_json:
        typer.echo(json.dumps(result.to_dict()))
        return
    _tell(result)


def _tell(result: Any) -> None:
    """Say in plain words what happened."""
    from discreet.jobs import synopsis as _cli_jobs

    console.print(
        f"\n[bold]The table.[/] {result.rows:,} invented patients, two columns (age, yearly cost), "
        f"{result.clusters} groups of people. Pretend it may not leave the building."
    )
    console.print(
        f"[bold]The release.[/] The declared range of the columns was cut into {result.synopsis.n_leaves:,} cells, "
        "the patients in each were counted, and every count, also of the empty cells, got random noise.\n"
    )
    _promise(result.guarantee, _cli_jobs.ledger_rows(result.guarantee))
    console.print(
        f"[bold]The clusters.[/] {result.clusters} centres were found in the release alone. On the raw rows, their "
        f"squared error is [bold]{result.ratio:.3f}[/] times that of plain k-means, which sees every patient "
        f"({result.nicv_private:,.2f} against {result.nicv_plain:,.2f}, mean squared distance to the centre).\n"
        "[dim](This comparison looks at the raw rows. It is shown because they are invented; it is not part of the "
        "release.)[/]\n"
    )
    console.print(f"[bold]The files.[/] In [cyan]{result.folder}[/]:")
    for name, meaning in result.files.items():
        console.print(f"  [cyan]{name:<16}[/] {meaning}")
    warn_if_seeded(result.guarantee.seeded)


def _promise(guarantee: Any, rows: list[tuple[str, str, str]]) -> None:
    """Show what is promised and what was spent for it."""
    from rich.table import Table

    show_promise(guarantee)
    table = Table(title="The ledger", title_justify="left")
    table.add_column("step")
    table.add_column("composition")
    table.add_column("epsilon", justify="right")
    for row in rows:
        table.add_row(*map(escape, row), style="bold" if not row[1] else None)
    console.print(table)


@app.command(epilog=epilog("schema people.csv -o schema.toml"))
def schema(
    data: Annotated[str, typer.Argument(help="A CSV or Parquet file. Its header is read, its rows are not.")],
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line of a CSV file names the columns."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write; else it is printed.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the column names as JSON instead.")] = False,
) -> None:
    """Draft a schema file from the column names alone; types, bounds and categories are yours to declare."""
    from discreet import engines
    from discreet.core.output import check_place, write_whole
    from discreet.core.schema_file import draft_schema, looks_like_a_record
    from discreet.engines.tables.csv_file import CsvTable

    source = engines.open(data, header=header is not False)
    names, lines = source.names, any(isinstance(part, CsvTable) for part in source._parts)
    if lines and header is None and looks_like_a_record(names):
        # Not a word of the line: it may be about somebody.
        raise DataSourceError(
            f"data: the first line of {data!r} may be somebody's record: there are numbers, dates, addresses, gaps or "
            "repeats where names belong; say --no-header if it is a record, --header if these are the names"
        )
    read = "names" if not lines else "fields" if header is False else "first line"
    if output is not None:
        check_place(output)
        if output.exists():  # it may have been filled in by hand
            raise DataSourceError(f"output: {str(output)!r} is there already; name another file or remove it")
        write_whole(output, draft_schema(names, data, read=read))
    if as_json:
        typer.echo(json.dumps({"columns": list(names), "file": None if output is None else str(output)}))
    elif output is None:
        typer.echo(draft_schema(names, data, read=read), nl=False)
    else:
        console.print(
            f"[bold]{len(names)} columns[/] drafted in [cyan]{escape(str(output))}[/]. Declare each one, then:"
        )
        console.print(f"  discreet synopsis {escape(data)} --schema {escape(str(output))} --epsilon 1 -o s.parquet")


@app.command(
    epilog=epilog(
        "synopsis people.csv --schema schema.toml --epsilon 1 -o s.parquet",
        "synopsis people.csv --schema schema.toml --epsilon 1 --method tree --partitioner median -o s.parquet",
    )
)
def synopsis(
    data: Annotated[str, typer.Argument(help="A CSV or Parquet file, a folder of them, or a pattern in quotes.")],
    schema: Annotated[Path, typer.Option(help="The declared columns; 'discreet schema' drafts such a file.")],
    epsilon: Annotated[float, typer.Option(help="Privacy budget: smaller is more private, and coarser.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Parquet file to write: what may be published.")],
    method: Annotated[
        str,
        typer.Option(
            help="grid (equal cells) or tree (cells that follow the rows).", autocompletion=complete("synopsis")
        ),
    ] = "grid",
    rule: Annotated[
        str | None,
        typer.Option(
            help="Grid: rugnik (default), eugkm, adaptive, or parts per axis.", autocompletion=complete("rule")
        ),
    ] = None,
    partitioner: Annotated[
        str | None,
        typer.Option(
            help="Tree: binary (default), median, quantile, uniform, privtree, density.",
            autocompletion=complete("partitioner"),
        ),
    ] = None,
    max_depth: Annotated[int | None, typer.Option(help="Tree: the most cuts above a leaf; 8 by default.")] = None,
    n_clusters: Annotated[
        int | None, typer.Option(help="Clusters to be found later, a hint for the size of boxes; 8 by default.")
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Number of rows, if it is public; else some budget buys it.")] = None,
    unit: Unit = None,
    seed: Seed = None,
    as_json: Json = False,
) -> None:
    """Release a table as noisy counts of boxes: a file that may leave the building, with its promise inside."""
    settings = {
        "rule": rule,
        "partitioner": partitioner,
        "max_depth": max_depth,
        "n_clusters": n_clusters,
        "n_rows": rows,
    }
    with working("Counting ..."):
        from discreet.jobs import synopsis as _cli_jobs

        made = _cli_jobs.synopsis(data, schema, epsilon, output, method, settings, seed, unit)
    if as_json:
        typer.echo(json.dumps(_cli_jobs.figures(made, output)))
        warn(made.warnings)
        return
    _promise(made.guarantee, _cli_jobs.ledger_rows(made.guarantee))
    console.print(f"[bold]The synopsis.[/] {escape(_cli_jobs.summary(made))}")
    if made.uncut:
        console.print(f"Never cut, so nothing is known of their distribution: {escape(', '.join(made.uncut))}.")
    console.print(f"[bold]The file.[/] [cyan]{escape(str(output))}[/], sealed {made.digest}")
    warn_if_seeded(made.guarantee.seeded)
    warn(made.warnings)


@app.command(epilog=epilog("cluster s.parquet -k 15 -o centers.csv"))
def cluster(
    file: Annotated[Path, typer.Argument(help="A synopsis, as 'discreet synopsis' writes it.")],
    n_clusters: Annotated[int, typer.Option("--n-clusters", "-k", help="Number of centres.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="CSV file for the centres.")] = None,
    refine: Annotated[
        str,
        typer.Option(
            help="What is done to the counts before: auto (what suits them), consistent, project, threshold, mixture "
            "or none.",
            autocompletion=complete("refine"),
        ),
    ] = "auto",
    columns: Annotated[
        str | None,
        typer.Option(help="Columns to cluster on, separated by commas; by default all but categories."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print centres and weights as JSON instead.")] = False,
) -> None:
    """Find cluster centres in a synopsis. This costs no privacy: the rows are not needed any more."""
    with working("Clustering ..."):
        from discreet.jobs import synopsis as _cli_jobs

        made, found, table = _cli_jobs.cluster(file, n_clusters, output, {"refine": refine, "columns": _list(columns)})
    if as_json:
        typer.echo(json.dumps(_cli_jobs.cluster_figures(made, found, output)))
        warn(made.warnings)
        return
    from rich.table import Table

    shown = Table(title=_cli_jobs.weighed(made, found), title_justify="left")
    for name in table.column_names:
        shown.add_column(escape(name), justify="right")
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        shown.add_row(*(f"{value:,.6g}" if isinstance(value, float) else escape(value) for value in row))
    console.print(shown)
    if found.note:
        console.print(f"[yellow]Note:[/] {escape(found.note)}.")
    if told := _cli_jobs.unlisted_rows(made):
        console.print(f"The release has about {made.total:,.0f} rows. {escape(told)}")
    show_files(output)
    warn_if_seeded(made.guarantee.seeded)
    warn(made.warnings)


def _list(text: str | None) -> list[str] | None:
    """Return the names in a list such as age,cost."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


#: The verbs in the order in which a newcomer needs them.
_PANELS = {
    "Start here": ("demo", "plan", "schema", "run"),
    "Release": ("synopsis", "cluster", "anonymize", "perturb", "sketch"),
    "Check and show": ("risk", "attack", "audit", "report", "study"),
}


def _arrange() -> None:
    """Sort the verbs into their panels."""
    order = {name: (i, panel) for i, (panel, name) in enumerate((p, n) for p, names in _PANELS.items() for n in names)}
    verbs = {command.name or getattr(command.callback, "__name__", ""): command for command in app.registered_commands}
    for name, command in verbs.items():
        if name in order:
            command.rich_help_panel = order[name][1]
    app.registered_commands.sort(key=lambda c: order.get(getattr(c.callback, "__name__", ""), (99, ""))[0])
    for group in app.registered_groups:
        group.rich_help_panel = order[str(group.typer_instance.info.name)][1] if group.typer_instance else None


_arrange()


def _look_first(verbs: typer.Typer) -> None:
    """Let every verb look for its files before it imports anything."""
    for command in verbs.registered_commands:
        if command.callback is not None:
            command.callback = looking_first(command.callback)
    for group in verbs.registered_groups:
        if group.typer_instance is not None:
            _look_first(group.typer_instance)


_look_first(app)


@cache
def _command() -> Any:
    return typer.main.get_command(app)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; an error that names its fix is shown without a traceback."""
    command = _command()
    try:
        command(args, prog_name="discreet")
    except DiscreetError as error:
        from discreet.cli.errors import in_words_of_a_shell

        _refuse(in_words_of_a_shell(error, command, sys.argv[1:] if args is None else args))
    except MemoryError:
        _refuse("there is not enough memory for this; ask for fewer cells, a smaller depth, or a machine with more")
    except OSError as error:
        # What the checks before could not foresee: a full disk, a file that went away.
        _refuse(f"{error.strerror or error}{f': {error.filename!r}' if error.filename else ''}; check file and disk")


def _refuse(why: str) -> None:
    # Escaped: a fix such as discreet[plot] is not a colour.
    Console(stderr=True).print(f"[bold red]Error:[/] {escape(why)}", highlight=False, soft_wrap=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
