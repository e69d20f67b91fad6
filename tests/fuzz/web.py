"""Requests to the collector, the shuffler and the studio, and answers to a client; no network but loopback.

A request is written as in HTTP: a line with method and address, headers, an empty line, the body. ``{task}`` and
``{mixed}`` stand for the addresses of tasks, of which the second is shuffled, and ``{p}`` for a project of the studio.
What a browser or a device adds by itself is added.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import sys
import threading
from functools import cache
from typing import Any

import discreet as dc
from discreet.errors import DiscreetError
from fuzz import targets

sys.path.insert(0, str(targets.ROOT / "tests" / "support"))
import contextlib

from collecting import some_task

#: A public key of which no one has the other half.
_OTHER = "09" + "00" * 31
_started: list[str] = []
#: Answers that a request may get; others, and none at all, are findings.
ANSWERS = {200, 204, 303, 307, 400, 401, 403, 404, 405, 408, 409, 410, 413, 415, 416, 421, 422, 429, 503}


def _taken_apart(data: bytes) -> tuple[str, str, list[tuple[str, str]], bytes]:
    """Return method, address, headers and body; anything is a request."""
    head, _, body = data.partition(b"\n\n")
    first, *lines = head.decode("latin-1").split("\n")
    method, _, address = first.partition(" ")
    return method[:20], address, [(n.lower().strip(), v.strip()) for n, _, v in (x.partition(":") for x in lines)], body


def _bytes(text: str) -> bytes:
    return text.encode("latin-1", "replace")


class _Scope:
    def __init__(self, method: str, address: str, headers: list[tuple[str, str]], body: bytes) -> None:
        self.proto, self.method = "http", method
        self.path, _, self.query_string = address.partition("?")
        self.headers = {"content-length": str(len(body)), **dict(headers)}


class _Proto:
    """The part of granian's protocol that the applications use."""

    def __init__(self, body: bytes) -> None:
        self.body, self.status = body, 0

    async def __call__(self) -> bytes:
        return self.body

    async def __aiter__(self) -> Any:
        for start in range(0, len(self.body), 1000):
            yield self.body[start : start + 1000]

    def _answered(self, status: int, *_: Any) -> None:
        assert self.status == 0, "answered twice"
        self.status = status

    response_bytes = response_str = response_empty = close = _answered


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


@cache
def _service(kind: str) -> tuple[Any, dict[str, str]]:
    """Start a collector or a shuffler within this process; returns it and the addresses of its tasks."""
    from discreet.collector.service.app import App
    from discreet.collector.service.settings import Settings, sealing_keys
    from discreet.collector.service.shuffler import Shuffler
    from discreet.local.tasks.sealing import Shuffle

    folder = targets._folder() / kind
    folder.mkdir()
    own = next(iter(sealing_keys(folder, new=True)))
    keys = {"collector": own, "shuffler": _OTHER} if kind == "collector" else {"collector": _OTHER, "shuffler": own}
    mixed = some_task(shuffle=Shuffle(batch=1000, honest=500, longest_wait=3600, **keys))
    tasks = [some_task(), mixed] if kind == "collector" else [mixed]
    more = {} if kind == "collector" else {"to": "http://127.0.0.1:9"}
    made = (App if kind == "collector" else Shuffler)(Settings(str(folder), **more))
    store = made.settings.open()
    for task in tasks:
        store.create(task)
    store.shut()
    made.__rsgi_init__(_loop())
    _started.append(kind)
    return made, {"{task}": f"/v1/tasks/{tasks[0].digest}", "{mixed}": f"/v1/tasks/{mixed.digest}"}


def _served(kind: str, data: bytes) -> None:
    app, known = _service(kind)
    method, address, headers, body = _taken_apart(data)
    for name, path in known.items():
        address = address.replace(name, path)
    proto, asked = _Proto(body), _Scope(method, address, headers, body)
    if ("operator", "yes") in headers:
        asked.headers["authorization"] = f"Bearer {app._token.decode()}"
    _loop().run_until_complete(asyncio.wait_for(app.__rsgi__(asked, proto), 30 * targets.SECONDS))
    assert proto.status in ANSWERS, proto.status


