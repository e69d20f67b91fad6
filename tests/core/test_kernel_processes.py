"""Processes that share compiled kernels on disk, and disks and files that cannot be used.

Every process is a new one, with a cache folder of its own test. It must get the right result, without an error and
without a word on its error stream.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

KERNELS = """
from discreet.core import jit

@jit
def scaled(x, by):
    total = x[0] * 0
    for value in x:
        total += value * by
    return total
"""
#: Prints how many signatures were found on disk and how many were compiled.
PROGRAM = """
import sys, time
import numpy as np
from room.kernels import scaled
for kind in sys.argv[1:]:
    result = scaled(np.array([1, 2, 3], kind), 2)
    assert result == 12, (kind, result)
print(sum(scaled.stats.cache_hits.values()), sum(scaled.stats.cache_misses.values()))
"""
FILES = "*.nbc"
START = Path(__file__).parents[2] / "benchmarks" / "results" / "start.json"
EXPECTED = importlib.import_module("discreet.core.jit").EXPECTED  # `discreet.core.jit` is the decorator


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "kernels.py").write_text(KERNELS)
    return tmp_path


def start(
    place: Path, *kinds: str, before: str = "", wrap: tuple[str, ...] = (), **environment: str
) -> subprocess.Popen:
    """Start a process that calls the kernel on arrays of these kinds."""
    known = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    env = {**known, "XDG_CACHE_HOME": str(place / "cache"), "DISCREET_QUIET": "1", **environment}
    env["PYTHONPATH"] = os.pathsep.join([str(place), env.get("PYTHONPATH", "")])
    command = [*wrap, sys.executable, "-c", before + PROGRAM, *kinds]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def found_and_compiled(process: subprocess.Popen) -> tuple[int, int]:
    told, complaint = process.communicate(timeout=100)
    assert (process.returncode, complaint) == (0, "")
    hits, misses = map(int, told.split())
    return hits, misses


@pytest.mark.slow  # two processes at once are tried below
def test_processes_that_start_cold_at_once_share_what_each_compiles(place: Path) -> None:
    both = [start(place, "i8", "f8", "f4"), start(place, "f8", "f4", "i8")]
    assert [sum(found_and_compiled(process)) for process in both] == [3, 3]
    assert found_and_compiled(start(place, "f4", "i8", "f8")) == (3, 0)
    assert not [file for file in (place / "cache").rglob("*") if file.is_file() and not file.match(FILES)]


def test_a_signature_never_gets_the_code_of_another(place: Path) -> None:
    # The first process stops between compiling and writing until the second has written.
    late = f"""
from importlib import import_module
from pathlib import Path
import time
kept = import_module("discreet.core.jit").NewFile.keep
def wait(self):
    while not any(Path({str(place / "cache")!r}).rglob({FILES!r})):
        time.sleep(0.01)
    kept(self)
import_module("discreet.core.jit").NewFile.keep = wait
"""
    first = start(place, "i8", before=late)
    assert found_and_compiled(start(place, "f8")) == (0, 1)
    assert found_and_compiled(first) == (0, 1)
    assert found_and_compiled(start(place, "f8", "i8")) == (2, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        "import numba; numba.__version__ = '0.1'\n",
        "import discreet._version as v; v.__version__ = '0.1'\n",
        "import os; os.environ.update(NUMBA_CPU_NAME='generic', NUMBA_CPU_FEATURES='')\n",
    ],
    ids=["numba", "discreet", "processor"],
)
def test_what_was_compiled_for_another_version_or_processor_is_not_used(place: Path, other: str) -> None:
    assert found_and_compiled(start(place, "i8", before=other)) == (0, 1)
    assert found_and_compiled(start(place, "i8")) == (0, 1)
    assert found_and_compiled(start(place, "i8", before=other)) == (1, 0)


@pytest.mark.slow
def test_a_folder_that_is_missing_is_made(place: Path) -> None:
    assert found_and_compiled(start(place, "i8", XDG_CACHE_HOME=str(place / "a" / "b"))) == (0, 1)
    shutil.rmtree(place / "a")
    assert found_and_compiled(start(place, "i8", XDG_CACHE_HOME=str(place / "a" / "b"))) == (0, 1)
    assert found_and_compiled(start(place, "i8", XDG_CACHE_HOME=str(place / "a" / "b"))) == (1, 0)


@pytest.mark.slow  # a disk that is full is tried below
@pytest.mark.parametrize("where", ["/proc/none", "{place}/room/kernels.py"])
def test_a_folder_that_cannot_be_made_costs_only_time(place: Path, where: str) -> None:
    found = where.format(place=place)
    assert found_and_compiled(start(place, "i8", "f8", XDG_CACHE_HOME=found)) == (0, 2)


@pytest.mark.slow
def test_a_user_without_a_home_compiles_in_every_process(place: Path) -> None:
    # As a container's user that no file names: expanduser finds nothing.
    homeless = "import os, pwd\nos.environ.pop('HOME', 0)\ndef no(n): raise KeyError(n)\npwd.getpwuid = no\n"
    for _ in range(2):
        assert found_and_compiled(start(place, "i8", before=homeless, XDG_CACHE_HOME="")) == (0, 1)


def mounted(place: Path, options: str) -> tuple[str, ...]:
    """Return what runs a program with a small disk at the cache folder; skip where users may mount nothing."""
    (place / "cache").mkdir(exist_ok=True)
    mount = f'mount -t tmpfs -o {options} none "{place}/cache" && exec "$@"'
    wrap = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh")
    if shutil.which("unshare") is None or subprocess.run([*wrap, "true"], capture_output=True, check=False).returncode:
        pytest.skip("disks cannot be mounted here")
    return wrap


@pytest.mark.parametrize(
    "options", ["size=12k", *(pytest.param(each, marks=pytest.mark.slow) for each in ("ro", "nr_inodes=1"))]
)
def test_a_disk_that_is_read_only_or_full_costs_only_time(place: Path, options: str) -> None:
    wrap = mounted(place, options)
    empty = f"""
