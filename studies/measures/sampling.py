"""What sampling before k-anonymity gives: ε at δ = 1e-6 for some k and chances of being drawn.

    python -m studies.measures.sampling

No data are used. "ours" is the exact law of the mechanism (`anonymity.sampling_epsilon`), "published" the smallest ε at
which the bound of Li, Qardaji and Su (2012, theorem 1) is at most δ; it has none below -ln(1 - β).
"""

from __future__ import annotations

import argparse
import math

from discreet.anonymity import sampling_delta, sampling_epsilon
from studies.measures._measure import save, show

DELTA = 1e-6
KS = (10, 20, 50, 100)
CHANCES = (0.01, 0.05, 0.1, 0.25, 0.5)


def published(k: int, beta: float) -> float:
    """Return the smallest ε that the published bound allows at δ, to one part in ten thousand."""
    low, high = -math.log1p(-beta), 60.0
    if sampling_delta(k, beta, low * (1 + 1e-12), bound="published") <= DELTA:
        return low
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        good = sampling_delta(k, beta, middle, bound="published") <= DELTA
        low, high = (low, middle) if good else (middle, high)
    return high


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    rows = []
    for beta in CHANCES:
        for k in KS:
            possible = beta**k <= DELTA
            ours = sampling_epsilon(k, beta, DELTA) if possible else None
            rows.append({"sample": beta, "k": k, "ours": ours, "published": published(k, beta) if possible else None})
    show(f"epsilon at delta = {DELTA:g}", list(rows[0]), [list(row.values()) for row in rows])
    save("sampling", {"delta": DELTA, "rows": rows}, "scipy")


if __name__ == "__main__":
    main()
