"""Rules between columns: orders, differences and sums that every synthetic row keeps.

``admission <= discharge``, ``discharge - admission <= 90`` and ``total = ward + drugs`` are all read as
``low <= sum of columns with signs <= high``.

A model of marginals cannot keep a rule: it knows two dates to a week each, so their difference is noise. Therefore the
rule's own quantity is modelled. For ``admission <= discharge`` the model has ``admission`` and ``discharge -
admission``, whose dependence on the cost is measured like that of any column; for ``total = a + b`` it has ``a`` and
``b``. A `Plan` states which column each rule replaces. Rows are mapped one by one before they are counted
(`Plan.forward`): neighbouring tables stay neighbours, and a rule costs no budget. Rows of the model are mapped back
(`Plan.complete`) column by column, each value moved into the interval that the earlier values and the rules leave.
Intervals are propagated to a fixed point. For orders that never ends in a dead end (Dechter, Meiri and Pearl 1991), nor
for sums unless rules form a ring, which is refused. The arithmetic is exact: whole numbers, days, seconds, or multiples
of a power of two.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.core.arrays import FloatArray
from discreet.core.checks import nearest
from discreet.core.columns.kinds import NAMING, Categorical, Column, Date, Integer, Numeric, Time
from discreet.core.columns.stretches import by_days
from discreet.errors import InvalidArgument, InvalidType, SchemaError

#: So many of the smallest values of a difference have cells of their own, even on a coarser grid.
_FINE = 64
#: A column is marked by its number in the declared order.
_VALUE = r"(?:\0(\d+)\0|(\d+(?:\.\d+)?))"
_TERM = re.compile(rf"([+-]?)\s*{_VALUE}")
_SUM = re.compile(rf"\s*[+-]?\s*{_VALUE}(?:\s*[+-]\s*{_VALUE})*\s*")


@dataclass(frozen=True)
class Rule:
    """``low <= sum of sign times column <= high``; of an equation, ``left`` is the column that is never read."""

    terms: Mapping[str, int]
    low: float
    high: float
    left: str
    text: str
    strict: bool

    def form(self, at: Mapping[str, Any], without: str = "") -> Any:
        """Return the sum of the columns with their signs."""
        return sum(sign * at[name] for name, sign in self.terms.items() if name != without)

    def broken(self, at: Mapping[str, FloatArray]) -> bool:
        """Return whether a row breaks the rule; one without a value does not."""
        return bool(np.any((self.form(at) < self.low) | (self.form(at) > self.high)))

    def ends(self, low: Mapping[str, Any], high: Mapping[str, Any], without: str = "") -> tuple[Any, Any]:
        """Return the least and the largest sum of columns in given intervals."""
        signed = [(n, s) for n, s in self.terms.items() if n != without]
        pairs = ((low, high), (high, low))
        return tuple(sum(s * (a if s > 0 else b)[n] for n, s in signed) for a, b in pairs)  # type: ignore[return-value]

    def tighten(self, low: dict[str, Any], high: dict[str, Any]) -> bool:
        """Narrow the interval of each column to what the others leave; return whether one changed."""
        changed = False
        for name, sign in self.terms.items():
            least, most = self.ends(low, high, name)
            ends = sorted_by(sign, self.low - most, self.high - least)
            for held, found in ((low, np.maximum(low[name], ends[0])), (high, np.minimum(high[name], ends[1]))):
                changed |= bool(np.any(found != held[name]))
                held[name] = found
        return changed


def sorted_by(sign: int, low: Any, high: Any) -> tuple[Any, Any]:
    """Return the ends of an interval times a sign."""
    return (low, high) if sign > 0 else (-high, -low)


class Plan:
    """Rules that share columns, and what the model has instead of these.

    ``steps`` are, in the order in which values are found, a column, the rule that gives it (None: it is modelled
    itself) and the modelled column in its place (None: it follows from those before it).
    """

    def __init__(self, rules: Sequence[Rule], columns: Mapping[str, Any], first: Sequence[str]) -> None:
        self.columns: dict[str, Numeric] = {n: columns[n] for r in rules for n in r.terms}
        self.whole = all(isinstance(c, (Integer, Date)) for c in self.columns.values())
        size = max(max(abs(c.low), abs(c.high)) for c in self.columns.values())
        # So few digits that sums are the same in binary and in decimal numbers, if the bounds allow it.
        bits = max(14 - math.floor(math.log10(size)), 14 - math.floor(math.log2(size)))
        self.step = 1.0 if self.whole else 2.0**-bits
        self.rules = [self._stepped(rule) for rule in rules]
        ends = {n: _ends(c) for n, c in self.columns.items()}
        self.low = {n: math.ceil(a / self.step) * self.step for n, (a, _) in ends.items()}
        self.high = {n: math.floor(b / self.step) * self.step for n, (_, b) in ends.items()}
        for i, rule in enumerate(self.rules):  # one by one, to name the first that cannot be kept
            if not _propagate(self.rules[: i + 1], self.low, self.high):
                others = ", ".join(repr(r.text) for r in self.rules[:i])
                what = f" and {others}; leave one of the rules out, or widen" if others else "; widen"
                raise SchemaError(f"rules: no row can keep {rule.text!r}{what} the bounds of {_listed(rule.terms)}")
        self.steps = tuple(self._ordered(first))

    def _stepped(self, rule: Rule) -> Rule:
        """Return a rule whose ends are multiples of the step."""
        low = math.floor(rule.low / self.step) + 1 if rule.strict else math.ceil(rule.low / self.step)
        return replace(rule, low=low * self.step, high=low * self.step if rule.left else math.inf)

    def _ordered(self, first: Sequence[str]) -> Iterator[tuple[str, Rule | None, Numeric | None]]:
        smaller = [n for r in self.rules for n in sorted(r.terms, key=r.terms.__getitem__) if n != r.left]
        known = {[*first, *sorted(smaller, key=lambda n: self.columns[n].missing == "own")][0]}
        yield from map(self._own, known)
        pending = list(self.rules)
        while pending:
            rule = next(r for r in pending if known & r.terms.keys())
            pending.remove(rule)
            new = [n for n in rule.terms if n not in known]
            if not new and any(set(r.terms) == set(rule.terms) for r in self.rules if r is not rule):
                continue  # the other end of a difference
            if len(new) < len(rule.terms) - 1 and any(len(r.terms) > 2 for r in self.rules):
                raise SchemaError(
                    f"rules: {rule.text!r} closes a ring of rules, which only orders of two columns may; leave it out"
                )
            if not new:
                continue  # a ring of orders: the intervals keep it
            last = rule.left if rule.left in new else new[-1] if rule.left else new[0]
            yield from (self._own(n) for n in new if n != last)
            gone = [n for n in rule.terms if self.columns[n].missing == "own"]
            if gone and last not in gone:
                raise SchemaError(
                    f"rules: by {rule.text!r}, {last!r} is missing where {gone[0]!r} is, and only {gone[0]!r} keeps "
                    f'rows without a value; declare {last!r} with missing = "own" too'
                )
            yield last, rule, None if rule.left else self._difference(self.columns[last], rule)
            known.update(new)

    def behind(self, name: str) -> set[str]:
        """Return the columns whose modelled values decide a column: of a difference, the one that it stands for."""
        found = {name}
        for step, rule, own in reversed(self.steps):
            if step in found and rule is not None:
                found |= rule.terms.keys()
                found -= set() if own is not None else {step}
        return found

    def allows(self, asked: Mapping[str, tuple[float, float]]) -> bool:
        """Return whether a row with some columns in intervals can keep the rules."""
        low, high = dict(self.low), dict(self.high)
        for name in self.columns.keys() & asked.keys():
            a, b = (x / self.step for x in asked[name])
            low[name], high[name] = max(low[name], np.ceil(a) * self.step), min(high[name], np.floor(b) * self.step)
        return _propagate(self.rules, low, high)

    def _own(self, name: str) -> tuple[str, None, Numeric]:
        return name, None, self._bounded(self.columns[name], self.low[name], self.high[name])

    def _difference(self, column: Numeric, rule: Rule) -> Numeric:
        least, most = rule.ends(self.low, self.high)
        against = {n: -s for n, s in rule.terms.items()}
        least = max([least, *(r.low for r in self.rules if r.terms == rule.terms)])
        most = min([most, *(-r.low for r in self.rules if r.terms == against)])
        name = " ".join(f"{'+' if s > 0 else '-'} {n}" for n, s in rule.terms.items()).removeprefix("+ ")
        kept: dict[str, Any] = {"role": column.role, "missing": column.missing, "name": name}
        made = Integer(0, 1, **kept) if self.whole else Numeric(low=0.0, high=1.0, **kept)
        return self._bounded(made, least, most)

    def _bounded(self, column: Numeric, low: float, high: float) -> Numeric:
        if not low < high:
            raise SchemaError(f"rules: they leave {column.name!r} one value; widen the bounds of {_listed(self.columns)}")
        if (low, high) == _ends(column):
            return column
        half = 0.5 if isinstance(column, Integer) else 0.0
        return replace(column, low=float(low - half), high=float(high + half), bottom=None, top=None)

    def forward(self, at: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the modelled columns of rows, each row by itself.

        Values are clamped first. The left side of an equation is not read but found from the other side. Where a value
        is missing, so is the difference. A difference that breaks its rule is clamped, when it is counted.
        """
        x = {}
        for name, column in self.columns.items():
            if name in at:
                x[name] = np.clip(np.floor(at[name] + 0.5) if self.whole else at[name], *_ends(column))
        for rule in _nested(self.rules):
            found = rule.low - rule.form(x, rule.left)
            x[rule.left] = np.clip(found, *_ends(self.columns[rule.left]))
        return {own.name: x[n] if rule is None else rule.form(x) for n, rule, own in self.steps if own is not None}

    def complete(self, lower: Mapping[str, FloatArray], upper: Mapping[str, FloatArray], stream: Any) -> dict[str, Any]:
        """Draw a row of all columns in each box of the modelled ones, so that it keeps the rules."""
        rows = len(next(iter(lower.values())))
        low, high = ({n: np.full(rows, x) for n, x in ends.items()} for ends in (self.low, self.high))
        made: dict[str, Any] = {}
        for name, rule, own in self.steps:
            wanted = rule.low if own is None and rule else self._drawn(own, lower, upper, stream.random(rows))
            if rule is not None:
                wanted = rule.terms[name] * (wanted - rule.form(made, name))
            gone = np.isnan(wanted)
            made[name] = np.where(gone, np.nan, np.clip(wanted, low[name], high[name])) + 0.0
            low[name], high[name] = (np.where(gone, held[name], made[name]) for held in (low, high))
            _propagate(self.rules, low, high)
        return made

    def _drawn(self, column: Any, lower: Any, upper: Any, chance: FloatArray) -> FloatArray:
        """Draw a multiple of the step in each box [lower, upper)."""
        ends = lower[column.name], upper[column.name]
        a, b = (by_days(column, x) for x in ends) if isinstance(column, Date) else ends
        first = np.ceil(a / self.step)
        return np.asarray((first + np.floor(chance * np.maximum(np.ceil(b / self.step) - first, 1))) * self.step)


