"""Start the service: granian, one worker, HTTP/1.1, no access log.

Only HTTP/1.1, because its limits hold. Over HTTP/2 one connection carries many bodies that granian buffers before the
application can count them, and a connection that has not said which version it speaks is waited for without end. A
proxy speaks HTTP/2 with the devices.
"""

from __future__ import annotations

import logging
import resource
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from discreet.collector.service.settings import Settings
from discreet.errors import DataSourceError, MissingExtra

#: Connections that are served at once; those beyond wait in the queue of the kernel.
_CONNECTIONS = 4096
#: Files that a collector opens for itself: its store, its segments, the log.
_OWN_FILES = 128
#: Bytes that a connection may hold before the application counts them: a head, or a piece of a body.
_BUFFER = 1 << 14


def application(settings: Settings) -> Any:
    """Make the application, in the process that will run it."""
    from discreet.collector.service.app import App

    # The writer comes back from the disk many times per second and must not wait long for its turn.
    sys.setswitchinterval(0.0005)
    return App(settings)


def connections() -> int:
    """Return how many connections may be served at once, and allow this process as many files.

    Examples
    --------
    >>> 0 < connections() <= 4096
    True
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _CONNECTIONS + _OWN_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(1, soft - _OWN_FILES)
    return _CONNECTIONS


def check(settings: Settings) -> None:
    """Refuse what cannot be served, before a process is started that would only die of it."""
    settings.open(serving=True).shut()
    settings.token()
    try:
        family = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        # granian shares ports: two collectors on one would each get half of the reports, and no one would notice.
        with socket.socket(family[0], socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(family[4])
    except OSError as error:
        raise DataSourceError(
            f"cannot serve on {settings.host}:{settings.port} ({error.strerror}); name another with --port"
        ) from None


def serve(settings: Settings, make: Any = application, *, told: Callable[[], None] | None = None) -> None:
    """Serve until a signal ends it; what was acknowledged before is on the disk, what waits is written first.

    Parameters
    ----------
    settings : Settings
        What to serve and how.
    make : callable
        Makes the application from the settings.
    told : callable, optional
        Called once the port is known to be free.

    Examples
    --------
    >>> serve(Settings(data="collected", port=9000))  # doctest: +SKIP
    """
    try:
        from granian import Granian
        from granian.constants import HTTPModes, Interfaces
        from granian.errors import FatalError
        from granian.http import HTTP1Settings
        from granian.log import LogLevels
    except ImportError:
        raise MissingExtra("serving a collector", "collector") from None
    check(settings)
    if told is not None:
        told()
    server = Granian(
        "discreet.collector",
        address=settings.host,
        port=settings.port,
        interface=Interfaces.RSGI,
        workers=1,
        http=HTTPModes.http1,
        websockets=False,
        backlog=_CONNECTIONS,
        backpressure=connections(),
        # The time counts from the first moment of a connection, and again after every answer.
        http1_settings=HTTP1Settings(header_read_timeout=int(1000 * settings.patience), max_buffer_size=_BUFFER),
        log_level=LogLevels.warning,
        log_access=False,
        workers_kill_timeout=30,
    )
    logging.getLogger("discreet.collector").setLevel(logging.INFO)
    try:
        server.serve(target_loader=partial(make, settings), wrap_loader=False)
    except (FatalError, OSError) as error:
        raise DataSourceError(f"cannot serve on {settings.host}:{settings.port} ({error}); look at the log") from None
