"""Runs scripts of this folder in Node, with the JavaScript client."""

from __future__ import annotations

import importlib.resources
import shutil
import subprocess
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parent
CLIENT = Path(str(importlib.resources.files("discreet.local.tasks") / "javascript"))


def node(script: str, *arguments: str, timeout: float = 100) -> bytes:
    program = shutil.which("node")
    if program is None:
        pytest.skip("Node is not installed: what the JavaScript client does was NOT tested here")
    done = subprocess.run(
        [program, str(SUPPORT / script), *arguments], capture_output=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout
