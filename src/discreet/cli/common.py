"""What all verbs share: how they speak, wait, complete, warn, and which exit codes they have."""

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape

from discreet.core import open_number

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
    lines = [_broken(f"Example:  discreet {escape(example)}") for example in examples]
    return "\n\n".join([*lines, _CODES_CHECKED.format(failed=failed) if failed else _CODES])


def _broken(command: str, width: int = 74) -> str:
    """Break a command between its options, as a shell takes it when it is copied."""
    lines = [""]
    for part in re.split(r" (?=-)", command):
        if len(lines[-1]) + len(part) > width:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] = f"{lines[-1]} {part}" if lines[-1] else part
    return "\n".join(lines)


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
    elif all(open_number(path) != 1 for path in result.files.values()):  # nothing behind a page that was asked for
        show(result)
    warn(result.figures.get("warnings", ()))


def show_promise(guarantee: Any) -> None:
    """Show what is promised, in red if it does not hold."""
    from rich.panel import Panel

    kept = guarantee.parameters.get("kept")
    if kept:
        from discreet.core import kept_text

        console.print(f"[bold yellow]What it costs.[/] {escape(kept_text(kept))}")
    colour = "red" if guarantee.seeded else "yellow" if kept else "green"
    console.print(Panel(escape(str(guarantee)), title="What is promised", border_style=colour))


def show_files(*paths: Any) -> None:
    """Name the files that were written."""
    for path in paths:
        if path is not None:
            console.print(f"[bold]The file.[/] [cyan]{escape(str(path))}[/]", soft_wrap=True)


def show_account(figures: Any) -> None:
    """Say how the account stands that a release was charged to, if there is one."""
    told = figures.get("account")
    if told is None:
        return
    unit = told["currency"]
    done = f"Charged to entry {told['entry']} of"
    if told["repeated"]:
        done = f"[bold]Nothing was spent:[/] this is entry {told['entry']}, handed out again (--fresh pays anew), of"
    console.print(
        f"[bold]The account.[/] {done} [cyan]{escape(told['dataset'])}[/]: {unit} {told['spent']:.6g} of "
        f"{told['total']:.6g} spent, {told['remaining']:.6g} left."
    )


def preview(table: Any) -> None:
    """Show the first rows of a released table."""
    head = table.slice(0, 6)
    rows = [
        ["" if v is None else f"{v:.6g}" if isinstance(v, float) else str(v) for v in row.values()]
        for row in head.to_pylist()
    ]
    show_table("The first rows", table.column_names, rows, sample=True)


def measures(title: str, rows: Any) -> None:
    """Show a table of measures, values and meanings."""
    show_table(title, ("measure", "value", "meaning"), rows, right=("value",), prose=("meaning",))


#: Columns of prose are folded down to this; other cells beyond the second are folded where nothing else helps.
_NARROW, _WIDE = 20, 34


def show_table(
    title: str,
    names: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Sequence[str] = (),
    prose: Sequence[str] = (),
    keep: Sequence[str] = (),
    sample: bool = False,
) -> None:
    """Show a table; one that is too wide is turned by 90 degrees, or says which columns it leaves out.

    Parameters
    ----------
    title : str
        What stands above.
    names : sequence of str
        The columns.
    rows : iterable of sequences of str
        The cells, as plain text.
    right, prose : sequences of str
        Columns of figures; columns of sentences, which may be folded.
    keep : sequence of str
        Columns that others make room for where there is not enough.
    sample : bool
        Whether the rows are some of many: then fewer of them do as well.
    """
    cells = [list(row) for row in rows]
    empty = [j for j, name in enumerate(names) if not name and not any(row[j] for row in cells)]
    names = [name for j, name in enumerate(names) if j not in empty]  # remarks, where there is none to make
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
    kept: list[int] = []
    used = 1
    for j in sorted(range(len(names)), key=lambda j: (j > 0, names[j] not in keep, j)):
        if not kept or used + least[j] + 3 <= room:
            kept.append(j)
            used += least[j] + 3
    kept.sort()
    _draw(title, [names[j] for j in kept], [[row[j] for j in kept] for row in cells], right, prose)
    left = ", ".join(name for j, name in enumerate(names) if j not in kept)
    console.print(f"[dim]Not shown for want of room: {escape(left)}. A wider window or --json has them.[/]")


def _draw(
    title: str, names: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str], prose: Sequence[str]
) -> None:
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left")
    for name in names:
        aligned: Any = "right" if name in right else "left"
        table.add_column(escape(name), justify=aligned, overflow="fold", no_wrap=False)
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)
