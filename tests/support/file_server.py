"""A real HTTP server on loopback that hands files out, cuts them off, or does not know them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: One of the public tables, and forty rows that could be its.
FILE = "uci-shuttle/shuttle_test.csv.gz"
NAMES = "time,f1,f2,f3,f4,f5,f6,f7,f8,class"
ROWS = "\n".join(",".join(str((7 * i + j) % 50) for j in range(9)) + f",{i % 7 + 1}" for i in range(40))
TEXT = f"{NAMES}\n{ROWS}\n".encode()


class FileServer:
    """Serves contents by path and records the requests. Paths in ``cut`` stop after half of the announced bytes."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.files: dict[str, bytes] = {}
        self.cut: set[str] = set()
        self.asked: list[str] = []

    def put(self, path: str, content: bytes) -> str:
        """Hand out a file; return its address."""
        self.files[path] = content
        return self.address + path


@contextmanager
def serving() -> Iterator[FileServer]:
    """Start a server and stop it at the end."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            server.asked.append(path)
            if path not in server.files:
                self.send_error(404)
                return
            content = server.files[path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if path in server.cut else content)

        def log_message(self, *_: object) -> None:
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server = FileServer(f"http://127.0.0.1:{made.server_port}")
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        made.shutdown()
        thread.join()
        made.server_close()
