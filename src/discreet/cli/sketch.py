"""The verbs of `discreet sketch`: from values on devices to estimates at a collector, as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from discreet.cli.common import Json, complete, console, epilog, show_files, show_promise, warn, working

sketch = typer.Typer(
    name="sketch",
    help="Local privacy: randomise values on devices, count the reports, estimate what is frequent.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_Out = Annotated[Path, typer.Option("--output", "-o", help="File to write.")]


@sketch.command(
    epilog=epilog(
        "sketch encode words.txt -m hadamard-sketch --epsilon 4 -o reports.bin",
        "sketch encode data.csv --column colour --domain colours.txt --epsilon 2 -o reports.bin",
    )
)
def encode(
    data: Annotated[str, typer.Argument(help="CSV or Parquet file, or a .txt file with one value a line.")],
    output: _Out,
    mechanism: Annotated[
        str, typer.Option("--mechanism", "-m", help="Name, 'auto', or a file of reports to take the parameters from.")
    ] = "auto",
    epsilon: Annotated[float | None, typer.Option(help="Budget of one report.")] = None,
    column: Annotated[str | None, typer.Option(help="Column that holds the values.")] = None,
    domain: Annotated[Path | None, typer.Option(help="File with the declared values, one a line.")] = None,
    domain_size: Annotated[int | None, typer.Option(help="Number of values, if they are 0, 1, 2, ...")] = None,
    key: Annotated[int | None, typer.Option(help="Public hash key; drawn at random if not given.")] = None,
    setting: Annotated[list[str] | None, typer.Option("--set", help="A parameter, as name=value.")] = None,
    reports: Annotated[int, typer.Option(help="Reports expected, for the automatic choice.")] = 100_000,
    users: Annotated[str | None, typer.Option(help="Column with a key per user, for mechanisms that remember.")] = None,
    secret: Annotated[Path | None, typer.Option(help="File with the client's secret, likewise.")] = None,
    seed: Annotated[int | None, typer.Option(help="Repeat a run. Its result must not be collected.")] = None,
    as_json: Json = False,
) -> None:
    """Randomise a column: what may leave the devices. Streams, so the file may be larger than memory."""
    with working("Randomising ..."):
        from discreet.jobs import sketch as jobs

        made = jobs.build(mechanism, epsilon, domain, domain_size, key, reports, setting or [])
        figures = jobs.encode(data, column, made, output, users, secret, seed)
    if as_json:
        typer.echo(json.dumps(figures))
        warn(figures["warnings"])
        return
    _promise(made.guarantee, seeded=figures["seeded"])
    console.print(
        f"[bold]The reports.[/] {figures['reports']:,} of {figures['bits']} bits each, made by "
        f"[cyan]{escape(str(made.NAME))}[/], in [cyan]{escape(str(output))}[/]"
    )
    if said := jobs.spelling(made):
        console.print(escape(f"{said}."), highlight=False)
    if figures["seeded"]:
        console.print("[bold red]Seeded: these reports can be undone. Do not collect them.[/]")
    warn(figures["warnings"])


@sketch.command(epilog=epilog("sketch aggregate reports-*.bin -o counts.bin"))
def aggregate(
    files: Annotated[list[Path], typer.Argument(help="Files of reports.")], output: _Out, as_json: Json = False
) -> None:
    """Count reports: all that a collector keeps."""
    with working("Counting ..."):
        from discreet.jobs import sketch as jobs

        counts = jobs.aggregate(files, output)
    _tell_counts(counts, output, as_json)


@sketch.command(epilog=epilog("sketch merge monday.bin tuesday.bin -o week.bin"))
def merge(
    files: Annotated[list[Path], typer.Argument(help="Files of counts made with the same parameters.")],
    output: _Out,
    as_json: Json = False,
) -> None:
    """Add counts up. If people report more than once, their budgets add up too."""
    with working("Adding up ..."):
        from discreet.jobs import sketch as jobs

        counts = jobs.merge(files, output)
    _tell_counts(counts, output, as_json)


@sketch.command(epilog=epilog("sketch estimate counts.bin --candidates words.txt --top 20"))
def estimate(
    counts: Annotated[Path, typer.Argument(help="A file of counts.")],
    candidates: Annotated[
        Path | None, typer.Option(help="Values to ask for, one a line; else all that are declared, or discovered.")
    ] = None,
    consistency: Annotated[
        str | None,
        typer.Option(
            help="simplex, base-cut, norm-cut or likelihood; raw estimates otherwise.",
            autocompletion=complete("consistency"),
        ),
    ] = None,
    top: Annotated[int, typer.Option(help="How many to show.")] = 20,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="CSV or Parquet file for all of them.")] = None,
    plot: Annotated[Path | None, typer.Option(help="HTML file for a picture.")] = None,
    as_json: Json = False,
) -> None:
    """Estimate how many hold each value, with errors. This costs no privacy."""
    with working("Estimating ..."):
        from discreet.core import checks
        from discreet.core.output import check_place, write_whole
        from discreet.jobs import sketch as jobs

        top = checks.whole("--top", top, low=1)
        if plot is not None:
            check_place(plot)
        found = jobs.estimate(counts, candidates, consistency, output)
        listed = hasattr(found, "candidates")
        if plot is not None and hasattr(found, "plot"):
            write_whole(plot, (found.plot(top) if listed else found.plot()).to_html())
    _warn_of_none(getattr(found, "n", None))
    if as_json:
        typer.echo(json.dumps(jobs.estimate_figures(found, output, jobs.read_parameters(counts))))
        return
    if not listed:
        _tell_numbers(found, output, plot)
        return
    from rich.table import Table

    shown = found.top(top)
    low, high = shown.interval(0.95)
    table = Table(title=f"{len(shown)} of {len(found)} values, {found.n:,} reports", title_justify="left")
    marks = shown.may_be_noise()
    for name in ("value", "count", "std. error", "share", "95 % interval", ""):
        table.add_column(name, justify="left" if name in ("value", "") else "right")
    for i, value in enumerate(shown.candidates):
        interval = f"{low[i]:,.0f} to {high[i]:,.0f}"
        share = f"{100 * shown.frequency[i]:.2f} %"
        count, error = f"{shown.count[i]:,.0f}", f"{shown.std_error[i]:,.0f}"
        table.add_row(escape(str(value)), count, error, share, interval, "may be noise" if marks[i] else "")
    console.print(table)
    for line in jobs.caveats(found, jobs.read_parameters(counts)):
        console.print(escape(line), highlight=False)
    show_files(output, plot)
    _promise(found.guarantee, seeded=found.guarantee.seeded)


@sketch.command(epilog=epilog("sketch plan --epsilon 2 --domain-size 1000 --reports 100000 --max-bytes 8"))
def plan(
    epsilon: Annotated[float, typer.Option(help="Budget of one report.")],
    domain_size: Annotated[int, typer.Option(help="Number of values.")],
    reports: Annotated[int, typer.Option(help="Reports expected.")],
    max_bytes: Annotated[int | None, typer.Option(help="Largest report allowed, in bytes.")] = None,
    target_error: Annotated[float | None, typer.Option(help="Wanted standard error of a share, such as 0.001.")] = None,
    as_json: Json = False,
) -> None:
    """Compare the mechanisms before anything is collected. No data are touched."""
    with working("Comparing ..."):
        from discreet import local

        found = local.plan(epsilon, domain_size, reports, max_bytes=max_bytes, target_error=target_error)
    if as_json:
        typer.echo(json.dumps(found.to_arrow().to_pylist()))
        return
    from rich.table import Table

    title = f"epsilon {epsilon:g}, {domain_size:,} values, {reports:,} reports: best first"
    table = Table(title=title, title_justify="left")
    rows = found.to_rows()
    for name in rows[0]:
        table.add_column(
            name.replace("_", " "), justify="left" if name in ("mechanism", "settings", "notes") else "right"
        )
    for row in rows:
        table.add_row(*(escape(str(v)) for v in row.values()))
    console.print(table)


def _tell_numbers(found: Any, output: Path | None, plot: Path | None) -> None:
    """Print a mean, or the quartiles of a distribution."""
    if hasattr(found, "quantile"):
        quarters = ", ".join(f"{x:.4g}" for x in found.quantile([0.25, 0.5, 0.75]))
        console.print(f"[bold]The distribution.[/] mean {found.mean:.4g}, quartiles {quarters}; {found.n:,} reports")
    else:
        console.print(f"[bold]The mean.[/] {found.mean:.4g}, standard error {found.std_error:.2g}; {found.n:,} reports")
    show_files(output, plot if hasattr(found, "plot") else None)
    _promise(found.guarantee, seeded=found.guarantee.seeded)


def _tell_counts(counts: Any, output: Path, as_json: bool) -> None:
    from discreet.jobs import sketch as jobs

    _warn_of_none(counts.n)
    if as_json:
        facts = jobs.promise(counts.mechanism, counts.seeded)
        typer.echo(json.dumps({"file": str(output), "reports": counts.n, "rejected": counts.rejected, **facts}))
        return
    console.print(
        f"[bold]The counts.[/] {counts.n:,} reports of [cyan]{escape(counts.mechanism.NAME)}[/]"
        f"{f', {counts.rejected:,} impossible ones left out' if counts.rejected else ''}, "
        f"in [cyan]{escape(str(output))}[/]"
    )
    if counts.seeded:
        console.print("[bold red]Seeded: some of these reports can be undone.[/]")


def _warn_of_none(reports: int | None) -> None:
    if reports == 0:
        warn(["there are no reports, so there is nothing to estimate"])


def _promise(guarantee: Any, *, seeded: bool) -> None:
    from dataclasses import replace

    show_promise(replace(guarantee, seeded=seeded))
