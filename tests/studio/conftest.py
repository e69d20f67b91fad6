"""What several tests of the studio need: a real browser, axe, and a project with one finished release."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from studio_story import FLAGS, axe_script


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test-all brings it")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no chromium on the path: install Debian's package chromium")
    with api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=program, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return axe_script(tmp_path_factory.mktemp("axe"))


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    from discreet.studio.released import collect, release_of
    from studio_runs import COLUMNS, released

    home = tmp_path_factory.mktemp("grid")
    plane = {name: COLUMNS[name] for name in ("x", "y")}
    project = released(home, "synopsis", {"epsilon": 1.0, "seed": 1}, {"release": "s.parquet"}, plane)
    collect(release_of(project, "1"))
    return home / "studio", project
