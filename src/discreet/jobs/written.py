"""A commented job file to start from, and the JSON schema of job files, both from the declarations."""

from collections.abc import Sequence
from typing import Any

from discreet.core import PAIR_TYPES, Option
from discreet.core.schema import toml_value
from discreet.jobs.declare import Kind
from discreet.jobs.options import option


def example(kind: Kind) -> str:
    """Return a job file that runs once its paths and columns are right."""
    text = [
        f"# A job: {kind.summary}. Run it with  discreet run job.toml",
        "# Relative paths start at the folder of this file.",
        "",
        "[job]",
        f'kind = "{kind.name}"',
    ]
    if kind.data is not None:
        text += ["", "[data]", f"path = {toml_value(kind.data.example)}  # {kind.data.help}"]
    if kind.schema:
        role = '\nrole = "quasi-identifier"' if kind.name in ("anonymize", "mask") else ""
        text += [
            "",
            '# Declare columns by their meaning, not by the values in the table. Or name a file: path = "schema.toml"',
            f"[schema.columns.age]\nbounds = [0, 120]{role}\n",
            "[schema.columns.cost]\nbounds = [0, 100]" + ('\nrole = "sensitive"' if role else ""),
        ]
    for title, options in (("parameters", kind.parameters), ("outputs", kind.outputs)):
        text += ["", f"[{title}]"] if options else []
        for each in options:
            shown = "" if each.required or each.shown else "# "
            help = f"{each.help.removesuffix('.')} (with method {each.owners})." if each.methods else each.help
            text.append(f"{shown}{each.name} = {toml_value(each.example)}  # {help}")
    return "\n".join(text) + "\n"


_JSON: dict[str, dict[str, Any]] = {
    "number": {"type": "number"}, "whole": {"type": "integer"}, "budget": {"type": "number", "exclusiveMinimum": 0},
    "flag": {"type": "boolean"}, "numbers": {"type": "array", "items": {"type": "number"}, "minItems": 1},
    "files": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    **{t: {"type": "array", "items": {"type": ["string", "number"]}, "minItems": 1} for t in ("names", "list")},
    **{t: {"type": "object", "minProperties": 1} for t in PAIR_TYPES},
}  # fmt: skip


def json_schema(kind: Kind) -> dict[str, Any]:
    """Return the JSON schema of the job files of a kind, as read from TOML."""
    place, part = {"type": "string", "minLength": 1}, {"type": "object"}
    columns = {
        "type": "object",
        "properties": {"path": place, "columns": part, "unit": {"type": ["string", "object"]}, "source": part,
            "functions": part, "impossible": {"type": "array"}, "rules": {"type": "array", "items": place}},
    }  # fmt: skip
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
    bounds = {"minimum": option.low, "maximum": option.high, "exclusiveMinimum": option.above,
        "exclusiveMaximum": option.below}  # fmt: skip
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
