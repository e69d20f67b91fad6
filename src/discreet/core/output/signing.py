"""Signatures: who vouches for the files of a release.

A key signs a *statement*, as exact bytes: a list of fields, each with its type and length, so that no two statements
have the same bytes. A statement names the digests of files and pages, the guarantee, the account, version, time and
key. The signature is Ed25519 (RFC 8032), from the package `cryptography`. Keys are known by fingerprint, the SHA-256 of
their 32 bytes; their names are claims. The format is in docs/evidence-format.md.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.core.output.files import read_json, read_whole, refuse_later, write_whole
from discreet.errors import DataSourceError, FormatError, MissingExtra

SIGNATURE_ENDING = ".signature.json"
#: Variable of the environment that holds the passphrase of a private key.
PASSPHRASE = "DISCREET_KEY_PASSPHRASE"  # noqa: S105, the name of a variable
_SIGNATURE, _KEY, _VERSION = "discreet.signature", "discreet.key", 1
_MAGIC = b"discreet.statement\x01"
#: A file or page: name and SHA-256.
Named = tuple[str, str]


@dataclass(frozen=True)
class Statement:
    """The signed statement. Digests are in hexadecimal; ``key`` is the fingerprint."""

    about: str  # "release" or "account"
    files: tuple[Named, ...] = ()
    pages: tuple[Named, ...] = ()
    guarantee: str | None = None  # SHA-256 of the guarantee of the release as canonical JSON
    account: Mapping[str, Any] | None = None  # dataset, entry (or None) and head
    version: str = ""
    time: str = ""
    name: str = ""  # of the key; a claim
    key: str = ""

    def to_bytes(self) -> bytes:
        """Return the exact bytes that are signed: fields of type (1 byte), length (8 bytes, big-endian) and value."""
        charged, entry = self.account or {}, (self.account or {}).get("entry")
        parts = [(b"A", self.about.encode())]
        parts += [(b"F", bytes.fromhex(digest) + name.encode()) for name, digest in self.files]
        parts += [(b"P", bytes.fromhex(digest) + name.encode()) for name, digest in self.pages]
        parts += [] if self.guarantee is None else [(b"G", bytes.fromhex(self.guarantee))]
        parts += [(b"D", charged["dataset"].encode())] if charged else []
        parts += [] if entry is None else [(b"E", str(entry).encode())]
        parts += [(b"H", charged["head"].encode())] if charged else []
        parts += [(b"V", self.version.encode()), (b"T", self.time.encode()), (b"N", self.name.encode())]
        parts += [(b"K", bytes.fromhex(self.key))]
        return _MAGIC + b"".join(kind + len(value).to_bytes(8, "big") + value for kind, value in parts)

    def valid(self) -> bool:
        """Return whether all fields have their form: then no other statement has these bytes."""
        digests = [digest for _, digest in (*self.files, *self.pages)] + [self.key, self.guarantee or self.key]
        charged = self.account if self.account is not None else {"dataset": "", "entry": None, "head": ""}
        entry = charged["entry"]
        counted = entry is None or (type(entry) is int and entry > 0)
        whole = self.about in ("release", "account") and set(charged) == {"dataset", "entry", "head"} and counted
        return whole and all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests) and bool(self.to_bytes())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        listed = {n: [{"name": a, "sha256": b} for a, b in getattr(self, n)] for n in ("files", "pages")}
        return {**self.__dict__, **listed}


@dataclass(frozen=True)
class PublicKey:
    """A public key (32 bytes) with the name that its owner gave it."""

    name: str
    raw: bytes

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the key, in hexadecimal."""
        return hashlib.sha256(self.raw).hexdigest()

    @classmethod
    def load(cls, path: str | Path) -> PublicKey:
        """Read a public key as `discreet key create` writes it."""
        text = read_whole(path, "key")
        try:
            facts = read_json(text)
            refuse_later(f"key: {str(path)!r}", facts, _VERSION)
            made = cls(facts["name"], bytes.fromhex(facts["public_key"]))
            if made.to_dict() != facts or len(made.raw) != 32 or not isinstance(made.name, str):
                raise ValueError
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            damaged = FormatError(f"key: {str(path)!r} is not a public key; name the file that ends in .pub")
            raise (error if isinstance(error, FormatError) else damaged) from None
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        facts = {"format": _KEY, "format_version": _VERSION, "algorithm": "ed25519", "name": self.name}
        return {**facts, "public_key": self.raw.hex(), "fingerprint": self.fingerprint}


