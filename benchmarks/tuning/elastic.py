"""Tune how an elastic metric is fitted (`discreet.metric.elastic.law`), on generated maps only.

    python -m benchmarks.tuning.elastic [--maps 6]

Maps are drawn at random, the same in every run: towns of many sizes on open land, some of them made of single records
with nobody between. Every candidate runs on every one of them at two levels. The score is the mean error by people over
that of the values in use, as a geometric mean with its 95 % interval over maps and levels (paired). A value in use
stays unless another one is better by more than its interval and takes hardly longer. Real maps play no part.

Candidates: rounds in which rates are raised and lowered, rounds in which they are only lowered where a crowd is not
found, steps that make the sums alike, and what open land counts for where cells are made.
Results go to results/tune_elastic.json.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import numpy as np

from benchmarks._bench import save, show
from discreet import Domain
from discreet.metric import ElasticLaplace
from discreet.metric.elastic import cells, law

#: Rounds, repairs, evening steps, open land. The first are those in use.
IN_USE = (law._ROUNDS, law._REPAIRS, law._EVENING, cells._OPEN_LAND)
CANDIDATES = (
    IN_USE, (0, 0, 40, 0.1), (0, 3, 40, 0.1), (2, 3, 40, 0.1), (4, 0, 40, 0.1), (4, 1, 40, 0.1), (4, 6, 40, 0.1),
    (8, 3, 40, 0.1), (4, 3, 0, 0.1), (4, 3, 10, 0.1), (4, 3, 40, 0.02), (4, 3, 40, 0.5),
)  # fmt: skip
SIDE, CELLS, LEVELS = 128, 256, (1.0, 3.0)


def people(seed: int) -> np.ndarray:
    """Return the people of a map: towns whose sizes have a long tail, on land that is nearly empty."""
    rng = np.random.default_rng(seed)
    places = (np.indices((SIDE, SIDE)).reshape(2, -1).T + 0.5) / SIDE
    found = np.full(len(places), 10 ** rng.uniform(-2, 0.5))
    for _ in range(int(rng.integers(2, 9))):
        away = ((places - rng.random(2)) ** 2).sum(axis=1)
        found += 10 ** rng.uniform(1, 3) * np.exp(-away / 2 / 10 ** (2 * rng.uniform(-2, -0.9)))
    if seed % 2:
        found *= rng.random(len(found)) < 0.3
    return found.reshape(SIDE, SIDE)


def error(density: np.ndarray, level: float, values: tuple[int, int, int, float]) -> tuple[float, float]:
    """Return the mean error by people, and the seconds of one core that the map took."""
    law._ROUNDS, law._REPAIRS, law._EVENING, cells._OPEN_LAND = values
    law._make.cache_clear()
    noise = ElasticLaplace(level, density.sum() / 60, Domain.box([0, 0], [1, 1]), density=density, cells=CELLS)
    start = time.process_time()
    found = noise.law
    took = time.process_time() - start
    middles = (np.indices((SIDE, SIDE)).reshape(2, -1).T + 0.5) / SIDE
    living = np.random.default_rng(0).choice(len(middles), 1000, p=density.ravel() / density.sum())
    return float(found.expected_error(middles[living]).mean()), took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--maps", type=int, default=6)
    maps = [people(seed) for seed in range(parser.parse_args().maps)]
    held: dict[tuple[int, int, int, float], Any] = {}
    for values in dict.fromkeys(CANDIDATES):
        held[values] = np.array([error(density, level, values) for density in maps for level in LEVELS])
    rows, facts = [], []
    for values, found in held.items():
        ratios = np.log(found[:, 0] / held[IN_USE][:, 0])
        half = 1.96 * float(ratios.std(ddof=1)) / math.sqrt(len(ratios))
        mean, ends = math.exp(ratios.mean()), [math.exp(ratios.mean() - half), math.exp(ratios.mean() + half)]
        facts.append({"values": list(values), "ratio": mean, "interval": ends, "seconds": float(found[:, 1].mean())})
        rows.append([*map(str, values), f"{mean:.3f}", f"{ends[0]:.3f} to {ends[1]:.3f}", f"{found[:, 1].mean():.2f}"])
    heads = ["rounds", "repairs", "evening", "open land", "error", "95 % interval", "seconds"]
    show("elastic metric", heads, rows)
    save("tune_elastic", {"maps": len(maps), "levels": LEVELS, "cells": CELLS, "candidates": facts})


if __name__ == "__main__":
    main()
