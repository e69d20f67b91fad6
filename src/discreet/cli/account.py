"""The verbs of `account`: budgets that outlive programs."""

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from discreet.cli.common import Json, console, epilog
from discreet.core import SURE_DELTA, counted
from discreet.errors import DataSourceError, DiscreetError, InvalidArgument

account = typer.Typer(
    name="account",
    help="Budgets that outlive programs: one file per data set, charged by every release before a row is read.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
File = Annotated[Path, typer.Argument(metavar="ACCOUNT", help="The file of the account.", show_default=False)]
#: What was reserved and never booked: whether its program still runs nobody can know from the file.
_OPEN = "not booked"


@account.command(epilog=epilog('account create patients.account --dataset "patients 2026" --epsilon 3'))
def create(
    file: File,
    dataset: Annotated[str, typer.Option(help="What the budget is for; every artifact will name it (required).")] = "",
    epsilon: Annotated[float | None, typer.Option(help="The limit of everything together, in epsilon.")] = None,
    delta: Annotated[
        float, typer.Option(help="The limit of delta; without it, releases with a delta are refused.")
    ] = 0.0,
    rho: Annotated[float | None, typer.Option(help="Instead of epsilon: the limit in zCDP, stated at --delta.")] = None,
    person: Annotated[
        str, typer.Option(metavar="COLUMN", help="Privacy is promised to persons, who are named by this column.")
    ] = "",
    yes_really: Annotated[bool, typer.Option("--yes-really", help="A delta above 0.001 is meant.")] = False,
    as_json: Json = False,
) -> None:
    """Make an account: what a data set may cost in all, and whom that protects."""
    if not dataset:
        raise InvalidArgument("--dataset", None, "given: what the budget is for", '--dataset "patients 2026"')
    if (epsilon is None) == (rho is None):
        raise InvalidArgument("--epsilon", epsilon, "given, or --rho with --delta, but not both", "--epsilon 3")
    if delta > SURE_DELTA and not yes_really:
        expected = (
            f"at most {SURE_DELTA:g} unless it is said twice (with that chance anything may come out about anybody)"
        )
        raise InvalidArgument("--delta", delta, expected, "--delta 1e-6, or --yes-really")
    from discreet.accounts import Account

    unit: Any = {"person": person} if person else "row"
    given: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "yes_really": yes_really}
    made = Account.create(file, dataset=dataset, unit=unit, **given)
    if as_json:
        typer.echo(json.dumps(made.to_dict()))
        return
    console.print(
        f"[bold]The account.[/] [cyan]{escape(str(file))}[/]: {escape(dataset)} may cost {made.currency} "
        f"{made.total:g} in all{f', delta {made.delta:g}' if made.delta else ''}, for {escape(made.unit)}."
    )
    console.print(f"Name it in every release:  [cyan]--account {escape(str(file))}[/]", soft_wrap=True)


