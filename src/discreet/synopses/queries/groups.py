"""Answers in tables: the distribution of one column, and counts by two or three, each with the parts of its error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import (
    Categorical,
    Code,
    Column,
    Date,
    FloatArray,
    Frames,
    Integer,
    category_text,
    date_array,
    time_array,
)
from discreet.synopses.queries.answers import Count, assumption, wide


@dataclass(frozen=True, eq=False, repr=False)
class Marginal(Frames):
    """The estimated distribution of one column.

    Attributes
    ----------
    edges, categories : array of float, or tuple
        Ends of the bins of a numeric column (one more than there are counts), or the categories; the other is None.
    counts, std_errors, noise_errors, evenness_errors : array of float
        Estimates, their standard errors, and the two parts of those; see `Figure`.
    missing : Count or None
        Rows whose value is missing, if the domain gives them a cell of their own.
    assumed : array of float or None
        The part of each count that comes from leaves that reach beyond the bin, whose rows are taken to lie evenly.
    divided : bool, default True
        False if the column was never cut: then the distribution is not known.
    unlisted : Count or None
        Rows in cells that the synopsis does not list; they are in none of the counts.

    Examples
    --------
    >>> Marginal("sex", None, ("f", "m"), np.array([3.0, 4.0]), np.array([1.0, 1.0]), None).to_dict()["counts"]
    [3.0, 4.0]
    """

    column: str
    edges: FloatArray | None
    categories: tuple[Any, ...] | None
    counts: FloatArray
    std_errors: FloatArray
    missing: Count | None
    assumed: FloatArray | None = None
    divided: bool = True
    unlisted: Count | None = None
    noise_errors: FloatArray | None = None
    evenness_errors: FloatArray | None = None
    kind: str = "numeric"
    modelled: bool = False
    #: The last day of the bounds of a column of dates: it belongs to the last bin, if that ends there.
    last_day: float = np.inf

    def __post_init__(self) -> None:
        if self.noise_errors is None:
            object.__setattr__(self, "noise_errors", self.std_errors)
        for array in (self.edges, self.counts, self.std_errors, self.assumed, self.noise_errors, self.evenness_errors):
            if array is not None:
                array.setflags(write=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        axis: Sequence[Any] = list(self.categories) if self.categories is not None else _list(self.edges)
        none = [0.0] * len(self.counts)
        uneven = none if self.evenness_errors is None else _list(self.evenness_errors)
        return {
            "column": self.column,
            "edges" if self.categories is None else "categories": axis,
            "counts": _list(self.counts),
            "std_errors": _list(self.std_errors),
            "noise_errors": _list(self.noise_errors),
            f"{assumption(self.modelled)}_errors": uneven,
            "missing": None if self.missing is None else self.missing.to_dict(),
            "assumed": none if self.assumed is None else _list(self.assumed),
            "divided": self.divided,
            "unlisted": None if self.unlisted is None else self.unlisted.to_dict(),
        }

    def to_arrow(self) -> pa.Table:
        """Return one row per bin: its ends or category, the count, its error with both parts, a 95 % interval."""
        if self.categories is not None:
            place = {self.column: _named(self.categories)}
        else:
            assert self.edges is not None
            place = {f"{self.column}_from": pa.array(self.edges[:-1]), f"{self.column}_to": pa.array(self.edges[1:])}
        noise = self.std_errors if self.noise_errors is None else self.noise_errors
        uneven = np.zeros(len(self.counts)) if self.evenness_errors is None else self.evenness_errors
        return pa.table({**place, **_figures(self.counts, noise, uneven, self.modelled)})

    def _shown(self) -> pa.Table:
        """Return the same for eyes: both ends of a bin of whole numbers, days or times belong to it."""
        made = self.to_arrow()
        written = {"integer": lambda at: pa.array(at.astype(np.int64)), "date": date_array, "time": time_array}
        if self.edges is None or self.kind not in written:
            return made
        first = np.ceil(self.edges[:-1])
        last = np.maximum(np.ceil(self.edges[1:]) - 1, first)
        last[-1] += self.edges[-1] == self.last_day
        for i, (end, at) in enumerate((("from", first), ("to", last))):
            made = made.set_column(i, f"{self.column}_{end}", written[self.kind](at))
        return made

    def plot(self) -> Any:
        """Draw the counts with their 95 % intervals; Plotly must be installed."""
        from discreet.synopses.queries.plot import bars

        return bars(self)

    def __repr__(self) -> str:
        kind = "bins" if self.categories is None else "categories"
        text = f"{len(self.counts)} {kind}, {self.counts.sum():.6g} rows"
        if self.unlisted is not None:
            text += f" and about {self.unlisted.value:,.6g} in cells that are not listed"
        if not self.divided:
            text += "; not known: this column was not divided"
        return f"<Marginal of {self.column!r}: {text}>"


@dataclass(frozen=True, eq=False, repr=False)
class GroupTable(Frames):
    """Estimated counts by one, two or three columns.

    Attributes
    ----------
    columns : tuple of Column
        What is grouped by, as declared.
    bins : tuple of list of (low, high)
        The stretches of each column on its axis; category number i is the one from i to i + 1.
    counts, noise_errors, evenness_errors : array of float
        One axis per column.
    unlisted : Count or None
        Rows in cells that the synopsis does not list; they are in none of the counts.
    level : float
        Of the intervals of `to_arrow`.
    modelled : bool, default False
        As in `Marginal`.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.synopses import BoxSynopsis
    >>> s = BoxSynopsis(dc.Domain({"sex": ["f", "m"]}), lower=[[0], [1]], upper=[[1], [2]], weights=[60, 40],
    ...              variances=[4.0, 4.0], guarantee=dc.Guarantee("central"))
    >>> s.table("sex").to_arrow().select(["sex", "count", "std_error"]).to_pylist()[0]
    {'sex': 'f', 'count': 60.0, 'std_error': 2.0}
    """

    columns: tuple[Column, ...]
    bins: tuple[list[tuple[float, float]], ...]
    counts: FloatArray
    noise_errors: FloatArray
    evenness_errors: FloatArray
    unlisted: Count | None = None
    level: float = 0.95
    modelled: bool = False

    def __post_init__(self) -> None:
        for array in (self.counts, self.noise_errors, self.evenness_errors):
            array.setflags(write=False)

    @property
    def std_errors(self) -> FloatArray:
        """Standard errors, both parts together."""
        made: FloatArray = np.hypot(self.noise_errors, self.evenness_errors)
        return made

    def to_arrow(self) -> pa.Table:
        """Return one row per group: its ends or category, the count, its error with both parts, an interval.

        Rows without a value are a group with null in its place, where the synopsis has cells of their own for them.

        Both ends of a stretch of whole numbers or days belong to it.
        """
        index = np.indices(self.counts.shape).reshape(len(self.columns), -1)
        made: dict[str, pa.Array] = {}
        for column, bins, at in zip(self.columns, self.bins, index, strict=True):
            made |= places(column, [bins[i] for i in at])
        counts, noise, uneven = (array.ravel() for array in (self.counts, self.noise_errors, self.evenness_errors))
        return pa.table({**made, **_figures(counts, noise, uneven, self.modelled, self.level)})

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data, one list per column."""
        return dict(self.to_arrow().to_pydict())

    def __repr__(self) -> str:
        by = ", ".join(repr(c.name) for c in self.columns)
        return f"<GroupTable by {by}: {self.counts.size:,} groups, {self.counts.sum():,.6g} rows>"


