"""How a job says what it takes: options declared once, read by files, shells, pages and error messages alike.

An `Option` has a type, bounds, a default, words and an example that does. A `Kind` of job is a list of them. Plain
classes and not a library for models: an error has to name the option as it was typed, on a command line or in a file,
and has to suggest something that is accepted there. Nothing here imports the numerical libraries.
"""

from __future__ import annotations

import ast
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Protocol

from discreet.errors import FormatError, InvalidArgument

#: A path to read, to a file or (table) also to a folder or a pattern of files.
FILES = ("file", "table", "files", "file pairs")
#: More than one of these on a command line are added up.
REPEATED = ("list", "files", "pairs", "whole pairs", "file pairs")
_PAIRS = ("pairs", "whole pairs", "file pairs", "figures")
_WORDS = {
    "number": "a number",
    "budget": "a number",
    "whole": "a whole number",
    "text": "a text",
    "file": "a path",
    "table": "a path",
    "output": "a path",
    "flag": "true or false",
    "names": "a list of texts or numbers",
    "list": "a list of texts or numbers",
    "numbers": "a list of numbers",
    "files": "a list of paths",
    **dict.fromkeys(_PAIRS, "a table of NAME = VALUE"),
}
_METAVARS = {
    "budget": "NUMBER", "output": "FILE", "table": "FILE", "files": "FILE", "names": "A,B,...", "list": "TEXT",
    "numbers": "X,Y,...", "pairs": "NAME=VALUE", "whole pairs": "NAME=NUMBER", "file pairs": "NAME=FILE",
    "figures": "NAME=NUMBER,...",
}  # fmt: skip
#: No budget beyond this means anything: `discreet.core.checks.LARGEST_BUDGET`.
_LARGEST = 10**30


@dataclass(frozen=True, eq=False)  # each is itself: examples may be lists
class Option:
    """One thing that a job takes.

    Attributes
    ----------
    name : str
        The key in a file; on a command line with dashes.
    takes : tuple of str
        Types, any of which will do; see `check`.
    help : str
        What it means.
    example : object
        A value that is accepted.
    default : object
        What holds if it is not given; for readers, it is not passed on.
    required, shown : bool
        Whether it must be given; whether an example file sets it though it need not.
    choices : tuple of str
        All texts that are taken.
    low, high, above, below : float or None
        Bounds of a number, or of each number of a list; the latter two are not taken themselves.
    methods : tuple of str
        The values of the option `method` that it belongs to; empty for all.
    arguments : tuple of str
        What it is called in Python: the first is passed on, all are recognised in errors.
    expected : str
        What a value must be, where types and bounds do not say it well.
    shell, short, off : str
        The long option, the short one, and the flag for "no", where they differ from the rule.
    section : str
        The section of a file.
    """

    name: str
    takes: tuple[str, ...]
    help: str
    example: Any = None
    default: Any = None
    required: bool = False
    shown: bool = False
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    methods: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    expected: str = ""
    shell: str = ""
    short: str = ""
    off: str = ""
    section: str = "parameters"

    @property
    def key(self) -> str:
        """Its key in its section of a file."""
        return "path" if self.section in ("data", "schema") else self.name

    @property
    def flag(self) -> str:
        """What is typed for it on a command line."""
        return f"--{(self.shell or self.name).replace('_', '-')}"

    @property
    def metavar(self) -> str:
        """What stands for its value in a help text."""
        others = [_METAVARS.get(t, t.upper()) for t in self.takes if not (t == "text" and self.choices)]
        return "|".join([*self.choices, *dict.fromkeys(others)])

    @property
    def reads(self) -> bool:
        """Whether it names files that are read, which can be looked for."""
        return bool(set(self.takes) & set(FILES))


def option(name: str, takes: str | Sequence[str], help: str, example: Any = None, **more: Any) -> Option:
    """Declare an option; its Python name is its own unless ``arguments`` says otherwise."""
    kinds = (takes,) if isinstance(takes, str) else tuple(takes)
    return Option(name, kinds, help, example, **{"arguments": (name,), **more})


def output(name: str, help: str, example: str, **more: Any) -> Option:
    """Declare a file that is written."""
    return Option(name, ("output",), help, example, section="outputs", **more)


class Door(Protocol):
    """How one way of starting a job spells options."""

    def name(self, option: Option) -> str:
        """Return the name of an option."""

    def given(self, option: Option, value: Any) -> str:
        """Return what is written to give a value."""


