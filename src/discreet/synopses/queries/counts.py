"""Questions to a synopsis: counts in boxes, and synthetic rows. All post-processing.

A query is a list of intervals for each axis (several, for a choice of categories), or None for an axis that is not
restricted. The share of a leaf inside is the product over the axes, as if its rows lay evenly in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet import noise
from discreet.core import (
    Box,
    Categorical,
    Column,
    Date,
    Domain,
    FloatArray,
    Integer,
    Intervals,
    Person,
    by_days,
    category_text,
    checks,
    date_array,
    stretches_by_name,
    stretches_of,
)
from discreet.errors import InvalidArgument, InvalidType
from discreet.synopses.queries.answers import Count
from discreet.synopses.queries.evenness import Query, Terms, shares

if TYPE_CHECKING:
    from discreet.synopses.synopsis import Synopsis

#: Synthetic coordinates are multiples of 2**-53 of the leaf's width, the resolution of a float.
STEPS = 2**53


def read_query(domain: Domain, box: object, columns: Mapping[str, Any]) -> Query:
    """Read what a user may ask for: a box, a mapping, names, or both of the latter."""
    if isinstance(box, Box):
        if len(box.lower) != len(domain):
            raise InvalidArgument("box", box, f"a box over the {len(domain)} columns of the domain", "{'age': (0, 50)}")
        free = np.isneginf(box.lower) & np.isposinf(box.upper)
        query: Query = {j: [(float(box.lower[j]), float(box.upper[j]))] for j in np.flatnonzero(~free).tolist()}
    elif box is None or isinstance(box, Mapping):
        query = {domain.position(n): stretches_by_name(domain.column(n), v) for n, v in (box or {}).items()}
    elif isinstance(box, str):
        raise InvalidType("box", box, "a Box or a mapping from column to bounds; a text is for ask", f"ask({box!r})")
    else:
        raise InvalidType("box", type(box), "a Box or a mapping from column to bounds", "{'age': (0, 50)}")
    for name, value in columns.items():
        position = domain.position(name)
        if position in query:
            raise InvalidArgument(name, value, "restricted once", f"count({name}=...) alone")
        query[position] = stretches_of(domain.column(name), value)
    return query


def answered(synopsis: Synopsis, queries: list[Query], note: str = "") -> Count:
    """Answer a question of a user; a note marks values outside the declared bounds, where nothing is certain."""
    found = added(synopsis, tuple((1.0, query) for query in queries))
    domain = synopsis.domain
    asked = [(axis, pairs) for query in queries for axis, pairs in _restricting(domain, query).items()]
    beyond = {axis for axis, pairs in asked if any(_outside(domain.columns[axis], pair) for pair in pairs)}
    notes = [note] if note else []
    for column in (domain.columns[axis] for axis in sorted(beyond)):
        ends = " to ".join(str(end).removesuffix(".0") for end in column.ends())  # type: ignore[union-attr]
        told = f"outside what is declared: values beyond the bounds of {column.name} ({ends}) were counted at the bound"
        notes.append(told)
    thin = sorted({domain.columns[axis].name for axis, pairs in asked if any(a == b for a, b in pairs)})
    empty = f"a stretch of {', '.join(thin)} without width holds no row: its upper end does not belong to it" * bool(
        thin
    )
    said = [found.note, empty, _used(synopsis)]
    if not notes:
        return replace(found, note="; ".join(filter(None, said))) if any(said[1:]) else found
    # A zero without an error would be a claim about rows that were not counted there.
    noisy = math.inf if found.value == found.std_error == 0 else found.noise_error
    return replace(found, noise_error=noisy, note="; ".join(filter(None, [*notes, *said])))


def _used(synopsis: Synopsis) -> str:
    """Say which rows are counted, where not all of a person's are."""
    unit = synopsis.domain.unit
    return unit.used if isinstance(unit, Person) else ""


def _outside(column: Column, pair: tuple[float, float]) -> bool:
    """Return whether nothing of a stretch lies inside the declared bounds."""
    beyond = pair[0] < pair[1] and (pair[1] <= column.low or pair[0] >= column.high)
    return beyond and not isinstance(column, Categorical)


