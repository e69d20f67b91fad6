"""Runs are started, limited and ended, without a server."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.core import cannot_write
from discreet.errors import DataSourceError
from discreet.jobs import Job
from discreet.studio.runs import Run, Supervisor, child
from discreet.studio.runs.run import born, lock, send
from discreet.studio.runs.supervisor import Busy, settle
from discreet.studio.workspace import Workspace


def test_a_signal_reaches_the_process_that_was_born_then_and_no_one_else() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        birth = born(process.pid)
        assert birth
        assert not send(process.pid, "1" + birth, signal.SIGKILL)
        assert process.poll() is None, "a stranger that has the number now is left alone"
        assert send(process.pid, birth, signal.SIGTERM)
        assert process.wait(10) == -signal.SIGTERM
        assert not send(process.pid, birth, signal.SIGTERM)
    finally:
        process.kill()
        process.wait()


def test_a_run_is_alive_as_long_as_somebody_holds_its_lock(tmp_path: Path) -> None:
    folder = tmp_path / "1"
    folder.mkdir()
    run = Run.read(folder)
    run.write(state="running")
    handle = lock(folder)
    assert handle is not None
    assert Run.read(folder).state == "running"
    assert lock(folder) is None
    settle(folder)
    assert Run.read(folder).status["state"] == "running", "nobody clears up after a run that is alive"
    os.close(handle)
    assert Run.read(folder).state == "lost"
    (folder / ".half").write_text("half")
    settle(folder)
    assert Run.read(folder).status["state"] == "lost"
    assert not (folder / ".half").exists()


def test_no_more_runs_than_may_be_are_started(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    supervisor = Supervisor(workspace, most=0)
    project = workspace.create(source="people.csv")
    job = Job("synopsis", "people.csv", {"age": (0, 120)}, {"epsilon": 1}, {"release": "s.parquet"})
    with pytest.raises(Busy, match="0 runs are under way"):
        supervisor.start(project, job, 1)
    assert not project.runs.exists()
    # One per table.
    place = project.runs / "1"
    place.mkdir(parents=True)
    Run.read(place).write(state="running")
    handle = lock(place)
    assert handle is not None
    with pytest.raises(Busy, match="run 1 of this table"):
        Supervisor(workspace).start(project, job, 2)
    os.close(handle)


def test_an_error_that_no_one_foresaw_is_named_without_its_words(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    folder = tmp_path / "1"
    (tmp_path / "t.csv").write_text("age\n35\n")
    Job("synopsis", str(tmp_path / "t.csv"), {"age": (0, 120)}, {"epsilon": 1}, {"release": "s.parquet"}).to_toml(
        folder / "job.toml"
    )
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr("discreet.jobs.work.synopsis.estimator", lambda job: int("Ada Lovelace, 35"))
        assert child.main(folder) == 1
    told = Run.read(folder).status
    assert told["state"] == "failed"
    assert told["message"].startswith("ValueError, ")
    assert "Lovelace" not in (folder / "status.json").read_text()


def test_a_run_for_which_there_is_no_room_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace(tmp_path)
    project = workspace.create(source="people.csv")
    job = Job("synopsis", "people.csv", {"age": (0, 120)}, {"epsilon": 1}, {"release": "s.parquet"})

    def full(path: Path, *_: object, **__: object) -> None:
        raise cannot_write(path, OSError(errno.ENOSPC, "No space left on device"))

    monkeypatch.setattr("discreet.studio.runs.supervisor.write_whole", full)
    with pytest.raises(DataSourceError, match="No space left on device"):
        Supervisor(workspace).start(project, job, 1)
    assert list(project.runs.iterdir()) == []
