"""Runs a peer on a table of codes, in the peer's own environment: imports nothing of ours.

    python peer_program.py METHOD TABLE.npz MADE.npz

TABLE.npz holds ``codes`` (rows by columns, whole numbers from 0), ``sizes``, ``epsilon``, ``delta`` and ``seed``.
MADE.npz gets as many rows as that table has, the CPU seconds of fitting and drawing, and the megabytes beyond the
imported library.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Work = Callable[[Any, list[int], float, float, int], Any]


def dpmm(kind: str) -> Work:
    """Return dpmm's pipeline on codes: nothing is spent on bins."""
    import dpmm.pipelines as pipelines
    import pandas as pd

    # AIM with its defaults takes hours; with these it ends in minutes.
    fewer = {"gen_kwargs": {"rounds": 60, "n_iters": 250}, "max_model_size": 80} if kind == "AIMPipeline" else {}

    def work(codes: Any, sizes: list[int], epsilon: float, delta: float, seed: int) -> Any:
        names = [f"c{j}" for j in range(len(sizes))]
        kind_of = getattr(pipelines, kind)
        made = kind_of(epsilon=epsilon, delta=delta, n_jobs=1, disable_processing=True, **fewer)
        made.fit(pd.DataFrame(codes, columns=names), domain=dict(zip(names, sizes, strict=True)), random_state=seed)
        return made.generate(n_records=len(codes), random_state=seed)[names].to_numpy()

    return work


def smartnoise(kind: str) -> Work:
    """Return SmartNoise's synthesizer, every column categorical."""
    import pandas as pd
    from snsynth import Synthesizer

    def work(codes: Any, sizes: list[int], epsilon: float, delta: float, seed: int) -> Any:
        np.random.seed(seed)  # noqa: NPY002  the library draws from the global state
        frame = pd.DataFrame(codes, columns=[f"c{j}" for j in range(len(sizes))])
        made = Synthesizer.create(kind, epsilon=epsilon, delta=delta)
        made.fit(frame, categorical_columns=list(frame.columns))
        return np.asarray(made.sample(len(frame)))

    return work


def opendp(kind: str) -> Work:
    """Return OpenDP's contingency table with all keys public; rows are sampled, as its rounding invents dependence."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")

    def work(codes: Any, sizes: list[int], epsilon: float, delta: float, seed: int) -> Any:
        np.random.seed(seed)  # noqa: NPY002  the library draws from the global state
        frame = pl.DataFrame({f"c{j}": codes[:, j] for j in range(len(sizes))})
        rho = _rho(epsilon, delta)
        context = dp.Context.compositor(
            data=frame.lazy(), privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=rho * (1 + 1e-9))
        )
        keys = {name: list(range(size)) for name, size in zip(frame.columns, sizes, strict=True)}
        query = context.query(rho=rho).select(*frame.columns)
        table = query.contingency_table(keys=keys, algorithm=getattr(dp.mbi, kind)()).release()
        rows = table.synthesize(rows=len(codes), method="sample")
        # A key for what is not listed is added by the library; no row has it.
        return rows.fill_null(0).to_numpy()

    return work


def _rho(epsilon: float, delta: float) -> float:
    """Return the zero-concentrated budget that is (ε, δ) by the optimal order (Canonne, Kamath, Steinke 2020)."""
    import math

    def reached(rho: float) -> float:
        orders = np.exp(np.linspace(math.log(1.001), math.log(1e5), 20_000))
        tail = np.log(1 / delta) + (orders - 1) * np.log1p(-1 / orders) - np.log(orders)
        return float(np.min(orders * rho + tail / (orders - 1)))

    low, high = 0.0, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle) <= epsilon else (low, middle)
    return low


METHODS: dict[str, Callable[[], Work]] = {
    "dpmm MST": lambda: dpmm("MSTPipeline"),
    "dpmm AIM": lambda: dpmm("AIMPipeline"),
    "dpmm PrivBayes": lambda: dpmm("PrivBayesPipeline"),
    "smartnoise MST": lambda: smartnoise("mst"),
    "opendp MST": lambda: opendp("MST"),
}


def main() -> None:
    name, source, sink = sys.argv[1:]
    with np.load(source) as table:
        codes, sizes = table["codes"], [int(size) for size in table["sizes"]]
        epsilon, delta, seed = float(table["epsilon"]), float(table["delta"]), int(table["seed"])
    work = METHODS[name]()
    before, start = _peak(), time.process_time()
    made = np.asarray(work(codes, sizes, epsilon, delta, seed)).astype(np.int64)
    np.savez(sink, codes=made, cpu_seconds=time.process_time() - start, megabytes=_peak() - before)


def _peak() -> float:
    """Return the peak of this process in MB. Not `getrusage`, which begins with that of the parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


if __name__ == "__main__":
    main()
