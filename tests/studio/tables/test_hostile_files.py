"""A job file, a path or a workspace that somebody else wrote shows no row, asks no one, and stops nothing."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.studio.jobs import job_of
from discreet.studio.runs.supervisor import Supervisor
from discreet.studio.tables import uploads
from discreet.studio.workspace import Project
from support.studio_client import Browser, browser

COLUMNS = "[schema.columns.age]\nbounds = [0, 9000]\n"
PAGES = ("data", "columns", "goal", "plan", "release", "evidence", "account")


def job_file(place: Path, data: str, more: str = "") -> Path:
    text = f'[job]\nkind = "synopsis"\n[data]\npath = "{data}"\n{COLUMNS}{more}[parameters]\nepsilon = 1\n'
    place.write_text(text + '[outputs]\nrelease = "s.parquet"\n')
    return place


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Browser]:
    with browser(tmp_path / "home") as made:
        yield made


@pytest.fixture
def table(tmp_path: Path) -> Path:
    place = tmp_path / "t.csv"
    place.write_text("age\n" + "4711\n" * 30)
    return place


def only(client: Browser) -> Project:
    (found,) = client.studio.workspace.projects()
    return found


def test_a_job_of_somebody_who_looked_shows_no_row_to_anyone_who_opens_it(client: Browser, table: Path) -> None:
    place = job_file(table.with_name("job.toml"), str(table), "[schema.source]\nlooked = 20\n")
    page = client.post("/open", data={"path": str(place)})
    assert "1 column" in page.text
    assert "4711" not in page.text
    assert job_of(only(client)).schema.source.looked == 20  # but every release says that somebody did


def test_a_database_that_a_job_file_names_is_asked_when_the_steward_says_so(client: Browser, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)
        address = f"postgresql://127.0.0.1:{listening.getsockname()[1]}/base?table=people&connect_timeout=1"
        page = client.post("/open", data={"path": str(job_file(tmp_path / "job.toml", address))})
        assert address.replace("&", "&amp;") in page.text
        project = only(client)
        for name in PAGES:
            client.get(f"/p/{project.id}/{name}")
        with pytest.raises(TimeoutError):
            listening.accept()  # no one came
        assert "Release now" not in client.get(f"/p/{project.id}/release").text
    client.post(f"/p/{project.id}/ask")
    assert not only(client).unasked


def test_that_rows_were_seen_is_said_by_later_releases_of_the_same_table(client: Browser, table: Path) -> None:
    before = client.studio.workspace.create(source=str(table), goal="synopsis", parameters={"epsilon": 1.0})
    before.schema_file.write_text("[columns.age]\nbounds = [0, 9000]\n")
    shown = f"/p/{before.id}/release"
    assert "looked" not in client.get(shown).text
    client.post("/open", data={"path": str(table), "anew": "yes"})
    looking = next(p for p in client.studio.workspace.projects() if p.id != before.id)
    assert "4711" in client.post(f"/p/{looking.id}/look", data={"look": "yes"}).text
    assert "looked = 20" in client.get(shown).text  # in the job file that every page shows
    client.post(f"/p/{looking.id}/forget")
    os.symlink(table, table.with_name("alias.csv"))
    client.post("/open", data={"path": str(table.with_name("alias.csv")), "anew": "yes"})
    again = next(p for p in client.studio.workspace.projects() if p.id != before.id)
    again.schema_file.write_text("[columns.age]\nbounds = [0, 9000]\n")
    again.goal, again.parameters = "synopsis", {"epsilon": 1.0}
    assert job_of(again).schema.source.looked


def test_a_schema_file_does_not_unsee_rows(client: Browser, table: Path) -> None:
    client.post("/open", data={"path": str(table), "anew": "yes"})
    project = only(client)
    client.post(f"/p/{project.id}/look", data={"look": "yes"})
    schema = b"[source]\nmissing = ['?']\n[columns.age]\nbounds = [0, 9000]\n"
    client.post(f"/p/{project.id}/columns/file", files={"file": ("s.toml", schema)})
    assert dc.Domain.from_toml(project.schema_file).source.to_dict() == {"missing": ["?"], "looked": 20}


@pytest.mark.parametrize(
    "path", ["a\0b", "~nobody-of-this-name/t.csv", "x" * 5000, "/dev/zero", "pipe.csv", "/proc/self/mem"]
)
def test_what_cannot_be_a_table_is_refused_at_once(client: Browser, tmp_path: Path, path: str) -> None:
    if path == "pipe.csv":
        path = str(tmp_path / path)
        os.mkfifo(path)
    page = client.post("/open", data={"path": path})
    assert page.status_code == 400
    assert "path-fault" in page.text
    assert list(client.studio.workspace.projects()) == []
    assert client.get("/", params={"folder": path}).status_code == 400


def test_an_account_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.account")
    with pytest.raises(dc.errors.DataSourceError, match="not a file"):
        dc.accounts.Account(tmp_path / "pipe.account")


def test_a_name_that_no_page_can_say_is_not_listed(client: Browser, tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/caf\xe9.csv", "w", encoding="utf-8") as file:
        file.write("age\n")
    client.studio.roots = (tmp_path,)
    (tmp_path / "été 👩‍👩‍👧.csv").write_text("age\n")
    page = client.get("/", params={"folder": str(tmp_path)})
    assert "été 👩‍👩‍👧.csv" in page.text
    assert "caf" not in page.text


@pytest.mark.parametrize(
    "told",
    ["[1, 2]", "null", "7", '{"source": 5}', '{"parameters": [1]}', '{"source": "a\\u0000b"}', '{"source": "xy://z"}'],
)
def test_a_damaged_project_does_not_close_the_others(client: Browser, table: Path, told: str) -> None:
    for _ in range(2):
        client.post("/open", data={"path": str(table), "anew": "yes"})
    sound, broken = client.studio.workspace.projects()
    (broken.folder / "project.json").write_text(told)
    assert [p.id for p in client.studio.workspace.projects()] == [sound.id]
    assert client.get("/").status_code == 200
    assert client.get(f"/p/{broken.id}/data").status_code == 400
    Supervisor(client.studio.workspace)  # the next studio starts


DAMAGED_STATUS = [
    [1], {"state": "done", "files": 5}, {"state": "weird", "progress": 3},
    {"state": "failed", "message": 5, "where": 7}, {"state": "failed", "started": "yesterday"},
    {"state": "done", "promise": 5, "figures": 7},
]  # fmt: skip


def test_a_damaged_status_breaks_no_page(client: Browser, table: Path) -> None:
    client.post("/open", data={"path": str(table)})
    project = only(client)
    folder = project.runs / "1"
    folder.mkdir(parents=True)
    job_file(folder / "job.toml", str(table))
    for told in DAMAGED_STATUS:
        (folder / "status.json").write_text(json.dumps(told))
        for page in ("release", "release/1", "release/1/progress", "evidence", "account"):
            found = client.get(f"/p/{project.id}/{page}")
            assert found.status_code == 200, (told, page)  # faults of the program are raised


def test_runs_hand_out_nothing_that_lies_elsewhere(client: Browser, table: Path, tmp_path: Path) -> None:
    client.post("/open", data={"path": str(table)})
    project = only(client)
    elsewhere = tmp_path / "elsewhere"
    for place, file in ((project.runs / "1", str(table)), (project.runs / "2", "link.csv"), (elsewhere, "t.csv")):
        place.mkdir(parents=True)
        (place / "status.json").write_text(json.dumps({"state": "done", "files": {"release": file}}))
        job_file(place / "job.toml", str(table))
    os.symlink(table, project.runs / "2" / "link.csv")
    os.symlink(elsewhere, project.runs / "3")
    (elsewhere / "t.csv").write_text("age\n4711\n")
    for number in (1, 2, 3):
        for page in (f"release/{number}", f"release/{number}/file/release", f"results/{number}", "evidence"):
            assert "4711" not in client.get(f"/p/{project.id}/{page}").text


def test_an_upload_says_why_it_is_refused_and_takes_long_names(client: Browser) -> None:
    twice = [("file", ("a/t.csv", b"age\n1\n")), ("file", ("b/t.csv", b"age\n1\n"))]
    assert "two files are called &#39;t.csv&#39;" in client.post("/upload", files=twice).text
    page = client.post("/upload", files={"file": ("漢" * 150 + ".csv", b"age\n1\n")})
    assert page.status_code == 200
    assert len(os.fsencode(uploads.safe_name("é" * 300 + "." + "é" * 300))) < 255


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a disk that is always full")
def test_an_upload_to_a_full_disk_is_refused_in_words(client: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(taker: Any) -> None:
        taker._file = open("/dev/full", "wb")  # noqa: SIM115
        taker._file.write(b"age")  # waits in memory, and is tried again when the file is closed
        taker.files.append(taker._folder / "t.csv")

    monkeypatch.setattr(uploads._Taker, "opened", opened)
    page = client.post("/upload", files={"file": ("t.csv", b"1" * 10**6)})
    assert page.status_code == 400
    assert "No space left" in page.text
    assert list(client.studio.workspace.projects()) == []
