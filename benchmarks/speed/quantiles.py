"""Seconds and rank error of private quantiles of one column, against peers and against a plain sort, in one run.

    python -m benchmarks.speed.quantiles [--rows 1000000] [--bits 20]

The yardstick is `numpy.sort` of the column: exact quantiles need no more than that. The peers give one quantile a call,
so they are called m times with ε/m, OpenDP's with the same grid of candidates (building its measurements is not timed).
Rank error: the mean distance between the wanted and the got rank, in rows, over all quantiles and five runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks._bench import save, seconds, show
from discreet.noise import quantiles

EPSILON = 1.0
CASES = ((3, "joint"), (9, "joint"), (9, "recursive"), (99, "recursive"))
RUNS = 5

Method = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


def ours(method: str, bits: int) -> Method:
    def run(values: np.ndarray, qs: np.ndarray, seed: int) -> np.ndarray:
        return quantiles(values, qs, epsilon=EPSILON, low=0.0, high=1.0, method=method, bits=bits, rng=seed)

    return run


def diffprivlib() -> Method | None:
    try:
        from diffprivlib.tools import quantile
    except ImportError:
        return None

    def run(values: np.ndarray, qs: np.ndarray, seed: int) -> np.ndarray:
        share = EPSILON / len(qs)
        return np.array([quantile(values, q, epsilon=share, bounds=(0.0, 1.0), random_state=seed) for q in qs])

    return run


def opendp(bits: int) -> Method | None:
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance(), dp.max_divergence()
    lines = (np.arange(1, 2**bits) / 2**bits).tolist()

    @lru_cache
    def build(q: float, epsilon: float) -> Any:
        def make(scale: float, candidates: list[float] = lines[:2]) -> Any:
            return dp.m.make_private_quantile(*space, candidates, q, scale)

        return make(dp.binary_search_param(make, d_in=1, d_out=epsilon, T=float), lines)

    def run(values: np.ndarray, qs: np.ndarray, seed: int) -> np.ndarray:
        return np.sort([build(float(q), EPSILON / len(qs))(values) for q in qs])

    return run


def rank_error(method: Method, values: np.ndarray, qs: np.ndarray) -> float:
    ordered = np.sort(values)
    got = [np.searchsorted(ordered, method(values, qs, seed)) for seed in range(RUNS)]
    return float(np.mean(np.abs(np.array(got) - qs * len(values))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--bits", type=int, default=20)
    arguments = parser.parse_args()
    n = arguments.rows
    values = np.random.default_rng(0).beta(2, 5, n)
    sort = seconds(lambda: np.sort(values))
    peers: dict[str, Method] = {}
    for name, method in (("diffprivlib", diffprivlib()), ("opendp", opendp(arguments.bits))):
        if method is None:
            print(f"{name} is not installed: left out (pip install 'discreet[bench]')")
        else:
            peers[name] = method

    rows, facts = [], []

    def measure(name: str, kind: str, m: int, method: Method, repeat: int) -> None:
        qs = np.arange(1, m + 1) / (m + 1)
        taken = seconds(lambda: method(values, qs, 0), repeat=repeat)
        error = rank_error(method, values, qs)
        rows.append([f"{name} {kind}".strip(), m, taken, taken / sort, error])
        facts.append(
            {"library": name, "method": kind, "m": m, "seconds": taken, "over_sort": taken / sort, "rank_error": error}
        )

    for m, kind in CASES:
        measure("discreet", kind, m, ours(kind, arguments.bits), 3)
    for name, method in peers.items():
        for m in (3, 9):
            measure(name, "", m, method, 2)
    show(f"quantiles of {n:,} rows, ε = {EPSILON:g}", ["method", "m", "seconds", "× sort", "rank error"], rows)
    save(
        "quantiles",
        {
            "rows": n,
            "bits": arguments.bits,
            "epsilon": EPSILON,
            "numpy_sort_seconds": sort,
            "results": facts,
        },
        "discreet",
        "numpy",
        "numba",
        "opendp",
        "diffprivlib",
    )


if __name__ == "__main__":
    main()
