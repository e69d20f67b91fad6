"""The audited mechanisms of `discreet.noise`, each as the smallest release it is made for."""

import math
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from discreet import mechanisms, noise
from discreet.core import zcdp_to_epsilon
from discreet.errors import DiscreetWarning
from discreet.evaluation.audits.bit_patterns import BitPatterns
from discreet.evaluation.audits.neighbours import NeighbourPair
from discreet.evaluation.registry.mechanisms import AuditedMechanism

_CELLS, _CUTOFF, _SIGMA, _DELTA = 4, 1, 2, 0.01


def entries() -> Iterator[AuditedMechanism]:
    one = NeighbourPair("no one against one row", np.empty(0, np.int64), np.zeros(1, np.int64))
    many = NeighbourPair("many rows, one more", np.zeros(1000, np.int64), np.zeros(1001, np.int64))
    count = partial(_noisy, len, noise.discrete_laplace, 1)
    yield AuditedMechanism("noise.discrete_laplace", count, (one, many), 1.0, trials=20_000, tight=True)
    largest = NeighbourPair("no row, one of the largest value", np.empty(0, np.int64), np.array([3]))
    total = partial(_noisy, np.sum, noise.discrete_laplace, 6)
    yield AuditedMechanism("noise.discrete_laplace/sum", total, (largest,), 0.5, trials=20_000, tight=True)
    yield AuditedMechanism("noise.discrete_laplace/cells", _cells, (one,), 1.0, tight=True)
    level, count = zcdp_to_epsilon(1 / (2 * _SIGMA**2), _DELTA), partial(_noisy, len, noise.discrete_gaussian, _SIGMA)
    yield AuditedMechanism("noise.discrete_gaussian", count, (one,), level, _DELTA, trials=20_000)
    values = (NeighbourPair("first and last value", 0, 4), NeighbourPair("neighbouring values", 1, 2))
    yield AuditedMechanism("noise.randomized_response", _response, values, 2.0, trials=20_000, tight=True)
    yield from _choices()
    yield AuditedMechanism("noise.exceedances", _sparse, (one,), 1.0, trials=20_000)
    moved = NeighbourPair("all entries move", (0, 0, 0), (1, 1, 1))
    single = NeighbourPair("one entry moves", (0, 0, 0), (1, 0, 0))
    yield AuditedMechanism("noise.max_norm_laplace", _max_norm, (moved, single), 1.0, trials=10_000, tight=True)


def _choices() -> Iterator[AuditedMechanism]:
    """Yield the mechanisms that choose: by scores, among lines of a grid, among powers of two."""
    scores = NeighbourPair("one score of fifty moves", np.zeros(50), np.eye(50)[0])
    yield AuditedMechanism("noise.exponential", _exponential, (scores,), 1.0, batch=False, trials=2000)
    spread, ties = np.array([0.5, 0.5, 0.5, 0.25, 0.75]), np.full(5, 0.5)
    unit = (
        NeighbourPair("no one against one row at the end", np.empty(0), np.ones(1)),
        NeighbourPair("equal rows, one at the lower end", ties, np.append(ties, 0.0)),
        NeighbourPair("spread-out rows, one missing", spread, np.append(spread, np.nan)),
    )
    bits = BitPatterns()
    few: dict[str, Any] = {"batch": False, "trials": 400}
    yield AuditedMechanism(
        "noise.quantiles/median", partial(_quantiles, (0.5,), "auto"), unit, 1.0, features=bits, **few
    )
    thirds = (0.25, 0.5, 0.75)
    for method in ("joint", "recursive"):
        mechanism = partial(_quantiles, thirds, method)
        yield AuditedMechanism(f"noise.quantiles/{method}", mechanism, unit, 1.0, features=BitPatterns(3), **few)
    counts = NeighbourPair("one count is larger by 1", np.array([0, 2, 2, 0]), np.array([1, 2, 2, 0]))
    empty = NeighbourPair("no rows against one", np.zeros(4, np.int64), np.array([0, 0, 0, 1]))
    yield AuditedMechanism("noise.quantiles_from_counts", _from_counts, (counts, empty), 2.0, **few)
    cells = NeighbourPair("one more row in the first cell", np.array([1, 1, 2, 2]), np.array([1, 1, 2, 2, 0]))
    nobody = NeighbourPair("no rows against one", np.empty(0, np.int64), np.array([3]))
    yield AuditedMechanism("noise.quantiles/cuts of cells", _cuts, (cells, nobody), 2.0, batch=False, trials=1000)
    pairs = (
        NeighbourPair("no one against one row", np.empty(0), np.array([3.0])),
        NeighbourPair("equal rows, one far out", np.full(6, 0.75), np.append(np.full(6, 0.75), -1e9)),
        NeighbourPair("equal rows, one missing", np.full(6, 0.75), np.append(np.full(6, 0.75), np.nan)),
    )
    yield AuditedMechanism("private_bounds", _bounds, pairs, 2.0, **few)
    none = (np.empty(0, np.int64), np.empty(0, np.int64))
    several = (np.array([0, 0, 1, 0, 1]), np.array([0, 1, 1, 2, 2]))
    more = tuple(np.append(part, new) for part, new in zip(several, ([0, 1, 2], [3, 3, 3]), strict=True))
    people = (
        NeighbourPair("no one against one person", none, (np.array([0, 1]), np.array([0, 0]))),
        NeighbourPair("three persons, one more with three words", several, more),
    )
    yield AuditedMechanism("private_categories", _categories, people, 1.0, _DELTA * 10, batch=False, trials=1000)


