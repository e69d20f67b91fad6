"""The verb `run`: a whole job from one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from discreet.cli.common import complete, console, epilog, show_promise, warn, warn_if_seeded, working


def run(
    job: Annotated[Path | None, typer.Argument(help="The job file (TOML); --example prints one.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Validate everything, on an invented table; the data are not opened.")
    ] = False,
    example: Annotated[
        str | None,
        typer.Option(
            help="Print a commented job file: synopsis, cluster, anonymize, perturb or sketch.",
            autocompletion=complete("job"),
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print files, figures and promise as JSON instead.")] = False,
) -> None:
    """Do a whole job from one file: data, declared columns, method, parameters and outputs.

    Relative paths in it start at its folder. A key that is not known is refused, with the nearest one that is.
    """
    from discreet.errors import InvalidArgument

    if (job is None) == (example is None) or (example is not None and check):
        given = "both" if job is not None else "--check" if example is not None else None
        raise InvalidArgument("JOB", given, "a job file, or --example KIND alone", "discreet run job.toml")
    if example is not None:
        from discreet.jobs.keys import example as written

        text = written(example)
        typer.echo(json.dumps({"kind": example, "toml": text}) if as_json else text, nl=as_json)
        return
    with working("Checking the job ..." if check else "Doing the job ..."):
        from discreet.jobs.job import Job

        chosen = Job.from_toml(str(job))
        if check:
            chosen.check()
            found = chosen.place(chosen.data).exists()
        else:
            result = chosen.run()
    if check:
        if as_json:
            typer.echo(json.dumps({"kind": chosen.kind, "valid": True, "data_there": found}))
            return
        console.print(f"[green]Valid:[/] a {chosen.kind} job with {len(chosen.outputs)} output(s).")
        if not found:
            console.print(f"[yellow]Note:[/] {escape(chosen.data)} is not there, or is a pattern of files.")
    elif as_json:
        typer.echo(json.dumps(result.to_dict(), default=str))
        warn(result.figures.get("warnings", ()))
    else:
        show_promise(result.guarantee)
        console.print("[bold]The files.[/]")
        for name, path in result.files.items():
            console.print(f"  {name:<10} [cyan]{escape(str(path))}[/]", soft_wrap=True)
        warn_if_seeded(result.guarantee.seeded)
        warn(result.figures.get("warnings", ()))


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(epilog=epilog("run --example synopsis > job.toml", "run job.toml --check", "run job.toml"))(run)
