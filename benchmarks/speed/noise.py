"""Draws per second of the exact integer noises, against OpenDP's exact sampler and NumPy's inexact floats, in one run.

    python -m benchmarks.speed.noise [--draws 1000000]

The physical limit is the entropy itself: one byte a draw is the least any exact sampler could read.
"""

from __future__ import annotations

import argparse
import os

import numpy as np

from benchmarks._bench import save, seconds, show
from discreet import noise

SCALES = (1.0, 10.0, 1000.0)


def opendp_samplers() -> dict[str, object] | None:
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")

    def build(make: object, scale: float, metric: object) -> object:
        space = dp.vector_domain(dp.atom_domain(T="i64")), metric
        return make(*space, scale=scale)  # type: ignore[operator]

    return {
        "laplace": lambda s: build(dp.m.make_laplace, s, dp.l1_distance(T="i64")),
        "gaussian": lambda s: build(dp.m.make_gaussian, s, dp.l2_distance(T="f64")),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1_000_000)
    n = parser.parse_args().draws
    peers = opendp_samplers()
    if peers is None:
        print("OpenDP is not installed: its column is left out (pip install opendp==0.16.0)")
    entropy = seconds(lambda: os.urandom(n))
    rng = np.random.default_rng(0)
    rows, facts = [], []
    for kind, ours, plain in [
        ("laplace", noise.discrete_laplace, rng.laplace),
        ("gaussian", noise.discrete_gaussian, rng.normal),
    ]:
        for scale in SCALES:
            t_secure = seconds(lambda: ours(scale, size=n))  # noqa: B023
            t_seeded = seconds(lambda: ours(scale, size=n, rng=0))  # noqa: B023
            t_numpy = seconds(lambda: plain(0.0, scale, n))  # noqa: B023
            t_peer = float("nan")
            if peers is not None:
                measure = peers[kind](scale)  # type: ignore[operator]
                few = np.zeros(max(1, n // 10), dtype=np.int64).tolist()
                t_peer = seconds(lambda: measure(few), repeat=2, warm=False) * n / len(few)  # noqa: B023
            rows.append(
                [f"{kind} {scale:g}", n / t_secure / 1e6, n / t_seeded / 1e6, n / t_peer / 1e6, n / t_numpy / 1e6]
                + [t_peer / t_secure, t_secure / t_numpy, t_secure / entropy]
            )
            facts.append(
                {
                    "law": kind,
                    "scale": scale,
                    "draws": n,
                    "seconds": {"secure": t_secure, "seeded": t_seeded, "opendp": t_peer, "numpy_float": t_numpy},
                    "times_faster_than_opendp": t_peer / t_secure,
                    "times_one_byte_of_entropy": t_secure / entropy,
                }
            )
    columns = ["law and scale", "secure M/s", "seeded M/s", "OpenDP M/s", "NumPy float M/s"]
    show(
        f"{n:,} draws (OpenDP timed on a tenth and scaled up)",
        [*columns, "faster than OpenDP", "slower than NumPy", "times 1 B/draw of entropy"],
        rows,
    )
    save("noise", {"entropy_seconds": entropy, "results": facts}, "numpy", "numba", "opendp")


if __name__ == "__main__":
    main()
