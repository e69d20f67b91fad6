"""A small HTTP server that keeps frames by their keys, as a collector does, and fails on request."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Server(ThreadingHTTPServer):
    """Serves tasks and keeps frames by their keys, as a collector does; ``mood`` says how it answers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.tasks: dict[str, str] = {}
        self.frames: dict[bytes, bytes] = {}
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.mood: list[Any] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.server.requests.append((self.path, dict(self.headers), b""))
        text = self.server.tasks.get(self.path.rsplit("/", 1)[1])
        self._answer(404 if text is None else 200, (text or "").encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, dict(self.headers), body))
        mood = self.server.mood.pop(0) if self.server.mood else 204
        if mood in ("lose", 204):
            assert self.server.frames.setdefault(body[1:17], body) == body
        if mood == "slow":
            time.sleep(1)
            mood = 503
        if mood == "lose":  # taken, but the answer never arrives
            self.close_connection = True
            self.connection.close()
        elif isinstance(mood, int):
            headers = {"Location": "http://127.0.0.1:1/"} if mood == 307 else {}
            self._answer(mood, b"", **headers)
        else:
            self._answer(429, Retry_After=mood)


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """Serve until the block ends."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
