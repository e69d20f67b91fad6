"""Noisy answers as small frames: one row per group, with standard errors and intervals. Post-processing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import Frames, Guarantee, at_most, checks
from discreet.synopses.session.measures import Found


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Frames):
    """Noisy figures and how sure one can be: one number, or a frame with one row per group.

    Attributes
    ----------
    value : float or array
        The answer; by group, one per label, and with several quantiles one column for each. A query for several figures
        has a mapping from their names.
    std_error : as ``value``
        Standard deviation of the noise; for means, variances and quantiles an estimate.
    labels : list
        The groups: categories or ends of bins, a tuple of them for several columns; None for missing values.
    few : array of bool or None
        Groups whose noisy number of rows is below three times its noise: do not rely on them.
    guarantee : Guarantee
        What is promised, and what all of it cost.
    note : str
        Which rows are in no figure: those outside the bins, and those of persons that are not used; empty if none.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as dc
    >>> session = dc.QuerySession(np.arange(1000.0)[:, None], dc.Ledger(epsilon=1), domain=(0, 1000), random_state=1)
    >>> answer = session.count(epsilon=0.5)
    >>> answer
    Answer(999: 95 % interval 993 to 1005, epsilon 0.5)
    >>> answer.value, answer.interval(0.95)
    (999.0, (993.0, 1005.0))
    >>> session.count(by="x0", bins=[0, 100, 1000], epsilon=0.5).to_arrow().select(["x0_from", "estimate"]).to_pydict()
    {'x0_from': [0.0, 100.0], 'estimate': [99.0, 896.0]}
    """

    guarantee: Guarantee
    _found: Mapping[str, Found]
    _keys: Mapping[str, pa.Array] = field(default_factory=dict)
    #: The asked quantiles of figures that have several.
    _shares: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    note: str = ""

    @property
    def value(self) -> Any:
        return self._each(lambda found: found.value)

    @property
    def std_error(self) -> Any:
        return self._each(lambda found: found.std_error)

    @property
    def few(self) -> Any:
        marks = [found.few for found in self._found.values() if found.few is not None]
        return np.logical_or.reduce(marks) if marks else None

    @property
    def labels(self) -> list[Any]:
        held, columns = {name: array.to_pylist() for name, array in self._keys.items()}, []
        for name, values in held.items():
            if (other := f"{name.removesuffix('_from')}_to") in held and name.endswith("_from"):
                pairs = zip(values, held[other], strict=True)
                columns.append([None if low is None else (low, high) for low, high in pairs])
            elif not (name.endswith("_to") and f"{name.removesuffix('_to')}_from" in held):
                columns.append(values)
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return the ends of a confidence interval, of every number by itself; over the noise, the rows being fixed."""
        confidence = float(checks.probability("level", level))
        ends = {name: found.ends(confidence) for name, found in self._found.items()}
        low, high = ({name: self._shape(name, pair[side]) for name, pair in ends.items()} for side in (0, 1))
        return (low, high) if len(ends) > 1 else (next(iter(low.values())), next(iter(high.values())))

    def to_arrow(self, level: float = 0.95) -> pa.Table:
        """Return one row per group: its keys, estimate, standard error and interval, and if it has few rows.

        With several figures, the columns of each begin with its name. With several quantiles, a group has a row for
        each of them.
        """
        many = next(iter(self._shares.values()), ())
        size, times = self._size, max(len(many), 1)
        row, at = np.repeat(np.arange(size), times), np.tile(np.arange(times), size)
        made = {name: array.take(pa.array(row)) for name, array in self._keys.items()}
        if many:
            made["q"] = pa.array(np.tile(many, size))
        for name, found in self._found.items():
            labels = labels_of(name, len(self._found) == 1)
            for label, array in zip(labels, (found.value, found.std_error, *found.ends(level)), strict=True):
                made[label] = pa.array(array[row] if array.ndim == 1 else array[row, at])
        if self.few is not None:
            made["few"] = pa.array(self.few[row])
        return pa.table(made)

    def to_dict(self) -> dict[str, Any]:
        """Return the frame as plain data, one list per column, and what it cost."""
        return {**self.to_arrow().to_pydict(), "guarantee": self.guarantee.to_dict()}

    def __repr__(self) -> str:
        price = f"epsilon {at_most(self.guarantee.epsilon or 0.0)}"
        if self.guarantee.delta:
            price += f", delta {self.guarantee.delta:g}"
        if len(self._found) > 1:
            return f"Answer({', '.join(self._found)} of {len(self.labels) or 1:,} groups: {price})"
        value = self.value
        if not self._keys and np.ndim(value) == 0:
            low, high = self.interval()
            return f"Answer({value:.6g}: 95 % interval {low:.6g} to {high:.6g}, {price})"
        shown = [_text(row) for row in np.atleast_1d(value)]
        if self._keys:
            shown = [f"{_key(label)} {text}" for label, text in zip(self.labels, shown, strict=True)]
        more = f", {len(shown) - 4:,} more" if len(shown) > 4 else ""
        number = 0 if self.few is None or not self._keys else int(np.sum(self.few))
        marked = f"; {number:,} with few rows" if number else ""
        return f"Answer({', '.join(shown[:4])}{more}{marked}: {price})"

    def largest(self, k: int, grouped: bool) -> Answer:
        """Keep the largest figures, or those of each group, in falling order. Post-processing of all of them."""
        value = next(iter(self._found.values())).value
        groups: dict[Any, list[int]] = {}
        for i, label in enumerate(self.labels):
            groups.setdefault(label[:-1] if grouped else (), []).append(i)
        return self._taken([i for members in groups.values() for i in sorted(members, key=lambda i: -value[i])[:k]])

    def ordered(self, by: Sequence[tuple[str, bool]], most: int | None) -> Answer:
        """Sort the groups by keys or noisy figures, falling or not, and keep the first. Post-processing."""
        order = list(range(self._size))
        for name, falls in reversed(by):
            keys = self._keys.get(name, self._keys.get(f"{name}_from"))
            column = self._found[name].value.tolist() if name in self._found or keys is None else keys.to_pylist()
            ranks: list[Any] = [(1,) if found is None else (0, found) for found in column]
            order.sort(key=ranks.__getitem__, reverse=falls)
        return self._taken(order[:most])

    @property
    def _size(self) -> int:
        return len(next(iter(self._found.values())).value)

    def _taken(self, order: list[int]) -> Answer:
        at = np.array(order, np.int64)
        keys = {name: array.take(pa.array(at)) for name, array in self._keys.items()}
        return replace(self, _found={name: found.taken(at) for name, found in self._found.items()}, _keys=keys)

    def _shape(self, name: str, array: Any) -> Any:
        """Return the numbers of a figure as users see them: by group and quantile, where there are several."""
        if array.ndim > 1 and name not in self._shares:
            array = array[:, 0]
        if self._keys or not len(array):
            return array
        return array[0] if array[0].ndim else array[0].item()

    def _each(self, part: Any) -> Any:
        made = {name: self._shape(name, part(found)) for name, found in self._found.items()}
        return made if len(made) > 1 else next(iter(made.values()))


def labels_of(figure: str, alone: bool) -> list[str]:
    """Return the columns of a figure in an answer: value, standard error and interval."""
    ends = ("std_error", "low", "high")
    return ["estimate", *ends] if alone else [figure, *(f"{figure}_{end}" for end in ends)]


def _text(number: Any) -> str:
    return f"{number:.6g}" if np.ndim(number) == 0 else f"({', '.join(f'{x:.6g}' for x in number)})"


def _key(label: Any) -> str:
    if isinstance(label, tuple):
        between = " to " if all(isinstance(x, (int, float)) for x in label) else "/"
        return between.join(map(_key, label))
    return f"{label:g}" if isinstance(label, float) else str(label)