import atexit
from pathlib import Path
def left():
    found = [file.name for file in Path({str(place / "cache")!r}).rglob("*") if file.is_file()]
    assert not found, found
atexit.register(left)
"""
    assert found_and_compiled(start(place, "i8", "f8", before=empty, wrap=wrap)) == (0, 2)


@pytest.mark.slow
@pytest.mark.parametrize("options", ["ro", "size=12k"])
def test_commands_run_without_room_and_prepare_names_the_folder(place: Path, options: str) -> None:
    wrap, env = mounted(place, options), {**os.environ, "XDG_CACHE_HOME": str(place / "cache")}
    (place / "people.csv").write_text("age,sex\n" + "31,f\n32,m\n" * 50)
    base = [*wrap, sys.executable, "-m", "discreet"]
    risk = [*base, "risk", str(place / "people.csv"), "--qi", "age,sex"]
    done = subprocess.run(risk, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    done = subprocess.run([*base, "prepare", "risk"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"nothing can be kept in {str(place / 'cache' / 'discreet')!r}" in "".join(done.stderr.split("\n"))


def test_the_seconds_that_are_announced_are_those_that_were_measured() -> None:
    lines = json.loads(START.read_text(encoding="utf-8"))["lines"]
    compiled = [line["cold_s"] - line["warm_s"] for line in lines if line.get("signatures")]
    for told, measured in zip(EXPECTED, (min(compiled), max(compiled)), strict=True):
        assert measured / 2 <= told <= 2 * measured, "see EXPECTED in core/jit.py"


def imported(place: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the kernel in this process, as a new process would import it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache"))
    spec = importlib.util.spec_from_file_location("kernels_of_a_test", place / "room" / "kernels.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.scaled


def gone(*_: object) -> None:
    raise AttributeError("renamed")


@pytest.mark.parametrize(
    ("owner", "name", "other"),
    [
        ("numba.core.compiler.CompileResult", "_rebuild", gone),
        ("numba.core.compiler.CompileResult", "_rebuild", lambda context: None),
        ("numba.core.compiler.CompileResult", "_reduce", gone),
        ("numba.core.environment", "lookup_environment", None),
        ("numba.core.serialize", "dumps", None),
        ("numba.core.runtime", "rtsys", None),
        ("numba.core.codegen.CPUCodegen", "magic_tuple", gone),
    ],
)
def test_a_numba_with_other_inner_parts_compiles_in_every_process(
    place: Path, monkeypatch: pytest.MonkeyPatch, owner: str, name: str, other: Any
) -> None:
    values = np.array([1, 2, 3])
    assert imported(place, monkeypatch)(values, 2) == 12
    with monkeypatch.context() as planted:
        if other is None:  # an import of the name fails
            planted.delattr(f"{owner}.{name}")
        else:
            planted.setattr(f"{owner}.{name}", other)
        changed = imported(place, monkeypatch)
        assert changed(values, 2) == 12
        assert changed(values * 0.5, 2) == 6
    assert sum(changed.stats.cache_hits.values()) <= (name in ("_reduce", "dumps"))  # what was kept can still be read


def test_damaged_files_are_compiled_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.array([1, 2, 3])
    assert imported(place, monkeypatch)(values, 2) == 12
    (file,) = (place / "cache").rglob(FILES)
    whole = file.read_bytes()
    for damaged in (b"", whole[:20], whole[: len(whole) // 2], whole[:-100] + bytes(100), bytes(len(whole))):
        file.write_bytes(damaged)
        for hits in (0, 1):
            again = imported(place, monkeypatch)
            assert again(values, 2) == 12
            assert sum(again.stats.cache_hits.values()) == hits
