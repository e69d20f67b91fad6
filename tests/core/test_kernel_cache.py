"""Machine code is kept by what kernels say, not by where they lie: once per text, and never in the installation."""

from __future__ import annotations

import importlib.util
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.core import caching

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
