"""Neighbouring inputs on which mechanisms tend to fail."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import Categorical, Domain, FloatArray, checks
from discreet.errors import InvalidArgument
from discreet.noise.stream import root_of

FORMS = ("matrix", "column", "table")


@dataclass(frozen=True, eq=False)
class NeighbourPair:
    """Two inputs, ``data`` and ``neighbour``, that differ in one record; ``name`` says what is special about them.

    Examples
    --------
    >>> neighbour_pairs({"age": (0, 120)})[0]
    NeighbourPair('no one against one row in the middle')
    """

    name: str
    data: Any
    neighbour: Any

    def __repr__(self) -> str:
        return f"NeighbourPair({self.name!r})"


def neighbour_pairs(
    domain: Any, *, rows: int = 50, relation: str = "add", form: str = "matrix", random_state: object = 0
) -> list[NeighbourPair]:
    """Return pairs of neighbouring inputs that tend to show mistakes.

    An empty table against one row; a first, last or middle record among few, many, equal and spread-out rows; a record
    at the ends of the domain, on a line of the halving grid and just below it; a repeated record; records with missing
    values, out of bounds, and the only one of its category.

    Parameters
    ----------
    domain : Domain or mapping
        The declared columns.
    rows : int, default 50
        Rows of the larger inputs.
    relation : {"add", "replace"}
        Neighbours differ by one more row, or by the value of one row.
    form : {"matrix", "column", "table"}
        Inputs as arrays of shape (n, columns) in the domain's coordinates, as arrays of shape (n,) for a single column,
        or as Arrow tables.
    random_state : int, default 0
        Seed of the spread-out rows.

    Examples
    --------
    >>> pairs = neighbour_pairs({"age": (0, 120)}, rows=20, form="column")
    >>> len(pairs) > 10, pairs[0].data.tolist(), pairs[0].neighbour.tolist()
    (True, [], [60.0])
    """
    declared = domain if isinstance(domain, Domain) else Domain(domain)
    n = checks.whole("rows", rows, low=2, high=10**7)
    kind = checks.choice("relation", relation, ("add", "replace"))
    shape = checks.choice("form", form, FORMS)
    if shape == "column" and len(declared) != 1:
        raise InvalidArgument("form", form, "matrix or table for a domain of several columns", 'form="matrix"')
    found = []
    for name, base, record in _cases(declared, n, random_state):
        rows_of_both, one = _snapped(base, declared), _snapped(record[None], declared)
        first, second = rows_of_both, np.concatenate([rows_of_both, one])
        if kind == "replace":
            other = _snapped(declared.low[None], declared)
            if np.array_equal(other, one):
                other = _snapped(declared.high[None], declared)
            first = np.concatenate([rows_of_both, other])
        found.append(NeighbourPair(name, _as(first, declared, shape), _as(second, declared, shape)))
    return found


def _cases(domain: Domain, n: int, random_state: object) -> Iterator[tuple[str, FloatArray, FloatArray]]:
    """Yield the name, the rows of both inputs, and the record that only one has."""
    low, high = domain.low, domain.high
    middle = (low + high) / 2
    quarter = low + (high - low) / 4
    below = np.nextafter(quarter, low)
    nobody = np.empty((0, len(domain)))
    spread = low + (high - low) * _even(n, len(domain), random_state)
    ties = np.repeat(quarter[None], n, axis=0)
    ends = np.concatenate([np.repeat(low[None], n // 2, axis=0), np.repeat(high[None], n - n // 2, axis=0)])
    corner = np.repeat(low[None], n, axis=0)
    yield "no one against one row in the middle", nobody, middle
    yield "no one against one row at the lower end", nobody, low
    yield "no one against one row at the upper end", nobody, high
    yield "one row against two equal ones", middle[None], middle
    yield "equal rows, one more of them", ties, quarter
    yield "equal rows, one just below", ties, below
    yield "equal rows, one at the upper end", ties, high
    yield "all at the lower end, one at the upper end", corner, high
    yield "half at each end, one in the middle", ends, middle
    yield "half at each end, one more at the upper end", ends, high
    yield "spread-out rows, one at the upper end", spread, high
    yield "spread-out rows, one at the lower end", spread, low
    yield "spread-out rows, one on a grid line", spread, quarter
    yield "spread-out rows, one just below a grid line", spread, below
    yield "spread-out rows, a repeated one", spread, spread[0].copy()
    yield "spread-out rows, one far out of bounds", spread, high + 1000 * (high - low)
    yield "spread-out rows, one with missing values", spread, np.full(len(domain), np.nan)
    yield "no one against one row of missing values", nobody, np.full(len(domain), np.nan)
    for c, column in enumerate(domain):
        if isinstance(column, Categorical) and len(column.categories) > 1:
            others = spread.copy()
            others[:, c] = 0.5
            only = middle.copy()
            only[c] = len(column.categories) - 0.5
            yield f"the only row of a category of {column.name}", others, only


def _snapped(rows: FloatArray, domain: Domain) -> FloatArray:
    """Move coordinates of categories to the places of categories; missing and out-of-bounds values stay."""
    found = rows.copy()
    for c, column in enumerate(domain):
        if isinstance(column, Categorical):
            inside = (found[:, c] >= column.low) & (found[:, c] <= column.high)
            last = len(column.categories) - 1
            found[inside, c] = np.minimum(np.floor(found[inside, c]), last) + 0.5
    return found


def _even(n: int, d: int, random_state: object) -> FloatArray:
    """Return points that fill the unit cube evenly: a shifted lattice of irrational steps."""
    shift = (root_of(random_state) % 2**52) / 2**52
    steps = np.array([math.sqrt(p) % 1 for p in (2, 3, 5, 7, 11, 13, 17, 19)])
    table = np.outer(np.arange(1, n + 1), np.resize(steps, d) + np.arange(d) // 8 * 0.1234567) + shift
    return np.asarray(table % 1.0)


def _as(rows: FloatArray, domain: Domain, form: str) -> Any:
    if form == "matrix":
        return rows
    if form == "column":
        return rows[:, 0]
    columns = {}
    for column, values in zip(domain, rows.T, strict=True):
        if isinstance(column, Categorical):
            last = len(column.categories) - 1
            cells: Any = [
                None if math.isnan(v) else column.categories[int(min(max(v, 0), last))] for v in values.tolist()
            ]
            columns[column.name] = pa.array(cells, type=None if cells else pa.string())
        else:
            columns[column.name] = pa.array(values, from_pandas=True, type=pa.float64())
    return pa.table(columns)
