"""kill -9 of a real server in the middle of a release: what was reserved stays spent, what was paid for is kept."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.accounts import Account
from discreet.studio.runs import Supervisor
from discreet.studio.runs.offer import offer_of
from discreet.studio.runs.run import born, send
from discreet.studio.workspace import Project, Workspace
from studio_server import Server, served, until

pytestmark = pytest.mark.slow
COLUMNS = 14


def project_of(home: Path, folder: Path, **said: Any) -> Project:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 12, (6000, COLUMNS))
    codes[:, 1::2] = (codes[:, ::2] + rng.integers(0, 3, codes[:, ::2].shape)) % 12
    names = [f"c{i}" for i in range(COLUMNS)]
    lines = [",".join(names), *(",".join(map(str, row)) for row in codes.tolist())]
    (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    project = Workspace(home).create(source=str(folder / "people.csv"), **said)
    project.schema_file.write_text(
        "".join(f'[columns.{name}]\nbounds = [0, 11]\nkind = "integer"\n' for name in names), encoding="utf-8"
    )
    return project


def status(project: Project, number: int = 1) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads((project.runs / str(number) / "status.json").read_text(encoding="utf-8"))
    except OSError:
        return {"state": "", "progress": {"what": ""}}
    return told


def fields(page: str) -> dict[str, str]:
    return dict(re.findall(r'name="(number|key|attempt)" value="([\w-]+)"', page))


def kill_at(server: Server, project: Project, stage: str) -> None:
    """Kill the server when its run is in a stage, and see that the run's process ends too."""
    told = until(lambda: (s := status(project))["progress"]["what"] == stage and s["pid"] and s, 120)
    server.kill()
    until(lambda: born(told["pid"]) != told["born"], 10)
    assert status(project)["state"] == "running", "nobody was left to write that it ended"


def test_a_killed_studio_goes_on_and_releases_nothing_twice(tmp_path: Path) -> None:
    home = tmp_path / "studio"
    book = Account.create(tmp_path / "people.account", dataset="people", epsilon=2.5, delta=1e-5)
    parameters = {"epsilon": 1.0, "delta": 1e-9, "n": 1_500_000}
    project = project_of(home, tmp_path, goal="synthesize", parameters=parameters, account=str(book.path))
    address = f"/p/{project.id}/release"
    folder = project.runs / "1"
    with served(home) as server:
        asked = fields(server.client.get(address).text)
        assert server.client.post(f"{address}/start", data=asked).url.path == f"{address}/1"
        kill_at(server, project, "model")
    assert [e.state for e in book.entries] == ["reserved"]
    with served(home) as server:
        assert status(project)["state"] == "lost"
        assert {p.name for p in folder.iterdir()} == {"job.toml", "status.json", "run.lock"}
        page = server.client.get(f"{address}/1").text
        assert "Entry 1 of the account was reserved" in page
        assert "ε = 1.5 is left, 0.5 afterwards." in re.sub(r"0\.50\d+", "0.5", page)
        assert "lost, stays spent" in server.client.get(f"/p/{project.id}/account").text
        server.client.post(f"{address}/1/again", data=fields(page))
        kill_at(server, project, "sampling")
    assert [e.state for e in book.entries] == ["reserved", "booked"]
    sealed = (folder / "synthetic.synopsis.parquet").read_bytes()
    left = book.remaining
    with served(home) as server:
        page = server.client.get(f"{address}/1").text
        assert "Costs nothing" in page
        server.client.post(f"{address}/1/again", data=fields(page))
        server.client.post(f"{address}/1/again", data=fields(page))  # another tab
        until(lambda: status(project)["state"] == "done", 240)
        page = server.client.get(f"{address}/1").text
        assert "/file/table" in page
        assert server.client.get(f"{address}/1/file/release").content == sealed
    assert [e.state for e in book.entries] == ["reserved", "booked"]
    assert book.remaining == left
    assert [p.name for p in project.runs.iterdir()] == ["1"]


def test_a_run_that_is_stopped_leaves_nothing_half_written(tmp_path: Path) -> None:
    home = tmp_path / "studio"
    project = project_of(home, tmp_path, goal="synthesize", parameters={"epsilon": 1.0, "n": 3_000_000})
    address = f"/p/{project.id}/release"
    with served(home) as server:
        asked = fields(server.client.get(address).text)
        server.client.post(f"{address}/start", data={**asked, "uncounted": "yes"})
        told = until(lambda: (s := status(project))["progress"]["what"] == "sampling" and s, 120)
        page = server.client.post(f"{address}/1/stop").text
        assert born(told["pid"]) != told["born"], "its process is gone"
        assert "stopped" in page
        assert "go on" in page.lower()
        assert {p.name for p in (project.runs / "1").iterdir()} == {"job.toml", "status.json", "run.lock", "stop"}
        assert server.client.get(f"{address}/1/file/release").status_code == 404


@pytest.mark.parametrize(
    ("stage", "charged"),
    [("start", ["booked"]), ("model", ["reserved", "booked"]), ("sampling", ["booked"]), ("pictures", ["booked"])],
)
def test_a_process_that_is_killed_in_any_stage_charges_what_was_begun(
    stage: str, charged: list[str], tmp_path: Path
) -> None:
    book = Account.create(tmp_path / "people.account", dataset="people", epsilon=2, delta=1e-5)
    parameters = {"epsilon": 1.0, "delta": 1e-9, "n": 200_000}
    workspace = Workspace(tmp_path / "studio")
    project = project_of(
        workspace.home, tmp_path, goal="synthesize", parameters=parameters, account=str(book.path)
    )  # fmt: skip
    supervisor = Supervisor(workspace)
    offer = offer_of(workspace, project)
    assert offer.job is not None
    run = supervisor.start(project, offer.job, 1)
    try:
        told = until(lambda: (s := status(project))["progress"]["what"] == stage and s["pid"] and s, 120)
        assert send(told["pid"], told["born"], signal.SIGKILL)
        until(lambda: status(project)["state"] == "lost", 30)
        made = project.runs / "1" / "synthetic.synopsis.parquet"
        before = made.read_bytes() if made.is_file() else None
        assert (before is not None) == (stage in ("sampling", "pictures"))
        supervisor.again(project, run, 1)
        supervisor.again(project, run, 1)
        until(lambda: status(project)["state"] == "done", 120)
    finally:
        supervisor.close()
    assert [e.state for e in book.entries] == charged
    assert before is None or made.read_bytes() == before
    assert status(project)["attempt"] == 2
