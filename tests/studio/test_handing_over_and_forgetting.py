"""A project handed over works on another machine, and records for later checks are not deleted."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.accounts import Account
from discreet.jobs import Job
from discreet.studio.jobs import opened
from discreet.studio.runs import Supervisor, child, runs_of
from discreet.studio.runs.offer import history_of
from discreet.studio.workspace import Project
from support.studio_client import Browser, browser

SCHEMA = '[columns.who]\nrole = "identifier"\n[columns.age]\nbounds = [0, 120]\nrole = "quasi-identifier"\n'


class Here(Supervisor):
    """A supervisor whose runs are done in this process, at once: the work is the same, the border is missing."""

    def _launch(self, folder: Path, handle: int) -> None:
        child.main(folder)
        os.close(handle)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Browser]:
    with browser(tmp_path / "studio") as made:
        made.studio.supervisor = Here(made.studio.workspace)
        yield made


@pytest.fixture
def table(tmp_path: Path) -> Path:
    place = tmp_path / "Fälle.csv"
    place.write_text("who,age\n" + "".join(f"p{i},{20 + i % 60}\n" for i in range(400)), encoding="utf-8")
    return place


def declared(project: Project) -> Project:
    project.goal, project.parameters = "anonymize", {"k": 5}
    project.save()
    project.schema_file.write_text(SCHEMA, encoding="utf-8")
    return project


def release(client: Browser, project: Project) -> None:
    page = client.get(f"/p/{project.id}/release").text
    client.post(f"/p/{project.id}/release/start", data=dict(re.findall(r'name="(number|key)" value="([\w-]+)"', page)))
    assert runs_of(project)[0].state == "done", runs_of(project)[0].status


def uploaded(client: Browser, table: Path) -> Project:
    client.post("/upload", files={"file": (table.name, table.read_bytes())})
    return declared(next(iter(client.studio.workspace.projects())))


def test_the_job_of_a_run_works_where_a_colleague_puts_it(client: Browser, tmp_path: Path, table: Path) -> None:
    project = uploaded(client, table)
    release(client, project)
    release(client, project)
    there = tmp_path / "colleague"
    there.mkdir()
    for address in (f"/p/{project.id}/release/2/job.toml", f"/p/{project.id}/job.toml"):
        text = client.get(address).text
        assert str(client.studio.workspace.home) not in text
        page = html.unescape(client.get(address.replace("job.toml", "") if "release" in address else
            f"/p/{project.id}/release").text)  # fmt: skip
        beside = dict(re.findall(r"<code>([^<]+)</code>: on this computer at <span class=\"mono\">([^<]+)", page))
        assert "<code>Fälle.csv</code>: the table that was uploaded" in page
        assert list(beside) == ["people.history"]
        for name, place in beside.items():
            shutil.copytree(place, there / name)
        shutil.copy(table, there)
        (there / "job.toml").write_text(text, encoding="utf-8")
        assert Job.from_toml(there / "job.toml").run().files["release"].parent == there
        shutil.rmtree(there)
        there.mkdir()


def test_an_account_in_the_studios_folder_is_named_so_that_it_can_be_put_next_to_it(
    client: Browser, table: Path
) -> None:
    project = uploaded(client, table)
    folder = client.studio.workspace.home / "accounts"
    folder.mkdir()
    Account.create(folder / "cases.account", dataset="cases", epsilon=1)
    project.goal, project.parameters, project.account = "synopsis", {"epsilon": 1.0}, str(folder / "cases.account")
    project.save()
    project.schema_file.write_text("[columns.age]\nbounds = [0, 120]\n", encoding="utf-8")
    assert Job.from_toml(client.get(f"/p/{project.id}/job.toml").text).parameters["account"] == "cases.account"
    assert "do not copy it" in client.get(f"/p/{project.id}/plan").text


def test_the_foot_of_a_run_shows_the_job_of_that_run(client: Browser, table: Path) -> None:
    project = declared(opened(client.studio.workspace, str(table)))
    release(client, project)
    project.goal, project.parameters = "synopsis", {"epsilon": 1.0}
    project.save()
    page = html.unescape(client.get(f"/p/{project.id}/release/1").text)
    assert 'kind = "anonymize"' in page
    assert 'kind = "synopsis"' not in page
    assert page.count(f'href="/p/{project.id}/release/1/job.toml"') == 2
    assert 'kind = "synopsis"' in html.unescape(client.get(f"/p/{project.id}/release").text)


def test_forgetting_keeps_what_later_releases_are_checked_with(client: Browser, table: Path) -> None:
    first = declared(opened(client.studio.workspace, str(table)))
    release(client, first)
    second = declared(opened(client.studio.workspace, str(table)))
    release(client, second)
    assert "These finished releases are deleted here" in client.get("/").text
    assert client.post(f"/p/{first.id}/forget").status_code == 400
    client.post(f"/p/{first.id}/forget", data={"sure": "yes"})
    assert [each.id for each in client.studio.workspace.projects()] == [second.id]
    assert client.get(f"/p/{first.id}/release").status_code == 400
    left = sorted(str(p.relative_to(first.folder)) for p in first.folder.rglob("*") if p.is_file())
    assert left == ["project.json", "runs/1/status.json"]
    assert len(history_of(second).entries) == 2
    release(client, second)
    told = client.get(f"/p/{second.id}/account").text
    assert told.count("yes, by its release history") == 3
    assert f"/p/{first.id}/" not in told
    client.post(f"/p/{second.id}/forget", data={"sure": "yes"})
    third = declared(opened(client.studio.workspace, str(table)))
    release(client, third)
    promise = runs_of(third)[0].path("promise").read_text(encoding="utf-8")
    assert json.loads(promise)["parameters"]["earlier_releases"] == 3


def test_a_project_without_releases_is_forgotten_whole(client: Browser, table: Path) -> None:
    project = declared(opened(client.studio.workspace, str(table)))
    client.post(f"/p/{project.id}/forget")
    assert not project.folder.exists()


def test_the_same_path_offers_what_is_there_and_takes_its_account(client: Browser, table: Path) -> None:
    client.post("/open", data={"path": str(table)})
    (first,) = client.studio.workspace.projects()
    page = client.post("/open", data={"path": str(table)}).text
    assert "This was opened before" in page
    assert page.count("no goal yet, nothing released") == 2
    assert len(list(client.studio.workspace.projects())) == 1
    first.account = str(Account.create(table.with_name("cases.account"), dataset="cases", epsilon=1).path)
    first.save()
    client.post("/open", data={"path": str(table), "anew": "yes"})
    assert {each.account for each in client.studio.workspace.projects()} == {first.account}
    assert len(list(client.studio.workspace.projects())) == 2


def test_plan_and_release_offer_the_account_that_the_table_has(client: Browser, table: Path) -> None:
    book = Account.create(table.with_name("cases.account"), dataset="cases", epsilon=3)
    client.studio.workspace.create(source=str(table), account=str(book.path))
    project = client.studio.workspace.create(source=str(table), goal="synopsis", parameters={"epsilon": 1.0})
    project.schema_file.write_text("[columns.age]\nbounds = [0, 120]\n", encoding="utf-8")
    for screen in ("plan", "release"):
        page = client.get(f"/p/{project.id}/{screen}").text
        assert f'name="path" value="{book.path}"' in page
    client.post(f"/p/{project.id}/account/open", data={"path": str(book.path)})
    for screen in ("plan", "release"):
        page = client.get(f"/p/{project.id}/{screen}").text
        assert "when it was opened before" in page
        assert 'name="path"' not in page


def test_steps_are_ticked_for_what_was_said_and_done(client: Browser, table: Path) -> None:
    def ticked(project: Project) -> set[str]:
        page = client.get(f"/p/{project.id}/goal").text
        return set(re.findall(r'href="/p/\w+/(\w+)" class="done"', page))

    project = client.studio.workspace.create(source=str(table))
    assert ticked(project) == set()
    project.schema_file.write_text(SCHEMA, encoding="utf-8")
    assert ticked(project) == {"data", "columns"}
    release(client, declared(project))
    assert ticked(project) == {"data", "columns", "goal", "plan", "release"}
    project.goal, project.parameters = "synopsis", {"epsilon": 1.0}
    project.save()
    assert "release" not in ticked(project)
