"""Compiled growth reads and writes inside its arrays: the tests of it again, compiled with a check of every index."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOM = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["methods/test_random_tables.py", "growth/test_growth.py", "growth/test_trees_from_files.py"]
)
def test_every_index_is_inside(name: str, tmp_path: Path) -> None:
    checked = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(ROOM / name)]
    done = subprocess.run(command, env=checked, capture_output=True, text=True, cwd=ROOM.parents[1], check=False)
    assert done.returncode == 0, done.stdout[-3000:]
