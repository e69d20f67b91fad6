"""The first run on a machine compiles kernels for seconds: on a terminal one line says so, and nowhere else.

The command runs in a terminal of its own (a pseudo terminal), with a cache folder that is empty.
"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

LINE = "preparing fast code for this machine, once"
#: A kernel that takes long to compile would slow the tests down; so patience is short, and the kernel is small.
PROGRAM = """
import sys
from discreet.cli.common import working
patience, as_json = float(sys.argv[1]), sys.argv[2] == "json"
with working("Working ...", as_json=as_json):
    from importlib import import_module
    jit = import_module("discreet.core.jit")
    jit.PATIENCE = patience
    def add(a, b):
        total = 0.0
        for i in range(a):
            total += i * b
        return total
    from numba import njit
    for _ in range(3):
        njit(add)(3, 4.0)
print("done")
"""


def run(patience: float, mode: str, folder: Path, *, terminal: str = "both") -> tuple[str, str]:
    """Run the program; return what came on the terminal, and what came through a pipe."""
    main, other = pty.openpty()
    streams = {"stdout": other if terminal == "both" else subprocess.PIPE, "stderr": other}
    if terminal == "neither":
        streams["stderr"] = subprocess.PIPE
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder), "TERM": "xterm", "COLUMNS": "120"}
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        environment.pop(name, None)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(patience), mode], stdin=other, env=environment, text=True, **streams
    )
    piped = "".join(filter(None, process.communicate(timeout=100)))
    os.close(other)
    shown = b""
    while True:
        try:
            piece = os.read(main, 1 << 16)
        except OSError:  # no one has the other end any more
            break
        if not piece:
            break
        shown += piece
    os.close(main)
    assert process.returncode == 0, (shown, piped)
    return shown.decode(), piped


def test_a_terminal_shows_one_line(tmp_path: Path) -> None:
    shown, _ = run(0.0, "text", tmp_path)
    assert shown.count(LINE) == 1
    assert "done" in shown


@pytest.mark.slow
def test_what_does_not_take_long_is_not_mentioned(tmp_path: Path) -> None:
    assert LINE not in run(1000.0, "text", tmp_path)[0]


@pytest.mark.parametrize(
    ("mode", "terminal"),
    [
        ("json", "both"),
        pytest.param("text", "errors", marks=pytest.mark.slow),
        pytest.param("text", "neither", marks=pytest.mark.slow),
    ],
)
def test_json_and_pipes_show_nothing(tmp_path: Path, mode: str, terminal: str) -> None:
    shown, piped = run(0.0, mode, tmp_path, terminal=terminal)
    assert LINE not in shown + piped
    assert "done" in shown + piped
