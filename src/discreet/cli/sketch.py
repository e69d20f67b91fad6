"""Output of the verbs of `sketch`."""

from pathlib import Path
from typing import Any

from rich.markup import escape

from discreet.cli.common import app, console, group, show_files, show_promise, show_table
from discreet.core import counted, ends_of

sketch = group("sketch", "Local privacy: randomise values on devices, count the reports, estimate frequencies.", app)


def show(result: Any) -> None:
    """Show the reports."""
    from discreet.jobs.work import spelling

    figures, made = result.figures, result.more
    show_promise(result.guarantee)
    console.print(
        f"[bold]Reports.[/] {figures['reports']:,} of {made.report_bits} bits each, made by "
        f"[cyan]{escape(str(made.NAME))}[/], in [cyan]{escape(str(result.files['release']))}[/]"
    )
    show_files(*(file for name, file in result.files.items() if name != "release"))
    if said := spelling(made):
        console.print(escape(f"{said}."), highlight=False)
    if figures["seeded"]:
        console.print("[bold red]Seeded: anyone with the seed can remove the noise. Do not collect these reports.[/]")


def show_counts(result: Any) -> None:
    """Show the number of reports."""
    counts = result.artifact
    console.print(
        f"[bold]Counts.[/] {counted(counts.n, 'report')} of [cyan]{escape(counts.mechanism.NAME)}[/]"
        f"{f', {counts.rejected:,} impossible ones rejected' if counts.rejected else ''}, "
        f"in [cyan]{escape(str(result.files['release']))}[/]"
    )
    if counts.seeded:
        console.print("[bold red]Seeded: the noise of some reports can be removed.[/]")


def show_estimates(result: Any) -> None:
    """Show the most frequent values, or a mean or distribution."""
    found, top = result.artifact, result.job.parameters.get("top", 20)
    output, plot = (result.files.get(name) for name in ("estimates", "plot"))
    if not hasattr(found, "candidates"):
        _tell_numbers(found, output, plot)
        return
    shown = found.top(top)
    low, high = shown.interval(0.95)
    marks, rows = shown.may_be_noise(), []
    for i, value in enumerate(shown.candidates):
        interval = ends_of(low[i], high[i])
        share = f"{100 * shown.frequency[i]:.2f} %"
        count, error = f"{shown.count[i]:,.0f}", f"{shown.std_error[i]:,.0f}"
        rows.append([str(value), count, error, share, interval, "may be noise" if marks[i] else ""])
    names = ("value", "count", "std. error", "share", "95 % interval", "")
    title = f"{len(shown)} of {counted(len(found), 'value')}, {counted(found.n, 'report')}"
    show_table(title, names, rows, right=names[1:-1], prose=names[:1])
    for line in result.figures["caveats"]:
        console.print(escape(line), highlight=False)
    show_files(output, plot)
    show_promise(found.guarantee)


def show_bitmap(result: Any) -> None:
    bitmap = result.artifact
    show_promise(result.guarantee)
    made = bitmap.parameters
    console.print(
        f"[bold]Bitmap.[/] {made.levels} x {made.buckets:,} bits, key {made.key}, "
        f"in [cyan]{escape(str(result.files['release']))}[/]",
        highlight=False,
    )
    show_files(*(file for name, file in result.files.items() if name != "release"))
    if bitmap.seeded:
        console.print("[bold red]Seeded: anyone with the seed can remove the noise. Do not share this bitmap.[/]")


def show_overlap(result: Any) -> None:
    """Show how many items are in which bitmaps."""
    rows = [
        [r["question"], f"{r['count']:,.0f}", f"{r['std_error']:,.0f}", ends_of(r["lower"], r["upper"])]
        for r in result.figures["answers"]
    ]
    names = ("items in", "count", "std. error", "95 % interval")
    show_table("distinct items", names, rows, right=names[1:], prose=names[:1])
    show_files(*result.files.values())
    show_promise(result.guarantee)


def show_plan(result: Any) -> None:
    """Show the mechanisms, best first."""
    found, given = result.artifact, result.job.parameters
    what = f"{given['domain_size']:,} values" if "domain_size" in given else "a number"
    title = f"epsilon {given['epsilon']:g}, {what}, {given['reports']:,} reports: best first"
    rows = found.to_rows()
    texts = ("mechanism", "settings", "estimates")
    shown = {name: [row[name] for row in rows] for name in rows[0] if name != "notes"}
    shown = {name: cells for name, cells in shown.items() if any(cells)}
    show_table(title, [*shown], zip(*shown.values(), strict=True), right=[n for n in shown if n not in texts])
    if "domain_size" in given:
        first = "Those that reach the target error come first, the smallest report first; then " * (
            "target_error" in given
        )
        order = (
            f"{first}sorted by the error of a rare value. Errors within 3 % are equal: the smaller report comes first."
        )
        last = "What is heavy for the collector, larger than --max-bytes or for repeated reports comes last."
        console.print(f"[dim]{order[0].upper()}{order[1:]} {last}[/]", highlight=False)
    notes: dict[str, list[str]] = {}
    for row in rows:
        if row.get("notes") and row["mechanism"] not in notes.setdefault(row["notes"], []):
            notes[row["notes"]].append(row["mechanism"])
    for note, mechanisms in notes.items():
        console.print(f"[dim]{escape(', '.join(mechanisms))}: {escape(note)}.[/]", highlight=False)


def _tell_numbers(found: Any, output: Path | None, plot: Path | None) -> None:
    """Print a mean, or the quartiles of a distribution."""
    if hasattr(found, "quantile"):
        quarters = ", ".join(f"{x:.4g}" for x in found.quantile([0.25, 0.5, 0.75]))
        console.print(
            f"[bold]Distribution.[/] mean {found.mean:.4g}, quartiles {quarters}; {counted(found.n, 'report')}"
        )
    else:
        console.print(
            f"[bold]Mean.[/] {found.mean:.4g}, standard error {found.std_error:.2g}; {counted(found.n, 'report')}"
        )
    show_files(output, plot if hasattr(found, "plot") else None)
    show_promise(found.guarantee)
