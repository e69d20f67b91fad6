"""The command line: one verb per job.

Heavy modules are imported inside the verbs, so that ``discreet --help`` answers at once.
"""

import sys
import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from discreet._version import __version__
from discreet.cli import evidence, run, sketch, synopsis, verbs
from discreet.cli.common import USAGE, app, console, echo, warn, warn_if_seeded, working
from discreet.cli.verbs import add, take_as_typed, verb
from discreet.core import unfit
from discreet.errors import DiscreetError, DiscreetWarning, InvalidArgument
from discreet.jobs import EPSILON, SEED, declared, option
from discreet.jobs.kinds import KINDS

for _module in ("account", "choose", "collect", "data", "prepare", "schema", "studio", "study"):
    import_module(f"discreet.cli.{_module}")  # which adds its verbs
for _kind in KINDS.values():
    _extra = {"list": evidence.listed} if _kind.name == "audit" else None
    add(sketch.sketch if _kind.words.startswith("sketch ") else app, _kind, run.SHOWN[_kind.name], _extra)


def _version(asked: bool) -> None:
    if asked:
        console.print(f"discreet {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take the options before a verb."""


@verb(
    app,
    declared("epsilon", EPSILON, required=False, default=1.0),
    option("output", "folder", "Folder for the files.", "try-it", default="discreet-demo"),
    SEED,
    examples=("demo --epsilon 0.5 --output ./try-it",),
)
def demo(*, epsilon: float, output: Path, seed: int | None, as_json: bool) -> None:
    """Try the main job on a synthetic table of patients. No file is needed.

    It releases a synopsis of the table, finds clusters in it, and compares them with those of the raw rows.
    """
    with working("Working on 10,000 synthetic patients ...", as_json=as_json):
        from discreet.demo import run

        result = run(output, epsilon=epsilon, seed=seed)
    if as_json:
        echo(result.to_dict())
        return
    console.print(
        f"\n[bold]The table.[/] {result.rows:,} synthetic patients with two columns (age, yearly cost), in "
        f"{result.clusters} clusters. Assume that it must stay confidential."
    )
    console.print(
        f"[bold]The release.[/] A histogram: the declared ranges were divided into {result.synopsis.n_leaves:,} cells, "
        "the patients in each were counted, and every count got random noise, including those of empty cells.\n"
    )
    synopsis.show_ledger(result.guarantee)
    console.print(
        f"[bold]The clusters.[/] {result.clusters} centres were found in the release alone. On the raw rows, their "
        f"squared error is [bold]{result.ratio:.3f}[/] times that of k-means without privacy "
        f"({result.nicv_private:,.2f} against {result.nicv_plain:,.2f}, mean squared distance to the centre).\n"
        "[dim](This comparison reads the raw rows. It is not part of the release.)[/]\n"
    )
    console.print(f"[bold]The files.[/] In [cyan]{result.folder}[/]:")
    for name, meaning in result.files.items():
        console.print(f"  [cyan]{name:<16}[/] {meaning}")
    warn_if_seeded(result.guarantee.seeded)


#: The verbs in the order in which a newcomer needs them.
_PANELS = {
    "Start here": ("demo", "choose", "data", "plan", "schema", "account", "key", "run", "studio", "prepare"),
    "Release": ("synopsis", "synthesize", "cluster", "query", "anonymize", "mask", "perturb", "sketch", "collect",
        "withdraw"),
    "Check and show": ("verify", "report", "ask", "risk", "compare", "attack", "audit", "study"),
}  # fmt: skip


def _arrange() -> None:
    """Sort the verbs into their panels."""
    order = {name: (i, panel) for i, (panel, name) in enumerate((p, n) for p, names in _PANELS.items() for n in names)}
    verbs = {command.name or getattr(command.callback, "__name__", ""): command for command in app.registered_commands}
    for name, command in verbs.items():
        command.rich_help_panel = order[name][1]  # a verb without a panel would stand alone, before the others
    app.registered_commands.sort(key=lambda c: order[str(c.name or getattr(c.callback, "__name__", ""))][0])
    app.registered_groups.sort(key=lambda each: str(each.name))
    for each in app.registered_groups:
        each.rich_help_panel = order[str(each.name)][1]


_arrange()


@cache
def _command() -> Any:
    return take_as_typed(typer.main.get_command(app))


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line. Errors that name a fix are shown without a traceback."""
    command, typed = _command(), sys.argv[1:] if args is None else list(args)
    wrong = USAGE.get(typed[0] if typed else "", 2)
    try:
        verbs.alone = args is None
        for text in typed:
            if expected := unfit(text):
                raise InvalidArgument("argument", text, expected)
        with warnings.catch_warnings():
            warnings.showwarning = _shown_once("delta = " if typed[:1] == ["run"] else "--delta ")
            command(args, prog_name="discreet")
    except SystemExit as ended:
        # Who reads the output left, as `head` does: 1 would be a verdict. Shells say 141 of such programs.
        raise SystemExit(141) if isinstance(ended.__context__, BrokenPipeError) else ended from None
    except DiscreetError as error:
        _refuse(str(error), wrong)
    except MemoryError:
        _refuse("not enough memory; try fewer cells, a smaller depth, or a larger machine", wrong)
    except OSError as error:
        # Such as a full disk, or a file that was removed.
        said = f"{error.strerror or error}{f': {error.filename!r}' if error.filename else ''}; check file and disk"
        _refuse(said, wrong)


def _shown_once(delta: str) -> Any:
    """Return what shows each warning of this package once, as one sentence, in the spelling of the command line."""
    told: set[str] = set()

    def show(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: object) -> None:
        text = str(message).replace("try delta=", f"try {delta}")
        if not issubclass(category, DiscreetWarning):
            sys.stderr.write(warnings.formatwarning(message, category, filename, lineno))
        elif text not in told and not text.startswith("the number of rows cannot be told from zero"):
            told.add(text)
            warn([text])

    return show


def _refuse(why: str, code: int) -> None:
    # Escaped, because discreet[plot] is not a colour.
    Console(stderr=True).print(f"[bold red]Error:[/] {escape(why)}", highlight=False, soft_wrap=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
