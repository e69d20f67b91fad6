"""The verb `run`: a whole job from one file."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from discreet.cli import ask, evidence, look, plan, sketch, synopsis, tables
from discreet.cli.common import app, console, echo, show_result, working
from discreet.cli.verbs import verb
from discreet.core import counted, unfit
from discreet.core.schema import is_address
from discreet.errors import InvalidArgument
from discreet.jobs import FILE, json_schema, option
from discreet.jobs import example as written
from discreet.jobs.kinds import KINDS

#: Functions that show results, by kind of job.
SHOWN = {
    "synopsis": synopsis.show, "synthesize": synopsis.show_rows, "cluster": synopsis.show_clusters,
    "anonymize": tables.show_anonymous, "mask": tables.show_masked, "perturb": tables.show_perturbed,
    "sketch": sketch.show,
    "aggregate": sketch.show_counts, "merge": sketch.show_counts, "estimate": sketch.show_estimates,
    "sketch-plan": sketch.show_plan, "distinct": sketch.show_bitmap, "overlap": sketch.show_overlap,
    "risk": tables.show_risk, "attack": tables.show_attack, "audit": evidence.show, "report": tables.show_report,
    "compare": evidence.show_compared,
    "plan": plan.show, "ask": ask.show, "query": ask.show_answer,
}  # fmt: skip


@verb(
    app,
    option("job", "file", "The job file (TOML).", "job.toml", positional=True),
    option("check", "flag", "Check everything that can be checked without opening the data.", True),
    option("example", "text", f"Print an example job file of this kind: {', '.join(KINDS)}.", "synopsis"),
    option("schema", "text", "Print the JSON schema of job files of this kind.", "synopsis"),
    examples=("run --example synopsis > job.toml", "run job.toml --check", "run job.toml", "run --schema synopsis"),
    failed="a requirement of the job is not met",
    door=FILE,
)
def run(*, job: Path | None, check: bool, example: str | None, schema: str | None, as_json: bool) -> None:
    """Run a job from one file: data, declared columns, method, parameters and outputs.

    Relative paths start at the folder of the file. An unknown key is refused, and the nearest known one is named.
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
    with working("Checking the job ..." if check else "Running the job ...", as_json=as_json):
        from discreet.jobs import Job

        chosen = Job.from_toml(str(job))
        if check:
            chosen.check()
        else:
            result = chosen.run()
    if check:
        _show_valid(chosen, as_json)
        return
    show_result(SHOWN[chosen.kind], replace(result, printed=result.to_dict()), as_json)
    if result.failed:
        raise typer.Exit(1)


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


def _show_valid(job: Any, as_json: bool) -> None:
    found = job.data is None or isinstance(job.data, list) or is_address(job.data) or job.place(job.data).exists()
    if as_json:
        echo({"kind": job.kind, "valid": True, "data_there": found})
        return
    console.print(f"[green]Valid:[/] a {job.kind} job with {counted(len(job.outputs), 'output')}.")
    if not found:
        console.print(f"[yellow]Note:[/] {escape(job.data)} does not exist, or is a pattern of files.")
