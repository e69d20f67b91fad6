"""Questions in words: ``age between 30 and 40 and sex = 'f'``. A small grammar, read by hand; nothing is evaluated.

A question becomes a truth table over the stretches into which its constants divide the columns it names, by the
three-valued logic of SQL: what is said of a missing value is neither true nor false. The table is then put together
into boxes that do not overlap, which a synopsis can count.
"""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import Any

from discreet.core import (
    Categorical,
    Code,
    Column,
    Date,
    Domain,
    Integer,
    Time,
    category_text,
    day_number,
    nearest,
    second_number,
)
from discreet.errors import InvalidArgument, InvalidType
from discreet.synopses.queries.evenness import Query
from discreet.synopses.queries.truth import MOST_BOXES, Said, Tree, add_boxes, collect, stretches_of, truth_of

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<text>'(?:[^']|'')*')"
    r'|(?P<name>"(?:[^"]|"")*"|`[^`]*`)|(?P<word>[^\W\d]\w*)|(?P<sign><=|>=|<>|!=|==|[<>=(),]))'
)
_WORDS = {"and", "or", "not", "between", "in", "is", "missing", "null"}
#: Values of columns of truth values, in any case and without quotation marks.
_TRUTHS = ("true", "false")
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
#: Limits of what a question may be: characters, brackets in brackets, stretches of all columns.
_LONGEST, _DEEPEST, _CELLS = 10_000, 50, 100_000
_INF = math.inf
#: Where a missing value lies.
_GONE = [(math.nan, math.nan)]
#: Other spellings of values: what finds them, what they are replaced by, how a question is written.
_SPELLINGS: tuple[tuple[str, Any, str], ...] = (
    (r"(?<=\d),(?=\d)", ".", "written with decimal points, not commas"),
    (r"=\s*>|≥|=\s*<|≤", lambda m: ">=" if m[0][-1] in ">≥" else "<=", "written with '>=' or '<='"),
    (r"(?<!['\d])(\d{4}-\d\d-\d\d)(?!['\d])", r"'\1'", "written with dates in single quotation marks"),
)
#: Other signs for words.
_SIGNS = {"&&": "and", "&": "and", "||": "or", "|": "or", "!": "not"}
#: Figures that are not counts.
_FIGURES = ("mean", "average", "avg", "sum", "total", "median", "quantile", "mode", "min", "max", "std")
#: What to try if no question was meant that can be asked.
_HINTS = ("one of these columns", "one of these", "one of these comparisons", "these words", "quotation marks")
#: Parts of a question that are not changed by a correction: texts and names in quotation marks.
_QUOTED = r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`"
#: How people write days; a day is suggested where all ways that fit agree.
_DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%Y.%m.%d", "%d-%m-%Y", "%Y%m%d", "%Y")


def parse(domain: Domain, question: object, *, exact: bool = False) -> list[Query]:
    """Read a question; return boxes that do not overlap and cover it."""
    return read(domain, question, exact=exact)[0]


def read(domain: Domain, question: object, *, exact: bool = False) -> tuple[list[Query], str]:
    """Read a question; return boxes that do not overlap and cover it, and what the schema left out of it.

    With ``exact`` it is asked of rows, and a single real number has a place: ``> 0`` leaves out 0.
    """
    if not isinstance(question, str):
        raise InvalidType("question", question, "a text", _fix(domain, None))
    if len(question) > _LONGEST:
        raise InvalidArgument("question", f"{question[:40]}...", f"at most {_LONGEST:,} characters", _fix(domain, None))
    try:
        tree = _Reader(domain, question, exact).read()
    except _Wrong as wrong:
        expected, meant = _corrected(domain, question, wrong)
        raise InvalidArgument("question", _short(question), expected, _fix(domain, meant, question)) from None
    found: list[Said] = []
    collect(tree, found)
    axes = sorted({said.axis for said in found})
    edges = {axis: stretches_of(domain.columns[axis], [s for s in found if s.axis == axis]) for axis in axes}
    if math.prod(len(e) for e in edges.values()) > _CELLS:
        raise InvalidArgument(
            "question", _short(question), "about fewer different values", "parts, and their counts added"
        )
    boxes: list[Query] = []
    add_boxes(truth_of(tree, axes, edges) == 1, axes, edges, {}, boxes)
    if exact:  # a column that is named takes part, whatever is said of it
        boxes = [{**{axis: edges[axis] for axis in axes}, **box} for box in boxes]
    if len(boxes) > MOST_BOXES:
        raise InvalidArgument("question", _short(question), "about fewer combinations", "parts, and their counts added")
    gone = [c.name for i, c in enumerate(domain.columns) if c.missing == "drop" and Said(i, _GONE, True) in found]
    names = ", ".join(gone)
    return boxes, f'rows without a value in {names} were left out by the schema (missing = "drop")' if gone else ""


class _Wrong(Exception):
    """A wrong question: what it must be, and perhaps the question that was meant.

    If the fix is the ``same`` question with one mistake less, ``same`` is what to try if others remain.
    """

    def __init__(self, expected: str, fix: str | None = None, same: str = "") -> None:
        super().__init__(expected)
        self.expected, self.fix, self.same = expected, fix, same


def _corrected(domain: Domain, question: str, wrong: _Wrong, tries: int = 4) -> tuple[str, str | None]:
    """Return what is wrong with a question, and the question that was meant, perhaps with several corrections."""
    for pattern, other, spelling in _SPELLINGS:
        again = re.sub(pattern, other, question)
        if again != question and _reads(domain, again):
            return spelling, again
    again = _with_quotes(domain, question)
    if again != question and _reads(domain, again):
        return "written with names of odd characters in back quotes", again
    if wrong.same and wrong.fix is not None and tries:
        try:
            _Reader(domain, wrong.fix).read()
        except _Wrong as left:
            meant = _corrected(domain, wrong.fix, left, tries - 1)[1] if left.same else None
            return wrong.expected, wrong.same if meant is None or meant in _HINTS else meant
    return wrong.expected, wrong.fix


def _fix(domain: Domain, meant: str | None, question: object = "") -> str:
    """Return a question that can be read: the one that was meant, or an example; or a hint."""
    if meant in _HINTS:
        return str(meant)
    return f"question={(meant if meant is not None and _reads(domain, meant) else example(domain, question))!r}"


def _reads(domain: Domain, question: str) -> bool:
    try:
        _Reader(domain, question).read()
    except _Wrong:
        return False
    return len(question) <= _LONGEST


def example(domain: Domain, question: object) -> str:
    """Return a question about the first column that is named in the one that was asked, or of all."""
    column = next((c for c in domain if re.search(rf"\b{re.escape(c.name)}\b", str(question))), domain.columns[0])
    if isinstance(column, Categorical):
        return f"{column_text(column.name)} = {_literal(category_text(column.categories[0]))}"
    low, high = column.ends()
    if isinstance(column, Code):
        return f"{column_text(column.name)} = '{low[:1]}*'"
    ends = (f"'{low}'", f"'{high}'") if isinstance(column, (Date, Time)) else (f"{low:g}", f"{high:g}")
    return f"{column_text(column.name)} between {ends[0]} and {ends[1]}"


def _with_words(question: str) -> str:
    """Return a question with words for signs such as &."""
    signs = r"\s*(&&?|\|\|?)\s*|(!)\s*"

    def word(found: re.Match[str]) -> str:
        return f" {_SIGNS[found[1]]} " if found[1] else "not " if found[2] else found[0]

    return re.sub(rf"{_QUOTED}|!=|{signs}", word, question).strip()


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def column_text(name: str) -> str:
    """Write the name of a column as a question does: in back quotes if it has odd characters."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) and name.lower() not in _WORDS else f"`{name}`"


def _with_quotes(domain: Domain, question: str) -> str:
    """Return a question with back quotes around the names that need them and stand there without."""
    odd = {name.lower(): column_text(name) for name in domain.names if column_text(name) != name}
    if not odd:
        return question
    longest_first = "|".join(map(re.escape, sorted(odd, key=len, reverse=True)))
    return re.sub(
        rf"(?<![\w`'\"])({longest_first})(?![\w`'\"])", lambda m: odd.get(m[0].lower(), m[0]), question, flags=re.I
    )


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


