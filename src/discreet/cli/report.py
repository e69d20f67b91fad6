"""The verb `report`: one page of evidence for any release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from discreet.cli.common import console, epilog, warn, working


def report(
    artifact: Annotated[
        Path,
        typer.Argument(
            help="A synopsis, counts of reports, a table with its .guarantee.json beside it, or a job file."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="HTML file to write; report.html, or what the job says.")
    ] = None,
    against: Annotated[str | None, typer.Option(help="The raw table: adds a comparison, which is NOT private.")] = None,
    attack: Annotated[list[Path] | None, typer.Option(help="A result of 'discreet attack --json' to show.")] = None,
    audit: Annotated[list[Path] | None, typer.Option(help="A result of 'discreet audit --json' to show.")] = None,
    candidates: Annotated[
        Path | None, typer.Option(help="Of counts: a file with one value a line whose frequencies to show.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the same facts as JSON as well.")] = False,
) -> None:
    """Write one self-contained page: what was released, what was promised, the ledger, assumptions, evidence."""
    with working("Collecting the facts ..."):
        from discreet.jobs.sketch import read_lines
        from discreet.reporting import write_report

        if artifact.suffix.lower() == ".toml":
            from discreet.jobs.job import Job

            job = Job.from_toml(str(artifact))
            artifact = job.artifact
            output = output or (job.place(job.outputs["report"]) if "report" in job.outputs else None)
        output = output or Path("report.html")
        listed = None if candidates is None else read_lines(candidates)
        facts = write_report(
            artifact, output, against=against, attacks=attack or (), audits=audit or (), candidates=listed
        )
    if as_json:
        typer.echo(json.dumps(facts, ensure_ascii=False, default=str))
    else:
        for line in facts["promise"]["plain"]:
            console.print(escape(line))
        console.print(f"[bold]The page.[/] [cyan]{escape(str(output))}[/] (self-contained; open it in any browser)")
        if against is not None:
            console.print("[bold red]It compares with the raw table: keep it inside.[/]")
        if facts["checks"]["seeded"]:
            console.print("[bold red]Seeded: this release must not be published.[/]")
    warn(facts["warnings"])
    if facts["checks"]["seal"] == "BROKEN":
        console.print("[bold red]The seal is broken: file or promise was changed.[/]", highlight=False)
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    examples = ("report s.parquet -o report.html", "report job.toml")
    app.command(epilog=epilog(*examples, failed="the seal is broken"))(report)
