"""Kinds of job: what a job takes, and how values are checked.

A `Kind` reads its options from the estimators that it runs (`discreet.core.options`) and adds those that belong to the
job: files, accounts, units. Errors name an option as it was typed, on a command line or in a file, and suggest a value
that works there. Nothing here imports the numerical libraries.
"""

from __future__ import annotations

import ast
import inspect
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from typing import Any

from discreet.core import FILE_TYPES, PAIR_TYPES, SURE_DELTA, Option, unfit
from discreet.errors import DiscreetError, FormatError, InvalidArgument, ReleaseConflict, SchemaError
from discreet.jobs.options import FILE, NEEDED_SCHEMA, PAGE, SCHEMA, SIGN, SURE, Door

#: A text, or a function that writes it for a spelling of options.
Words = str | Callable[["Speech"], str]
#: A suggestion: the same, or an option and a value that works.
Fix = Words | tuple[str, Any]


@dataclass(frozen=True)
class Speech:
    """Spells the options of a kind: ``say("method", "tree")`` is ``--method tree`` on a command line."""

    kind: Kind
    door: Door

    def __call__(self, name: str, *value: Any) -> str:
        """Return the name of an option, or what to write to give it a value."""
        option = self.kind.option(name)
        return self.door.given(option, value[0]) if value else self.door.name(option)