class _Reader:
    """Reads tokens from left to right; one of a number, a text, a name, a word, a sign, each with its place."""

    def __init__(self, domain: Domain, question: str, exact: bool = False) -> None:
        self.domain, self.question, self.exact = domain, question, exact
        self.tokens: list[tuple[str, str]] = []
        self.at = self.depth = 0
        place, end = 0, len(question.rstrip())
        while place < end:
            match = _TOKEN.match(question, place)
            if match is None:
                rest = question[place:].lstrip()
                if rest[0] in "'\"`":
                    raise self.wrong(
                        f"closed at the end of every quotation; {rest[:20]!r} is not", question.rstrip() + rest[0]
                    )
                if sign := next((sign for sign in _SIGNS if rest.startswith(sign)), ""):
                    raise self.wrong(
                        f"written with {_SIGNS[sign]!r}, not {sign!r}", _with_words(question), "these words"
                    )
                raise self.wrong(f"written with comparisons, and, or, not; {rest[0]!r} is none of them")
            self.tokens.append((str(match.lastgroup), match.group(str(match.lastgroup))))
            place = match.end()

    def wrong(self, expected: str, fix: str | None = None, same: str = "") -> _Wrong:
        return _Wrong(expected, fix, same)

    def instead(self, text: str, other: str) -> str:
        """Return the question with one word changed."""
        return self.question.replace(text, other, 1)

    def peek(self, *words: str) -> bool:
        if self.at >= len(self.tokens):
            return False
        kind, text = self.tokens[self.at]
        return kind in ("word", "sign") and text.lower() in words

    def take(self, *words: str) -> bool:
        found = self.peek(*words)
        self.at += found
        return found

    def need(self, word: str, after: str) -> None:
        if not self.take(word):
            got = "its end" if self.at >= len(self.tokens) else repr(self.tokens[self.at][1])
            meant = f"{self.question})" if word == ")" else None
            raise self.wrong(f"written with {word!r} after {after}, where {got} is", meant)

    def read(self) -> Tree:
        if not self.tokens:
            raise self.wrong("a comparison of a column with a value")
        tree = self.either()
        if self.at < len(self.tokens):
            text = self.tokens[self.at][1]
            raise self.wrong(f"comparisons with 'and' or 'or' between them; {text!r} stands where one of these should")
        return tree

    def either(self) -> Tree:
        parts = [self.all_of()]
        while self.take("or"):
            parts.append(self.all_of())
        return parts[0] if len(parts) == 1 else ("or", parts)

    def all_of(self) -> Tree:
        parts = [self.one()]
        while self.take("and"):
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else ("and", parts)

    def one(self) -> Tree:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.wrong(f"at most {_DEEPEST} brackets or nots deep")
        if self.take("not"):
            tree: Tree = ("not", [self.one()])
        elif self.take("("):
            tree = self.either()
            self.need(")", "'('")
        else:
            tree = self.comparison()
        self.depth -= 1
        return tree

    def comparison(self) -> Tree:
        first = self.operand()
        if isinstance(first, int):
            turned = self.take("not")
            column = self.domain.columns[first]
            if self.take("between"):
                low = self.value(column)
                self.need("and", "'between'")
                return self.signed(turned, _between(self, first, column, low, self.value(column)))
            if self.take("in"):
                self.need("(", "'in'")
                values = [self.value(column)]
                while self.take(","):
                    values.append(self.value(column))
                self.need(")", "the values")
                return self.signed(turned, ("or", [_compare(self, first, column, "=", v) for v in values]))
            if self.peek("like", "ilike"):
                raise self.pattern(column, turned)
            if turned:
                raise self.wrong("written with 'between' or 'in' after a column and 'not'")
            if self.take("is"):
                turned = self.take("not")
                there = Said(first, [(-_INF, _INF)])
                if self.peek(*_TRUTHS):  # plainly false of a missing value
                    return self.signed(turned, ("and", [_compare(self, first, column, "=", self.value(column)), there]))
                if not self.take("missing", "null"):
                    raise self.wrong("written with 'missing' after 'is'", f"{column_text(column.name)} is missing")
                return there if turned else Said(first, _GONE, missing=True)
        parts = []
        while self.peek("<", ">", "<=", ">=", "=", "==", "!=", "<>"):
            sign = {"==": "=", "<>": "!="}.get(self.tokens[self.at][1], self.tokens[self.at][1])
            self.at += 1
            second = self.operand(first if isinstance(first, int) else None)
            if isinstance(first, int) == isinstance(second, int):
                raise self.wrong("comparisons of one column with one value")
            axis, value = (first, second) if isinstance(first, int) else (second, first)
            sign = sign if isinstance(first, int) else _TURNED[sign]
            parts.append(_compare(self, axis, self.domain.columns[axis], sign, value))
            first = second
        if not parts:
            named = f" {column_text(self.domain.columns[first].name)}" if isinstance(first, int) else ""
            typed = self.tokens[self.at][1] if self.at < len(self.tokens) else ""
            near = nearest(typed, ("between", "in", "is")) if len(typed) > 1 else None
            raise self.wrong(
                f"written with a comparison such as =, <, between or in after the column{named}",
                self.instead(typed, near) if near else None,
            )
        return parts[0] if len(parts) == 1 else ("and", parts)

    def pattern(self, column: Column, turned: bool) -> _Wrong:
        """Return the error about a pattern: a list of the categories that it fits, or the possible comparisons."""
        name, word = column_text(column.name), self.tokens[self.at][1]
        can = "=, !=, <, <=, >, >=, between or in"
        if isinstance(column, Code):
            typed = self.tokens[self.at + 1 : self.at + 2]
            start = typed[0][1].strip("'%").partition("%")[0] if typed else column.ends()[0][:1]
            return self.wrong(f"written with = or in for {name}, which has codes", f"{name} = {_literal(start + '*')}")
        if not isinstance(column, Categorical):
            expected = f"written with {can}; {word!r} is not possible, and {name} is not a text"
            return self.wrong(expected, "one of these comparisons")
        typed = self.tokens[self.at + 1 : self.at + 2]
        marks = {"%": ".*", "_": "."}
        fits = "".join(marks.get(c, re.escape(c)) for c in typed[0][1][1:-1]) if typed and typed[0][0] == "text" else ""
        found = [
            c for c in map(category_text, column.categories) if re.fullmatch(fits, c, re.IGNORECASE * (word[0] in "iI"))
        ]
        expected = f"written with = or in for {name}, which has categories; {word!r} is not possible"
        if not found or len(found) > 20:
            return self.wrong(expected, "one of these comparisons")
        listed = f"{'not ' * turned}in ({', '.join(map(_literal, found))})"
        before = rf"{'not' + chr(92) + 's+' if turned else ''}{word}\s*{re.escape(typed[0][1])}"
        return self.wrong(expected, re.sub(before, lambda _: listed, self.question, count=1, flags=re.IGNORECASE))

    @staticmethod
    def signed(turned: bool, tree: Tree) -> Tree:
        return ("not", [tree]) if turned else tree

    def operand(self, axis: int | None = None) -> Any:
        """Return the place of a column, or a value as (text, is it quoted)."""
        if self.at >= len(self.tokens):
            whole = re.sub(r"(\s+(and|or|not))+\s*$", "", self.question, flags=re.I)
            raise self.wrong(
                "complete: it ends where a column or a value should be", whole if whole != self.question else None
            )
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return text, False
        if kind == "text":
            return text[1:-1].replace("''", "'"), True
        if kind == "name" or (kind == "word" and text.lower() not in _WORDS):
            name = text[1:-1].replace('""', '"') if kind == "name" else text
            if name in self.domain.names:
                return self.domain.position(name)
            if name.lower() in _TRUTHS:
                return name, False
            if axis is not None:  # where a value belongs
                if kind == "name" and text[0] == '"':
                    return name, True
                column = self.domain.columns[axis]
                known = isinstance(column, Categorical) and name in map(category_text, column.categories)
                if known or kind == "name" or isinstance(column, Code):
                    raise self.wrong(
                        f"written with texts in quotation marks; {name!r} is not a column",
                        self.instead(text, _literal(name)),
                        "quotation marks",
                    )
                return name, False  # not a value of this column either
            if name.lower() in _FIGURES:
                raise self.wrong(
                    "a condition: it counts rows (means and quantiles: Synopsis.mean, .quantile in Python)"
                )
            near = nearest(name, self.domain.names)
            listed = ", ".join([*map(column_text, self.domain.names[:8]), *(["..."] if len(self.domain) > 8 else [])])
            raise self.wrong(
                f"about declared columns ({listed}); {name!r} is none",
                self.instead(text, column_text(near)) if near else "one of these columns",
                "one of these columns" if near else "",
            )
        raise self.wrong(f"a comparison; {text!r} stands where a column or a value should")

    def value(self, column: Column) -> tuple[str, bool]:
        found = self.operand(self.domain.position(column.name))
        if isinstance(found, int):
            raise self.wrong("comparisons of one column with one value")
        return found  # type: ignore[no-any-return]


