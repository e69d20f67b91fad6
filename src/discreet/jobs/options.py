"""Spelling of options in job files and on command lines, and the options that belong to jobs."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from discreet.core import SURE_DELTA, Option
from discreet.core.schema import toml_value
from discreet.reporting import known_languages

#: Types that a command line may repeat; the values add up.
REPEATED = ("list", "files", "texts", "pairs", "whole pairs", "file pairs", "list pairs", "edge pairs")
_METAVARS = {
    "budget": "NUMBER", "output": "FILE", "table": "FILE", "files": "FILE", "names": "A,B,...", "list": "TEXT",
    "texts": "TEXT", "whole": "N",
    "numbers": "X,Y,...", "pairs": "NAME=VALUE", "whole pairs": "NAME=NUMBER", "file pairs": "NAME=FILE",
    "list pairs": "NAME=X,Y,...", "edge pairs": "NAME=X,Y,...", "figures": "NAME=NUMBER,...",
}  # fmt: skip

#: Longer lists of choices are listed in the help, not in its placeholder.
_WIDE = 20


def option(name: str, takes: str | Sequence[str], help: str, example: Any = None, **more: Any) -> Option:
    """Declare an option of a job. In Python it has the same name unless ``arguments`` says otherwise."""
    kinds = (takes,) if isinstance(takes, str) else tuple(takes)
    return Option(help, name, takes=kinds, example=example, **{"arguments": (name,), **more})


def change(name: str, **more: Any) -> Option:
    """Change what an estimator declares about an option, for one kind of job."""
    return Option(more.pop("help", ""), name, **more)


def output(name: str, help: str, example: str, **more: Any) -> Option:
    """Declare a file that is written."""
    return Option(help, name, takes=("output",), example=example, section="outputs", **more)


def release(help: str, example: str = "release.csv", name: str = "release", **more: Any) -> Option:
    """Declare the main output of a job."""
    return output(name, help, example, shell="output", short="-o", **{"required": True, **more})


def data(takes: str, help: str, example: Any, **more: Any) -> Option:
    """Declare what a job works on."""
    return option("data", takes, help, example, section="data", **{"required": True, **more})


class Door(Protocol):
    """A spelling of options: their names, and what to write to give a value."""

    def name(self, option: Option) -> str: ...

    def given(self, option: Option, value: Any) -> str: ...


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
    """A command line: flags and arguments."""

    def name(self, option: Option) -> str:
        """Return the flag, or the name of an argument."""
        return "DATA" if option.section == "data" else option.name.upper() if option.positional else option.flag

    def metavar(self, option: Option) -> str:
        """Return the placeholder of its value in a help text."""
        others = [_METAVARS.get(t, t.upper()) for t in option.takes if not (t == "text" and option.choices)]
        others = [o for o in others if o != "N" or "NUMBER" not in others]
        if len("|".join(option.choices)) > _WIDE:
            return option.name.upper()
        return "|".join([*option.choices, *dict.fromkeys(others)])

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
            pairs = [f"{k}={','.join(map(_text, v if isinstance(v, list) else [v]))}" for k, v in value.items()]
            texts = [",".join(pairs)] if "figures" in option.takes else pairs
        elif isinstance(value, (list, tuple)):
            texts = list(map(str, value))
            # A comma after the only name distinguishes a list from a file.
            alone = "," if "file" in option.takes and len(texts) == 1 else ""
            texts = texts if set(option.takes) & set(REPEATED) else [",".join(texts) + alone]
        else:
            texts = [_text(value)]
        return " ".join(f"{option.flag} {shlex.quote(text)}" for text in texts)


def _text(value: Any) -> str:
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


FILE, SHELL = File(), Shell()

# ---- options that several kinds of job take

SCHEMA = option(
    "schema", "file", "File that declares the columns; 'discreet schema' drafts one.", "schema.toml", section="schema",
)  # fmt: skip
NEEDED_SCHEMA = replace(SCHEMA, required=True)
TABLE = data(
    "table", "A CSV, Parquet, Excel, Stata, SPSS or SAS file, a folder or pattern of files, or a database.",
    "people.csv",
)  # fmt: skip
EPSILON = option(
    "epsilon", "budget", "Privacy budget: smaller is more private and less accurate.", 1.0, required=True,
    label="Privacy budget ε",
)  # fmt: skip
#: Larger budgets have to be confirmed.
SURE = 20
YES_REALLY = option(
    "yes_really", "flag", f"Confirm a budget above {SURE} or a delta above {SURE_DELTA:g}: they hardly protect anyone.",
    True, arguments=(), label="Yes, this weak promise is intended",
)  # fmt: skip
SEED = option(
    "seed", "whole", "Make the run repeatable. The result must not be published.", 1, low=0,
    arguments=("random_state", "rng", "seed"),
)  # fmt: skip
UNIT = option(
    "unit", "text", "Protect single rows, although the schema names a person column.", "row", choices=("row",),
    arguments=(), label="Unit of privacy",
)  # fmt: skip
ACCOUNT = option(
    "account", "file", "Account to charge before any row is read; 'discreet account create' makes one.",
    "patients.account", arguments=("ledger",),
)  # fmt: skip
FRESH = option(
    "fresh", "flag", "Draw new noise and pay again, even if this job was already released.", True, arguments=(),
    label="Release again",
)  # fmt: skip
OVERWRITE = option(
    "overwrite", "flag", "Replace a release of another job that an account was charged for.", True, arguments=(),
)  # fmt: skip
#: Of releases that an account lists without a price in its limit.
LISTED = (
    replace(ACCOUNT, help="Account to list the release in, before any row is read.", arguments=()),
    replace(FRESH, help="Release again and list it again, even if this job was already released."),
    OVERWRITE,
)
PERSON = option(
    "person", "text", "Column that identifies the person of a row: protect persons with all their rows.", "user",
    arguments=(), label="Person column",
)  # fmt: skip
PERSON_ROWS = option(
    "person_rows", ("text", "whole"), "Most rows to use per person; auto selects the number privately.", "auto",
    choices=("auto",), low=1, high=2**20, arguments=(), label="Rows per person",
)  # fmt: skip
COLUMNS = option(
    "columns", "names", "Columns to release; by default all declared columns.", ["age", "cost"], arguments=(),
)  # fmt: skip
#: Ends every kind that makes a central release: the unit of privacy, the account, and the randomness.
CENTRAL = (UNIT, PERSON, PERSON_ROWS, ACCOUNT, FRESH, OVERWRITE, YES_REALLY, SEED)
#: Of tables whose large or small values are grouped.
CODED = tuple(
    option(name, "pairs", f"COLUMN=LIMIT: {which} values appear as one, such as {mark} {limit}.", {"age": limit},
        expected="COLUMN=LIMIT, once per column, a number, date or time", arguments=(),
        label=f"{name.capitalize()} coding")
    for name, which, mark, limit in (("top", "larger", ">", 90), ("bottom", "smaller", "<", 18))
)  # fmt: skip
ORDER = option(
    "order", "text", "Order of the rows; input order is for tables that stay inside the organisation.", "shuffled",
    default="shuffled", choices=("shuffled", "input"),
)  # fmt: skip
ESCAPE_FORMULAS = option(
    "escape_formulas", "flag", "In CSV, put an apostrophe before texts that spreadsheets would run as formulas.", True,
    arguments=(),
)  # fmt: skip
CSV_DIALECT = option(
    "csv_dialect", "text", "How text is written: as the input is, as programs do, or for Excel (German or English).",
    "excel-de", default="input", choices=("input", "plain", "excel-de", "excel-en"), arguments=(), label="CSV for",
)  # fmt: skip
FORM = (ESCAPE_FORMULAS, CSV_DIALECT)
REPORT = output(
    "report", "Page that explains the release: guarantee, ledger, assumptions.", "report.html", shown=True,
    streams=True,
)  # fmt: skip
LANGUAGE = option("language", "text", "Language of the page: en, or de for German.", "de", default="en",
    choices=tuple(known_languages()), arguments=())  # fmt: skip
#: What the page says at the top; every kind that writes a page takes them.
PAGE = (
    option("title", "text", "Title of the page.", "Patients 2026", arguments=()),
    option("owner", "text", "Who is responsible for the release, on the page.", "Data office", arguments=()),
    option("purpose", "text", "Purpose of the release, on the page.", "Planning of beds", arguments=()),
    option("date", "text", "Date of the release, on the page.", "2026-11-16", arguments=()),
    LANGUAGE,
)
SIGN = option(
    "sign", "file", "Private key that signs the written files and the page; 'discreet key create' makes one.",
    "office.key", arguments=(), label="Sign with key",
)  # fmt: skip
PROMISE = output("guarantee", "The guarantee alone, as JSON.", "guarantee.json", streams=True)


def declared(name: str, shared: Option, argument: str = "", **changes: Any) -> Option:
    """Return an option that estimators share, as a job takes it."""
    example = shared.default if shared.example is None else shared.example
    return replace(shared, **{"name": name, "arguments": (argument or name,), "example": example, **changes})
