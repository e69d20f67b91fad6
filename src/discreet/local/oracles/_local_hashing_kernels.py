"""The compiled loop that keeps reports of local hashing in one order: by function, then by bucket."""

from __future__ import annotations

from typing import Any

from discreet.core.jit import jit


@jit
def merge_sorted(
    seed: Any, bucket: Any, more_seed: Any, more_bucket: Any, out_seed: Any, out_bucket: Any
) -> None:  # pragma: no cover
    """Merge two sorted lists of pairs."""
    i, j = 0, 0
    for k in range(len(out_seed)):
        first = j == len(more_seed) or (
            i < len(seed) and (seed[i] < more_seed[j] or (seed[i] == more_seed[j] and bucket[i] <= more_bucket[j]))
        )
        if first:
            out_seed[k], out_bucket[k] = seed[i], bucket[i]
            i += 1
        else:
            out_seed[k], out_bucket[k] = more_seed[j], more_bucket[j]
            j += 1
