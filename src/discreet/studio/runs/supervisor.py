"""Start, follow and stop the processes of runs; at most a few at a time, and one per table."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.core import write_whole
from discreet.errors import DiscreetError
from discreet.jobs import Job
from discreet.studio.runs.charges import entry_of, paid_file
from discreet.studio.runs.offer import renewed
from discreet.studio.runs.run import ENDED, JOB, SCRATCH, STOP, Run, asked_of, blank, born, lock, now, runs_of, send
from discreet.studio.workspace import Project, Workspace

#: Seconds a process has to end after it was asked to.
GRACE = 5.0


class Busy(DiscreetError):
    """As many runs as may be are under way."""


class Supervisor:
    """The processes of this server.

    A process holds the lock of its run and the end of a pipe; the server holds the other end. When the server dies,
    also by kill -9, the pipe closes and the process ends.
    """

    def __init__(self, workspace: Workspace, most: int = 2) -> None:
        self.most = most
        self._mine: dict[Path, tuple[subprocess.Popen[bytes], str]] = {}
        self._guard = threading.RLock()
        for project in workspace.projects():
            for begun in project.runs.glob(".new-*"):  # killed before the run had a number
                shutil.rmtree(begun, ignore_errors=True)
            for run in runs_of(project):
                settle(run.folder)

    def start(self, project: Project, job: Job, number: int, digest: str = "") -> Run:
        """Begin a run under the number that the page offered; if it is taken, return the run that took it.

        Two tabs that offer the same number so start one run: the folder gets its name once, whole.
        """
        place = project.runs / str(number)
        with self._guard:
            if place.exists():
                return Run.read(place)
            self._check_free(project)
            project.runs.mkdir(mode=0o700, exist_ok=True)
            made = Path(tempfile.mkdtemp(prefix=".new-", dir=project.runs))
            try:
                write_whole(made / JOB, replace(job, folder=made).to_toml() + "\n", private=True)
                Run.read(made).write(**{**blank(), "asked": {**asked_of(job), "digest": digest}})
                made.rename(place)
            except OSError:  # a full disk, or another server was faster
                shutil.rmtree(made)
                if not place.exists():
                    raise
                return Run.read(place)
            handle = lock(place)
            if handle is not None:
                self._launch(place, handle)
        return Run.read(place)

    def begin(self, project: Project, job: Job) -> Run:
        project.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.start(project, job, 1 + max((run.number for run in runs_of(project)), default=0))

    def again(self, project: Project, run: Run, attempt: int) -> Run:
        """Go on with a run that did not end well, with its own choices; nothing happens if somebody did so before.

        What it made and paid for stays, and is handed out for nothing. Anything else is removed and made anew, at a
        new price: what was reserved stays spent.
        """
        with self._guard:
            settle(run.folder)
            if (found := Run.read(run.folder)).status["attempt"] != attempt or not found.ended:
                return found
            if run.folder in self._mine:  # it has said its last word, and is about to end
                with suppress(subprocess.TimeoutExpired):
                    self._mine[run.folder][0].wait(GRACE)
                    del self._mine[run.folder]
            self._check_free(project)
            handle = lock(run.folder)
            found = Run.read(run.folder)
            if handle is None:
                if found.status["attempt"] == attempt and found.ended:  # not resumed
                    raise Busy(f"run {found.number} is just ending; try again")
                return found
            if found.status["attempt"] != attempt or found.status["state"] == "done":
                os.close(handle)
                return found
            kept, entry = paid_file(found), entry_of(found)
            found.tidy((kept,))
            asked = found.asked
            if not kept and found.job is not None:  # rows may have been looked at meanwhile
                job = renewed(project, found.job)
                write_whole(run.folder / JOB, job.to_toml() + "\n", private=True)
                asked = {**asked, **asked_of(job)}
            (run.folder / STOP).unlink(missing_ok=True)
            lost = [*found.status["lost"], *([entry.number] if entry and not kept else [])]
            found.write(**{**blank(), "attempt": attempt + 1, "lost": lost, "asked": asked})
            self._launch(run.folder, handle)
        return Run.read(run.folder)

    def stop(self, run: Run) -> Run:
        """End a run: ask, then insist. Only the process that was started for it is ever sent a signal."""
        with self._guard:
            mine = self._mine.get(run.folder)
        known = run.status["pid"], run.status["born"]
        pid, birth = (mine[0].pid, mine[1]) if mine else known
        if run.state not in ENDED and pid and birth:
            (run.folder / STOP).touch(mode=0o600)
            send(pid, birth, signal.SIGTERM)
            until = time.monotonic() + GRACE
            while time.monotonic() < until and run.alive():
                time.sleep(0.02)
            if run.alive():
                send(pid, birth, signal.SIGKILL)
        settle(run.folder)
        return Run.read(run.folder)

    def close(self) -> None:
        with self._guard:
            mine = list(self._mine.items())
        for _, (process, _) in mine:
            process.kill()
        for folder, (process, _) in mine:
            process.wait()
            settle(folder)

    def _check_free(self, project: Project) -> None:
        busy = [run for run in runs_of(project) if not run.ended]
        if busy or len(self._mine) >= self.most:
            what = f"run {busy[0].number} of this table is" if busy else f"{len(self._mine)} runs are"
            raise Busy(f"{what} under way; wait until it ends, or stop it")

    def _launch(self, folder: Path, handle: int) -> None:
        try:
            scratch = folder / SCRATCH
            scratch.mkdir(mode=0o700, exist_ok=True)
            settings: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
            process = subprocess.Popen(
                # -P: what a run writes into its folder is never taken for a module.
                [sys.executable, "-P", "-m", "discreet.studio.runs.child", str(folder)],
                stdin=subprocess.PIPE, pass_fds=(handle,), start_new_session=True,
                env={**os.environ, "TMPDIR": str(scratch)}, **settings,
            )  # fmt: skip
            self._mine[folder] = (process, born(process.pid) or "")
        finally:
            os.close(handle)
        threading.Thread(target=self._follow, args=(folder, process), daemon=True).start()

    def _follow(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        if process.stdin is not None:
            process.stdin.close()
        with self._guard, suppress(OSError, DiscreetError):  # the folder may be forgotten by now
            if self._mine.get(folder, (None, ""))[0] is process:  # not one that goes on already
                del self._mine[folder]
            settle(folder)


def settle(folder: Path) -> None:
    """Write down that a run was lost or stopped if its process is gone without a word, and clear up after it."""
    if not folder.is_dir() or Run.read(folder).status["state"] in ENDED:
        return
    handle = lock(folder)
    if handle is None:
        return
    try:
        run = Run.read(folder)
        if run.status["state"] in ENDED:
            return
        entry = entry_of(run)
        run.tidy((paid_file(run),))
        state = "stopped" if (folder / STOP).exists() else "lost"
        run.write(state=state, ended=now(), entry=entry.number if entry else None, pid=None, born=None)
    finally:
        os.close(handle)