@account.command(epilog=epilog("account show patients.account", "account show patients.account --json"))
def show(
    file: File,
    delta: Annotated[
        float | None, typer.Option(help="The delta of the sum of privacy losses; by default the account's, or 1e-6.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what was released, when, by whom and at what price, and what is left."""
    from discreet.accounts import CONDITION, Account, in_words

    found = Account(file)
    share = found.stated_delta if delta is None else delta
    if as_json:
        epsilon = found.together(share)
        together = {"epsilon": epsilon if math.isfinite(epsilon) else None, "delta": share, "condition": CONDITION}
        typer.echo(json.dumps({**found.to_dict(), "together": together}, ensure_ascii=False))
        return
    from rich.table import Table

    shown = Table(title=escape(f"{found.dataset}, for {found.unit}"), title_justify="left", width=80)
    for name in ("", "when", "who", "what", found.currency, "state"):
        right = name in ("", found.currency)
        shown.add_column(name, justify="right" if right else "left", no_wrap=right or name in ("when", "state"))
    entries = found.entries
    for e in entries:
        state = f"[yellow]{_OPEN}[/]" if e.state == "reserved" else e.state
        state += " [red]seeded[/]" if e.seeded else ""
        when = e.when[:16].replace("T", " ")
        shown.add_row(str(e.number), when, escape(e.who), escape(e.what), f"{float(e.price):.6g}", state)
    console.print(shown)
    for e in entries:
        for note in e.notes:
            console.print(f"[dim]{e.number}:[/] {escape(note)}")
    _tell_sums(found, in_words(found.prices, share) if entries else "")


def _tell_sums(found: Any, together: str = "") -> None:
    """Say what all entries amount to."""
    spent = f"{found.currency} {found.spent:.6g} of {found.total:.6g}"
    if found.currency == "epsilon" and found.delta:
        spent += f", delta {found.delta_spent:.3g} of {found.delta:.3g}"
    console.print(f"[bold]Spent[/] {spent}; [bold]left[/] {found.remaining:.6g}.")
    if together:
        console.print(f"[bold]Together[/] {together}.")
    lost = [str(e.number) for e in found.entries if e.state == "reserved"]
    if lost:
        one = len(lost) == 1
        console.print(
            f"[yellow]{'Entry' if one else 'Entries'} {', '.join(lost)} {'was' if one else 'were'} reserved and not "
            "booked:[/] the program still runs, or was lost; then it stays spent. 'discreet account annotate' says why."
        )
    if found.closed:
        console.print(f"[bold]Closed[/] on {found.closed[:10]}: nothing more can be spent.")
    console.print(f"[dim]head {found.head}[/]", soft_wrap=True)


@account.command(epilog=epilog("account add patients.account old-synopsis.parquet"))
def add(
    file: File,
    artifact: Annotated[Path, typer.Argument(help="A release, or its promise as JSON.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Book an artifact that was released before the account existed."""
    from discreet.accounts import Account
    from discreet.core import Guarantee
    from discreet.reporting import kind_of
    from discreet.synopses import Synopsis

    if not artifact.is_file():
        raise DataSourceError(f"artifact: cannot read {str(artifact)!r} (no such file); check the path")
    kind = kind_of(artifact)
    if kind not in ("synopsis", "promise"):
        raise InvalidArgument("ARTIFACT", str(artifact), "a synopsis, or a promise as JSON", "synopsis.parquet")
    found = Account(file)
    promise = Synopsis.load(artifact) if kind == "synopsis" else Guarantee.from_json(artifact.read_bytes())
    entry = found.add(promise)
    if as_json:
        typer.echo(json.dumps(entry.to_dict()))
        return
    console.print(
        f"[bold]Added[/] as entry {entry.number}: {found.currency} {float(entry.price):.6g}, sealed {entry.digest}",
        soft_wrap=True,
    )
    _tell_sums(found)


@account.command(epilog=epilog("account verify patients.account --head sha256:...", failed="the file does not hold"))
def verify(
    file: File,
    head: Annotated[
        str, typer.Option(metavar="DIGEST", help="A head that an artifact names; it must be in the file.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Read every line afresh; with a head that was seen before, also find out a file that was cut or is an old copy."""
    from discreet.accounts import Account

    if not file.is_file():
        raise DataSourceError(f"account: cannot read {str(file)!r} (no such file); check the path")
    try:
        facts = Account(file).verify(head or None)
    except DiscreetError as error:
        if as_json:
            typer.echo(json.dumps({"holds": False, "why": str(error)}))
        else:
            console.print(f"[bold red]It does not hold.[/] {escape(str(error))}.", soft_wrap=True)
        raise typer.Exit(1) from None
    if as_json:
        typer.echo(json.dumps({"holds": True, **{k: v for k, v in facts.items() if k != "entries"}}))
        return
    console.print(
        f"[green]It holds:[/] {counted(facts['lines'], 'line')} in one chain, "
        f"{counted(len(facts['entries']), 'release')}, nothing overspent."
    )
    if not head:
        console.print("A file that was cut, or an old copy, is found out by --head: every artifact names one.")


@account.command(epilog=epilog('account annotate patients.account 3 "the machine was switched off"'))
def annotate(
    file: File,
    entry: Annotated[int, typer.Argument(help="The number of the entry.", show_default=False)],
    text: Annotated[str, typer.Argument(help="What became of it.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Write something about an entry, such as what became of a reservation that was lost; its price stays."""
    from discreet.accounts import Account

    found = Account(file)
    found.annotate(entry, text)
    told = found.entries[entry - 1]
    if as_json:
        typer.echo(json.dumps(told.to_dict(), ensure_ascii=False))
    else:
        console.print(f"[bold]Entry {entry}:[/] {escape(told.notes[-1])}")


@account.command(epilog=epilog("account close patients.account"))
def close(file: File, as_json: Json = False) -> None:
    """End an account: what was reserved can still be booked, nothing more can be spent."""
    from discreet.accounts import Account

    found = Account(file)
    found.close()
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
    else:
        _tell_sums(found)
