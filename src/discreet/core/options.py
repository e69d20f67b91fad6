"""Options of estimators, declared once.

A class that inherits from `Declared` lists its options as annotated attributes:

>>> class Histogram(Declared):
...     '''Count rows per cell.
...
...     Privacy
...     -------
...     One row changes one count by one.
...     '''
...
...     epsilon: float = option(default=1.0, takes="budget", help="Total privacy budget.")
...     cells: int | str = option(default="auto", choices=("auto",), low=1, help="Number of cells.", example=64)
...
>>> Histogram(0.5).cells
'auto'
>>> Histogram(cells=0).read_options()
Traceback (most recent call last):
...
discreet.errors.InvalidArgument: cells must be 'auto' or a whole number of at least 1, got 0; try cells=1

The signature, the checks, the ``Parameters`` section of the docstring, and the options of jobs, command line, studio
and JSON schema come from that declaration. This module imports no numerical library, so help texts appear at once.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, ClassVar, dataclass_transform

from discreet.core.output.figures import LARGEST_BUDGET, LARGEST_NUMBER
from discreet.errors import InvalidArgument, InvalidType

#: The heading of a docstring section; generated parameters go before the first one.
_SECTION = re.compile(r"^[ ]*(\w[\w ]*)\n[ ]*-{3,}[ ]*$", re.MULTILINE)
#: The values that an annotation allows.
_TAKES = {
    "float": "number",
    "int": "whole",
    "str": "text",
    "bool": "flag",
    "Sequence[str]": "names",
    "Sequence[float]": "numbers",
    "Mapping[str, float]": "figures",
}
#: Types that name files to read, and types that are mappings of names to values.
FILE_TYPES = ("file", "table", "files", "file pairs")
PAIR_TYPES = ("pairs", "whole pairs", "file pairs", "list pairs", "edge pairs", "figures")
_WORDS = {
    "flag": "True or False", "names": "a list of names", "list": "a list of names", "numbers": "a list of numbers",
    "file": "a path", "table": "a path", "output": "a path", "folder": "a path", "files": "a list of paths",
    "texts": "a list of texts",
    **dict.fromkeys(PAIR_TYPES, "a mapping of names to values"), "figures": "a mapping of names to numbers",
}  # fmt: skip
_NAMES = {
    "number": "float", "budget": "float", "whole": "int", "text": "str", "flag": "bool", "names": "list of str",
    "numbers": "list of float", "figures": "mapping of names to numbers",
}  # fmt: skip
#: Types of shared options that take objects.
_OBJECTS = {"domain": "Domain", "ledger": "Ledger or Account", "random_state": "int or Generator"}


@dataclasses.dataclass(frozen=True, eq=False)
class Option:
    """One option of an estimator or a job."""

    help: str  # one line of plain English
    name: str = ""  # in Python; filled in from the class that declares it
    label: str = ""  # a short title in forms, if its name does not say it well
    details: str = ""  # more text for the docstring
    default: Any = None  # with None, None is accepted; without a default, a value must be given
    #: Accepted types: budget, number, whole, text, flag, names (list of texts), numbers (list of numbers), figures
    #: (mapping to numbers); jobs add types of files. Derived from the annotation unless given. Empty: any object.
    takes: tuple[str, ...] = ()
    objects: bool = False  # accepts other objects too, such as a rule of the user's own; jobs do not offer them
    example: Any = None  # an accepted value, used in suggestions
    choices: tuple[str, ...] = ()  # accepted texts
    low: float | None = None  # bounds of a number, or of each number in a list
    high: float | None = None
    above: float | None = None  # excludes the bound, as `below` does
    below: float | None = None
    expected: str = ""  # a description of accepted values, where types and bounds do not say it well
    job: str = ""  # its name in jobs and on the command line, if that differs; "-" if jobs do not have it
    required: bool = False
    shown: bool = False  # an example job file sets it although it need not
    methods: tuple[str, ...] = ()  # values of the job option `method` to which it belongs; empty for all
    arguments: tuple[str, ...] = ()  # Python names in jobs: the first is passed on, all are recognised in errors
    shell: str = ""  # the long option, the short one and the flag for "no", where they differ from the rule
    short: str = ""
    off: str = ""
    section: str = "parameters"  # of a job file
    positional: bool = False  # given by position on a command line, after the data
    streams: bool = False  # a file that is written may be a pipe

    @property
    def key(self) -> str:
        """Return its key in its section of a job file."""
        return "path" if self.section in ("data", "schema") else self.name

    @property
    def flag(self) -> str:
        """Return its name on a command line."""
        return f"--{(self.shell or self.name).replace('_', '-')}"

    @property
    def title(self) -> str:
        """Return a short title for forms."""
        words = self.name.replace("_", " ")
        return self.label or words[:1].upper() + words[1:]

    @property
    def owners(self) -> str:
        """Return the methods to which it belongs, in words."""
        *others, last = self.methods or ("",)
        return f"{', '.join(others)} or {last}" if others else last

    @property
    def reads(self) -> bool:
        """Return whether it names files to read."""
        return bool(set(self.takes) & set(FILE_TYPES))

    def within(self, number: float | Fraction) -> bool:
        """Return whether a number lies inside the bounds."""
        if "budget" in self.takes:
            return 0 < number <= LARGEST_BUDGET or number == math.inf
        bounded = "number" in self.takes or any(bound is not None for bound in (self.low, self.above))
        if bounded and not -LARGEST_NUMBER <= number <= LARGEST_NUMBER:  # also a whole number that no float can hold
            return False
        return (
            (self.low is None or number >= self.low)
            and (self.high is None or number <= self.high)
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )

    def bounds(self, *, python: bool = True) -> str:
        """Describe the accepted numbers."""
        if "budget" in self.takes:
            return f"a positive finite number (or {'math.inf' if python else 'inf'} for a run without privacy)"
        thing = "a whole number" if {"whole", "whole pairs"} & set(self.takes) else "a number"
        if "number" in self.takes and "whole" in self.takes:
            thing = "a number"
        if self.above == 0 and self.high is None and self.below is None:
            return "a positive finite number"
        if self.above is not None and self.below is not None:
            return f"{thing} strictly between {_figure(self.above)} and {_figure(self.below)}"
        if self.low is not None and self.high is not None:
            return f"{thing} from {_figure(self.low)} to {_figure(self.high)}"
        if self.low is not None and self.below is not None:
            return f"{thing} from {_figure(self.low)} to below {_figure(self.below)}"
        if self.high is not None:
            return f"{thing} above {_figure(self.above or 0)} and up to {_figure(self.high)}"
        if self.low is not None:
            return f"{thing} of at least {_figure(self.low)}"
        return thing if "whole" in thing else "a finite number"

    def accepted(self, *, python: bool = True, instead: object = None) -> str:
        """Describe the accepted values, in the words of Python or of job files, perhaps ``instead`` of a given one."""
        if "budget" in self.takes and _too_large(instead, LARGEST_BUDGET):
            return f"at most {LARGEST_BUDGET:.0e} (or {'math.inf' if python else 'inf'} for a run without privacy)"
        if _too_large(instead):
            return f"a {'whole ' if 'whole' in self.takes else ''}number of at most {LARGEST_NUMBER:g} in size"
        if self.expected:
            return self.expected
        listed = ", ".join(map(repr, self.choices))
        parts = [f"one of {listed}" if len(self.choices) > 1 else listed] * bool(self.choices)
        if {"number", "budget", "whole"} & set(self.takes):
            parts.append(self.bounds(python=python))
        words = _WORDS if python else {**_WORDS, "flag": "true or false"}
        parts += [words[kind] for kind in self.takes if kind in words]
        parts += ["a text"] if "text" in self.takes and not self.choices else []
        return " or ".join(dict.fromkeys(parts))

    def nearest(self, value: object) -> Any:
        """Return an accepted value close to a wrong one, for suggestions."""
        number = _number_in(value)
        if isinstance(value, str) and self.choices and (number is None or "whole" not in self.takes):
            return (get_close_matches(value, self.choices, 1, 0.6) or self.choices)[0]
        if "whole" in self.takes and number is not None:
            if self.within(round(number)):
                return round(number)
            if self.low is not None and number < self.low:
                return max(int(self.low), 1)
            if self.high is not None and number > self.high:
                return int(self.high)
        if number is not None and isinstance(value, str) and self.within(number):
            return number
        return self.default if self.example is None else self.example

    def wrong(self, value: object, *, wrong_type: bool = False) -> InvalidArgument:
        """Return the error about a value, with a value that works."""
        error = InvalidType if wrong_type else InvalidArgument
        return error(self.name, value, self.accepted(instead=value), f"{self.name}={self.nearest(value)!r}")

    def read(self, value: Any) -> Any:
        """Return a value in its clean form, or raise.

        Numbers become exact rationals of what was written (0.1 is 1/10), whole numbers `int`, lists tuples.
        """
        from discreet.core import checks  # needs NumPy, which a help text does not

        if (value is None and self.default is None) or not self.takes:
            return value
        if isinstance(value, str):
            if value in self.choices or ("text" in self.takes and not self.choices and value):
                return value
            raise self.wrong(value, wrong_type=not self.choices)
        if "flag" in self.takes and checks.is_bool(value):
            return bool(value)
        if "whole" in self.takes and checks.is_whole(value):
            if self.within(int(value)):
                return int(value)
            raise self.wrong(value)
        if {"number", "budget"} & set(self.takes) and checks.is_real(value):
            if "budget" in self.takes:
                return checks.budget(self.name, value)
            number = checks.exact(self.name, value, self.accepted(), f"{self.name}={self.nearest(value)!r}")
            if self.within(number):
                return number
            raise self.wrong(value)
        if {"names", "numbers"} & set(self.takes) and isinstance(value, Sequence) and not isinstance(value, bytes):
            return self._read_list(value)
        if "figures" in self.takes and isinstance(value, Mapping):
            return value
        if self.objects:
            return value
        raise self.wrong(value, wrong_type=True)

    def _read_list(self, values: Sequence[Any]) -> tuple[Any, ...]:
        kinds = ("number",) if "numbers" in self.takes else ("text",)
        single = dataclasses.replace(self, takes=kinds, default=0, objects=False)
        try:
            return tuple(single.read(value) for value in values)
        except InvalidArgument:
            raise self.wrong(values) from None

    def describe(self, annotation: str = "") -> str:
        """Return its entry in a ``Parameters`` section."""
        kinds = [_NAMES[kind] for kind in self.takes if kind in _NAMES and not (kind == "text" and self.choices)]
        if not self.takes or self.objects:
            kinds += [part for part in _parts(annotation) if part not in (*_TAKES, "None", "Any", "typing.Any")]
        listed = ["{" + ", ".join(f'"{c}"' for c in self.choices) + "}"] if self.choices else []
        shown = "" if self.default is None else f", default {_quoted(self.default)}"
        optional = ", optional" if self.default is None and not self.required else ""
        shown = "" if self.default is dataclasses.MISSING else shown
        head = " or ".join([*listed, *kinds]) or _OBJECTS.get(self.name, "object")
        text = f"{self.help} {self.details}".strip()
        return f"{self.name} : {head}{shown}{optional}\n{textwrap.indent(textwrap.fill(text, 100), '    ')}"


def option(*, default: Any = dataclasses.MISSING, help: str, takes: str | Sequence[str] = (), **more: Any) -> Any:
    """Declare an option; see `Option` for the arguments. Returns `Any` for type checkers, as `dataclasses.field`."""
    kinds = (takes,) if isinstance(takes, str) else tuple(takes)
    return Option(help=help, default=default, takes=kinds, **more)


class _Options:
    """The checks that declared options give."""

    declared: ClassVar[Mapping[str, Option]] = {}

    def read_options(self) -> dict[str, Any]:
        """Check all options and return them in their clean form, by name."""
        return {name: each.read(getattr(self, name)) for name, each in self.declared.items()}

    def read_option(self, name: str) -> Any:
        """Check one option and return it in its clean form."""
        return self.declared[name].read(getattr(self, name))


@dataclass_transform(eq_default=False, field_specifiers=(option,))
class Declared(_Options):
    """Base of classes whose options are annotated attributes; see the module."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        _declare(cls, frozen=False)


