"""Start the studio: granian in this process, on loopback unless it was told otherwise twice."""

import asyncio
import ctypes
import ipaddress
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet.core import SigningKey, checks
from discreet.errors import DataSourceError, InvalidArgument, MissingExtra

_LOOPBACK = "127.0.0.1"
#: Seconds after which the first page is there, and what comes later can be loaded.
_SETTLED = 1.5
#: Milliseconds that the head of a request may take, and its bytes.
_HEAD_PATIENCE, _MOST_HEAD = 10_000, 1 << 16
#: Requests that are worked on at a time.
_MOST_AT_ONCE = 64
#: ``M_MMAP_THRESHOLD`` and ``M_TRIM_THRESHOLD`` of glibc, and the bytes from which freed memory is given back.
_THRESHOLDS, _LARGE = (-3, -1), 1 << 17


def serve(
    home: str | Path, *, port: int = 0, first: str = "/", host: str = _LOOPBACK, largest: int | None = None,
    key: SigningKey | None = None,
    told: Callable[[str], None] | None = None,
) -> None:  # fmt: skip
    """Serve until it is interrupted. Enter, or the signal HUP, gives a new address, which works once like the first.

    Parameters
    ----------
    home : path
        Where projects are kept; one studio at a time uses it.
    port : int
        0 takes a free one.
    first : str
        The page to begin with.
    host : str
        The address of this computer to listen on; see `checked_host`.
    largest : int, optional
        Bytes of an upload.
    key : SigningKey, optional
        Signs every report that is handed out.
    told : callable, optional
        Called with the address to open, when it is answered, and again for each new one.

    Examples
    --------
    >>> serve("~/studio", told=print)  # doctest: +SKIP
    """
    try:
        from granian.constants import HTTPModes, Interfaces
        from granian.http import HTTP1Settings
        from granian.server.embed import Server

        from discreet.studio.app import Studio
        from discreet.studio.guard import Guard
        from discreet.studio.tables.uploads import LARGEST
        from discreet.studio.workspace import Workspace
    except ImportError:
        raise MissingExtra("the studio", "studio") from None
    give_back()
    port = checks.free_port(host, port)
    shown = f"[{host}]" if ":" in host else host
    names = [shown, *(["localhost"] if host == _LOOPBACK else [])]
    # Browsers leave the usual port out.
    guard = Guard([f"{name}:{port}" for name in names] + names * (port == 80))

    def announce(page: str = "/") -> None:
        if told is not None:
            told(f"http://{shown}:{port}/?token={guard.token}&next={page}")

    def again() -> None:
        guard.renew()
        announce()

    with _alone(Workspace(home).home):  # before runs are put in order: those of another studio are not ours
        studio = Studio(home, guard, largest=largest or LARGEST, key=key)
        studio.workspace.sweep()
        server = Server(
            studio.app, address=host, port=port, interface=Interfaces.ASGI, log_enabled=False, websockets=False,
            http=HTTPModes.http1, backlog=_MOST_AT_ONCE, backpressure=_MOST_AT_ONCE,
            http1_settings=HTTP1Settings(header_read_timeout=_HEAD_PATIENCE, max_buffer_size=_MOST_HEAD),
        )  # fmt: skip
        ready = threading.Timer(_SETTLED, warm, [studio])
        ready.daemon = True

        def answered() -> None:
            announce(first)
            ready.start()

        try:
            asyncio.run(_until_stopped(server, again, (host, port), answered))
        except KeyboardInterrupt:
            pass
        finally:
            ready.cancel()
            if ready.is_alive():  # the end of Python inside an import of compiled code would abort the process
                ready.join()
            studio.workspace.sweep()


def give_back() -> None:
    """Give freed arrays back to the system: glibc raises its bound with each large one, and then keeps all below it."""
    with suppress(OSError, AttributeError, TypeError):  # other systems
        for each in _THRESHOLDS:
            ctypes.CDLL(None).mallopt(each, _LARGE)


def warm(studio: Any) -> None:
    """Load what later pages would wait for, while somebody reads the first one: templates, kernels, work of jobs."""
    studio.compile()
    later = "synopses jobs.charging jobs.work.synopsis jobs.work.synthesize jobs.work.tables reporting.pages.clusters"
    for name in later.split():
        import_module(f"discreet.{name}")
    import_module("discreet.planning").outlook(1000, 50)


async def _when_answered(place: tuple[str, int], answered: Callable[[], None]) -> None:
    """Call back when somebody listens at the address."""
    while True:
        try:
            _, writer = await asyncio.open_connection(*place)
        except OSError:
            await asyncio.sleep(0.01)
        else:
            writer.close()
            answered()
            return


async def _until_stopped(
    server: Any, again: Callable[[], None], place: tuple[str, int], answered: Callable[[], None]
) -> None:
    loop = asyncio.get_running_loop()
    waiting = asyncio.create_task(_when_answered(place, answered))
    for name, act in (("SIGINT", server.stop), ("SIGTERM", server.stop), ("SIGHUP", again)):
        with suppress(NotImplementedError, AttributeError, RuntimeError):  # other systems, other threads
            loop.add_signal_handler(getattr(signal, name), act)
    if sys.stdin is not None and sys.stdin.isatty():

        def entered() -> None:
            for _ in sys.stdin:
                loop.call_soon_threadsafe(again)

        threading.Thread(target=entered, daemon=True).start()
    await server.serve()
    waiting.cancel()


def checked_host(said: list[str]) -> str:
    """Return the address to listen on: loopback, unless another one was given twice."""
    host = said[-1] if said else _LOOPBACK
    try:
        place = ipaddress.ip_address(host)
    except ValueError:
        raise InvalidArgument("--host", host, "an address of this computer", f"--host {_LOOPBACK}") from None
    if place.is_unspecified:  # what is called by any name cannot check its name
        expected = "one address of this computer, not all of them"
        raise InvalidArgument("--host", host, expected, f"--host {_LOOPBACK}")
    if not place.is_loopback and said.count(host) < 2:
        expected = "given twice, because others on the network can reach it then"
        raise InvalidArgument("--host", host, expected, f"--host {host} --host {host}")
    return str(place)  # as browsers write it


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Hold a folder of projects: a second studio would sweep away what the first has uploaded."""
    import fcntl

    handle = os.open(home / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DataSourceError(
                "a studio is open already; press Enter in its terminal for a new address, or name another folder with "
                "--folder"
            ) from None
        yield
    finally:
        os.close(handle)
