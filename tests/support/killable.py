"""A process that makes releases in children of its own, each of which can be killed at a chosen file operation.

``python killable.py FOLDER`` reads one line per request: ``["start", what, facts, at]`` answers with the number of a
child, ``["wait", child]`` with how it ended. A child counts its operations on files in the folder, and those on locks;
before the one with the number ``at`` it is killed with SIGKILL. So every state that a crash can leave is met, and the
same request leaves the same one. Forking saves the seconds that imports take.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Killable:
    """The process, seen from a test; it ends with the ``with`` block."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> Killable:
        settings = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(self.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **settings},
        )  # fmt: skip
        assert self._ask("ready") == "ready"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def start(self, what: str, facts: dict[str, Any], at: int | None = None) -> int:
        """Begin something in a child; return the number of the child."""
        return int(self._ask("start", what, facts, at))

    def wait(self, child: int) -> int:
        """Return how a child ended: 0, an exit code, or the negative number of a signal."""
        return int(self._ask("wait", child))

    def _ask(self, *request: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def job(file: str) -> None:
    """Do a job file."""
    from discreet.jobs import Job

    Job.from_toml(Path(file)).run()


def python(table: str, schema: str, history: str, target: str, k: int) -> None:
    """Release as a Python program does that fits a tree, then checks and saves it."""
    import discreet as dc

    tree = dc.anonymity.Mondrian(k=k, domain=dc.Domain.from_toml(schema), on_conflict="merge").fit(table)
    with dc.anonymity.ReleaseHistory(history) as known:
        tree.transform(table, history=known).save(target)


def clear(history: str) -> None:
    """Read a history, which clears up after a killed release."""
    from discreet.anonymity import ReleaseHistory

    ReleaseHistory(history).records()


def studio(run: str) -> None:
    """Do the work of a run's process."""
    from discreet.studio.runs import child
    from discreet.studio.runs.run import lock

    assert lock(Path(run)) is not None
    if child.main(Path(run)):
        raise RuntimeError(run)


_DO: dict[str, Callable[..., None]] = {"job": job, "python": python, "clear": clear, "studio": studio}


def _kill_at(at: int, folder: str) -> None:
    left = at

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        named = (str(each) for each in arguments if isinstance(each, (str, os.PathLike)))
        if event == "fcntl.flock" or any(name.startswith(folder) for name in named):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


def _child(what: str, facts: dict[str, Any], at: int | None, folder: str) -> int:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nothing, stream)
    if at is not None:
        _kill_at(at, folder)
    from discreet.errors import DiscreetError

    try:
        _DO[what](**facts)
    except DiscreetError as error:
        sys.stderr.write(f"{what}: {error}\n")
        return 2
    return 0


def _warm(folder: Path) -> None:
    """Import and compile what children need."""
    import pyarrow as pa

    import discreet.studio.runs.child  # noqa: F401
    from discreet.jobs import Job

    pa.set_cpu_count(1)
    place = folder / ".warm"
    place.mkdir()
    (place / "t.csv").write_text("id,age\n" + "".join(f"{i},{i}\n" for i in range(40)), encoding="utf-8")
    columns = {"id": {"role": "identifier"}, "age": {"bounds": [0, 63], "kind": "integer", "role": "quasi-identifier"}}
    for method in ("density-tree", "mondrian"):
        given = {"k": 5, "method": method, "history": "h"}
        Job("anonymize", "t.csv", columns, given, {"release": "o.csv", "report": "o.html"}, place).run()
    age = {"age": {"bounds": [0, 63]}}
    Job("synopsis", "t.csv", age, {"epsilon": 1}, {"release": "s.parquet"}, place).run()


def main(folder: Path) -> None:
    """Answer requests until there are no more."""
    _warm(folder)
    for line in sys.stdin:
        what, *rest = json.loads(line)
        answer: Any = what
        if what == "start":
            answer = os.fork()
            if not answer:
                try:
                    what, facts, at = rest
                    code = _child(what, facts, at, str(folder))
                except BaseException as error:
                    sys.stderr.write(f"{type(error).__name__}: {error}\n")
                    code = 3
                os._exit(code)
        elif what == "wait":
            answer = os.waitstatus_to_exitcode(os.waitpid(rest[0], 0)[1])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
