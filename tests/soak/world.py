"""The world of a soak: namespaces of its own, a small disk, services that come back, and notes of what happened."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

#: MiB of the disk that is filled now and then, and of that for logs and temporary files.
DISK, OWN = 512, 2048
#: Set in the process that runs in namespaces of its own.
INSIDE = "DISCREET_SOAK_INSIDE"
#: Seconds between two looks at the memory of a process.
LOOK = 5.0


def enter() -> None:
    """Start this program again where it sees only its own processes, its own mounts and a loopback device.

    Everything in there ends with it, also if it is killed. Without the rights for that (root, or namespaces for users)
    it runs as it is, and no disk can be made full.
    """
    if INSIDE in os.environ:
        return None
    rights = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    line = ["unshare", *rights, "--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc"]
    if shutil.which("unshare") is None or subprocess.run([*line, "true"], capture_output=True, check=False).returncode:
        os.environ[INSIDE] = "no"
        return None
    os.execvpe("unshare", [*line, sys.executable, *sys.orig_argv[1:]], {**os.environ, INSIDE: "yes"})


def loopback() -> None:
    """Switch the loopback device of a new network on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        fcntl.ioctl(link, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up, running


def mounted(place: Path, mib: int) -> bool:
    """Mount a file system in memory on a folder; False if there is no right to.

    One for all that the soak writes itself, so that it depends on no disk that others fill; and a small one.
    """
    place.mkdir(mode=0o700, exist_ok=True)
    if os.environ.get(INSIDE) != "yes":
        return False
    line = ["mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=700", "none", str(place)]
    return subprocess.run(line, capture_output=True, check=False).returncode == 0


def unmount(place: Path) -> None:
    """Give a mounted disk back."""
    if os.environ.get(INSIDE) == "yes":
        subprocess.run(["umount", "-l", str(place)], capture_output=True, check=False)


def fill(place: Path) -> Path:
    """Take all the room that is left on a disk; remove the file to give it back."""
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1 << 20))
    with filler.open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(512))
    return filler


class Notes:
    """Events, in order; every line is also in a file, so that a soak that dies can be read."""

    def __init__(self, file: Path) -> None:
        self.began = time.monotonic()
        self.events: list[dict[str, Any]] = []
        self.counts: Counter[str] = Counter()
        self._guard, self._file = threading.Lock(), file.open("a", encoding="utf-8", buffering=1)

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.began

    def done(self, door: str, act: str) -> None:
        """Count an action."""
        with self._guard:
            self.counts[f"{door}: {act}"] += 1

    def note(self, kind: str, **facts: Any) -> dict[str, Any]:
        """Keep an event: "error", "kill", "full", "room", "start", "end"."""
        event = {"at": round(self.now, 2), "kind": kind, **facts}
        with self._guard:
            self.events.append(event)
            self._file.write(json.dumps(event, default=str) + "\n")
        return event

    def error(self, door: str, text: str, *, since: float | None = None, **facts: Any) -> None:
        """Keep an error of something that began some time before; the checks find out whether it is explained."""
        self.note("error", door=door, text=text[-2000:], since=self.now if since is None else since, **facts)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the events of a kind."""
        with self._guard:
            return [event for event in self.events if event["kind"] == kind]


def children(pid: int) -> list[int]:
    """Return a process and all that it started, oldest first."""
    found, at = [pid], 0
    while at < len(found):
        for task in Path(f"/proc/{found[at]}/task").glob("*/children"):
            with suppress(OSError):
                found += [int(child) for child in task.read_text().split()]
        at += 1
    return found


def left(pid: int, seconds: float) -> dict[int, str]:
    """Return what a process started and what still runs after so long, by its command line. Java takes its time."""
    end = time.monotonic() + seconds
    while True:
        found = {}
        for each in children(pid)[1:]:
            if memory(each) is not None:
                with suppress(OSError):
                    found[each] = Path(f"/proc/{each}/cmdline").read_text().replace("\0", " ")[:200]
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.5)


def memory(pid: int) -> float | None:
    """Return the MiB of memory that a process holds for itself; None if it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024
    except (OSError, StopIteration):
        return None


