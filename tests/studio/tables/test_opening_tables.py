"""A table is opened by path or through the browser; its head is told, its rows only to a steward who asks to look."""

import os
import re
import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.jobs import Job
from discreet.studio.tables import heads, uploads
from discreet.studio.tables.browse import listing
from discreet.studio.workspace import Project, Workspace
from support.studio_client import Browser, browser

GERMAN = "Alter;Kosten;Tag\n34;1.234,50;03.04.1990\n51;7,25;28.12.1985\n"


def only(client: Browser) -> Project:
    (found,) = client.studio.workspace.projects()
    return found


@pytest.fixture
def german(tmp_path: Path) -> Path:
    place = tmp_path / "Kunden 2026.csv"
    place.write_text(GERMAN)
    return place


def test_the_head_is_told_and_no_row(tmp_path: Path, german: Path) -> None:
    with browser(tmp_path / "home") as client:
        page = client.post("/open", data={"path": str(german)})
    assert page.status_code == 200
    for told in ("3 columns", "Alter", "Kosten", "a semicolon"):
        assert told in page.text
    for value in ("1.234,50", "28.12.1985", "2 rows"):
        assert value not in page.text


def test_rows_are_shown_while_that_is_ticked_and_the_schema_says_so_ever_after(tmp_path: Path, german: Path) -> None:
    with browser(tmp_path / "home") as client:
        client.post("/open", data={"path": str(german)})
        project = only(client)
        project.schema_file.write_text("[source]\ndelimiter = ';'\n[columns.Alter]\nbounds = [0, 120]\n")
        page = client.post(f"/p/{project.id}/look", data={"look": "yes"})
        assert "1.234,50" in page.text
        assert page.headers["cache-control"] == "no-store"
        assert "1.234,50" not in client.post(f"/p/{project.id}/look", data={"look": "no"}).text
        assert dc.Domain.from_toml(project.schema_file).source.looked == heads.MOST_ROWS
        with pytest.raises(dc.errors.DataSourceError):
            heads.rows_of(only(client))


def test_at_most_twenty_rows_are_shown(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": np.arange(1000, 1100)}), tmp_path / "t.parquet")
    project = Workspace(tmp_path / "home").create(source=str(tmp_path / "t.parquet"))
    heads.look(project, True)
    assert [row[0] for row in heads.rows_of(project)] == [str(n) for n in range(1000, 1020)]


def test_what_rows_show_of_marks_is_offered_and_taken_over(tmp_path: Path, german: Path) -> None:
    with browser(tmp_path / "home") as client:
        client.post("/open", data={"path": str(german)})
        project = only(client)
        page = client.post(f"/p/{project.id}/look", data={"look": "yes"})
        assert "%d.%m.%Y" in page.text
        page = client.post(f"/p/{project.id}/written", data={"act": "suggest"})
        assert "have another format" not in page.text
    dialect = heads.head_of(only(client)).dialect
    assert (dialect.delimiter, dialect.decimal, dialect.thousands, dialect.dates) == (";", ",", ".", ("%d.%m.%Y",))


def test_a_first_line_that_may_be_somebodys_record_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "bare.csv").write_text("44,Zoltan\n51,Bob\n")
    with browser(tmp_path / "home") as client:
        page = client.post("/open", data={"path": str(tmp_path / "bare.csv")})
        assert "What is the first line?" in page.text
        assert "Zoltan" not in page.text
        project = only(client)
        assert client.post(f"/p/{project.id}/look", data={"look": "yes"}).status_code == 400
        page = client.post(f"/p/{project.id}/written", data={"header": "record", "skip": "0"})
        assert "column_1" in page.text
        assert "Zoltan" not in page.text
    assert heads.head_of(only(client)).dialect.names == ("column_1", "column_2")


def test_a_table_read_otherwise_keeps_the_declarations_that_still_hold(tmp_path: Path, german: Path) -> None:
    project = Workspace(tmp_path / "home").create(source=str(german))
    project.schema_file.write_text(
        "[source]\ndelimiter = ';'\n[columns.Alter]\nbounds = [0, 120]\n[columns.gone]\nbounds = [0, 1]\n"
    )
    heads.say_written(project, dc.Domain.from_toml(project.schema_file).source)
    assert dc.Domain.from_toml(project.schema_file).names == ("Alter",)


