"""What a newcomer gets wrong around a shuffler is said, and loses no reports: addresses, keys, copies."""

from __future__ import annotations

import json
import shutil
from logging import getLogger
from logging.handlers import QueueHandler
from pathlib import Path
from queue import SimpleQueue

import pytest

from collecting import collector, some_task
from command_line import output, run
from discreet.collector import missing_keys, open_store
from discreet.collector.stores.batches import BatchStore
from discreet.errors import DataSourceError, MissingExtra, TooFewReports
from discreet.local import Client, DirectResponse
from mixing import mixed_task, mixing


def test_a_report_for_the_wrong_address_waits_and_the_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device of a shuffled task has the address of the collector; with the right one its report arrives."""
    task = mixed_task(tmp_path)
    logged = QueueHandler(SimpleQueue())
    monkeypatch.setattr(getLogger("discreet.client"), "handlers", [logged])  # others may have set up the log
    limits = {"report": 9, "day": 99, "life": 99}
    with mixing(tmp_path, task) as (running, shuffler):
        pins = {"colour": task.digest}
        with Client(tmp_path / "device", f"http://127.0.0.1:{running.port}", pins=pins, **limits) as client:  # type: ignore[arg-type]
            client.use(task)
            client.report("colour", "red")
            assert client.flush() == (0, 1, 0)
            assert "answers 403 (this task takes reports from its shuffler only" in client.problem
            assert client.problem == logged.queue.get_nowait().getMessage()
        with Client(tmp_path / "device", f"http://127.0.0.1:{shuffler.port}", pins=pins, **limits) as client:  # type: ignore[arg-type]
            assert client.flush() == (1, 0, 0)
            assert client.problem == ""


def test_an_unknown_task_keeps_reports_and_does_not_stop_others(tmp_path: Path) -> None:
    known = some_task(name="known")
    other = some_task(DirectResponse(1, ["red", "old"]), name="other")
    with collector(tmp_path / "collected", known) as running:
        pins = {"other": other.digest, "known": known.digest}
        address = f"http://127.0.0.1:{running.port}"
        with Client(tmp_path / "device", address, pins=pins, report=9, day=99, life=99) as client:
            for task, question in ((other, "other"), (known, "known")):
                client.use(task)
                client.report(question, "red")
            assert client.flush() == (1, 1, 0)
            assert "answers 404 (there is no task with this digest)" in client.problem


def test_lost_reports_are_stated_when_there_are_too_few(tmp_path: Path) -> None:
    task = mixed_task(tmp_path, minimum=2)
    store = open_store(tmp_path / "collected")
    store.create(task)
    store.note_lost(task.digest, 12)
    store.shut()
    with pytest.raises(TooFewReports, match=r"the shuffler deleted 12 others.* needs at least 2"):
        run("collect", "estimate", task.digest[:8], "--data", tmp_path / "collected")


def test_a_restored_collector_without_its_keys_warns(tmp_path: Path) -> None:
    task = mixed_task(tmp_path)
    folder = tmp_path / "collected"
    store = open_store(folder)
    store.create(task)
    store.create(some_task(name="direct"))
    assert missing_keys(folder, store) == []
    shutil.move(folder / "sealing.keys", tmp_path / "kept")
    (told,) = missing_keys(folder, store)
    assert task.digest[:12] in told
    assert str(folder / "sealing.keys") in told
    store.close_task(task.digest)
    assert missing_keys(folder, store) == []
    store.shut()


def test_a_copy_is_private_and_that_of_a_shuffler_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    open_store(tmp_path / "collected").shut()
    BatchStore(tmp_path / "shuffled").shut()
    output("collect", "backup", "copy.sqlite", "--data", "collected", "--json")
    assert Path("copy.sqlite").stat().st_mode & 0o777 == 0o600
    with pytest.raises(DataSourceError, match="the folder of a shuffler"):
        run("collect", "backup", "other.sqlite", "--data", "shuffled")
    assert not Path("other.sqlite").exists()
    assert not Path("shuffled/collected.sqlite").exists()


def test_the_line_for_a_missing_extra_works_in_a_clone() -> None:
    extras = json.dumps(str(MissingExtra("sealing reports", "sign")))
    assert "or in a clone pip install '.[sign]'" in extras
    guide = Path(__file__).parents[2] / "docs"
    assert "pip install '.[sign]'" in (guide / "install.md").read_text()
    assert "`sign`" in (guide / "shuffler.md").read_text()
