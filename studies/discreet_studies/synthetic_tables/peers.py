"""Other libraries in the same run: each in an environment of its own, handed the same codes as a file.

`make peers` makes the environments. The study finds them, one folder per library, in the folder that the environment
variable DISCREET_PEERS names (``.venv-peers`` here if there is none); what is not there is not run.

A run may take two hours of CPU time, or as many seconds as DISCREET_PEER_SECONDS says. A longer one is ended. That is a
result: it is kept with its limit, and the page shows it. To give such runs more time, take their rows out of the
results file and run the study again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from discreet.core import IntArray
from discreet_studies.harness.study import Numbers
from discreet_studies.synthetic_tables.peer_program import METHODS

_PROGRAM = Path(__file__).with_name("peer_program.py")
#: CPU seconds that a run may take.
LIMIT = 7200.0


def python_of(method: str) -> Path:
    """Return the interpreter of the environment a peer runs in."""
    return Path(os.environ.get("DISCREET_PEERS", ".venv-peers")) / method.partition(" ")[0] / "bin" / "python"


def here() -> list[str]:
    """Return the methods of peers whose environments are there."""
    return [method for method in METHODS if python_of(method).exists()]


def made_by(
    method: str, codes: IntArray, sizes: list[int], epsilon: float, delta: float, seed: int
) -> tuple[IntArray | None, Numbers]:
    """Return the rows (columns by rows) that a peer makes of a table, its CPU seconds, and its memory.

    A peer that takes too long gives no rows, and as its only number the limit in CPU seconds.
    """
    limit = float(os.environ.get("DISCREET_PEER_SECONDS", LIMIT))
    alone = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "table.npz", Path(folder) / "made.npz"
        np.savez(given, codes=codes.T, sizes=sizes, epsilon=epsilon, delta=delta, seed=seed)
        command = [str(python_of(method)), str(_PROGRAM), method, str(given), str(made), str(limit)]
        ended = subprocess.run(
            command, check=False, env=os.environ | alone | {"PYTHONPATH": ""}, capture_output=True, text=True
        )
        if ended.returncode == -signal.SIGXCPU:
            return None, {"limit": limit}
        if ended.returncode:
            last = "\n".join(ended.stderr.splitlines()[-5:])
            raise RuntimeError(f"{method} ended with {ended.returncode}: {last}")
        with np.load(made) as found:
            numbers = {name: float(found[name]) for name in ("cpu_seconds", "megabytes")}
            return np.asarray(found["codes"].T, np.int64), numbers
