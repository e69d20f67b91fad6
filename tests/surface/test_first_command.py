"""Ready at once: what a first command on a small table compiles is counted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

COUNT = """
import atexit, sys
from numba.core import event

class Seen(event.Listener):
    def __init__(self): self.names = []
    def on_start(self, event): pass
    def on_end(self, event):
        found = event.data["dispatcher"].py_func
        self.names.append(f"{found.__module__}.{found.__qualname__}")

seen = Seen()
event.register("numba:compile", seen)
atexit.register(lambda: print("compiled", len(seen.names), *seen.names))
"""
COMMAND = "from discreet.cli import main\nmain(sys.argv[1:])\n"
SCHEMA = """[columns]
age = {kind = "integer", bounds = [0, 120], role = "quasi-identifier"}
income = {bounds = [0, 200000], role = "quasi-identifier"}
city = {categories = ["A", "B", "C", "D", "E", "F"], role = "quasi-identifier"}
sex = {categories = ["f", "m"], role = "quasi-identifier"}
disease = {categories = ["flu", "cold", "cancer", "none"], role = "sensitive"}
"""


def compiled(folder: Path, script: str, *arguments: str) -> list[str]:
    """Run a script in a new process with an empty cache; return the functions that were compiled."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "-c", COUNT + script, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()[-1].split()[2:]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Write 4,000 rows of five columns, and their schema."""
    rng, n = np.random.default_rng(1), 4000
    columns = [
        rng.integers(18, 90, n).astype(str),
        rng.gamma(2, 20_000, n).clip(0, 200_000).round().astype(int).astype(str),
        rng.choice(list("ABCDEF"), n),
        rng.choice(["f", "m"], n),
        rng.choice(["flu", "cold", "cancer", "none"], n),
    ]
    lines = ["age,income,city,sex,disease", *map(",".join, zip(*columns, strict=True))]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("verb", "most"), [("anonymize --k 10 --l 2 -o safe.csv", 38), ("anonymize --k 10 -o safe.csv", 38), ("risk", 24)]
)
def test_a_small_table_compiles_few_functions(people: Path, verb: str, most: int) -> None:
    name, *options = verb.split()
    names = compiled(people, COMMAND, name, "people.csv", "--schema", "schema.toml", *options)
    assert len(names) <= most, names
    assert not [n for n in names if "growth" in n]


def test_a_small_density_tree_compiles_hardly_anything(tmp_path: Path) -> None:
    script = """
import numpy as np, discreet as dc
X = np.random.default_rng(0).random((4000, 5))
dc.anonymity.DensityTree(10, domain=dc.Domain.box(0, [1] * 5)).fit(X).transform(X)
"""
    names = compiled(tmp_path, script)
    assert len(names) <= 20, names


@pytest.mark.slow
def test_growth_of_a_larger_table_compiles_what_its_criterion_needs(tmp_path: Path) -> None:
    script = """
import numpy as np, discreet as dc
X = np.random.default_rng(0).random((30_000, 5))
dc.anonymity.DensityTree(10, domain=dc.Domain.box(0, [1] * 5)).fit(X)
"""
    names = compiled(tmp_path, script)
    assert len(names) <= 45, names
    assert not [n for n in names if n.rsplit(".", 1)[-1] in ("is_ok", "label_gains", "widest_first", "count_values")]
