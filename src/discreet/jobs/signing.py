"""Sign what a job wrote: one statement about all its files, next to the first of them and in its page."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet._version import __version__
from discreet.core import (
    Guarantee,
    Signature,
    SigningKey,
    digest_of,
    promise_place,
    signature_place,
    special,
    write_whole,
)
from discreet.errors import FormatError

if TYPE_CHECKING:
    from discreet.jobs.job import Job, JobResult


def key_of(job: Job) -> SigningKey:
    """Open the key that a job names; refuse outputs that cannot be read again."""
    for name, place in job.places().items():
        if found := special(place):
            raise job.declared.wrong(name, job.outputs[name], f"a file if it is to be signed, and not a {found}")
    return SigningKey.load(job.place(job.parameters["sign"]))


def signed(done: JobResult, key: SigningKey) -> JobResult:
    """Sign the files of a job, write the signature, and return the result with it."""
    from discreet.reporting.pages import SIGNATURE, digest, put

    files = dict(done.files)
    page = files.pop("report", None)
    first = next(iter(files.values()), page)
    assert first is not None
    guarantee = done.guarantee
    if done.job.kind == "report":  # a page about a file that was released before
        files = {"release": done.more}
    for path in list(files.values()):
        if promise_place(path).is_file():
            files[f"promise of {path}"] = promise_place(path)
    main = next(iter(files.values()))
    if promise_place(main).is_file():
        guarantee = Guarantee.from_json(promise_place(main).read_bytes())
    told: dict[str, Any] = {}
    if guarantee is not None:
        told["guarantee"] = hashlib.sha256(guarantee.canonical()).hexdigest()
    if charged := done.figures.get("account"):
        told["account"] = {name: charged[name] for name in ("dataset", "entry", "head")}
    text = "" if page is None else page.read_bytes().decode()
    pages = () if page is None else ((page.name, digest(text, SIGNATURE)),)
    named = tuple((path.name, digest_of(path)) for path in dict.fromkeys(files.values()))
    place, made = signature_place(first), _same(first, key, about="release", files=named, pages=pages, **told)
    if made is None:
        place, made = write_signature(first, key, about="release", files=named, pages=pages, **told)
    if page is not None:
        write_whole(page, put(text, SIGNATURE, made.to_json()))
    return replace(done, files={**done.files, "signature": place}, figures={**done.figures, "signature": str(place)})


def _same(first: Path, key: SigningKey, **facts: Any) -> Signature | None:
    """Return the signature next to a file if this key signed the same with it: a job that is repeated keeps it."""
    try:
        known = Signature.from_json(signature_place(first).read_bytes())
        was, made = known.statement, _stated(key, **facts).statement
        if was.account and made.account and {**made.account, "head": was.account["head"]} == dict(was.account):
            made = replace(made, account=was.account)  # other releases may have followed
        return known if was == replace(made, time=was.time) and known.holds() else None
    except (OSError, FormatError):
        return None


def signed_page(page: str, name: str, key: SigningKey, released: Iterable[Path]) -> str:
    """Return a page that carries a signature of itself and of the files that it is about."""
    from discreet.reporting.pages import SIGNATURE, digest, put

    files = [file for path in released for file in (path, promise_place(path)) if file.exists()]
    named = tuple((file.name, digest_of(file)) for file in files)
    made = _stated(key, about="release", files=named, pages=((name, digest(page, SIGNATURE)),))
    return put(page, SIGNATURE, made.to_json())


def _stated(key: SigningKey, **facts: Any) -> Signature:
    return key.sign(version=__version__, time=datetime.now(UTC).isoformat(timespec="seconds"), **facts)


def write_signature(first: Path, key: SigningKey, **facts: Any) -> tuple[Path, Signature]:
    """Sign a statement, and write the signature next to a file."""
    made = _stated(key, **facts)
    place = signature_place(first)
    write_whole(place, json.dumps(made.to_dict(), indent=2, ensure_ascii=False) + "\n")
    return place, made
