"""The fitness of a release: expected errors of counts by one and two columns, from the release alone.

The error of a table of counts is the sum of |count - truth| over its cells, as a share of all rows: the mean relative
error of a count, weighted by rows. Numbers are counted in `BINS` parts of their range or by levels, codes by prefix.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from discreet.core.arrays import BoolArray, FloatArray, IntArray
from discreet.core.columns.kinds import Categorical, Code, Column, even_edges
from discreet.core.columns.levels import lay_out
from discreet.core.columns.unit import Person
from discreet.core.output.figures import at_most
from discreet.core.output.html import Told

BINS = 8
#: Mean of the absolute value of normal noise, in standard deviations. That of Laplace noise is smaller.
MEAN_NOISE = float(np.sqrt(2 / np.pi))
#: A number of rows up to so many standard errors may be noise around zero. Laplace noise exceeds ln 50/√2 of them in
#: one draw of a hundred; sums of such noise do so more rarely.
EMPTY_UP_TO = math.log(50) / math.sqrt(2)
#: A factor on expected errors, so that stated ones are rarely exceeded; chosen on generated tables.
_SAFE = 1.25
#: Counts with a larger error are not worth reading. More columns, or pairs, than the second are not named.
_USABLE, _NAMED = 0.5, 3

Error = Callable[..., tuple[float, bool]]


@dataclass(frozen=True, eq=False, repr=False)
class Fitness(Told):
    """Errors of counts by two columns, of single ones on the diagonal; NaN if not known, at most 2. As text: one line.

    ``assumed`` marks pairs that were not measured, ``cause`` says what is wrong with counts that are not usable, and
    ``advice`` what to do about it.
    """

    columns: tuple[str, ...]
    errors: FloatArray
    assumed: BoolArray
    cause: str = "mostly noise"
    advice: str = ""

    @classmethod
    def measure(cls, columns: Sequence[str], error: Error, *more: str) -> "Fitness":
        """Ask for the expected error of every column (i) and pair (i, j), and if a model assumes it."""
        errors = np.full((len(columns), len(columns)), np.nan)
        assumed = np.zeros(errors.shape, bool)
        for places in [*((i,) for i in range(len(columns))), *combinations(range(len(columns)), 2)]:
            a, b = places[0], places[-1]
            errors[a, b], assumed[a, b] = error(*places)
            errors[b, a], assumed[b, a] = errors[a, b], assumed[a, b]
        return cls(tuple(columns), np.minimum(_SAFE * errors, 2.0), assumed, *more)

    def __str__(self) -> str:
        places = range(len(self.columns))
        alone = [((i,), float(self.errors[i, i])) for i in places]
        pairs = [(pair, float(self.errors[pair])) for pair in combinations(places, 2)]
        good = [*self._good(alone, "one column"), *self._good(pairs, "two columns")]
        good[:1] = [" are ".join(part.rsplit(" \0", 1)).replace("to ±", "good to ±", 1) for part in good[:1]]
        said = [f"Counts {', '.join(good)}".replace(" \0", " ")] if good else []
        poor = {i for (i,), error in alone if not error <= _USABLE}
        rest = [(pair, error) for pair, error in pairs if not poor & set(pair)]
        for word, kind, those in (
            (self.cause, "column", [where for where, error in alone if error > _USABLE]),
            (self.cause, "pair", [where for where, error in rest if error > _USABLE]),
            ("not known", "column", [where for where, error in alone if np.isnan(error)]),
            ("not known", "pair", [where for where, error in rest if np.isnan(error)]),
        ):
            if those:  # columns and pairs apart: one number of both is a number of nothing
                over = len(those) - _NAMED
                more = [f"{over:,} more {kind}{'s' * (over > 1)}"] if over > 0 else []
                *first, last = [*(" by ".join(self.columns[i] for i in where) for where in those[:_NAMED]), *more]
                said.append(f"{', '.join(first)} and {last} are {word}" if first else f"{last} is {word}")
        told = f"{'; '.join(said)}." if said else "Counts by columns are not known."
        return f"{told} {self.advice}" if self.advice and (self.errors > _USABLE).any() else told

    def _good(self, found: Sequence[tuple[tuple[int, ...], float]], kind: str) -> Iterator[str]:
        """Yield usable counts and their errors: by name, or the middle and the largest error if there are many."""
        usable = [(where, error) for where, error in found if error <= _USABLE]
        if len(found) <= _NAMED:
            yield from (f"by {' and '.join(self.columns[i] for i in where)} \0{_to(error)}" for where, error in usable)
        elif usable:
            errors = sorted(error for _, error in usable)
            middle, worst = _to(errors[len(errors) // 2]), _to(errors[-1]).removeprefix("to ")
            guessed = sum(bool(self.assumed[where[0], where[-1]]) for where, _ in usable)
            what = "columns" if kind == "one column" else "pairs"
            more = [f"{len(usable):,} of {len(found):,} {what}"] * (len(usable) < len(found))
            more += [f"largest expected error {worst}"] * (worst not in middle)
            more += [f"{guessed:,} not measured but modelled"] * (guessed > 0)
            yield f"by {kind} \0mostly {middle}" + (f" ({', '.join(more)})" if more else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the line and the errors as plain data; None for what is not known."""
        errors = [[float(error) if error == error else None for error in row] for row in self.errors]
        return {"line": str(self), "columns": list(self.columns), "errors": errors, "assumed": self.assumed.tolist()}


