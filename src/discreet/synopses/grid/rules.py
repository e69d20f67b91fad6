"""How many parts a grid should have per axis: published rules, as pure functions of public or noisy numbers.

RUGNIK (spec optimal-grid 2, 3.1) minimises a bound on the change of the k-means objective,

    h(m) = √2 m^(d/2) / (ε K^(2/d)) + (2/m) √(N/3) / K^(1/d) + N/(3 m²):

noise of M = m^d cells against rows moved to the centres of their cells. EUGkM (spec partition-synopsis 2.6, 3.13) takes
m = (N ε/θ)^(2/(2+d)). Neither may see the true number of rows: N is noisy or declared (9.8).
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
#: A public key that breaks ties between axes by their names instead of their order.
_TIE_KEY = 0x6178_6573


def rugnik(n: float, epsilon: float, d: int, k: int, *, guard: bool = True) -> int:
    """Return the parts per axis of RUGNIK: of the two whole numbers around the root, the one with the smaller bound.

    Parameters
    ----------
    n : float
        Noisy or public number of rows; taken as at least 1.
    epsilon : float
        Budget of the cells.
    d : int
        Number of axes.
    k : int
        Number of clusters.
    guard : bool, default True
        Whether the grid has at least k cells even where the bound would do with fewer.

    Examples
    --------
    >>> rugnik(5000, 0.1, d=2, k=15)
    16
    """
    n, epsilon, d, k = numbers(n, epsilon, d, k)
    root = rugnik_root(n, epsilon, d, k)
    low = max(1, math.floor(root))
    best = min((low, low + 1), key=lambda m: rugnik_bound(m, n, epsilon, d, k)) if root > low else low
    return max(best, least_parts(k, d)) if guard else best


def rugnik_root(n: float, epsilon: float, d: int, k: int) -> float:
    """Return the real minimiser of the bound.

    It is the one positive root of ξ(m) = m^(d/2+2) - ηγ K^(1/d) m - η(1-γ) K^(2/d). ξ is convex,
    negative at 0 and grows beyond all bounds, so halving an interval finds it.

    Examples
    --------
    >>> round(rugnik_root(1600, 1.0, d=2, k=8), 4)
    19.8924
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
    """Return the one positive place up to which a function is negative, by halving an interval.

    Examples
    --------
    >>> round(rising_root(lambda m: m * m < 2), 6)
    1.414214
    """
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
    """Return h(m), the bound that RUGNIK minimises, without its factor d r²/K.

    Examples
    --------
    >>> rugnik_bound(20, 1600, 1.0, 2, 8) < rugnik_bound(19, 1600, 1.0, 2, 8)
    True
    """
    side = math.pow(k, 1 / d)
    try:
        noise = math.sqrt(2) * math.pow(m, d / 2) / (epsilon * side * side)
    except OverflowError:
        noise = math.inf
    return noise + 2 / m * math.sqrt(n / 3) / side + n / (3 * m * m)


def rugnik_range(n: float, d: int, k: int) -> tuple[float, float]:
    """Return ε_0 and ε_1, between which Theorem 2 bounds the optimal number of cells from below and above.

    Above ε_0 the optimal grid has more than k cells.

    Examples
    --------
    >>> [round(e, 4) for e in rugnik_range(100, d=2, k=2)]
    [0.0256, 15.396]
    """
    n, _, d, k = numbers(n, 1.0, d, k)
    low = 3 * d * math.sqrt(k) / (2 * math.sqrt(2) * n) / (1 + math.sqrt(3 / n))
    return low, math.sqrt(2) * d / 3 * math.sqrt(k) * _power(4 * n / 3, d / 4)