def stop() -> None:
    """End the services that were started."""
    for kind in _started:
        _service(kind)[0].__rsgi_del__(_loop())
    _started.clear()


def collector(data: bytes) -> None:
    _served("collector", data)


def shuffler(data: bytes) -> None:
    _served("shuffler", data)


# ---- studio


@cache
def _studio() -> tuple[Any, str, str]:
    """Return an open studio, its cookie and a project."""
    from discreet.studio.app import Studio
    from discreet.studio.guard import Guard

    home = targets._folder() / "studio"
    table = targets._file(b"age,sex,town\n35,f,Ash\n52,m,Elm\n", "people.csv")
    os.chdir(targets._folder())  # what a path in a form names is made here
    studio = Studio(home, Guard(["127.0.0.1:8000"]), largest=1 << 20, roots=[targets._folder()])
    studio.raises = True
    from studio_client import Browser

    # A window signs in and opens a table as a person does; the fuzzer goes on with its cookie.
    with Browser(studio.app, base_url="http://127.0.0.1:8000", headers={"origin": "http://127.0.0.1:8000"}) as window:
        window.get("/", params={"token": studio.guard.token})
        answer = window.post("/open", data={"path": str(table)})
        project = re.search(r"/p/([a-z0-9]{12})/", str(answer.url))
        assert project is not None
        return studio, f"{studio.guard.cookie}={window.cookies[studio.guard.cookie]}", project[1]


#: They start programs, which are not what is fuzzed here.
_STARTS = re.compile(r"/p/[^/]*/(release/start|release/\d+/(again|never)|plan/risk|forget)")


def studio(data: bytes) -> None:
    _studio_asked(*_taken_apart(data))


def upload(data: bytes) -> None:
    """Send an input as the body of an upload."""
    _studio_asked("POST", "/upload", [("content-type", "multipart/form-data; boundary=b")], data)


def _studio_asked(method: str, address: str, headers: list[tuple[str, str]], body: bytes) -> None:
    made, cookie, project = _studio()
    path, _, query = address.replace("{p}", f"/p/{project}").partition("?")
    if method == "POST" and _STARTS.match(path):
        return
    own = {
        "host": "127.0.0.1:8000",
        "origin": "http://127.0.0.1:8000",
        "cookie": cookie,
        "content-type": "application/x-www-form-urlencoded",
        "content-length": str(len(body)),
        **dict(headers),
    }
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method or "GET",
        "scheme": "http",
        "path": path or "/",
        "raw_path": path.encode("latin-1", "replace"),
        "query_string": query.encode("latin-1", "replace"),
        "root_path": "",
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
        "headers": [(_bytes(name), _bytes(value)) for name, value in own.items()],
    }
    answers: list[int] = []
    parts = [body[start : start + 1000] for start in range(0, len(body), 1000)] or [b""]

    async def receive() -> dict[str, Any]:
        if parts:
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answers.append(message["status"])

    _loop().run_until_complete(asyncio.wait_for(made.app(scope, receive, send), 30 * targets.SECONDS))
    assert len(answers) == 1, answers
    assert answers[0] in ANSWERS, answers


# ---- answers to a client


@cache
def _server() -> tuple[int, list[bytes]]:
    """Answer every connection with the bytes in a list."""
    held: list[bytes] = [b""]
    sock = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            link, _ = sock.accept()
            with link:
                try:
                    link.recv(65536)
                    link.sendall(held[0])
                    link.shutdown(socket.SHUT_WR)
                except OSError:
                    pass

    threading.Thread(target=serve, daemon=True).start()
    return sock.getsockname()[1], held


