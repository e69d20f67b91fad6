"""Public facts about columns: functions of other columns, impossible combinations of values, and rules (`rules`).

A fact is declared, like bounds, without looking at rows: ``education_num`` follows from ``education`` because the form
says so. Contrary rows do not matter: the column of a function is never read, and an impossible row is dropped like one
with a missing value.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.core.columns.dates import date_text, time_text
from discreet.core.columns.kinds import NAMING, Categorical, Code, Column, Date, Integer, Time, category_text
from discreet.core.columns.rules import Rules
from discreet.core.columns.stretches import Intervals, held, place_on, stretches_of
from discreet.errors import InvalidArgument, InvalidType, SchemaError

Key = TypeVar("Key", bound=Hashable)
#: Names of columns, each with intervals of its axis; a row must be inside each.
Stretches: TypeAlias = tuple[tuple[str, tuple[tuple[float, float], ...]], ...]
#: Columns of one impossible combination at most: as many as one marginal has.
MOST_COLUMNS = 3
#: Facts that a guarantee states in words; it holds all of them.
_MOST_TOLD = 12
#: Choices that are tried before a declaration is taken to leave nothing possible.
_MOST_TRIED = 100_000


@dataclass(frozen=True)
class Function:
    """A column whose value follows from another column.

    ``pieces`` are intervals of the source's axis in rising order, each with the column's place on its own axis;
    ``written`` is the form of a schema file.
    """

    column: str
    source: str
    pieces: tuple[tuple[float, float, float], ...]
    written: tuple[tuple[str, Any], ...]

    def before(self, column: Column, stretches: Intervals) -> Intervals:
        """Return the intervals of the source that lead into some intervals of the column; missing from missing."""
        gone = [pair for pair in stretches if np.isnan(pair[0])]
        places = np.array([place for *_, place in self.pieces])
        made: Intervals = []
        for (low, high, _), inside in zip(self.pieces, held(column, places, places, stretches), strict=True):
            if inside and made and made[-1][1] == low:
                made[-1] = (made[-1][0], high)
            elif inside:
                made.append((low, high))
        return made + gone


@dataclass(frozen=True)
class Impossible:
    """A combination of values that no row has: intervals by column, the form of a schema file, and a text."""

    stretches: Stretches
    written: tuple[tuple[str, Any], ...]
    text: str


@dataclass(frozen=True)
class Facts:
    """All facts that a domain declares about its columns."""

    functions: tuple[Function, ...] = ()
    impossible: tuple[Impossible, ...] = ()
    rules: Rules = field(default_factory=Rules)

    @classmethod
    def read(cls, columns: Mapping[str, Column], functions: Any, impossible: Any, rules: Any = None) -> Facts:
        """Read what was declared, and refuse what no table could be like."""
        if functions is not None and not isinstance(functions, Mapping):
            fix = 'functions={"education_num": {"education": {"Bachelors": 13}}}'
            raise InvalidType("functions", functions, "a mapping from a column to the one it follows from", fix)
        if impossible is not None and (isinstance(impossible, (str, Mapping)) or not isinstance(impossible, Iterable)):
            meant = dict(impossible) if isinstance(impossible, Mapping) else {"sex": "Male", "relationship": "Wife"}
            fix = f"impossible=[{meant}], in a schema file under [[impossible]]"
            raise InvalidType("impossible", impossible, "a list of combinations", fix)
        made = cls(
            tuple(_function(columns, name, of) for name, of in (functions or {}).items()),
            tuple(_combination(columns, i, one) for i, one in enumerate(impossible or ())),
        )
        made = made if not made else _checked(made, columns)
        return made if rules is None else replace(made, rules=made._rules(columns, rules))

    def _rules(self, columns: Mapping[str, Column], texts: Any) -> Rules:
        """Read rules. What combinations are about is modelled as it is, and functions are no part of rules."""
        named = {name: None for one in self.without_functions(columns).impossible for name, _ in one.stretches}
        found = Rules.read(columns, texts, named)
        for rule in found.rules:
            for name in rule.terms.keys() & self.sources.keys():
                raise SchemaError(f"rules: {name!r} is a function of another column; leave {rule.text!r} out")
        return found

    def __bool__(self) -> bool:
        return bool(self.functions or self.impossible or self.rules.texts)

    @property
    def sources(self) -> dict[str, Function]:
        """The functions by the name of their column."""
        return {f.column: f for f in self.functions}

    @property
    def sentences(self) -> tuple[str, ...]:
        told = [f"{f.column} is a function of {f.source}" for f in self.functions]
        return (*told, *(one.text for one in self.impossible), *(f"every row has {text}" for text in self.rules.texts))

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain data: what `Domain` takes, and a schema file holds."""
        made: dict[str, Any] = {}
        if self.functions:
            made["functions"] = {f.column: {f.source: dict(f.written)} for f in self.functions}
        if self.impossible:
            made["impossible"] = [dict(one.written) for one in self.impossible]
        return {**made, "rules": list(self.rules.texts)} if self.rules.texts else made

    def select(self, names: Sequence[str], columns: Mapping[str, Column]) -> Facts:
        """Return the facts about some columns. Facts about a function's column that is left out move to its source."""
        kept, made = set(names), []
        gone = {f.column: f for f in self.functions if f.column not in kept and f.source in kept}
        for one in self.impossible:
            if not {gone[name].source if name in gone else name for name, _ in one.stretches} <= kept:
                continue
            if not any(name in gone for name, _ in one.stretches):
                made.append(one)
            elif all((found := _through(one, gone, columns)).values()):
                # A list of categories is one thing to write, stretches of numbers are one each.
                each = [[pairs] if isinstance(columns[n], Categorical) else [[p] for p in pairs]
                        for n, pairs in found.items()]  # fmt: skip
                made += [_combined([columns[n] for n in found], part) for part in product(*each)]
        facts = Facts(tuple(f for f in self.functions if {f.column, f.source} <= kept), tuple(made))
        return replace(facts, rules=facts._rules(columns, self.rules.about(kept))) if self.rules.texts else facts

    def without_functions(self, columns: Mapping[str, Column]) -> Facts:
        """Return the facts with every combination stated for sources instead of functions.

        The functions stay: a cell of the source has to end where a value of its function ends.
        """
        made = []
        for one in self.impossible:
            found = _through(one, self.sources, columns)
            if all(found.values()):  # else the functions rule it out already
                made.append(
                    Impossible(tuple((name, tuple(pairs)) for name, pairs in found.items()), one.written, one.text)
                )
        return Facts(self.functions, tuple(made), self.rules)

    def cuts(self, name: str) -> tuple[float, ...]:
        """Return the places on a column's axis where a fact begins or ends to hold."""
        ends = {end for one in self.impossible for n, pairs in one.stretches if n == name for p in pairs for end in p}
        ends |= {end for f in self.functions if f.source == name for low, high, _ in f.pieces for end in (low, high)}
        return tuple(sorted(ends | self.rules.cuts(name)))