@dataclass(frozen=True)
class Rules:
    """All rules of a domain, as texts, and a plan for each set of columns that they tie together."""

    texts: tuple[str, ...] = ()
    plans: tuple[Plan, ...] = field(default=(), compare=False)

    @classmethod
    def read(cls, columns: Mapping[str, Column], texts: Any, first: Iterable[str] = ()) -> Rules:
        """Read what was declared and refuse what no row could keep. The columns ``first`` are modelled themselves."""
        if isinstance(texts, (str, Mapping)) or not isinstance(texts, Iterable):
            fix = f"rules=[{texts!r}]" if isinstance(texts, str) else 'rules=["admission <= discharge"]'
            raise InvalidType("rules", texts, "a list of texts", fix)
        texts = tuple(texts)
        parts: list[list[Rule]] = []
        for rule in (rule for i, text in enumerate(texts) for rule in _parsed(columns, f"rules[{i}]", text)):
            near = [part for part in parts if any(rule.terms.keys() & r.terms.keys() for r in part)]
            parts = [part for part in parts if part not in near] + [[*(r for part in near for r in part), rule]]
        plans = []
        for part in parts:
            _nested(part)
            tied = {n: None for r in part for n in r.terms}
            used = [n for n in first if n in tied]
            if len(used) > 1:
                raise SchemaError(
                    f"rules: impossible combinations name {_listed(used)}, which rules tie together; leave out those "
                    f"about {used[1]!r}"
                )
            plans.append(Plan(part, columns, [*used, *(n for n in tied if columns[n].role == "target")]))
        made = cls(texts, tuple(plans))
        if clash := [c.name for c, _ in made.replaced.values() if c is not None and c.name in columns]:
            raise SchemaError(f"rules: {clash[0]!r} is the name of a column and of a difference; rename the column")
        return made

    def about(self, names: Iterable[str]) -> list[str]:
        """Return the texts that are about some columns alone."""
        kept = set(names)
        return [t for t in self.texts if all(r.terms.keys() <= kept for r in self.rules if r.text == t)]

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(rule for plan in self.plans for rule in plan.rules)

    @property
    def unread(self) -> frozenset[str]:
        """Columns that are never read: the left sides of equations."""
        return frozenset(rule.left for rule in self.rules if rule.left)

    @property
    def replaced(self) -> dict[str, tuple[Numeric | None, Plan]]:
        """From columns that are not modelled to the modelled one in their place, if any, and their plan."""
        return {name: (own, plan) for plan in self.plans for name, rule, own in plan.steps if rule is not None}

    def stands_for(self, name: Any) -> Any:
        """Return the modelled column that says most about a column: itself, its difference, or the first of a sum."""
        if name not in self.replaced:
            return name
        own, plan = self.replaced[name]
        return plan.steps[0][0] if own is None else own.name

    def modelled(self, columns: Iterable[Column]) -> list[Column]:
        """Return the columns of the model, in the places of those that they replace."""
        made: dict[str, Column | None] = {name: own for plan in self.plans for name, _, own in plan.steps}
        return [own for c in columns if (own := made.get(c.name, c)) is not None]

    def cuts(self, name: str) -> set[float]:
        """Return ends of cells with which a difference tells its smallest values apart."""
        for own, plan in self.replaced.values():
            if own is not None and own.name == name:
                wide = plan.step if plan.whole else (own.high - own.low) / 2**15
                return {own.low + wide * i for i in range(1, _FINE)}
        return set()


