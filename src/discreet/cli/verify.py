"""The verb `verify`: one verdict on what was handed out."""

from pathlib import Path

import typer
from rich.markup import escape

from discreet.cli.common import console, echo
from discreet.cli.verbs import verb
from discreet.core import PublicKey
from discreet.jobs import option

_COLOURS = {"holds": "[green]holds[/]", "contradicted": "[bold red]contradicted[/]",
    "not checkable": "[yellow]not checkable[/]", "note": "[dim]note[/]"}  # fmt: skip


def register(app: typer.Typer) -> None:
    """Add the verb."""
    verb(
        app,
        option("file", "files", "What was released: files with a guarantee in them or next to them, and signatures.",
            ["safe.csv"], required=True, positional=True),
        option("page", "file", "The page about them.", "report.html"),
        option("account", "file", "The account that they were charged to.", "patients.account"),
        option("key", "files", "A public key that you trust; what no such key signed contradicts.",
            ["office.key.pub"]),
        option("head", "list", "A head of the account that was seen before.", ["sha256:..."]),
        examples=("verify safe.csv --page report.html",
            "verify safe.csv --page report.html --account patients.account --key office.key.pub"),
        failed="contradicted, 2 not checkable",
    )(verify)  # fmt: skip


def verify(
    *, file: list[str], page: Path | None, account: Path | None, key: list[str], head: list[str], as_json: bool
) -> None:
    """Check what was handed out: files, page, promise, account and signatures, and whether they belong together.

    The answer says what is promised to whom, what was checked, what contradicts it, and what could not be checked.
    """
    from discreet.reporting import VERDICTS
    from discreet.reporting import verify as judge

    keys = [PublicKey.load(path) for path in key or ()]
    found = judge([Path(path).expanduser() for path in file], page, account, keys, head or ())
    if as_json:
        echo(found.to_dict())
        raise typer.Exit(found.code)
    said = VERDICTS[found.code]
    console.print(f"[bold]Verdict:[/] {_COLOURS[said]}", highlight=False)
    for promise in found.promises:
        text = f"[bold]{escape(promise['file'])} promises:[/] {escape(promise['promise'])}"
        console.print(text, highlight=False)
    order = {"contradicted": 0, "not checkable": 1, "holds": 2, "note": 3}
    for answer in sorted(found.answers, key=lambda a: order[a.result]):
        detail = answer.detail.removeprefix("not checkable: ")
        line = f"{_COLOURS[answer.result]}  {escape(answer.about)}, {answer.name}: {escape(detail)}"
        console.print(line, highlight=False, soft_wrap=False)
    console.print(f"[bold]Not in any file.[/] {escape(found.rests)}", highlight=False)
    raise typer.Exit(found.code)
