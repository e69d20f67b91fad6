"""Accounts of jobs: charge or list a release, or return an earlier one of the same job."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from discreet.accounts import Account, Reservation, heads_of
from discreet.core import Guarantee, digest_of, payload_of, promise_place, write_whole
from discreet.errors import DataSourceError, DiscreetError, FormatError
from discreet.jobs.declare import Speech
from discreet.jobs.options import PAGE
from discreet.synopses import Synopsis, promise_of

if TYPE_CHECKING:
    from discreet.jobs.job import Job


def task_of(job: Job) -> str | None:
    """Return a digest of the job, without rows; None if the job has a seed."""
    if "seed" in job.parameters:
        return None
    # Not part of the release: anyone can sample more rows from it, and write them otherwise.
    aside = {"account", "explain", "fresh", "overwrite", "yes_really", "n", "sign", *(each.name for each in PAGE)}
    aside |= {"csv_dialect"} if job.kind == "synthesize" else set()
    asked = {k: v for k, v in job.parameters.items() if k not in aside}
    if job.kind == "distinct":  # its schema only says how the file is written, and need not declare columns
        declared = "" if job.schema is None else repr(job.dialect())
    else:
        declared = "" if (domain := job.read_domain()) is None else domain.to_toml()
    facts = [job.kind, str(job.table(job.data)), declared, asked]
    # Other groups, or other public tables, make another table.
    named = [*job.parameters.get("hierarchy", {}).values(), *job.parameters.get("tables", {}).values()]
    places = [job.place(file) for file in named]
    files = [file for place in places for file in (sorted(place.rglob("*")) if place.is_dir() else [place])]
    facts += [hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()]
    return "sha256:" + hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def account_of(job: Job) -> Account | None:
    """Open the account that a job names."""
    if "account" not in job.parameters:
        return None
    made = job.outputs.get(_output(job)) or job.outputs.get("centers") or ""
    said = {"verb": job.kind, "file": Path(made).name}
    return Account(job.place(job.parameters["account"])).for_task(task_of(job), said)


def _output(job: Job) -> str:
    """Return the output that is booked."""
    return "table" if job.kind == "query" else "release"


def charged(job: Job) -> dict[str, Any]:
    """Return the ledger argument of an estimator."""
    account = account_of(job)
    return {} if account is None else {"ledger": account}


def reserved(job: Job, promise: Guarantee, columns: Sequence[str]) -> Reservation | None:
    """List a release without a price in the limit of the job's account, before a row is read; None without account."""
    account = account_of(job)
    return None if account is None else account.reserve(job.kind, promise=promise, asked={"columns": list(columns)})


def check_reserved(job: Job, promise: Guarantee) -> None:
    """Refuse what `reserved` would."""
    if (account := account_of(job)) is not None and repeated(job) is None:
        account.check(job.kind, promise=promise)


def checkable(job: Job, model: Any) -> Any:
    """Return an estimator that checks the account only if the job would spend budget."""
    return model.set_params(ledger=None) if "ledger" in model.declared and repeated(job) is not None else model


@dataclass(frozen=True)
class PaidTable:
    """A table that was released before."""

    path: Path
    guarantee: Guarantee

    @classmethod
    def load(cls, path: Path) -> PaidTable:
        """Read the guarantee of a table; refused if either was changed."""
        promise = _promise_beside(path)
        if promise is None or not promise.verify(payload_of(path)):
            raise FormatError(f"{path} does not match a guarantee next to it")
        return cls(path, promise)

    @cached_property
    def table(self) -> Any:
        """Return the rows."""
        from discreet.reporting import read_released

        return read_released(self.path, self.guarantee.domain)

    @property
    def names(self) -> list[str]:
        """Return the columns."""
        return list(self.table.column_names)

    @property
    def digest(self) -> str | None:
        return self.guarantee.digest

    def __len__(self) -> int:
        return int(self.table.num_rows)


def digest_of_reports(path: Path) -> str:
    """Return the digest by which an account knows a file without a guarantee."""
    return f"sha256:{digest_of(path)}"


