"""What the verbs `anonymize` and `risk` do, without the talking."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet import anonymity
from discreet.anonymity import Release, RiskReport
from discreet.anonymity.risk.report import promise_notes
from discreet.core import checks
from discreet.core.domain import Domain
from discreet.core.output import check_place, promise_place
from discreet.engines import as_declared
from discreet.errors import DataSourceError, DiscreetError, InvalidArgument, SchemaError

_SENSITIVE = ("l", "l-kind", "t", "suppress", "person")
#: For every method, the options that it takes beside those of all.
_OPTIONS = {
    "density-tree": (*_SENSITIVE, "criterion", "blind"),
    "mondrian": (*_SENSITIVE, "mode", "blind"),
    "microaggregation": (),
    "generalization": (*_SENSITIVE, "level"),
}
_COMMON = ("k", "keep", "target", "grid", "hierarchy")
#: What an option is called in Python, where that differs.
_NAMES = {"l": "l_diversity", "l-kind": "l_kind", "t": "t_closeness", "level": "levels", "hierarchy": "hierarchies"}


def anonymize(
    data: str,
    schema: str | Path,
    method: str,
    settings: dict[str, Any],
    output: Path,
    form: str | None,
    bounds: bool,
    hash_key: Path | None,
    *,
    house: Path | None = None,
    previous: Sequence[Path] = (),
) -> Release:
    """Release a table and write it, its promise beside it. Options that were not given are None.

    ``previous`` are the house files of earlier releases, ``house`` is where to write that of this one.
    """
    method = checks.choice("method", method, tuple(_OPTIONS))
    given = {name: value for name, value in settings.items() if value is not None}
    for name, value in given.items():
        if name not in (*_COMMON, *_OPTIONS[method]):
            others = " or ".join(m for m, options in _OPTIONS.items() if name in options)
            raise InvalidArgument(f"--{name}", value, f"used with --method {others}", f"leaving --{name} out")
    means = method == "microaggregation"
    if means and (form is not None or bounds):
        name, value = ("--bounds", True) if form is None else ("--form", form)
        raise InvalidArgument(name, value, "left out: microaggregation publishes means", "--method density-tree")
    if bounds and form == "sample":
        raise InvalidArgument("--bounds", True, "used with --form interval or center", "--form interval")
    check_place(output)
    key = None
    if hash_key is not None:
        try:
            key = hash_key.expanduser().read_bytes().strip()
        except OSError as error:
            raise DataSourceError(f"--hash-key: cannot read {str(hash_key)!r} ({error.strerror})") from None
    kind: Any = {
        "density-tree": anonymity.DensityTree,
        "mondrian": anonymity.Mondrian,
        "microaggregation": anonymity.Microaggregation,
        "generalization": anonymity.Generalization,
    }[method]
    domain = Domain.from_toml(schema)
    if house is not None:
        _check_house(house, (output, promise_place(output), *previous, Path(data)))
    if house is not None or previous:
        _check_followed(domain, given.get("person"), method, "--house" if house is not None else "--previous")
    model = kind(domain=domain, **_arguments(given))
    handing: dict[str, Any] = {} if means else {"output": form or "interval"}
    identifiers = "drop" if key is None else "hash"
    if previous:
        handing["previous"] = list(previous)
    table = as_declared(data, schema)
    release: Release = model.fit_transform(table, identifiers=identifiers, key=key, **handing)
    if house is not None:
        release.save_house(house)  # first: a table that was handed out without it could not be followed
    release.save(output, form="bounds" if bounds else "text")
    return release


def _check_house(house: Path, others: Sequence[Path]) -> None:
    check_place(house)
    real = {os.path.realpath(path.expanduser()) for path in others}
    if os.path.realpath(house.expanduser()) in real:
        raise InvalidArgument("--house", str(house), "a file of its own", f"--house {house.stem}-new.house")


def _check_followed(domain: Domain, person: str | None, method: str, option: str) -> None:
    """Refuse to follow people whom nothing names, before any row is read."""
    if method == "microaggregation":
        raise InvalidArgument(option, method, "used with a method that publishes cells", "--method density-tree")
    if person is None and not any(column.role in ("person", "identifier") for column in domain):
        raise SchemaError(
            f"{option} needs somebody to follow: the schema names no identifier and no person; declare "
            'role = "identifier" or "person" for the column that says whose row it is'
        )


def _arguments(given: dict[str, Any]) -> dict[str, Any]:
    """Turn the options as they were typed into arguments."""
    read = dict(given)
    for name, reader in (("level", _whole), ("grid", _steps), ("hierarchy", anonymity.Hierarchy.from_csv)):
        if name in read:
            read[name] = _pairs(f"--{name}", read[name], reader)
    if "keep" in read:
        read["keep"] = tuple(read["keep"])
    return {_NAMES.get(name, name): value for name, value in read.items()}


def _pairs(option: str, given: list[str], reader: Callable[[str], Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in given:
        column, equals, value = text.partition("=")
        try:
            read = reader(value) if equals and column and value else None
        except ValueError as error:
            if isinstance(error, DiscreetError):
                raise
            read = None
        if read is None or column in found:
            raise InvalidArgument(option, text, "COLUMN=VALUE, once a column", f"{option} age=2")
        found[column] = read
    return found


def _whole(text: str) -> int:
    return int(text)


def _steps(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() else text


def risk(
    data: str,
    qi: str,
    sensitive: str | None,
    require: str | None,
    population: str | None,
    missing: str,
    person: str | None = None,
) -> tuple[RiskReport, list[str]]:
    """Measure a table, and compare with what is required."""
    wanted = _requirements(require)
    report = anonymity.risk(
        data, _names(qi), _names(sensitive or ""), population=population, missing=missing, person=person
    )
    if person is None:
        report = replace(report, notes=(*report.notes, *promise_notes(data)))
    return report, report.check(**wanted)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _requirements(text: str | None) -> dict[str, float]:
    wanted = {}
    for part in _names(text or ""):
        name, equals, value = part.partition("=")
        try:
            wanted[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise InvalidArgument("--require", part, "name=number, with commas between them", "--require k=5,l=2")
    return wanted
