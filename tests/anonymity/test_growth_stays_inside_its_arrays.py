"""Compiled growth reads and writes inside its arrays: the tests of it again, compiled with a check of every index."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.parametrize("name", ["test_thousand_tables.py", "test_growth.py", "test_trees_from_files.py"])
def test_every_index_is_inside(name: str, tmp_path: Path) -> None:
    checked = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(HERE / name)]
    done = subprocess.run(command, env=checked, capture_output=True, text=True, cwd=HERE.parents[1], check=False)
    assert done.returncode == 0, done.stdout[-3000:]