def rugnik_cells(n: float, epsilon: float, d: int, k: int) -> tuple[float, float]:
    """Return Theorem 2's bounds on the number of cells of the optimal grid, as numbers; NaN where they do not hold.

    From below (η K^(2/d))^(2d/(4+d)) for ε > ε_0, from above (2√2 N ε K^(2/d) / d)^(2d/(4+d)) for ε <= ε_1, with η =
    (2√2 N ε / 3d)(1 + √(3/N)) and ε_0, ε_1 of `rugnik_range`. For large N the optimum is near the first.

    Examples
    --------
    >>> [round(m, 3) for m in rugnik_cells(1600, 1.0, d=2, k=8)], round(rugnik_root(1600, 1.0, d=2, k=8) ** 2, 3)
    ([340.938, 689.419], 395.707)
    """
    n, epsilon, d, k = numbers(n, epsilon, d, k)
    lowest, highest = rugnik_range(n, d, k)
    upper = 2 * math.sqrt(2) * n * epsilon / d * k ** (2 / d)
    lower = upper / 3 * (1 + math.sqrt(3 / n))
    found = [_power(x, 2 * d / (4 + d)) for x in (lower, upper)]
    return found[0] if epsilon > lowest else math.nan, found[1] if epsilon <= highest else math.nan


def as_continuous(epsilon: float) -> float:
    """Return the ε at which continuous Laplace noise varies as discrete noise does at this one: 2 sinh(ε/2).

    The variance is 2/ε² of the one and 2α/(1 - α)², α = e^-ε, of the other. Put in the place of ε it makes the bounds
    and the root of this module those for the noise that is drawn; below ε = 1 they move by less than 5 %, and the
    rules, which are the published ones, leave it out.

    Examples
    --------
    >>> round(as_continuous(1.0), 4), round(as_continuous(0.1), 4)
    (1.0422, 0.1)
    """
    half = float(checks.positive("epsilon", epsilon)) / 2
    return 2 * math.sinh(half) if half < _LARGEST_EXPONENT else math.inf


def eugkm(n: float, epsilon: float, d: int, theta: float = THETA) -> int:
    """Return the parts per axis of EUGkM, (n ε/θ)^(2/(2+d)) to the nearest whole number; at least 1.

    Published experiments round differently; `GridSynopsis` takes any number of parts as its ``rule``.

    Examples
    --------
    >>> eugkm(5000, 1.0, d=2)
    22
    """
    n, epsilon, d, _ = numbers(n, epsilon, d, 1)
    theta = float(checks.positive("theta", theta))
    return max(1, _nearest(min(_power(n * epsilon / theta, 2 / (2 + d)), 2.0**62)))


def first_level(n: float, epsilon: float, d: int, c: float = 10.0) -> int:
    """Return the parts per axis of the first level of an adaptive grid (spec partition-synopsis 3.14).

    Examples
    --------
    >>> first_level(100_000, 1.0, d=2), first_level(100_000, 1.0, d=9)
    (25, 4)
    """
    n, epsilon, d, _ = numbers(n, epsilon, d, 1)
    return max(1, _floor_root(100, d), _nearest(16 ** (-1 / d) * (n * epsilon / c) ** (2 / (2 + d))))


def second_level(count: float, epsilon: float, d: int, c2: float = 5.0) -> int:
    """Return the parts per axis of the second level in a cell with this noisy count; 1 if it is not positive.

    Rounded up, as published in two dimensions, unless that would give more than four times the cells asked for.

    Examples
    --------
    >>> second_level(1000, 0.5, d=2), second_level(-3, 0.5, d=2)
    (10, 1)
    """
    wanted = max(1.0, math.pow(max(count, 0.0) * epsilon / c2, 2 / (2 + d)))
    return math.ceil(wanted) if math.ceil(wanted) ** d <= 4 * math.pow(wanted, d) else math.floor(wanted)


