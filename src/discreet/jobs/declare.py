"""How a job says what it takes: options declared once, read by files, shells, pages and error messages alike.

An `Option` has a type, bounds, a default, words and an example that does. A `Kind` of job is a list of them. Plain
classes and not a library for models: an error has to name the option as it was typed, on a command line or in a file,
and has to suggest something that is accepted there. Nothing here imports the numerical libraries.
"""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from discreet.core import SURE_DELTA, unfit
from discreet.errors import DiscreetError, FormatError, InvalidArgument, ReleaseConflict, SchemaError
from discreet.jobs.options import FILE, FILES, LARGEST, NEEDED_SCHEMA, PAGE, PAIRS, SCHEMA, SURE, WORDS, Door, Option

#: Words for an error: a text, or what makes it from a way to spell options.
Words = str | Callable[["Speech"], str]
#: What to do instead: likewise, or an option and a value that does.
Fix = Words | tuple[str, Any]


@dataclass(frozen=True)
class Speech:
    """The options of a kind of job, spelt for one door: ``say("method", "tree")`` is ``--method tree`` in a shell."""

    kind: Kind
    door: Door

    def __call__(self, name: str, *value: Any) -> str:
        """Return an option's name, or what is written to give it a value."""
        option = self.kind.option(name)
        return self.door.given(option, value[0]) if value else self.door.name(option)


class WrongOption(InvalidArgument):
    """An option of a job has a value that cannot be used; said in the words of a job file, or of a command line.

    Parameters
    ----------
    kind : Kind
        The kind of job.
    name : str
        The option.
    value : object
        What was given.
    expected, fix : Words
        As in `InvalidArgument`; without a fix the example of the option is one, or leaving it out if that is expected.
    part : str
        Of an option for several columns, what follows its name: " of column 'age'".
    """

    def __init__(
        self, kind: Kind, name: str, value: object, expected: Words, fix: Fix | None = None, part: str = ""
    ) -> None:
        self.kind, self.option, self.part, self._words = kind, kind.option(name), part, (expected, fix)
        self.value = value
        super().__init__(*self._said(FILE))

    def _said(self, door: Door) -> tuple[str, object, str, str]:
        say = Speech(self.kind, door)
        expected, fix = self._words
        if fix is None:
            unwanted = isinstance(expected, str) and expected.startswith("left out")
            fix = "leaving it out" if unwanted else (self.option.name, self.option.example)
        said = [
            words if isinstance(words, str) else say(*words) if isinstance(words, tuple) else words(say)
            for words in (expected, fix)
        ]
        return door.name(self.option) + self.part, self.value, said[0], said[1]

    def said(self, door: Door) -> str:
        """Return the message for a door."""
        return str(InvalidArgument(*self._said(door)))


def spoken(error: DiscreetError, door: Door) -> DiscreetError:
    """Return an error in the words of a door, if it names options."""
    if isinstance(error, WrongOption):
        InvalidArgument.__init__(error, *error._said(door))
    elif (speak := getattr(error, "speak", None)) is not None:
        return type(error)(speak(door))
    return error