def _place(reader: _Reader, column: Column, value: tuple[str, bool]) -> float:
    text, quoted = value
    name = column_text(column.name)
    if isinstance(column, Date):
        day = day_number(text) if quoted else None
        if day is None:
            days = {found.date().isoformat() for form in _DAYS if (found := _day(text, form))}
            such = next(iter(days)) if len(days) == 1 else column.ends()[1]
            typed = _literal(text) if quoted else text
            fix = reader.instead(typed, f"'{such}'") if such in days else f"{name} < '{such}'"
            raise reader.wrong(f"written with dates such as '{such}' for {name}", fix)
        return day
    if isinstance(column, Time):
        second = second_number(text) if quoted else None
        if second is None:
            raise reader.wrong(f"written with times of day such as '08:30' for {name}", f"{name} < '08:30'")
        return second
    if isinstance(column, Categorical):
        return float(_category(reader, column, value))
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if quoted or not math.isfinite(number):
        pointed = text.strip().replace(",", ".")
        if quoted and re.fullmatch(r"[-+]?\d+(\.\d+)?", pointed):
            raise reader.wrong(f"written with a plain number for {name}", reader.instead(_literal(text), pointed))
        raise reader.wrong(f"written with a number for {name}, which has no {text!r}", f"{name} < {column.ends()[1]:g}")
    return number


