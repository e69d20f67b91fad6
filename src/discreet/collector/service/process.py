"""The process that serves: it ends with the one that started it, and lets go of devices that do not read."""

from __future__ import annotations

import multiprocessing
import os
import socket
import threading
from contextlib import suppress


def end_with_parent() -> None:
    """End this process when the one that started it is gone, however that one ended.

    Otherwise a worker whose parent was killed goes on taking reports, and holds the store against the next collector.
    It ends at once: what it acknowledged is on the disk.
    """
    parent = multiprocessing.parent_process()

    def wait() -> None:
        assert parent is not None
        parent.join()
        os._exit(1)

    if parent is not None:
        threading.Thread(target=wait, name="parent", daemon=True).start()


def drop_slow_readers(seconds: float) -> bool:
    """Have the kernel close connections whose other end takes no bytes for so long; False if nothing listens yet.

    granian waits for them without end. Connections take this setting from the socket that listens, which granian opens
    and does not hand out: it is found among the files of this process. Only Linux has it.
    """
    if not hasattr(socket, "TCP_USER_TIMEOUT"):
        return True
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # not a socket, or closed meanwhile
            # Not a copy: to close a copy of an SQLite file would drop its locks.
            found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, fileno=int(name))
            try:
                if found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * seconds))
                    return True
            finally:
                found.detach()
    return False
