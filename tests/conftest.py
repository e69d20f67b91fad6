"""The order of the files, and fixtures for all tests."""

import gc
import os
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest

hypothesis.settings.register_profile("any speed", deadline=None)  # a busy machine is not a fault
hypothesis.settings.load_profile("any speed")

# No test needs the network: what is not in the data folder is skipped, and downloads are tried on servers of the tests.
os.environ["DISCREET_OFFLINE"] = "1"
os.environ["DISCREET_QUIET"] = "1"  # an empty cache must not change what commands print

gc.disable()  # nothing becomes garbage while files are imported and tests are collected: a fifth of the time of both

HERE = Path(__file__).parent
#: Processes take files from this list in turn, then the others as they come, with the many small doctests at the end:
#: anyone who is done early takes more of those. Spark comes when others have compiled the kernels its workers need.
FIRST = (
    "soak/test_soak.py",
    "evaluation/test_audit_registry.py",
    "evaluation/test_audit.py",
    "engines/tables/test_spark.py",
)


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that is the working folder while the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


#: Rooms whose tests are about words and files. They fit models of marginals in a few steps and compare tables by a few
#: trees, unless marked ``well_fitted``: both work on what was released, and only how well they fit depends on that.
ROUGH = {"cli", "reporting"}
STEPS = {"LIMIT": 1, "LAST": 4, "COMPONENTS": 64, "FEWEST_COMPONENTS": 64}


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit models of marginals in a few steps in other rooms."""
    from discreet.synopses.marginals import mixture

    for name, value in STEPS.items():
        monkeypatch.setattr(mixture, name, value)


@cache
def _as_in_use() -> tuple[tuple[Any, str, int, int], ...]:
    """Return what `pytest_runtest_setup` changes: module, name, value in use, value for tests of words and files."""
    from discreet.evaluation.comparison import learners
    from discreet.synopses.marginals import mixture

    few = [*((mixture, name, value) for name, value in STEPS.items()), (learners, "_TREES", 4)]
    return tuple((module, name, getattr(module, name), value) for module, name, value in few)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Choose how well models fit, before fixtures of the test or of its file fit any."""
    room = item.path.relative_to(HERE).parts[0] if item.path.is_relative_to(HERE) else ""
    rough = room in ROUGH and item.get_closest_marker("well_fitted") is None
    for module, name, usual, few in _as_in_use():
        setattr(module, name, few if rough else usual)


@pytest.fixture
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the terminal 80 columns; the console has read the environment when it was imported."""
    from discreet.cli import common

    monkeypatch.setattr(common.console, "_width", 80)
    monkeypatch.setattr(common.console, "_height", 25)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the stories of the studio leave their pictures somewhere: those of the guide are made so."""
    parser.addoption("--studio-pictures", default="", help="the folder for pictures of the studio's screens")
    parser.addoption("--studio-guide", default="", help="the folder for those of the tutorial: docs/images")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Let every other process begin at the other end: in a new clone each then compiles about half of the files."""
    odd = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 2
    if odd and session.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        session.config.args.reverse()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the files that take longest first; `make test` hands files out in this order."""
    first = {HERE / name: number for number, name in enumerate(FIRST)}
    parts = [HERE.parent / path for path in config.getini("testpaths")]

    @cache
    def place(path: Path) -> tuple[int, int]:
        return first.get(path, len(FIRST)), next((n for n, part in enumerate(parts) if part in path.parents), 0)

    items.sort(key=lambda item: place(item.path))


def pytest_collection_finish() -> None:
    """Spare the collector of garbage what was imported and collected: it stays to the end and is looked at in vain."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    gc.enable()