@dataclass(frozen=True)
class Kind:
    """A kind of job: what it is for and everything that it takes.

    Attributes
    ----------
    name, verb : str
        Its name in a file, and the words of the command line.
    summary, help : str
        What it does, in a line; and for the help page.
    parameters, outputs : tuple of Option
        What it takes and what it writes.
    data : Option or None
        What it works on.
    schema : {"needed", "optional", ""}
        Whether columns are declared.
    examples : tuple of str
        Command lines.
    failed : str
        What exit code 1 means, if it has one.
    together : callable or None
        Refuses options that do not go together; given a job.
    shortcuts : mapping
        Flags that stand for a value of an option: ``{"sphere": ("method", "sphere", "help")}``.
    classes : mapping
        From the classes of Python that errors may suggest to the values of the option `method`.
    priced_by : str
        The option without which nothing is spent, so that no account can be charged.
    """

    name: str
    summary: str
    help: str
    parameters: tuple[Option, ...]
    outputs: tuple[Option, ...] = ()
    data: Option | None = None
    schema: str = ""
    examples: tuple[str, ...] = ()
    verb: str = ""
    failed: str = ""
    together: Callable[[Any], None] | None = None
    shortcuts: Mapping[str, tuple[str, Any, str]] = field(default_factory=dict)
    classes: Mapping[str, str] = field(default_factory=dict)
    priced_by: str = ""

    def __post_init__(self) -> None:
        if any(o.name == "report" for o in self.outputs) and self.name != "report":
            object.__setattr__(self, "parameters", (*self.parameters, *PAGE))

    @property
    def words(self) -> str:
        """The words of the command line."""
        return self.verb or self.name

    def options(self) -> Iterator[Option]:
        """Go through everything that can be given."""
        yield from (() if self.data is None else (self.data,))
        yield from ((NEEDED_SCHEMA if self.schema == "needed" else SCHEMA,) if self.schema else ())
        yield from (*self.parameters, *self.outputs)

    def option(self, name: str) -> Option:
        """Return an option by its name."""
        return next(o for o in (*self.options(), SCHEMA) if o.name == name)

    def has_price(self, given: Mapping[str, Any]) -> bool:
        """Return whether a job with these parameters spends a budget that adds up over releases."""
        return any(o.name == "account" for o in self.parameters) and self.priced_by in ("", *given)

    def wrong(self, name: str, value: object, expected: Words, fix: Fix | None = None) -> WrongOption:
        """Return an error about an option."""
        return WrongOption(self, name, value, expected, fix)

    def check(self, section: str, given: Mapping[str, Any], options: Sequence[Option]) -> dict[str, Any]:
        """Check a section of a job: names, types, bounds, choices, methods, and that nothing needed is absent."""
        known(f"[{section}]", given, [o.name for o in options])
        for each in options:
            if each.required and each.name not in given:
                raise self.wrong(each.name, None, f"given: {each.help}")
        clean = {o.name: check(self, o, given[o.name]) for o in options if o.name in given}
        method = clean.get("method") or next((o.default for o in options if o.name == "method"), None)
        for each in options:
            if each.name in clean and each.methods and method not in each.methods:
                first, *others = each.methods

                def used(say: Speech, first: str = first, others: Sequence[str] = others) -> str:
                    return f"used with {' or '.join([say('method', first), *others])}"

                raise self.wrong(each.name, clean[each.name], used, ("method", first))
        return clean

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return what was given, under the names of Python."""
        return {o.arguments[0]: given[o.name] for o in self.parameters if o.name in given and o.arguments}

    def refused(self, words: Callable[[Speech], str], error: type[DiscreetError] = SchemaError) -> DiscreetError:
        """Return an error in a sentence of its own, which names options as its door does."""
        made: Any = error(words(Speech(self, FILE)))
        made.speak = lambda door: words(Speech(self, door))
        return made  # type: ignore[no-any-return]

    def translated(self, error: DiscreetError) -> DiscreetError:
        """Return an error of the library as one about the options behind its arguments, if there are any."""
        by_argument = {o.arguments[0]: o.name for o in self.parameters if o.arguments}
        if isinstance(error, SchemaError) and error.fix and set(error.fix) <= set(by_argument):
            fix = {by_argument[name]: value for name, value in error.fix.items()}
            text = error.text
            return self.refused(lambda say: f"{text}; try {', '.join(say(n, v) for n, v in fix.items())}", type(error))
        if isinstance(error, (WrongOption, ReleaseConflict)) or not isinstance(error, InvalidArgument):
            return error
        name, of, column = error.name.partition("[")[0].partition(" of column ")
        found = next((o for o in self.parameters if name in (o.arguments or (o.name,))), None)
        if found is None:
            return error
        return WrongOption(self, found.name, error.value, error.expected, self._fix(found, error), of + column)

    def _method(self, word: str, say: Speech) -> str:
        """Return the name of a class as the method that it does."""
        return say("method", self.classes[word]) if word in self.classes else word

    def _fix(self, about: Option, error: InvalidArgument) -> Fix:
        """Return what the library suggests, spelt as options; or the example of the option if that is not a value."""
        try:
            call = ast.parse(f"f({error.fix})", mode="eval").body
            assert isinstance(call, ast.Call)
            values = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
        except (SyntaxError, ValueError):
            return lambda say: re.sub(r"[A-Z]\w+", lambda found: self._method(found[0], say), error.fix)
        options = {o.arguments[0]: o for o in self.parameters if o.arguments}
        options.update(dict.fromkeys(about.arguments or (about.name,), about))
        if not values or not set(values) <= set(options):
            return (about.name, about.example) if not values else ""
        try:
            chosen = {options[str(n)].name: check(self, options[str(n)], v) for n, v in values.items()}
        except InvalidArgument:
            return about.name, about.example
        return lambda say: ", ".join(say(name, value) for name, value in chosen.items())


def known(where: str, given: Iterable[str], names: Iterable[str]) -> None:
    """Refuse a name that is not among those known, and say which is nearest."""
    listed = list(names)
    for name in given:
        if name not in listed:
            near = get_close_matches(str(name), listed, 1, 0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(listed)}"
            raise FormatError(f"{where} has no key {str(name)!r}; {hint}")


def check(kind: Kind, option: Option, value: Any) -> Any:
    """Return a value that an option takes, or raise.

    Types: number, budget (positive, or inf), whole, text, flag, file and table (read), output (written), names and
    numbers (a list; with commas on a command line), list and files (a list; repeated there), pairs, whole pairs, file
    pairs and figures (a table).
    """
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, tuple):
        value = list(value)
    for text in _flat(value):
        if isinstance(text, str) and (expected := unfit(text)):
            raise kind.wrong(option.name, text, expected, (option.name, option.example))
    fitting = [t for t in option.takes if _fits(value, t)]
    if not fitting:
        words = " or ".join(WORDS[t] for t in option.takes)
        table = bool(set(option.takes) & set(PAIRS)) and not isinstance(value, dict)
        meant = _number(value.replace(",", "."), "number") if isinstance(value, str) else None
        fix = (option.name, meant) if _numeric(option) and meant is not None and _within(option, meant) else None
        raise kind.wrong(option.name, value, words if table else option.expected or words, fix)
    if option.choices and {"text", "names"} & set(fitting):
        for text in [value] if isinstance(value, str) else value:
            if isinstance(text, str) and text not in option.choices:
                near = (get_close_matches(text, option.choices, 1, 0.6) or option.choices)[0]
                raise kind.wrong(option.name, text, _one_of(option), (option.name, near))
    for number in _flat(value):
        if isinstance(number, (int, float)) and not isinstance(number, bool) and not _within(option, number):
            near = _nearest(option, number) if number is value else option.example
            raise kind.wrong(option.name, value, _bounds(option), (option.name, near))
    if fitting[0] in (*FILES, "output"):
        for text in _flat(value):
            if isinstance(text, str) and (expected := unfit(text, path=True)):
                raise kind.wrong(option.name, text, expected)
    if fitting[0] in FILES and isinstance(value, str) and "files" in option.takes:
        value = [value]
    return value


def one_budget(kind: Kind, given: Mapping[str, Any]) -> None:
    """Refuse all but one budget: epsilon, with a delta or without, or rho with a delta."""
    if ("epsilon" in given) == ("rho" in given):
        expected = "left out with rho" if "rho" in given else "given: " + kind.option("epsilon").help
        raise kind.wrong("epsilon", given.get("epsilon"), expected, ("rho", given["rho"]) if "rho" in given else None)
    if "rho" in given and "delta" not in given:
        raise kind.wrong("delta", None, "given with rho: where its epsilon is stated")
    rho, delta = given.get("rho", 0.0), given.get("delta", 0.5)
    # What rho amounts to, from above (Bun and Steinke 2016, proposition 1.3).
    said_twice(kind, {**given, "rho": rho + 2 * math.sqrt(-rho * math.log(delta))}, "rho")
    said_twice(kind, given)


def said_twice(kind: Kind, given: Mapping[str, Any], name: str = "epsilon") -> None:
    """Refuse a budget that promises next to nothing, unless it is said twice.

    For budgets that compare any two rows or values; one that holds at a distance is large or small by that distance.
    """
    budget, delta = given.get(name, 0.0), given.get("delta", 0.0)
    if given.get("yes_really"):
        return
    if delta > SURE_DELTA:
        means = f"with chance {delta:g} anything may come out about anybody; a delta is below one in the number of rows"
        expected = f"at most {SURE_DELTA:g} unless it is said twice ({means})"
        raise kind.wrong("delta", delta, expected, lambda say: f"{say('delta', 1e-6)}, or {say('yes_really', True)}")
    if budget <= SURE:
        return
    means = (
        "there is no noise at all, and what is counted of a person can be read"
        if budget == math.inf
        else f"a release may be e^{budget:g} times as likely with somebody's row as without it, which hides nobody"
    )
    expected = f"at most {SURE} unless it is said twice (above {SURE} it promises next to nothing: {means})"
    raise kind.wrong(name, budget, expected, ("yes_really", True))


def one_unit(kind: Kind, given: Mapping[str, Any]) -> None:
    """Refuse two units."""
    if "unit" in given and ("person" in given or "person_rows" in given):
        named = "person" if "person" in given else "person_rows"
        raise kind.wrong(named, given[named], "left out where the unit is a row", "leaving it, or the unit, out")


def _numeric(option: Option) -> bool:
    return bool({"number", "budget"} & set(option.takes))


def _flat(value: Any) -> Iterator[Any]:
    """Go through the single values of lists and tables."""
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _flat(part)
    else:
        yield value


def _fits(value: Any, kind: str) -> bool:
    if kind in ("number", "budget"):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "whole":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind in ("text", "file", "table", "output", "folder"):
        return isinstance(value, str) and bool(value)
    if kind == "flag":
        return isinstance(value, bool)
    if kind in PAIRS:
        if not isinstance(value, dict) or not value:
            return False
        if kind == "list pairs":
            return all(_fits(v, "numbers") for v in value.values())
        types = {"pairs": (int, float, str), "file pairs": str, "whole pairs": int}.get(kind, (int, float))
        return all(isinstance(v, types) for v in value.values())  # type: ignore[arg-type]
    if kind == "files" and isinstance(value, str):
        return bool(value)
    allowed = (int, float) if kind == "numbers" else str if kind == "files" else (str, int, float)
    filled = isinstance(value, list) and len(value) > 0
    return filled and all(isinstance(v, allowed) and not isinstance(v, bool) for v in value)


def _within(option: Option, number: float) -> bool:
    if "budget" in option.takes:
        return 0 < number <= LARGEST or number == math.inf
    bounded = "number" in option.takes or any(b is not None for b in (option.low, option.above))
    if bounded and not abs(number) <= 1e308:  # also of a whole number that no float can hold
        return False
    return (
        (option.low is None or number >= option.low)
        and (option.high is None or number <= option.high)
        and (option.above is None or number > option.above)
        and (option.below is None or number < option.below)
    )


def _bounds(option: Option) -> str:
    """Say in words what numbers are taken."""
    if option.expected:
        return option.expected
    if "budget" in option.takes:
        return "a positive finite number (or inf for a run without privacy)"
    thing = "a whole number" if {"whole", "whole pairs"} & set(option.takes) else "a number"
    if option.above == 0 and option.high is None and option.below is None:
        return "a positive finite number"
    if option.above is not None and option.below is not None:
        return f"{thing} strictly between {option.above:g} and {option.below:g}"
    if option.high is not None:
        start = f"from {option.low:g}" if option.low is not None else f"above {option.above:g} and up"
        return f"{thing} {start} to {option.high:g}"
    return "a finite number" if option.low is None else f"{thing} of at least {option.low:g}"


def _nearest(option: Option, number: float) -> Any:
    if "whole" in option.takes and option.low is not None and number < option.low:
        return max(int(option.low), 1)
    if "whole" in option.takes and option.high is not None and number > option.high:
        return int(option.high)
    return option.example if not isinstance(option.example, str) else 1


def _one_of(option: Option) -> str:
    if option.expected:
        return option.expected
    others = [WORDS[t] for t in option.takes if t != "text"]
    return ", or ".join([f"one of {', '.join(map(repr, option.choices))}", *others])


def read(kind: Kind, option: Option, texts: Sequence[str]) -> Any:
    """Return what words of a command line give as the value of an option."""
    text = texts[-1] if texts else ""
    for form in option.takes:
        if form in PAIRS:
            parts = [p.strip() for t in texts for p in t.split(",")] if form == "figures" else list(texts)
            return _read_pairs(kind, option, parts, form)
        if form == "list":
            return [part.strip() for t in texts for part in t.split(",") if part.strip()]
        if form == "files":
            return [*texts]
        if form in ("number", "budget", "whole"):
            found = _number(text, form)
            if found is not None:
                return found
        elif form == "text" and not (option.choices and len(option.takes) > 1 and text not in option.choices):
            return text
        elif form == "numbers":
            numbers = [_number(part, "number") for part in text.split(",")]
            if None not in numbers:
                return numbers
        elif form == "names" and ("," in text or not {"file", "text"} & set(option.takes)):
            return [part.strip() for part in text.split(",") if part.strip()]
        elif form in ("file", "table", "output", "folder") and not ("names" in option.takes and "," in text):
            return text
    return text


def _number(text: str, form: str) -> float | None:
    try:
        return int(text) if form == "whole" else float(text)
    except ValueError:
        return None


def _read_pairs(kind: Kind, option: Option, texts: Sequence[str], form: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, given = (part.strip() for part in text.partition("="))
        value: Any = given
        if form == "list pairs":
            numbers = [_number(part, "number") for part in given.split(",")]
            value = None if None in numbers else numbers
        elif form == "figures":
            value = _number(given, "number")
        elif form != "file pairs":
            value = _number(given, "whole") if given.isascii() else None
            value = given if value is None and form == "pairs" else value
        if not (equals and name and given) or value is None or name in found:
            raise kind.wrong(option.name, text, option.expected or "NAME=VALUE, once for every name")
        found[name] = value
    return found