def _through(one: Impossible, functions: Mapping[str, Function], columns: Mapping[str, Column]) -> dict[str, Intervals]:
    """Return where a combination lies, columns of functions replaced by those they follow from."""
    found: dict[str, Intervals] = {}
    for name, stretches in one.stretches:
        pairs, at = list(stretches), name
        if name in functions:
            pairs, at = functions[name].before(columns[name], pairs), functions[name].source
        if at in found:
            met = [(max(a, c), min(b, d)) for a, b in found[at] for c, d in pairs]
            pairs = [(a, b) for a, b in met if a < b]
        found[at] = pairs
    return found


def told_of(facts: Facts, used: Sequence[str] | None) -> list[str]:
    """Write which declared facts a release used, or that it used none."""
    if used:
        more = f"; and {len(used) - _MOST_TOLD:,} more" if len(used) > _MOST_TOLD else ""
        return [f"Public facts used, which every row keeps: {'; '.join(used[:_MOST_TOLD])}{more}."]
    unused = "Declared functions, combinations and rules are not used by this method: its rows may break them."
    return [unused] if facts else []


def a_choice(members: Sequence[Mapping[Key, NDArray[np.bool_]]]) -> dict[Key, int] | None:
    """Choose a value for every column so that no combination is met in all its columns; None if impossible.

    ``members`` maps, for each combination, its columns to the values that belong to it.
    """
    names = list(dict.fromkeys(name for one in members for name in one))
    values = {}
    for name in names:
        seen = np.array([one[name] for one in members if name in one])
        # Values that belong to the same combinations are one to this search; those to few are tried first.
        first = np.unique(seen, axis=1, return_index=True)[1]
        values[name] = [int(v) for v in first[np.argsort(seen[:, first].sum(axis=0), kind="stable")]]
    place = {name: i for i, name in enumerate(names)}
    due: dict[Key, list[Mapping[Key, NDArray[np.bool_]]]] = {name: [] for name in names}
    for one in members:  # can be told once the last of its columns is chosen
        due[max(one, key=place.__getitem__)].append(one)
    tried = 0

    def search(made: dict[Key, int]) -> dict[Key, int] | None:
        nonlocal tried
        if len(made) == len(names):
            return made
        name = names[len(made)]
        for value in values[name]:
            tried += 1
            then = {**made, name: value}
            if tried < _MOST_TRIED and not any(all(one[c][then[c]] for c in one) for one in due[name]):
                found = search(then)
                if found is not None:
                    return found
        return None

    return search({})


