"""Start the studio: granian in this process, on loopback."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

from discreet.errors import DataSourceError, MissingExtra


def serve(
    home: str | Path, *, port: int = 0, first: str = "/", told: Callable[[str], None] | None = None
) -> None:  # fmt: skip
    """Serve until it is interrupted.

    Parameters
    ----------
    home : path
        Where projects are kept.
    port : int
        0 takes a free one.
    first : str
        The page to begin with.
    told : callable, optional
        Called with the address to open, when the port is free.
    """
    try:
        from granian.constants import Interfaces
        from granian.server.embed import Server

        from discreet.studio.app import Studio
        from discreet.studio.guard import Guard
    except ImportError:
        raise MissingExtra("the studio", "studio") from None
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise DataSourceError(f"cannot serve on port {port} ({error.strerror}); name another with --port") from None
        port = probe.getsockname()[1]
    guard = Guard([f"127.0.0.1:{port}", f"localhost:{port}"])
    studio = Studio(home, guard)
    server = Server(studio.app, address="127.0.0.1", port=port, interface=Interfaces.ASGI, log_enabled=False)
    if told is not None:
        told(f"http://127.0.0.1:{port}/?token={guard.token}&next={first}")
    asyncio.run(server.serve())
