"""The verbs `anonymize` and `risk`: tables in which people hide among k, and how well they do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from discreet.cli.common import Json, complete, console, epilog, show_promise, working


def anonymize(
    data: Annotated[str, typer.Argument(help="A CSV or Parquet file, a folder of them, or a pattern in quotes.")],
    schema: Annotated[Path, typer.Option(help="The declared columns with their roles; 'discreet schema' drafts it.")],
    k: Annotated[int, typer.Option(help="Everyone hides among at least so many rows.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV or Parquet file to write.")],
    method: Annotated[
        str,
        typer.Option(
            help="density-tree, mondrian, microaggregation or generalization.", autocompletion=complete("anonymize")
        ),
    ] = "density-tree",
    l_diversity: Annotated[
        float | None, typer.Option("--l", help="Every group has so many different sensitive values.")
    ] = None,
    l_kind: Annotated[
        str | None, typer.Option(help="How they are counted: distinct (default), entropy or recursive.")
    ] = None,
    t_closeness: Annotated[
        float | None, typer.Option("--t", help="Every group's sensitive values are so close to those of the table.")
    ] = None,
    criterion: Annotated[
        str | None, typer.Option(help="Density tree: spread, factor, width, cell, tight, mondrian or mixture.")
    ] = None,
    mode: Annotated[str | None, typer.Option(help="Mondrian: strict or relaxed.")] = None,
    level: Annotated[
        list[str] | None, typer.Option(help="Generalization: COLUMN=LEVEL. Without any, levels are chosen on the rows.")
    ] = None,
    hierarchy: Annotated[
        list[str] | None, typer.Option(help="COLUMN=FILE: a category a row, then ever larger groups it belongs to.")
    ] = None,
    grid: Annotated[
        list[str] | None, typer.Option(help="COLUMN=STEPS of the public grid; for dates also day, month, year.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="A label to pass on; overrides the role.")] = None,
    person: Annotated[str | None, typer.Option(help="Whose row it is: then k counts persons.")] = None,
    suppress: Annotated[
        float | None, typer.Option(help="Share of rows that may be left out for smaller groups.")
    ] = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="Cut without looking at sensitive columns; refused if l or t then fail.")
    ] = False,
    form: Annotated[
        str | None,
        typer.Option(
            help="interval (default), center, or sample (rows drawn inside the groups).",
            autocompletion=complete("form"),
        ),
    ] = None,
    bounds: Annotated[
        bool, typer.Option("--bounds", help="Write lower and upper columns instead of intervals.")
    ] = False,
    keep: Annotated[list[str] | None, typer.Option(help="A column without a role to pass on as it is.")] = None,
    hash_key: Annotated[
        Path | None, typer.Option(help="File with a secret: identifiers are hashed with it instead of dropped.")
    ] = None,
    house: Annotated[
        Path | None, typer.Option(help="Write who was published where, for later releases; never to be handed out.")
    ] = None,
    previous: Annotated[
        list[Path] | None, typer.Option(help="House file of an earlier release about these people; give all of them.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the promise as JSON instead.")] = False,
) -> None:
    """Release a table in which every row looks like k - 1 others. Rows are shuffled; identifiers are dropped."""
    settings = {
        "k": k,
        "l": l_diversity,
        "l-kind": l_kind,
        "t": t_closeness,
        "criterion": criterion,
        "mode": mode,
        "level": level,
        "hierarchy": hierarchy,
        "grid": grid,
        "target": target,
        "person": person,
        "suppress": suppress,
        "blind": blind or None,
        "keep": keep,
    }
    with working("Grouping the rows ..."):
        from discreet.jobs import tables as jobs

        release = jobs.anonymize(
            data, schema, method, settings, output, form, bounds, hash_key, house=house, previous=previous or ()
        )
    if as_json:
        typer.echo(release.guarantee.to_json())
        return
    show_promise(release.guarantee)
    left_out = release.suppressed + release.dropped
    facts = release.guarantee.parameters
    console.print(
        f"[bold]The table.[/] {len(release):,} rows in {facts.get('cells', facts.get('groups')):,} groups"
        + (f"; {left_out:,} rows were left out" if left_out else "; no row was left out")
    )
    console.print(
        f"[bold]The files.[/] [cyan]{escape(str(output))}[/] and [cyan]{escape(output.name)}.guarantee.json[/]"
    )
    if house is not None:
        console.print(f"[bold]For you alone.[/] [cyan]{escape(str(house))}[/] says who was published where")
    _preview(release.table)


def _preview(table: Any) -> None:
    from rich.table import Table

    shown = Table(title="The first rows", title_justify="left")
    for name in table.column_names:
        shown.add_column(escape(name))
    for row in table.slice(0, 6).to_pylist():
        shown.add_row(*("" if v is None else escape(str(v)) for v in row.values()))
    console.print(shown)


def risk(
    data: Annotated[str, typer.Argument(help="The table that is to be handed out: CSV or Parquet.")],
    qi: Annotated[str, typer.Option(help="Quasi-identifiers: column names with commas between them.")],
    sensitive: Annotated[str | None, typer.Option(help="Sensitive columns, likewise.")] = None,
    require: Annotated[
        str | None, typer.Option(help="What must hold, such as k=5,l=2,t=0.3; else the exit code is 1.")
    ] = None,
    person: Annotated[str | None, typer.Option(help="Column that says whose row it is: k counts persons.")] = None,
    population: Annotated[str | None, typer.Option(help="Table of all people, for k-map and the journalist.")] = None,
    missing: Annotated[
        str,
        typer.Option(
            help="A gap is a value of its own (own), a wildcard, or drops its row (drop).",
            autocompletion=complete("missing"),
        ),
    ] = "own",
    as_json: Json = False,
) -> None:
    """Measure how well people hide in a table: k, l, t and the risk of being found. For pipelines: --require."""
    with working("Measuring ..."):
        from discreet.jobs import tables as jobs

        report, failed = jobs.risk(data, qi, sensitive, require, population, missing, person)
    if as_json:
        typer.echo(json.dumps({**report.to_dict(), "failed": failed}))
    else:
        from rich.table import Table

        table = Table(title="Risk", title_justify="left")
        for name in ("measure", "value", "meaning"):
            table.add_column(name, justify="right" if name == "value" else "left")
        for row in report.to_rows():
            table.add_row(*map(escape, row))
        console.print(table)
        for note in report.notes:
            console.print(f"[bold yellow]Note:[/] {escape(note)}", highlight=False)
        for line in failed:
            console.print(f"[bold red]Not met:[/] {escape(line)}")
        if require and not failed:
            console.print(f"[green]Met:[/] {escape(require)}")
    if failed:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    start = "anonymize people.csv --schema schema.toml --k 10"
    again = f"{start} --previous january.house --house february.house -o safe.csv"
    app.command(epilog=epilog(f"{start} -o safe.csv", f"{start} --l 3 --method mondrian -o safe.parquet", again))(
        anonymize
    )
    example = "risk safe.csv --qi age,zip --sensitive disease --require k=5,l=2"
    app.command(epilog=epilog(example, failed="--require is not met"))(risk)
