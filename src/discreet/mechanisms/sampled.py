"""Sampling before k-anonymity: the (ε, δ) of the counts of a random sample, published from k on.

Li, Qardaji and Su (2012) draw each record with chance β, assign it to a class that does not depend on the data, and
publish the classes with at least k drawn records. A class of n records shows X ~ Binomial(n, β) if X ≥ k, else
nothing; one record more or less changes n of one class by 1, and classes are independent. So with P_n the law of the
output of a class of n records, the δ of the whole release is, exactly,

    δ(ε) = max over n ≥ 0 of H(P_{n+1}, P_n) and H(P_n, P_{n+1}),    H(P, Q) = Σ max(0, P(y) - e^ε Q(y)).

Both are sums over one end. For j ≥ k, P_{n+1}(j)/P_n(j) = (n+1)(1-β)/(n+1-j) rises in j, and for "nothing" the ratio is
a mean over j < k. Hence H(P_{n+1}, P_n) is reached on {j ≥ a} for some a ≥ k, and H(P_n, P_{n+1}) on {j < m}, "nothing"
included, for some m ≥ k. With Binomial(n+1) = Binomial(n) + one more coin,

    H(P_{n+1}, P_n) = max over a ≥ k of  β b(n, a-1) - (e^ε - 1) P(Binomial(n, β) ≥ a)
    H(P_n, P_{n+1}) = max over m ≥ k of  β e^ε b(n, m-1) - (e^ε - 1) P(Binomial(n, β) < m),

b(n, j) the chance of j. The ratio passes e^ε at a > γ(n+1) with γ = 1 - (1-β)e^-ε, and at m < γ'(n+1) with
γ' = 1 - (1-β)e^ε; the second line is never positive from ε = -ln(1-β) on. For large n both are below

    β e^ε exp(-n D(x, β)) / √(2π n x(1-x)),    x = the place of a-1 or m-1 over n,

(Stirling's bound on the binomial coefficient, D the relative entropy; 1 in place of the root at the ends), which falls,
so only finitely many n have to be checked. As ε grows, δ falls to β^k: all records of a class of size k were drawn.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import FloatArray, IntArray, checks, later
from discreet.core.budget import Approx, Epsilon
from discreet.errors import InvalidArgument
from discreet.mechanisms.gate import Gate

special = later("scipy.special")

#: Results are rounded up by this share of the largest term, and by this share of ln n!, whose last digits are lost in
#: the chances of large classes: far more than rounding loses.
_SAFETY, _DIGITS = 1e-9, 2.0**-48
_PIECE = 4096
#: The most places that are checked; beyond them the bound above is used.
_MOST = 50_000_000
_LARGEST = 64.0


#: Coins tossed at once.
_COINS = 2**20


def sampling_price(k: int, sample: Any, delta: Any) -> Approx:
    """Return the price of `drawn_classes`: the exact (ε, δ) of its law."""
    epsilon = checks.budget("epsilon", sampling_epsilon(k, sample, delta))
    return Approx(Epsilon(epsilon), checks.slack(delta))


def drawn_classes(gate: Gate, label: str, counts: IntArray, k: int, sample: Any, delta: Any) -> IntArray:
    """Toss a coin for each row; return the number of drawn rows of each class, 0 if fewer than k.

    Privacy: see the module; classes must not depend on the data. Price: `sampling_price`.
    """
    ends = np.cumsum(counts)
    drawn = np.zeros(len(counts), np.int64)
    total = int(ends[-1]) if len(ends) else 0
    with gate.stated(label, sampling_price(k, sample, delta), "sampling") as stream:
        for start in range(0, total, _COINS):
            coins = noise.bernoulli(sample, size=min(_COINS, total - start), rng=stream)
            of = np.searchsorted(ends, start + np.flatnonzero(coins), side="right")
            drawn += np.bincount(of, minlength=len(counts))
    return np.where(drawn >= k, drawn, 0)


def sampling_delta(k: int, sample: float, epsilon: float) -> float:
    """Return the δ of sampling before k-anonymity, at an ε.

    Parameters
    ----------
    k : int
        The fewest drawn records of a published class.
    sample : float
        The chance β with which each record is drawn.
    epsilon : float
        The ε at which δ is stated.

    Examples
    --------
    >>> round(sampling_delta(10, 0.1, 0.5) * 1e6, 3)
    0.672
    """
    k, beta = _settings(k, sample)
    level = min(float(checks.positive("epsilon", epsilon, fix="epsilon=1.0")), _LARGEST)
    return _exact(k, beta, level)


def sampling_epsilon(k: int, sample: float, delta: float) -> float:
    """Return the smallest ε of sampling before k-anonymity at a δ, rounded up to one part in ten thousand.

    Parameters
    ----------
    k, sample
        See `sampling_delta`.
    delta : float
        The δ at which ε is stated; at least sample^k.

    Examples
    --------
    >>> round(sampling_epsilon(20, 0.1, 1e-6), 3), round(sampling_epsilon(50, 0.1, 1e-6), 3)
    (0.183, 0.079)
    """
    k, beta = _settings(k, sample)
    target = float(checks.probability("delta", delta))
    if _exact(k, beta, _LARGEST, target) > target:
        more = math.ceil(math.log(target) / math.log(beta)) + 1
        least = f"at least sample^k ({beta**k:.3g}): with that chance all of a class of k are drawn, and it shows them"
        raise InvalidArgument("delta", delta, least, f"k={max(more, k + 1)}")
    low, high = 0.0, _LARGEST
    while high - low > 1e-4 * high:
        middle = (low + high) / 2 if low else high / 2
        if middle < 1e-6:
            break
        low, high = (low, middle) if _exact(k, beta, middle, target) <= target else (middle, high)
    return high


def _settings(k: Any, sample: Any) -> tuple[int, float]:
    return checks.whole("k", k, low=2, high=2**31 - 1), float(checks.probability("sample", sample))


@lru_cache(maxsize=4096)
def _exact(k: int, beta: float, epsilon: float, target: float = 0.0) -> float:
    """Return the δ at an ε, rounded up; with a target, any number on the same side of it."""
    found = 0.0
    for sign, difference in ((-1, _added), (1, _removed)):
        # At one place a the difference rises in n up to (a - 1)/edge, and falls from there on: one size for each place.
        edge = 1 - (1 - beta) * math.exp(sign * epsilon)
        start, rest = k, math.inf if edge > 0 else 0.0
        while rest > max(found, target) and not 0 < target < found:
            if start > k + _MOST:
                return min(1.0, rest)
            place = np.arange(start, start + max(_PIECE, start // 8))
            found = max(found, float(difference(np.floor((place - 1) / edge), place, beta, epsilon).max()))
            start += len(place)
            rest = _beyond((start - 1) / edge, beta, epsilon, edge)
    return min(1.0, found)


def _added(n: FloatArray, a: IntArray, beta: float, epsilon: float) -> FloatArray:
    """Return H(P_{n+1}, P_n) if the ratio passes e^ε at a."""
    above = np.where(a <= n, special.betainc(a, np.maximum(n - a + 1, 1), beta), 0.0)
    return _upwards(n, beta * _chance(n, a - 1, beta), math.expm1(epsilon) * above)


def _removed(n: FloatArray, m: IntArray, beta: float, epsilon: float) -> FloatArray:
    """Return H(P_n, P_{n+1}), likewise."""
    below = np.where(m <= n, special.betainc(np.maximum(n - m + 1, 1), m, 1 - beta), 1.0)
    return _upwards(n, beta * math.exp(epsilon) * _chance(n, m - 1, beta), math.expm1(epsilon) * below)


def _upwards(n: FloatArray, more: FloatArray, less: FloatArray) -> FloatArray:
    """Return an upper bound on the difference of two rounded terms for classes of n."""
    slack = _SAFETY + _DIGITS * special.gammaln(n + 1)
    return np.asarray(more * (1 + slack) - less * (1 - slack))


def _beyond(n: float, beta: float, epsilon: float, edge: float) -> float:
    """Return an upper bound for all classes of n records or more, if places decide where the ratio passes."""
    over = edge > beta
    near, far = (edge - 2 / n, edge + 2 / n) if over else (edge + 2 / n, edge - 2 / n)
    apart = 0.0
    if (near > beta) == over:  # else the places may be where the chance is largest
        apart = near * math.log(near / beta) + (1 - near) * math.log((1 - near) / (1 - beta))
    spread = min(near * (1 - near), far * (1 - far))
    most = 1.0 if spread <= 0 else min(1.0, 1 / math.sqrt(2 * math.pi * n * spread))
    return beta * math.exp((0.0 if over else epsilon) - n * apart) * most * (1 + _SAFETY)


def _chance(n: FloatArray, j: IntArray, beta: float) -> FloatArray:
    """Return the chance of j ones in n coins; 0 for j beyond n."""
    inside = np.minimum(j, n)
    log = (
        special.gammaln(n + 1)
        - special.gammaln(inside + 1)
        - special.gammaln(n - inside + 1)
        + special.xlogy(inside, beta)
    )
    return np.where(j <= n, np.exp(log + special.xlog1py(n - inside, -beta)), 0.0)
