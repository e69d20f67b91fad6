"""Output of `plan`."""

import math
from collections.abc import Sequence
from typing import Any

from rich.markup import escape

from discreet.cli.common import console, show_files, show_table
from discreet.core import counted

_STEPS = "▁▂▃▄▅▆▇█"


def show(result: Any) -> None:
    """Show one table per question."""
    from discreet.reporting.pages import UNITS, needed, percent, shown_bounds

    found, given = result.artifact, result.job.parameters
    target_error = given.get("target_error")
    ends = f"{found.budgets[0]:g} to {found.budgets[-1]:g}"
    console.print(
        f"{counted(found.n, 'row')}, {counted(found.d, 'column')}, epsilon {found.epsilon:.4g}"
        f"{f' at delta {found.delta:g}' if found.delta else ''}. No data were read.\n"
    )
    if found.rows_each * found.heaviest > 1:
        heavy = f", and a row as at most {found.heaviest:.3g} rows of average weight" if found.heaviest > 1 else ""
        console.print(f"Each unit counts as at most {counted(found.rows_each, 'row')}{heavy}.\n", highlight=False)
    for question, unit in UNITS.items():
        names = ["method (promise)", "error", f"at epsilon {ends}", "release"]
        if target_error is not None:
            names.insert(3, f"epsilon for {target_error:g}")
        rows, notes = [], []
        for row in found.rows:
            if row.question != question:
                continue
            error = f"{'' if row.sense == 'about' else row.sense + ' '}{percent(row.error)}"
            free = row.model == "syntactic"  # of any epsilon
            more = [] if target_error is None else ["" if free else needed(row.needed_epsilon)]
            rows.append(
                [f"{row.method} ({row.model})", error, "" if free else sparkline(row.curve), *more, row.release]
            )
            notes.append(f"{row.method}: {row.reading}")
        show_table(f"{question}: {unit}", names, rows, right=[names[1], *names[3:-1]], prose=[names[0], names[-1]])
        console.print(f"[dim]{escape('; '.join(notes))}.[/]\n", highlight=False)
    if found.bounds:
        names = ["rows per person", "rows lost", "bias", "noise", "error"]
        best = min(found.bounds, key=lambda bound: bound.error)
        rows = [
            [f"{bound.rows:,}{' (best)' if bound is best else ''}"]
            + [percent(v) for v in (bound.lost, bound.bias, bound.noise, bound.error)]
            for bound in shown_bounds(found)
        ]
        show_table("persons: count of one value, a share of all rows", names, rows, right=names)
        said = f"Assuming geometric numbers of rows for {found.persons:,} persons; heavier tails lose more rows"
        console.print(f"[yellow]{said}.[/] This epsilon protects one person.\n", highlight=False)
    if (told := found.later) is not None:
        wait = f", or wait {counted(told['wait'], 'table')} until {found.k} of a group have left" * bool(told["wait"])
        console.print(
            f"[bold]Next anonymous tables (k = {found.k}).[/] People who leave or change take others of their group "
            f"with them: about {told['second']:.0%} of the first table's people are left out of the second and "
            f"{told['sixth']:.0%} of the sixth{wait}. New people need groups of about {told['group']:,}. Larger groups "
            "in the first table ([cyan]--max-depth[/]) lose fewer people later.\n",
            highlight=False,
        )
    show_files(*result.files.values())


def sparkline(values: Sequence[float]) -> str:
    """Draw numbers as blocks, on a logarithmic scale."""
    logs = [math.log(max(v, 1e-300)) for v in values]
    low, high = min(logs), max(logs)
    width = (high - low) or 1.0
    return "".join(_STEPS[round((v - low) / width * (len(_STEPS) - 1))] for v in logs)
