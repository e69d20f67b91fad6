"""The work of `distinct` and `overlap`."""

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from discreet import noise
from discreet.core import Guarantee, Person
from discreet.engines import texts, write_table
from discreet.errors import SchemaError
from discreet.jobs.charging import account_of, digest_of_reports, repeated, standing
from discreet.jobs.job import Job, JobResult
from discreet.jobs.kinds.distinct import OVERLAP
from discreet.jobs.work.files import finish
from discreet.local import DistinctOverlap, DistinctSketch, FlippedBitmap
from discreet.local.distinct import MOST_BITMAPS, promise


def check(job: Job) -> None:
    """Check everything but the data."""
    if job.kind == "distinct":
        made, account, whose = _settings(job), account_of(job), job.parameters.get("persons")
        if account is not None and repeated(job) is None:
            if account.person not in (None, whose) and whose is not None:
                held = f"the account protects {account.unit}, but the persons of the bitmap are in {whose!r}"
                raise SchemaError(held)
            unit = "row" if whose is None else Person(whose, rows=made.items)
            account.check(job.kind, made.exact, unit=unit)


def _settings(job: Job) -> DistinctSketch:
    names = ("epsilon", "buckets", "levels", "items", "key")
    return DistinctSketch(**{name: job.parameters[name] for name in names if name in job.parameters})


def run(job: Job) -> JobResult:
    """Run one of the two."""
    if job.kind == "overlap":
        return _overlap(job)
    check(job)
    place, earlier = job.places()["release"], repeated(job)
    bitmap = _made(job) if earlier is None else FlippedBitmap.load(place)
    if earlier is None:
        bitmap.save(place)
    promised = bitmap.guarantee
    figures = {"file": str(place), "mechanism": bitmap.parameters.to_dict(), **_facts(promised)}
    figures |= standing(job, digest_of_reports(place), again=earlier is not None)
    return finish(job, promised, {"release": place}, figures, bitmap)


def _made(job: Job) -> FlippedBitmap:
    given = job.parameters
    # Rows are read in batches, after the account was charged.
    batches, again = itertools.tee(_read(job, [given[name] for name in ("column", "persons") if name in given]))
    persons = (batch[1] for batch in again) if "persons" in given else None
    stream = noise.generator(given.get("seed"))
    return _settings(job).sketch((batch[0] for batch in batches), persons, ledger=account_of(job), rng=stream)


def _read(job: Job, wanted: list[str]) -> Iterator[list[pa.Array]]:
    """Return batches of columns as text, without declared missing values."""
    dialect = job.dialect()
    batches = texts(job.table(job.data), wanted, dialect=dialect)
    marks = pa.array([] if dialect is None else list(dialect.missing), pa.large_string())
    if not len(marks):
        return batches
    # No text is decoded, so that none can fail.
    return (
        [pc.if_else(pc.is_in(pc.ascii_trim_whitespace(part), value_set=marks), None, part) for part in batch]
        for batch in batches
    )


def _overlap(job: Job) -> JobResult:
    places = job.places()
    files = [job.place(path) for path in job.data]
    if len({file.resolve() for file in files}) < len(files):
        raise OVERLAP.wrong("data", [str(path) for path in job.data], "different files")
    often = Counter(file.stem for file in files)
    names = [file.stem if often[file.stem] == 1 else str(path) for file, path in zip(files, job.data, strict=True)]
    bitmaps = {name: FlippedBitmap.load(file) for name, file in zip(names, files, strict=True)}
    asked, merged = job.parameters.get("questions"), None
    union = " or ".join(map(repr, bitmaps))
    questions = list(asked) if asked else [*map(repr, bitmaps), *([union] if len(bitmaps) > 1 else [])]
    first, *others = bitmaps.values()
    if len(bitmaps) > MOST_BITMAPS:
        if asked:
            expected = f"left out with more than {MOST_BITMAPS} bitmaps, when each and all together are counted"
            raise OVERLAP.wrong("questions", asked, expected)
        merged = first.merge(*others)
        artifact: Any = merged
        total = promise(bitmaps.values())
        answers = [*(bitmap.estimate() for bitmap in bitmaps.values()), merged.estimate()]
        found = {question: replace(a, guarantee=total) for question, a in zip(questions, answers, strict=True)}
    else:
        artifact = overlap = DistinctOverlap(bitmaps)
        found = {question: overlap.count(question) for question in questions}
    rows = []
    for question, answer in found.items():
        low, high = answer.interval(0.95)
        errors = {"std_error": answer.std_error, "lower": low, "upper": high}
        rows.append({"question": question, "count": answer.count, **errors})
    promised = next(iter(found.values())).guarantee
    if "answers" in places:
        write_table(places["answers"], pa.Table.from_pylist(rows))
    if "merged" in places:
        (merged or first.merge(*others)).save(places["merged"])
    return JobResult(job, promised, places, {"answers": rows, **_facts(promised)}, artifact)


def _facts(promised: Guarantee) -> dict[str, Any]:
    return {"epsilon": promised.to_dict()["epsilon"], "unit": promised.unit, "seeded": promised.seeded}
