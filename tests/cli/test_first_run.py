"""The first run on a machine compiles kernels for seconds: one line says so, on a terminal, in a file, in a program.

The command runs in a terminal of its own (a pseudo terminal), with a cache folder that is empty.
"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

LINE = "discreet: compiling for this machine; the first use of a method takes about 2 to 8 seconds longer"
#: A kernel that takes long to compile would slow the tests down; so patience is short, and the kernel is small.
PROGRAM = """
import sys
from contextlib import nullcontext
from discreet.cli.common import working
patience, mode = float(sys.argv[1]), sys.argv[2]
with nullcontext() if mode == "program" else working("Working ...", as_json=mode == "json"):
    from importlib import import_module
    jit = import_module("discreet.core.jit")
    jit.PATIENCE = patience
    def add(a, b):
        total = 0.0
        for i in range(a):
            total += i * b
        return total
    from time import sleep
    from numba import njit
    for module in sys.argv[3].split() * 2:
        add.__module__ = module
        njit(add)(3, 4.0)
        sleep(0.1)
print("done")
"""


def run(
    patience: float, mode: str, folder: Path, *, terminal: str = "both", quiet: str = "", module: str = "discreet.core"
) -> tuple[str, str]:
    """Run the program; return what came on the terminal, and what came through a pipe."""
    main, other = pty.openpty()
    streams = {"stdout": other if terminal == "both" else subprocess.PIPE, "stderr": other}
    if terminal == "neither":
        streams["stderr"] = subprocess.PIPE
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(folder),
        "TERM": "xterm",
        "COLUMNS": "120",
        "DISCREET_QUIET": quiet,
    }
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        environment.pop(name, None)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(patience), mode, module], stdin=other, env=environment, text=True, **streams
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
    assert "Compiling: " in shown.split(LINE)[1]  # the status, drawn again and again
    assert "done" in shown
    quiet, _ = run(0.0, "text", tmp_path, quiet="1")
    assert LINE not in quiet
    assert "Compiling: " not in quiet


@pytest.mark.slow
def test_what_does_not_take_long_is_not_mentioned(tmp_path: Path) -> None:
    assert LINE not in run(1000.0, "text", tmp_path)[0]


@pytest.mark.slow
def test_json_shows_nothing(tmp_path: Path) -> None:
    shown, piped = run(0.0, "json", tmp_path)
    assert LINE not in shown + piped
    assert "done" in shown + piped


@pytest.mark.parametrize("terminal", [pytest.param("errors", marks=pytest.mark.slow), "neither"])
def test_pipes_and_files_get_the_line_once(tmp_path: Path, terminal: str) -> None:
    rooms = "discreet.core discreet.clustering.leaves"
    shown, piped = run(0.0, "text", tmp_path, terminal=terminal, module=rooms)
    assert (shown + piped).count(LINE) == 1
    if terminal == "neither":
        assert sorted(piped.splitlines()) == sorted([LINE, "done"])


@pytest.mark.slow  # a terminal that is to be quiet is tried above
@pytest.mark.parametrize("mode", ["program", "text"])
def test_pipes_get_nothing_where_it_is_to_be_quiet(tmp_path: Path, mode: str) -> None:
    assert run(0.0, mode, tmp_path, terminal="neither", quiet="1")[1].splitlines() == ["done"]


def test_a_program_prints_one_line_per_subpackage_and_none_for_the_kernels_of_others(tmp_path: Path) -> None:
    rooms = "others.kernels discreet.core discreet.clustering.leaves discreet.clustering.lift"
    assert run(0.0, "program", tmp_path, terminal="neither", module=rooms)[1].count(LINE) == 2
