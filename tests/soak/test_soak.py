"""The soak itself, in ten minutes; and planted faults: every check of it can fail, one promise after the other."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.accounts import Account
from discreet.collector import open_store
from discreet.collector.stores.base import Post
from discreet.local.tasks.frames import split_frame
from discreet.studio.runs.run import blank
from soak import checks
from soak.chart import chart
from soak.doors import Devices, Link, tasks_of, write_job
from soak.plan import SERVICES, digest, plan
from soak.world import Notes
from studio_runs import people

TESTS = Path(__file__).parents[1]


# ---- the plan


def test_the_same_seed_gives_the_same_plan() -> None:
    assert plan(7, 10) == plan(7, 10)
    assert digest(plan(7, 10)) == digest(plan(7, 10)) != digest(plan(8, 10))
    hour = plan(1, 60)
    assert {step.door for step in hour} == {"devices", "operator", "studio", "files", "spark", "kill", "disk"}
    assert sum(step.door == "kill" for step in hour) == 59
    assert sum(step.door == "disk" for step in hour) == 15


def test_every_service_lives_for_a_third_of_the_time() -> None:
    for number, name in enumerate(SERVICES):
        kills = [step.at for step in plan(3, 60) if step.door == "kill" and step.act == name]
        assert not [at for at in kills if 1200 * number <= at < 1200 * (number + 1)]
        assert kills


# ---- nothing acknowledged lost


@pytest.fixture
def collected(tmp_path: Path) -> tuple[Path, Devices]:
    """A store with thirty reports, written as the service does."""
    task = tasks_of(tmp_path)["direct"]
    notes = Notes(tmp_path / "notes")
    devices = Devices(task, Link("collector", 1, notes))
    notes.close()
    store = open_store(tmp_path / "collected")
    store.create(task)
    for frame in devices.fresh(30):
        key, n, body = split_frame(2, devices.frames[frame])
        store.commit([Post(task.digest, 0, key, n, body)])
        devices.acknowledged.add(frame)
    store.shut()
    return tmp_path / "collected", devices


def _faults(collected: tuple[Path, Devices]) -> list[str]:
    place, devices = collected
    return checks.reports(place, devices.task.digest, devices.acknowledged, len(devices.frames))


def _change(place: Path, line: str) -> None:
    with closing(sqlite3.connect(place / "collected.sqlite")) as base:
        base.execute(line)
        base.commit()


def test_a_report_that_was_acknowledged_and_is_gone_is_found(collected: tuple[Path, Devices]) -> None:
    assert _faults(collected) == []
    _change(collected[0], "delete from log where id = 7")
    assert _faults(collected) == ["1 acknowledged reports are lost"]


def test_a_report_that_is_counted_twice_is_found(collected: tuple[Path, Devices]) -> None:
    _change(collected[0], "insert into log (task, period, heads, reports) select task, period, heads, reports from log "
                          "where id = 7")  # fmt: skip
    assert _faults(collected) == ["1 reports were counted more than once"]


def test_a_report_that_was_never_sent_is_found(collected: tuple[Path, Devices]) -> None:
    collected[1].frames.pop()
    collected[1].acknowledged.discard(29)
    assert _faults(collected) == ["1 reports were counted that were never sent"]


def test_a_number_of_reports_that_is_off_by_one_is_found(collected: tuple[Path, Devices]) -> None:
    place, devices = collected
    assert checks.number(place, devices.task.digest, 30) == []
    assert checks.number(place, devices.task.digest, 31) == ["31 reports were acknowledged and 30 are counted"]


def test_a_copy_without_an_earlier_report_is_found(collected: tuple[Path, Devices], tmp_path: Path) -> None:
    place, devices = collected
    for number, line in enumerate(("select 1", "delete from log where id = 7")):
        _change(place, line)
        store, copy = open_store(place), tmp_path / f"copy-{number}.sqlite"
        store.backup(copy)  # type: ignore[attr-defined]
        store.shut()
        found = checks.copy_of_store(copy, devices.task.digest, devices.acknowledged, tmp_path / str(number))
        assert len(found) == number


def test_a_damaged_store_is_found(collected: tuple[Path, Devices]) -> None:
    file = collected[0] / "collected.sqlite"
    _change(collected[0], "pragma wal_checkpoint(truncate)")
    assert checks.whole_store(file) == []
    data = bytearray(file.read_bytes())
    data[4096 * 2 : 4096 * 2 + 64] = os.urandom(64)
    file.write_bytes(data)
    assert len(checks.whole_store(file)) == 1


# ---- no account overspent


def _account(place: Path) -> list[dict[str, Any]]:
    """Charge an account as a writer does; return what the writer would have logged."""
    book, told = Account.create(place, dataset="d", epsilon=5), []
    for price in (1, 2):
        ledger = dc.Ledger(epsilon=price)
        ledger.spend("all", price)
        promise = dc.Guarantee.from_ledger(ledger, model="central").seal(bytes([price]))
        reserved = book.reserve("release", epsilon=price)
        facts = {"account": place.name, "entry": reserved.number, "price": price, "digest": promise.digest}
        told.append({"state": "reserved", **facts})
        if price == 1:
            reserved.book(promise)
            told.append({"state": "booked", **facts})
    return told


def _forge(place: Path, **facts: Any) -> None:
    """Append a line that fits the chain and that no program would have written."""
    lines = place.read_bytes().splitlines()
    text = json.dumps({**facts, "after": lines[-1][-64:].decode()}, sort_keys=True, separators=(",", ":"))
    place.write_bytes(b"\n".join([*lines, f"{text} {hashlib.sha256(text.encode()).hexdigest()}".encode(), b""]))


def test_an_account_that_spends_more_than_its_limit_is_found(tmp_path: Path) -> None:
    place = tmp_path / "a.account"
    _account(place)
    assert checks.account(place) == []
    line = json.loads(place.read_bytes().splitlines()[1][:-65])
    _forge(place, **{**line, "entry": 3, "price": "3"})
    assert "a.account: ε 6 spent of 5" in checks.account(place)


def test_an_account_that_forgot_what_was_published_is_found(tmp_path: Path) -> None:
    """Reserved and lost stays spent; what was booked stays booked; no entry has two owners."""
    place = tmp_path / "a.account"
    told = _account(place)
    assert checks.published(tmp_path, told) == []
    whole = place.read_bytes().splitlines(keepends=True)
    place.write_bytes(b"".join(whole[:-1]))  # an older copy: without the last reservation
    assert checks.account(place) == []
    assert checks.published(tmp_path, told) == ["a.account, entry 2: a price of 2 was allowed, and is not there"]
    place.write_bytes(b"".join(whole[:2]))
    assert "a.account, entry 1: was booked, and is reserved" in checks.published(tmp_path, told)
    place.write_bytes(b"".join(whole))
    assert checks.published(tmp_path, [*told, told[0]]) == ["('a.account', 1): given to two programs"]
    place.write_bytes(b"".join(whole).replace(b'"price":"2"', b'"price":"1"'))
    assert checks.account(place) == ["a.account: line 4 does not have its hash"]


# ---- no half file


@pytest.fixture
def done(tmp_path: Path) -> Path:
    """A finished job."""
    from discreet.jobs import Job

    folder = tmp_path / "1"
    folder.mkdir()
    book = Account.create(tmp_path / "a.account", dataset="d", epsilon=5, delta=1e-6)
    write_job("synopsis", people(tmp_path / "people.csv"), folder / "job.toml", book.path, pages=True)
    Job.from_toml(folder / "job.toml").run()
    return folder


def _job(folder: Path, *, killed: int = 0) -> list[str]:
    return checks.job(folder, done=True, killed=killed)[0]


def test_a_file_that_was_cut_is_found(done: Path) -> None:
    assert checks.job(done, done=True, killed=0) == ([], 2)
    whole = (done / "s.parquet").read_bytes()
    (done / "s.parquet").write_bytes(whole[: len(whole) // 2])
    assert "verify ends with" in _job(done)[0]
    (done / "s.parquet").unlink()
    assert _job(done) == ["1: the job is done, and s.parquet is not there"]


def test_half_a_page_is_found(done: Path) -> None:
    page = (done / "page.html").read_text(encoding="utf-8")
    (done / "page.html").write_text(page[: len(page) // 2], encoding="utf-8")
    assert "1: page.html is half a page" in _job(done)


def test_a_temporary_file_is_found_unless_its_program_was_killed(done: Path) -> None:
    left = done / ".x1y2.s.parquet"
    left.touch(mode=0o600)
    assert _job(done) == ["1: .x1y2.s.parquet was left though nothing was killed"]
    assert _job(done, killed=1) == []
    left.chmod(0o644)
    assert _job(done, killed=1) == ["1: others may read .x1y2.s.parquet"]
    left.rename(done / "s.parquet.part")
    assert _job(done, killed=1) == ["1: s.parquet.part is not an output of it"]


def test_a_run_of_the_studio_that_never_ended_is_found(tmp_path: Path) -> None:
    run = tmp_path / "abcdefabcdef" / "runs" / "1"
    run.mkdir(parents=True)
    (tmp_path / "abcdefabcdef" / "project.json").write_text('{"forgotten": false}', encoding="utf-8")
    for state, unforeseen, faults in (("lost", False, 0), ("running", False, 1), ("failed", True, 1)):
        told = {**blank(), "state": state, "unforeseen": unforeseen, "message": "KeyError"}
        (run / "status.json").write_text(json.dumps(told), encoding="utf-8")
        assert len(checks.studio(tmp_path)[0]) == faults


# ---- no unexplained exception


def _error(text: str, at: float = 100.0, door: str = "collector") -> dict[str, Any]:
    return {"kind": "error", "door": door, "text": text, "at": at, "since": at - 1}


def test_an_error_needs_a_cause_at_its_time() -> None:
    kill = {"kind": "kill", "service": "collector", "at": 90.0}
    full = {"kind": "full", "at": 90.0, "until": 101.0}
    refused, away = _error("status 503: disk is full"), _error("no answer: ConnectionRefusedError")
    assert checks.errors([full, refused])[0] == []
    assert checks.errors([kill, away])[0] == []
    for unexplained in (
        [refused],
        [away],
        [kill, refused],
        [{**kill, "at": 20.0}, away],
        [{**kill, "service": "x"}, away],
    ):
        assert len(checks.errors(unexplained)[0]) == 1
    assert len(checks.errors([kill, full, _error("Traceback (most recent call last): disk is full")])[0]) == 1
    assert len(checks.errors([kill, full, _error("OSError: [Errno 5] Input/output error")])[0]) == 1
    assert checks.errors([kill, away])[1] == {"collector: killed": 1}
    java = {**_error("unforeseen ConnectionRefusedError: [Errno 111] Connection refused"), "door": "spark"}
    assert checks.errors([{**kill, "service": "spark"}, java])[0] == []
    assert len(checks.errors([kill, java])[0]) == len(checks.errors([{**java, "door": "files"}])[0]) == 1


def test_a_traceback_in_a_log_is_found(tmp_path: Path) -> None:
    log = tmp_path / "collector.log"
    said = "the store takes no reports at the moment: database or disk is full; send the same reports again later\n"
    log.write_text(f"{said}maintenance failed: {said}the store takes reports again\n", encoding="utf-8")
    assert checks.logs(tmp_path) == []
    log.write_text("Traceback (most recent call last):\nKeyError: 3\n", encoding="utf-8")
    assert "collector.log: KeyError: 3" in checks.logs(tmp_path)
    log.rename(tmp_path / "writer-0.log")
    assert len(checks.logs(tmp_path)) == 1
    (tmp_path / "writer-0.log").unlink()
    log.write_text("something else\n", encoding="utf-8")
    assert len(checks.logs(tmp_path)) == 1


def test_a_service_that_was_away_for_no_reason_is_found() -> None:
    gap = {"kind": "gap", "service": "studio", "since": 100.0, "at": 150.0, "seconds": 50.0}
    assert len(checks.gaps([gap])) == 1
    assert checks.gaps([{"kind": "kill", "service": "studio", "at": 101.0}, gap]) == []


def test_a_service_that_ends_by_itself_is_found() -> None:
    end = {"kind": "end", "service": "collector", "code": 1, "at": 100.0, "ours": False}
    assert checks.ends([end]) == ["collector ended by itself with 1 in second 100"]
    assert checks.ends([{**end, "ours": True}]) == []
    assert checks.ends([{"kind": "full", "at": 95.0, "until": 104.0}, end]) == []


# ---- memory flat


def _life(seconds: int, leak: float) -> list[tuple[float, float]]:
    """A program of 100 MiB that loads for half a minute, breathes by 2 MiB, and loses so many MiB per hour."""
    return [(at, 100 + min(at, 30) + 2 * (at // 5 % 2) + leak * at / 3600) for at in range(0, seconds, 5)]


def test_a_leak_is_found_and_breathing_is_not() -> None:
    for lives in ([_life(1200, 0.0)], [_life(400, 0.0), _life(250, 0.0)]):
        assert checks.flat({"studio": lives})[0] == []
    for lives in ([_life(1200, 120.0)], [_life(1200, 120.0), _life(300, 120.0)]):
        assert "memory grows" in checks.flat({"studio": lives})[0][0]
    assert "no life was long enough" in checks.flat({"studio": [_life(60, 0.0)]})[0][0]


def test_the_committed_result_follows_from_its_series() -> None:
    told = json.loads((TESTS.parent / "benchmarks" / "results" / "soak.json").read_text(encoding="utf-8"))
    faults, memory = checks.flat(told["series"])
    assert told["promises"]["memory flat"] == (not faults)
    for name, facts in told["memory"].items():  # of long lives, the file has a part of the samples
        assert memory[name] == pytest.approx(facts, rel=0.2, abs=0.2 * checks.GROWTH)
    assert told["plan"] == digest(plan(told["seed"], told["minutes"]))
    assert all(told["promises"].values()) == (not told["faults"])


def test_the_picture_has_every_service() -> None:
    told = {"minutes": 20, "series": {name: [_life(1200, 0.0)] for name in SERVICES},
            "memory": checks.flat({name: [_life(1200, 0.0)] for name in SERVICES})[1]}  # fmt: skip
    assert all(f"{name}: 132 MiB" in chart(told) or f"{name}: 131 MiB" in chart(told) for name in SERVICES)


# ---- all of it


@pytest.mark.slow
def test_ten_minutes_of_everything_at_once(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the extra is not installed: pip install 'discreet[spark]'")
    line = [sys.executable, "-m", "soak.run", "--minutes", "10", "--seed", "1", "--out", str(tmp_path)]
    paths = {"PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS / "support")])}
    done = subprocess.run(line, env={**os.environ, **paths}, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    told = json.loads((tmp_path / "soak.json").read_text(encoding="utf-8"))
    assert sum(told["kills"].values()) >= 6
    assert told["checked"]["reports, direct"] > 1000
    assert told["checked"]["reports, sealed"] > 1000
