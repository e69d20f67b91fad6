"""Maximum likelihood, also called iterative Bayes: the shares under which the reports seen are likeliest.

For oracles whose reports have two probabilities, P(y | x) = hi where y supports x and lo elsewhere. The solution is the
fixed point of (spec local-sketches, C.18.3)

    π(x) <- π(x) D(x),   D(x) = Σ_y (c_y/n) P(y|x) / Σ_x' π(x') P(y|x'),

and both sums are one support count and one transposed one. The log-likelihood is concave with gradient n D, so D also
says how far there is to go: no shares do better than π by more than n (max D - 1). The fixed-point step itself takes
10^4 rounds and more at small ε; here the same solution is reached by projected gradients with spectral step lengths
(Birgin, Martínez, Raydan 2000), in tens of rounds. At small ε the curvature is nearly the same in all directions,
because every two values share the same number of messages.

Post-processing, free in privacy. Not unbiased: shares are never negative, and add up to one. Nor is its squared error
always smaller: what noise adds to absent values it takes from those that are there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from discreet.core import FloatArray
from discreet.local.consistency import consistent
from discreet.local.estimates import Estimate

if TYPE_CHECKING:
    from discreet.local.wire.counts import Counts

Transform: TypeAlias = Callable[[FloatArray], FloatArray]

#: The log-likelihood found is within this of the largest. An error of a hundredth of a standard error costs 0.00005.
_GAP = 1e-5
_MOST_STEPS = 5000
#: What rounding leaves of max D - 1.
_ROUNDING = 1e-13
#: A step may fall below the last value of the likelihood, not below the smallest of the last few.
_MEMORY = 10


def likelihood_estimate(
    mechanism: Any, counts: Counts, candidates: Any, messages: Any, spread: Transform, gather: Transform
) -> Estimate:
    """Estimate by maximum likelihood, with the standard errors and intervals of the raw estimates.

    Parameters
    ----------
    mechanism : Mechanism
        With declared values in ``choices``.
    counts, candidates
        As in `Mechanism.estimate`.
    messages : array of int
        How often each message was sent.
    spread : callable
        From a share per value to the share supported by each message.
    gather : callable
        From a weight per message to the sum over the messages that support each value.
    """
    raw: Estimate = mechanism._estimate(counts, candidates)
    _, codes = mechanism.choices.candidates(candidates)
    size = mechanism.choices.size
    shares = fit(messages, size, math.exp(mechanism.epsilon), spread, gather) if counts.n else np.zeros(size)
    return replace(raw, count=counts.n * shares[codes], consistency="likelihood")


def fit(
    messages: Any, size: int, ratio: float, spread: Transform, gather: Transform, *, gap: float = _GAP
) -> FloatArray:
    """Return the likeliest shares of ``size`` values. ``ratio`` is hi/lo = e^ε.

    Examples
    --------
    >>> same = lambda x: x                                              # direct response: a message supports itself
    >>> fit(np.array([50, 30, 20]), 3, 9.0, same, same).round(4).tolist()   # raw: (c/n - 1/11)/(8/11)
    [0.5625, 0.2875, 0.15]
    """
    n = float(np.sum(messages))
    seen = np.asarray(messages, np.float64) / n
    tolerance = max(gap / n, _ROUNDING)

    def value(shares: FloatArray) -> tuple[float, FloatArray]:
        """Return the mean log-likelihood and the chances of the messages (both up to a constant)."""
        under = 1 + (ratio - 1) * np.maximum(spread(shares), 0.0)
        return float(seen @ np.log(under)), under

    def gradient(under: FloatArray) -> FloatArray:
        weights = seen / under
        return np.asarray(weights.sum() + (ratio - 1) * gather(weights))

    shares = np.full(size, 1 / size)
    height, under = value(shares)
    slope = gradient(under)
    reach, last = 1.0, [height]
    for _ in range(_MOST_STEPS):
        if slope.max() - slope @ shares <= tolerance:
            break
        way = consistent(shares + reach * slope, 1) - shares
        climb = float(slope @ way)
        length = 1.0
        while True:
            tried = shares + length * way
            height, under = value(tried)
            if height >= min(last) + 1e-4 * length * climb or length < 1e-10:
                break
            length /= 2
        steeper = gradient(under)
        moved, bent = tried - shares, float((tried - shares) @ (slope - steeper))
        reach = min(max(float(moved @ moved) / bent, 1e-12), 1e12) if bent > 0 else 1e12
        shares, slope, last = tried, steeper, [*last[1 - _MEMORY :], height]
    return np.asarray(np.maximum(shares, 0.0))