def added(synopsis: Synopsis, terms: Terms) -> Count:
    """Answer a sum of queries; one that restricts nothing is answered by the total, the best estimate."""
    terms = tuple((c, _restricting(synopsis.domain, query)) for c, query in terms)
    asked = ((synopsis, terms),)
    everything = sum(c for c, query in terms if not query)
    possible = [(c, query) for c, query in terms if not synopsis._impossible(query)]
    if terms and not possible:
        return Count(
            0.0, 0.0, asked=asked, note="declared not to occur: rows that say otherwise were left out or moved"
        )
    parts = tuple((c, query) for c, query in possible if query)
    if not parts:
        spread = abs(everything) * math.sqrt(synopsis.total_variance)
        return Count(everything * synopsis.total, spread, asked=asked)
    covered = [shares(synopsis, query) for _, query in parts]
    whole = sum((c * f for (c, _), f in zip(parts, covered, strict=True)), np.zeros(synopsis.n_leaves))
    value, apart, within = float(whole @ synopsis.weights), 0.0, 0.0
    if everything:
        listed = float(np.sum(synopsis.weights))
        value += everything * synopsis.total
        if math.isclose(listed, synopsis.total, rel_tol=1e-9, abs_tol=1e-9):
            within = everything  # the total is the sum of the leaves, and shares their noise
        else:
            apart = everything**2 * synopsis.total_variance  # a noisy count of its own
    drawn, assumed = synopsis._answer_variances(parts, covered, whole + within, everything=within)
    noisy, uneven = math.sqrt(drawn + apart), math.sqrt(assumed)
    elsewhere = synopsis.unlisted
    more = 0.0
    if elsewhere is not None:
        # A column that no row can be in asks nothing of the cells that are not listed.
        met = [c for c, q in parts if c > 0 and all(any(not b <= a for a, b in intervals) for intervals in q.values())]
        more = max(elsewhere.value, 0.0) * max(met, default=0.0)
    return Count(value, noisy, uneven, more, asked, synopsis._note(parts), modelled=synopsis.modelled)


def estimated(synopsis: Synopsis, terms: Terms) -> float:
    """Return the value of a sum of queries alone; its errors take longer."""
    made = 0.0
    for c, query in terms:
        query = _restricting(synopsis.domain, query)
        made += c * (float(shares(synopsis, query) @ synopsis.weights) if query else synopsis.total)
    return made


def _restricting(domain: Domain, query: Query) -> Query:
    return {axis: intervals for axis, intervals in query.items() if not _covers(domain, axis, intervals)}


def _covers(domain: Domain, axis: int, intervals: Intervals) -> bool:
    """Return whether intervals leave out no row: all of the axis is in them, and no missing value has its own cell."""
    column = domain.columns[axis]
    if column.missing == "own":
        return False
    inside = sum(max(0.0, min(b, column.high) - max(a, column.low)) for a, b in intervals)
    return inside >= column.high - column.low


def sample(synopsis: Synopsis, n: int | None, rng: object) -> pa.Table:
    """Draw synthetic rows."""
    if n is None and "weight" in synopsis.guarantee.parameters and not synopsis.modelled:
        expected = "given: the counts are weighted, and the synopsis does not know how many rows there were"
        raise InvalidArgument("n", None, expected, "n=10000")
    known = synopsis.guarantee.parameters["n_rows"] if synopsis.domain.weights else synopsis.total
    n = max(round(known), 0) if n is None else checks.whole("n", n, high=2**40)
    stream = noise.generator(rng)
    low, high = synopsis.domain.low, synopsis.domain.high
    lower, upper = synopsis.lower, synopsis.upper
    if not synopsis.n_leaves:  # nothing survived: all that is known is the domain
        lower, upper = low[None], high[None]
    leaf = synopsis._choose(n, stream)
    place = noise.below(STEPS, size=(n, len(low)), rng=stream) / STEPS
    for j, column in enumerate(synopsis.domain.columns):
        if isinstance(column, Date):
            lower, upper = lower.copy(), upper.copy()
            lower[:, j], upper[:, j] = (by_days(column, ends[:, j]) for ends in (lower, upper))
    X = lower[leaf] + place * (upper[leaf] - lower[leaf])
    # Far from zero a sum is rounded up to the end, where the next cell begins and another fact may hold.
    X = np.where(lower[leaf] < upper[leaf], np.minimum(X, np.nextafter(upper[leaf], -np.inf)), X)
    return pa.table({c.name: _column(c, X[:, j]) for j, c in enumerate(synopsis.domain.columns)})


def _column(column: Column, x: FloatArray) -> pa.Array:
    gone = np.isnan(x)
    if isinstance(column, Integer):
        whole = np.clip(np.floor(np.where(gone, column.low, x) + 0.5), column.least, column.most)
        return column.array(np.where(gone, np.nan, whole))
    if isinstance(column, Date):
        return date_array(np.clip(np.floor(x + 0.5), column.low, column.high))
    if not isinstance(column, Categorical):
        return pa.array(np.clip(x, column.low, column.high), mask=gone)
    kinds = {type(c) for c in column.categories}
    names = list(column.categories) if len(kinds) == 1 else [category_text(c) for c in column.categories]
    codes = np.clip(np.floor(np.where(gone, 0.0, x)), 0, len(names) - 1).astype(np.int64)
    return pa.array(names).take(pa.array(codes, mask=gone))