class WrongOption(InvalidArgument):
    """A value of an option of a job cannot be used.

    Without a fix, the example of the option is suggested, or to leave it out. ``part`` follows the name in the message.
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
        """Return the message in one spelling."""
        return str(InvalidArgument(*self._said(door)))


def spoken(error: DiscreetError, door: Door) -> DiscreetError:
    """Return an error in one spelling, if it names options."""
    if isinstance(error, WrongOption):
        InvalidArgument.__init__(error, *error._said(door))
    elif (speak := getattr(error, "speak", None)) is not None:
        return type(error)(speak(door))
    return error


@dataclass(frozen=True)
class Kind:
    """A kind of job."""

    name: str  # in a job file
    summary: str  # in a few words; `help` has sentences
    help: str
    #: Options of the job. One with the name of a declared option changes only what it states.
    own: tuple[Option, ...] = ()
    #: Classes that declare the other options, by value of the option `method`; as "module:Class" or
    #: "module:Class?argument=value", so that they are imported when needed. A single class has the key "".
    estimators: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[Option, ...] = ()
    data: Option | None = None
    schema: str = ""  # "needed", "optional" or ""
    examples: tuple[str, ...] = ()  # command lines
    verb: str = ""
    failed: str = ""  # meaning of exit code 1, if it has one
    together: Callable[[Any], None] | None = None  # refuses options that do not go together; called with a job
    #: Refuses input that no options make usable, before options are asked for; called with the data and the folder
    suits: Callable[[Any, Any], None] | None = None
    #: Flags that stand for a value of an option: ``{"sphere": ("method", "sphere", "help")}``
    shortcuts: Mapping[str, tuple[str, Any, str]] = field(default_factory=dict)
    priced_by: str = ""  # the option without which no ε is spent; "-" if none ever is

    @cached_property
    def parameters(self) -> tuple[Option, ...]:
        """Return all options but data, schema and outputs."""
        from discreet.jobs.kept import kept

        pages = any(o.name == "report" for o in self.outputs) and self.name != "report"
        found = kept(self.name, self._declared) if self.estimators else self.own
        signs = any(o.name in ("release", "report") for o in self.outputs)
        return (*found, *(PAGE if pages else ()), *((SIGN,) if signs else ()))

    def estimator(self, method: str | None = None) -> Any:
        """Return the class that does the work, for a value of the option `method`."""
        found = self.estimators[method or next(iter(self.estimators))]
        if not isinstance(found, str):
            return found
        module, _, name = found.partition("?")[0].partition(":")
        return getattr(import_module(module), name)

    def make(self, method: str | None = None, **arguments: Any) -> Any:
        """Return an estimator for a value of the option `method`."""
        found = str(self.estimators[method or next(iter(self.estimators))])
        fixed = dict(pair.split("=") for pair in found.partition("?")[2].split("&") if pair)
        return self.estimator(method)(**fixed, **arguments)

    def _declared(self) -> list[Option]:
        """Return own options and those of the estimators: budgets first, then required ones, shared ones, others."""
        own, methods = {each.name: each for each in self.own}, list(self.estimators)
        found: dict[str, Option] = {}
        owners: dict[str, list[str]] = {}
        defaults: dict[str, dict[str, Any]] = {}
        for method in methods:
            cls = self.estimator(method)
            declared = getattr(cls, "declared", {})
            for name in declared or inspect.signature(cls).parameters:
                owners.setdefault(name, []).append(method)
            for each in declared.values():
                named = each.job or each.name
                if named != "-" and (each.takes or named in own):
                    found[named] = _shared(found[named], each) if named in found else each
                    defaults.setdefault(named, {})[method] = each.default
        made = {}
        for name in {**found, **own}:
            each = _for_jobs(found[name], name, own.get(name)) if name in found else own[name]
            if each.default is None and (said := _by_method(defaults.get(name, {}))):
                each = replace(each, help=f"{each.help.removesuffix('.')} (by default {said}).")
            belongs = owners.get(each.arguments[0], methods) if each.arguments else methods
            made[name] = replace(each, methods=tuple(belongs)) if len(belongs) < len(methods) else each
        if {"epsilon", "rho"} <= set(made) and made["epsilon"].required:  # one of them will do
            made["epsilon"] = replace(made["epsilon"], required=False, shown=True)
        if "method" in made and "" not in self.estimators:
            fixed: dict[str, Any] = {"choices": tuple(methods), "default": methods[0], "example": methods[0]}
            made["method"] = replace(made["method"], takes=("text",), shown=True, arguments=(), methods=(), **fixed)

        def place(name: str) -> tuple[int, int]:
            mine = list(own).index(name) if name in own else 0
            if name in _BUDGETS and "epsilon" in made:
                return 0, _BUDGETS.index(name)
            if name == "method" or made[name].required:
                return 1, mine
            if name in found and found[name].takes:
                return (2, 0) if not made[name].methods else (3, methods.index(made[name].methods[0]))
            return 4, mine

        return [made[name] for name in sorted(made, key=place)]

    @property
    def words(self) -> str:
        """Return the words of the command line."""
        return self.verb or self.name

    def options(self) -> Iterator[Option]:
        """Yield everything that can be given."""
        yield from (() if self.data is None else (self.data,))
        yield from ((NEEDED_SCHEMA if self.schema == "needed" else SCHEMA,) if self.schema else ())
        yield from (*self.parameters, *self.outputs)

    def option(self, name: str) -> Option:
        return next(o for o in (*self.options(), SCHEMA) if o.name == name)

    def has_price(self, given: Mapping[str, Any]) -> bool:
        """Return whether a job with these parameters spends a budget that adds up over releases."""
        return any(o.name == "account" for o in self.own) and self.priced_by in ("", *given)

    def wrong(self, name: str, value: object, expected: Words, fix: Fix | None = None) -> WrongOption:
        """Return an error about an option."""
        return WrongOption(self, name, value, expected, fix)

    def check_columns(self, name: str, wanted: Sequence[Any], there: Sequence[str], which: str) -> None:
        """Refuse columns that are not there, and suggest those that were probably meant."""
        absent = [str(each) for each in wanted if str(each) not in there]
        if absent:
            from discreet.core import nearest

            meant = [str(each) if str(each) in there else nearest(each, there) for each in wanted]
            value = list(dict.fromkeys(meant)) if {"names", "list"} & set(self.option(name).takes) else meant[0]
            if len(there) == 1:  # no other can be meant
                value = there[0] if isinstance(value, str) or value is None else [*there]
            fix: Fix = "one of these" if None in meant and len(there) > 1 else (name, value)
            shown = ", ".join(there[:20]) + (", ..." if len(there) > 20 else "")
            raise self.wrong(name, absent[0], f"{which} ({shown})", fix)

    def check(self, section: str, given: Mapping[str, Any], options: Sequence[Option]) -> dict[str, Any]:
        """Check a section of a job: names, types, bounds, choices, methods, and that nothing required is absent."""
        called = {o.arguments[0]: o.name for o in options if o.arguments and o.arguments[0] != o.name}
        known(f"[{section}]", given, [o.name for o in options], called)
        for each in options:
            if each.required and each.name not in given:
                raise self.wrong(each.name, None, must_give(each))
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
        """Return the values by the names of arguments in Python."""
        return {o.arguments[0]: given[o.name] for o in self.parameters if o.name in given and o.arguments}

    def refused(self, words: Callable[[Speech], str], error: type[DiscreetError] = SchemaError) -> DiscreetError:
        """Return an error with a sentence of its own, which spells options as they were typed."""
        made: Any = error(words(Speech(self, FILE)))
        made.speak = lambda door: words(Speech(self, door))
        return made  # type: ignore[no-any-return]

    def translated(self, error: DiscreetError) -> DiscreetError:
        """Return an error of the library as one about the options of the job, if it names any."""
        by_argument = {o.arguments[0]: o.name for o in self.parameters if o.arguments}
        named = error.fix if isinstance(error, SchemaError) else getattr(error, "advice", {})
        if isinstance(error, (SchemaError, ReleaseConflict)) and named and set(named) <= set(by_argument):
            fix = {by_argument[name]: value for name, value in named.items()}
            text = error.text + ("; try" if isinstance(error, ReleaseConflict) else "")
            return self.refused(lambda say: f"{text} {', '.join(say(n, v) for n, v in fix.items())}", type(error))
        if isinstance(error, (WrongOption, ReleaseConflict)) or not isinstance(error, InvalidArgument):
            return error
        name, of, column = error.name.partition("[")[0].partition(" of column ")
        found = next((o for o in self.parameters if name in (o.arguments or (o.name,))), None)
        if found is None:
            if error.name != "domain":
                return error
            said = "schema", error.value, error.expected
            return self.refused(lambda say: str(InvalidArgument(*said, self._spelled(error.fix, say))))

        def expected(say: Speech) -> str:
            named = {argument: say(option) for argument, option in by_argument.items() if "_" in argument}
            return re.sub(r"\b[a-z]+_\w+", lambda word: named.get(word[0], word[0]), error.expected)

        return WrongOption(self, found.name, error.value, expected, self._fix(found, error), of + column)

    def _spelled(self, text: str, say: Speech) -> str:
        """Return a text with the names of classes as values of the option `method`."""
        methods = {str(place).rpartition(":")[2]: method for method, place in self.estimators.items()}
        return re.sub(
            r"[A-Z]\w+", lambda word: say("method", methods[word[0]]) if methods.get(word[0]) else word[0], text
        )

    def _fix(self, about: Option, error: InvalidArgument) -> Fix:
        """Return the suggestion of the library in terms of options, or the example of the option."""
        try:
            call = ast.parse(f"f({error.fix})", mode="eval").body
            assert isinstance(call, ast.Call)
            if any(isinstance(each, ast.BoolOp) for each in call.args):
                raise ValueError("'This or That' parses, but it is a sentence")
            values = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
        except (SyntaxError, ValueError):
            first, _, more = error.fix.partition(", or ")
            if more and re.match(r"\w+=", first):  # the rest is a sentence about Python
                return self._fix(about, InvalidArgument(error.name, error.value, error.expected, first))
            return lambda say: self._spelled(error.fix, say)
        options = {o.arguments[0]: o for o in self.parameters if o.arguments}
        options.update(dict.fromkeys(about.arguments or (about.name,), about))
        if not values or not set(values) <= set(options):
            return (about.name, about.example) if not values else ""
        try:
            listed = {n: [v] if isinstance(v, str) and {"names", "list"} & set(options[str(n)].takes) else v
                for n, v in values.items()}  # fmt: skip
            chosen = {options[str(n)].name: check(self, options[str(n)], v) for n, v in listed.items()}
        except InvalidArgument:
            return about.name, about.example
        return lambda say: ", ".join(say(name, value) for name, value in chosen.items())


_BUDGETS = ("epsilon", "delta", "rho")


def _shared(first: Option, other: Option) -> Option:
    """Return an option that two estimators declare, with the types that both accept and the default they share."""
    takes = tuple(form for form in first.takes if form in other.takes)
    texts = dict.fromkeys([*first.choices, *other.choices]) if {"text", "names"} & set(takes) else ()
    example = first.example if first.takes == takes else other.example
    default = first.default if first.default == other.default else None
    example = first.default if example is None else example
    return replace(first, takes=takes, choices=tuple(texts), example=example, default=default)


def _by_method(defaults: Mapping[str, Any]) -> str:
    """Describe defaults that differ between methods; empty if they do not."""
    methods: dict[Any, list[str]] = {}
    for method, default in defaults.items():
        if default not in (None, "", ()):
            methods.setdefault(default, []).append(method)
    differ = len(methods) > 1 or sum(map(len, methods.values())) not in (0, len(defaults))
    return ", ".join(f"{value:g} with {' or '.join(which)}" if isinstance(value, float) else
        f"{value} with {' or '.join(which)}" for value, which in methods.items()) if differ else ""  # fmt: skip


def _for_jobs(each: Option, name: str, own: Option | None) -> Option:
    """Return a declared option as a job offers it: with its name there, without a default budget, and with changes."""
    made: dict[str, Any] = {"name": name, "arguments": (each.name,), "help": each.help.replace("`", "")}
    if each.takes == ("budget",) and each.default is not None:
        made |= {"default": None, "example": each.default, "required": True}
    elif each.default is False or each.default == ():  # off, or empty, unless it is given
        made |= {"default": None, "example": True if each.example is None else each.example}
    elif each.example is None:
        made["example"] = each.default
    if own is not None:
        plain = Option("")
        stated = {part.name: getattr(own, part.name) for part in fields(Option) if part.name != "name"}
        made |= {part: value for part, value in stated.items() if value != getattr(plain, part)}
        made |= {"default": None, "example": made.get("example", each.default)} if own.required else {}
    return replace(each, **made)


def must_give(option: Option) -> str:
    """Return the words of an error about a required option."""
    text = option.help.removesuffix(".")
    return f"given: {text[:1].lower() if text[1:2].islower() or text[1:2] == ' ' else text[:1]}{text[1:]}"


def known(where: str, given: Iterable[str], names: Iterable[str], called: Mapping[str, str] | None = None) -> None:
    """Refuse an unknown name and suggest the nearest, or the one that is ``called`` otherwise in Python."""
    listed = list(names)
    for name in given:
        if name not in listed:
            near = get_close_matches(str(name), listed, 1, 0.6)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(listed)}"
            hint = f"here it is called {called[name]!r}" if called and name in called else hint
            raise FormatError(f"{where} has no key {str(name)!r}; {hint}")


def check(kind: Kind, option: Option, value: Any) -> Any:
    """Return a value that an option takes, or raise; see `Option` for the types."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, tuple):
        value = list(value)
    fits = [form for form in option.takes if _fits(value, form)]
    paths = bool(fits) and fits[0] in (*FILE_TYPES, "output")
    for text in _flat(value):
        if isinstance(text, str) and (expected := unfit(text, path=paths)):
            raise kind.wrong(option.name, text, expected, (option.name, option.example))
    listed = option.choices if {"text", "names"} & set(fits) else ()
    wrong = [] if fits else [value]
    for part in _flat(value):
        number = isinstance(part, (int, float)) and not isinstance(part, bool)
        wrong += [part] if isinstance(part, str) and listed and part not in listed else []
        wrong += [value] if number and not option.within(part) else []
    if wrong:
        expected = option.accepted(python=False, instead=wrong[0])
        raise kind.wrong(option.name, wrong[0], expected, (option.name, option.nearest(wrong[0])))
    return [value] if isinstance(value, str) and "files" in fits else value


