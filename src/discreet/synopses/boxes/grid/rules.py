"""Published rules for the number of parts per axis of a grid, as pure functions of public or noisy numbers.

RUGNIK minimises a bound on the change of the k-means objective, h(m) = √2 m^(d/2) / (ε K^(2/d)) + (2/m) √(N/3) /
K^(1/d) + N/(3 m²): noise of m^d cells against rows moved to the centres of their cells. EUGkM takes m = (N
ε/θ)^(2/(2+d)). N is noisy or declared, never the true number of rows.
"""

import math
from collections.abc import Callable, Sequence

from discreet.core import Categorical, Column, Domain, checks
from discreet.errors import InvalidArgument
from discreet.noise import fingerprint

#: θ of EUGkM: rows per cell that outweigh the noise of a count, times ε.
THETA = 10.0
#: Of e, in doubles.
_LARGEST_EXPONENT = 709.0
#: A public key that breaks ties between axes by name instead of order.
_TIE_KEY = 0x6178_6573


def rugnik(n: float, epsilon: float, d: int, k: int, *, guard: bool = True) -> int:
    """Return the parts per axis of RUGNIK: of the two whole numbers around the root, the one with the smaller bound.

    ``n`` counts as at least 1. With ``guard`` the grid has at least k cells, even if the bound needs fewer.
    """
    n, epsilon, d, k = numbers(n, epsilon, d, k)
    root = rugnik_root(n, epsilon, d, k)
    low = max(1, math.floor(root))
    best = min((low, low + 1), key=lambda m: rugnik_bound(m, n, epsilon, d, k)) if root > low else low
    return max(best, least_parts(k, d)) if guard else best


def rugnik_root(n: float, epsilon: float, d: int, k: int) -> float:
    """Return the real minimiser of the bound: the positive root of m^(d/2+2) - ηγ K^(1/d) m - η(1-γ) K^(2/d).

    It is convex, negative at 0 and grows beyond all bounds, so halving an interval finds it.
    """
    n, epsilon, d, k = numbers(n, epsilon, d, k)
    side = k ** (1 / d)
    slope = 2 * math.sqrt(2) * epsilon / d * math.sqrt(n / 3) * side
    offset = 2 * math.sqrt(2) * epsilon / d * n / 3 * side * side

    def negative(m: float) -> bool:
        # In logarithms: the power overflows in hundreds of dimensions.
        return (d / 2 + 2) * math.log(m) < math.log(slope * m + offset)

    return rising_root(negative)


def rising_root(negative: Callable[[float], bool]) -> float:
    """Return the one positive place up to which a function is negative, by halving an interval."""
    low, high = 0.0, 1.0
    while negative(high):
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if negative(middle) else (low, middle)
    return high


def rugnik_bound(m: float, n: float, epsilon: float, d: int, k: int) -> float:
    """Return h(m), the bound that RUGNIK minimises, without its factor d r²/K."""
    side = math.pow(k, 1 / d)
    try:
        noise = math.sqrt(2) * math.pow(m, d / 2) / (epsilon * side * side)
    except OverflowError:
        noise = math.inf
    return noise + 2 / m * math.sqrt(n / 3) / side + n / (3 * m * m)


def eugkm(n: float, epsilon: float, d: int) -> int:
    """Return the parts per axis of EUGkM, (n ε/θ)^(2/(2+d)) to the nearest whole number; at least 1."""
    n, epsilon, d, _ = numbers(n, epsilon, d, 1)
    return max(1, _nearest(min(_power(n * epsilon / THETA, 2 / (2 + d)), 2.0**62)))


def first_level(n: float, epsilon: float, d: int) -> int:
    """Return the parts per axis of the first level of an adaptive grid."""
    n, epsilon, d, _ = numbers(n, epsilon, d, 1)
    return max(1, _floor_root(100, d), _nearest(16 ** (-1 / d) * (n * epsilon / THETA) ** (2 / (2 + d))))


def second_level(count: float, epsilon: float, d: int, c2: float) -> int:
    """Return the parts per axis of the second level in a cell with this noisy count; 1 if it is not positive.

    Rounded up, as published in two dimensions, unless that would give more than four times the cells asked for.
    """
    wanted = max(1.0, math.pow(max(count, 0.0) * epsilon / c2, 2 / (2 + d)))
    return math.ceil(wanted) if math.ceil(wanted) ** d <= 4 * math.pow(wanted, d) else math.floor(wanted)