def answer(data: bytes) -> None:
    """Give a client an answer of a collector that is hostile."""
    from discreet.local.tasks.client import _reason, asked

    port, held = _server()
    held[0] = data
    status, text, pause = asked(f"http://127.0.0.1:{port}/v1/tasks/x", b"x", 2.0)
    assert status is None or isinstance(status, int)
    assert isinstance(pause, str)
    _reason(text)
    with contextlib.suppress(DiscreetError):
        dc.local.Task.from_json(text)


def seeds() -> list[tuple[str, bytes]]:
    """Return requests and answers of all kinds."""
    frame, batch = bytes([16, *range(16), 2]), bytes([18, *range(16), 3, 0, 0, 0, 0, 1, 2])
    found = [(kind, b"POST {task}/reports\n\n" + body) for kind in ("collector", "shuffler") for body in (frame, batch)]
    for kind in ("collector", "shuffler"):
        for path in ("/health", "/ready", "/metrics", "{task}", "/", "/v1/tasks", "/tasks/ab", "{task}/estimate"):
            found += [
                (kind, f"GET {path}\n\n".encode()),
                (kind, f"GET {path}?quantiles=0.5,0.9\noperator: yes\n\n".encode()),
            ]
        found += [
            (kind, b"OPTIONS {task}\n\n"),
            (kind, b"POST {mixed}/batches\n\n\x10" + bytes(100)),
            (kind, b"PUT /\n\n"),
            (kind, b"GET /\nauthorization: Basic eDp5\n\n"),
            (kind, b"POST {task}/reports\ncontent-length: 9999999\n\nx"),
        ]
    found.append(("shuffler", b"POST {task}/reports\n\n" + bytes(range(84))))
    pages = (
        "data",
        "columns",
        "columns/one?name=age",
        "goal",
        "goal/guide",
        "plan",
        "plan/outlook",
        "plan/risk",
        "release",
        "release/1",
        "release/1/progress",
        "release/1/file/x",
        "evidence",
        "account",
        "account/verify",
        "results/1",
        "schema.toml",
        "codebook.csv",
        "job.toml",
    )
    found += [("studio", f"GET {{p}}/{page}\n\n".encode()) for page in pages]
    forms = {
        "columns": "age.low=0&age.high=120&age.kind=integer&sex.categories=f%2C+m&unit=row&version=x",
        "goal": "kind=synopsis",
        "plan": "kind=synopsis&epsilon=1&delta=&method=tree&max_depth=4",
        "look": "rows=20",
        "ask": "question=age+%3E+3",
        "written": "delimiter=%3B&decimal=%2C&header=on",
        "dataset": "dataset=people",
        "account/create": "dataset=x&epsilon=1&file=a.account",
        "account/open": "path=people.csv",
        "account/annotate": "entry=1&text=hello",
        "account/close": "",
        "account/book": "digest=sha256:00",
    }
    found += [("studio", f"POST {{p}}/{page}\n\n{form}".encode()) for page, form in forms.items()]
    found += [
        ("studio", b"GET /\n\n"),
        ("studio", b"GET /static/studio.css\n\n"),
        ("studio", b"POST /settings\n\ntheme=dark"),
        ("studio", b"POST /open\n\npath=people.csv"),
        ("studio", b"GET /?token=x&next=//y\nhost: z\n\n"),
    ]
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nage\n1\n\r\n--b--\r\n'
    found += [("upload", part), ("upload", part.replace(b"a.csv", b"../../x\\y.csv"))]
    found += [("studio", b"POST {p}/columns/file\ncontent-type: multipart/form-data; boundary=b\n\n" + part)]
    refused = b'HTTP/1.1 429 X\r\nRetry-After: 5\r\nContent-Length: 15\r\n\r\n{"error": "no"}'
    found += [("answer", refused), ("answer", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{}{}")]
    return [
        *found,
        ("answer", b"HTTP/1.1 400 X\r\n\r\n" + b"[" * 3000),
        ("answer", b"HTTP/1.1 307 X\r\nLocation: //[\r\n\r\n"),
    ]
