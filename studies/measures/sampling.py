"""What sampling before k-anonymity gives: ε at δ = 1e-6 for some k and chances of being drawn.

    python -m studies.measures.sampling

No data are used. "ours" is the exact law of the mechanism (`anonymity.sampling_epsilon`), "published" the smallest ε at
which the bound of Li, Qardaji and Su (2012, theorem 1) is at most δ; it has none below -ln(1 - β).
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from scipy.special import bdtrc

from discreet.anonymity import sampling_epsilon
from studies.measures._measure import save, show

DELTA = 1e-6
KS = (10, 20, 50, 100)
CHANCES = (0.01, 0.05, 0.1, 0.25, 0.5)


def published_delta(k: int, beta: float, epsilon: float, piece: int = 4096) -> float:
    """Return the paper's δ: max over n >= k/γ - 1 of P(Binomial(n, β) > γ n); a Chernoff bound says where to stop.

    It bounds the chance of outcomes that lose more than ε, which is larger than the δ of the mechanism.
    """
    gamma = 1 - (1 - beta) * math.exp(-epsilon)
    apart = gamma * math.log(gamma / beta) + (1 - gamma) * math.log((1 - gamma) / (1 - beta))
    found, start = 0.0, max(math.ceil(k / gamma - 1), 1)
    while found < math.exp(-start * apart):
        n = np.arange(start, start + piece)
        found = max(found, float(bdtrc(np.floor(gamma * n), n, beta).max()) * (1 + 1e-9))
        start += piece
    return min(1.0, found)


def published(k: int, beta: float) -> float:
    """Return the smallest ε that the published bound allows at δ, to one part in ten thousand."""
    low, high = -math.log1p(-beta), 60.0
    if published_delta(k, beta, low * (1 + 1e-12)) <= DELTA:
        return low
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        good = published_delta(k, beta, middle) <= DELTA
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