def _propagate(rules: Sequence[Rule], low: dict[str, Any], high: dict[str, Any]) -> bool:
    """Narrow intervals until no rule changes them. Return False if one is empty, or if that does not end."""
    for _ in range(2 * (len(rules) + len(low)) + 2):
        if not any([rule.tighten(low, high) for rule in rules]):
            return all(bool(np.all(low[n] <= high[n])) for n in low)
    return False


def _nested(rules: Sequence[Rule]) -> list[Rule]:
    """Return the equations in an order in which their right sides are known; refuse those that have none."""
    left, made = [r for r in rules if r.left], []
    while left:
        open_ = {r.left for r in left}
        ready = [r for r in left if not open_ & (r.terms.keys() - {r.left})]
        if not ready or len(open_) < len(left):
            raise SchemaError(
                f"rules: {' and '.join(repr(r.text) for r in left)} each need the other, or give one column twice; "
                "leave one of them out"
            )
        made += ready
        left = [r for r in left if r not in ready]
    return made


def _ends(column: Column) -> tuple[float, float]:
    """Return the smallest and the largest value."""
    half = 0.5 if isinstance(column, Integer) else 0.0
    return column.low + half, column.high - half


def _listed(names: Iterable[str]) -> str:
    return " and ".join(map(repr, names))


