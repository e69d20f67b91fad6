"""Lines of a ledger: prices, draws, and how they add up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from discreet.core.budget.draws import Draw
from discreet.core.checks import Exact
from discreet.errors import FormatError

Kind = Literal["sequential", "parallel", "pure"]
KINDS: tuple[Kind, ...] = ("sequential", "parallel", "pure")
#: More marginals of one sort than this are written as their number and sum; the ledger keeps all.
_MOST_ALIKE = 4


@dataclass(frozen=True)
class Line:
    """One line of a ledger: a step, or a group of steps.

    A step without draws that is not unused is *external*: a mechanism outside this package was charged with
    `Ledger.spend`, and the promise relies on its author.
    """

    label: str
    amount: Exact
    kind: Kind = "sequential"  # of a step, "parallel": disjoint cells, paid once
    parts: tuple[Line, ...] = ()
    draws: tuple[Draw, ...] = ()  # several only on disjoint cells
    unused: bool = False  # a reserved share that was not used; it stays spent
    law: str = field(default="", repr=False, compare=False)

    @property
    def external(self) -> bool:
        """True if the step was charged by hand, outside the gate."""
        return not (self.parts or self.draws or self.unused)

    def check(self, accounting: str) -> None:
        """Refuse a line (`FormatError`) that is cheaper than its noise, or that does not add up."""
        if self.kind == "pure" and (accounting != "rho" or not self.parts):
            raise FormatError(f"the ledger line {self.label!r} is a pure group outside a zCDP ledger")
        if self.parts and (self.draws or self.unused or add_up(self.parts, self.kind) != self.amount):
            raise FormatError(f"the ledger line {self.label!r} does not add up")
        for part in self.parts:
            part.check("epsilon" if self.kind == "pure" else accounting)
        for draw in self.draws:
            if draw.cost(accounting) > self.amount:
                raise FormatError(f"the ledger line {self.label!r} is cheaper than the noise that was drawn for it")

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Line]]:
        """Yield this line and those below it with their depth."""
        yield depth, self
        for part in self.parts:
            yield from part.walk(depth + 1)


def add_up(lines: Sequence[Line], kind: Kind = "sequential") -> Exact:
    """Add lines up again from the steps alone, as an auditor would."""
    amounts = [add_up(x.parts, x.kind) if x.parts else x.amount for x in lines]
    total: Exact = Fraction(0)
    for amount in amounts:
        total = max(total, amount) if kind == "parallel" else total + amount
    return total * total / 2 if kind == "pure" else total


def spending(lines: Sequence[Line], unit: str, names: Sequence[str], kind: Kind = "sequential") -> list[str]:
    """Write lines in one sentence; for many marginals, their number and sum."""
    sign = "ρ " if unit == "rho" else ""
    alike = [_sort(line, names) if kind == "sequential" else "" for line in lines]
    told: dict[str, str] = {}
    for i, (line, sort) in enumerate(zip(lines, alike, strict=True)):
        text, joint = f"{line.label} {sign}{float(line.amount):.6g}", line.kind == "parallel"
        if sort and alike.count(sort) > _MOST_ALIKE:
            same = [x for x, other in zip(lines, alike, strict=True) if other == sort]
            text = f"{len(same)} {sort}, {sign}{float(add_up(same)):.6g} in all"
            told[sort] = text + " (each by parallel composition)" * joint
        elif line.parts:
            inner = "epsilon" if line.kind == "pure" else unit
            parts = ", ".join(spending(line.parts, inner, names, line.kind))
            how = {"parallel": "parallel composition, the largest of", "pure": "half the square of the sum of epsilons"}
            told[str(i)] = f"{text} ({how.get(line.kind, 'the sum of')} {parts})"
        else:
            told[str(i)] = text + " (parallel composition)" * joint + " (external)" * line.external
    return list(told.values())


def _sort(line: Line, names: Sequence[str]) -> str:
    """Name what steps of a marginal synopsis have in common; empty for others."""
    if line.parts or line.kind == "sequential":
        return "choices" if not line.parts and re.fullmatch(r"choice \d+", line.label) else ""
    of = [line.label] if line.label in names else line.label.split(" by ")
    counted = {1: "one column", 2: "two columns", 3: "three columns"}.get(len(of), "")
    return f"marginals of {counted}" if counted and set(of) <= set(names) else ""
