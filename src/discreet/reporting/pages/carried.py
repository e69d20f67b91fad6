"""The part of a page for programs: its facts and its signature, as JSON in two elements that show nothing.

The form is in docs/evidence-format.md. Digests of a page are taken with the content of these elements empty.
"""

import hashlib
import html
import json
import re
from typing import Any

from discreet.core import read_json, refuse_later
from discreet.errors import FormatError

FACTS, SIGNATURE = "discreet-facts", "discreet-signature"
#: Facts that a page carries as they are in `report_facts`.
_SAME = ("file", "bytes", "file_sha256", "kind", "digest", "account", "about", "made_by", "reported_by", "behind")
_MORE = ("format", "format_version", "promise", "seeded", "signer", "language", "given", "shown")
#: What `report_facts` cannot find in the file again.
GIVEN = ("attacks", "audits", "comparison")
#: Arguments of `report_facts` that are no files.
OPTIONS = ("candidates", "clusters")
#: What a page states of the promise.
_PROMISE = ("model", "epsilon", "rho", "delta", "unit", "plain")
_TEXTS = ("file", "file_sha256", "given", "shown", "language", "reported_by")


def _element(name: str) -> re.Pattern[str]:
    return re.compile(f"<meta name=\"{name}\" content='([^'<>]*)'>")


def put(page: str, name: str, text: str) -> str:
    """Return a page that carries a text."""
    return _element(name).sub(lambda _: f"<meta name=\"{name}\" content='{_escaped(text)}'>", page, count=1)


def held(page: str, name: str) -> str:
    """Return the text that a page carries; `FormatError` if it does not have exactly one place for it."""
    found = _element(name).findall(page)
    if len(found) != 1 or page.count(f'name="{name}"') != 1 or _escaped(html.unescape(found[0])) != found[0]:
        raise FormatError(f"the page does not carry {name} in one place, as pages of this version do")
    return html.unescape(found[0])


def _escaped(text: str) -> str:
    return html.escape(text, quote=False).replace("'", "&#x27;")


def bare(page: str, *names: str) -> str:
    """Return a page with the content of these elements, or of both, empty."""
    for name in names or (FACTS, SIGNATURE):
        page = put(page, name, "")
    return page


def digest(page: str, *names: str) -> str:
    """Return the SHA-256 of a page with the content of these elements, or of both, empty."""
    return hashlib.sha256(bare(page, *names).encode()).hexdigest()


def read(text: str) -> dict[str, Any]:
    """Read the facts that a page carries; `FormatError` if they do not have the form of this version."""
    try:
        facts = read_json(text)
        refuse_later("what the page carries", facts, 1)
        version = facts["format"], repr(facts["format_version"])
        whole = set(facts) == {*_SAME, *_MORE} and version == ("discreet.page", "1")
        texts = all(isinstance(facts[key], str) for key in _TEXTS)
        texts &= all(isinstance(text, (str, type(None))) for text in (*facts["about"].values(), facts["signer"]))
        texts &= isinstance(facts["seeded"], bool)
        charged = facts["account"] is None or isinstance(facts["account"]["head"], str)
        drawn = facts["behind"] is None or all(isinstance(facts["behind"][key], str) for key in ("file", "digest"))
        # Anything else that is given would replace what the file says.
        given = not {*read_json(facts["given"]).keys()} - {*GIVEN, *OPTIONS}
        if not (whole and texts and charged and drawn and given and set(facts["promise"]) == {*_PROMISE}):
            raise ValueError
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        damaged = FormatError("the page carries no facts that this version can read")
        raise (error if isinstance(error, FormatError) else damaged) from None
    return dict(facts)


def with_facts(page: str, facts: dict[str, Any], language: str, **options: Any) -> str:
    """Return a page that carries its facts; ``options`` are those of `report_facts` that it was made with."""
    promise = {key: facts["promise"][key] for key in _PROMISE}
    promise = {key: "inf" if value == float("inf") else value for key, value in promise.items()}
    given = {**{key: facts[key] for key in GIVEN if facts.get(key)}, **options}
    told = {
        "format": "discreet.page", "format_version": 1, **{key: facts[key] for key in _SAME}, "promise": promise,
        "seeded": facts["checks"]["seeded"], "signer": facts.get("signer"), "language": language,
        "given": json.dumps(given, default=str), "shown": digest(page),
    }  # fmt: skip
    return put(page, FACTS, json.dumps(told, separators=(",", ":"), ensure_ascii=False))
