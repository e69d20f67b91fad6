"""Output of `query`."""

from typing import Any

from rich.markup import escape

from discreet.cli.common import console, show_files, show_table, warn_if_seeded

#: Groups that a terminal shows.
_MOST = 40


def show(result: Any) -> None:
    """Show the figures of each group, or what they would cost."""
    told = result.figures
    if "figures" in told:
        console.print(f"[bold]{told['groups']:,} group(s) for {told['price']}[/], for {told['unit']}", highlight=False)
        rows = [[f["figure"], f["noise"], _text(f["std_error"], "not known beforehand")] for f in told["figures"]]
        show_table("Expected", ["figure", "noise", "standard error"], rows, right=("standard error",))
        console.print("Nothing was read or charged.")
        return
    shown = told["groups"][:_MOST]
    names = list(shown[0]) if shown else []
    show_table(f"{100 * told['level']:g} % intervals", names, [[_text(row[n]) for n in names] for row in shown])
    if len(told["groups"]) > _MOST:
        console.print(f"and {len(told['groups']) - _MOST:,} more groups; use --json or -o for all")
    if any(row.get("few") for row in shown):
        console.print("[yellow]few: the noisy number of rows is small. Do not rely on these groups.[/]")
    delta = f", delta {told['delta']:g}" if told["delta"] else ""
    console.print(f"Cost: epsilon {told['epsilon']:g}{delta}, for {escape(told['unit'])}.", highlight=False)
    for text in (text for text in result.guarantee.assumptions if "selected privately" in text):
        console.print(f"[yellow]{escape(text[0].upper() + text[1:])}.[/]", highlight=False)
    show_files(*result.files.values())
    warn_if_seeded(told["seeded"])


def _text(value: Any, missing: str = "no value") -> str:
    if value is None:
        return missing
    if isinstance(value, bool):
        return "few" if value else ""
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