def _parsed(columns: Mapping[str, Column], label: str, text: Any) -> Iterator[Rule]:
    """Read one text: sums of columns and numbers, with orders or an equals sign between them."""
    if not isinstance(text, str):
        raise InvalidType(label, text, "a text", "'admission <= discharge'")
    known = list(columns)
    names = "|".join(re.escape(n) for n in sorted(known, key=len, reverse=True))
    found = re.sub(rf"(?<!\w)(?:`({names})`|({names})(?!\w))", lambda m: f"\0{known.index(m[1] or m[2])}\0", text)
    parts = re.split(r"(<=|>=|==|[<>=≤≥])", found)
    if len(parts) < 3 or not all(_SUM.fullmatch(part) for part in parts[::2]):
        strange = re.findall(r"[^\W\d]\w*", found)
        near = nearest(strange[0], known) if strange else None
        fix = text.replace(strange[0], near) if near else " <= ".join([c.name for c in columns.values() if _fits(c)][:2])
        expected = "about declared columns: sums with <=, <, >=, > or = between them"
        raise InvalidArgument(label, text, expected, repr(fix or "leaving it out"))
    for at in range(1, len(parts), 2):
        order = {"≤": "<=", "≥": ">=", "==": "="}.get(parts[at], parts[at])
        sides = [_summed(known, parts[at - 1]), _summed(known, parts[at + 1])]
        if order[0] == "<" or (order == "=" and len(sides[0]) > 1):
            sides.reverse()
        left = next(iter(sides[0])) if order == "=" else ""
        terms = {n: s for n in dict.fromkeys([*sides[0], *sides[1]]) if (s := sides[0].get(n, 0) - sides[1].get(n, 0))}
        constant = terms.pop("", 0)
        if len(terms) < 2 or {abs(s) for s in terms.values()} != {1} or (left and sides[0] != {left: 1}):
            expected = "about two or more columns, each once, and with one alone before an equals sign"
            raise InvalidArgument(label, text, expected, "the bounds of the column" if len(terms) < 2 else "another order")
        _check_kinds(columns, label, text, terms)
        terms = dict(sorted(terms.items(), key=lambda term: -term[1]))
        yield Rule(terms, -constant, -constant if left else math.inf, left, text, order in "<>")


