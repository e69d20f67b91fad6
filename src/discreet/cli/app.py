"""The command line: one verb per job. Thin: each verb calls the same public functions that a program would.

Heavy modules are imported inside the verbs, so that ``discreet --help`` answers at once.
"""

import json
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from discreet._version import __version__
from discreet.cli import ask, audit, plan, sketch, synopsis, tables
from discreet.cli.account import account
from discreet.cli.collect import collect
from discreet.cli.common import Json, console, epilog, warn, warn_if_seeded, working
from discreet.cli.data import data
from discreet.cli.run import register as register_run
from discreet.cli.schema import register as register_schema
from discreet.cli.studio import register as register_studio
from discreet.cli.study import study
from discreet.cli.verbs import add
from discreet.core import unfit
from discreet.errors import DiscreetError, DiscreetWarning, InvalidArgument
from discreet.jobs import EPSILON, SEED, SHELL, Kind, check, spoken
from discreet.jobs.kinds import KINDS

app = typer.Typer(
    name="discreet",
    help="Turn a table of sensitive records into something that may be published, with its privacy guarantee attached.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
app.add_typer(account)
app.add_typer(collect)
app.add_typer(data)
app.add_typer(sketch.sketch)
app.add_typer(study)
#: What shows the result of a job, by its kind.
SHOWN = {
    "synopsis": synopsis.show, "synthesize": synopsis.show_rows, "cluster": synopsis.show_clusters,
    "anonymize": tables.show_anonymous, "perturb": tables.show_perturbed, "sketch": sketch.show,
    "aggregate": sketch.show_counts, "merge": sketch.show_counts, "estimate": sketch.show_estimates,
    "sketch-plan": sketch.show_plan, "distinct": sketch.show_bitmap, "overlap": sketch.show_overlap,
    "risk": tables.show_risk, "attack": tables.show_attack, "audit": audit.show, "report": tables.show_report,
    "plan": plan.show, "ask": ask.show,
}  # fmt: skip
for _kind in KINDS.values():
    _extra = {"list": audit.listed} if _kind.name == "audit" else None
    add(sketch.sketch if _kind.words.startswith("sketch ") else app, _kind, SHOWN[_kind.name], _extra)
register_run(app, SHOWN)
register_schema(app)
register_studio(app)


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


# Not jobs: what they are for comes before any job. `demo` invents its table, `schema` drafts the file that jobs read.
_DEMO = Kind("demo", "run the main job in miniature", "", (EPSILON, SEED))


@app.command(epilog=epilog("demo --epsilon 0.5 --output ./try-it"))
def demo(
    epsilon: Annotated[float, typer.Option(help="Privacy budget: smaller is more private, and coarser.")] = 1.0,
    output: Annotated[Path, typer.Option(help="Folder for the files it writes.")] = Path("discreet-demo"),
    seed: Annotated[int | None, typer.Option(help="Repeat a run. Its result must not be published.")] = None,
    as_json: Json = False,
) -> None:
    """Run the main job in miniature on an invented table of patients: no file needed.

    A synopsis of the table is released, clusters are found in it, and both are set against what an analyst
    with the raw rows would have got.
    """
    try:
        for option, value in ((EPSILON, epsilon), (SEED, seed)):
            if value is not None:
                check(_DEMO, option, value)
    except DiscreetError as error:
        raise spoken(error, SHELL) from None
    with working("Working on 10,000 invented patients ...", as_json=as_json):
        from discreet.demo import run

        result = run(output, epsilon=epsilon, seed=seed)
    if as_json:
        typer.echo(json.dumps(result.to_dict()))
        return
    _tell(result)


def _tell(result: Any) -> None:
    """Say in plain words what happened."""
    from discreet.jobs.work import ledger_rows

    console.print(
        f"\n[bold]The table.[/] {result.rows:,} invented patients, two columns (age, yearly cost), "
        f"{result.clusters} groups of people. Pretend it may not leave the building."
    )
    console.print(
        f"[bold]The release.[/] The declared range of the columns was cut into {result.synopsis.n_leaves:,} cells, "
        "the patients in each were counted, and every count, also of the empty cells, got random noise.\n"
    )
    synopsis.show_ledger(result.guarantee, ledger_rows(result.guarantee))
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


#: The verbs in the order in which a newcomer needs them.
_PANELS = {
    "Start here": ("demo", "data", "plan", "schema", "account", "run"),
    "Release": ("synopsis", "synthesize", "cluster", "anonymize", "perturb", "sketch", "collect"),
    "Check and show": ("ask", "risk", "attack", "audit", "report", "study"),
}


def _arrange() -> None:
    """Sort the verbs into their panels."""
    order = {name: (i, panel) for i, (panel, name) in enumerate((p, n) for p, names in _PANELS.items() for n in names)}
    verbs = {command.name or getattr(command.callback, "__name__", ""): command for command in app.registered_commands}
    for name, command in verbs.items():
        if name in order:
            command.rich_help_panel = order[name][1]
    app.registered_commands.sort(
        key=lambda c: order.get(str(c.name or getattr(c.callback, "__name__", "")), (99, ""))[0]
    )
    for group in app.registered_groups:
        group.rich_help_panel = order[str(group.typer_instance.info.name)][1] if group.typer_instance else None


_arrange()


@cache
def _command() -> Any:
    return typer.main.get_command(app)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; an error that names its fix is shown without a traceback."""
    command = _command()
    try:
        typed = sys.argv[1:] if args is None else list(args)
        for text in typed:
            if expected := unfit(text):
                raise InvalidArgument("argument", text, expected)
        with warnings.catch_warnings():
            warnings.showwarning = _Warned("delta = " if typed[:1] == ["run"] else "--delta ")
            command(args, prog_name="discreet")
    except DiscreetError as error:
        _refuse(str(error))
    except MemoryError:
        _refuse("there is not enough memory for this; ask for fewer cells, a smaller depth, or a machine with more")
    except OSError as error:
        # What the checks before could not foresee: a full disk, a file that went away.
        _refuse(f"{error.strerror or error}{f': {error.filename!r}' if error.filename else ''}; check file and disk")


class _Warned:
    """Shows a warning of this package as one sentence, once and in the words of the shell; others as Python does."""

    def __init__(self, delta: str) -> None:
        self._delta = delta
        self._told: set[str] = set()

    def __call__(
        self, message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: object, **__: object
    ) -> None:
        text = str(message).replace("try delta=", f"try {self._delta}")
        if not issubclass(category, DiscreetWarning):
            sys.stderr.write(warnings.formatwarning(message, category, filename, lineno))
        elif text not in self._told:
            self._told.add(text)
            warn([text])


def _refuse(why: str) -> None:
    # Escaped: a fix such as discreet[plot] is not a colour.
    Console(stderr=True).print(f"[bold red]Error:[/] {escape(why)}", highlight=False, soft_wrap=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
