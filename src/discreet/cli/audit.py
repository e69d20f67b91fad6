"""Output of `audit`."""

import json
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from discreet.cli.common import console, show_files, show_table

_COLOURS = {True: "[green]holds[/]", False: "[bold red]does not hold[/]", None: "[dim]note[/]"}
#: Openings of details that are results of their own.
_NOT_CHECKABLE, _NOT_APPLICABLE = "not checkable", "does not apply"


def show(result: Any) -> None:
    """Show the checks of a file, or the runs of a mechanism."""
    (_mechanism if result.job.data is None else _artifact)(result.artifact)
    show_files(*result.files.values())


def listed(as_json: bool) -> None:
    """List all audited mechanisms with their claims."""
    from discreet.jobs.work import names

    rows = names()
    if as_json:
        typer.echo(json.dumps([{"name": n, "claim": c, "pairs": p} for n, c, p in rows], ensure_ascii=False))
        return
    columns = ("mechanism", "claim", "neighbours, or tables")
    show_table(f"{len(rows)} audited mechanisms", columns, rows, prose=columns[2:])


def _artifact(found: Any) -> None:
    if found.guarantee is not None:
        console.print(f"[bold]Promised.[/] {escape(found.guarantee.sentence())}", highlight=False)
    table = Table(title=escape(f"{found.file}: {found.kind}"), title_justify="left")
    for name in ("check", "result", "detail"):
        table.add_column(name, overflow="fold")
    for check in found.checks:
        said, _, detail = check.detail.partition(": ")
        if said in (_NOT_CHECKABLE, _NOT_APPLICABLE):
            table.add_row(check.name, f"[dim]{said}[/]", escape(detail))
        else:
            table.add_row(check.name, _COLOURS[check.holds], escape(check.detail))
    console.print(table)
    split = [check.detail.partition(": ") for check in found.checks if check.holds is None]
    blocked = "; ".join(detail.partition(";")[0] for said, _, detail in split if said == _NOT_CHECKABLE)
    if found.passed and blocked:
        console.print(f"All checks passed that could be made. Not checkable: {escape(blocked)}.", highlight=False)
    elif found.passed:
        console.print("[green]All checks passed.[/]")
    for check in found.checks:
        if check.holds is False:
            console.print(f"[bold red]Refused:[/] {escape(check.detail)}", highlight=False)
    if found.seeded:
        console.print("[bold red]Seeded: this release must not be published.[/]")


def _mechanism(facts: dict[str, Any]) -> None:
    for title, found in facts["results"]:
        console.print(f"[bold]{escape(title)}.[/] {escape(str(found))}", highlight=False)
    if facts.get("exact_result") is not None:
        console.print(f"[bold]Exact distribution, first pair.[/] {escape(str(facts['exact_result']))}", highlight=False)
    for text in facts.get("failures", ()):
        console.print(f"[bold red]Does not hold:[/] {escape(text)}", highlight=False)
    verdict = "[green]Not refuted.[/]" if facts["passed"] else "[bold red]REFUTED.[/]"
    console.print(verdict)