def least_parts(k: int, d: int) -> int:
    """Return the smallest m with m^d >= k, exactly."""
    m = _floor_root(k, d)
    return m if m**d >= k else m + 1


def axis_parts(
    rule: Callable[[float, int, int], int],
    domain: Domain,
    *,
    n: float,
    epsilon: float,
    k: int,
    max_cells: int,
    most_cells: int = 2**63 - 1,
) -> tuple[int, ...]:
    """Apply a rule for equal axes to a domain: categories, many axes, a limit of cells.

    - A categorical axis has one cell per category. Both rules weigh a noise that grows like √M/ε with M cells, so with
      C combinations of categories they are asked with ε/√C, and for as many clusters as are left to a combination.
    - Numeric axes get equally many parts. With fewer than two each (many axes, few rows), or two with less than a
      quarter of θ/ε rows per cell, floor(log2 x) axes are cut in two, x = n ε/θ, in the order of a public hash of
      names.
    - There are at least k cells, and at most ``max_cells`` (``most_cells`` if categories and cells for missing values
      alone exceed that). ε = ∞ asks for that limit.

    ``rule(epsilon, d, k)`` gives parts per axis; ``n`` is a noisy or public number of rows.
    """
    fixed = {c.name: len(c.categories) for c in domain if isinstance(c, Categorical)}
    combinations = n_combinations(domain)
    free = [c for c in domain if c.name not in fixed]
    if not free:
        return tuple(fixed.values())
    d, clusters = len(free), -(-k // combinations)
    room = max(1, max_cells // combinations)
    # Cells for missing values come on top. Where they alone are too many, the grid lists survivors in any case.
    limit = room if _n_cells([1] * d, free) <= room else most_cells // combinations
    most = _floor_root(room, d)
    wanted = most if epsilon == math.inf else rule(epsilon / math.sqrt(combinations), d, clusters)
    carried = n * epsilon / combinations / THETA
    # Two parts that came about by rounding 1.6 up are far too many cells in twenty dimensions.
    few = wanted < 2 or (wanted == 2 and 2**d > 4 * carried)
    wanted = min(1 if few else wanted, most)
    if wanted < 2 and 2**d >= clusters:
        order = sorted(range(d), key=lambda j: int(fingerprint([free[j].name], _TIE_KEY)[0]))
        halved = min(max(_log2(carried), (clusters - 1).bit_length()), max(1, room).bit_length() - 1)
        parts = [2 if j in order[:halved] else 1 for j in range(d)]
        while halved and _n_cells(parts, free) > limit:
            halved -= 1
            parts[order[halved]] = 1
    else:
        wanted = max(wanted, least_parts(clusters, d))
        while wanted > 1 and _n_cells([wanted] * d, free) > room:
            wanted -= 1
        parts = [wanted] * d
    numeric = iter(parts)
    return tuple(fixed[c.name] if c.name in fixed else next(numeric) for c in domain)


def n_combinations(domain: Domain) -> int:
    """Return how many combinations of categories there are."""
    return math.prod(len(c.categories) + (c.missing == "own") for c in domain if isinstance(c, Categorical))


def _n_cells(parts: Sequence[int], columns: Sequence[Column]) -> int:
    return math.prod(p + (c.missing == "own") for p, c in zip(parts, columns, strict=True))


def _log2(x: float) -> int:
    return max(0, math.floor(math.log2(x))) if 1 <= x < math.inf else (0 if x < 1 else 62)


def _floor_root(x: int, d: int) -> int:
    """Return the largest whole m with m^d <= x."""
    m = max(1, int(x ** (1 / d)))
    while (m + 1) ** d <= x:
        m += 1
    while m > 1 and m**d > x:
        m -= 1
    return m


def _power(x: float, exponent: float) -> float:
    """Return x to a power; infinity where that is more than a double holds."""
    return math.pow(x, exponent) if exponent * math.log(x) < _LARGEST_EXPONENT else math.inf


def _nearest(x: float) -> int:
    return math.floor(x + 0.5)


def numbers(n: float, epsilon: float, d: int, k: int) -> tuple[float, float, int, int]:
    """Return the numbers that a rule goes by, checked; rows are at least one."""
    rows = max(1.0, checks.finite("n", n))
    budget = float(checks.budget("epsilon", epsilon))
    if math.isinf(budget):
        raise InvalidArgument("epsilon", epsilon, "finite: without noise no grid is too fine", "a number of parts")
    return rows, budget, checks.whole("d", d, low=1), checks.whole("k", k, low=1)
