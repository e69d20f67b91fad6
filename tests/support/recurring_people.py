"""A table of persons who come several times, with dates, gaps and values beyond the bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.domain import Domain


def qi(**declared: Any) -> dict[str, Any]:
    return {"role": "quasi-identifier", **declared}


DOMAIN = Domain(
    {
        "who": {"categories": ["any"], "role": "person"},
        "born": qi(bounds=["1930-01-01", "2009-12-31"], missing="own"),
        "x": qi(bounds=[0, 1]),
        "job": qi(categories=["cook", "smith", "nurse", "clerk"], missing="own"),
        "ill": {"categories": ["no", "flu", "cold"], "role": "sensitive"},
        "cost": {"bounds": [0, 9], "role": "sensitive"},
    }
)


def people(n: int, seed: int) -> pa.Table:
    """Rows of persons who come several times, with ties, gaps and values beyond the bounds."""
    rng = np.random.default_rng(seed)
    who = rng.integers(0, max(n // 4, 1), n)
    day = np.datetime64("1930-01-01") + rng.integers(-400, 29_900, n)
    gap = rng.random(n) < 0.1
    jobs = rng.choice(["cook", "smith", "nurse", "clerk", "spy"], n)
    return pa.table(
        {
            "who": pa.array([f"p{w}" for w in who]),
            "born": pa.array([None if g else d.item() for g, d in zip(gap, day, strict=True)], pa.date32()),
            "x": np.round(rng.beta(0.5, 2, n), 2),
            "job": jobs,
            "ill": rng.choice(["no", "flu", "cold"], n, p=[0.6, 0.3, 0.1]),
            "cost": rng.integers(0, 10, n),
        }
    )