def _checked(facts: Facts, columns: Mapping[str, Column]) -> Facts:
    for f in facts.functions:
        if f.source in facts.sources:
            raise SchemaError(
                f"functions: column {f.column!r} follows from {f.source!r}, which is a function itself; declare it as "
                f"a function of {facts.sources[f.source].source!r}"
            )
    plain = facts.without_functions(columns)
    for one in plain.impossible:
        if len(one.stretches) < 2:
            raise SchemaError(
                f"impossible: {one.text!r} says that values of column {one.stretches[0][0]!r} alone cannot occur; "
                "leave them out of its categories or bounds"
            )
    middles = {}
    for name in {name for one in plain.impossible for name, _ in one.stretches}:
        ends = np.unique([_start(columns[name]), _end(columns[name]), *plain.cuts(name)])
        middles[name] = (ends[1:] + ends[:-1]) / 2
    members = [
        {name: held(columns[name], middles[name], middles[name], pairs) for name, pairs in one.stretches}
        for one in plain.impossible
    ]
    if a_choice(members) is None:
        raise SchemaError("impossible: what is declared leaves no combination of values possible; leave some of it out")
    return facts


def _function(columns: Mapping[str, Column], name: Any, of: Any) -> Function:
    label = f"functions[{name!r}]"
    column = _known(columns, label, name)
    fix = f"functions={{{name!r}: {{OTHER: {{VALUE: {_written(column, [(column.low, column.low + 1)])[0]!r}, ...}}}}}}"
    if not isinstance(of, Mapping) or len(of) != 1 or not isinstance(next(iter(of.values())), Mapping):
        raise InvalidType(label, of, "a mapping from one column to its values and what follows from each", fix)
    ((other, values),) = of.items()
    at = f"{label}[{other!r}]"
    source = _known(columns, label, other)
    if other == name:
        raise InvalidArgument(label, other, "a function of another column", fix)
    if source.missing == "own" and column.missing != "own":
        raise SchemaError(
            f"{label}: where {other!r} is missing so is {name!r}, and only {other!r} keeps rows without a value; "
            f'declare {name!r} with missing = "own" too'
        )
    found: dict[tuple[float, float], tuple[str, Any, float]] = {}
    for key, value in values.items():
        stretch, text = _stretch(source, label, key)
        plain, place = _value(column, label, value)
        if any(a < stretch[1] and stretch[0] < b for a, b in found):
            raise InvalidArgument(at, text, "a mapping that names every value once", "leaving it out")
        found[stretch] = (text, plain, place)
    pieces = sorted(found)
    end = _start(source)
    for low, high in [*pieces, (_end(source), 0.0)]:
        if low > end:
            absent = _written(source, [(end, end + 1)])[0]
            expected = f"about every value of {other!r}: nothing is said of {absent!r}"
            raise InvalidArgument(
                at, sorted(map(str, values)), expected, f"adding {absent!r} with the value that belongs to it"
            )
        end = max(end, high)
    return Function(
        str(name), str(other), tuple((*pair, found[pair][2]) for pair in pieces),
        tuple((found[pair][0], found[pair][1]) for pair in pieces),
    )  # fmt: skip


def _stretch(source: Column, label: str, key: Any) -> tuple[tuple[float, float], str]:
    """Read a value of a source, or a stretch of them: a pair, or ``18..64`` in words."""
    if isinstance(source, Categorical):
        texts = [category_text(c) for c in source.categories]
        if category_text(key) not in texts:
            raise InvalidArgument(f"{label}[{source.name!r}]", key, "about declared categories", repr(texts[0]))
        at = texts.index(category_text(key))
        return (float(at), at + 1.0), texts[at]
    if not isinstance(source, (Integer, Date)):
        raise SchemaError(
            f"{label}: column {source.name!r} is a number without steps; a function follows from categories, whole "
            f'numbers, dates or times: declare {source.name!r} with kind = "integer"'
        )
    parts = key.split("..") if isinstance(key, str) else list(key) if isinstance(key, tuple) else [key]
    try:
        ends = [place_on(source, part) for part in parts]
    except (TypeError, ValueError):
        ends = []
    if not 1 <= len(ends) <= 2 or not _start(source) < ends[0] <= ends[-1] < _end(source) or any(e % 1 for e in ends):
        shown = "..".join(map(str, source.to_dict()["bounds"]))
        what = "a declared value, or two with .. between them, low..high"
        raise InvalidArgument(f"{label}[{source.name!r}]", key, what, repr(shown))
    pair = (ends[0] - 0.5, ends[-1] + 0.5)
    first, last = _written(source, [pair])
    return pair, str(first) if first == last else f"{first}..{last}"


