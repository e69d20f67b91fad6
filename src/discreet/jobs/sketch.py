"""What the verbs of `discreet sketch` do, without the talking: files in, files and plain figures out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from discreet import local, noise
from discreet.core.output import check_place, write_whole
from discreet.engines.passes.texts import texts
from discreet.errors import DataSourceError, FormatError, InvalidArgument
from discreet.local import Counts, Reports
from discreet.local.mechanism import Mechanism, mechanisms
from discreet.local.wire.binary import messages

#: Parameters that are read from the command line by options of their own.
_OWN = ("epsilon", "domain", "key")


def build(
    name: str,
    epsilon: float | None,
    domain: Path | Sequence[Any] | None,
    domain_size: int | None,
    key: int | None,
    reports: int,
    settings: Sequence[str],
) -> Mechanism:
    """Make a mechanism from what the command line says. ``name`` may be "auto" or a file with parameters inside."""
    labels: Any = domain_size if domain is None else read_lines(domain) if isinstance(domain, Path) else list(domain)
    if Path(name).is_file():
        return read_parameters(Path(name))
    if name == "auto":
        return _automatic(epsilon, labels, reports)
    known = mechanisms()
    if name not in known:
        listed = ", ".join(sorted(known))
        raise InvalidArgument("mechanism", name, f"'auto', a file, or one of {listed}", "--mechanism auto")
    kind = known[name]
    wanted = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    given: dict[str, Any] = {
        k: v for k, v in {"epsilon": epsilon, "domain": labels, "key": key}.items() if v is not None
    }
    for text in settings:
        setting, equals, value = text.partition("=")
        if not equals or setting not in wanted or setting in _OWN:
            options = ", ".join(n for n in wanted if n not in _OWN)
            raise InvalidArgument("set", text, f"name=value with a name of {name}: {options}", "--set width=1024")
        given[setting] = _setting(value, str(wanted[setting].type))
    if "alphabet" in wanted and given.get("bits") is None:
        # What a file holds is not looked at, and digits are no rarer in files than letters.
        given.setdefault("alphabet", "alphanumeric")
    for setting in given:
        if setting not in wanted:
            expected = f"left out: {name} has no such parameter"
            raise InvalidArgument(setting, given[setting], expected, f"--mechanism {name} without it")
    absent = [n for n, f in wanted.items() if n not in given and f.default is MISSING and f.default_factory is MISSING]
    if absent:
        fix = {"epsilon": "--epsilon 1", "domain": "--domain labels.txt or --domain-size 100"}
        raise InvalidArgument(absent[0], None, f"given for {name}", fix.get(absent[0], f"--set {absent[0]}=1"))
    return kind(**given)


def _automatic(epsilon: float | None, labels: Any, reports: int) -> Mechanism:
    if epsilon is None or labels is None:
        missing, fix = ("epsilon", "--epsilon 1") if epsilon is None else ("domain", "--domain labels.txt")
        raise InvalidArgument(missing, None, "given for an automatic choice", fix)
    size = labels if isinstance(labels, int) else len(labels)
    return local.plan(epsilon, size, reports).best.make(labels)


def _setting(text: str, kind: str) -> Any:
    """Read a parameter as what its field takes: text as it is, a list at its commas, else a number if it is one."""
    if kind.startswith("str"):
        return text
    if kind.startswith("tuple"):
        return tuple(_setting(part, "") for part in text.split(","))
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def read_lines(path: Path) -> list[str]:
    """Read labels or candidates: one a line, or the first column of a table; blank lines are left out."""
    found = [v for batch in texts(path) for v in batch[0].to_pylist() if v]
    if not found:
        raise DataSourceError(f"{str(path)!r} holds no values; write one a line")
    return list(dict.fromkeys(found))


def read_parameters(path: Path) -> Mechanism:
    """Read the mechanism of a file of reports or counts."""
    for reader in (Reports.from_bytes, Counts.from_bytes):
        for message in _messages(path):
            try:
                return reader(message).mechanism
            except FormatError:
                break
    raise FormatError(f"{str(path)!r} is no file of reports or counts")


def encode(
    data: str, column: str | None, mechanism: Mechanism, output: Path, users: str | None, secret: Path | None, seed: Any
) -> dict[str, Any]:
    """Randomise a column of a file, some rows at a time, each batch one message of the output."""
    check_place(output)
    stream, n = noise.generator(seed), 0
    if users is not None and column is None:
        raise InvalidArgument("column", None, "named beside the column of users", "--column NAME")
    wanted = [c for c in (column, users) if c is not None]
    extra = _memory(mechanism, secret)
    temporary = output.with_name(f".{output.name}.part")
    try:
        with temporary.open("wb") as file:
            for batch in texts(data, wanted):
                values = _values(mechanism, batch[0])
                people = None if users is None else batch[1].to_pylist()
                reports = mechanism.encode(values, users=people, rng=stream, **extra)
                file.write(reports.to_bytes())
                n += len(reports)
            if not n:
                file.write(mechanism.encode([], users=None if users is None else [], rng=stream, **extra).to_bytes())
        temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)
    figures = {"file": str(output), "reports": n, "bits": mechanism.report_bits}
    # The number of reports is public in this model.
    warnings = [] if n else ["there are no values in the column, so there are no reports: look at the file"]
    return {**figures, "warnings": warnings, **promise(mechanism, stream.seeded)}


def _memory(mechanism: Mechanism, secret: Path | None) -> dict[str, Any]:
    """Return the memo of a mechanism that remembers, from the secret in a file."""
    if secret is None:
        return {}
    if "memo" not in signature(mechanism.encode).parameters:
        raise InvalidArgument("secret", str(secret), f"left out: {mechanism.NAME} remembers nothing", "no --secret")
    try:
        return {"memo": local.Memo(secret.expanduser().read_bytes().strip())}
    except OSError as error:
        raise DataSourceError(f"secret: cannot read {str(secret)!r} ({error.strerror}); check the path") from None


def _values(mechanism: Mechanism, column: pa.Array) -> Any:
    """Give a mechanism over numbered values its numbers; all others take text."""
    if _numbered(mechanism):
        from discreet.engines.tables.encode import numbers_of_text

        numbers = numbers_of_text(column.cast(pa.large_binary()))
        whole = np.isfinite(numbers) & (numbers == np.floor(numbers)) & (np.abs(numbers) < 2**53)
        return np.where(whole, numbers, -1).astype(np.int64)
    return column


def _numbered(mechanism: Mechanism) -> bool:
    """Tell whether the values of a mechanism are whole numbers: in a file they are text, which is another value."""
    whole = isinstance(mechanism, local.PrefixExtension) and mechanism.bits is not None
    return whole or any(isinstance(getattr(mechanism, name, None), int) for name in ("domain", "candidates"))


def aggregate(files: Sequence[Path], output: Path) -> Counts:
    """Count the reports of files, one message at a time."""
    check_place(output)
    counts: Counts | None = None
    for file in files:
        for message in _messages(file):
            if counts is None:
                counts = Reports.from_bytes(message).mechanism.empty()
            counts.add(message)
    if counts is None:
        raise FormatError("the files hold no reports")
    counts.save(output)
    return counts


def merge(files: Sequence[Path], output: Path) -> Counts:
    """Add up the counts of files."""
    check_place(output)
    total: Counts | None = None
    for file in files:
        for message in _messages(file):
            counts = Counts.from_bytes(message)
            total = counts if total is None else total + counts
    if total is None:
        raise FormatError("the files hold no counts")
    total.save(output)
    return total


def estimate(file: Path, candidates: Path | Sequence[Any] | None, consistency: str | None, output: Path | None) -> Any:
    """Estimate candidates from counts, or discover them where the mechanism can, and write a table if asked.

    Of mechanisms over numbers: a mean, or a distribution.
    """
    if output is not None:
        check_place(output)
    counts = Counts.load(file)
    mechanism = counts.mechanism
    asked: Any = read_lines(candidates) if isinstance(candidates, Path) else candidates
    if asked is not None and _numbered(mechanism):
        asked = [int(c) if str(c).lstrip("-").isdecimal() else c for c in asked]
    found: Any
    if isinstance(mechanism, (local.SquareWave, local.MeanResponse, local.MeanVector)):
        for name, value in {"candidates": candidates, "consistency": consistency}.items():
            if value is not None:
                raise InvalidArgument(name, str(value), f"left out: {mechanism.NAME} is over numbers", f"no --{name}")
        found = mechanism.estimate(counts)
    elif asked is None and hasattr(mechanism, "discover"):
        found = mechanism.discover(counts).estimate
    else:
        found = mechanism.estimate(counts, asked, consistency=consistency)
    if output is not None:
        if isinstance(found, local.MeanEstimate):
            columns = {name: np.atleast_1d(value) for name, value in _means(found).items()}
            table = pa.table(columns)
        else:
            table = found.to_arrow()
        sink = pa.BufferOutputStream()
        if output.suffix.lower() in (".parquet", ".pq"):
            pq.write_table(table, sink)
        else:
            pa_csv.write_csv(table, sink)
        write_whole(output, sink.getvalue().to_pybytes())
    return found


def estimate_figures(found: Any, output: Path | None, mechanism: Mechanism | None = None) -> dict[str, Any]:
    """Return estimates as plain data; a number that is not finite, which JSON cannot write, is None."""
    promised = {"epsilon": found.guarantee.to_dict()["epsilon"], "seeded": found.guarantee.seeded}
    file = None if output is None else str(output)
    if isinstance(found, local.MeanEstimate):
        figures = {name: _finite(np.asarray(value).tolist()) for name, value in _means(found).items()}
        return {"reports": found.n, **figures, **promised, "file": file}
    if isinstance(found, local.Distribution):
        rows = found.to_arrow().to_pylist()
        return {"reports": found.n, "mean": found.mean, "distribution": rows, **promised, "file": file}
    low, high = found.interval(0.95)
    columns = (found.count.tolist(), found.std_error.tolist(), low.tolist(), high.tolist())
    names = ("candidate", "count", "std_error", "lower", "upper", "may_be_noise")
    marks = found.may_be_noise().tolist()
    rows = [
        dict(zip(names, row, strict=True)) for row in zip(found.candidates, *map(_finite, columns), marks, strict=True)
    ]
    return {"reports": found.n, "estimates": rows, "caveats": caveats(found, mechanism), **promised, "file": file}


def caveats(found: local.Estimate, mechanism: Mechanism | None) -> list[str]:
    """Say in plain words what of some estimates may be noise, and what their values stand for."""
    marks, z = found.may_be_noise(), found.noise_cut()
    least = z * float(np.median(found.std_error)) if len(found) else 0.0
    looked = f"{found.tried:,} values that the search tried" if found.tried else f"{len(found):,} values asked for"
    lines = []
    if np.isfinite(least) and least > 0:
        lines.append(
            f"Every count is an estimate. Of the {looked}, with a chance of about 5 % one that nobody holds gets more "
            f"than {z:.1f} standard errors (about {least:,.0f}): 0.05 false hits are expected above that, any number "
            "below."
        )
    if marks.any():
        lines.append(
            f"{int(marks.sum()):,} of {len(found):,} lie below it and may be noise: perhaps nobody holds them."
        )
    other, alphabet = getattr(mechanism, "other", None), getattr(mechanism, "alphabet", None)
    if other is not None and other not in (alphabet or "") and any(other in str(c) for c in found.candidates):
        lines.append(
            f"{other!r} stands for every character that was not declared; what it was is not in the reports. Declare "
            "it when they are made: --set alphabet=alphanumeric, digits, or the characters themselves."
        )
    return lines


def spelling(mechanism: Mechanism) -> str:
    """Say how a mechanism that finds values spells them; empty for others. Nothing of this depends on the values."""
    alphabet = getattr(mechanism, "alphabet", None)
    if alphabet is None:
        return ""
    shown = alphabet if len(alphabet) <= 60 else f"{alphabet[:60]}..."
    return (
        f"Values are spelled with {shown} (upper case counts as lower), up to {mechanism.length} characters; any other "  # type: ignore[attr-defined]
        f"character counts as {mechanism.other}"  # type: ignore[attr-defined]
    )


def _means(found: local.MeanEstimate) -> dict[str, Any]:
    low, high = found.interval(0.95)
    return {"mean": found.mean, "std_error": found.std_error, "lower": low, "upper": high}


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(v) for v in value]
    return value if not isinstance(value, float) or np.isfinite(value) else None


def promise(mechanism: Mechanism, seeded: bool) -> dict[str, Any]:
    """Return the facts of the promise as plain data."""
    return {
        "mechanism": mechanism.to_dict(),
        "epsilon": mechanism.guarantee.to_dict()["epsilon"],
        "unit": mechanism.guarantee.unit,
        "seeded": seeded,
    }


def _messages(path: Path) -> Iterator[bytes]:
    try:
        with path.expanduser().open("rb") as file:
            yield from messages(file)
    except OSError as error:
        if isinstance(error, DataSourceError):
            raise
        raise DataSourceError(f"cannot read {str(path)!r} ({error.strerror}); check the path") from None