def _day(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form)
    except ValueError:
        return None


def _compare(reader: _Reader, axis: int, column: Column, sign: str, value: tuple[str, bool]) -> Tree:
    name = column_text(column.name)
    if isinstance(column, Categorical) and not column.ordered and sign not in ("=", "!="):
        raise _unordered(reader, column)
    if isinstance(column, Code):
        run = column.codes.meant(value[0])
        if run is None or sign not in ("=", "!="):
            what = "with = or in, a code or the beginning of one and a star"
            raise reader.wrong(f"about {name} {what}", f"{name} = {_literal(column.ends()[0][:1] + '*')}")
        here: Tree = Said(axis, [(run[0] - 0.5, run[1] + 0.5)])
        return here if sign == "=" else ("not", [here])
    at = _place(reader, column, value)
    if isinstance(column, Categorical):
        below, above = at, at + 1
    elif isinstance(column, (Integer, Date)):
        below, above = math.ceil(at) - 0.5, math.floor(at) + 0.5
    elif reader.exact:
        below, above = at, math.nextafter(at, _INF)
    elif sign in ("=", "!="):
        fix = f"{name} between {at:g} and {at + 1:g}"
        raise reader.wrong(f"about a stretch of {name}, a number without steps: hardly a row has exactly {at:g}", fix)
    else:
        below = above = at
    if sign == "!=":
        return ("not", [Said(axis, [(below, above)] if below < above else [])])
    ends = {"<": (-_INF, below), "<=": (-_INF, above), ">": (above, _INF), ">=": (below, _INF), "=": (below, above)}[
        sign
    ]
    return Said(axis, [ends] if ends[0] < ends[1] else [])