def _noisy(statistic: Any, draw: Any, scale: int, rows: Any, rng: Any, size: int) -> Any:
    return int(statistic(rows)) + draw(scale, size=size, rng=rng)


def _cells(rows: Any, rng: Any, size: int) -> Any:
    counts = np.bincount(rows, minlength=_CELLS)
    return counts + noise.discrete_laplace(1, size=(size, _CELLS), rng=rng)


def _response(value: int, rng: Any, size: int) -> Any:
    return noise.randomized_response(np.full(size, value), n_values=5, epsilon=2, rng=rng)


def _sparse(rows: Any, rng: Any, size: int) -> Any:
    """Return a histogram whose empty cells are drawn together; noisy counts up to the cutoff are 0."""
    stream = noise.generator(rng)
    counts = np.bincount(rows, minlength=_CELLS)
    occupied = np.flatnonzero(counts)
    noisy = counts[occupied] + noise.discrete_laplace(1, size=(size, len(occupied)), rng=stream)
    table = np.zeros((size, _CELLS), np.int64)
    table[:, occupied] = np.where(noisy > _CUTOFF, noisy, 0)
    empty = np.flatnonzero(counts == 0)
    places, drawn = noise.exceedances(1, _CUTOFF, size * len(empty), rng=stream)
    table[places // len(empty), empty[places % len(empty)]] = drawn
    return table


def _max_norm(vector: Any, rng: Any, size: int) -> Any:
    return np.asarray(vector) + noise.max_norm_laplace(1, len(vector), size, rng=rng)


def _exponential(scores: Any, rng: Any) -> int:
    return noise.exponential(scores, epsilon=1, span=1, rng=rng)


def _from_counts(counts: Any, rng: Any) -> Any:
    return noise.quantiles_from_counts(counts, [0.5], epsilon=2, low=0, high=4, rng=rng)


def _cuts(cells: Any, rng: Any) -> Any:
    return noise.choose_cuts(cells, [0.5], epsilon=2, start=0, stop=4, rng=rng)


def _bounds(values: Any, rng: Any) -> Any:
    low, high = mechanisms.private_bounds(values, epsilon=2, exponents=(-2, 3), beta=0.3, rng=rng)
    return [_finite(low), _finite(high)]


def _categories(rows: Any, rng: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)  # a small delta would show nothing in so few trials
        found = mechanisms.private_categories(*rows, epsilon=1, delta=_DELTA * 10, rng=rng)
    return [float(str(word) in found) for word in range(3)]


def _finite(number: float) -> float:
    return number if math.isfinite(number) else math.copysign(1e300, number)


def _quantiles(qs: tuple[float, ...], method: str, values: Any, rng: Any) -> Any:
    """Return quantiles of numbers from 0 to 1, on a grid of sixteen lines."""
    return noise.quantiles(values, qs, epsilon=1, low=0, high=1, method=method, bits=4, rng=rng)
