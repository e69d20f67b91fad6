"""An attacker who follows every row through all tables and forms every group of rows that can be defined by it.

Written from the text of the promise, in plain Python, without a line of the library. The attacker knows everyone's
quasi-identifiers, who was in which table and who was suppressed. What they can link to a person is a row, so groups are
groups of rows: by the cells in which a row appears, the tables in which it does not, and those in which its values are
the same. Whether it does not appear because its person was absent or suppressed cannot be seen in the rows.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """A row as it was handed in: whose it is, the quasi-identifiers, and the sensitive value."""

    person: str
    place: tuple[Any, ...]
    value: Any


@dataclass(frozen=True)
class Published:
    """A table as it was published: the printed cell of each row that was handed in, None if it was left out."""

    rows: tuple[Row, ...]
    cell: tuple[Any, ...]
    k: int
    l: int | None = None  # noqa: E741
    t: float | None = None


def threads(tables: Sequence[Sequence[Row]]) -> list[list[int]]:
    """Number the rows of every table so that a row has one number wherever it is followed.

    One row per table is that person's, whatever is in it. From the first table in which someone has several on, rows
    are followed by their value: first those with the same quasi-identifiers, the rest in their order.
    """
    several: set[str] = set()
    last: dict[int, Row] = {}
    found: list[list[int]] = []
    for table in tables:
        several |= {person for person, n in Counter(row.person for row in table).items() if n > 1}
        mine: dict[int, int] = {}
        taken: set[int] = set()
        for alike in (True, False):
            for at in sorted(range(len(table)), key=lambda i: str(table[i].place)):
                row = table[at]
                known = [
                    number
                    for number, old in last.items()
                    if old.person == row.person
                    and number not in taken
                    and (row.person not in several or old.value == row.value)
                    and (not alike or old.place == row.place)
                ]
                if at not in mine and known:
                    mine[at] = min(known, key=lambda number: str(last[number].place))
                    taken.add(mine[at])
        for at, row in enumerate(table):
            if at not in mine:
                mine[at] = len(last)
            last[mine[at]] = row
        found.append([mine[at] for at in range(len(table))])
    return found


def singled_out(tables: Sequence[Published]) -> Iterator[str]:
    """Yield every group of rows, by any subset of the tables, for which a table breaks its promise."""
    numbers = threads([table.rows for table in tables])
    cell: list[dict[int, Any]] = []
    row: list[dict[int, Row]] = []
    for table, own in zip(tables, numbers, strict=True):
        out = [i for i, printed in enumerate(table.cell) if printed is not None]
        cell.append({own[i]: table.cell[i] for i in out})
        row.append({own[i]: table.rows[i] for i in out})
    everyone = set().union(*cell)
    for size in range(1, len(tables) + 1):
        for chosen in itertools.combinations(range(len(tables)), size):
            groups: dict[Any, list[int]] = defaultdict(list)
            for thread in everyone:
                values = [row[j][thread].value if thread in row[j] else None for j in chosen]
                same = tuple(
                    None if thread not in row[j] else next(i for i, v in zip(chosen, values, strict=True)
                    if thread in row[i] and v == row[j][thread].value) for j in chosen
                )  # fmt: skip
                groups[tuple(cell[j].get(thread) for j in chosen), same].append(thread)
            for seen, group in groups.items():
                for j, printed in zip(chosen, seen[0], strict=True):
                    if printed is not None and (wrong := _broken(tables[j], [row[j][g] for g in group], row[j])):
                        yield f"table {j}, seen in {dict(zip(chosen, seen[0], strict=True))}: {wrong}"


def _broken(table: Published, group: Sequence[Row], whole: dict[int, Row]) -> str:
    persons = {row.person for row in group}
    values = Counter(row.value for row in group)
    if len(persons) < table.k:
        return f"{len(persons)} persons for k = {table.k}: {sorted(persons)}"
    if table.l is not None and len(values) < table.l:
        return f"{len(values)} values for l = {table.l}"
    if table.t is not None:
        every = Counter(row.value for row in whole.values())
        far = sum(abs(values[v] / len(group) - n / len(whole)) for v, n in every.items()) / 2
        if far > table.t + 1e-9:
            return f"distance {far} for t = {table.t}"
    return ""
