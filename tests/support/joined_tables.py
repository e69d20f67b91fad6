"""An attacker who holds several anonymous tables and knows every age and cost, written without the package."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence

#: Age and cost.
Person = tuple[int, int]
Cell = tuple[tuple[float, float, bool], ...]


def together(tables: Sequence[tuple[bytes, Mapping[str, Person]]]) -> Counter[tuple[Cell | None, ...]]:
    """Count the people who look alike in all tables at once: in the same cell of each, or absent from it.

    Each table comes with the people it is about.
    """
    read = [(boxes(text), people) for text, people in tables]
    names = {name for _, people in read for name in people}
    return Counter(
        tuple(cell_of(cells, people[name]) if name in people else None for cells, people in read) for name in names
    )


def boxes(text: bytes) -> set[Cell]:
    """Return the cells of a released table, as it prints them."""
    rows = csv.DictReader(io.StringIO(text.decode()))
    return {tuple(_ends(row[name]) for name in ("age", "cost")) for row in rows}


def _ends(text: str) -> tuple[float, float, bool]:
    if found := re.fullmatch(r"\[(\d+), (\d+)([\])])", text):
        return float(found[1]), float(found[2]), found[3] == "]"
    return float(text), float(text), True


def cell_of(cells: set[Cell], person: Person) -> Cell:
    """Return the one cell in which a person is."""
    inside = [
        cell
        for cell in cells
        if all(low <= x < high or (closed and x == high) for (low, high, closed), x in zip(cell, person, strict=True))
    ]
    assert len(inside) == 1, (person, inside)
    return inside[0]