class File:
    """A job file: keys of sections."""

    def name(self, option: Option) -> str:
        """Return section and key."""
        return "[schema]" if option.section == "schema" else f"[{option.section}] {option.key}"

    def given(self, option: Option, value: Any) -> str:
        """Return a line of the file."""
        line = f"{option.key} = {toml(value)}"
        return f"[schema] {line}" if option.section == "schema" else line


class Shell:
    """A command line: words after dashes."""

    def name(self, option: Option) -> str:
        """Return the long option, or what stands for the argument."""
        return "DATA" if option.section == "data" else option.flag

    def given(self, option: Option, value: Any) -> str:
        """Return words of the line."""
        if option.section == "data":
            return " ".join(map(_word, value if isinstance(value, (list, tuple)) else [value]))
        if isinstance(value, bool):
            return option.flag if value else f"--{option.off}" if option.off else f"leaving {option.flag} out"
        if isinstance(value, Mapping):
            pairs = [f"{k}={v}" for k, v in value.items()]
            texts = [",".join(pairs)] if "figures" in option.takes else pairs
        elif isinstance(value, (list, tuple)):
            texts = list(map(str, value))
            # A comma after the only one tells a list from a file.
            alone = "," if "file" in option.takes and len(texts) == 1 else ""
            texts = texts if set(option.takes) & set(REPEATED) else [",".join(texts) + alone]
        else:
            texts = [str(value).removesuffix(".0") if isinstance(value, float) else str(value)]
        return " ".join(f"{option.flag} {_word(text)}" for text in texts)


FILE, SHELL = File(), Shell()


def _word(text: str) -> str:
    import shlex

    return shlex.quote(str(text))


