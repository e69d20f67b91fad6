"""The verbs about evidence: the output of `audit`; `verify`, one verdict on what was handed out; and `key`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from discreet.cli.common import app, console, echo, group, printing, show_files, show_table
from discreet.cli.tables import show_report
from discreet.cli.verbs import verb
from discreet.core import PublicKey, SigningKey, asked_passphrase, public_place
from discreet.jobs import option

_COLOURS = {True: "[green]holds[/]", False: "[bold red]does not hold[/]", None: "[dim]note[/]"}
#: Openings of details that are results of their own.
_NOT_CHECKABLE, _NOT_APPLICABLE = "not checkable", "does not apply"


def show(result: Any) -> None:
    """Show the checks of a file, or the runs of a mechanism."""
    (_mechanism if result.job.data is None else _artifact)(result.artifact)
    show_files(*result.files.values())


def show_compared(result: Any) -> None:
    """Show the comparison of a release with the raw table, and which columns it leaves out."""
    show_report(result)
    for left in result.figures.get("comparison", {}).get("left_out", ()):
        console.print(f"[bold]Left out.[/] {escape(left['column'])}: {escape(left['reason'])}.", highlight=False)


def listed(as_json: bool) -> None:
    """List all audited mechanisms with their claims."""
    from discreet.jobs.work import names

    rows = names()
    if as_json:
        echo([{"name": n, "claim": c, "pairs": p} for n, c, p in rows])
        return
    columns = ("mechanism", "claim", "neighbours, or tables")
    show_table(f"{len(rows)} audited mechanisms", columns, rows, prose=columns[2:])


def _artifact(found: Any) -> None:
    if found.guarantee is not None:
        console.print(f"[bold]Promised.[/] {escape(found.guarantee.sentence())}", highlight=False)
    table = Table(title=escape(f"{found.file}: {found.kind}"), title_justify="left")
    for name in ("check", "result", "detail"):
        table.add_column(name, overflow="fold")
    for check in found.checks:
        said, _, detail = check.detail.partition(": ")
        if said in (_NOT_CHECKABLE, _NOT_APPLICABLE):
            table.add_row(check.name, f"[dim]{said}[/]", escape(detail))
        else:
            table.add_row(check.name, _COLOURS[check.holds], escape(check.detail))
    console.print(table)
    split = [check.detail.partition(": ") for check in found.checks if check.holds is None]
    blocked = "; ".join(detail.partition(";")[0] for said, _, detail in split if said == _NOT_CHECKABLE)
    if found.passed and blocked:
        console.print(f"All checks passed that could be made. Not checkable: {escape(blocked)}.", highlight=False)
    elif found.passed:
        console.print("[green]All checks passed.[/]")
    for check in found.checks:
        if check.holds is False:
            console.print(f"[bold red]Refused:[/] {escape(check.detail)}", highlight=False)
    if found.seeded:
        console.print("[bold red]Seeded: this release must not be published.[/]")


def _mechanism(facts: dict[str, Any]) -> None:
    for title, found in facts["results"]:
        console.print(f"[bold]{escape(title)}.[/] {escape(str(found))}", highlight=False)
    if facts.get("exact_result") is not None:
        console.print(f"[bold]Exact distribution, first pair.[/] {escape(str(facts['exact_result']))}", highlight=False)
    for text in facts.get("failures", ()):
        console.print(f"[bold red]Does not hold:[/] {escape(text)}", highlight=False)
    console.print("[green]Not refuted.[/]" if facts["passed"] else "[bold red]REFUTED.[/]")


_RESULTS = {"holds": "[green]holds[/]", "contradicted": "[bold red]contradicted[/]",
    "not checkable": "[yellow]not checkable[/]", "note": "[dim]note[/]"}  # fmt: skip


@verb(
    app,
    option("file", "files", "What was released: files with a guarantee in them or next to them, and signatures.",
        ["safe.csv"], required=True, positional=True),
    option("page", "file", "The page about them.", "report.html"),
    option("account", "file", "The account that they were charged to.", "patients.account"),
    option("key", "files", "A public key that you trust. What none of these signed is contradicted.",
        ["office.key.pub"]),
    option("head", "list", "A head of the account that was seen before.", ["sha256:..."]),
    examples=("verify safe.csv --page report.html",
        "verify safe.csv --page report.html --account patients.account --key office.key.pub"),
    failed="contradicted, 2 not checkable",
)  # fmt: skip
def verify(
    *, file: list[str], page: Path | None, account: Path | None, key: list[str], head: list[str], as_json: bool
) -> None:
    """Check what was handed out: files, page, promise, account and signatures, and whether they belong together.

    The answer says what is promised to whom, what was checked, what contradicts it, and what could not be checked.
    """
    from discreet.reporting import verify as judge

    keys = [PublicKey.load(path) for path in key or ()]
    found = judge([Path(path).expanduser() for path in file], page, account, keys, head or ())
    with printing():
        echo(found.to_dict()) if as_json else _show_verdict(found)
    raise typer.Exit(found.code)


def _show_verdict(found: Any) -> None:
    from discreet.reporting import VERDICTS

    said = _RESULTS[VERDICTS[found.code]] if found.said == VERDICTS[found.code] else f"[yellow]{escape(found.said)}[/]"
    console.print(f"[bold]Verdict:[/] {said}", highlight=False)
    for promise in found.promises:
        text = f"[bold]{escape(promise['file'])} promises:[/] {escape(promise['promise'])}"
        console.print(text, highlight=False)
    order = {"contradicted": 0, "not checkable": 1, "holds": 2, "note": 3}
    for answer in sorted(found.answers, key=lambda a: order[a.result]):
        detail = answer.detail.removeprefix("not checkable: ")
        line = f"{_RESULTS[answer.result]}  {escape(answer.about)}, {answer.name}: {escape(detail)}"
        console.print(line, highlight=False, soft_wrap=False)
    console.print(f"[bold]Not in any file.[/] {escape(found.rests)}", highlight=False)


key = group("key", "Make and show keys that sign releases, so that others can see who vouches for them.", app)


@verb(
    key,
    option("file", "output", "File of the private key; the public one is next to it, with .pub added.", "office.key",
        required=True, positional=True),
    option("name", "text", "Name of the key, which signatures state. Only its fingerprint proves anything.",
        "Data office", default=""),
    option("no_passphrase", "flag", "Do not encrypt the private key: only the permissions of its file protect it.",
        True),
    examples=('key create office.key --name "Data office"',),
)  # fmt: skip
def create(*, file: Path, name: str, no_passphrase: bool) -> Iterator[Any]:
    """Make an Ed25519 key pair. The private key is encrypted with a passphrase, which is asked for.

    Without a terminal, the passphrase comes from the variable DISCREET_KEY_PASSPHRASE.
    """
    made = SigningKey.create(file, name, None if no_passphrase else asked_passphrase(file, new=True)).public
    yield {"private": str(file), "public": str(public_place(file)), "name": name, "fingerprint": made.fingerprint}
    console.print(f"[bold]Private key[/] [cyan]{escape(str(file))}[/]: keep it. Sign with  --sign {escape(str(file))}")
    console.print(f"[bold]Public key[/] [cyan]{escape(str(public_place(file)))}[/]: give it to all who check.")
    console.print(f"[bold]Fingerprint[/] {made.fingerprint}", highlight=False, soft_wrap=True)


@verb(
    key,
    option("file", "file", "File of the public key.", "office.key.pub", required=True, positional=True),
    name="show",
    examples=("key show office.key.pub",),
)
def show_key(*, file: Path) -> Iterator[Any]:
    """Show the fingerprint of a public key, to compare it with one that you received another way."""
    found = PublicKey.load(file)
    yield {"name": found.name, "fingerprint": found.fingerprint}
    console.print(f"{escape(found.name) or 'no name'}: {found.fingerprint}", highlight=False, soft_wrap=True)