def error_percent(error: float) -> str:
    """Write the error of counts in percent, rounded up."""
    return f"{at_most(100 * error, 1) if error < 0.01 else math.ceil(100 * error - 1e-9)} %"


def _to(error: float) -> str:
    return f"to ±{error_percent(error)}" if error else "exact"


def _edges(column: Column) -> FloatArray:
    """Return the ends of the cells in which counts by a column of numbers are made."""
    tiers = {} if isinstance(column, (Categorical, Code)) or not column.levels else lay_out(column).tiers
    if not tiers:
        return even_edges(column, BINS)
    levels = [sorted(at for at, own in tiers.items() if own <= depth) for depth in sorted(set(tiers.values()))]
    chosen = max((cuts for cuts in levels if len(cuts) < BINS), key=len, default=levels[0])
    return np.array([column.low, *chosen, column.high])


def bin_of(column: Column, places: FloatArray) -> IntArray:
    """Return the bin in which counts by a column have each place; missing values come last."""
    named = isinstance(column, Categorical)
    edges = np.arange(column.low + 1, column.high) if named else _edges(column)[1:-1]
    return np.where(np.isnan(places), len(edges) + 1, np.searchsorted(edges, places, side="right"))


def cells_of(column: Column) -> int:
    """Return how many bins a column is counted in, with one for missing values where they have one."""
    own = len(column.categories) if isinstance(column, Categorical) else len(_edges(column)) - 1
    return own + (column.missing == "own")


def spread(column: Column, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what counts by a column make of rows that lie somewhere in stretches of it, taken to lie evenly.

    First Σ share² over the bins that a stretch covers: 1/m for m equal ones. Second the share of its rows that are
    counted in the right bin: more where a stretch is short, because neighbouring numbers are about equally frequent.
    """
    wide = np.nan_to_num(upper - lower)  # missing values have one place
    if isinstance(column, Categorical):
        squares: FloatArray = 1 / np.maximum(wide, 1.0)
        return squares, squares
    edges = _edges(column)
    shares = [np.clip(np.minimum(upper, b) - np.maximum(lower, a), 0.0, None) for a, b in pairwise(edges)]
    squares = np.where(wide > 0, np.sum(np.square(shares), axis=0) / np.where(wide > 0, wide, 1.0) ** 2, 1.0)
    near = 1.0 if isinstance(column, Code) else np.minimum(4 * wide / (column.high - column.low), 1.0)
    return squares, 1 - (1 - squares) * near


#: A number of rows that differs by more from a guess is doubtful, and a larger share of missing values.
_FAR, _MANY_MISSING = 0.2, 0.3
#: Numbers of fewer standard errors may be zero.
SURE = 2.0
CAUSES = (
    "Look at decimal and thousands marks (5.089,83), sheet of a workbook, header line, spelling of categories, and "
    'missing values: a row without a value in one column is left out unless the schema says missing = "own"'
)


def doubts(
    rows: float, variance: float, expected: float | None, missing: Mapping[str, tuple[float, float]], unit: Any = None
) -> tuple[str, ...]:
    """Return what looks wrong about a table by its noisy number of rows, and noisy missing values with variances.

    What noise alone explains is not doubtful. Rows of persons beyond their bound are not counted: half may be missing.
    """
    said, error = [], math.sqrt(variance)
    if expected is not None:
        least, most = expected * (0.5 if isinstance(unit, Person) else 1 - _FAR), expected * (1 + _FAR)
        if not least - EMPTY_UP_TO * error <= rows <= most + EMPTY_UP_TO * error:
            said.append(f"about {max(rows, 0.0):,.0f} rows were counted, but {expected:,.0f} were expected")
    for name, (value, spread) in missing.items():
        if value - EMPTY_UP_TO * math.sqrt(spread) > _MANY_MISSING * max(rows, 1.0):
            share = min(value / max(rows, 1.0), 1.0)
            said.append(f"about {100 * share:.0f} % of the values of {name!r} are missing or cannot be read")
    return tuple(said)


def readable_error(rows: float) -> float:
    """Return the standard error at which a column that is not read is ``SURE`` errors beyond what `doubts` allows."""
    return (1 - _MANY_MISSING) * rows / (EMPTY_UP_TO + SURE)
