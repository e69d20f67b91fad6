"""A table as classes and counts, gathered in one pass over batches of rows for `risk`.

An *entry* is a combination of quasi-identifiers, sensitive values and person that occurs, with its number of rows.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from discreet import engines
from discreet.anonymity.risk.classes import Joint, join
from discreet.anonymity.risk.coded import CodedColumn
from discreet.anonymity.risk.counted import MISSING, UNKNOWN, Values, ValueTally, total
from discreet.anonymity.risk.persons import persons_by_class
from discreet.core import BoolArray, IntArray
from discreet.engines.readers import counted_columns
from discreet.engines.tables import same_key


@dataclass(frozen=True)
class Entries:
    """The entries of a table: by column the distinct values and the number of each; and the rows of each entry."""

    values: Mapping[str, Values]
    codes: Mapping[str, IntArray]
    counts: IntArray
    quasi: tuple[str, ...]

    @classmethod
    def read(cls, table: Any, quasi: Sequence[str], others: Sequence[str], persons: Sequence[str] = ()) -> Self:
        """Count the rows of a table by their values; ``persons`` name persons and households.

        Quasi-identifiers are compared as spelled, because a spelling can distinguish rows of a release.
        """
        names = [*quasi, *others, *dict.fromkeys(persons)]
        values = {name: Values(same_key if name in persons else None) for name in names}
        tally = ValueTally()
        for batch, counts in counted_columns(engines.open(table), names, persons=dict.fromkeys(persons)):
            tally.add([values[name].codes(batch[name]) for name in names], counts)
        codes, held = tally.result()
        found = codes.astype(np.int64) if len(held) else np.empty((len(names), 0), np.int64)
        return cls(values, dict(zip(names, found, strict=True)), held, tuple(quasi))

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def gaps(self) -> BoolArray:
        found = np.zeros(len(self.counts), bool)
        for name in self.quasi:
            found |= self.codes[name] == MISSING
        return found

    def only(self, kept: BoolArray) -> Self:
        return type(self)(self.values, {n: c[kept] for n, c in self.codes.items()}, self.counts[kept], self.quasi)

    def classes(self) -> IntArray:
        """Return the class of every entry: equal quasi-identifiers, a missing one being a value of its own."""
        columns = []
        for name, codes in self._known():
            size, gaps = len(self.values[name]), codes == MISSING
            columns.append((np.where(gaps, size, codes), size + 1) if gaps.any() else (codes, size))
        return join(columns, len(self.counts))

    def persons(self, classes: IntArray, name: str | None) -> IntArray:
        """Return for every entry the rows of its class, or its persons, at least one: missing ones are none."""
        if name is None:
            return total(classes, self.counts)[classes]
        named = self.codes[name] != MISSING
        found = persons_by_class(classes[named], self.codes[name][named], int(classes.max()) + 1)
        return np.maximum(found, 1)[classes]

    def separations(self, classes: IntArray) -> dict[str, dict[str, float]]:
        """Return how well each quasi-identifier, and all together under ``*``, distinguish rows."""
        found = {name: total(codes - UNKNOWN, self.counts) for name, codes in self._known()}
        sizes = {**found, "*": total(classes, self.counts)}
        return {name: _separation(counts[counts > 0], self.n) for name, counts in sizes.items()}

    def joint(self, classes: IntArray, name: str) -> tuple[Joint, CodedColumn]:
        # Entries may have been left out, and with them values: a distance by order counts the steps between the others.
        coded = self.values[name].coded(None, name, self.codes[name]).compact()
        return Joint.of(classes, coded, self.counts), coded

    def compatible(self) -> IntArray:
        """Count for every entry the rows that agree wherever both have a value: pattern of gaps by pattern of gaps."""
        absent = {name: codes == MISSING for name, codes in self._known()}
        patterns = join([(gaps.astype(np.int64), 2) for gaps in absent.values()], len(self.counts))
        found = np.zeros(len(self.counts), np.int64)
        for one in np.unique(patterns):
            mine = np.flatnonzero(patterns == one)
            for two in np.unique(patterns):
                theirs = np.flatnonzero(patterns == two)
                shared = [
                    (np.concatenate([codes[mine], codes[theirs]]), len(self.values[name]))
                    for name, codes in self._known()
                    if not absent[name][mine[0]] and not absent[name][theirs[0]]
                ]
                keys = join(shared, len(mine) + len(theirs))
                counts = total(keys[len(mine) :], self.counts[theirs], int(keys.max()) + 1)
                found[mine] += counts[keys[: len(mine)]]
        return found

    def matches(self, population: Any) -> IntArray:
        tally, known = ValueTally(), None
        for batch, counts in counted_columns(engines.open(population), self.quasi):
            if known is None:
                known = {name: self.values[name].comparing(batch[name].type) for name in self.quasi}
            own = [known[name][1](batch[name]) for name in self.quasi]
            there = np.all([codes != UNKNOWN for codes in own], axis=0)
            tally.add([codes[there] for codes in own], None if counts is None else counts[there])
        people, held = tally.result()
        if known is None or not len(held):
            return np.zeros(len(self.counts), np.int64)
        n, joined = len(self.counts), []
        for (name, codes), theirs in zip(self._known(), people, strict=True):
            mine = np.append(known[name][0], MISSING)[codes]  # -1, missing, picks the last
            joined.append((np.concatenate([mine, theirs.astype(np.int64)]) - MISSING, len(self.values[name]) + 1))
        keys = join(joined, n + len(held))
        return total(keys[n:], held, int(keys.max()) + 1)[keys[:n]]

    def mean_chance(self, sizes: IntArray) -> float:
        """Return the mean over rows of one over the size that every entry has, whatever the order of entries."""
        if int(sizes.max()) <= 8 * len(sizes):
            rows = total(sizes, self.counts)
            levels = np.flatnonzero(rows)
            rows = rows[levels]
        else:
            levels, own = np.unique(sizes, return_inverse=True)
            rows = total(own.ravel(), self.counts)
        return math.fsum((1.0 / levels * rows).tolist()) / self.n

    def share(self, chosen: BoolArray) -> float:
        return int(self.counts[chosen].sum()) / self.n

    def _known(self) -> list[tuple[str, IntArray]]:
        return [(name, self.codes[name]) for name in self.quasi]


def _separation(counts: IntArray, n: int) -> dict[str, float]:
    wide = counts if n < 2**31 else counts.astype(np.float64)  # whole numbers as long as they are exact
    together = float((wide * (counts - 1)).sum())
    return {"distinction": len(counts) / n, "separation": 1 - together / (n * (n - 1)) if n > 1 else 0.0}
