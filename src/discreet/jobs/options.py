"""One thing that a job takes, how it is spelt in a file and on a command line, and how values are written there."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from discreet.core import SURE_DELTA
from discreet.core.schema import toml_value

#: A path to read, to a file or (table) also to a folder or a pattern of files.
FILES = ("file", "table", "files", "file pairs")
#: More than one of these on a command line are added up.
REPEATED = ("list", "files", "pairs", "whole pairs", "file pairs", "list pairs")
PAIRS = ("pairs", "whole pairs", "file pairs", "list pairs", "figures")
WORDS = {
    "number": "a number",
    "budget": "a number",
    "whole": "a whole number",
    "text": "a text",
    "file": "a path",
    "table": "a path",
    "output": "a path",
    "folder": "a path",
    "flag": "true or false",
    "names": "a list of texts or numbers",
    "list": "a list of texts or numbers",
    "numbers": "a list of numbers",
    "files": "a list of paths",
    **dict.fromkeys(PAIRS, "a table of NAME = VALUE"),
}
_METAVARS = {
    "budget": "NUMBER", "output": "FILE", "table": "FILE", "files": "FILE", "names": "A,B,...", "list": "TEXT",
    "numbers": "X,Y,...", "pairs": "NAME=VALUE", "whole pairs": "NAME=NUMBER", "file pairs": "NAME=FILE",
    "list pairs": "NAME=X,Y,...",
    "figures": "NAME=NUMBER,...",
}  # fmt: skip
#: No budget beyond this means anything: `discreet.core.checks.LARGEST_BUDGET`.
LARGEST = 10**30


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
    positional : bool
        Whether it stands on a command line by its place, after the data.
    streams : bool
        Whether a file that is written may be a pipe: a page, or figures, which need no guarantee next to them.
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
    positional: bool = False
    streams: bool = False

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
    def meaning(self) -> str:
        """What it means, and with which methods."""
        *others, last = self.methods or ("",)
        owners = f"{', '.join(others)} or {last}" if others else last
        return f"with method {owners}: {self.help}" if last else self.help

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
        line = f"{option.key} = {toml_value(value)}"
        return f"[schema] {line}" if option.section == "schema" else line


class Shell:
    """A command line: words after dashes."""

    def name(self, option: Option) -> str:
        """Return the long option, or what stands for the argument."""
        return "DATA" if option.section == "data" else option.name.upper() if option.positional else option.flag

    def given(self, option: Option, value: Any) -> str:
        """Return words of the line."""
        if option.positional:  # a sentence, often with single quotation marks inside
            plain = not set(str(value)) & set('"$`\\!')
            return f'"{value}"' if plain else shlex.quote(str(value))
        if option.section == "data":
            return shlex.join(map(str, value if isinstance(value, (list, tuple)) else [value]))
        if isinstance(value, bool):
            return option.flag if value else f"--{option.off}" if option.off else f"leaving {option.flag} out"
        if isinstance(value, Mapping):
            pairs = [f"{k}={','.join(map(str, v)) if isinstance(v, list) else v}" for k, v in value.items()]
            texts = [",".join(pairs)] if "figures" in option.takes else pairs
        elif isinstance(value, (list, tuple)):
            texts = list(map(str, value))
            # A comma after the only one tells a list from a file.
            alone = "," if "file" in option.takes and len(texts) == 1 else ""
            texts = texts if set(option.takes) & set(REPEATED) else [",".join(texts) + alone]
        else:
            texts = [str(value).removesuffix(".0") if isinstance(value, float) else str(value)]
        return " ".join(f"{option.flag} {shlex.quote(text)}" for text in texts)


FILE, SHELL = File(), Shell()


#: The declared columns.
SCHEMA = option(
    "schema", "file", "the declared columns; 'discreet schema' drafts such a file", "schema.toml", section="schema"
)
NEEDED_SCHEMA = replace(SCHEMA, required=True)


# ---- options that several kinds of job take: spelt and explained the same way everywhere

TABLE = option(
    "data", "table", "a CSV, Parquet, Excel, Stata, SPSS or SAS file, a folder or pattern of them, or a database",
    "people.csv", required=True, section="data",
)  # fmt: skip
EPSILON = option("epsilon", "budget", "privacy budget: smaller is more private, and coarser", 1.0, required=True)
#: A budget above this has to be said twice.
SURE = 20
YES_REALLY = option(
    "yes_really", "flag",
    f"a budget above {SURE} or a delta above {SURE_DELTA:g} is meant: it promises next to nothing", True, arguments=(),
)  # fmt: skip
SEED = option(
    "seed", "whole", "repeat a run; its result must not be published", 1, low=0,
    arguments=("random_state", "rng", "seed"),
)  # fmt: skip
UNIT = option(
    "unit", "text", "row: one row is what is hidden; needed where the schema names a person", "row",
    choices=("row",), arguments=(),
)  # fmt: skip
DELTA = option(
    "delta",
    "number",
    "beside epsilon, or with rho: noise may be Gaussian where that is better",
    1e-6,
    above=0,
    below=1,
)
RHO = option("rho", "number", "instead of epsilon: the budget in zCDP; its epsilon is stated at delta", 0.1, above=0)
ACCOUNT = option(
    "account", "file", "the account that is charged before a row is read; 'discreet account create' makes one",
    "patients.account", arguments=("ledger",),
)  # fmt: skip
FRESH = option(
    "fresh", "flag", "spend again, though the same job's release is there and costs nothing", True, arguments=()
)
OVERWRITE = option(
    "overwrite", "flag", "replace a release that was charged to an account, made by another job", True, arguments=()
)
PERSON = option(
    "person", "text", "column that says whose row it is: a person, with all their rows, is what is hidden", "user",
    arguments=(),
)  # fmt: skip
PERSON_ROWS = option(
    "person_rows", ("text", "whole"), "rows of one person that are used at most; auto buys the number", "auto",
    choices=("auto",), low=1, high=2**20, arguments=(),
)  # fmt: skip
ROWS = option(
    "rows", ("whole", "number"), "number of rows, if it is public; else some budget buys it", 10000,
    above=0, expected="a public number of rows, positive and finite", arguments=("n_rows",),
)  # fmt: skip
SIZE_SHARE = option(
    "size_share", "number", "share of the budget that buys the number of rows", 0.03, default=0.03, above=0, below=1
)
#: What every kind that releases something central has at its end: whose privacy, who is charged, how it is drawn.
CENTRAL = (UNIT, ACCOUNT, FRESH, OVERWRITE, PERSON, PERSON_ROWS, YES_REALLY, SEED)
ORDER = option(
    "order", "text", "of the rows; input is for a table that stays inside the organisation", "shuffled", default="shuffled",
    choices=("shuffled", "input"),
)  # fmt: skip
ESCAPE_FORMULAS = option(
    "escape_formulas", "flag", "CSV: an apostrophe before texts that begin with =, +, - or @, which spreadsheets run",
    True, arguments=(),
)  # fmt: skip
MAX_MEMORY = option("max_memory", "number", "gibibytes that cells and nodes may take", 2.0, default=2.0, above=0)
REFINE = option(
    "refine", "text", "what is done to its counts before; auto takes what suits it", "auto", default="auto",
    choices=("auto", "consistent", "means", "project", "threshold", "mixture", "none"),
)  # fmt: skip
REPORT = output("report", "one page about it: promise, ledger, assumptions", "report.html", shown=True, streams=True)
#: What the page says above all; every kind that can write one takes them.
PAGE = (
    option("title", "text", "what the page is called", "Patients 2026", arguments=()),
    option("owner", "text", "who answers for the release", "Data office", arguments=()),
    option("purpose", "text", "what it was released for", "Planning of beds", arguments=()),
    option("date", "text", "when", "2026-11-16", arguments=()),
)
PROMISE = output("guarantee", "the promise alone, as JSON", "guarantee.json", streams=True)


def release(help: str, example: str = "release.csv", name: str = "release", **more: bool) -> Option:
    """Declare the file that a job is for."""
    return output(name, help, example, shell="output", short="-o", **{"required": True, **more})
