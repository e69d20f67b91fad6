"""The experiments with local sketches (Requena 2024) again: count-mean, Hadamard, fragment puzzle, RAPPOR, d-bit flip.

As published: the same made-up data, the same grids of parameters, the same error measures. Changed, because the
publication cannot be relied on otherwise: every setting is run many times with a file and a hash key of its own, and
every fault of the published programs is a switch. A printed figure is held against both positions of the switch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from discreet_studies.harness.study import Numbers, Setting, Study
from discreet_studies.local_sketches import runs as run
from discreet_studies.local_sketches.findings import findings
from discreet_studies.local_sketches.notes import notes
from discreet_studies.local_sketches.pictures import pictures
from discreet_studies.local_sketches.published import LARGE_N, printed

#: What measures the settings of a part.
_PARTS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, float]]] = {
    "PCMS": run.sketch,
    "PHCMS": run.sketch,
    "subset": run.subset,
    "PCMS-size": run.sizes,
    "PHCMS-size": run.sizes,
    "dense-client": run.dense,
    "puzzle": run.puzzle,
    "threshold": run.puzzle,
    "prefix": run.prefix,
    "RAPPOR": run.rappor,
    "RAPPOR-reports": run.rappor_times,
    "RAPPOR-values": run.rappor_values,
    "dBitFlip": run.bit_flip,
}
_DIGITS = 2**20
#: The files of the experiments.
FILES: dict[str, dict[str, str | int]] = {
    "exp-50k": {"data": "exponential", "n": 50_000},
    "exp-500k": {"data": "exponential", "n": 500_000},
    "exp-1m": {"data": "exponential", "n": 1_000_000},
    "norm-200k": {"data": "normal", "n": 200_000},
    "words": {"n": 50_000},
}


class _Grid:
    """Settings in the making: a quick run has fewer seeds, and fewer points of each table."""

    def __init__(self, quick: bool) -> None:
        self.quick = quick
        self.found: list[Setting] = []

    def add(self, part: str, seeds: int, /, **point: str | float) -> None:
        runs = min(seeds, 4) if self.quick else seeds
        self.found.extend({"part": part, **point, "seed": s} for s in range(runs))


def settings(quick: bool) -> list[Setting]:
    """Return the grid: every row of the published tables, and ours for the same tasks."""
    grid = _Grid(quick)
    _sketches(grid)
    _sizes(grid)
    _puzzles(grid)
    _rappor(grid)
    _bit_flips(grid)
    return grid.found


def _sketches(grid: _Grid) -> None:
    """Experiment 1: shape, ε and number of users of the two sketches."""
    for point in printed("5.2"):
        if grid.quick and point["k"] > 1024:
            continue
        for part in ("PCMS", "PHCMS"):
            grid.add(part, 20 if point["k"] <= 1024 else 5, **FILES["exp-50k"], epsilon=2, **point)
    grid.add("subset", 20, **FILES["exp-50k"], epsilon=2)
    for point in printed("5.5"):
        for part in ("PCMS", "PHCMS"):
            grid.add(part, 20, **FILES["norm-200k"], **point, k=1024, m=256)
        grid.add("subset", 20, **FILES["norm-200k"], **point)
    for point in printed("5.14"):
        if grid.quick and point["n"] > LARGE_N:
            continue
        seeds = 20 if point["n"] <= LARGE_N else 5
        for data in ("normal", "exponential"):
            for part in ("PCMS", "PHCMS"):
                if (data, point["n"]) != ("normal", 200_000):  # that point is in the grid of ε
                    grid.add(part, seeds, data=data, **point, epsilon=4, k=1024, m=256)
        for epsilon in (1, 4):
            if (point["n"], epsilon) != (200_000, 4):
                grid.add("subset", seeds, data="normal", **point, epsilon=epsilon)


def _sizes(grid: _Grid) -> None:
    """Bits of a report, and the time of the published client."""
    for point in printed("5.7"):
        for part in ("PCMS-size", "PHCMS-size"):
            grid.add(part, 1, **point)
        grid.add("dense-client", 3, **point, n=200)


def _puzzles(grid: _Grid) -> None:
    """Experiment 2: shape and threshold of the fragment puzzle. Large dictionaries take seconds, so fewer runs."""
    for point in printed("5.10"):
        if point["copy"] > 1 or (grid.quick and point["k2"] > 64):
            continue
        shape = {name: point[name] for name in ("k", "k2", "m")}
        grid.add("puzzle", 6 if point["k2"] <= 256 else 3, **FILES["words"], **shape)
    grid.add("threshold", 20, **FILES["words"], k=256, k2=256, m=64)
    grid.add("prefix", 2 if grid.quick else 5, **FILES["words"])


def _rappor(grid: _Grid) -> None:
    """Experiment 3: filter, users and chances of RAPPOR."""
    base: dict[str, float] = {"f": 0.5, "p": 0.5, "q": 0.75}
    for point in printed("5.13"):
        if not grid.quick or point["bits"] < 512:
            grid.add("RAPPOR", 8, **FILES["exp-500k"], **base, **point)
            grid.add("RAPPOR-reports", 2, **(FILES["exp-500k"] | {"n": 20_000}), **point)
    for point in printed("5.14"):
        for data in ("normal", "exponential"):
            if not grid.quick or point["n"] <= LARGE_N:
                grid.add("RAPPOR", 10, data=data, **point, **base, bits=128, hashes=8)
    for point in printed("5.15"):
        if not grid.quick or point["f"] == 0.5:
            grid.add("RAPPOR", 6, **FILES["exp-500k"], **point, bits=128, hashes=8)
    grid.add("RAPPOR-values", 20, **FILES["exp-1m"], **base, bits=128, hashes=8)


def _bit_flips(grid: _Grid) -> None:
    """Experiment 4: bits and ε of d-bit flip, and users."""
    for point in printed("5.17"):
        if not grid.quick or point["d"] in (1, 4):
            grid.add("dBitFlip", 10 if point["d"] <= 4 else 5, **FILES["exp-500k"], **point)
    for epsilon in sorted({point["epsilon"] for point in printed("5.17")}):
        grid.add("subset", 6, **FILES["exp-500k"], epsilon=epsilon)
    for point in printed("5.18"):
        if not grid.quick or point["n"] <= LARGE_N:
            grid.add("dBitFlip", 10, data="normal", **point, d=4, epsilon=1)


def measure(setting: Setting) -> Numbers:
    """Run one setting once. Numbers are kept to some six digits: the file of all runs is a third of the size."""
    return {name: _short(value) for name, value in _PARTS[str(setting["part"])](setting).items()}


def _short(value: float) -> float:
    fraction, power = math.frexp(value)
    return math.ldexp(round(fraction * _DIGITS), power) / _DIGITS


STUDY = Study(
    "local-sketches",
    "Local sketches: five published methods run again, each fault on and off",
    "A. Requena, a degree project on local differential privacy with data sketches, Universidad de Cádiz, 2024",
    settings,
    measure,
    findings,
    notes,
    pictures,
)
