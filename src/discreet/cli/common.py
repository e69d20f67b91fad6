"""What all verbs share: how they speak, wait, complete, warn, and which exit codes they have."""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

console = Console()
#: The flag that every verb has.
Json = Annotated[bool, typer.Option("--json", help="Print the figures as JSON instead.")]

_CODES = "Exit codes: 0 done, 2 bad usage or input."
_CODES_CHECKED = "Exit codes: 0 done, 1 {failed}, 2 bad usage or input."


def epilog(*examples: str, failed: str = "") -> str:
    """Return the foot of a help page: examples, then exit codes.

    Parameters
    ----------
    *examples : str
        Command lines without the leading ``discreet``.
    failed : str
        What exit code 1 means; empty if there is none.
    """
    lines = [f"Example:  discreet {escape(example)}" for example in examples]
    return "\n\n".join([*lines, _CODES_CHECKED.format(failed=failed) if failed else _CODES])


class _Line(logging.Handler):
    """Shows a message as a line of its own."""

    def __init__(self, shown: Console) -> None:
        super().__init__()
        self._shown = shown

    def emit(self, record: logging.LogRecord) -> None:
        self._shown.print(f"[dim]{escape(record.getMessage())}[/]", highlight=False)


@contextmanager
def working(what: str, *, as_json: bool = False) -> Iterator[None]:
    """Show that something is going on: on the error stream, and on a terminal only, so that pipes stay clean.

    The first run on a machine compiles kernels; if that takes long, a line says so, but not beside JSON or in a pipe.
    """
    errors = Console(stderr=True)
    log = logging.getLogger("discreet.kernels")
    line, level = _Line(errors), log.level
    told = errors.is_terminal and console.is_terminal and not as_json
    if told:
        log.addHandler(line)
        log.setLevel(logging.INFO)
    try:
        with errors.status(what):
            yield
    finally:
        if told:
            log.removeHandler(line)
            log.setLevel(level)


def warn_if_seeded(seeded: bool) -> None:
    """Say that a repeatable result is not for publication."""
    if seeded:
        console.print("\n[bold red]Seeded: this run can be repeated and undone. Do not publish its result.[/]")


def warn(messages: Sequence[str]) -> None:
    """Say last, and on the error stream, what should worry: also beside figures as JSON."""
    for text in messages:
        Console(stderr=True).print(f"[bold yellow]Warning:[/] {escape(text)}.", highlight=False, soft_wrap=True)


def tell(show: Callable[[Any], None], result: Any, as_json: bool) -> None:
    """Show the result of a job, or print its figures as JSON; either way with what should worry."""
    if as_json:
        printed = result.figures if result.printed is None else result.printed
        typer.echo(json.dumps(printed, ensure_ascii=False, default=str))
    else:
        show(result)
    warn(result.figures.get("warnings", ()))


def show_promise(guarantee: Any) -> None:
    """Show what is promised, in red if it does not hold."""
    from rich.panel import Panel

    kept = guarantee.parameters.get("kept")
    if kept:
        from discreet.core.guarantee import kept_text

        console.print(f"[bold yellow]What it costs.[/] {escape(kept_text(kept))}")
    colour = "red" if guarantee.seeded else "yellow" if kept else "green"
    console.print(Panel(escape(str(guarantee)), title="What is promised", border_style=colour))


def show_files(*paths: Any) -> None:
    """Name the files that were written."""
    for path in paths:
        if path is not None:
            console.print(f"[bold]The file.[/] [cyan]{escape(str(path))}[/]", soft_wrap=True)


def preview(table: Any, most: int = 12) -> None:
    """Show the first rows of a released table."""
    from rich.table import Table

    shown = Table(title="The first rows", title_justify="left")
    for name in table.column_names[:most]:
        shown.add_column(escape(name))
    for row in table.select(table.column_names[:most]).slice(0, 6).to_pylist():
        texts = ("" if v is None else f"{v:.6g}" if isinstance(v, float) else str(v) for v in row.values())
        shown.add_row(*map(escape, texts))
    console.print(shown)


def measures(title: str, rows: Any) -> None:
    """Show a table of measures, values and meanings."""
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left")
    for name in ("measure", "value", "meaning"):
        table.add_column(name, justify="right" if name == "value" else "left")
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)
