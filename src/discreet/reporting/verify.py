"""One verdict on what was handed out: files, page, promise, account and signatures, and whether they belong together.

What is checked, and by which rules, is in docs/evidence-format.md, so that others can check the same.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jinja2 import TemplateError

from discreet._version import __version__
from discreet.accounts import Account, heads_of
from discreet.core import (
    PROMISE_ENDING,
    SIGNATURE_ENDING,
    UPGRADE,
    Guarantee,
    PublicKey,
    Signature,
    at_least,
    digest_of,
    left_of,
    payload_of,
    promise_place,
    promises_nothing,
    signature_place,
)
from discreet.errors import DataSourceError, DiscreetError, FormatError, MissingExtra
from discreet.reporting.artifacts import kind_of
from discreet.reporting.pages import carried
from discreet.reporting.verdict import Check, Findings, examine
from discreet.reporting.words import decimal, for_lawyers
from discreet.reporting.write import page_again

#: Verdicts by exit code.
VERDICTS = ("holds", "contradicted", "not checkable")
_OPEN = "not checkable: "
#: What a page says about an account in words.
_WORDS = {"listed", "warnings", "price"}
#: What facts that someone made up can lead to.
_UNREADABLE = (
    DiscreetError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, TemplateError
)  # fmt: skip
#: What no file can show.
_RESTS = "That the noise was drawn as stated, and that the ledger is complete, cannot be seen in a file: it rests on"
_RESTS_ON_K = (
    "That others know no further columns than the quasi-identifiers, and that the rows are the true ones, cannot be "
    "seen in a file: it rests on"
)
_RESTS_ON_HISTORY = "What holds together with earlier releases was not checked: only the private history shows it."
#: Columns that a promise names.
_MOST = 12
#: How accounts begin: no line is before the first.
_FIRST_LINE = b'{"after":"' + b"0" * 64
_CARRIED = f'name="{carried.FACTS}"'.encode()


def _is_page(path: Path) -> bool:
    return path.is_file() and path.read_bytes()[:64].lstrip().lower().startswith(b"<!doctype html")


@dataclass(frozen=True)
class Answer(Check):
    """A check of a verdict, and the file that it is about."""

    about: str

    @property
    def result(self) -> str:
        """Return the result in words: a verdict, or a note."""
        if self.holds is not None:
            return VERDICTS[not self.holds]
        return VERDICTS[2] if self.detail.startswith(_OPEN) else "note"


@dataclass
class Verdict:
    """The promise, all checks, and on whom the rest relies."""

    promises: list[dict[str, Any]] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    rests: str = ""

    @property
    def code(self) -> int:
        """Return the exit code: 0 holds, 1 contradicted, 2 not checkable."""
        found = [answer.result for answer in self.answers]
        return 1 if VERDICTS[1] in found else 2 if VERDICTS[2] in found else 0

    @property
    def said(self) -> str:
        """Return the verdict in words. A table that promises nothing can be unchanged, and no more."""
        empty = [promise["file"] for promise in self.promises if promise["nothing"]]
        if self.code or not empty:
            return VERDICTS[self.code]
        them = "it promises" if len(empty) == 1 else "they promise"
        whole = len(empty) == len(self.promises)
        return f"unchanged; {them} nothing" if whole else f"holds; {', '.join(empty)}: no promise"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        checks = [{"about": a.about, "check": a.name, "result": a.result, "detail": a.detail} for a in self.answers]
        told = {"verdict": VERDICTS[self.code], "code": self.code, "promises": self.promises, "checks": checks}
        return {**told, "rests_on": self.rests}


def verify(
    files: Sequence[Path], page: Path | None = None, account: Path | None = None, keys: Sequence[PublicKey] = (),
    heads: Sequence[str] = (),
) -> Verdict:  # fmt: skip
    """Check everything that was handed out, together.

    Parameters
    ----------
    files : list of Path
        Released files, and perhaps their signatures and pages.
    page, account : Path, optional
        The page about them, and the account that they were charged to.
    keys : list of PublicKey
        Keys that the reader knows. With them, files that none of them signed contradict.
    heads : list of str
        Heads of the account that were seen before.
    """
    for path in (*files, *(p for p in (page, account) if p is not None)):
        if not path.exists() or not path.resolve().name:
            raise DataSourceError(f"cannot read {str(path)!r} (no such file); check the path")
    for path in files:
        if path.is_file() and path.read_bytes().startswith(_FIRST_LINE):
            raise DataSourceError(f"{path.name} is an account; give it with --account")
    if files and page is None and all(_is_page(path) and _CARRIED in path.read_bytes() for path in files):
        raise DataSourceError(f"{files[0].name} is a page; give it with --page, and the file that it is about as FILE")
    case = _Case(keys, heads)
    for path in files:
        case.take(path if path.name else path.resolve())
    if page is not None:
        case.read_page(page)
    if not case.found and account is None:
        case.add("files", "file", None, f"{_OPEN}no released file was given")
    if heads and account is None:
        case.add("account", "head", None, f"{_OPEN}give the account, to find the head in it that you gave")
    case.sign(account)
    case.pages(account)
    case.account(account)
    promises = [found.guarantee for found in case.found.values() if found.guarantee]
    grouped = [promise.model == "syntactic" for promise in promises]
    said = [_RESTS] * (False in grouped or not grouped) + [_RESTS_ON_K] * (True in grouped)
    earlier = any(promise.parameters.get("earlier_releases") for promise in promises)
    case.made.rests = " ".join([*(f"{each} {case.vouches()}." for each in said), *[_RESTS_ON_HISTORY] * earlier])
    return case.made


class _Case:
    """The files that were handed out, as far as they are read."""

    def __init__(self, keys: Sequence[PublicKey], heads: Sequence[str]) -> None:
        self.made, self.keys = Verdict(), {key.fingerprint: key for key in keys}
        self.found: dict[Path, Findings] = {}
        self.digests: dict[Path, str] = {}
        self.texts: dict[Path, str] = {}
        self.facts: dict[Path, Any] = {}
        self.signatures: list[tuple[str, Signature]] = []
        self.inside: dict[Path, Signature] = {}
        self.good: list[Signature] = []
        self.others: list[Signature] = []  # by keys that were not named, or not checked
        self.unread = False
        self.heads = [(head, "a head that you gave") for head in heads]
        names = [key.name for key in keys]
        for name in {n for n in names if names.count(n) > 1}:
            self.add("keys", "key", None, f"several of your keys are called {shown(name)}; only fingerprints count")

    def add(self, about: str, check: str, holds: bool | None, detail: str) -> None:
        self.made.answers.append(Answer(check, holds, _plain(detail), about))

    def take(self, path: Path) -> None:
        """Read one file: a signature, a page, or something with a promise."""
        if path.name.endswith(SIGNATURE_ENDING) and path.is_file():
            self._read_signature(shown(path.name), path.read_bytes())
        elif _is_page(path):
            self.read_page(path)
        else:
            described = path.parent / path.name.removesuffix(PROMISE_ENDING)
            path = described if described != path.parent and described.exists() else path
            if path not in self.found:
                self._read_file(path, shown(path.name))

    def _read_signature(self, about: str, data: bytes | str) -> Signature | None:
        try:
            made = Signature.from_json(data)
        except FormatError as error:
            later = str(error).endswith(UPGRADE)
            self.add(about, "signature", None if later else False, _OPEN * later + str(error))
            return None
        if made not in [known for _, known in self.signatures]:
            self.signatures.append((about, made))
        return made

    def read_page(self, path: Path) -> None:
        """Read a page, its facts and its signature."""
        about = shown(path.name)
        try:
            text = path.read_bytes().decode()
            facts, signature = carried.read(carried.held(text, carried.FACTS)), carried.held(text, carried.SIGNATURE)
        except (FormatError, UnicodeDecodeError, OSError) as error:
            said = error if isinstance(error, FormatError) else "it is not a page as this version writes them"
            self.add(about, "page", False if self.keys else None, f"{'' if self.keys else _OPEN}{said}")
            return
        self.facts[path], self.texts[path] = facts, text
        if signature and (made := self._read_signature(about, signature)) is not None:
            self.inside[path] = made

    def _read_file(self, path: Path, about: str) -> None:
        self.found[path] = Findings(path)
        try:
            self.digests[path] = digest_of(path)
        except (FormatError, OSError) as error:
            self.digests[path] = ""
            self.add(about, "file", False, str(error))
            return
        inside = path.iterdir() if path.is_dir() else ()
        if stray := [shown(p.name) for p in inside if p.is_dir() or (p.name[:5] != "part-" and p.lstat().st_size)]:
            self.add(about, "file", False, f"files in the folder are no part of the table: {', '.join(stray)}")
        bare = not promise_place(path).is_file()
        if bare and (path.is_dir() or kind_of(path) in ("", "job", "table")):
            needed = f"no {shown(promise_place(path).name)} next to it; ask for that file, or for the synopsis"
            needed += " if 'discreet ask' made it"
            self.add(about, "promise", None, f"{_OPEN}there is no guarantee in it, and {needed}")
            return
        found = self.found[path] = examine(path)
        promise = found.guarantee
        if promise is not None:
            epsilon = None if promise.epsilon is None else decimal(promise.epsilon)
            stated = {"file": _plain(path.name), "kind": found.kind, "epsilon": epsilon, "digest": promise.digest}
            empty = promises_nothing(promise)
            said = _plain(promise.sentence()) + ("" if empty else _in_columns(promise))
            self.made.promises.append({**stated, "promise": said, "nothing": empty})
        for check in (c for c in found.checks if c.name != "account"):  # see below
            alone = check.name == "seal" and check.holds is None
            self.add(about, check.name, check.holds, f"{_OPEN if alone else ''}{check.detail}")
        if found.seeded:
            self.add(about, "seed", False, "the noise was seeded: anyone who knows the seed can take it out")
        elif found.held("ledger") and promise is not None and promise.drawn_here:
            self.add(about, "draws", True, "each line of the ledger pays for the noise that it states")

    # ---- signatures

    def sign(self, account: Path | None) -> None:
        """Check the signatures that were given, that are next to a file, or in a page."""
        for path in (*self.found, *self.facts, *([] if account is None else [account])):
            if signature_place(path).is_file():
                self._read_signature(shown(signature_place(path).name), signature_place(path).read_bytes())
        for about, signature in self.signatures:
            try:
                if not signature.holds():
                    self.add(about, "signature", False, "the signature is not one of this statement: one was changed")
                    continue
            except MissingExtra as error:
                self.add(about, "signature", None, f"{_OPEN}{error}")
                self.unread, self.others = True, [each for _, each in self.signatures]
                return
            self._of_key(about, signature)
            if not self.keys or signature.key.fingerprint in self.keys:
                self.good.append(signature)
                self._covers(about, signature)
            else:
                self.others.append(signature)
        for path in (*self.found, *self.facts):
            by = [s.key.fingerprint for s in self.good if self._covered(path, s)]
            unnamed = [s.key.fingerprint for s in self.others if self._covered(path, s)]
            if not by:
                said = f"it is not signed{' by a key that you named' * bool(self.keys)}"
                said = "it is signed by a key that you did not name" if unnamed else said
                self.add(shown(path.name), "signature", False if self.keys else None, said)
            if path in self.inside and not self._covered(path, self.inside[path]):
                said = "the signature in it is not about it: it was made for other files"
                self.add(shown(path.name), "signature", False, said)
            if (signer := self.facts.get(path, {}).get("signer")) is not None and signer not in by + unnamed:
                said = f"the page says that key {signer} signs it, and no such signature is here"
                self.add(shown(path.name), "signature", False, said)

    def _of_key(self, about: str, signature: Signature) -> None:
        made, known = signature.statement, self.keys.get(signature.key.fingerprint)
        called = f"calls itself {shown(made.name)}" if made.name else "has no name"
        when = f"signed {made.time} with key {signature.key.fingerprint}"
        if known is not None:
            self.add(about, "key", True, f"{when}, which you know as {shown(known.name) or 'a key without a name'}")
        elif self.keys:
            known_as = [key.name for key in self.keys.values()]
            same = " like a key that you named, and is another key" * (made.name in known_as)
            self.add(about, "key", False, f"{when}, which is unknown: you named other keys, and it {called}{same}")
        else:
            self.add(about, "key", None, f"{when}, which is unknown: you named no key, and it {called}")

    def _covered(self, path: Path, by: Signature) -> bool:
        """Return whether a file or page is what was signed, whatever its name."""
        if path in self.texts:
            return carried.digest(self.texts[path], carried.SIGNATURE) in [digest for _, digest in by.statement.pages]
        return self.digests[path] in [digest for _, digest in by.statement.files]

    def _covers(self, about: str, signature: Signature) -> None:
        """Compare a statement with the files, pages and guarantees that were given."""
        made = signature.statement
        for path in (*self.found, *self.facts):
            name, listed = path.name, made.pages if path in self.texts else made.files
            known, beside = [n for n, _ in listed], promise_place(path)
            if self._covered(path, signature):
                renamed = "" if name in known else "; it had another name then: " + ", ".join(map(shown, known))
                self.add(shown(name), "signature", True, f"it is what was signed{renamed}")
            elif name in known:
                self.add(shown(name), "signature", False, "it is not the file that was signed under this name")
            elif about == shown(signature_place(path).name):
                self.add(about, "signature", False, f"it is not about {shown(name)}: it was made for other files")
            # The guarantee of a table is a file of its own, whatever both are called now.
            own = path in self.found and (self._covered(path, signature) or beside.name in known)
            if own and beside.is_file() and digest_of(beside) not in [d for _, d in made.files]:
                self.add(shown(beside.name), "signature", False, "it is not the guarantee that was signed")
        first = next((p for p, d in self.digests.items() if made.files and d == made.files[0][1]), None)
        promise = None if first is None else self.found[first].guarantee
        if made.guarantee and promise is not None and hashlib.sha256(promise.canonical()).hexdigest() != made.guarantee:
            self.add(about, "guarantee", False, "the guarantee is not the one that was signed with this file")
        absent = [shown(n) for n, d in made.files if d not in self.digests.values() and not n.endswith(PROMISE_ENDING)]
        if absent and made.about == "release":
            self.add(about, "files", None, f"signed with them, and not given: {', '.join(absent)}")
        if made.account is not None:
            self.heads.append((made.account["head"], "the head that was signed"))
            if promise is not None and account_of(promise) != made.account["dataset"]:
                self.add(about, "account", False, "the file names another account than the one that was signed")

    def vouches(self) -> str:
        """Return who vouches for what no file shows."""
        unknown = "" if self.keys else ", who is unknown to you"
        signers = [s for s in self.good if any(self._covered(path, s) for path in self.found)]
        owners = sorted({f"the owner of key {s.key.fingerprint[:16]}…{unknown}" for s in signers})
        how = "which are not signed"
        if any(self._covered(path, s) for s in self.others for path in self.found):
            how = "which are signed by a key that you did not name"
            how = "whose signature was not checked" if self.unread else how
        return " and ".join(owners) if owners else f"the maker of the files, {how}"

    # ---- pages

    def pages(self, account: Path | None) -> None:
        """Check that each page is about a given file, states its promise, and shows what it states."""
        for path, facts in self.facts.items():
            about, text = shown(path.name), self.texts[path]
            if carried.digest(text) != facts["shown"]:
                self.add(about, "page", False, "the page was edited: it does not show what it was written with")
            if facts["account"] is not None:
                self.heads.append((facts["account"]["head"], "the head on the page"))
            file = next((f for f, digest in self.digests.items() if digest == facts["file_sha256"]), None)
            if file is None and self._belongs(path, facts):
                said = f"it is the page of {shown(facts['file'])}, which belongs to what you gave; give that file too"
                self.add(about, "page", None, _OPEN + said)
                continue
            if file is None:
                same = " of this name" * (facts["file"] in [f.name for f in self.found])
                said = f"it is the page of another file{same}: {shown(facts['file'])}, SHA-256 {facts['file_sha256']}"
                self.add(about, "page", False, said)
                continue
            if self.found[file].guarantee is None:
                self.add(about, "page", None, f"{_OPEN}the page is about this file, whose promise cannot be read")
                continue
            try:
                self._same_promise(about, facts, self.found[file])
                self._same_text(path, file, facts, text)
            except _UNREADABLE as error:  # promises and facts may be anything
                self.add(
                    about, "text", False, f"the page cannot be written again from its facts ({type(error).__name__})"
                )
            if facts["file"] != file.name:
                self.add(about, "page", None, f"it calls {shown(file.name)} by another name: {shown(facts['file'])}")
            stated = {**facts["about"], **json.loads(facts["given"])}
            if re.fullmatch(r"\d{4}-\d\d-\d\d", stated.get("page_made") or "", re.ASCII):
                del stated["page_made"]
            stated["account"] = facts["account"] if account is None else None  # compared below
            if added := [shown(name) for name, said in stated.items() if said]:
                self.add(about, "stated", None, f"stated by its maker alone: {', '.join(added)}")

    def _belongs(self, page: Path, facts: Any) -> bool:
        """Return whether the file of a page was released with one that was given: the page or a signature says so."""
        behind = (facts["behind"] or {}).get("digest")
        if behind and behind in [found.guarantee.digest for found in self.found.values() if found.guarantee]:
            return True
        signed = [s for s in self.good if self._covered(page, s) and any(self._covered(f, s) for f in self.found)]
        return any(facts["file_sha256"] in [digest for _, digest in s.statement.files] for s in signed)

    def _same_promise(self, about: str, facts: Any, found: Findings) -> None:
        promise = found.guarantee
        assert promise is not None
        epsilon, rho = promise.to_dict()["epsilon"], promise.rho
        stated = {"model": promise.model, "epsilon": epsilon, "rho": None if rho is None else float(rho)}
        stated |= {"delta": promise.delta, "unit": promise.unit}
        wrong = [name for name, value in stated.items() if _other(facts["promise"][name], value)]
        size = sum(map(len, payload_of(found.path)))
        told = {"seeded": promise.seeded, "digest": promise.digest, "bytes": size, "made_by": promise.version}
        wrong += [name for name, value in told.items() if _other(facts[name], value)]
        if wrong:
            self.add(about, "page", False, f"the page states another promise than the file: {', '.join(wrong)}")
        else:
            self.add(about, "page", True, "the page is about this file, and states its promise")
        if facts["promise"].get("plain") != for_lawyers(promise):
            self.add(about, "text", False, "the page carries other sentences about the promise than the file has")

    def _same_text(self, path: Path, file: Path, facts: Any, text: str) -> None:
        """Write the page again, and compare what it shows. A page that a known key signed may be taken as it is."""
        about, digest, said = shown(path.name), (facts["behind"] or {}).get("digest"), ""
        seals = {found.guarantee.digest: f for f, found in self.found.items() if found.guarantee}
        behind = seals.get(digest) if digest else None
        if facts["reported_by"] != __version__:
            said = f"it was written by version {shown(facts['reported_by'])}, and this is {__version__}"
        elif digest and behind is None:
            said = f"give {shown(facts['behind']['file'])} too, which it describes"
        if said:
            signed = self.keys and any(self._covered(path, s) for s in self.good)
            what = "it is what was signed, not written again to compare" if signed else f"{_OPEN}if it shows only this"
            self.add(about, "text", None, f"{what}: {said}")
            return
        source = None if behind is None else self.found[behind]
        page, kind = page_again(self.found[file], facts, source)
        here, there = map(_pieces, (carried.bare(text), page))
        if facts["kind"] != kind:
            self.add(about, "text", False, f"the page carries another kind than {kind}")
        if here == there:
            self.add(about, "text", True, "written again from the file, the page shows the same")
        else:
            odd = next((a for a, b in zip(here, there, strict=False) if a != b), "")
            said = "written again from the file, the page shows something else"
            self.add(about, "text", False, said + (f" than {shown(odd.strip()[:80])!r}" if odd.strip() else ""))

    # ---- the account

    def account(self, path: Path | None) -> None:
        """Check that the account knows the files, holds every head that was seen, and has room."""
        if path is None:
            for file, promise in ((f, found.guarantee) for f, found in self.found.items() if found.guarantee):
                said = "is not named" if (named := account_of(promise)) is None else f"of {named!r} was not given"
                said = f"the account {said}: what else was released about these people is not known"
                self.add(shown(file.name), "account", None, said)
            return
        about = shown(path.name)
        try:
            book = Account(path)
        except FormatError as error:
            self.add(about, "account", False, str(error))
            return
        left = at_least(left_of(book.total.exact, book.remaining.exact))
        closed = ", and it is closed" * bool(book.closed)
        room = f"{left} of {book.currency} {at_least(book.total.exact)} is left{closed}"
        self.add(about, "account", True, f"its chain is whole, and nothing is overspent: {room}")
        *whole, torn = path.read_bytes().split(b"\n")
        if torn:
            self.add(about, "account", None, "its last line is unfinished and does not count")
        lines = {line[-64:].decode(): number for number, line in enumerate(whole, 1)}
        self._balances(about, whole, lines)
        for head, what in self.heads:
            if head.removeprefix("sha256:") not in lines:
                said = f"it has no line {head}, {what}: it was cut back, is an older copy, or is another account"
                self.add(about, "head", False, said)
        for made in (s.statement for s in self.good if s.statement.account is not None):
            charged = made.account or {}
            if charged["dataset"] != book.dataset:
                self.add(about, "head", False, f"what was signed is about the account {charged['dataset']!r}")
            elif made.about == "account" and charged["head"].removeprefix("sha256:") in lines:
                self.add(about, "signature", True, f"it contains the head that was signed {made.time}")
        for file, promise in ((f, found.guarantee) for f, found in self.found.items() if found.guarantee):
            digest = promise.digest or f"sha256:{self.digests[file]}"
            self.add(shown(file.name), "account", *_booked(promise, digest, book, lines))

    def _balances(self, about: str, whole: list[bytes], lines: dict[str, int]) -> None:
        """Compare what each page says about the account with the account as it was then: its first lines."""
        for page, facts in self.facts.items():
            told = facts["account"] or {}
            if (number := lines.get(told.get("head", "").removeprefix("sha256:"))) is None:
                continue  # see the heads
            with TemporaryDirectory() as folder:
                then = Path(folder) / "account"
                then.write_bytes(b"\n".join([*whole[:number], b""]))
                was = Account(then).balance(facts["digest"] or f"sha256:{facts['file_sha256']}")
            wrong = [name for name, value in was.items() if _other(told.get(name), value)]
            for check, names in (("account", [n for n in wrong if n not in _WORDS]), ("text", [*_WORDS & {*wrong}])):
                if names:
                    said = f"it states another {' and '.join(sorted(names))} than {about} had then"
                    self.add(shown(page.name), check, False, said)


def _in_columns(promise: Guarantee) -> str:
    """Name the columns in which k holds; of a long list, the first ones."""
    names = list(promise.parameters.get("quasi_identifiers") or ()) if promise.model == "syntactic" else []
    listed = ", ".join(map(shown, names[:_MOST])) + f" and {len(names) - _MOST:,} more" * (len(names) > _MOST)
    return f" Groups are formed by {listed}." if names else ""


def _other(stated: Any, value: Any) -> bool:
    """Return whether a page states something else; true is not 1."""
    return bool(stated != value) or isinstance(stated, bool) != isinstance(value, bool)


def account_of(promise: Guarantee) -> str | None:
    """Return the name of the account that a release says it was charged to."""
    named = promise.parameters.get("account")
    return str(named.get("dataset")) if isinstance(named, dict) else None


def _booked(promise: Guarantee, digest: str, book: Account, lines: Collection[str]) -> tuple[bool, str]:
    """Return whether an account knows a release, with what was found."""
    named = account_of(promise)
    if named not in (None, book.dataset):
        return False, f"it was charged to the account {named!r}, and this is {book.dataset!r}"
    if any(head.removeprefix("sha256:") not in lines for head in heads_of(promise.parameters)):
        return False, "the account has no line that the file names: it was cut back, or is another account"
    if (entry := {seal: each for each in book.entries for _, seal in each.shown}.get(digest)) is None:
        return False, f"the account does not know this file ({digest})"
    if entry.withdrawn:
        return False, f"entry {entry.number} of the account was withdrawn: nobody was to receive this file"
    try:
        book.check_promise(promise)
        cost = book.cost_of(promise)
    except _UNREADABLE as error:  # its parameters may be anything
        return False, f"the account cannot have been charged for it: {error}"
    if cost.get("terms") != entry.terms or entry.seeded < promise.seeded:
        return False, f"entry {entry.number} of the account states other terms than the file"
    near = 1 if promise.accounting == book.currency else 1 + Fraction(1, 10**8)  # conversions may differ a little
    if Fraction(cost["price"]) > entry.price * near or (promise.delta > float(entry.delta) and Fraction(cost["delta"])):
        return False, f"entry {entry.number} of the account was charged less than the file costs"
    called = entry.asked.get("file")
    later = [e.number for e in book.entries if called and e.number > entry.number and e.asked.get("file") == called]
    more = f"; a later release has the same file name: entry {later[-1]}" if later else ""
    return True, f"the account knows it as entry {entry.number} of {entry.when[:10]}{more}"


def shown(name: str) -> str:
    """Return a name for display: what could pass for another letter, or is not seen, is spelled out behind it."""
    odd = [c for c in name if not c.isprintable() or not unicodedata.normalize("NFD", c)[0].isascii()]
    return f"{_plain(name)} [with {', '.join(f'U+{ord(c):04X}' for c in dict.fromkeys(odd))}]" if odd else name


def _plain(text: str) -> str:
    """Return a text without characters that a terminal obeys."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def _pieces(page: str) -> list[str]:
    """Return a page as tags and texts. Places in drawings are rounded: machines may differ in the last digit."""
    places, number = r' (?:d|x|y|cx|cy|width|height|transform)="[^"]*"', r"[0-9]+\.[0-9]+"
    round_all = lambda m: re.sub(number, lambda n: f"{float(n[0]):.0f}", m[0])  # noqa: E731
    return re.split(r"(<[^>]*>)", re.sub(places, round_all, page))
