"""The verb `audit`: check a released file against its promise, or run a mechanism against its claim."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.cli.common import epilog

console = Console()
_COLOURS = {True: "[green]holds[/]", False: "[bold red]does not hold[/]", None: "[dim]open[/]"}


def audit(
    artifact: Annotated[
        Path | None,
        typer.Argument(help="A synopsis, reports or counts, a guarantee, or a table with its .guarantee.json."),
    ] = None,
    mechanism: Annotated[str | None, typer.Option(help="A mechanism by name, such as noise.discrete_laplace.")] = None,
    trials: Annotated[int, typer.Option(help="Mechanism: runs on each of two neighbouring inputs.")] = 100_000,
    confidence: Annotated[float, typer.Option(help="Mechanism: of every bound.")] = 0.99,
    seconds: Annotated[float | None, typer.Option(help="Mechanism: time for each pair of inputs; fewer runs.")] = None,
    seed: Annotated[int | None, typer.Option(help="Mechanism: repeat an audit.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="Show all mechanisms with their claims.")] = False,
    html: Annotated[Path | None, typer.Option(help="Page to write, with the curves; it needs nothing else.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON instead.")] = False,
) -> None:
    """Check what was released, or what a mechanism claims. Exit code 1 if something does not hold."""
    from discreet.core.output import check_place
    from discreet.jobs import audit as jobs

    jobs.check_request(artifact, mechanism, listed, trials)
    if html is not None:
        check_place(html)
    if listed:
        _list(jobs.names(), as_json)
        return
    if mechanism is not None:
        passed = _mechanism(jobs, mechanism, trials, confidence, seconds, seed, html, as_json)
    else:
        assert artifact is not None
        passed = _artifact(jobs, artifact, html, as_json)
    if not passed:
        raise typer.Exit(1)


def _list(rows: list[tuple[str, str, str]], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([{"name": n, "claim": c, "pairs": p} for n, c, p in rows], ensure_ascii=False))
        return
    table = Table(title=f"{len(rows)} audited mechanisms", title_justify="left")
    for name in ("mechanism", "claim", "neighbours, or tables"):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)


def _artifact(jobs: Any, path: Path, html: Path | None, as_json: bool) -> bool:
    found = jobs.examine(path)
    facts = found.to_dict()
    if html is not None:
        from discreet.core.output import write_whole
        from discreet.reporting.pages.audit import artifact_page

        write_whole(html, artifact_page(facts))
    if as_json:
        typer.echo(json.dumps(facts, ensure_ascii=False))
        return bool(found.passed)
    table = Table(title=escape(f"{found.file}: {found.kind}"), title_justify="left")
    for name in ("check", "result", "detail"):
        table.add_column(name, overflow="fold")
    for check in found.checks:
        table.add_row(check.name, _COLOURS[check.holds], escape(check.detail))
    console.print(table)
    if found.passed:
        console.print("[green]Nothing was found that does not hold.[/]")
    for check in found.checks:
        if check.holds is False:
            console.print(f"[bold red]Refused:[/] {escape(check.detail)}", highlight=False)
    if found.seeded:
        console.print("[bold red]Seeded: this release must not be published.[/]")
    return bool(found.passed)


def _mechanism(
    jobs: Any,
    name: str,
    trials: int,
    confidence: float,
    seconds: float | None,
    seed: int | None,
    html: Path | None,
    as_json: bool,
) -> bool:
    facts = jobs.run(name, trials, confidence, seconds, seed, False if as_json else None)
    if html is not None:
        from discreet.core.output import write_whole
        from discreet.reporting.pages.audit import mechanism_page

        write_whole(html, mechanism_page(facts))
    if as_json:
        typer.echo(json.dumps(jobs.plain(facts), ensure_ascii=False))
        return bool(facts["passed"])
    for title, found in facts["results"]:
        console.print(f"[bold]{escape(title)}.[/] {escape(str(found))}", highlight=False)
    if facts.get("exact_result") is not None:
        console.print(f"[bold]The law itself, first pair.[/] {escape(str(facts['exact_result']))}", highlight=False)
    for text in facts.get("failures", ()):
        console.print(f"[bold red]Does not hold:[/] {escape(text)}", highlight=False)
    verdict = "[green]Not refuted.[/]" if facts["passed"] else "[bold red]REFUTED.[/]"
    console.print(verdict)
    if html is not None:
        console.print(f"[bold]The page.[/] [cyan]{escape(str(html))}[/]")
    return bool(facts["passed"])


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(
        epilog=epilog(
            "audit s.parquet",
            "audit --mechanism noise.discrete_laplace --trials 100000",
            failed="the file was changed, or the claim is refuted",
        )
    )(audit)