def test_an_upload_is_private_and_gone_with_its_project(tmp_path: Path) -> None:
    with browser(tmp_path / "home") as client:
        page = client.post("/upload", files={"file": ("../../Kunden 2026.csv", GERMAN)})
        assert "3 columns" in page.text
        project = only(client)
        place = Path(project.source)
        assert place == project.uploads / "Kunden 2026.csv"
        assert place.read_text() == GERMAN
        assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        assert str(tmp_path) not in page.text  # where it is kept is no one's business
        client.post(f"/p/{project.id}/forget")
        assert list((tmp_path / "home").iterdir()) == []


def test_more_than_the_bound_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with browser(tmp_path / "home") as client:
        client.studio.largest = 10_000
        page = client.post("/upload", files={"file": ("t.csv", b"x" * 20_000)})
        assert page.status_code == 400
        assert "open the file by its path" in page.text

        def endless() -> object:
            yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="t.csv"\r\n\r\n'
            for _ in range(100):
                yield b"x" * 1000

        typed = {"content-type": "multipart/form-data; boundary=b"}
        assert client.post("/upload", content=endless(), headers=typed).status_code == 400  # no length was announced
        cut = b'--b\r\nContent-Disposition: form-data; name="file"; filename="t.csv"\r\n\r\nhalf'
        assert client.post("/upload", content=cut, headers=typed).status_code == 400
        assert list((tmp_path / "home").iterdir()) == []


def test_a_full_disk_is_told_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "SPARE", 2**62)
    with browser(tmp_path / "home") as client:
        page = client.post("/upload", files={"file": ("t.csv", GERMAN)})
    assert "too little room" in page.text
    assert list((tmp_path / "home").iterdir()) == []


def test_uploads_are_swept_unless_a_release_is_to_be_taken_up(tmp_path: Path) -> None:
    with browser(tmp_path / "home") as client:
        client.post("/upload", files={"file": ("t.csv", GERMAN)})
        project = only(client)
        status = project.runs / "1" / "status.json"
        status.parent.mkdir(parents=True)
        status.write_text('{"state": "lost"}')
        client.studio.workspace.sweep()
        assert Path(project.source).is_file()
        status.write_text('{"state": "done"}')
        client.studio.workspace.sweep()
        assert not project.uploads.exists()
        page = client.get(f"/p/{project.id}/data")
        assert "Bring the table again" in page.text
        page = client.post(f"/p/{project.id}/upload", files={"file": ("t.csv", GERMAN)})
        assert "3 columns" in page.text


def test_a_job_file_is_uploaded_with_its_table(tmp_path: Path) -> None:
    job = Job("synopsis", "t.csv", dc.Domain({"Alter": (0, 120)}, source={"delimiter": ";"}), {"epsilon": 2},
        {"release": "s.parquet"}).to_toml()  # fmt: skip
    with browser(tmp_path / "home") as client:
        page = client.post("/upload", files=[("file", ("job.toml", job))])
        assert "choose that table together with the job file" in page.text
        client.post("/upload", files=[("file", ("job.toml", job)), ("file", ("t.csv", GERMAN))])
        project = only(client)
        assert (project.goal, project.parameters, project.uploaded) == ("synopsis", {"epsilon": 2}, True)
        assert Path(project.source).read_text() == GERMAN
        assert 'path = "t.csv"' in client.get(f"/p/{project.id}/job.toml").text


def test_several_files_are_one_table(tmp_path: Path) -> None:
    with browser(tmp_path / "home") as client:
        page = client.post("/upload", files=[("file", (f"{n}.csv", GERMAN)) for n in (1, 2)])
        assert "3 columns" in page.text
        assert client.post("/upload", files=[("file", ("1.csv", GERMAN))] * 2).status_code == 400


def test_a_database_is_opened_by_its_address_without_a_password(tmp_path: Path) -> None:
    with browser(tmp_path / "home") as client:
        page = client.post("/open", data={"path": "postgresql://joe:hunter2@db/ward?table=t"})
        assert page.status_code == 400
        assert "hunter2" not in page.text
        assert client.post("/open", data={"path": "https://example.org/t.csv"}).status_code == 400