def settings(place: Path) -> dict[str, str]:
    """Return the environment of a program: its temporary files are ours, it asks no network, it takes few threads."""
    given = {"TMPDIR": str(place), "DISCREET_OFFLINE": "1", "DISCREET_QUIET": "1", "COLUMNS": "300", "NO_COLOR": "1"}
    few = dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return {**os.environ, **few, **given, "PYTHONDONTWRITEBYTECODE": "", "PYTHONFAULTHANDLER": "1"}


def with_parent() -> None:
    """End with the process that started this one; called in a new process."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Service:
    """A program that is started again when it ends, as systemd would."""

    def __init__(
        self, name: str, line: list[str], logs: Path, notes: Notes, *, pause: float = 1.0,
        started: Callable[[subprocess.Popen[str]], None] | None = None, pipes: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.line, self.notes, self.pause = name, line, notes, pause
        self.log = logs / f"{name}.log"
        self._started, self._environment, self._pipes = started, settings(logs.parent / "tmp"), pipes
        self.process: subprocess.Popen[str] | None = None
        self._due, self._killed, self.stopping = 0.0, set[int](), False

    def keep(self) -> None:
        """Start it if it does not run; note how it ended."""
        if self.process is not None and (code := self.process.poll()) is not None:
            ours = self.process.pid in self._killed or bool(self._killed)
            self.notes.note("end", service=self.name, code=code, ours=ours)
            if self.process.stdin is not None:
                with suppress(OSError):
                    self.process.stdin.close()
            if self.process.stdout is not None:
                self.process.stdout.close()
            self.process, self._due = None, time.monotonic() + self.pause
        if self.process is None and not self.stopping and time.monotonic() >= self._due:
            self._killed.clear()
            pipes: dict[str, Any] = (
                {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE} if self._pipes else {"stdin": subprocess.DEVNULL}
            )
            with self.log.open("a", encoding="utf-8") as log:
                if not self._pipes:
                    pipes["stdout"] = log
                self.process = subprocess.Popen(
                    self.line, stderr=log, text=True, bufsize=1, env=self._environment, start_new_session=True, **pipes
                )
            self.notes.note("start", service=self.name, pid=self.process.pid)
            if self._started is not None:
                self._started(self.process)

    def kill(self, draw: random.Random, choose: Callable[[list[int]], list[int]] = lambda pids: pids) -> int | None:
        """Kill one of its processes at once; return which."""
        if self.process is None:
            return None
        pids = choose(children(self.process.pid))
        if not pids:
            return None
        pid = draw.choice(pids)
        self._killed.add(pid)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        return pid

    def stop(self, seconds: float = 45) -> None:
        """Ask it to end, and insist."""
        self.stopping = True
        if self.process is None:
            return
        with suppress(ProcessLookupError):
            self.process.terminate()
        try:
            self.process.wait(seconds / 3)
        except subprocess.TimeoutExpired:  # its log says then where it hangs
            for pid in reversed(children(self.process.pid)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGABRT)
            self.notes.error(self.name, f"{self.name} took long to end after SIGTERM; see its log")
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.notes.error(self.name, f"{self.name} did not end within {seconds:g} s after SIGTERM")
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Sampler:
    """The memory of services over time: one series per life of a process."""

    def __init__(self, notes: Notes, services: dict[str, Service]) -> None:
        self._notes, self._services = notes, services
        self.lives: dict[tuple[str, int], list[tuple[float, float]]] = {}

    def look(self) -> None:
        """Take one sample of every process."""
        for name, service in self._services.items():
            if service.process is None:
                continue
            # Collector and shuffler are served by a child; those of the studio are runs, which end.
            for pid in children(service.process.pid)[name != "studio" :][:1]:
                if (held := memory(pid)) is not None:
                    self.lives.setdefault((name, pid), []).append((round(self._notes.now, 1), round(held, 2)))
