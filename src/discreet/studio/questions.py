"""Questions asked of a released synopsis, in place: rows, shares, means, quantiles, each with its error.

Post-processing of what is published already: it costs nothing, however often something is asked.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from discreet.core import Categorical, Domain, category_text
from discreet.errors import DiscreetError, InvalidArgument
from discreet.reporting import number, share, views
from discreet.studio import words
from discreet.studio.schema.values import TwoWays, certain, read_day, read_number
from discreet.synopses.queries import ask, column_text

WHAT = ("count", "share", "mean", "quantile")
_QUOTED = "'[^']*'|\"[^\"]*\"|`[^`]*`"
#: Groups that a page shows.
_MOST_GROUPS = 40


@dataclass(frozen=True)
class Question:
    """A typed question: ``what`` to compute, for rows ``where`` a condition holds, among rows ``given`` another one."""

    what: str = "count"
    where: str = ""
    given: str = ""
    column: str = ""
    level: str = "50"
    by: str = ""

    @classmethod
    def of(cls, form: Mapping[str, str]) -> Self:
        names = ("what", "where", "given", "column", "level", "by")
        return cls(**{name: form[name].strip() for name in names if name in form})


@dataclass
class Answer:
    """An answer: texts to show, or errors by field."""

    value: str = ""
    low: str = ""
    high: str = ""
    noise: str = ""
    assumed: str = ""
    modelled: bool = False
    known: bool = True
    note: str = ""
    what: str = "count"
    groups: list[tuple[str, str, str, str]] = field(default_factory=list)
    more: int = 0
    errors: dict[str, str] = field(default_factory=dict)


def answer(synopsis: Any, asked: Question, t: words.T | None = None) -> Answer:
    made = Answer(what=asked.what)
    domain: Domain = synopsis.domain
    for name in ("where", "given"):
        text = getattr(asked, name)
        needed = name == "where" and asked.what == "share"
        if text or needed:
            try:
                asked = replace(asked, **{name: _read(domain, text)})
            except TwoWays as error:
                made.errors[name] = (t or words.speaker("en"))("columns.two_ways", **error.values)
            except InvalidArgument as error:
                fix = error.fix.removeprefix("question=").strip("'")
                made.errors[name] = f"{error.expected[:1].upper()}{error.expected[1:]}; try {fix}"
    if asked.what not in WHAT:
        made.errors["what"] = ", ".join(WHAT)
    if asked.what in ("mean", "quantile") and asked.column not in domain.names:
        made.errors["column"] = ", ".join(domain.names[:8])
    portion = _portion(asked.level) if asked.what == "quantile" else 0.5
    if portion is None:
        made.errors["level"] = "1 … 99"
    if not made.errors:
        try:
            _answered(synopsis, asked, portion or 0.5, made)
        except DiscreetError as error:
            made.errors["column" if asked.what in ("mean", "quantile") else "where"] = str(error)
    return made


def _read(domain: Domain, text: str) -> str:
    """Return a condition as it is asked: dates may be typed in a form that the table declares, or as 31.12.2024."""
    for number_ in re.findall(r"(?<![\w.,])[1-9]\d{0,2}\.\d{3}(?![\w.,])", re.sub(_QUOTED, " ", text)):
        read_number(number_)  # ambiguous
    try:
        ask.read(domain, text)
    except InvalidArgument:
        forms = (*domain.source.dates, "%d.%m.%Y")

        def plain(found: re.Match[str]) -> str:
            day = read_day(found[0].strip("'"), forms)
            return found[0] if day is None else f"'{day.isoformat()}'"

        other = re.sub(r"'?(?<![\w.])\d{1,4}([./-])\d{1,2}\1\d{1,4}(?![\w.])'?", plain, text)
        if other == text:
            raise
        ask.read(domain, other)
        return other
    return text


def _portion(text: str) -> float | None:
    try:
        found = float(text.replace(",", ".")) / 100
    except ValueError:
        return None
    return found if 0 < found < 1 else None


def _answered(synopsis: Any, asked: Question, portion: float, made: Answer) -> None:
    where, given = asked.where or None, asked.given or None
    both = f"({where}) and ({given})" if where and given else where or given
    column: Any = synopsis.domain.column(asked.column) if asked.column in synopsis.domain.names else None
    if asked.what == "count":
        found = synopsis.count() if both is None else synopsis.ask(both)

        def form(value: Any) -> str:
            return number(round(float(value)) + 0.0, 12)
    elif asked.what == "share":
        found, form = synopsis.share(where, given), share
    else:
        found = (
            synopsis.mean(column.name, both) if asked.what == "mean" else synopsis.quantile(column.name, portion, both)
        )

        def form(value: Any) -> str:
            return category_text(value) if not isinstance(value, float) else views.mark(column, value)

    made.known = math.isfinite(found.std_error) and not math.isnan(found.value)
    made.note, made.modelled = found.note, found.modelled
    if not made.known:
        return
    category = getattr(found, "category", None)
    made.value = form(float(found.value)) if category is None else category_text(category)
    made.low, made.high = (form(end) for end in found.interval(0.95))
    if category is None:
        scale = 100.0 if asked.what == "share" else 1.0
        made.noise = number(scale * found.noise_error, 3)
        made.assumed = number(scale * found.evenness_error, 3) if found.evenness_error else ""
    if asked.by in synopsis.domain.names and asked.what == "count":
        _grouped(synopsis, asked.by, both, made)


def _grouped(synopsis: Any, by: str, where: str | None, made: Answer) -> None:
    rows = synopsis.table(by, where=where).to_arrow()
    made.more = max(rows.num_rows - _MOST_GROUPS, 0)
    for row in rows.slice(0, _MOST_GROUPS).to_pylist():
        ends = [row[name] for name in (by, f"{by}_from", f"{by}_to") if name in row]
        texts = ["–" if v is None else number(v) if isinstance(v, float) else str(v) for v in ends]
        count, low, high = (number(round(row[name]) + 0.0, 12) for name in ("count", "low", "high"))
        made.groups.append((" … ".join(texts), count, low, high))


def examples(domain: Domain) -> Iterator[Question]:
    """Go through questions about declared columns that can be asked as they are."""
    numeric = [c for c in domain if not isinstance(c, Categorical) and c.kind in ("numeric", "integer")]
    named = [c for c in domain if isinstance(c, Categorical)]
    texts = []
    for column in numeric[:1]:
        low, high = (column.low + part * (column.high - column.low) for part in (0.25, 0.5))
        if column.kind == "integer":
            low, high = round(low), round(high)
        texts.append(f"{column_text(column.name)} between {certain(f'{low:g}')} and {certain(f'{high:g}')}")
        yield Question("count", texts[0])
    for choice in named[:1]:
        first = category_text(choice.categories[0]).replace("'", "''")
        texts.append(f"{column_text(choice.name)} = '{first}'")
        yield Question("share", texts[-1], texts[0] if len(texts) > 1 else "")
    for column in numeric[:1]:
        yield Question("mean", column=column.name)
        yield Question("quantile", column=column.name)
