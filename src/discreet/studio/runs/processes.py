"""Processes by number *and* birth: a number alone may be a stranger's by now."""

import os
import signal
import subprocess
import sys
from pathlib import Path


def born(pid: int) -> str | None:
    """Return when a process began, in the words of its system; None if there is none."""
    if sys.platform == "linux":
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        return text.rpartition(")")[2].split()[19]  # the name of a program may hold blanks and brackets
    told = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return told.stdout.strip() or None


def send(pid: int, birth: str, number: signal.Signals) -> bool:
    """Send a signal to a process, identified by its start time; return whether it was there."""
    try:
        if hasattr(os, "pidfd_open"):  # names the process itself: its number cannot go to another meanwhile
            handle = os.pidfd_open(pid)
            try:
                if born(pid) != birth:
                    return False
                signal.pidfd_send_signal(handle, number)
            finally:
                os.close(handle)
        else:
            if born(pid) != birth:
                return False
            os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True