def _summed(known: Sequence[str], text: str) -> dict[str, Any]:
    """Return the signs of the columns of a sum, and its number under no name."""
    made: dict[str, Any] = {}
    for sign, place, number in _TERM.findall(text):
        name, size = (known[int(place)], 1) if place else ("", float(number))
        made[name] = made.get(name, 0) + (-size if sign == "-" else size)
    return made


def _fits(column: Column) -> bool:
    return isinstance(column, Numeric) and column.role not in NAMING


def _check_kinds(columns: Mapping[str, Column], label: str, text: str, terms: Mapping[str, int]) -> None:
    """Refuse rules between what cannot be compared."""
    held = [columns[n] for n in terms]
    if wrong := [c for c in held if not _fits(c)]:
        why = "has categories" if isinstance(wrong[0], Categorical) else "says whose row it is and is never released"
        raise SchemaError(f"{label}: column {wrong[0].name!r} {why}; rules are about numbers and dates: leave {text!r} out")
    real = [c.name for c in held if not isinstance(c, (Integer, Date))]
    if 0 < len(real) < len(held):
        raise SchemaError(
            f"{label}: {text!r} is about whole numbers or days and about {_listed(real)}, which has fractions; declare "
            f'{_listed(real)} with kind = "integer", or no column of the rule as whole numbers'
        )
    days, times = ([n for n in terms if isinstance(columns[n], kind)] for kind in (Date, Time))
    if (days and times) or any(sum(terms[n] for n in some) for some in (days, times)):
        raise SchemaError(
            f"{label}: {text!r} compares dates or times with numbers; a date can be compared with a date, or be a date "
            "plus whole numbers: leave it out, or mend it"
        )