def one_budget(kind: Kind, values: Mapping[str, Any]) -> None:
    """Check that exactly one budget is stated: epsilon, with or without delta, or rho with delta."""
    if ("epsilon" in values) == ("rho" in values):
        expected = "left out with rho" if "rho" in values else must_give(kind.option("epsilon"))
        fix = ("rho", values["rho"]) if "rho" in values else None
        raise kind.wrong("epsilon", values.get("epsilon"), expected, fix)
    if "rho" in values and "delta" not in values:
        raise kind.wrong("delta", None, "given with rho: its epsilon is stated at this delta")
    rho, delta = values.get("rho", 0.0), values.get("delta", 0.5)
    # An upper bound on the epsilon of rho (Bun and Steinke 2016, proposition 1.3).
    confirmed(kind, {**values, "rho": rho + 2 * math.sqrt(-rho * math.log(delta))}, "rho")
    confirmed(kind, values)


def confirmed(kind: Kind, values: Mapping[str, Any], name: str = "epsilon") -> None:
    """Refuse a budget that hardly protects anyone, unless it is confirmed.

    For budgets that compare any two rows or values. A budget that holds at a distance may be large.
    """
    budget, delta = values.get(name, 0.0), values.get("delta", 0.0)
    if values.get("yes_really"):
        return
    if delta > SURE_DELTA:
        means = "with this probability, the release may reveal anything about anyone"
        expected = f"at most {SURE_DELTA:g} unless it is confirmed ({means})"
        raise kind.wrong("delta", delta, expected, lambda say: f"{say('delta', 1e-6)}, or {say('yes_really', True)}")
    if budget <= SURE:
        return
    means = (
        "there is no noise"
        if budget == math.inf
        else f"a release may be e^{budget:g} times as likely with someone's row as without it"
    )
    expected = f"at most {SURE} unless it is confirmed (a larger budget hardly protects anyone: {means})"
    raise kind.wrong(name, budget, expected, ("yes_really", True))


