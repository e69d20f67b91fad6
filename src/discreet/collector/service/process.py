"""Helpers of the serving process: end with the parent, drop connections that do not read."""

from __future__ import annotations

import multiprocessing
import os
import socket
import threading
from contextlib import suppress


def end_with_parent() -> None:
    """End this process when its parent is gone.

    Otherwise a worker whose parent was killed keeps the store locked against the next collector. It may end at once:
    what it acknowledged is on the disk.
    """
    parent = multiprocessing.parent_process()

    def wait() -> None:
        assert parent is not None
        parent.join()
        os._exit(1)

    if parent is not None:
        threading.Thread(target=wait, name="parent", daemon=True).start()


def drop_slow_readers(seconds: float) -> bool:
    """Have the kernel close connections whose peer reads no bytes for so long; False if nothing listens yet.

    granian would wait forever. Connections inherit the setting from the listening socket, which granian does not
    expose, so it is searched among the files of this process. Only Linux has the setting.
    """
    if not hasattr(socket, "TCP_USER_TIMEOUT"):
        return True
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # not a socket, or closed meanwhile
            # Not a copy: closing a copy of an SQLite file would drop its locks.
            found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, fileno=int(name))
            try:
                if found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * seconds))
                    return True
            finally:
                found.detach()
    return False
