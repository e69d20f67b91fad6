"""Start the service: granian, one worker, HTTP/1.1, no access log.

Only HTTP/1.1, because its limits hold. Over HTTP/2 granian buffers many bodies per connection before the application
can count them, and it waits forever for a connection that does not say its version. A proxy can offer HTTP/2.
"""

import logging
import resource
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from discreet.collector.service.settings import Settings
from discreet.core import checks
from discreet.errors import DataSourceError, MissingExtra

#: Connections that are served at once; others wait in the kernel.
_CONNECTIONS = 4096
#: Files that a collector opens itself: store, segments, log.
_OWN_FILES = 128
#: Bytes that a connection may buffer: a head, or a piece of a body.
_BUFFER = 1 << 14


def application(settings: Settings) -> Any:
    """Return the application, in the process that runs it."""
    # The writer returns from the disk many times per second and must not wait long for its turn.
    sys.setswitchinterval(0.0005)
    if settings.to is not None:
        from discreet.collector.service.shuffler import Shuffler

        return Shuffler(settings)
    from discreet.collector.service.app import App

    return App(settings)


def connections() -> int:
    """Return how many connections may be served at once, and raise the limit of open files to match."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _CONNECTIONS + _OWN_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(1, soft - _OWN_FILES)
    return _CONNECTIONS


def check(settings: Settings) -> None:
    """Check store, token and port before a process is started."""
    settings.open(serving=True).shut()
    if settings.to is None:
        settings.token()
    checks.free_port(settings.host, settings.port)


def serve(settings: Settings, make: Any = application, *, ready: Callable[[], None] | None = None) -> None:
    """Serve until a signal ends it. Reports that wait are written first.

    Parameters
    ----------
    settings : Settings
        Store, address and limits.
    make : callable
        Returns the application for the settings.
    ready : callable, optional
        Called when the port is known to be free.

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
    if ready is not None:
        ready()
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
        # The time starts with the connection, and again after every answer.
        http1_settings=HTTP1Settings(header_read_timeout=int(1000 * settings.patience), max_buffer_size=_BUFFER),
        log_level=LogLevels.warning,
        log_access=False,
        workers_kill_timeout=30,
    )
    logging.getLogger("discreet.collector").setLevel(logging.INFO)
    try:
        server.serve(target_loader=partial(make, settings), wrap_loader=False)
    except (FatalError, OSError) as error:
        raise DataSourceError(f"cannot serve on {settings.host}:{settings.port} ({error}); see the log") from None
