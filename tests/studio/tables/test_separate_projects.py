"""One table's pages never show another's: not its rows, runs, files or names."""

import os
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from discreet.jobs import Job
from discreet.studio.workspace import Project, Workspace
from studio_runs import COLUMNS, finished, people
from support.studio_client import Browser, browser

#: What no page of the other table may hold.
SECRET = "Zoltan"


def with_a_release(space: Workspace, folder: Path) -> Project:
    table = people(folder / f"{SECRET}.csv", 300)
    project = space.create(source=str(table), goal="synopsis", parameters={"epsilon": 1.0})
    schema = {name: COLUMNS[name] for name in ("age", "sex")}
    finished(project, Job("synopsis", str(table), schema, {"epsilon": 1.0}, {"release": f"{SECRET}.parquet"}))
    return project


def addresses(client: Browser, project: Project, names: list[str]) -> list[str]:
    """Return every page of a project that can be asked for, with run 1 and some names of files."""
    found = []
    for route in client.studio.app.routes:
        path = getattr(route, "path", "")
        if "{project}" in path and "GET" in getattr(route, "methods", ()):
            path = re.sub(r"\{number(:int)?\}", "1", path.replace("{project}", project.id))
            found += [re.sub(r"\{\w+(:\w+)?\}", name, path) for name in (names if "{" in path else [""])]
    return found


def test_no_page_of_one_table_shows_another(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("height\n1\n")
    with browser(tmp_path / "home") as client:
        first = with_a_release(client.studio.workspace, tmp_path)
        second = client.studio.workspace.create(source=str(tmp_path / "other.csv"))
        names = ["release", f"{SECRET}.parquet", f"..%2f..%2f{first.id}%2fruns%2f1%2f{SECRET}.parquet"]
        asked = addresses(client, second, names)
        assert len(asked) > 12
        for path in asked:
            text = client.get(path).text.replace(unquote(path), "")  # what was asked for is said back
            assert SECRET not in text, path
            assert first.id not in text, path
        assert f"{SECRET}.csv" in client.get(f"/p/{first.id}/data").text  # the test can fail


@pytest.mark.parametrize(
    "name",
    [
        "status.json",
        "..%2f..%2fproject.json",
        "%2e%2e/%2e%2e/project.json",
        "..%2fschema.toml",
        "%2fetc%2fpasswd",
        "link",
    ],
)
def test_only_what_came_out_of_a_run_is_handed_out(tmp_path: Path, name: str) -> None:
    with browser(tmp_path / "home") as client:
        project = with_a_release(client.studio.workspace, tmp_path)
        project.schema_file.write_text("[columns.age]\nbounds = [0, 120]\n")
        os.symlink(tmp_path / f"{SECRET}.csv", project.runs / "1" / "link")
        for path in addresses(client, project, [name]):
            if name in path:
                assert client.get(path).status_code in (400, 404), path
        handed = client.get(f"/p/{project.id}/release/1/file/release")
        assert handed.content[:4] == b"PAR1"
