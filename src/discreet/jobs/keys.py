"""The keys of a job file: what each kind of job takes, in one table that checking, examples and pages read.

A key that nobody knows is refused with the nearest one that is known: a misspelt ``epsilom`` must not quietly run a job
with a default.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from discreet.core.schema_file import toml_key, toml_value
from discreet.errors import FormatError, InvalidArgument, InvalidType

#: What a value may be, in words.
_WORDS = {
    "number": "a number",
    "whole": "a whole number",
    "text": "a text",
    "path": "a path",
    "flag": "true or false",
    "list": "a list of texts or numbers",
    "table": "a table of NAME = VALUE",
}


@dataclass(frozen=True)
class Key:
    """One key: what it takes, what it means, and a value to show."""

    takes: tuple[str, ...]
    meaning: str
    example: Any = None
    required: bool = False
    choices: tuple[str, ...] = ()


#: What may be done to the counts of a synopsis before it is clustered: `discreet.clustering.central.of_synopsis.NAMES`.
REFINE = ("auto", "consistent", "project", "threshold", "mixture", "none")
_SEED = Key(("whole",), "repeat a run; its result must not be published", 1)
_UNIT = Key(("text",), "one row is what is hidden; needed where the schema names a person", "row", choices=("row",))
_EPSILON = Key(("number",), "privacy budget: smaller is more private, and coarser", 1.0, True)
_ROWS = Key(("whole", "number"), "number of rows, if it is public; else some budget buys it", 10000)
_RELEASE = Key(("path",), "what may be published", "release.csv", True)
_REPORT = Key(("path",), "one page about it: promise, ledger, assumptions", "report.html")
_PROMISE = Key(("path",), "the promise alone, as JSON", "guarantee.json")

PARAMETERS: dict[str, dict[str, Key]] = {
    "synopsis": {
        "epsilon": _EPSILON,
        "method": Key(("text",), "equal cells, or cells that follow the rows", "grid", choices=("grid", "tree")),
        "rule": Key(("text", "whole"), "grid: rugnik, eugkm, adaptive, or parts per axis", "rugnik"),
        "partitioner": Key(("text",), "tree: binary, median, quantile, uniform, privtree or density", "binary"),
        "max_depth": Key(("whole",), "tree: the most cuts above a leaf", 8),
        "n_clusters": Key(("whole",), "clusters to be found in it; needed for the output 'centers'", 8),
        "rows": _ROWS,
        "unit": _UNIT,
        "seed": _SEED,
    },
    "cluster": {
        "n_clusters": Key(("whole",), "number of centres", 8, True),
        "epsilon": Key(("number",), "privacy budget; leave it and [schema] out if the data are a synopsis", 1.0),
        "method": Key(("text",), "the synopsis under the clusters", "auto", choices=("auto", "grid", "tree")),
        "refine": Key(("text",), "what is done to its counts before; auto takes what suits it", "auto", choices=REFINE),
        "columns": Key(("list",), "columns to cluster on; by default all but categories", ["age", "cost"]),
        "rows": _ROWS,
        "unit": _UNIT,
        "seed": _SEED,
    },
    "anonymize": {
        "k": Key(("whole",), "everyone hides among at least so many rows", 10, True),
        "method": Key(
            ("text",),
            "how the groups are found",
            "density-tree",
            choices=("density-tree", "mondrian", "microaggregation", "generalization"),
        ),
        "l": Key(("number",), "every group has so many different sensitive values", 2),
        "l_kind": Key(("text",), "how they are counted", "distinct", choices=("distinct", "entropy", "recursive")),
        "t": Key(("number",), "every group's sensitive values are so close to those of the table", 0.3),
        "criterion": Key(("text",), "density tree: spread, factor, width, cell, tight, mondrian or mixture", "spread"),
        "mode": Key(("text",), "mondrian: strict or relaxed", "strict"),
        "level": Key(("table",), "generalization: COLUMN = LEVEL"),
        "hierarchy": Key(("table",), "COLUMN = file with a category a row, then ever larger groups"),
        "grid": Key(("table",), "COLUMN = STEPS of the public grid; for dates also day, month, year"),
        "target": Key(("text",), "a label to pass on", "label"),
        "person": Key(("text",), "whose row it is: then k counts persons", "patient"),
        "suppress": Key(("number",), "share of rows that may be left out for smaller groups", 0.01),
        "blind": Key(("flag",), "cut without looking at sensitive columns; refused if l or t then fail", False),
        "keep": Key(("list",), "columns without a role to pass on as they are", ["year"]),
        "form": Key(("text",), "what is written of a group", "interval", choices=("interval", "center", "sample")),
        "bounds": Key(("flag",), "write lower and upper columns instead of intervals", False),
        "hash_key": Key(("path",), "file with a secret: identifiers are hashed instead of dropped", "secret.txt"),
        "previous": Key(("list", "path"), "house files of all earlier releases about these people", ["january.house"]),
    },
    "perturb": {
        "epsilon": Key(("number",), "level at distance radius: smaller is more private", 1.0, True),
        "radius": Key(("number",), "distance at which epsilon holds, in shares of the declared widths", 0.1),
        "method": Key(
            ("text",),
            "the noise",
            "nd-laplace",
            choices=(
                "nd-laplace",
                "sphere",
                "column-laplace",
                "piecewise",
                "hybrid",
                "duchi",
                "square-wave",
                "priv-unit",
            ),
        ),
        "remap": Key(("text",), "what noisy points become: none, clip, grid, bayes or resample", "clip"),
        "prior": Key(("path",), "for bayes: public places", "places.csv"),
        "scaling": Key(("text", "list"), "the metric: box, none, or a list of units", "box"),
        "category_epsilon": Key(("number",), "budget of every column of categories", 1.0),
        "step": Key(("number",), "distance of neighbouring values that may be written", 0.001),
        "unit": _UNIT,
        "order": Key(
            ("text",),
            "of the rows; input is for a table that stays in the house",
            "shuffled",
            choices=("shuffled", "input"),
        ),
        "seed": _SEED,
    },
    "sketch": {
        "epsilon": Key(("number",), "budget of one report", 2.0),
        "column": Key(("text",), "column that holds the values", "word"),
        "mechanism": Key(("text",), "a name, auto, or a file of reports to take the parameters from", "auto"),
        "domain": Key(("list", "path"), "the declared values: a list, or a file with one a line", ["red", "blue"]),
        "domain_size": Key(("whole",), "number of values, if they are 0, 1, 2, ...", 100),
        "candidates": Key(("list", "path"), "values to estimate, if not all that are declared", ["red"]),
        "key": Key(("whole",), "public hash key; drawn at random if not given", 1),
        "set": Key(("table",), "further parameters of the mechanism"),
        "reports": Key(("whole",), "reports expected, for the automatic choice", 100000),
        "users": Key(("text",), "column with a key per user, for mechanisms that remember", "user"),
        "secret": Key(("path",), "file with the client's secret, likewise", "secret.txt"),
        "consistency": Key(("text",), "of estimates: simplex, base-cut, norm-cut or likelihood", "simplex"),
        "seed": _SEED,
    },
}
OUTPUTS: dict[str, dict[str, Key]] = {
    "synopsis": {
        "release": Key(("path",), "the synopsis, with its promise inside", "synopsis.parquet", True),
        "centers": Key(("path",), "cluster centres found in it", "centers.csv"),
        "report": _REPORT,
        "guarantee": _PROMISE,
    },
    "cluster": {
        "centers": Key(("path",), "the cluster centres", "centers.csv", True),
        "release": Key(("path",), "the synopsis they were found in", "synopsis.parquet"),
        "report": Key(("path",), "one page about the release; needs the output 'release'", "report.html"),
        "guarantee": _PROMISE,
    },
    "anonymize": {
        "release": _RELEASE,
        "house": Key(("path",), "who was published where: for later releases, not to be handed out", "february.house"),
        "report": _REPORT,
        "guarantee": _PROMISE,
    },
    "perturb": {"release": _RELEASE, "report": _REPORT, "guarantee": _PROMISE},
    "sketch": {
        "release": Key(("path",), "the reports: what may leave the devices", "reports.bin", True),
        "counts": Key(("path",), "their counts: what a collector keeps", "counts.bin"),
        "estimates": Key(("path",), "estimated frequencies; needs the output 'counts'", "estimates.csv"),
        "report": Key(("path",), "one page about the counts; needs the output 'counts'", "report.html"),
        "guarantee": _PROMISE,
    },
}
KINDS = tuple(PARAMETERS)
SECTIONS = ("job", "data", "schema", "parameters", "outputs")
_SUMMARY = {
    "synopsis": "release a table as noisy counts of boxes",
    "cluster": "find private cluster centres",
    "anonymize": "release a table in which everyone hides among k rows",
    "perturb": "move every row by noise",
    "sketch": "randomise a column as devices would, count, estimate",
}


def listed(value: Any) -> list[Any]:
    """Return one value, several or none as a list."""
    return [] if value is None else [*value] if isinstance(value, (list, tuple)) else [value]


def known(where: str, given: Iterable[str], names: Iterable[str]) -> None:
    """Refuse a name that is not among those known, and say which is nearest."""
    listed = list(names)
    for name in given:
        if name not in listed:
            near = get_close_matches(str(name), listed, 1, 0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(listed)}"
            raise FormatError(f"{where} has no key {str(name)!r}; {hint}")


def check_values(section: str, given: Mapping[str, Any], keys: Mapping[str, Key]) -> None:
    """Check a section of a job: names, kinds of value, choices, and that nothing needed is absent."""
    known(f"[{section}]", given, keys)
    for name, key in keys.items():
        if name not in given:
            if key.required:
                fix = f"{name} = {toml_value(key.example)} under [{section}]"
                raise InvalidArgument(f"[{section}] {name}", None, f"given: {key.meaning}", fix)
            continue
        value = given[name]
        if not any(_fits(value, kind) for kind in key.takes):
            expected = " or ".join(_WORDS[kind] for kind in key.takes)
            example = key.example if key.example is not None else {"age": 2}
            fix = f"{name} = {toml_value(example)}" if key.takes != ("table",) else f"{name} = {{ age = 2 }}"
            raise InvalidType(f"[{section}] {name}", value, expected, fix)
        if key.choices and value not in key.choices:
            near = get_close_matches(str(value), key.choices, 1, 0.5) or [key.choices[0]]
            listed = ", ".join(map(repr, key.choices))
            raise InvalidArgument(f"[{section}] {name}", value, f"one of {listed}", f"{name} = {toml_value(near[0])}")


def _fits(value: Any, kind: str) -> bool:
    if kind in ("number", "whole"):
        allowed = int if kind == "whole" else (int, float)
        return isinstance(value, allowed) and not isinstance(value, bool)
    if kind in ("text", "path"):
        return isinstance(value, str) and bool(value)
    if kind == "flag":
        return isinstance(value, bool)
    if kind == "list":
        plain = isinstance(value, (list, tuple)) and len(value) > 0
        return plain and all(isinstance(v, (str, int, float)) and not isinstance(v, bool) for v in value)
    return isinstance(value, dict) and bool(value) and all(isinstance(v, (str, int, float)) for v in value.values())


def section(name: str, values: Mapping[str, Any]) -> str:
    """Write a section of a job file; tables inside it come after its plain values."""
    tables = {key: value for key, value in values.items() if isinstance(value, dict)}
    plain = [f"{toml_key(k)} = {toml_value(_listed(v))}" for k, v in values.items() if k not in tables]
    return "\n\n".join(["\n".join([f"[{name}]", *plain]), *(section(f"{name}.{k}", v) for k, v in tables.items())])


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def example(kind: str) -> str:
    """Return a commented job file that can be run once its paths and columns are right."""
    if kind not in KINDS:
        near = get_close_matches(kind, KINDS, 1, 0.4) or [KINDS[0]]
        raise InvalidArgument("--example", kind, f"one of {', '.join(KINDS)}", f"--example {near[0]}")
    text = [
        f"# A job: {_SUMMARY[kind]}. Run it with  discreet run job.toml",
        "# Relative paths start at the folder of this file.",
        "",
        "[job]",
        f'kind = "{kind}"',
        "",
        "[data]",
        'path = "people.csv"  # CSV or Parquet, a folder of them, or a pattern',
    ]
    if kind != "sketch":
        role = '\nrole = "quasi-identifier"' if kind == "anonymize" else ""
        text += [
            "",
            '# Declare columns by what they mean, never by what the table holds; or name a file: path = "schema.toml"',
            f"[schema.columns.age]\nbounds = [0, 120]{role}\n",
            "[schema.columns.cost]\nbounds = [0, 100]" + ('\nrole = "sensitive"' if role else ""),
        ]
    for title, keys in (("parameters", PARAMETERS[kind]), ("outputs", OUTPUTS[kind])):
        text += ["", f"[{title}]"]
        for name, key in keys.items():
            value = "{ age = 2 }" if key.example is None else toml_value(key.example)
            shown = key.required or name in _SHOWN[kind]
            text.append(f"{'' if shown else '# '}{name} = {value}  # {key.meaning}")
    return "\n".join(text) + "\n"


#: Keys that an example sets though they are not required.
_SHOWN = {
    "synopsis": ("method", "report"),
    "cluster": ("epsilon", "release", "report"),
    "anonymize": ("method", "report"),
    "perturb": ("radius", "method", "report"),
    "sketch": ("epsilon", "column", "mechanism", "domain", "counts", "estimates", "report"),
}
