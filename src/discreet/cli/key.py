"""The verbs of `key`: keys that sign releases."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.markup import escape

from discreet.cli.common import console, group
from discreet.cli.verbs import verb
from discreet.core import PublicKey, SigningKey, asked_passphrase, public_place
from discreet.jobs import option

key = group("key", "Make and show keys that sign releases, so that others can see who vouches for them.")


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
    examples=("key show office.key.pub",),
)
def show(*, file: Path) -> Iterator[Any]:
    """Show the fingerprint of a public key, to compare it with one that you received another way."""
    found = PublicKey.load(file)
    yield {"name": found.name, "fingerprint": found.fingerprint}
    console.print(f"{escape(found.name) or 'no name'}: {found.fingerprint}", highlight=False, soft_wrap=True)
