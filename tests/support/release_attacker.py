"""Somebody who holds every released table of some people and knows who was in which. Shares no code with the library.

For each release the attacker is told, as the strongest outsider would know it, which record is which row of the table,
and who was handed in but suppressed. Then all that intersecting and subtracting the tables can single out is looked at:
k, l and t are computed afresh, in plain Python. What is singled out are rows, and rows look alike whether they are not
in a table because their person was absent or because they were suppressed.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Record = tuple[Any, ...]


@dataclass
class Held:
    """A released table as the attacker holds it: the cell and the sensitive value by record; None if suppressed."""

    cell: dict[Record, Any]
    value: dict[Record, Any]
    k: int
    l: float | None = None  # noqa: E741
    entropy: bool = False
    t: float | None = None
    ordered: bool = False

    @cached_property
    def out(self) -> set[Record]:
        """The records that were published."""
        return {r for r, c in self.cell.items() if c is not None}


def hold(release: Any, people: Sequence[Record], quasi: Sequence[str], secret: str | None, **rules: Any) -> Held:
    """Take a released table: ``people`` names the record of every row that was handed in."""
    columns = [release.table[name].to_pylist() for name in quasi]
    values = [None] * len(release) if secret is None else release.table[secret].to_pylist()
    held = Held(dict.fromkeys(people), {}, **rules)
    for row, place in enumerate(release.rows.tolist()):
        held.cell[people[place]] = tuple(column[row] for column in columns)
        held.value[people[place]] = values[row]
    return held


def broken(held: Held, group: set[Record]) -> str | None:
    """Tell which promise of a table does not hold for some of its published rows."""
    persons = {r[0] for r in group}
    if len(persons) < held.k:
        return f"k: {len(persons)} of {held.k}"
    counts = Counter(held.value[r] for r in group)
    shares = {v: n / len(group) for v, n in counts.items()}
    if held.l is not None:
        reached = math.exp(-sum(p * math.log(p) for p in shares.values())) if held.entropy else len(counts)
        if reached < held.l - 1e-9:
            return f"l: {reached} of {held.l}"
    if held.t is not None:
        whole = Counter(held.value[r] for r in held.out)
        if held.ordered:
            labels, sums = sorted(whole), [0.0]
            for v in labels:
                sums.append(sums[-1] + shares.get(v, 0.0) - whole[v] / len(held.out))
            far = sum(map(abs, sums)) / max(len(labels) - 1, 1)
        else:
            far = sum(abs(shares.get(v, 0.0) - n / len(held.out)) for v, n in whole.items()) / 2
        if far > held.t + 1e-9:
            return f"t: {far} of {held.t}"
    return None


def singled_out(held: Sequence[Held]) -> Iterator[tuple[int, str, set[Record]]]:
    """Yield whatever a table, a way to tell its rows apart and the rows, for which a promise does not hold."""
    looked: set[tuple[int, frozenset[Record]]] = set()
    for j, how, group in _groups(held):
        mark = (j, frozenset(group))
        if group and mark not in looked:
            looked.add(mark)
            wrong = broken(held[j], group)
            if wrong is not None:
                yield j, f"{how}: {wrong}", group


def _groups(held: Sequence[Held]) -> Iterator[tuple[int, str, set[Record]]]:
    everybody = set().union(*(h.cell for h in held))
    outs = [h.out for h in held]
    numbers = range(len(held))
    for size in range(1, len(held) + 1):
        for chosen in itertools.combinations(numbers, size):
            by: dict[Any, set[Record]] = defaultdict(set)
            for r in everybody:
                by[tuple(held[j].cell.get(r) for j in chosen)].add(r)
            for states, group in by.items():
                for j, state in zip(chosen, states, strict=True):
                    if state is not None:
                        yield j, f"cells {states} of releases {chosen}", group
    cells = [_by_cell(h.cell) for h in held]
    for i, j in itertools.permutations(numbers, 2):
        for a, here in cells[i].items():
            yield i, f"{a} of {i} without all of {j}", here - outs[j]
            yield i, f"{a} of {i} in {j}", here & outs[j]
            changed = {r for r in here & outs[j] if held[i].value[r] != held[j].value[r]}
            yield i, f"{a} of {i} whose values differ in {j}", changed
            yield i, f"{a} of {i} whose values are the same in {j}", (here & outs[j]) - changed
            for b, there in cells[j].items():
                yield i, f"{a} of {i} and {b} of {j}", here & there
                yield i, f"{a} of {i} without {b} of {j}", here - there
        yield i, f"{i} without {j}", outs[i] - outs[j]
        yield i, f"{i} and {j}", outs[i] & outs[j]
    for j in numbers:
        rest = set().union(*(outs[i] for i in numbers if i != j))
        yield j, f"{j} without all others", outs[j] - rest
        yield j, f"{j} and some other", outs[j] & rest


def _by_cell(cell: Mapping[Record, Any]) -> dict[Any, set[Record]]:
    found: dict[Any, set[Record]] = defaultdict(set)
    for r, c in cell.items():
        if c is not None:
            found[c].add(r)
    return found
