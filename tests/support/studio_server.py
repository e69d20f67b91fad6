"""A studio that really runs: its own process on loopback, a browser's cookie, and a way to kill it."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import httpx


class Server:
    """A served studio; ``client`` is signed in."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process, origin = process, address.partition("/?")[0]
        self.client = httpx.Client(base_url=origin, headers={"origin": origin}, follow_redirects=True, timeout=30)
        assert self.client.get(address).status_code == 200

    def kill(self) -> None:
        """End it as a power cut would."""
        self.client.close()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextmanager
def served(home: Path) -> Iterator[Server]:
    """Start ``discreet studio`` on a free port; it is killed at the end if it still runs."""
    asked = [sys.executable, "-u", "-m", "discreet", "studio", "--no-browser", "--folder", str(home)]
    process = subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=_settings())
    try:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], 60)
        assert ready, "the studio did not say where it is served"
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        server = Server(process, _answering(found[0]))
        yield server
        server.client.close()
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _settings() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "300"}


def _answering(address: str) -> str:
    """Return the address when the port is open."""
    import socket

    host, port = address.partition("//")[2].partition("/")[0].split(":")

    def there() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((host, int(port))) == 0

    until(there, 30)
    return address


def until(holds: Callable[[], Any], seconds: float) -> Any:
    """Wait until something holds, and return it; fail after so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := holds():
            return found
        time.sleep(0.02)
    raise AssertionError(f"it did not come true within {seconds} s")
