"""What the measures share: the helpers of the benchmarks, and a folder of results of their own."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks._bench import save as _save
from benchmarks._bench import seconds, show, versions

__all__ = ["RESULTS", "save", "seconds", "show", "versions"]

RESULTS = Path(__file__).parent / "results"
save = partial(_save, folder=RESULTS)