@dataclass(frozen=True)
class Signature:
    """A statement with the key and the signature (64 bytes) of its exact bytes."""

    statement: Statement
    key: PublicKey
    signature: bytes = field(repr=False)

    def holds(self) -> bool:
        """Return whether the key signed this statement; `MissingExtra` without `cryptography`."""
        ed25519 = _curve()
        from cryptography.exceptions import InvalidSignature

        try:
            ed25519.Ed25519PublicKey.from_public_bytes(self.key.raw).verify(self.signature, self.statement.to_bytes())
        except (InvalidSignature, ValueError):
            return False
        return self.statement.key == self.key.fingerprint

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        facts = {"format": _SIGNATURE, "format_version": _VERSION, "statement": self.statement.to_dict()}
        return {**facts, "public_key": self.key.raw.hex(), "signature": self.signature.hex()}

    def to_json(self) -> str:
        """Return one line, as a page carries it."""
        return json.dumps(self.to_dict(), separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Signature:
        """Read a signature strictly: other fields, or other forms of them, are refused."""
        try:
            facts = read_json(text)
            refuse_later("the signature", facts, _VERSION)
            told = {**facts["statement"]}
            told |= {name: tuple((f["name"], f["sha256"]) for f in told[name]) for name in ("files", "pages")}
            made = cls(Statement(**told), PublicKey(told["name"], bytes.fromhex(facts["public_key"])),
                       bytes.fromhex(facts["signature"]))  # fmt: skip
            same = json.dumps(made.to_dict(), sort_keys=True) == json.dumps(facts, sort_keys=True)  # 1 is not true
            if not same or not made.statement.valid() or (len(made.key.raw), len(made.signature)) != (32, 64):
                raise ValueError
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            damaged = FormatError("the signature is damaged, or of a format that this version cannot read")
            raise (error if isinstance(error, FormatError) else damaged) from None
        return made


def _curve() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtra("signing and checking signatures", "sign") from None
    return ed25519


class SigningKey:
    """A private key, opened to sign. Its file is PKCS #8 (PEM): encrypted, or open to its owner alone."""

    def __init__(self, key: Any, name: str = "") -> None:
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        self._key = key
        self.public = PublicKey(name, key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    @classmethod
    def create(cls, path: str | Path, name: str, passphrase: str | None) -> SigningKey:
        """Make a key pair: ``path`` and ``path.pub``. Without a passphrase, only permissions protect it."""
        made = cls(_curve().Ed25519PrivateKey.generate(), name)
        from cryptography.hazmat.primitives import serialization as form

        for place in (Path(path).expanduser(), public_place(path)):
            if place.exists():
                raise DataSourceError(f"key: {str(place)!r} already exists; name another file")
        how = form.BestAvailableEncryption(passphrase.encode()) if passphrase else form.NoEncryption()
        data = made._key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, how)
        write_whole(path, data, private=True)
        write_whole(public_place(path), json.dumps(made.public.to_dict(), indent=2, ensure_ascii=False) + "\n")
        return made

    @classmethod
    def load(cls, path: str | Path, passphrase: str | None = None) -> SigningKey:
        """Open a private key. The passphrase comes from the argument, the environment, or the terminal."""
        ed25519, place = _curve(), Path(path).expanduser()
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        data = read_whole(path, "key")
        closed = b"ENCRYPTED" in data
        if not closed and os.name == "posix" and place.stat().st_mode & 0o077:
            raise DataSourceError(f"key: others can read {str(path)!r}, which is not encrypted; run chmod 600 {place}")
        secret = (passphrase or asked_passphrase(path)) if closed else None
        try:
            key = load_pem_private_key(data, None if secret is None else secret.encode())
        except (ValueError, TypeError):
            why = f"the passphrase is wrong; check {PASSPHRASE}" if closed else "it is no private key; check the path"
            raise FormatError(f"key: cannot open {str(path)!r}: {why}") from None
        if not isinstance(key, ed25519.Ed25519PrivateKey):
            raise FormatError(f"key: {str(path)!r} is not an Ed25519 key; make one with 'discreet key create'")
        made, beside = cls(key), public_place(path)
        if beside.is_file() and (known := PublicKey.load(beside)).raw == made.public.raw:
            made.public = known
        return made

    def sign(self, **facts: Any) -> Signature:
        """Return a signed statement; ``facts`` are its fields but name and key."""
        made = Statement(**facts, name=self.public.name, key=self.public.fingerprint)
        return Signature(made, self.public, self._key.sign(made.to_bytes()))


def asked_passphrase(path: str | Path, *, new: bool = False) -> str:
    """Return the passphrase of a key from the environment, or ask for it (twice if it is ``new``)."""
    if (said := os.environ.get(PASSPHRASE)) is None:
        if not sys.stdin.isatty():
            raise DataSourceError(f"key: {str(path)!r} needs a passphrase, and there is no terminal; set {PASSPHRASE}")
        said = getpass.getpass(f"Passphrase of {path}: ")
        if new and said != getpass.getpass("The same again: "):
            raise DataSourceError("key: the two passphrases differ; nothing was written; try again")
    if new and not said:
        raise DataSourceError("key: the passphrase is empty; nothing was written; choose one, or use --no-passphrase")
    return said


def public_place(path: str | Path) -> Path:
    """Return the path of the public key of a private one."""
    target = Path(path).expanduser()
    return target.with_name(f"{target.name}.pub")


def signature_place(path: str | Path) -> Path:
    """Return the path of a file's detached signature: ``<name>.signature.json`` in the same folder."""
    target = Path(path).expanduser()
    return target.with_name(f"{target.name}{SIGNATURE_ENDING}")