def _promise_beside(path: Path) -> Guarantee | None:
    """Return the guarantee next to a table."""
    try:
        return Guarantee.from_json(promise_place(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, DiscreetError):
        return None


def released_digest(path: Path) -> str | None:
    """Return the digest by which an account knows a file."""
    promise = _promise_beside(path) or promise_of(path)
    return digest_of_reports(path) if promise is None else promise.digest


def repeated(job: Job) -> Any:
    """Return an earlier release of the same job, if the output file is the one that was booked.

    It is returned bit for bit, which costs nothing; ``fresh`` draws new noise for a new price. A table of a release
    history that does not list it is refused: later tables would not be checked with it.
    """
    if "account" not in job.parameters:
        return None
    account, task, place = account_of(job), task_of(job), job.places().get(_output(job))
    if account is None or task is None or place is None or job.parameters.get("fresh") or not place.is_file():
        return None
    booked = _booked(account, task)
    if not booked:
        return None
    try:
        if job.kind in ("sketch", "distinct"):
            found: Any = SimpleNamespace(digest=digest_of_reports(place))
        else:
            found = (PaidTable if job.kind in ("anonymize", "mask", "perturb", "query") else Synopsis).load(place)
    except DiscreetError:
        return None
    if found.digest not in booked:
        return None
    if "history" in job.parameters:
        from discreet.anonymity import ReleaseHistory

        folder, made = job.parameters["history"], job.outputs["release"]
        if not ReleaseHistory(job.place(folder)).lists(place, found.digest):
            raise job.declared.refused(
                lambda say: (
                    f"{say('history', folder)} does not list {made!r}, which this job released before: restore the "
                    f"folder from a backup or, only if no one received the table, replace it; try {say('fresh', True)}"
                )
            )
    return found


def _booked(account: Account, task: str) -> set[str]:
    """Return the digests of the earlier releases of a job, and of their files."""
    return {digest for entry in account.earlier(task) for _, digest in entry.shown}


def completed(job: Job) -> Job:
    """Return the job with a file for the synopsis of synthetic rows, by default next to them."""
    if job.kind != "synthesize" or "release" in job.outputs:
        return job
    return job.with_output("release", _synopsis_beside(job.outputs["table"]))


def _synopsis_beside(table: str) -> str:
    named = Path(table)
    return str(named.with_name(f"{named.stem}.synopsis.parquet"))


def check_paid(job: Job) -> None:
    """Refuse to overwrite a file of a release that an account was charged for, unless it is this job's own release.

    It could not be made again, because its noise is drawn once.
    """
    if job.parameters.get("overwrite"):
        return
    whole = completed(job)
    main = _output(whole)
    task = task_of(whole) if "account" in whole.parameters else None
    account = account_of(whole)
    booked = _booked(account, task) if account and task else set()
    # Bitmaps and reports do not name their account.
    held = [] if account is None else [e for e in account.entries if not (e.seeded or e.withdrawn)]
    others = {seal for entry in held for _, seal in entry.shown} - booked
    paid, unread, listed = {}, [], []
    for name, place in whole.places().items():
        promise = (_promise_beside(place) or promise_of(place)) if place.is_file() else None
        if promise is not None and not promise.seeded and heads_of(promise.parameters):
            paid[name] = promise
        elif promise is None and place.is_file() and promise_place(place).exists():
            unread.append(name)
        elif promise is None and others and place.is_file() and digest_of_reports(place) in others:
            listed.append(name)
    own: list[str] = []
    if main in paid and paid[main].digest in booked:
        # An answer that a program changed is refused: to make it again would cost its price again.
        kept = whole.kind != "query" or whole.parameters.get("fresh") or repeated(whole) is not None
        own = heads_of(paid[main].parameters) if kept else []
    lost = [n for n, p in paid.items() if n not in ("release", "table") or heads_of(p.parameters) != own]
    lost += unread + listed
    if not lost:
        return
    # Without a name of its own, the synopsis is called like the table.
    free = {n: _another(job, n) for n in dict.fromkeys(n if n in job.outputs else "table" for n in lost)}
    by_force = any(each.name == "overwrite" for each in job.declared.parameters)

    def words(say: Speech) -> str:
        more = f", or {say('overwrite', True)}" if by_force else ""
        what = "this file is a release that an account was charged for, and could not be made again"
        if lost[0] in unread:
            named = promise_place(whole.places()[lost[0]]).name
            what = f"{named!r} cannot be read, and this file may have been paid for"
        fix = ", ".join(say(n, other) for n, other in free.items())
        return f"{say(lost[0], whole.outputs[lost[0]])}: {what}; try {fix}{more}"

    raise job.declared.refused(words, DataSourceError)


def _another(job: Job, name: str) -> str:
    """Return a name like that of an output, at which nothing is overwritten."""
    named = Path(job.outputs[name])
    for i in range(2, 10**6):
        other = str(named.with_name(f"{named.stem}-{i}{named.suffix}"))
        files = [other, str(promise_place(Path(other))), *([_synopsis_beside(other)] if name == "table" else [])]
        if not any(job.place(file).exists() for file in files):
            return other
    return str(named)


def keep(job: Job, made: Synopsis, earlier: Synopsis | None, *, charged: bool) -> None:
    """Write a release if it is new: at once if an account was ``charged``, otherwise when everything is made.

    A later failure must not lose a paid release, and must not leave an unpaid one behind.
    """
    place = job.places().get("release")
    if earlier is None and place is not None and charged == ("account" in job.parameters):
        made.save(place, overwrite=True)


def standing(job: Job, digest: str | None, again: bool) -> dict[str, Any]:
    """Return the balance of the account after a job that released what has this digest; empty without an account."""
    account = account_of(job)
    return {} if account is None else {"account": {**account.balance(digest), "repeated": again}}


def balance_then(job: Job, head: str, entry: int) -> dict[str, Any] | None:
    """Return the balance of the account when it had this head, for an entry; None if it has not both."""
    place = job.place(job.parameters["account"])
    lines = place.read_bytes().split(b"\n")[:-1]
    number = next((i for i, line in enumerate(lines, 1) if f"sha256:{line[-64:].decode()}" == head), None)
    if number is None:
        return None
    with TemporaryDirectory() as folder:
        then = Path(folder) / "account"
        write_whole(then, b"\n".join([*lines[:number], b""]))
        known = next((each.digest for each in Account(then).entries if each.number == entry), None)
        return None if known is None else Account(then).balance(known)
