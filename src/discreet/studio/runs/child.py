"""The process of one run: ``python -m discreet.studio.runs.child FOLDER``.

It runs ``job.toml`` and writes its progress to ``status.json``: a stage and a share, no number of
rows. It ends at once when the server's end of the pipe on its standard input closes. What an account reserved until
then stays spent. A booked release is complete in the folder, and is used when the job is started again.
"""

import os
import re
import select
import shutil
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from discreet.accounts import Account
from discreet.core import PROMISE_ENDING, followed, promise_place
from discreet.errors import BudgetExceeded, DataSourceError, DiscreetError, InvalidArgument, SchemaError
from discreet.jobs import Job
from discreet.studio.released import Released, collect, unforeseen
from discreet.studio.runs.charges import entry_of, paid_file
from discreet.studio.runs.run import JOB, SCRATCH, Run, born, now

#: Seconds between two updates of the same stage.
_PAUSE = 0.3
_NAMED = re.compile(r"\[(\w+)\](?: (\w+))?")
_SCREENS = {"parameters": "plan", "data": "data", "schema": "columns", "outputs": "release", "job": "goal"}


class Status:
    """Writes how far a run has come, not too often, and nothing after its end."""

    def __init__(self, run: Run) -> None:
        self._run, self._guard = run, threading.Lock()
        self._stage, self._due, self._open = "", 0.0, True

    def __call__(self, stage: str, share: float | None) -> None:
        if stage == self._stage and time.monotonic() < self._due:
            return
        with self._guard:
            if self._open:
                self._stage, self._due = stage, time.monotonic() + _PAUSE
                rounded = None if share is None else round(share, 2)  # too coarse to count rows
                with suppress(DiscreetError):  # a full disk: the release may still fit, and its price is spent
                    self._run.write(progress={"what": stage, "share": rounded})

    def end(self, **said: Any) -> None:
        with self._guard:
            self._open = False
            self._run.write(**said, ended=now(), pid=None, born=None)


def watch() -> None:
    """End this process when the server is gone, and at once if it is gone already."""

    def wait() -> None:
        while os.read(0, 1):
            pass
        os._exit(3)

    if select.select([0], [], [], 0)[0]:  # nothing is ever written to it: it is closed
        os._exit(3)
    threading.Thread(target=wait, daemon=True).start()


def place_of(error: DiscreetError) -> dict[str, str] | None:
    """Return the screen, and if known the field, where an error can be fixed."""
    if isinstance(error, InvalidArgument) and (found := _NAMED.match(error.name)):
        return {"screen": _SCREENS.get(found[1], "plan"), "field": found[2] or ""}
    for kind, screen in ((SchemaError, "columns"), (BudgetExceeded, "account"), (DataSourceError, "data")):
        if isinstance(error, kind):
            return {"screen": screen, "field": ""}
    return None


def main(folder: Path) -> int:
    run, status = Run.read(folder), Status(Run.read(folder))
    run.write(state="running", started=now(), pid=os.getpid(), born=born(os.getpid()))
    try:
        job = Job.from_toml(folder / JOB)
        account = job.parameters.get("account")
        if account is not None:
            run.write(before=len(Account(job.place(account)).entries))
        with followed(status):
            result = job.run()
    except DiscreetError as error:
        return _failed(folder, status, str(error), place_of(error))
    except MemoryError:
        return _failed(folder, status, "memory", None, unforeseen=True)
    except Exception as error:
        return _failed(folder, status, unforeseen(error), None, unforeseen=True)
    shutil.rmtree(folder / SCRATCH, ignore_errors=True)
    told = result.to_dict()
    with suppress(Exception):  # the page collects them later where that fails
        _collect(folder, job.kind, told["figures"], dict(result.files), status)
    entry = (told["figures"].get("account") or {}).get("entry")
    status.end(
        state="done", progress={"what": "done", "share": 1.0}, figures=told["figures"], entry=entry,
        files=_files(folder, dict(result.files)), promise=_promise(result.guarantee),
    )  # fmt: skip
    return 0


def _failed(
    folder: Path, status: Status, message: str, where: dict[str, str] | None, *, unforeseen: bool = False
) -> int:  # fmt: skip
    run = Run.read(folder)
    entry = entry_of(run)
    run.tidy((paid_file(run),))
    number = None if entry is None else entry.number
    status.end(state="failed", message=message, where=where, entry=number, unforeseen=unforeseen)
    return 1


def _collect(folder: Path, kind: str, figures: dict[str, Any], files: dict[str, Path], status: Status) -> None:
    """Collect what pictures and evidence are drawn from, so that no page has to wait for it."""
    made = files.get("counts") or files.get("release")
    if made is not None:
        status("pictures", None)
        collect(Released(int(folder.name), made, folder / "evidence", files, figures, kind))


def _files(folder: Path, files: dict[str, Path]) -> dict[str, str]:
    found = {name: os.path.relpath(path, folder) for name, path in files.items()}
    for name, path in files.items():
        promise = promise_place(path)
        if promise.is_file() and not path.name.endswith(PROMISE_ENDING) and promise.name not in found.values():
            found[f"promise of {name}" if "promise" in found else "promise"] = promise.name
    return {name: path for name, path in found.items() if not path.startswith("..")}


def _promise(guarantee: Any) -> dict[str, Any] | None:
    if guarantee is None:
        return None
    told = guarantee.to_dict()
    facts = {name: told.get(name) for name in ("model", "epsilon", "delta", "unit", "seeded", "digest")}
    return {**facts, "k": guarantee.parameters.get("k")}


if __name__ == "__main__":
    watch()
    sys.exit(main(Path(sys.argv[1])))
