"""A run and its folder: job.toml, status.json, a lock that its process holds, and the outputs.

A run is *alive* while somebody holds the lock: the server hands it to the process it starts, and it dies with it,
whichever way that ends. So a state of "running" without the lock is a run that was lost, and no number of a process
has to be believed for that.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from discreet.core import promise_place, write_whole
from discreet.errors import DiscreetError
from discreet.jobs import Job
from discreet.studio.workspace import Project

LOCK, STATUS, JOB, STOP, SCRATCH = "run.lock", "status.json", "job.toml", "stop", "scratch"
#: What a folder holds before anything came out.
_OWN = (LOCK, STATUS, JOB, STOP)
#: Hundredths of a second that a look at a lock may take.
_PATIENCE = 20
#: States that do not change any more by themselves.
ENDED = ("done", "failed", "stopped", "lost")


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Run:
    """A release that is being made, was made, or was not."""

    folder: Path  # named by the number of the run
    status: dict[str, Any] = field(repr=False)  # as its process wrote it: see `child`

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the folder of a run as it is now; one that does not say anything was lost before it began."""
        try:
            told = json.loads((folder / STATUS).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            told = {}
        usual = blank()
        told = {k: v for k, v in told.items() if _fits(k, v, usual)} if isinstance(told, dict) else {}
        return cls(folder, {**usual, **told})

    @property
    def number(self) -> int:
        return int(self.folder.name)

    @cached_property
    def state(self) -> str:
        """One of waiting, running, done, failed, stopped, lost."""
        said = str(self.status["state"])
        if said in ENDED or self.alive():
            return said
        latest = Run.read(self.folder).status["state"]  # it may have ended since it was read
        return str(latest) if latest in ENDED else "stopped" if (self.folder / STOP).exists() else "lost"

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def files(self) -> dict[str, str]:
        """Return the files to download by name, when all of them are complete and in the folder."""
        if self.state != "done":
            return {}
        own = {name: file for name, file in self.status["files"].items() if Path(str(file)).name == file}
        return {name: file for name, file in own.items() if not (self.folder / file).is_symlink()}

    @property
    def figures(self) -> dict[str, Any]:
        return dict(self.status["figures"])

    def path(self, name: str) -> Path:
        return self.folder / self.files[name]

    @cached_property
    def job(self) -> Job | None:
        try:
            return Job.from_toml(self.folder / JOB)
        except DiscreetError:
            return None

    @cached_property
    def asked(self) -> dict[str, Any]:
        """Return a summary of the job: kind, account, whether it has a price."""
        told = self.status["asked"]
        if told is None and self.job is not None:
            told = asked_of(self.job)
        return told or {"kind": "", "account": "", "price": False, "k": None, "history": ""}

    def alive(self) -> bool:
        """Return whether its process holds the lock."""
        handle = lock(self.folder, shared=True)
        if handle is not None:
            os.close(handle)
        return handle is None

    def write(self, **said: Any) -> None:
        told = {**Run.read(self.folder).status, **said}
        write_whole(self.folder / STATUS, json.dumps(told, ensure_ascii=False, default=str), private=True)

    def keep_inside(self) -> None:
        """Note that what came out was never handed out, and delete it: it never can be from here on."""
        self.write(never=now(), files={}, figures={})
        self.tidy()

    def tidy(self, keep: tuple[str, ...] = ()) -> None:
        """Remove what a process left that did not end well: half-written files, and outputs other than ``keep``.

        A table that is removed here was never handed out, so that later releases need not be checked with it. One that
        is kept still counts, and keeps its guarantee.
        """
        kept = {*_OWN, *keep, *(promise_place(name).name for name in keep)}
        for place in self.folder.iterdir():
            if place.name in kept:
                continue
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place, ignore_errors=True)
            else:
                place.unlink(missing_ok=True)
        if self.asked.get("history") and not any(keep):
            from discreet.anonymity import ReleaseHistory

            ReleaseHistory(self.asked["history"]).withdraw(self.folder)


def _fits(name: str, value: Any, usual: dict[str, Any]) -> bool:
    if usual.get(name) is None:
        kinds = {"where": dict, "promise": dict, "asked": dict, "started": str, "ended": str, "never": str, "pid": int,
                 "entry": int}  # fmt: skip
        return value is None or isinstance(value, kinds.get(name, object))
    return type(value) is type(usual[name]) and (name != "progress" or value.keys() >= usual[name].keys())


def blank() -> dict[str, Any]:
    return {
        "state": "waiting", "attempt": 1, "started": None, "ended": None, "pid": None, "born": None,
        "progress": {"share": None, "what": "start"}, "message": "", "where": None, "files": {}, "figures": {},
        "promise": None, "unforeseen": False, "entry": None, "lost": [], "before": 0, "asked": None,
        "never": None,
    }  # fmt: skip


def asked_of(job: Job) -> dict[str, Any]:
    """Return what lists say of a job, so that they need not read hundreds of columns again."""
    return {
        "kind": job.kind, "account": str(job.place(job.parameters["account"])) if "account" in job.parameters else "",
        "price": has_price(job), "k": job.parameters.get("k"), "history": job.parameters.get("history", ""),
    }  # fmt: skip


def has_price(job: Job) -> bool:
    """Return whether a job spends a budget that adds up over releases: that of a central one, made from rows."""
    return job.schema is not None and job.declared.has_price(job.parameters)


def lock(folder: Path, *, shared: bool = False) -> int | None:
    """Take the lock of a run and return its handle; None if its process has it.

    ``shared`` is for a look: many may look at once. Who wants it alone waits for looks to end, not for a process.
    """
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for _ in range(1 if shared else _PATIENCE):
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0 if shared else 0.01)
        else:
            return handle
    os.close(handle)
    return None


def runs_of(project: Project) -> list[Run]:
    if project.runs.is_symlink():  # a link would lead out of the folder
        return []
    places = [p for p in project.runs.glob("[0-9]*") if p.name.isdecimal() and p.is_dir() and not p.is_symlink()]
    return [Run.read(place) for place in sorted(places, key=lambda p: int(p.name), reverse=True)]


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