def one_unit(kind: Kind, values: Mapping[str, Any]) -> None:
    """Refuse two units of privacy."""
    if "unit" in values and ("person" in values or "person_rows" in values):
        named = "person" if "person" in values else "person_rows"
        raise kind.wrong(named, values[named], "left out if single rows are protected", "leaving it or the unit out")


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
    if kind in PAIR_TYPES:
        if not isinstance(value, dict) or not value:
            return False
        if kind == "edge pairs":  # edges, their number, or a word
            return all(_fits(v, "whole") or _fits(v, "text") or _fits(v, "list") for v in value.values())
        if kind == "list pairs":
            return all(_fits(v, "numbers") for v in value.values())
        types = {"pairs": (int, float, str), "file pairs": str, "whole pairs": int}.get(kind, (int, float))
        return all(isinstance(v, types) for v in value.values())  # type: ignore[arg-type]
    if kind == "files" and isinstance(value, str):
        return bool(value)
    allowed = (int, float) if kind == "numbers" else str if kind in ("files", "texts") else (str, int, float)
    filled = isinstance(value, list) and len(value) > 0
    return filled and all(isinstance(v, allowed) and not isinstance(v, bool) for v in value)


def read(kind: Kind, option: Option, texts: Sequence[str]) -> Any:
    """Return words of a command line as the value of an option."""
    text = texts[-1] if texts else ""
    for form in option.takes:
        if form in PAIR_TYPES:
            parts = [p.strip() for t in texts for p in t.split(",")] if form == "figures" else list(texts)
            return _read_pairs(kind, option, parts, form)
        if form == "list":
            return [part.strip() for t in texts for part in t.split(",") if part.strip()]
        if form in ("files", "texts"):
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
        equals = "" if form == "figures" and name.endswith((">", "<", "≥", "≤")) else equals
        if form == "list pairs":
            numbers = [_number(part, "number") for part in given.split(",")]
            value = None if None in numbers else numbers
        elif form == "edge pairs":
            value = edges_of(given)
        elif form == "figures":
            value = _number(given, "number")
        elif form != "file pairs":
            value = _number(given, "whole") if given.isascii() else None
            value = given if value is None and form == "pairs" else value
        if not (equals and name and given) or value is None or name in found:
            expected = option.expected or "NAME=VALUE, once for every name"
            raise kind.wrong(option.name, text, expected, _meant_pairs(option, texts, text, form))
        found[name] = value
    return found


def edges_of(text: str) -> Any:
    """Return the number of bins, a word, or edges: numbers, or texts such as dates."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) == 1:
        whole = _number(text, "whole") if text.isascii() else None
        return text if whole is None else whole
    return [part if (number := _number(part, "number")) is None else number for part in parts]


def _meant_pairs(option: Option, texts: Sequence[str], wrong: str, form: str) -> Fix | None:
    """Return the pairs that were probably typed: names as they are, and example values where none can be used."""
    found: dict[str, Any] = {}
    for text in texts if form == "figures" else [wrong]:  # only figures stand in one word
        name, sign, given = (part.strip() for part in re.split(r"(>=|=>|<=|=<|≥|≤|=|:|>|<|$)", text, maxsplit=1)[:3])
        if not name or name in found:
            return None
        usual = option.example if isinstance(option.example, Mapping) else {}
        if option.name == "set" and name not in usual:  # the example of another setting is no value of this one
            return f"a value after {name}="
        value = _number(given, "number") if form == "figures" and sign else None
        value = int(value) + (sign == ">") if value is not None and value.is_integer() else value
        found[name] = usual.get(name, next(iter(usual.values()), None)) if value is None else value
    return None if None in found.values() else (option.name, found)