def _figures(
    counts: FloatArray, noise: FloatArray, uneven: FloatArray, modelled: bool, level: float = 0.95
) -> dict[str, pa.Array]:
    error = np.hypot(noise, uneven)
    reach = wide(level) * error
    parts = {
        "count": counts, "std_error": error, "noise_error": noise,
        f"{assumption(modelled)}_error": uneven,
        "low": np.maximum(counts - reach, 0.0), "high": np.maximum(counts + reach, 0.0),
    }  # fmt: skip
    return {name: pa.array(np.asarray(values, dtype=np.float64)) for name, values in parts.items()}


def places(column: Column, bins: list[tuple[float, float]]) -> dict[str, pa.Array]:
    if isinstance(column, Categorical):
        return {column.name: _named([None if np.isnan(low) else column.categories[int(low)] for low, _ in bins])}
    low, high = np.array(bins, dtype=np.float64).reshape(-1, 2).T
    gone = np.isnan(low)
    low, high = np.nan_to_num(low, nan=column.low), np.nan_to_num(high, nan=column.high)
    if isinstance(column, Integer):
        if isinstance(column, Code):
            runs = zip((low + 0.5).astype(int).tolist(), (high - 0.5).astype(int).tolist(), gone, strict=True)
            return {
                column.name: pa.array([None if out else column.codes.label(a, b) for a, b, out in runs], pa.string())
            }
        made = [column.array(low + 0.5), column.array(high - 0.5)]
    elif isinstance(column, Date):
        # The last day of the bounds belongs to the bin that ends there, if no other begins there.
        last = np.where((high == column.high) & (high == high.max()), high, np.ceil(high) - 1)
        made = [date_array(np.minimum(np.ceil(low), last)), date_array(last)]
    else:
        made = [pa.array(low), pa.array(high)]
    ends = [pc.if_else(pa.array(gone), pa.scalar(None, x.type), x) for x in made]
    return {f"{column.name}_from": ends[0], f"{column.name}_to": ends[1]}


def place_text(column: Column, pair: tuple[float, float]) -> Any:
    """Return a category, or the ends of a stretch as the column writes them."""
    found = tuple(a[0].as_py() for a in places(column, [pair]).values())
    return found if len(found) > 1 else found[0]


def _named(categories: Sequence[Any]) -> pa.Array:
    same = len({type(c) for c in categories if c is not None}) <= 1
    return pa.array(list(categories) if same else [None if c is None else category_text(c) for c in categories])


def _list(array: FloatArray | None) -> list[float]:
    return [] if array is None else [float(x) for x in array]
