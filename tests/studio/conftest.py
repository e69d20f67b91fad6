"""Fixtures for tests of the studio: a real browser, axe, and a project with one finished release."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chromium_browser import opened
from studio_story import axe_script


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with opened() as browser:
        yield browser


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


@pytest.fixture
def pictures(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return where pictures of screens go: the folder of --studio-pictures, or one that is thrown away."""
    folder = Path(request.config.getoption("--studio-pictures") or tmp_path / "pictures")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
