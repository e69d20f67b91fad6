"""The work of the jobs of local privacy."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import local, noise
from discreet.core import NewFile, counted, nearest, read_whole, write_whole
from discreet.engines import open as open_table
from discreet.engines import texts, write_table
from discreet.errors import DataSourceError, FormatError, InvalidArgument
from discreet.jobs.charging import check_reserved, digest_of_reports, repeated, reserved, standing
from discreet.jobs.job import Job, JobResult
from discreet.jobs.work.files import finish, read_lines
from discreet.local import Counts, Mechanism, Reports, mechanisms
from discreet.local.wire import messages
from discreet.reporting import kind_of

_LOG_MEAN = (
    "On a log scale the mean depends on a few very large values, of which little is known. If you need a mean, ask for "
    "it with mean-response."
)
#: Parameters of mechanisms that have their own options.
_OWN = ("epsilon", "domain", "key")


def run(job: Job) -> JobResult:
    """Run one of them."""
    if job.kind in ("aggregate", "merge"):
        return _count(job)
    return {"sketch": _sketch, "estimate": _estimate, "sketch-plan": _plan}[job.kind](job)


def check(job: Job) -> None:
    """Check everything but the data."""
    if job.kind == "sketch":
        mechanism = build(job)
        _memory(job, mechanism)
        _asked(job)
        check_reserved(job, mechanism.guarantee)
        if "estimates" in job.outputs:
            estimate(job, mechanism.empty())
    elif job.kind == "sketch-plan":
        _plan(job)


def build(job: Job, without: Sequence[str] = ()) -> Mechanism:
    """Make the mechanism of a job; its name may be "auto" or a file with parameters, but not one of ``without``."""
    given, wrong = job.parameters, job.declared.wrong
    name, values = given.get("mechanism", "auto"), given.get("domain")
    labels: Any = given.get("domain_size")
    if values is not None:
        labels = read_lines(job.place(values)) if isinstance(values, str) else list(values)
    stored = job.place(name).is_file()
    if (chosen := given.get("set")) and (stored or name == "auto"):
        expected = f"left out: {'the file has all settings' if stored else 'the mechanism is chosen with its settings'}"
        number = not stored and labels is None and set(chosen) <= {f.name for f in fields(local.SquareWave)}
        raise wrong("set", ", ".join(chosen), expected, ("mechanism", local.SquareWave.NAME) if number else None)
    if stored:
        return read_parameters(job.place(name))
    if name == "auto":
        size = labels if isinstance(labels, int) else len(labels)
        if values is not None and size < 2:
            raise InvalidArgument("domain", labels, "at least two values, or there is nothing to report")
        return local.plan(given["epsilon"], size, given.get("reports", 100_000)).best.make(labels)
    kinds = {each: kind for each, kind in mechanisms().items() if each not in without}
    if name not in kinds:
        listed, meant = ", ".join(sorted(kinds)), nearest(name, sorted(kinds))
        fix: Any = None if meant is None else ("mechanism", meant)
        raise wrong("mechanism", name, f"'auto', a file, or one of {listed}", fix)
    kind = kinds[name]
    wanted = {f.name: f for f in fields(kind)}
    settings = {"epsilon": given.get("epsilon"), "domain": labels, "key": given.get("key")}
    settings = {name: value for name, value in settings.items() if value is not None}
    for setting, value in given.get("set", {}).items():
        if setting not in wanted or setting in _OWN:
            options = [n for n in wanted if n not in _OWN]
            meant = nearest(setting, [n for n in options if n not in given["set"]])
            fix = "leaving it out" if meant is None else ("set", {meant: value})
            listed = f"a name of {name}: {', '.join(options)}" if options else f"settings; {name} has none"
            raise wrong("set", f"{setting}={value}", f"name=value with {listed}", fix)
        settings[setting] = _setting(str(value), wanted[setting].type)
        if kind is local.MeanVector and setting in ("low", "high") and not isinstance(settings[setting], tuple):
            settings[setting] = (settings[setting],)  # the bound of a single number
    if "alphabet" in wanted and settings.get("bits") is None:
        # Digits are common in files, whose values are not inspected.
        settings.setdefault("alphabet", "alphanumeric")
    for setting in settings:
        if setting not in wanted:
            option = "domain_size" if setting == "domain" and values is None else setting
            expected = f"left out: {name} has no such parameter"
            raise wrong(option, given.get(option), expected, lambda say: f"{say('mechanism', name)} without it")
    absent = [
        n for n, f in wanted.items() if n not in settings and f.default is MISSING and f.default_factory is MISSING
    ]
    if absent:
        about = absent[0] if absent[0] in _OWN else "set"
        more = [n for n in absent if n not in _OWN]
        fix = None if about != "set" else ("set", {n: _example(n, name, settings) for n in more})
        said = f"given for {name}" if about != "set" else f"given with {' and '.join(more)} for {name}"
        raise wrong(about, None, said, fix)
    try:
        return kind(**settings)
    except InvalidArgument as error:
        if error.name not in given.get("set", {}):
            raise
        # In Python the suggestion is "low=0.0"; here it is a value of --set.
        meant, _, value = error.fix.partition("=")
        value = value.strip("'[]()").replace(", ", ",")
        fix = ("set", {meant: value}) if meant in wanted and value else "another value"
        was = f"{error.name}={given['set'][error.name]}"
        raise wrong("set", was, f"given with {error.name} {error.expected}", fix) from None


def _example(name: str, mechanism: str, settings: Mapping[str, Any]) -> Any:
    """Return a value that works for a parameter that must be given, next to those that are."""
    if name not in ("low", "high"):
        return {"f": 0.5, "p": 0.5, "q": 0.75}.get(name, 1)
    other = settings.get("high" if name == "low" else "low")
    each = other if isinstance(other, tuple) else (other,)
    found = [_bound(name, one, settings.get("scale") == "log") for one in each]
    if mechanism == local.MeanVector.NAME and other is None:
        found = found * 2
    return ",".join(f"{one:g}" for one in found)


def _bound(name: str, other: Any, log: bool) -> float:
    """Return a bound that goes with the other one."""
    if not isinstance(other, (int, float)):
        return {"low": 1.0 if log else 0.0, "high": 100.0}[name]
    if log:
        return other / 1000 if name == "low" else other * 1000
    return float(other - max(1, abs(other)) if name == "low" else other + max(1, abs(other)))


def _sketch(job: Job) -> JobResult:
    """Randomise, then count and estimate if those outputs are named."""
    check(job)
    places, mechanism, earlier = job.places(), build(job), repeated(job)
    if earlier is None:
        figures = encode(job, mechanism, places["release"])
    else:
        mechanism, held = read_parameters(places["release"]), count([places["release"]])
        figures = {"file": str(places["release"]), "reports": held.n, "bits": mechanism.report_bits, "warnings": []}
        figures |= promise(mechanism, held.seeded)
    if "account" in job.parameters:
        figures |= standing(job, digest_of_reports(places["release"]), earlier is not None)
    files, found = {"release": places["release"]}, None
    if "counts" in places:
        counts = count([places["release"]])
        counts.save(places["counts"])
        files["counts"] = places["counts"]
        if "estimates" in places:
            found = estimate(job, counts)
            write_estimates(found, places["estimates"])
            files["estimates"] = places["estimates"]
            figures = {**figures, **estimate_figures(found, places["estimates"], mechanism)}
    promised = replace(mechanism.guarantee, seeded=figures["seeded"])
    return finish(job, promised, files, figures, found, more=mechanism, candidates=_asked(job))


def _count(job: Job) -> JobResult:
    target = job.places()["release"]
    paths = [job.place(path) for path in job.data]
    counts = count(paths) if job.kind == "aggregate" else merge(paths)
    counts.save(target)
    facts = promise(counts.mechanism, counts.seeded)
    figures = {"file": str(target), "reports": counts.n, "rejected": counts.rejected, **facts}
    figures["warnings"] = _none(counts)
    promised = replace(counts.mechanism.guarantee, seeded=counts.seeded)
    return JobResult(job, promised, {"release": target}, figures, counts)


def _estimate(job: Job) -> JobResult:
    counts, places = Counts.load(job.place(job.data)), job.places()
    found, target = estimate(job, counts), places.get("estimates")
    if target is not None:
        write_estimates(found, target)
    if "plot" in places and hasattr(found, "plot"):
        drawn = found.plot(job.parameters.get("top", 20)) if hasattr(found, "candidates") else found.plot()
        write_whole(places["plot"], drawn.to_html(), streams=True)
    figures = {**estimate_figures(found, target, counts.mechanism), "warnings": _none(found)}
    return JobResult(job, found.guarantee, places, figures, found, counts.mechanism)


def _none(found: Any) -> list[str]:
    return [] if getattr(found, "n", None) != 0 else ["there are no reports to estimate from"]


def _plan(job: Job) -> JobResult:
    given = job.declared.arguments(job.parameters)
    if {"low", "high"} & set(given):
        for name in ("low", "high"):
            if name not in given:
                raise job.declared.wrong(name, None, "given: a number has two bounds")
        for name in ("domain_size", "max_bytes", "target_error"):
            if name in given:
                raise job.declared.wrong(name, given[name], "left out for a number")
        numbers = local.plan_numbers(**given)
        listed = [{k: v for k, v in vars(row).items() if not k.startswith("_")} for row in numbers.rows]
        return JobResult(job, None, {}, {"mechanisms": listed}, numbers, printed=listed)
    if "domain_size" not in given:
        raise job.declared.wrong("domain_size", None, "given, or low and high if devices hold a number")
    given.pop("scale", None)
    found = local.plan(**given)
    rows = found.to_arrow().to_pylist()
    return JobResult(job, None, {}, {"mechanisms": rows}, found, printed=rows)


def _asked(job: Job) -> list[Any] | None:
    """Return the values to estimate; None if the mechanism knows them."""
    values = job.parameters.get("candidates")
    return read_lines(job.place(values)) if isinstance(values, str) else values


def _setting(text: str, kind: Any) -> Any:
    """Read a parameter by the type of its field: a text, a list separated by commas, or a number."""
    # A module may keep its annotations as text.
    named = kind if isinstance(kind, str) else kind.__name__ if isinstance(kind, type) else str(kind)
    named = named.removeprefix("typing.")
    if named.startswith("str"):
        return text
    bare = text.strip().removeprefix("[").removesuffix("]")
    if named.startswith("tuple") or (named == "Any" and ("," in text or bare != text.strip())):
        return tuple(_setting(part.strip(), "") for part in bare.split(","))
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def read_parameters(path: Path) -> Mechanism:
    """Return the mechanism of a file of reports or counts."""
    kind: type[Reports] | type[Counts] | None = {"reports": Reports, "counts": Counts}.get(kind_of(path))
    for message in messages_of(path) if kind is not None else ():
        return kind.from_bytes(message).mechanism  # type: ignore[union-attr]
    raise FormatError(f"{str(path)!r} is not a file of reports or counts")


def encode(job: Job, mechanism: Mechanism, output: Path) -> dict[str, Any]:
    """Randomise a column in batches, each one message of the output."""
    stream, n = noise.generator(job.parameters.get("seed")), 0
    users = job.parameters.get("users")
    wanted = [job.parameters[name] for name in ("column", "users") if name in job.parameters]
    vector = isinstance(mechanism, local.MeanVector)
    if vector and not str(job.data).lower().endswith(".txt"):  # a column per number: those named, or all
        wanted = wanted[0].split(",") if wanted else list(open_table(str(job.table(job.data))).names)
    if wanted and str(job.data).lower().endswith(".txt"):
        expected = "left out: a .txt file has one value per line and no columns"
        raise job.declared.wrong(
            "column", wanted[0], expected, lambda say: f"leaving {say('column')} out, or a CSV file"
        )
    extra = _memory(job, mechanism)
    held = reserved(job, mechanism.guarantee, wanted if vector else wanted[:1])
    with NewFile(output) as out:
        for batch in texts(job.table(job.data), wanted):
            values = np.column_stack([_floats(each) for each in batch]) if vector else read_values(mechanism, batch[0])
            people = None if users is None else batch[1].to_pylist()
            reports = mechanism.encode(values, users=people, rng=stream, **extra)
            out.file.write(reports.to_bytes())
            n += len(reports)
        if not n:
            out.file.write(mechanism.encode([], users=None if users is None else [], rng=stream, **extra).to_bytes())
        if held is not None and out.temporary is not None:
            out.file.flush()
            digest = digest_of_reports(out.temporary)
            held.book(replace(mechanism.guarantee, seeded=stream.seeded, digest=digest))
        out.keep()
    figures = {"file": str(output), "reports": n, "bits": mechanism.report_bits}
    # The number of reports is public in this model.
    warnings = [] if n else ["the column has no values, so there are no reports; check the file"]
    return {**figures, "warnings": warnings, **promise(mechanism, stream.seeded)}


def _memory(job: Job, mechanism: Mechanism) -> dict[str, Any]:
    """Return the memo of a mechanism that remembers answers, from the secret in a file."""
    secret = job.parameters.get("secret")
    if secret is None:
        return {}
    if "memo" not in signature(mechanism.encode).parameters:
        expected = f"left out: {mechanism.NAME} does not remember answers"
        raise job.declared.wrong("secret", secret, expected, lambda say: f"leaving {say('secret')} out")
    return {"memo": local.Memo(read_whole(job.place(secret), "secret").strip())}


def read_values(mechanism: Mechanism, column: pa.Array) -> Any:
    """Return whole numbers for mechanisms over numbered values, text for others."""
    if _numbered(mechanism):
        numbers = _floats(column)
        whole = np.isfinite(numbers) & (numbers == np.floor(numbers)) & (np.abs(numbers) < 2**53)
        return np.where(whole, numbers, -1).astype(np.int64)
    return column


def _floats(column: pa.Array) -> Any:
    """Return the numbers of a text column; a text that is not a number is missing."""
    from discreet.engines.tables import numbers_of_text

    return numbers_of_text(column.cast(pa.large_binary()))


def _numbered(mechanism: Mechanism) -> bool:
    """Return whether the values of a mechanism are whole numbers."""
    whole = isinstance(mechanism, local.PrefixExtension) and mechanism.bits is not None
    return whole or any(isinstance(getattr(mechanism, name, None), int) for name in ("domain", "candidates"))


def count(files: Sequence[Path]) -> Counts:
    """Count the reports of files."""
    counts: Counts | None = None
    for file in files:
        for message in messages_of(file):
            if counts is None:
                counts = Reports.from_bytes(message).mechanism.empty()
            counts.add(message)
    if counts is None:
        raise FormatError("the files have no reports")
    return counts


def merge(files: Sequence[Path]) -> Counts:
    """Add up the counts of files."""
    parts = (Counts.from_bytes(message) for file in files for message in messages_of(file))
    first = next(parts, None)
    if first is None:
        raise FormatError("the files have no counts")
    return sum(parts, first)


def estimate(job: Job, counts: Counts) -> Any:
    """Estimate the frequencies of candidates or of discovered values, a mean, or a distribution."""
    mechanism, asked = counts.mechanism, _asked(job)
    if asked is not None and _numbered(mechanism):
        asked = [int(c) if str(c).lstrip("-").isdecimal() else c for c in asked]
    if isinstance(mechanism, (local.SquareWave, local.MeanResponse, local.MeanVector)):
        for name in ("candidates", "consistency"):
            if name in job.parameters:
                expected = f"left out: {mechanism.NAME} estimates numbers"
                raise job.declared.wrong(name, job.parameters[name], expected, f"leaving {name} out")
        return mechanism.estimate(counts)
    if asked is None and hasattr(mechanism, "discover"):
        return mechanism.discover(counts).estimate
    return mechanism.estimate(counts, asked, consistency=job.parameters.get("consistency"))


def write_estimates(found: Any, output: Path) -> None:
    """Write estimates as a table."""
    if isinstance(found, local.MeanEstimate):
        table = pa.table({name: np.atleast_1d(value) for name, value in _means(found).items()})
    else:
        table = found.to_arrow()
    write_table(output, table)


def estimate_figures(
    found: Any, output: Path | None, mechanism: Mechanism | None = None, *, repeats: int = 1, **shown: Any
) -> dict[str, Any]:
    """Return estimates as plain data, with None for infinite numbers; ``shown`` goes to `Distribution.summary`.

    Errors of counts allow for ``repeats`` reports per reporter with the same noise: at worst, the variance of their sum
    is that of independent reports times their number.
    """
    promised = {"epsilon": found.guarantee.to_dict()["epsilon"], "seeded": found.guarantee.seeded}
    file = None if output is None else str(output)
    if isinstance(found, local.MeanEstimate):
        figures = {name: _finite(np.asarray(value).tolist()) for name, value in _means(found).items()}
        return {"reports": found.n, **figures, "caveats": [], **promised, "file": file}
    if isinstance(found, local.Distribution):
        rows = found.to_arrow().to_pylist()
        summary = found.summary(**shown)
        notes = [*([_LOG_MEAN] if found.scale == "log" else []), *_unseen(found, summary["quantiles"])]
        facts = {"reports": found.n, **summary, "distribution": rows, "caveats": notes}
        return {**facts, **promised, "file": file}
    if repeats > 1:
        found = replace(found, std_error=math.sqrt(repeats) * found.std_error)
    low, high = found.interval(0.95)
    columns = (found.count.tolist(), found.std_error.tolist(), low.tolist(), high.tolist())
    names = ("candidate", "count", "std_error", "lower", "upper", "may_be_noise")
    marks = found.may_be_noise().tolist()
    rows = [
        dict(zip(names, row, strict=True)) for row in zip(found.candidates, *map(_finite, columns), marks, strict=True)
    ]
    lines = caveats(found, mechanism)
    if isinstance(mechanism, local.BitFlip) and mechanism.memoised:
        lines.append(
            "Responses are stored, so the noise of a reporter is the same in every report. Errors hold for up to "
            f"{counted(repeats, 'report')} per reporter; for r times as many, multiply them by √r."
        )
    return {"reports": found.n, "estimates": rows, "caveats": lines, **promised, "file": file}


def _unseen(found: local.Distribution, quantiles: list[dict[str, Any]]) -> list[str]:
    """Explain why some quantiles have no interval."""
    levels = ", ".join(f"{100 * one['level']:g} %" for one in quantiles if one["lower"] is None)
    if not levels:
        return []
    return [
        f"No interval for {levels}: fewer values lie beyond than the noise of {found.n:,} reports hides "
        f"({100 * found.share_error:.2g} % of them, one standard error). Collect more reports to estimate it."
    ]


def caveats(found: local.Estimate, mechanism: Mechanism | None) -> list[str]:
    """Explain which estimates may be noise, and what placeholders mean."""
    marks, z = found.may_be_noise(), found.noise_cut()
    least = z * float(np.median(found.std_error)) if len(found) else 0.0
    looked = f"the {found.tried:,} values that the search tried" if found.tried else f"{len(found):,} values"
    lines = []
    if np.isfinite(least) and least > 0:
        lines.append(
            f"Counts are estimates. With a probability of 5 %, one of {looked} exceeds {z:.1f} standard errors (about "
            f"{least:,.0f}) although no one has it. Below this limit, any number of values may be noise."
        )
    if marks.any():
        lines.append(f"{int(marks.sum()):,} of {len(found):,} values are below the limit: perhaps no one has them.")
    other, alphabet = getattr(mechanism, "other", None), getattr(mechanism, "alphabet", None)
    if other is not None and other not in (alphabet or "") and any(other in str(c) for c in found.candidates):
        usual = "" if {"a", "0"} <= set(alphabet or "") else "--set alphabet=alphanumeric, or "
        lines.append(
            f"{other!r} stands for every character that was not declared. To see others, declare them when reports are "
            f"made: {usual}--set alphabet= with all of them. Here they are {alphabet}."
        )
    length = getattr(mechanism, "length", None)
    if alphabet is not None and any(len(str(c)) == length for c in found.candidates):
        lines.append(
            f"Values longer than {length} characters are cut. To see more, set a larger --set length= beforehand."
        )
    return lines


def spelling(mechanism: Mechanism) -> str:
    """Describe how a mechanism that discovers values spells them; empty for others."""
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
    """Return the facts of the guarantee as plain data."""
    told = mechanism.guarantee.to_dict()
    return {"mechanism": mechanism.to_dict(), "epsilon": told["epsilon"], "unit": told["unit"], "seeded": seeded}


def messages_of(path: Path) -> Iterator[bytes]:
    try:
        with path.expanduser().open("rb") as file:
            yield from messages(file)
    except OSError as error:
        if isinstance(error, DataSourceError):
            raise
        raise DataSourceError(f"cannot read {str(path)!r} ({error.strerror}); check the path") from None