def _category(reader: _Reader, column: Categorical, value: tuple[str, bool]) -> int:
    """Return the number of a category."""
    known = {category_text(c): i for i, c in enumerate(column.categories)}
    text = value[0]
    if text not in known and text.lower() in _TRUTHS:
        same = [c for c in known if c.lower() == text.lower()]
        text = same[0] if len(same) == 1 else text
    elif text not in known and not value[1]:
        text = _number_text(text)
    if text not in known:
        near = nearest(text, list(known))
        listed = ", ".join([*map(_literal, list(known)[:8]), *(["..."] if len(known) > 8 else [])])
        what = f"about declared categories of {column_text(column.name)} ({listed}); {text!r} is none"
        typed = _literal(text) if value[1] else value[0]
        raise reader.wrong(what, reader.instead(typed, _literal(near)) if near else "one of these")
    return known[text]


def _unordered(reader: _Reader, column: Categorical | Code) -> _Wrong:
    first = column.ends()[0][:1] + "*" if isinstance(column, Code) else category_text(column.categories[0])
    fix = f"{column_text(column.name)} = {_literal(first)}"
    return reader.wrong(f"= or in for {column_text(column.name)}, which has categories", fix)


def _number_text(text: str) -> str:
    try:
        number = float(text)
    except ValueError:
        return text
    return category_text(int(number)) if number.is_integer() else text


def _between(reader: _Reader, axis: int, column: Column, low: tuple[str, bool], high: tuple[str, bool]) -> Tree:
    if (isinstance(column, Categorical) and not column.ordered) or isinstance(column, Code):
        raise _unordered(reader, column)
    if _place(reader, column, low) > _place(reader, column, high):
        turned = " and ".join(f"'{text}'" if quoted else text for text, quoted in (high, low))
        raise reader.wrong(
            "written with the smaller end of 'between' first", f"{column_text(column.name)} between {turned}"
        )
    return ("and", [_compare(reader, axis, column, ">=", low), _compare(reader, axis, column, "<=", high)])
