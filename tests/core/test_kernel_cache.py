"""Machine code is kept by what kernels say, not by where they lie: once per text, and never in the installation."""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import pytest
from numba.core import caching

import discreet
from discreet.core.kernels import Kernel
from discreet.errors import DiscreetError

jit = import_module("discreet.core.jit")  # the file; `discreet.core.jit` is the decorator

TEXT = """
from discreet.core import jit

@jit
def joined(a, b):
    return a {} b
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "discreet"


def kernel(place: Path, sign: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the kernel of a module in a folder, as a new process would import it."""
    monkeypatch.setattr(jit, "_TEXTS", {})
    place.mkdir(parents=True)
    (place / "kernels.py").write_text(TEXT.format(sign))
    spec = importlib.util.spec_from_file_location("discreet_kernels_of_a_test", place / "kernels.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.joined


@pytest.mark.skipif(not hasattr(caching, "UserProvidedCacheLocator"), reason="this Numba names its folders by paths")
def test_a_second_clone_compiles_nothing_again(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (kernel(tmp_path / clone / "room", "+", monkeypatch) for clone in ("one", "two"))
    assert first(2, 3) == second(2, 3) == 5
    assert sum(first.stats.cache_misses.values()) == 1
    assert (sum(second.stats.cache_hits.values()), sum(second.stats.cache_misses.values())) == (1, 0)
    other = kernel(tmp_path / "three" / "room", "*", monkeypatch)
    assert other(2, 3) == 6
    assert sum(other.stats.cache_hits.values()) == 0


def test_nothing_is_written_next_to_the_kernels_nor_left_set(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES
    assert kernel(tmp_path / "here", "+", monkeypatch)(1, 1) == 2
    assert before == (numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES)
    assert [p.name for p in (tmp_path / "here").iterdir() if p.name != "__pycache__"] == ["kernels.py"]
    assert not list((tmp_path / "here").rglob("*.nb?"))
    assert len(list(cache.rglob("*.nbc"))) == 1


def test_threads_that_call_kernels_first_at_once_keep_them_under_their_texts(tmp_path: Path) -> None:
    script = """
import threading
import numpy as np
from discreet.engines.passes import kernels as k
a, b, real, start = *np.zeros((2, 2), np.int64), np.array([0.0, 1.0]), threading.Barrier(3)
rows = k.drop_rows, real[:, None], np.array([True])
calls = [(k.add_dense, a, np.zeros(1, int)), rows, (k.append_axis, b, real, 0.0, 1.0, 4, False)]
threads = [threading.Thread(target=lambda c: (start.wait(), c[0](*c[1:])), args=[c]) for c in calls]
[t.start() for t in threads]
[t.join() for t in threads]
"""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "DISCREET_QUIET": "1"}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)
    folders = {file.parents[1].name for file in tmp_path.rglob("*.nbc")}
    assert [len(bytes.fromhex(name.removeprefix("kernels-"))) for name in folders] == [12]


def test_a_digest_covers_every_kernel_and_constant_that_kernels_use() -> None:
    for found in pkgutil.walk_packages(discreet.__path__, "discreet."):
        if "__main__" not in found.name:
            with suppress(ImportError, DiscreetError):  # extras
                import_module(found.name)
    modules = {n: vars(m) for n, m in sys.modules.items() if n.startswith("discreet")}
    used = 0
    for home, names in modules.items():
        own = [each for each in names.values() if isinstance(each, Kernel) and each.py_func.__module__ == home]
        covered = {home} | ({found for found, _ in jit._kernel_modules(names)} if own else set())
        for kernel in own:
            for name in kernel.py_func.__code__.co_names:
                value = names.get(name)
                if isinstance(value, ModuleType) and value.__name__.startswith("discreet"):
                    assert value.__name__ in covered, (home, kernel.py_func.__name__, name)
                    used += 1
    assert used >= 1


def test_the_first_call_of_a_kernel_takes_names(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernel(tmp_path / "here", "-", monkeypatch)(b=2, a=5) == 3
