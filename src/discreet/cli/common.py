"""Printing shared by all verbs: tables, files, guarantees, warnings, progress, JSON."""

import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from discreet.core import left_of, open_number

console = Console()

#: Exit codes of wrong usage, by verb; 2 for others.
USAGE = {"verify": 3}


class Untyped:
    """A command whose help shows no types of Python."""

    def get_params(self, ctx: Any) -> Any:
        found = super().get_params(ctx)  # type: ignore[misc]
        for each in found:
            if each.param_type_name == "argument":
                each.display_type_rich = lambda ctx: None
            elif each.is_flag:
                each.metavar = ""
        return found


class Group(Untyped, TyperGroup):
    """A group of verbs."""


def group(name: str, help: str, within: typer.Typer | None = None, **more: Any) -> typer.Typer:
    """Return a group of verbs."""
    settings = {"no_args_is_help": True, "rich_markup_mode": "rich", "cls": Group, **more}
    made = typer.Typer(name=name, help=help, **settings)
    if within is not None:
        within.add_typer(made, name=name)
    return made


app = group(
    "discreet",
    "Turn a table of sensitive records into a release that may be published, with its privacy guarantee attached.",
    pretty_exceptions_enable=False,
)


def echo(facts: Any) -> None:
    """Print plain data as JSON."""
    typer.echo(json.dumps(facts, ensure_ascii=False, default=str))


@contextmanager
def printing() -> Iterator[None]:
    """Leave out the rest of what is printed if its reader has gone, as `head` does: the exit code tells of the work."""
    try:
        yield
    except (BrokenPipeError, SystemExit) as error:  # Rich exits with 1, which is a verdict
        if not isinstance(error, BrokenPipeError) and not isinstance(error.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def epilog(*examples: str, failed: str = "", usage: int = 2) -> str:
    """Return the end of a help text: examples, then exit codes."""
    lines = [_broken(f"Example:  discreet {escape(example)}") for example in examples]
    codes = f"Exit codes: 0 done, {f'1 {failed}, ' if failed else ''}{usage} bad usage or input."
    return "\n\n".join([*lines, codes])


def _broken(command: str, width: int = 74) -> str:
    """Break a command between its options, so that it can be copied."""
    lines = [""]
    for part in re.split(r" (?=-)", command):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] = f"{lines[-1]} {part}" if lines[-1] else part
    return "\n".join(lines)


class _Line(logging.Handler):
    """Prints the first log message as a line; from then on the status has the seconds of compiling."""

    def __init__(self, shown: Console, status: Any, what: str) -> None:
        super().__init__()
        self._shown, self._status, self._what = shown, status, what
        self._seconds: Callable[[], float] = float

    def emit(self, record: logging.LogRecord) -> None:
        if self._seconds is float:
            self._shown.print(f"[dim]{escape(record.getMessage())}[/]", highlight=False, soft_wrap=True)
        self._seconds = vars(record)["seconds"]
        self._status.update(self)  # drawn several times per second

    def __rich__(self) -> str:
        seconds = self._seconds()
        return f"Compiling: {seconds:.0f} seconds" if seconds else self._what


@contextmanager
def working(what: str, *, as_json: bool = False) -> Iterator[None]:
    """Show progress on the error stream of a terminal.

    The first run on a machine compiles kernels. If that takes long, a line is printed, also into a file; not with JSON.
    """
    errors = Console(stderr=True)
    status = errors.status(what)
    log = logging.getLogger("discreet.kernels")
    line: logging.Handler = logging.NullHandler() if as_json else _Line(errors, status, what)
    log.addHandler(line)
    try:
        with status:
            yield
    finally:
        log.removeHandler(line)


def warn_if_seeded(seeded: bool) -> None:
    """Warn that a repeatable result must not be published."""
    if seeded:
        console.print("\n[bold red]Seeded: anyone with the seed can remove the noise. Do not publish the result.[/]")


def warn(messages: Sequence[str]) -> None:
    """Print warnings on the error stream."""
    for text in messages:
        Console(stderr=True).print(f"[bold yellow]Warning:[/] {escape(text)}.", highlight=False, soft_wrap=True)


def show_result(show: Callable[[Any], None], result: Any, as_json: bool) -> None:
    """Show the result of a job, or print its figures as JSON, and its warnings."""
    with printing():
        if as_json:
            echo(result.figures if result.printed is None else result.printed)
        elif all(open_number(path) != 1 for path in result.files.values()):  # a page on standard output stays alone
            show(result)
            if result.job.releases and not result.job.parameters.get("explain"):
                show_account(result.figures)
            if told := result.figures.get("fitness"):
                console.print(f"[bold]Good for.[/] {escape(told['line'])}", highlight=False)
    for text in result.figures.get("doubts", ()):
        line = f"[bold red]{escape(text[:1].upper() + text[1:])}.[/]"
        Console(stderr=True).print(line, highlight=False, soft_wrap=True)
    warn(result.figures.get("warnings", ()))