def least_parts(k: int, d: int) -> int:
    """Return the smallest m with m^d >= k, exactly.

    Examples
    --------
    >>> least_parts(8, 3), least_parts(9, 3)
    (2, 3)
    """
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
    units: bool = False,
    most_cells: int = 2**63 - 1,
) -> tuple[int, ...]:
    """Apply a rule for equal axes to a domain: categories, unequal ranges, many axes, a limit of cells.

    - A categorical axis has one cell per category. With C combinations of categories the grid has M = C m^d cells over
      the d numeric axes. Both rules weigh a noise that grows like √M/ε, so they are asked with ε/√C, and for as many
      clusters as are left to a combination.
    - Axes are scaled to their declared ranges and get equally many parts. With ``units`` they share a unit instead:
      parts are in proportion to widths, their product about the same.
    - Fewer than two parts per axis (many axes, few rows), or two with less than a quarter of θ/ε rows per cell:
      floor(log2 x) axes are cut in two, x = n ε/θ (9.8), the widest first, equal ones in the order of a public hash of
      their names.
    - There are at least k cells, whatever the rule says.
    - With more than ``max_cells`` cells the parts are lowered until they fit. ε = ∞ asks for that limit.

    Parameters
    ----------
    rule : callable
        ``rule(epsilon, d, k)`` gives parts per axis.
    domain : Domain
        The columns.
    n, epsilon : float
        Noisy or public number of rows, and the budget of the cells.
    k : int
        Number of clusters.
    max_cells : int
        Limit of the product.
    units : bool
        Whether numeric axes share one unit of length.
    most_cells : int
        Limit of the product where categories and cells for missing values alone exceed ``max_cells``.

    Examples
    --------
    >>> domain = Domain({"x": (0, 30), "y": (0, 10), "sex": ["f", "m"]})
    >>> axis_parts(lambda e, d, k: rugnik(5000, e, d, k), domain, n=5000, epsilon=1.0, k=4, max_cells=2**20)
    (16, 16, 2)
    >>> axis_parts(lambda e, d, k: rugnik(5000, e, d, k), domain, n=5000, epsilon=1.0, k=4, max_cells=2**20, units=True)
    (28, 9, 2)
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
    widths = [c.high - c.low for c in free] if units else [1.0] * d
    most = _floor_root(room, d)
    wanted = most if epsilon == math.inf else rule(epsilon / math.sqrt(combinations), d, clusters)
    carried = n * epsilon / combinations / THETA
    # Two parts that came about by rounding 1.6 up are far too many cells in twenty dimensions.
    few = wanted < 2 or (wanted == 2 and 2**d > 4 * carried)
    wanted = min(1 if few else wanted, most)
    if wanted < 2 and 2**d >= clusters:
        order = sorted(range(d), key=lambda j: (-widths[j], int(fingerprint([free[j].name], _TIE_KEY)[0])))
        halved = min(max(_log2(carried), (clusters - 1).bit_length()), max(1, room).bit_length() - 1)
        parts = [2 if j in order[:halved] else 1 for j in range(d)]
        while halved and _n_cells(parts, free) > limit:
            halved -= 1
            parts[order[halved]] = 1
    else:
        wanted = max(wanted, least_parts(clusters, d))
        parts = _proportional(wanted, widths)
        while wanted > 1 and _n_cells(parts, free) > room:
            wanted -= 1
            parts = _proportional(wanted, widths)
        while max(parts) > 1 and _n_cells(parts, free) > limit:  # axes of very unequal widths
            parts[parts.index(max(parts))] = (max(parts) + 1) // 2
    numeric = iter(parts)
    return tuple(fixed[c.name] if c.name in fixed else next(numeric) for c in domain)


def n_combinations(domain: Domain) -> int:
    """Return how many combinations of categories there are.

    Examples
    --------
    >>> n_combinations(Domain({"x": (0, 30), "sex": ["f", "m"], "town": ["A", "B", "C"]}))
    6
    """
    return math.prod(len(c.categories) + (c.missing == "own") for c in domain if isinstance(c, Categorical))


def _n_cells(parts: Sequence[int], columns: Sequence[Column]) -> int:
    return math.prod(p + (c.missing == "own") for p, c in zip(parts, columns, strict=True))


def _proportional(parts: int, widths: Sequence[float]) -> list[int]:
    """Divide axes in proportion to their widths, their geometric mean into that many parts."""
    mean = math.exp(sum(map(math.log, widths)) / len(widths))
    return [max(1, _nearest(parts * w / mean)) for w in widths]


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
    """Return the numbers that a rule goes by, checked; rows are at least one.

    Examples
    --------
    >>> numbers(0, 0.5, 2, 8)
    (1.0, 0.5, 2, 8)
    """
    rows = max(1.0, checks.finite("n", n))
    budget = float(checks.budget("epsilon", epsilon))
    if math.isinf(budget):
        raise InvalidArgument("epsilon", epsilon, "finite: without noise no grid is too fine", "a number of parts")
    return rows, budget, checks.whole("d", d, low=1), checks.whole("k", k, low=1)
