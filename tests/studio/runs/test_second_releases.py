"""A release of the studio is checked with all others about its table when it is written, not when it was planned."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.jobs import Job
from discreet.studio.runs import Run, Supervisor, child, runs_of
from discreet.studio.runs.offer import history_of
from discreet.studio.schema import Sheet
from discreet.studio.workspace import Project
from support.joined_tables import Person, together
from support.studio_client import Browser, browser

K = 5
SCHEMA = """[columns.id]
role = "identifier"
[columns.age]
bounds = [0, 63]
kind = "integer"
role = "quasi-identifier"
[columns.cost]
bounds = [0, 63]
kind = "integer"
role = "quasi-identifier"
"""
PEOPLE: dict[str, Person] = {f"p{i}": (i * 37 % 64, i * i * 11 % 64) for i in range(200)}


class Later(Supervisor):
    """A supervisor whose runs wait until the test does them, in this process."""

    waiting: list[Path]

    def _launch(self, folder: Path, handle: int) -> None:
        os.close(handle)
        self.waiting.append(folder)

    def do(self) -> None:
        while self.waiting:
            child.main(self.waiting.pop(0))


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Browser]:
    with browser(tmp_path / "studio") as made:
        made.studio.supervisor = Later(made.studio.workspace)
        made.studio.supervisor.waiting = []
        yield made


@pytest.fixture
def table(tmp_path: Path) -> Path:
    place = tmp_path / "people.csv"
    rows = "".join(f"{name},{age},{cost}\n" for name, (age, cost) in PEOPLE.items())
    place.write_text("id,age,cost\n" + rows, encoding="utf-8")
    return place


def project(client: Browser, table: Path, method: str = "density-tree") -> Project:
    made = client.studio.workspace.create(
        source=str(table), goal="anonymize", parameters={"k": K, "method": method}
    )  # fmt: skip
    made.schema_file.write_text(SCHEMA, encoding="utf-8")
    return made


def plan(client: Browser, made: Project) -> Run:
    page = client.get(f"/p/{made.id}/release").text
    client.post(f"/p/{made.id}/release/start", data=dict(re.findall(r'name="(number|key)" value="([\w-]+)"', page)))
    return runs_of(made)[0]


def earlier(run: Run) -> int:
    promise = json.loads(run.path("promise").read_text(encoding="utf-8"))
    return int(promise["parameters"].get("earlier_releases", 0))


def alike(*runs: Run) -> int:
    tables = [Run.read(run.folder) for run in runs]
    assert [run.state for run in tables] == ["done"] * len(runs), [run.status["message"] for run in tables]
    return min(together([(run.path("release").read_bytes(), PEOPLE) for run in tables]).values())


def test_a_run_that_is_taken_up_is_checked_with_what_was_released_meanwhile(client: Browser, table: Path) -> None:
    made, supervisor = project(client, table), client.studio.supervisor
    first = plan(client, made)
    supervisor.waiting.clear()  # its process was lost
    assert first.state == "lost"
    made.parameters = {"k": K, "method": "mondrian"}
    made.save()
    second = plan(client, made)
    supervisor.do()
    client.post(f"/p/{made.id}/look", data={"look": "yes"})
    client.post(f"/p/{made.id}/release/1/again", data={"attempt": "1"})
    supervisor.do()
    assert alike(first, second) >= K
    first = Run.read(first.folder)
    assert earlier(first) == 1
    assert "looked at" in first.path("promise").read_text(encoding="utf-8")
    assert "looked at" not in Run.read(second.folder).path("promise").read_text(encoding="utf-8")


def test_two_projects_that_start_at_once_are_checked_with_each_other(client: Browser, table: Path) -> None:
    runs = [plan(client, project(client, table, method)) for method in ("density-tree", "mondrian")]
    client.studio.supervisor.do()
    assert alike(*runs) >= K
    assert [earlier(Run.read(run.folder)) for run in runs] == [0, 1]


def test_a_job_file_runs_elsewhere_with_a_copy_of_the_history(client: Browser, tmp_path: Path, table: Path) -> None:
    made, supervisor = project(client, table), client.studio.supervisor
    first = plan(client, made)
    supervisor.do()
    there = tmp_path / "handed"
    there.mkdir()
    (there / "next.toml").write_text(client.get(f"/p/{made.id}/job.toml").text, encoding="utf-8")
    shutil.copytree(history_of(made).folder, there / "people.history")
    job = Job.from_toml(there / "next.toml")
    assert job.parameters["history"] == "people.history"
    job = replace(job, parameters={**job.parameters, "method": "mondrian"})
    done = job.run()
    assert done.guarantee is not None
    assert done.guarantee.parameters["earlier_releases"] == 1
    tables = [Run.read(first.folder).path("release").read_bytes(), done.files["release"].read_bytes()]
    assert min(together([(data, PEOPLE) for data in tables]).values()) >= K
    assert len(history_of(made).entries) == 1


def test_a_table_that_the_studio_removes_with_its_lost_run_is_no_release(client: Browser, table: Path) -> None:
    made, supervisor = project(client, table), client.studio.supervisor
    lost = plan(client, made)
    supervisor.waiting.clear()
    Job.from_toml(lost.folder / "job.toml").run()  # all is written, and then the process is killed
    assert len(history_of(made).entries) == 1
    client.studio.supervisor = Later(client.studio.workspace)  # the next start of the studio notices
    assert Run.read(lost.folder).state == "lost"
    assert not list(lost.folder.glob("*.csv"))
    assert history_of(made).entries == []


def test_a_job_file_with_a_history_of_its_own_is_not_opened(client: Browser, tmp_path: Path, table: Path) -> None:
    schema = tmp_path / "schema.toml"
    schema.write_text(SCHEMA, encoding="utf-8")
    job = Job("anonymize", str(table), str(schema), {"k": K, "history": "people.history"}, {"release": "o.csv"})
    job.to_toml(tmp_path / "job.toml")
    page = client.post("/open", data={"path": str(tmp_path / "job.toml")}).text
    assert "names a release history" in page
    assert not list(client.studio.workspace.projects())


def test_next_months_file_is_checked_with_this_months(client: Browser, tmp_path: Path, table: Path) -> None:
    """The steward is asked, nothing is released before, and everything said of the first file is taken over."""
    made, supervisor = project(client, table), client.studio.supervisor
    made.columns = ["id", "age", "cost"]
    made.save()
    plan(client, made)
    supervisor.do()
    july = tmp_path / "july.csv"
    names = [*list(PEOPLE)[3:], *(f"q{i}" for i in range(40))]
    july.write_text("id,age,cost\n" + "".join(f"{n},{i % 64},{7 * i % 64}\n" for i, n in enumerate(names)))
    page = client.post("/open", data={"path": str(july)}).text
    assert "Yes, of people.csv (releases so far: 1)" in page
    assert "It names people by the same column." in page
    (later, _) = client.studio.workspace.projects()
    unsaid = project(client, july)
    assert "say under &#39;Data&#39; if this is a later version" in client.get(f"/p/{unsaid.id}/release").text
    page = client.post(f"/p/{later.id}/dataset", data={"dataset": made.mark}).text
    assert "A later version of people.csv. New releases are checked with the earlier ones (so far: 1)." in page
    later = client.studio.workspace.project(later.id)
    assert (later.goal, later.parameters, later.columns) == (made.goal, made.parameters, made.columns)
    second = plan(client, later)
    supervisor.do()
    assert earlier(Run.read(second.folder)) == 1
    assert len(history_of(made).entries) == 2
    assert history_of(client.studio.workspace.project(unsaid.id)).folder == history_of(made).folder  # one table
    assert "releases were made of this table" in client.post(f"/p/{later.id}/dataset", data={"dataset": "own"}).text
    # A third month follows the same data set; other people are a data set of their own.
    august = tmp_path / "august.csv"
    august.write_text(july.read_text())
    third = project(client, august)
    assert [each.mark for each in client.studio.workspace.datasets(third, ["id"])] == [made.mark]
    client.post(f"/p/{third.id}/dataset", data={"dataset": "own"})
    assert history_of(client.studio.workspace.project(third.id)).folder != history_of(made).folder


def test_the_report_of_a_run_is_in_the_language_of_the_page(client: Browser, table: Path) -> None:
    made = project(client, table)
    client.headers["accept-language"] = "de-DE,de;q=0.9"
    run = plan(client, made)
    client.studio.supervisor.do()
    assert '<html lang="de">' in (run.folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("order", ["at once", "title first", "column first"])
def test_a_later_version_takes_over_columns_and_marks_in_every_order_of_answers(
    client: Browser, tmp_path: Path, table: Path, order: str
) -> None:
    """The known table was opened by a job file, and both have a title above the header."""
    known, later = tmp_path / "june.csv", tmp_path / "july.csv"
    for place in (known, later):
        place.write_text("A title of the table\n" + table.read_text(), encoding="utf-8")
    made = project(client, known)
    made.schema_file.write_text('[source]\nskip = 1\ndecimal = ","\n' + SCHEMA, encoding="utf-8")
    if order == "title first":  # before anything is known
        made.schema_file.rename(tmp_path / "held")
        page = client.post("/open", data={"path": str(later)}).text
        assert "There is only one name. If it is a title above the table" in page
        (tmp_path / "held").rename(made.schema_file)
        begun = next(p for p in client.studio.workspace.projects() if p.source == str(later))
        client.post(f"/p/{begun.id}/written", data={"skip": "1", "header": "names"})
    page = client.post("/open", data={"path": str(later), "anew": "" if order == "title first" else "1"}).text
    begun = next(p for p in client.studio.workspace.projects() if p.source == str(later))
    if order != "title first":
        assert "Yes, of june.csv" in page
    if order == "column first":
        sheet = Sheet.load(begun)
        sheet.columns["age"] = {"bounds": [0, 90], "kind": "integer"}
        sheet.save(begun)
    client.post(f"/p/{begun.id}/dataset", data={"dataset": made.mark})
    begun = client.studio.workspace.project(begun.id)
    sheet, source = Sheet.load(begun), Sheet.load(begun).source
    assert (sheet.waiting, sheet.unused, source.skip, source.decimal) == ([], {}, 1, ",")
    assert sheet.columns["cost"]["role"] == "quasi-identifier"
    assert sheet.columns["age"]["bounds"] == ([0, 90] if order == "column first" else [0, 63])
    assert (begun.goal, begun.parameters) == (made.goal, made.parameters)
