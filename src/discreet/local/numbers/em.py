"""Maximum likelihood for reports in windows: expectation-maximisation with running sums.

With M(j, i) = Q + (P - Q)·[j in the window of i], both products of a step, M x and Mᵀ r, are differences of running
sums: O(d) a step instead of O(d²) (spec local-sketches, C.15.2).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.core.jit import jit


@jit
def window_em(
    counts: Any, width: int, near: float, far: float, smooth: bool, gain: float, most: int, out: Any, steps: Any
) -> None:  # pragma: no cover
    """Fit every row of ``counts``: shares of the d values whose windows start at report 0, 1, ... d - 1.

    A fit stops when the log-likelihood grows by less than ``gain``, or after ``most`` steps.
    """
    n_reports, d = counts.shape[1], out.shape[1]
    before, ratio = np.zeros(d + 1), np.zeros(n_reports + 1)
    for k in range(counts.shape[0]):
        x = np.full(d, 1.0 / d)
        last = -math.inf
        for step in range(most):
            for i in range(d):
                before[i + 1] = before[i] + x[i]
            likelihood = 0.0
            for j in range(n_reports):
                # The values whose window holds report j are j - width + 1 .. j.
                held = before[min(j + 1, d)] - before[max(j - width + 1, 0)]
                chance = far + (near - far) * max(held, 0.0)
                ratio[j + 1] = ratio[j] + counts[k, j] / chance
                if counts[k, j] > 0:
                    likelihood += counts[k, j] * math.log(chance)
            if likelihood - last < gain or ratio[n_reports] == 0.0:
                break
            last = likelihood
            total = 0.0
            for i in range(d):
                x[i] *= far * ratio[n_reports] + (near - far) * (ratio[i + width] - ratio[i])
                total += x[i]
            for i in range(d):
                x[i] /= total
            if smooth:
                left = x[0]
                for i in range(d):
                    here = x[i]
                    x[i] = (left + 2 * here + (x[i + 1] if i + 1 < d else here)) / 4
                    left = here
            steps[k] = step + 1
        out[k] = x
