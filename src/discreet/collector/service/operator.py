"""Pages and figures for the operator: tasks, estimates, and one page with all of them."""

import base64
import json
from typing import Any
from urllib.parse import parse_qs

from discreet.collector import dashboard, reading
from discreet.collector.service.committer import Committer
from discreet.collector.stores.base import Store, find_task
from discreet.errors import DiscreetError, InvalidArgument, StoreUnavailable, TooFewReports

_JSON, _HTML = "application/json", "text/html; charset=utf-8"


def asks(path: str) -> bool:
    """Return whether a path needs the operator's token."""
    return path in ("/", "/v1/tasks") or path.endswith("/estimate") or path.startswith("/tasks/")


def token(header: str | None) -> bytes:
    """Return the token of a request: a bearer token, or the password typed into a browser."""
    kind, _, value = (header or "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip().encode("utf-8", "replace")
    if kind.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).partition(b":")[2]
        except ValueError:  # not Base64, or not ASCII
            return b""
    return b""


def answer(store: Store, committer: Committer, path: str, query: str) -> tuple[int, str, bytes]:
    """Return status, type and body. ``quantiles=0.5,0.99`` in the query chooses those of a distribution."""
    try:
        asked = _asked(query)
        if path == "/":
            return 200, _HTML, dashboard.front(store, committer).encode("utf-8")
        if path.startswith("/tasks/"):
            return 200, _HTML, dashboard.of_task(store, _digest(store, path), **asked).encode("utf-8")
        if path == "/v1/tasks":
            return _json(200, [reading.standing(store, digest) for digest in store.tasks()])
        return _json(200, reading.read(store, _digest(store, path), **asked))
    except InvalidArgument as error:
        return _json(400, {"error": str(error), "reason": "query"})
    except TooFewReports as error:
        return _json(409, {"error": str(error), "reason": "few"})
    except StoreUnavailable as error:
        return _json(503, {"error": str(error), "reason": "store"})
    except DiscreetError as error:
        return _json(404, {"error": str(error), "reason": "task"})


def _digest(store: Store, path: str) -> str:
    return find_task(store, path.removesuffix("/estimate").rpartition("/")[2]).task.digest


def _asked(query: str) -> dict[str, Any]:
    texts = parse_qs(query).get("quantiles", ())
    try:
        levels = [float(text) for each in texts for text in each.split(",")]
    except ValueError:
        levels = [-1.0]
    if not all(0 <= level <= 1 for level in levels):
        raise InvalidArgument("quantiles", ",".join(texts), "shares from 0 to 1", "?quantiles=0.5,0.99")
    return {"quantiles": levels} if levels else {}


def _json(status: int, facts: Any) -> tuple[int, str, bytes]:
    return status, _JSON, json.dumps(facts, ensure_ascii=False, default=str).encode("utf-8", "replace")
