"""Output of `synopsis`, `synthesize` and `cluster`."""

import shlex
from typing import Any

from rich.markup import escape

from discreet.cli.common import console, show_files, show_promise, show_table, warn_if_seeded
from discreet.core import counted


def show(result: Any) -> None:
    """Show a synopsis."""
    from discreet.jobs.work import summary

    made = result.artifact
    show_ledger(made.guarantee, result.files["release"])
    console.print(f"[bold]Synopsis.[/] {escape(summary(made))}")
    _show_counted(made)
    if made.uncut or made.hidden is not None:
        console.print(
            "Fewer columns give better estimates: try [cyan]--columns[/], or [cyan]discreet synthesize[/] for many."
        )
    console.print(
        f"[bold]File[/] [cyan]{escape(str(result.files['release']))}[/], digest {made.digest}", soft_wrap=True
    )
    show_files(*(file for name, file in result.files.items() if name != "release"))
    warn_if_seeded(made.guarantee.seeded)


def _show_counted(made: Any) -> None:
    """Say which rows the noisy number of rows does not count."""
    from discreet.core import Person

    if isinstance(unit := made.domain.unit, Person):
        are = "is" if unit.l1 == 1 else "are"
        most = f"At most {counted(unit.l1, 'row')} of one {unit.called} {are} counted"
        console.print(f"{most}, and no row that cannot be read as declared.")
    elif any(column.missing == "drop" for column in made.domain):
        # Always the same words: their number is a raw count, which must not appear.
        console.print("Rows that cannot be read as declared are not counted: compare with your own number of rows.")


def show_rows(result: Any) -> None:
    """Show synthetic rows and the marginals behind them."""
    from discreet.synopses.queries import rows_text

    made, told = result.artifact, result.figures
    show_ledger(made.guarantee, result.files["release"])
    console.print(
        f"[bold]Rows.[/] {told['sampled']:,} synthetic rows; "
        f"{rows_text(made.total, 'weight' in told['parameters'])} were counted. "
        f"{counted(len(told['measured']), 'set')} of columns measured together; other relations are those of the model."
    )
    _show_counted(made)
    show_files(told["table"])
    console.print(
        f"[bold]Synopsis[/] [cyan]{escape(str(result.files['release']))}[/], digest {made.digest}", soft_wrap=True
    )
    show_files(*(file for name, file in result.files.items() if name not in ("table", "release")))
    warn_if_seeded(made.guarantee.seeded)


def show_clusters(result: Any) -> None:
    """Show the centres."""
    from discreet.jobs.work import unlisted_rows, weighed

    made, (found, table) = result.artifact, result.more
    if result.job.schema is not None:  # a new release
        show_ledger(made.guarantee, result.files.get("release"))
    rows: list[list[str]] = []
    for row, doubtful in zip(table.to_pylist(), found.may_be_noise.tolist(), strict=True):
        cells = [f"{value:,.6g}" if isinstance(value, float) else str(value) for value in row.values()]
        noise = ["may be only noise" if doubtful else ""] if found.may_be_noise.any() else []
        rows.append([str(len(rows) + 1), *cells, *noise])
    numbers = ["± standard error" if name == "weight_std_error" else name for name in table.column_names]
    names = [*numbers, *([""] if found.may_be_noise.any() else [])]
    show_table(weighed(made, found), ["centre", *names], rows, right=["centre", *numbers])
    if found.note:
        console.print(f"[yellow]Note:[/] {escape(found.note)}.")
    if told := unlisted_rows(made):
        console.print(f"The release has about {made.total:,.0f} rows. {escape(told)}")
    show_files(*result.files.values())
    warn_if_seeded(made.guarantee.seeded)


def show_ledger(guarantee: Any, file: Any = None) -> None:
    """Show the guarantee and its ledger, the latter by stage if it is long; ``file`` has all of it."""
    from discreet.jobs.work import ledger_rows

    show_promise(guarantee, ledger=False)
    unit, (rows, shorter) = guarantee.accounting, ledger_rows(guarantee)
    show_table("Ledger", ("step", "composition", unit), rows, right=(unit,))
    if shorter and file is not None:
        console.print(f"All steps: [cyan]discreet report {escape(shlex.quote(str(file)))}[/]", soft_wrap=True)