def test_only_folders_that_were_opened_are_listed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    (inside / "deeper").mkdir(parents=True)
    outside.mkdir()
    (inside / "t.csv").write_text("a\n")
    (inside / "notes.exe").write_text("")
    (inside / ".hidden.csv").write_text("")
    (outside / "secret.csv").write_text("")
    os.symlink(outside / "secret.csv", inside / "link.csv")
    os.symlink(outside, inside / "away")
    found = listing(inside, [inside])
    assert [p.name for p, _ in found.files] == ["t.csv"]
    assert [p.name for p in found.folders] == ["deeper"]
    assert found.above is None
    for folder in (outside, inside / "..", inside / "away", "/"):
        with pytest.raises(dc.errors.DataSourceError, match="not below a folder"):
            listing(folder, [inside])


def test_errors_of_a_damaged_table_quote_no_row(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1" + b"Zoltan,44,secret" * 100 + b"PAR1")
    (tmp_path / "u.csv").write_bytes(b"\xff\xfe\x00Zoltan\x00\n\xd8\n" * 10)
    with browser(tmp_path / "home") as client:
        for name in ("t.parquet", "u.csv"):
            page = client.post("/open", data={"path": str(tmp_path / name)})
            assert "Zoltan" not in re.sub(r"\W", "", page.text)


def test_a_workbook_of_several_sheets_asks_which(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for name, row in (("people", ["age", "town"]), ("notes", ["text"])):
        sheet = book.create_sheet(name)
        sheet.append(row)
    del book["Sheet"]
    book.save(tmp_path / "b.xlsx")
    with browser(tmp_path / "home") as client:
        page = client.post("/open", data={"path": str(tmp_path / "b.xlsx")})
        assert "<option>people</option><option>notes</option>" in page.text
        assert "has several sheets" in page.text
        page = client.post(f"/p/{only(client).id}/written", data={"sheet": "people", "skip": "0"})
        assert "2 columns" in page.text
    assert heads.head_of(only(client)).dialect.sheet == "people"


def test_a_table_of_a_database_is_told_and_looked_at_like_a_file(tmp_path: Path) -> None:
    base = sqlite3.connect(tmp_path / "people.db")
    base.execute("create table people as select 44 as age, 'Zoltan' as name")
    base.commit()
    base.close()
    with browser(tmp_path / "home") as client:
        page = client.post("/open", data={"path": f"sqlite:///{tmp_path / 'people.db'}?table=people"})
        assert "2 columns" in page.text
        assert "Zoltan" not in page.text
        page = client.post(f"/p/{only(client).id}/look", data={"look": "yes"})
        assert "Zoltan" in page.text


def test_a_path_that_cannot_be_opened_stays_in_its_field(tmp_path: Path) -> None:
    with browser(tmp_path / "home") as client:
        page = client.post("/open", data={"path": "/no/such <file>.csv"})
    assert page.status_code == 400
    assert 'value="/no/such &lt;file&gt;.csv"' in page.text


def test_dates_are_said_as_people_write_them_and_a_refusal_keeps_what_is_typed(tmp_path: Path, german: Path) -> None:
    with browser(tmp_path / "home") as client:
        client.post("/open", data={"path": str(german)})
        place = f"/p/{only(client).id}"
        typed = {"decimal": ",", "thousands": ".", "missing": "k. A.", "dates": "Tag, Monat"}
        page = client.post(f"{place}/written", data=typed)
        assert page.status_code == 400
        assert "“Tag” does not show the places of day, month and year" in page.text
        for name in ("missing", "dates"):
            assert f'name="{name}" value="{typed[name]}"' in page.text
        assert '<option value="." selected>' in page.text
        page = client.post(f"{place}/written", data={**typed, "dates": "TT.MM.JJJJ"})
        assert page.status_code == 200
        for told in ("<code>DD.MM.YYYY</code>", "<code>k. A.</code>", "Between thousands: a point"):
            assert told in page.text
        assert only(client).written["dates"] == ["%d.%m.%Y"]
        days = {"kind:Tag": "date", "low:Tag": "01.01.1920", "high:Tag": "31.12.2024"}
        assert client.post(f"{place}/columns", data=days).status_code == 200
        assert "1920-01-01" in only(client).schema_file.read_text()
