"""Doors of rooms: names load on first use, and a file of the same name does not take their place."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import discreet as dc

SOURCE = Path(dc.__file__).parent
DOORS = [".".join(("discreet", *p.parent.relative_to(SOURCE).parts)) for p in sorted(SOURCE.rglob("__init__.pyi"))]


def printed(program: str) -> str:
    """Run a program in a new process."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("package", DOORS)
def test_every_name_of_a_stub_is_there(package: str) -> None:
    room = import_module(package)
    lines = Path(f"{room.__file__}i").read_text(encoding="utf-8").splitlines()
    offered = [line.split()[-1] for line in lines if line.startswith("from ") and " as " in line]
    assert offered
    assert all(getattr(room, name) is not None for name in offered)
    assert set(room.__all__) - {"studies"} <= set(offered)


@pytest.mark.parametrize(
    "order",
    [
        "import discreet.anonymity.risk.report; from discreet.anonymity import risk",
        "from discreet.anonymity import risk; import discreet.anonymity.risk.rules",
        pytest.param(
            "import discreet as dc; import discreet.anonymity.risk; risk = dc.anonymity.risk", marks=pytest.mark.slow
        ),
    ],
)
def test_a_function_is_not_hidden_by_the_folder_of_its_name(order: str) -> None:
    told = subprocess.run(
        [sys.executable, "-c", f"{order}; print(type(risk).__name__)"], capture_output=True, text=True
    )
    assert told.stdout == "function\n", told.stderr


def test_opening_the_front_door_loads_no_numerical_library() -> None:
    program = (
        "import sys, discreet, discreet.local, discreet.anonymity, discreet.engines; print('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"