def toml(value: Any) -> str:
    """Write a value as TOML, a table in one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("-", "a").replace("_", "a").isalnum()
    return name if bare else toml(name)


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
        As in `InvalidArgument`; without a fix the example of the option is one.
    """

    def __init__(self, kind: Kind, name: str, value: object, expected: Words, fix: Fix | None = None) -> None:
        self.kind, self.option, self._words = kind, kind.option(name), (expected, fix)
        self.value = value
        super().__init__(*self._said(FILE))

    def _said(self, door: Door) -> tuple[str, object, str, str]:
        say = Speech(self.kind, door)
        expected, fix = self._words
        fix = (self.option.name, self.option.example) if fix is None else fix
        said = [
            words if isinstance(words, str) else say(*words) if isinstance(words, tuple) else words(say)
            for words in (expected, fix)
        ]
        return door.name(self.option), self.value, said[0], said[1]

    def said(self, door: Door) -> str:
        """Return the message for a door."""
        return str(InvalidArgument(*self._said(door)))

    def spoken(self, door: Door) -> WrongOption:
        """Return the same error in the words of a door."""
        super().__init__(*self._said(door))
        return self


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
    shortcuts: Mapping[str, tuple[str, Any, str]] | None = None

    @property
    def words(self) -> str:
        """The words of the command line."""
        return self.verb or self.name

    def options(self) -> Iterator[Option]:
        """Go through everything that can be given."""
        yield from (() if self.data is None else (self.data,))
        yield from ((SCHEMA,) if self.schema else ())
        yield from (*self.parameters, *self.outputs)

    def option(self, name: str) -> Option:
        """Return an option by its name."""
        return next(o for o in (*self.options(), SCHEMA) if o.name == name)

    def wrong(self, name: str, value: object, expected: Words, fix: Fix | None = None) -> WrongOption:
        """Return an error about an option."""
        return WrongOption(self, name, value, expected, fix)

    def check(self, section: str, given: Mapping[str, Any], options: Sequence[Option]) -> dict[str, Any]:
        """Check a section of a job: names, types, bounds, choices, methods, and that nothing needed is absent."""
        known(f"[{section}]", given, [o.name for o in options])
        clean = {}
        method = given.get("method")
        for each in options:
            if each.name not in given:
                if each.required:
                    raise self.wrong(each.name, None, f"given: {each.help}")
                continue
            clean[each.name] = check(self, each, given[each.name])
        chosen = next((o for o in options if o.name == "method"), None)
        if chosen is not None:
            method = clean.get("method", chosen.default)
            for each in options:
                if each.name in clean and each.methods and method not in each.methods:
                    ways = each.methods

                    def used(say: Speech, ways: tuple[str, ...] = ways) -> str:
                        return f"used with {' or '.join([say('method', ways[0]), *ways[1:]])} only"

                    raise self.wrong(each.name, clean[each.name], used, ("method", ways[0]))
        return clean

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return what was given, under the names of Python."""
        return {o.arguments[0]: given[o.name] for o in self.parameters if o.name in given and o.arguments}

    def translated(self, error: InvalidArgument) -> InvalidArgument:
        """Return an error of the library as one about the option behind the argument, if there is one."""
        if isinstance(error, WrongOption):
            return error
        name = error.name.partition("[")[0]
        found = next((o for o in self.parameters if name in o.arguments), None)
        if found is None:
            return error
        return self.wrong(found.name, error.value, error.expected, self._fix(found, error))

    def _fix(self, about: Option, error: InvalidArgument) -> Fix:
        """Return what the library suggests, spelt as options; or the example of the option if that is no value."""
        try:
            call = ast.parse(f"f({error.fix})", mode="eval").body
            assert isinstance(call, ast.Call)
            values = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
        except (SyntaxError, ValueError):
            return error.fix
        options = {o.arguments[0]: o for o in self.parameters if o.arguments}
        options.update(dict.fromkeys(about.arguments, about))
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
    fitting = [t for t in option.takes if _fits(value, t)]
    if not fitting:
        words = " or ".join(_WORDS[t] for t in option.takes)
        table = bool(set(option.takes) & set(_PAIRS)) and not isinstance(value, dict)
        raise kind.wrong(option.name, value, words if table else option.expected or words)
    if isinstance(value, str) and "text" in fitting and option.choices and value not in option.choices:
        near = (get_close_matches(value, option.choices, 1, 0.6) or option.choices)[0]
        raise kind.wrong(option.name, value, _one_of(option), (option.name, near))
    numbers = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    for number in numbers:
        if isinstance(number, (int, float)) and not isinstance(number, bool) and not _within(option, number):
            near = _nearest(option, number) if number is value else option.example
            raise kind.wrong(option.name, value, _bounds(option), (option.name, near))
    if fitting[0] in FILES and isinstance(value, str) and "files" in option.takes:
        value = [value]
    return value


def _fits(value: Any, kind: str) -> bool:
    if kind in ("number", "budget"):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "whole":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind in ("text", "file", "table", "output"):
        return isinstance(value, str) and bool(value)
    if kind == "flag":
        return isinstance(value, bool)
    if kind in _PAIRS:
        fits = (int, float, str) if kind == "pairs" else str if kind == "file pairs" else (int, float)
        whole = kind != "whole pairs" or all(isinstance(v, int) for v in getattr(value, "values", list)())
        return isinstance(value, dict) and bool(value) and whole and all(isinstance(v, fits) for v in value.values())
    if kind == "files" and isinstance(value, str):
        return bool(value)
    allowed = (int, float) if kind == "numbers" else str if kind == "files" else (str, int, float)
    filled = isinstance(value, list) and len(value) > 0
    return filled and all(isinstance(v, allowed) and not isinstance(v, bool) for v in value)


def _within(option: Option, number: float) -> bool:
    if "budget" in option.takes:
        return 0 < number <= _LARGEST or number == math.inf
    bounded = "number" in option.takes or any(b is not None for b in (option.low, option.above))
    if bounded and not math.isfinite(number):
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
    others = [_WORDS[t] for t in option.takes if t != "text"]
    return ", or ".join([f"one of {', '.join(map(repr, option.choices))}", *others])


def read(kind: Kind, option: Option, texts: Sequence[str]) -> Any:
    """Return what words of a command line give as the value of an option."""
    text = texts[-1] if texts else ""
    for form in option.takes:
        if form in _PAIRS:
            parts = [p.strip() for t in texts for p in t.split(",")] if form == "figures" else list(texts)
            return _read_pairs(kind, option, parts, form)
        if form in ("list", "files"):
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
        elif form == "names" and ("file" not in option.takes or "," in text):
            return [part.strip() for part in text.split(",") if part.strip()]
        elif form in ("file", "table", "output") and not ("names" in option.takes and "," in text):
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
        if form == "figures":
            value = _number(given, "number")
        elif form != "file pairs":
            value = _number(given, "whole") if given.isascii() else None
            value = given if value is None and form == "pairs" else value
        if not (equals and name and given) or value is None or name in found:
            raise kind.wrong(option.name, text, option.expected or "NAME=VALUE, once for every name")
        found[name] = value
    return found


# ---- what follows from a declaration: examples, schemas


#: The declared columns.
SCHEMA = option(
    "schema", "file", "the declared columns; 'discreet schema' drafts such a file", "schema.toml", section="schema"
)


def example(kind: Kind) -> str:
    """Return a commented job file that can be run once its paths and columns are right."""
    text = [
        f"# A job: {kind.summary}. Run it with  discreet run job.toml",
        "# Relative paths start at the folder of this file.",
        "",
        "[job]",
        f'kind = "{kind.name}"',
    ]
    if kind.data is not None:
        text += [
            "",
            "[data]",
            f"path = {toml(kind.data.example)}  # {kind.data.help}",
        ]
    if kind.schema:
        role = '\nrole = "quasi-identifier"' if kind.name == "anonymize" else ""
        text += [
            "",
            '# Declare columns by what they mean, never by what the table holds; or name a file: path = "schema.toml"',
            f"[schema.columns.age]\nbounds = [0, 120]{role}\n",
            "[schema.columns.cost]\nbounds = [0, 100]" + ('\nrole = "sensitive"' if role else ""),
        ]
    for title, options in (("parameters", kind.parameters), ("outputs", kind.outputs)):
        text += ["", f"[{title}]"] if options else []
        for each in options:
            shown = "" if each.required or each.shown else "# "
            text.append(f"{shown}{each.name} = {toml(each.example)}  # {each.help}")
    return "\n".join(text) + "\n"


_JSON: dict[str, dict[str, Any]] = {
    "number": {"type": "number"}, "whole": {"type": "integer"}, "budget": {"type": "number", "exclusiveMinimum": 0},
    "flag": {"type": "boolean"}, "numbers": {"type": "array", "items": {"type": "number"}, "minItems": 1},
    "files": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    **{t: {"type": "array", "items": {"type": ["string", "number"]}, "minItems": 1} for t in ("names", "list")},
    **{t: {"type": "object", "minProperties": 1} for t in _PAIRS},
}  # fmt: skip


def json_schema(kind: Kind) -> dict[str, Any]:
    """Return the JSON schema of the job files of a kind, as read from TOML."""
    place = {"type": "string", "minLength": 1}
    columns = {
        "type": "object",
        "properties": {"path": place, "columns": {"type": "object"}, "unit": {"type": "string"}},
    }
    parts: dict[str, Any] = {
        "job": _section([option("kind", "text", kind.summary, choices=(kind.name,), required=True)])
    }
    if kind.data is not None:
        parts["data"] = _section([kind.data])
    if kind.schema:
        parts["schema"] = {**columns, "additionalProperties": False}
    parts["parameters"] = _section(kind.parameters)
    if kind.outputs:
        parts["outputs"] = _section(kind.outputs)
    needed = [n for n, part in parts.items() if part.get("required")] + ["schema"] * (kind.schema == "needed")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": kind.name,
        "description": kind.help,
        "type": "object",
        "properties": parts,
        "required": needed,
        "additionalProperties": False,
    }


def _section(options: Sequence[Option]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {o.key: _property(o) for o in options},
        "required": [o.key for o in options if o.required],
        "additionalProperties": False,
    }


def _property(option: Option) -> dict[str, Any]:
    forms = [dict(_JSON.get(t, {"type": "string", "minLength": 1})) for t in option.takes]
    bounds = {
        "minimum": option.low,
        "maximum": option.high,
        "exclusiveMinimum": option.above,
        "exclusiveMaximum": option.below,
    }
    for form, takes in zip(forms, option.takes, strict=True):
        where = form["items"] if takes == "numbers" else form
        where |= {n: b for n, b in bounds.items() if b is not None and takes in ("number", "whole", "numbers")}
        if takes == "text" and option.choices:
            form |= {"enum": list(option.choices)}
    told: dict[str, Any] = {"description": option.help}
    told |= {} if option.example is None else {"examples": [option.example]}
    told |= {} if option.default is None else {"default": option.default}
    told |= {"x-methods": list(option.methods)} if option.methods else {}
    return {**(forms[0] if len(forms) == 1 else {"anyOf": forms}), **told}