def show_promise(guarantee: Any, *, ledger: bool = True) -> None:
    """Show a guarantee, in red if it does not hold; without its ledger if a table of it follows."""
    from rich.panel import Panel

    kept = guarantee.parameters.get("kept")
    if kept:
        from discreet.core import kept_text

        console.print(f"[bold yellow]Kept unchanged.[/] {escape(kept_text(kept))}")
    colour = "red" if guarantee.seeded else "yellow" if kept else "green"
    text = str(guarantee) if ledger else guarantee.brief()
    console.print(Panel(escape(text), title="Guarantee", border_style=colour))


def show_files(*paths: Any) -> None:
    """Name written files."""
    for path in paths:
        if path is not None:
            console.print(f"[bold]File[/] [cyan]{escape(str(path))}[/]", soft_wrap=True)


def show_account(figures: Any) -> None:
    """Show the balance of the account where a release is booked, or that it is booked nowhere."""
    told = figures.get("account")
    if told is None:
        console.print("[bold]Account.[/] None: no one adds this release up with others (--account).", highlight=False)
        return
    unit = told["currency"]
    done = f"Charged to entry {told['entry']} of"
    if told.get("model", "central") != "central":
        done = f"Listed as entry {told['entry']} ({told['price']}, which adds no {unit}) of"
    if told["repeated"]:
        done = (
            "[bold]Nothing was spent, and the data were not read again:[/] "
            f"this is entry {told['entry']} again (--fresh makes a new one) of"
        )
    console.print(
        f"[bold]Account.[/] {done} [cyan]{escape(told['dataset'])}[/]: {unit} {told['spent']:.6g} of "
        f"{told['total']:.6g} spent, {left_of(told['total'], told['remaining']):.6g} left."
    )
    for text in told["warnings"] if told.get("model") == "syntactic" else ():
        console.print(f"[bold yellow]Warning:[/] {escape(text)}.", highlight=False)


def preview(table: Any) -> None:
    """Show the first rows of a released table."""
    head = table.slice(0, 6)
    rows = [
        ["" if v is None else f"{v:.6g}" if isinstance(v, float) else str(v) for v in row.values()]
        for row in head.to_pylist()
    ]
    show_table("First rows", table.column_names, rows, sample=True)


def measures(title: str, rows: Any) -> None:
    """Show measures with their values and meanings."""
    show_table(title, ("measure", "value", "meaning"), rows, right=("value",), prose=("measure", "meaning"))


#: Columns of prose wrap at the first width; other cells of a turned table at the second.
_NARROW, _WIDE = 20, 34


def show_table(
    title: str,
    names: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Sequence[str] = (),
    prose: Sequence[str] = (),
    sample: bool = False,
) -> None:
    """Show a table. If it is too wide, rows become columns, or several tables have some columns each.

    No column is left out. Of a ``sample``, some rows may be.
    """
    cells = [list(row) for row in rows]
    empty = [j for j, name in enumerate(names) if not name and not any(row[j] for row in cells)]
    names = [name for j, name in enumerate(names) if j not in empty]  # empty remarks
    cells = [[cell for j, cell in enumerate(row) if j not in empty] for row in cells]
    widths = [max(map(cell_len, [name, *(row[j] for row in cells)])) for j, name in enumerate(names)]
    least = [min(w, _NARROW) if name in prose else w for w, name in zip(widths, names, strict=True)]
    room = console.width
    if sum(least) + 3 * len(least) + 1 <= room:
        _draw(title, names, cells, right, prose)
        return
    head = max(map(cell_len, names))
    across = [min(max(map(cell_len, row)), _WIDE) for row in cells]
    fitting = sum(head + 4 + sum(w + 3 for w in across[: i + 1]) <= room for i in range(len(cells)))
    if fitting == len(cells) or sample:
        shown = max(fitting, 1)
        turned = [[name, *(row[j] for row in cells[:shown])] for j, name in enumerate(names)]
        _draw(title, ["", *map(str, range(1, shown + 1))], turned, (), ())
        return
    rest = list(range(1, len(names)))
    while rest:  # several tables, each with the first column
        part, used = [0], least[0] + 4
        while rest and (len(part) == 1 or used + least[rest[0]] + 3 <= room):
            used += least[rest[0]] + 3
            part.append(rest.pop(0))
        _draw(title, [names[j] for j in part], [[row[j] for j in part] for row in cells], right, prose)


def _draw(
    title: str, names: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str], prose: Sequence[str]
) -> None:
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left")
    for name in names:
        aligned: Any = "right" if name in right else "left"
        whole = name in right and max(map(cell_len, (row[names.index(name)] for row in rows)), default=0) <= _WIDE
        table.add_column(escape(name), justify=aligned, overflow="fold", no_wrap=whole)
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)
