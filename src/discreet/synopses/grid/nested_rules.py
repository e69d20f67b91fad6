"""RUGNIK's argument for two levels: how coarse the first should be, what it may cost, and how each of its cells is cut.

Rows of [-r, r]^d are counted on M1 = m1^d cells with a share α of ε, then each cell g on its own m_g^d parts with the
rest; both views of a cell are reconciled (`adaptive.py`). As in RUGNIK (spec optimal-grid 2.3) K clusters fill cubes of
side 2r/κ, κ = K^(1/d), and what is bounded is how far the k-means objective moves, without the factor d r²/K:

    F = √S + (2/κ) √B + B.

*Rows that move to the middles of their cells* give B = Σ_g t_g/(3 m1² m_g²), t_g the rows of g: RUGNIK's N/(3 m²), cell
by cell. *Noise* is weighed by a_j = |middle - centre|², at most d r²/κ². Reconciled counts of g vary in their sum by
less than a count of the first level, s1², and otherwise by s2² each, so that their part is at most
ā² s1² + s2² Σ_j (a_j - ā)². Inside a cell of one cluster the a_j are nearly the same: over middles
that spread evenly in it, its side being 2r/m1, their variance is at most

    φ = 4/(3 d m1² κ²) + 4/(45 d m1⁴)    in units of (d r²)², and never more than 1/κ⁴,

so S = s2² φ Σ_g m_g^d + s1² M1/κ⁴. That is what a second level buys: its noise counts by φ, not by 1/κ⁴. (s1 and s2 are
those of discrete noise at α ε and (1 - α) ε, √2/(2 sinh(ε/2)).)

**Second level.** For a given number of cells M = Σ m_g^d, B is least for m_g^(d+2) = c t_g: cells as dense as the rows
to the power d/(d+2), the law of quantisers. Then B = Q/(3 M^(2/d)), Q = (Σ t_g^(d/(d+2)))^((d+2)/d)/m1² (N where rows
are even, less where they crowd), and with m = M^(1/d)

    F(m) = √(s2² φ m^d + s1² M1/κ⁴) + (2/m) √(Q/3)/κ + Q/(3 m²),

RUGNIK's h with another noise. It has one minimum: m³ F' is what rises faster than m, less a line in m.

**First level**, before a row is read: Q = N. With noise like 1/ε and φ's first term the least S over α is
(A^(1/3) + C^(1/3))³ for A/(1 - α)² + C/α², A = s² m^d φ, C = s² m1^d/κ⁴; over m1 then

    m1^(d+2) = 32 κ² m^d/(3 d⁴),    α = 2/(d + 2),    √S = (s/κ²) (1 + d/2)^(3/2) m1^(d/2).

Noise grows like m^(d²/(2(d+2))) and not like m^(d/2). With few rows the factor in front outweighs that; there the
bound of one level is the smaller one, and one level is taken.
"""

import math

import numpy as np

from discreet.core import FloatArray, IntArray
from discreet.synopses.grid.rules import as_continuous, numbers, rising_root, rugnik_bound, rugnik_root

#: Beyond this ε a count has no noise worth a rule, and its variance underflows.
CLEAR = 100.0


def nested_bound(m: float, first: float, share: float, n: float, epsilon: float, d: int, k: int) -> float:
    """Return F: of ``m``^d cells in two levels, the first of ``first`` parts per axis, without its factor d r²/K.

    Examples
    --------
    >>> nested_bound(40, 7, 0.5, 1e4, 1.0, 2, 2) < rugnik_bound(23, 1e4, 1.0, 2, 2)
    True
    """
    side = math.pow(k, 1 / d)
    inner, outer = nested_noise(first, first**d, share, epsilon, d, side)
    return math.sqrt(inner * math.pow(m, d) + outer) + 2 / m * math.sqrt(n / 3) / side + n / (3 * m * m)


def nested_root(q: float, first: float, share: float, epsilon: float, d: int, k: int, cells: float = 0.0) -> float:
    """Return the m that minimises F for ``q`` rows, evened out; ``cells`` is M1, where it is not ``first``^d.

    Examples
    --------
    >>> round(nested_root(1e4, 7, 0.5, 1.0, 2, 2), 1)
    39.7
    """
    side = math.pow(k, 1 / d)
    inner, outer = nested_noise(first, cells or first**d, share, epsilon, d, side)
    slope, offset = 2 * math.sqrt(q / 3) / side, 2 * q / 3

    def negative(m: float) -> bool:
        power = d * math.log(m)
        under = np.logaddexp(math.log(inner) + power, math.log(outer))
        return bool(math.log(inner * d / 2) + power + 2 * math.log(m) - under / 2 < math.log(slope * m + offset))

    return rising_root(negative)


