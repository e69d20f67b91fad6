"""What the verbs `anonymize` and `risk` do, without the talking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet import _checks, anonymity
from discreet._output import check_place
from discreet.anonymity import Release, RiskReport
from discreet.domain import Domain
from discreet.errors import DataSourceError, InvalidArgument

_METHODS = ("density-tree", "mondrian")


def anonymize(
    data: str,
    schema: Path,
    method: str,
    settings: dict[str, Any],
    output: Path,
    form: str,
    bounds: bool,
    hash_key: Path | None,
) -> Release:
    """Release a table and write it, its promise beside it."""
    method = _checks.choice("method", method, _METHODS)
    if method == "mondrian" and "criterion" in settings:
        raise InvalidArgument("--criterion", settings["criterion"], "used with --method density-tree only")
    if bounds and form == "sample":
        raise InvalidArgument("--bounds", True, "used with --form interval or center", "--form interval")
    check_place(output)
    key = None
    if hash_key is not None:
        try:
            key = hash_key.expanduser().read_bytes().strip()
        except OSError as error:
            raise DataSourceError(f"--hash-key: cannot read {str(hash_key)!r} ({error.strerror})") from None
    kind: Any = anonymity.DensityTree if method == "density-tree" else anonymity.Mondrian
    model = kind(domain=Domain.from_toml(schema), **settings)
    identifiers = "drop" if key is None else "hash"
    release: Release = model.fit_transform(data, output=form, order="shuffled", identifiers=identifiers, key=key)
    release.save(output, form="bounds" if bounds else "text")
    return release


def risk(
    data: str, qi: str, sensitive: str | None, require: str | None, population: str | None, missing: str
) -> tuple[RiskReport, list[str]]:
    """Measure a table, and compare with what is required."""
    wanted = _requirements(require)
    report = anonymity.risk(data, _names(qi), _names(sensitive or ""), population=population, missing=missing)
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
