"""The verbs of `account`: privacy budgets that last longer than a program."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from discreet.cli.common import app, console, echo, group, show_table
from discreet.cli.verbs import verb
from discreet.core import DELTA, RHO, SURE_DELTA, Signature, SigningKey, counted, left_of, signature_place
from discreet.errors import DataSourceError, DiscreetError, FormatError, InvalidArgument, MissingExtra
from discreet.jobs import SIGN, SURE, YES_REALLY, declared, option

account = group(
    "account", "Manage privacy budgets: one file per data set, charged before a release reads any row.", app
)
FILE = option("file", "file", "File of the account.", "patients.account", required=True, positional=True)


@verb(
    account,
    FILE,
    option("dataset", "text", "Name of the data set, which every release will state.", "patients 2026", required=True),
    option("epsilon", "budget", "Maximum epsilon that all releases together may spend.", 3),
    declared("delta", DELTA, help="Maximum delta of all releases; without it, releases with a delta are refused."),
    declared("rho", RHO, help="Maximum rho (zCDP) of all releases, instead of epsilon; needs --delta."),
    option("person", "text", "Protect persons, who are identified by this column, instead of rows.", "patient"),
    YES_REALLY,
    examples=('account create patients.account --dataset "patients 2026" --epsilon 3 --delta 1e-6',),
)
def create(
    *, file: Path, dataset: str, epsilon: Any, delta: Any, rho: Any, person: str, yes_really: bool
) -> Iterator[Any]:
    """Create an account: the total privacy budget of a data set."""
    if (epsilon is None) == (rho is None):
        raise InvalidArgument("--epsilon", epsilon, "given, or --rho with --delta, but not both", "--epsilon 3")
    if (delta or 0) > SURE_DELTA and not yes_really:
        means = "with this probability, releases may reveal anything about anyone"
        expected = f"at most {SURE_DELTA:g} unless it is confirmed ({means})"
        raise InvalidArgument("--delta", delta, expected, "--delta 1e-6, or --yes-really")
    _confirm_budget(epsilon, rho, delta, yes_really)
    from discreet.accounts import Account

    unit: Any = {"person": person} if person else "row"
    more: dict[str, Any] = {"epsilon": epsilon, "delta": delta or 0.0, "rho": rho, "yes_really": bool(yes_really)}
    made = Account.create(file, dataset=dataset, unit=unit, **more)
    yield made.to_dict()
    console.print(
        f"[bold]Account[/] [cyan]{escape(str(file))}[/]: all releases of {escape(dataset)} together may spend "
        f"{made.currency} {made.total:g}{f', delta {made.delta:g}' if made.delta else ''}, for {escape(made.unit)}."
    )
    console.print(f"Name it in every release:  [cyan]--account {escape(str(file))}[/]", soft_wrap=True)


def _confirm_budget(epsilon: float | None, rho: float | None, delta: float | None, yes_really: bool) -> None:
    """Refuse a total that hardly protects anyone, unless it is confirmed."""
    # An upper bound on the epsilon of rho (Bun and Steinke 2016, proposition 1.3).
    most = epsilon if rho is None else rho + 2 * math.sqrt(-rho * math.log(delta)) if delta else rho
    if yes_really or most is None or most <= SURE:
        return
    name, value, fix = ("--epsilon", epsilon, "3") if rho is None else ("--rho", rho, "0.5")
    means = f"all releases together may be e^{most:g} times as likely with someone's row as without it"
    worth = "" if rho is None else "worth an epsilon of "
    expected = f"{worth}at most {SURE} unless it is confirmed ({means})"
    raise InvalidArgument(name, value, expected, f"{name} {fix}" + ", or --yes-really" * math.isfinite(most))


@verb(
    account,
    FILE,
    declared("delta", DELTA, help="Delta of the total privacy loss; by default that of the account, or 1e-6."),
    examples=("account show patients.account", "account show patients.account --json"),
)
def show(*, file: Path, delta: float | None) -> Iterator[Any]:
    """Show all releases with file, digest, date and price, and the remaining budget."""
    from discreet.accounts import CONDITION, Account, in_words

    found = Account(file)
    share = found.stated_delta if delta is None else delta
    epsilon = found.together(share)
    together = {"epsilon": epsilon if math.isfinite(epsilon) else None, "delta": share, "condition": CONDITION}
    yield {**found.to_dict(), "together": together}
    rows, many = [], len({e.who for e in found.entries}) > 1
    for e in found.entries:
        state = {"reserved": "not booked", "booked": ""}.get(e.state, e.state)
        more = [each for each in (state, "seeded" if e.seeded else "", f"by {e.who}" if many else "") if each]
        what = e.named + (f" ({', '.join(more)})" if more else "")
        price = f"{'ε' if found.currency == 'epsilon' else 'ρ'} {e.cost}" if e.terms is None else e.cost
        rows.append([str(e.number), e.when[:10], what, price, _short(e.digest)])
        rows += [["", "", name, "", _short(digest)] for name, digest in e.files]
    names = ("entry", "date", "release", "price", "digest")
    show_table(f"{found.dataset}, for {found.unit}", names, rows, right=names[:1], prose=names[2:3])
    for e in found.entries:
        for note in e.notes:
            console.print(f"[dim]{e.number}:[/] {escape(note)}")
    _show_sums(found, in_words(found.prices, share) if found.prices else "")


def _short(digest: str | None) -> str:
    """Return the first digits of a digest; ``--json`` has all."""
    return "" if digest is None else digest.removeprefix("sha256:")[:10]


def _show_sums(found: Any, together: str = "") -> None:
    """Show the sums of all entries."""
    spent = f"{found.currency} {found.spent:.6g} of {found.total:.6g}"
    if found.currency == "epsilon" and found.delta:
        spent += f", delta {found.delta_spent:.3g} of {found.delta:.3g}"
    console.print(f"[bold]Spent[/] {spent}; [bold]left[/] {left_of(found.total, found.remaining):.6g}.")
    for each in found.listed:
        console.print(f"[bold]Listed.[/] {escape(each['said'])}", highlight=False)
    for text in found.warnings:
        console.print(f"[bold yellow]Warning:[/] {escape(text)}.", highlight=False)
    if together:
        console.print(f"[bold]All that was spent[/] costs {together}.")
    lost = [str(e.number) for e in found.entries if e.state == "reserved"]
    if lost:
        one = len(lost) == 1
        console.print(
            f"[yellow]{'Entry' if one else 'Entries'} {', '.join(lost)} {'is' if one else 'are'} not booked:[/] the "
            "program is still running, or it was lost. Lost budget stays spent; explain it with "
            "'discreet account annotate'."
        )
    if found.closed:
        console.print(f"[bold]Closed[/] on {found.closed[:10]}: nothing more can be spent.")
    console.print(f"[dim]head {found.head}[/]", soft_wrap=True)


@verb(
    account,
    FILE,
    option("artifact", "file", "A release, or its guarantee as JSON.", "s.parquet", required=True, positional=True),
    examples=("account add patients.account old-synopsis.parquet",),
)
def add(*, file: Path, artifact: Path) -> Iterator[Any]:
    """Book a release that was made before the account existed."""
    from discreet.accounts import Account
    from discreet.core import Guarantee, payload_of, promise_place
    from discreet.reporting import kind_of
    from discreet.synopses import Synopsis

    if not artifact.exists():
        raise DataSourceError(f"artifact: cannot read {str(artifact)!r} (no such file); check the path")
    kind = kind_of(artifact)
    if kind not in ("synopsis", "promise", "released table", "promise of a table"):
        expected = "a synopsis, a released table next to its guarantee, or a guarantee as JSON"
        raise InvalidArgument("ARTIFACT", str(artifact), expected, "synopsis.parquet")
    found = Account(file)
    held = promise_place(artifact) if kind == "released table" else artifact
    promise = Synopsis.load(artifact) if kind == "synopsis" else Guarantee.from_json(held.read_bytes())
    if kind == "released table" and not promise.verify(payload_of(artifact)):
        raise FormatError(f"{artifact} was changed: it does not match its guarantee; nothing was added")
    entry = found.for_task(None, {"verb": "add", "file": artifact.name}).add(promise)
    yield entry.to_dict()
    price = entry.cost if entry.terms else f"{found.currency} {entry.cost}"
    console.print(f"[bold]Added[/] as entry {entry.number}: {price}, digest {entry.digest}", soft_wrap=True)
    _show_sums(found)


@verb(
    account,
    FILE,
    option("head", "text", "A head that a release names; the file must contain it.", "sha256:..."),
    examples=("account verify patients.account --head sha256:...",),
    failed="the file was changed",
)
def verify(*, file: Path, head: str | None, as_json: bool) -> None:
    """Check that the file was not changed.

    A head from a release, or a signature of the account next to it, also shows a shortened or old copy.
    """
    from discreet.accounts import Account

    if not file.is_file():
        raise DataSourceError(f"account: cannot read {str(file)!r} (no such file); check the path")
    place, made, unread = signature_place(file), None, ""
    try:
        facts = (found := Account(file)).verify(head)
        if place.is_file():
            made = Signature.from_json(place.read_bytes())
            signed = made.statement.account or {}
            if not made.holds() or made.statement.about != "account" or signed.get("dataset") != found.dataset:
                raise FormatError(f"{place.name} is not a signature of this account")
            found.verify(signed["head"])
    except MissingExtra as error:
        made, unread = None, f"{place.name} was not checked: {error}"
    except DiscreetError as error:
        if as_json:
            echo({"holds": False, "why": str(error)})
        else:
            console.print(f"[bold red]The file was changed.[/] {escape(str(error))}.", soft_wrap=True)
        raise typer.Exit(1) from None
    if as_json:
        told = {"signed": made and made.statement.time, "unfinished_line": not file.read_bytes().endswith(b"\n")}
        echo({"holds": True, **{k: v for k, v in facts.items() if k != "entries"}, **told})
        return
    heads = ["the head that you gave"] * bool(head) + ([f"the head signed {made.statement.time}"] if made else [])
    seen = " and ".join(heads)
    covered = f"It has {seen}." if seen else "It may be a shortened or old copy: that is not covered."
    console.print(
        f"[green]The file is intact:[/] {counted(facts['lines'], 'line')} in one chain, "
        f"{counted(len(facts['entries']), 'release')}, nothing overspent. {covered}"
    )
    if not file.read_bytes().endswith(b"\n"):
        console.print("[yellow]Its last line is unfinished and does not count:[/] a program was stopped while writing.")
    if unread:
        console.print(f"[yellow]Not checked:[/] {escape(unread)}.", soft_wrap=True)
    if not seen:
        console.print("To detect a shortened or old copy, give --head with a head that a release names.")
    if made:
        console.print(f"Key {made.key.fingerprint} signed it; compare this fingerprint with one that you trust.")


@verb(
    account,
    FILE,
    option("entry", "whole", "Number of the entry.", 3, low=1, required=True, positional=True),
    option("text", "text", "The note.", "machine was switched off", required=True, positional=True),
    examples=('account annotate patients.account 3 "the machine was switched off"',),
)
def annotate(*, file: Path, entry: int, text: str) -> Iterator[Any]:
    """Add a note to an entry, such as why it was never booked. Its price stays."""
    from discreet.accounts import Account

    found = Account(file)
    found.annotate(entry, text)
    noted = found.entries[entry - 1]
    yield noted.to_dict()
    console.print(f"[bold]Entry {entry}:[/] {escape(noted.notes[-1])}")


@verb(account, FILE, replace(SIGN, required=True), examples=("account sign patients.account --sign office.key",))
def sign(*, file: Path, sign: Path) -> Iterator[Any]:
    """Sign the head of an account: a copy that was cut back later does not contain it."""
    from discreet.accounts import Account
    from discreet.jobs import write_signature

    found = Account(file)
    held = {"dataset": found.dataset, "entry": len(found.entries) or None, "head": found.head}
    place, made = write_signature(found.path, SigningKey.load(sign), about="account", account=held)
    yield made.to_dict()
    console.print(f"[bold]Signed[/] head {found.head} in [cyan]{escape(str(place))}[/]", soft_wrap=True)


@verb(account, FILE, examples=("account close patients.account",))
def close(*, file: Path) -> Iterator[Any]:
    """Close an account. Reserved budget can still be booked, but nothing more can be spent."""
    from discreet.accounts import Account

    found = Account(file)
    found.close()
    yield found.to_dict()
    _show_sums(found)