def nested_first(n: float, epsilon: float, d: int, k: int) -> int:
    """Return the parts per axis of the first level; 1 where the bound of one level is smaller.

    Examples
    --------
    >>> nested_first(1e5, 1.0, d=2, k=8), nested_first(1e5, 1.0, d=4, k=8), nested_first(1000, 0.1, d=2, k=8)
    (18, 6, 1)
    """
    n, epsilon, d, k = numbers(n, min(epsilon, CLEAR), d, k)
    side, share = math.pow(k, 1 / d), 2 / (d + 2)
    # F along the best m1 and α for each m: C m^p + (2/m) √(n/3)/κ + n/(3 m²).
    power, start = d * d / (2 * d + 4), 32 * side**2 / (3 * d**4)
    log_c = math.log(math.sqrt(2) / as_continuous(epsilon) / side**2) + 1.5 * math.log1p(d / 2)
    log_c += d / (2 * d + 4) * math.log(start)
    slope, offset = 2 * math.sqrt(n / 3) / side, 2 * n / 3
    m = rising_root(lambda m: math.log(power) + log_c + (power + 2) * math.log(m) < math.log(slope * m + offset))
    low = max(1, math.floor((start * math.pow(m, d)) ** (1 / (d + 2))))

    def bound(first: int) -> float:
        return nested_bound(nested_root(n, first, share, epsilon, d, k), first, share, n, epsilon, d, k)

    best = min((low, low + 1), key=bound)
    like = as_continuous(epsilon)
    return best if bound(best) < rugnik_bound(rugnik_root(n, like, d, k), n, like, d, k) else 1


def nested_parts(rows: FloatArray, first: float, epsilon: float, d: int, k: int, max_cells: int) -> IntArray:
    """Return the parts per axis of every cell of the first level.

    Parameters
    ----------
    rows : array
        Noisy rows of these cells, none negative.
    first : float
        Parts per axis of the first level, on axes that are cut again.
    epsilon : float
        Budget of both levels.
    d, k : int
        Axes that are cut again, and clusters.
    max_cells : int
        Limit of all parts.

    Examples
    --------
    >>> nested_parts(np.array([4000.0, 500.0, 0.0, 0.0]), 2, 1.0, 2, 2, 2**20).tolist()
    [11, 7, 1, 1]
    """
    thinned = float(np.sum(rows ** (d / (d + 2))))
    if thinned <= 0:
        return np.ones(len(rows), np.int64)
    q = math.pow(thinned, (d + 2) / d) / first**2
    m = nested_root(q, first, 2 / (d + 2), min(epsilon, CLEAR), d, k, len(rows))
    rate = math.pow(math.pow(m, d) / thinned, (d + 2) / d)
    while True:
        weight = rate * rows
        low = np.maximum(np.floor(weight ** (1 / (d + 2))), 1.0)
        # Of the two whole numbers the one with the smaller m_g^d + (d/2) c t_g/m_g²: its derivative is that of F.
        costs = [p**d + d / 2 * weight / p**2 for p in (low, low + 1)]
        parts = low + (costs[1] < costs[0])
        if parts.max() == 1 or float((parts**d).sum()) <= max_cells:
            whole: IntArray = parts.astype(np.int64)
            return whole
        rate /= 1.25


def nested_noise(first: float, cells: float, share: float, epsilon: float, d: int, side: float) -> tuple[float, float]:
    """Return s2² φ and s1² M1/κ⁴: S is the first times all cells, and the second.

    Examples
    --------
    >>> [round(part, 3) for part in nested_noise(4, 16, 0.5, 1.0, 2, 2.0)]
    [0.083, 7.835]
    """
    own, rest = (2 / as_continuous(part * epsilon) ** 2 for part in (share, 1 - share))
    spread = min(side**-4, 4 / (3 * d * first**2 * side**2) + 4 / (45 * d * first**4))
    return rest * spread, own * cells / side**4
