"""The studio's plan is a job file: downloaded, run by the command line, and opened again."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.jobs import Job
from discreet.jobs.kinds import KINDS
from discreet.studio.jobs import handed, job_of, open_job, opened
from discreet.studio.screens.plan import options_of
from discreet.studio.workspace import Project, Workspace
from support.studio_client import browser

SCHEMA = """\
[source]
delimiter = ";"
[columns.age]
bounds = [0, 120]
[columns.cost]
bounds = [0, 100]
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    rows = zip(rng.integers(0, 99, 400), rng.integers(0, 99, 400), strict=True)
    place = tmp_path / "people.csv"
    place.write_text("age;cost\n" + "".join(f"{a};{b}\n" for a, b in rows))
    return place


def filled(space: Workspace, table: Path, **said: object) -> Project:
    project = space.create(source=str(table), goal="synopsis", parameters={"epsilon": 1, "seed": 7}, **said)
    project.schema_file.write_text(SCHEMA)
    return project


def test_a_downloaded_job_run_elsewhere_gives_the_digest_of_the_studios_own_run(tmp_path: Path, table: Path) -> None:
    with browser(tmp_path / "home") as client:
        project = filled(client.studio.workspace, table)
        made = replace(job_of(project), outputs={"release": str(tmp_path / "own.parquet")}).run()
        got = client.get(f"/p/{project.id}/job.toml")
    assert "attachment" in got.headers["content-disposition"]
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "job.toml").write_text(got.text)
    again = Job.from_toml(tmp_path / "elsewhere" / "job.toml").run()
    assert again.artifact.digest == made.artifact.digest
    assert str(table) in got.text  # by its path: that is where it was opened


def test_an_uploaded_table_is_named_as_it_was_called(tmp_path: Path, table: Path) -> None:
    space = Workspace(tmp_path / "home")
    project = filled(space, table, uploaded=True)
    assert Job.from_toml(handed(project, job_of(project)).text).data == "people.csv"
    assert job_of(project).data == str(table)


def test_a_job_file_is_opened_with_columns_goal_and_parameters(tmp_path: Path, table: Path) -> None:
    space = Workspace(tmp_path / "home")
    (tmp_path / "hours.account").write_text("")
    job = Job("synopsis", "people.csv", dc.Domain.from_toml(SCHEMA), {"epsilon": 2, "account": "hours.account"},
        {"release": "s.parquet"})  # fmt: skip
    job.to_toml(tmp_path / "job.toml")
    project = opened(space, str(tmp_path / "job.toml"))
    assert (project.source, project.goal, project.parameters) == (str(table), "synopsis", {"epsilon": 2})
    assert project.account == str(tmp_path / "hours.account")
    assert job_of(project).schema == job.schema


def test_facts_of_the_schema_stay_in_the_job(tmp_path: Path, table: Path) -> None:
    text = SCHEMA + '[columns.sex]\ncategories = ["f", "m"]\n[[impossible]]\nsex = "m"\nage = [0, 10]\n'
    space = Workspace(tmp_path / "home")
    project = filled(space, table)
    project.schema_file.write_text(text)
    job = job_of(project)
    assert Job.from_toml(job.to_toml()).schema.facts == job.schema.facts
    assert job.schema.facts.to_dict()


def test_a_job_whose_table_is_not_there_says_how_to_bring_it(tmp_path: Path) -> None:
    job = Job("synopsis", "gone.csv", {"age": (0, 120)}, {"epsilon": 2}, {"release": "s.parquet"}, folder=tmp_path)
    with pytest.raises(dc.errors.DataSourceError, match=r"'gone.csv' is not there; open the job by its path, or"):
        open_job(Workspace(tmp_path / "home"), job)


def test_a_job_whose_rows_are_drawn_first_is_for_the_command_line(tmp_path: Path, table: Path) -> None:
    asked = {"k": 20, "method": "generalization", "level": {"age": 1}, "sample": 0.1}
    job = Job("anonymize", str(table), {"age": (0, 120)}, asked, {"release": "s.csv"}, folder=tmp_path)
    with pytest.raises(dc.errors.SchemaError, match="which these pages do not show; run it with discreet run"):
        open_job(Workspace(tmp_path / "home"), job)
    offered = {each.name for each in options_of(KINDS["anonymize"], "generalization")}
    assert "level" in offered
    assert not {"sample", "delta"} & offered


def test_a_released_file_begins_a_project_without_a_table(tmp_path: Path) -> None:
    domain = dc.Domain({"age": (0, 120)})
    dc.GridSynopsis(1.0, domain=domain, random_state=1).fit(np.array([[3.0]])).synopsis_.save(tmp_path / "s.parquet")
    project = opened(Workspace(tmp_path / "home"), str(tmp_path / "s.parquet"))
    assert (project.source, project.artifact) == ("", str(tmp_path / "s.parquet"))


def test_every_screen_shows_the_job_or_says_what_is_lacking(tmp_path: Path, table: Path) -> None:
    with browser(tmp_path / "home") as client:
        project = filled(client.studio.workspace, table)
        assert "kind = &#34;synopsis&#34;" in client.get(f"/p/{project.id}/goal").text
        project.goal = ""
        project.save()
        assert "There is no job yet" in client.get(f"/p/{project.id}/goal").text
        assert client.get(f"/p/{project.id}/job.toml").status_code == 400


def test_of_a_release_the_job_makes_the_page_about_it(tmp_path: Path) -> None:
    place = tmp_path / "s.parquet"
    dc.GridSynopsis(1.0, domain=dc.Domain({"age": (0, 120)})).fit(np.array([[3.0]])).synopsis_.save(place)
    with browser(tmp_path / "home") as client:
        project = opened(client.studio.workspace, str(place))
        text = client.get(f"/p/{project.id}/job.toml").text
        assert "/columns" not in client.get(f"/p/{project.id}/data").text
    (tmp_path / "job.toml").write_text(text)
    done = Job.from_toml(tmp_path / "job.toml").run()
    assert done.files["report"] == tmp_path / "report.html"
