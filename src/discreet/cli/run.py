"""The verb `run`: a whole job from one file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from discreet.cli import look
from discreet.cli.common import console, epilog, warn, working
from discreet.cli.verbs import completion
from discreet.core import counted, unfit
from discreet.core.schema import is_address
from discreet.errors import InvalidArgument
from discreet.jobs import example as written
from discreet.jobs import json_schema
from discreet.jobs.kinds import KINDS

_KINDS = {"metavar": "KIND", "autocompletion": completion(tuple(KINDS))}


def register(app: typer.Typer, shown: Mapping[str, Any]) -> None:
    """Add the verb to the command line; ``shown`` says what shows the result of each kind."""

    def run(
        job: Annotated[Path | None, typer.Argument(help="The job file (TOML); --example prints one.")] = None,
        check: Annotated[
            bool, typer.Option("--check", help="Validate all that is known without the data, which are not opened.")
        ] = False,
        example: Annotated[
            str | None, typer.Option(help=f"Print a commented job file: {', '.join(KINDS)}.", **_KINDS)
        ] = None,
        schema: Annotated[str | None, typer.Option(help="Print the JSON schema of such a file.", **_KINDS)] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print files, figures and promise as JSON.")] = False,
    ) -> None:
        """Do a whole job from one file: data, declared columns, method, parameters and outputs.

        Relative paths in it start at its folder. A key that is not known is refused, with the nearest one that is.
        """
        asked = [value for value in (job, example, schema) if value is not None]
        if len(asked) != 1 or (check and job is None):
            given = "both" if len(asked) > 1 else "--check" if asked else None
            raise InvalidArgument("JOB", given, "a job file, or --example KIND alone", "discreet run job.toml")
        if job is None:
            _print_declared(example, schema, as_json)
            return
        if why := unfit(str(job), path=True):
            raise InvalidArgument("JOB", str(job), why, "discreet run job.toml")
        look.look_into(job.expanduser(), data=not check)
        with working("Checking the job ..." if check else "Doing the job ...", as_json=as_json):
            from discreet.jobs import Job

            chosen = Job.from_toml(str(job))
            if check:
                chosen.check()
            else:
                result = chosen.run()
        if check:
            _tell_valid(chosen, as_json)
        elif as_json:
            typer.echo(json.dumps(result.to_dict(), default=str))
        else:
            shown[chosen.kind](result)
        if not check:
            warn(result.figures.get("warnings", ()))
            if result.failed:
                raise typer.Exit(1)

    examples = ("run --example synopsis > job.toml", "run job.toml --check", "run job.toml", "run --schema synopsis")
    app.command(epilog=epilog(*examples, failed="a requirement of the job is not met"))(run)


def _print_declared(example: str | None, schema: str | None, as_json: bool) -> None:
    name, option = (example, "--example") if schema is None else (schema, "--schema")
    if name not in KINDS:
        from difflib import get_close_matches

        near = (get_close_matches(str(name), KINDS, 1, 0.4) or ["synopsis"])[0]
        raise InvalidArgument(option, name, f"one of {', '.join(KINDS)}", f"{option} {near}")
    if option == "--schema":
        typer.echo(json.dumps(json_schema(KINDS[name]), indent=2, ensure_ascii=False))
        return
    text = written(KINDS[name])
    typer.echo(json.dumps({"kind": name, "toml": text}) if as_json else text, nl=as_json)


def _tell_valid(job: Any, as_json: bool) -> None:
    found = job.data is None or isinstance(job.data, list) or is_address(job.data) or job.place(job.data).exists()
    if as_json:
        typer.echo(json.dumps({"kind": job.kind, "valid": True, "data_there": found}))
        return
    console.print(f"[green]Valid:[/] a {job.kind} job with {counted(len(job.outputs), 'output')}.")
    if not found:
        console.print(f"[yellow]Note:[/] {escape(job.data)} is not there, or is a pattern of files.")
