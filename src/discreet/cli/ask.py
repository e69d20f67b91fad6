"""Output of `ask` and `query`."""

from typing import Any

from rich.markup import escape

from discreet.cli.common import console, show_files, show_table, warn_if_seeded

_MOST = 40


def show(result: Any) -> None:
    """Show an answer."""
    found, told = result.artifact, result.figures
    if told["std_error"] is None:
        why = escape(found.note[0].upper() + found.note[1:])
        console.print(f"[bold yellow]Unknown:[/] {escape(told['question'])}. {why}.", highlight=False)
        warn_if_seeded(told["seeded"])
        return
    low, high = (f"{told[end]:,.0f}" for end in ("low", "high"))
    console.print(f"[bold]About {round(found.value):,} rows[/], {escape(told['question'])}", highlight=False)
    console.print(f"{100 * told['level']:g} % interval: {low} to {high}", highlight=False)
    if told["modelled"]:
        uneven = f", and {found.evenness_error:,.1f} from the assumptions of the model" if found.evenness_error else ""
    elif found.evenness_error:
        uneven = f", and {found.evenness_error:,.1f} because rows may be uneven inside cells that the condition divides"
    else:
        uneven = "; the condition divides no cell"
    console.print(
        f"Standard error {found.std_error:,.1f}: {found.noise_error:,.1f} from noise{uneven}.", highlight=False
    )
    if found.note:
        console.print(f"[yellow]{escape(found.note[0].upper() + found.note[1:])}.[/]", highlight=False)
    if found.unlisted > 0:
        console.print(
            f"[yellow]Up to {found.unlisted:,.0f} more[/] may be in unlisted cells; the interval includes them.",
            highlight=False,
        )
    if result.more is not None:
        _show_groups(result.more.to_arrow(), told["level"])
    show_files(*result.files.values())
    warn_if_seeded(told["seeded"])


def _show_groups(groups: Any, level: float) -> None:
    """Show the first groups, and the number of the others."""
    figures = ("std_error", "noise_error", "evenness_error", "model_error", "low", "high")
    places = [n for n in groups.column_names if n not in figures]
    rows, shown = [], groups.slice(0, _MOST).to_pylist()
    for row in shown:
        values = [row[n] for n in places if n != "count"]
        texts = ["no value" if v is None else f"{v:,.6g}" if isinstance(v, float) else str(v) for v in values]
        texts.append(f"{round(row['count']):,}")
        rows.append([*texts, f"{row['low']:,.0f} to {row['high']:,.0f}"])
    show_table("By group", [*places, f"{100 * level:g} % interval"], rows, right=("count",))
    if any(round(row["count"]) < 0 for row in shown):
        console.print("A negative count means few rows or none. It is kept, so that groups add up.")
    if len(groups) > _MOST:
        console.print(f"and {len(groups) - _MOST:,} more groups; use --json or -o for all")


def show_answer(result: Any) -> None:
    """Show the figures of `query` by group, or what they would cost."""
    told = result.figures
    if told.get("note"):
        console.print(escape(told["note"]), highlight=False)
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
    price = f"epsilon {told['epsilon']:g}" + (f", delta {told['delta']:g}" if told["delta"] else "")
    console.print(f"Cost: {price}, for {escape(told['unit'])}.", highlight=False)
    show_files(*result.files.values())
    warn_if_seeded(told["seeded"])


def _text(value: Any, missing: str = "no value") -> str:
    if isinstance(value, bool):
        return "few" if value else ""
    return missing if value is None else f"{value:,.6g}" if isinstance(value, float) else str(value)