@dataclass_transform(frozen_default=True, field_specifiers=(option,))
class DeclaredValue(_Options):
    """The same for frozen values, which are compared and hashed by their options."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        _declare(cls, frozen=True)


def _declare(cls: type[_Options], *, frozen: bool) -> None:
    if "declared" in cls.__dict__:  # again, by scikit-learn's hooks once its base classes have come: see `Estimator`
        return
    own: dict[str, Option] = {}
    own_code = set(cls.__dict__)
    for name, hint in inspect.get_annotations(cls).items():
        given = cls.__dict__.get(name)
        if isinstance(given, Option):
            text = hint if isinstance(hint, str) else getattr(hint, "__name__", str(hint))
            takes = given.takes or tuple(_TAKES[part] for part in _parts(text) if part in _TAKES)
            own[name] = dataclasses.replace(given, name=name, takes=takes)
            setattr(cls, name, dataclasses.field(default=given.default))
    inherited = (base.__dict__.get("declared", {}) for base in reversed(cls.__mro__[1:]))
    cls.declared = {name: each for options in (*inherited, own) for name, each in options.items()}
    made: Any = dataclasses.dataclass(cls, repr=frozen, eq=frozen, frozen=frozen, match_args=False)
    fields, construct = made.__dataclass_fields__, made.__init__
    places = [each.name for each in dataclasses.fields(made) if not each.kw_only]

    @functools.wraps(construct)
    def construct_known(self: Any, *given: Any, **named: Any) -> None:
        for name in named.keys() - fields.keys():
            raise _unknown(cls, name, named[name])
        for name, value in zip(places, given, strict=False):
            if name in named:  # as in a call of a class of scikit-learn, which begins with another option
                said = f"given once: a value without a name stands for {name}, too"
                raise InvalidType(name, None, said, _meant(cls, [o for o in [*own][:1] if o not in named], value))
        construct(self, *given, **named)

    if "__init__" not in own_code:
        made.__init__ = construct_known
    types = {name: field.type for name, field in fields.items()}  # texts, where annotations are not evaluated
    hints = {name: kind.__name__ if isinstance(kind, type) else str(kind) for name, kind in types.items()}
    cls.__doc__ = with_parameters(cls.__doc__, [o.describe(hints[o.name]) for o in cls.declared.values()])


#: Usual names of options in other libraries.
_MEANT = {"k": "n_clusters", "seed": "random_state", "bounds": "domain", "schema": "domain"}


def _unknown(cls: type[_Options], name: str, value: object) -> InvalidType:
    """Return the error about an option that a class does not have, which may be its name in jobs."""
    in_jobs = [own for own, each in cls.declared.items() if each.job == name]
    near = [*in_jobs, *([_MEANT[name]] if _MEANT.get(name) in cls.declared else [])]
    near += get_close_matches(name, list(cls.declared), 1, 0.6)
    return InvalidType("argument", name, f"an option of {cls.__name__}", _meant(cls, near, value))


def _meant(cls: type[_Options], near: Sequence[str], value: object) -> str:
    plain = isinstance(value, (str, int, float, type(None)))  # a table would be quoted otherwise
    return f"{near[0]}={value!r}" if near and plain else f"help({cls.__name__})"


def with_parameters(doc: str | None, entries: Sequence[str]) -> str | None:
    """Return a docstring with a ``Parameters`` section before its first section, unless it has one."""
    if not doc or not entries or re.search(r"^[ ]*Parameters\n", doc, re.MULTILINE):
        return doc
    margin = " " * 4
    section = textwrap.indent("Parameters\n----------\n" + "\n".join(entries) + "\n\n", margin)
    first = _SECTION.search(doc)
    at = first.start() if first else len(doc.rstrip()) + 1
    head = doc[:at] if first else doc.rstrip() + "\n"
    return f"{head}{'' if first else chr(10)}{section}{doc[at:] if first else margin}"


def _parts(annotation: str) -> list[str]:
    return [part.strip().removeprefix("collections.abc.") for part in annotation.split("|")]


def _figure(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else f"{bound:g}"


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _number_in(value: object) -> float | None:
    """Return the number that a value or a text, also with a decimal comma, holds."""
    if isinstance(value, bool):
        return None
    text = value.strip().replace(",", ".") if isinstance(value, str) else ""
    try:
        number = float(Decimal(text[:-1].strip()) / 100 if text.endswith("%") else text or value)  # type: ignore[arg-type]
    except (TypeError, ValueError, ArithmeticError):
        return None
    return number if math.isfinite(number) else None


def _too_large(value: object, most: float = LARGEST_NUMBER) -> bool:
    """Return whether a value is a finite number beyond a limit: by default it may not fit into a float."""
    finite = isinstance(value, (int, Fraction)) or (isinstance(value, (float, Decimal)) and math.isfinite(value))
    return finite and not -most <= value <= most  # type: ignore[operator]


DOMAIN: Any = option(
    default=None,
    help="The declared columns.",
    details="Bounds and categories are never read off the data.",
    job="-",
    required=True,
)
EPSILON: Any = option(
    default=1.0, takes="budget", example=1.0, label="Privacy budget ε",
    help="Total privacy budget: smaller is more private and less accurate.",
    details="``math.inf`` adds no noise and gives no privacy.",
)  # fmt: skip
DELTA: Any = option(
    default=None, takes="number", above=0, below=1, example=1e-6, label="Probability δ",
    help="Probability that the privacy loss exceeds ε.",
    details="If given, Gaussian noise is used where it is more accurate.",
)  # fmt: skip
RHO: Any = option(
    default=None, takes="number", above=0, example=0.1, label="Budget ρ",
    help="Budget in zero-concentrated DP, instead of epsilon.",
    details="Needs ``delta``, at which its ε is stated.",
)  # fmt: skip
LEDGER: Any = option(
    default=None, job="account", help="A `Ledger` or `Account` to charge.",
    details="The whole budget is reserved before the first row is read. Fitting twice charges twice.",
)  # fmt: skip
RANDOM_STATE: Any = option(
    default=None, job="seed", help="None uses a cryptographic generator.",
    details="An int or a Generator repeats a run and marks the guarantee as seeded.",
)  # fmt: skip
#: More rows than any table has; products with it stay within doubles.
MOST_ROWS = 10**15
N_ROWS: Any = option(
    default=None, takes=("whole", "number"), above=0, high=MOST_ROWS, example=10_000, job="rows",
    label="Public number of rows", help="Number of rows, if it is public.",
    details="Otherwise ``size_share`` of the budget estimates it.",
    expected=f"a public number of rows, positive and at most {MOST_ROWS:.0e}",
)  # fmt: skip
SIZE_SHARE: Any = option(
    default=0.03, takes="number", above=0, below=1, help="Share of the budget that estimates the number of rows.",
)  # fmt: skip
EXPECT_ROWS: Any = option(
    default=None, takes="whole", low=1, high=MOST_ROWS, example=10_000, label="Expected rows",
    help="A public guess of the number of rows; a release that differs by more than a fifth is marked.",
    details='A smaller loss, such as one misspelled category, is not marked; ``missing="own"`` shows its noisy number.',
)  # fmt: skip
CHECK_FIRST: Any = option(
    default=None, takes="budget", example=0.2, label="Budget of a check",
    help="Part of the budget that first counts rows and missing values, and stops if they look wrong.",
    details="The numbers are noisy. If the check stops a release, this part stays spent, and the rest is not (a "
    "Ledger pays all of it). With expect_rows, a part that is too small to find a misread table is refused before rows "
    "are read.",
)  # fmt: skip
MAX_MEMORY: Any = option(
    default=2.0, takes="number", above=0, help="Maximum memory for cells and nodes, in GiB.",
    details="A release that would need more is refused before rows are read.",
)  # fmt: skip