def _value(column: Column, label: str, value: Any) -> tuple[Any, float]:
    """Read a value that follows; return it as plain data, and its place."""
    expected = f"a declared value of {column.name!r}"
    if isinstance(column, Categorical):
        try:
            place = int(place_on(column, value))
        except InvalidArgument:
            raise InvalidArgument(label, value, expected, repr(column.categories[0])) from None
        return column.categories[place], place + 0.5
    try:
        number = np.nan if isinstance(value, bool) else place_on(column, value)
    except (TypeError, ValueError):
        number = np.nan
    stepped = isinstance(column, (Integer, Date))
    if not column.low <= number <= column.high or (stepped and number % 1):
        raise InvalidArgument(label, value, expected, repr(column.to_dict()["bounds"][0]))
    return _written(column, [(number - 0.5, number + 0.5) if stepped else (number, number)])[0], float(number)


def _combination(columns: Mapping[str, Column], i: int, one: Any) -> Impossible:
    label = f"impossible[{i}]"
    if not isinstance(one, Mapping) or not 2 <= len(one) <= MOST_COLUMNS:
        what = "a mapping from two or three columns to values that do not occur together"
        some = [c for c in columns.values() if c.role not in NAMING][:2]
        fix = f"{{{', '.join(f'{c.name!r}: {_written(c, [(c.low, min(c.low + 1, c.high))])}' for c in some)}}}"
        if isinstance(one, Mapping):  # only the user knows what does not occur, so no value is proposed
            fix = f"adding a column to {', '.join(map(repr, one))}" if len(one) == 1 else "two or three of its columns"
            raise InvalidArgument(label, one, what, fix if one else "leaving it out")
        raise InvalidType(label, one, what, fix)
    found: list[Intervals] = []
    for name, value in one.items():
        column = _known(columns, label, name)
        try:
            alone = isinstance(column, (Date, Time)) and not isinstance(value, (list, tuple))
            pairs = stretches_of(column, (value, value) if alone else value)
        except (InvalidArgument, InvalidType) as error:
            raise type(error)(f"{label}: {name}", value, error.expected, error.fix) from None
        low, high = _start(column), _end(column)
        inside = [(max(a, low), min(b, high)) for a, b in pairs if a < high and b > low and a < b]
        if not inside:
            what, fix = "inside what is declared of it, and hold some of it", "leaving it out: no row is counted there"
            raise InvalidArgument(f"{label}: {name}", value, what, fix)
        found.append(inside)
    return _combined([columns[name] for name in one], found)


def _combined(columns: Sequence[Column], stretches: Sequence[Intervals]) -> Impossible:
    pairs = list(zip(columns, stretches, strict=True))
    return Impossible(
        tuple((column.name, tuple(inside)) for column, inside in pairs),
        tuple((column.name, _written(column, inside)) for column, inside in pairs),
        f"no row has {' and '.join(_text(column, inside) for column, inside in pairs)}",
    )


def _known(columns: Mapping[str, Column], label: str, name: Any) -> Column:
    if name not in columns:
        listed = ", ".join(map(repr, list(columns)[:20]))
        raise SchemaError(f"{label}: column {name!r} is not declared in the domain; declared: {listed}")
    if columns[name].role in NAMING:
        raise SchemaError(f"{label}: column {name!r} says whose row it is and is never released; leave it out")
    return columns[name]


def _start(column: Column) -> float:
    return column.low - 0.5 if isinstance(column, Date) else column.low


def _end(column: Column) -> float:
    return column.high + 0.5 if isinstance(column, Date) else column.high


def _written(column: Column, stretches: Sequence[tuple[float, float]]) -> list[Any]:
    """Return stretches as a schema file writes them: a list of categories, or the two ends of one."""
    if isinstance(column, Categorical):
        return [column.categories[i] for low, high in stretches for i in range(int(low), int(high))]
    if isinstance(column, Code):
        return [column.codes.label(int(low + 0.5), int(high - 0.5)) for low, high in stretches]
    ((low, high),) = stretches
    if not isinstance(column, (Integer, Date)):
        return [low, high]
    write = date_text if isinstance(column, Date) else time_text if isinstance(column, Time) else int
    return [write(low + 0.5), write(high - 0.5)]


def _text(column: Column, stretches: Sequence[tuple[float, float]]) -> str:
    written = _written(column, stretches)
    if isinstance(column, (Categorical, Code)):
        return f"{column.name} = {' or '.join(map(category_text, written))}"
    if isinstance(written[0], float):
        written = [short if float(short := f"{end:g}") == end else repr(end) for end in written]
    return f"{column.name} = {written[0]}" + ("" if written[0] == written[1] else f" to {written[1]}")
