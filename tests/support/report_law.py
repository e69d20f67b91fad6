"""Check that many reports of one value follow the law that their mechanism states."""

from typing import Any

import numpy as np
from scipy.stats import chi2


def chance_of(m: Any, value: Any, sent: bytes) -> float:
    """Return how likely reports at least this far from the law are: chi-square over all reports that can be.

    Zero if there is one that cannot be.
    """
    found = np.frombuffer(sent, f"V{m.layout.size}")
    rows, chances = m.report_law(value)
    keys, counts = np.unique(found, return_counts=True)
    seen = dict(zip((k.tobytes() for k in keys), counts.tolist(), strict=True))
    observed = np.array([seen.pop(row.tobytes(), 0) for row in rows])
    expected = chances * len(found)
    assert expected.min() > 5
    if seen:
        return 0.0
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), len(rows) - 1))
