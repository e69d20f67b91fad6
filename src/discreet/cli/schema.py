"""The verb `schema`: draft the file that declares the columns, or check it."""

import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from discreet.cli import look
from discreet.cli.common import app, console, echo
from discreet.cli.private_columns import PrivateColumns
from discreet.cli.verbs import verb
from discreet.core import counted
from discreet.errors import DataSourceError
from discreet.jobs import ACCOUNT, TABLE, declared, option

#: From this number of columns, synthetic data are more accurate than a synopsis.
_MANY = 5
#: From this number, a few missing values in each column leave few rows that have none.
_LOSING = 15


@verb(
    app,
    option("data", "texts", "A table; or the word check, a schema file and perhaps a table.", ["people.csv"],
        required=True, section="data"),
    option("header", "flag", "The first line of a CSV file names the columns, or does not.", True,
        off="no-header"),
    option("look", "whole", "Number of rows to look at for formats and types. Every guarantee will state it.", 100,
        default=0, low=0),
    option("codebook", "file", "Public names and categories of the columns, in a C4.5 names file.", "adult.names"),
    option("declare", "texts", "Declare columns: age=0..120, cost=0:9e3, sex=f,m, zip=code:[0-9]{5}, id=person.",
        ["age=0..120"]),
    option("rule", "texts", "An order, difference or sum that every row keeps; repeat it for more.",
        ["admission <= discharge"]),
    option("known", "flag", "Use public bounds and categories of columns with well-known names. Check them.",
        True),
    option("private_categories", "texts", "Select the categories of this column privately; needs a budget.",
        ["town"]),
    option("epsilon", "number", "Budget of all private categories together.", 1),
    option("delta", "number", "Probability that a category which only one person has is selected.", 1e-6),
    declared("account", ACCOUNT, help="Account to charge for private categories."),
    option("sheet", "text", "Sheet of a workbook, if it has several.", "Sheet1", default=""),
    option("skip", "whole", "Number of lines above the header.", 1, default=0, low=0),
    option("output", "output", "File to write; by default, the draft is printed.", "schema.toml", short="-o"),
    option("force", "flag", "Replace the file if it exists, with what was filled in by hand.", True),
    examples=("schema people.csv -o schema.toml", "schema check schema.toml people.csv"),
)  # fmt: skip
def schema(
    *, data: list[str], look: int, codebook: Path | None, private_categories: list[str] | None, epsilon: float | None,
    delta: float | None, account: Path | None, as_json: bool, **more: Any,
) -> None:  # fmt: skip
    """Draft a schema file from the column names, or check one. You declare the bounds and categories.

    Declare them by what the columns mean. Do not read them off the table, which would reveal values.
    """
    private = PrivateColumns(tuple(dict.fromkeys(private_categories or [])), epsilon, delta, account)
    private.check()
    if data[0] == "check" and len(data) > 1:
        _check(data[1], data[2] if len(data) > 2 else None, look, as_json)
        return
    if len(data) > 1:
        raise DataSourceError(f"data: one table at a time, got {len(data)}; try discreet schema {data[0]}")
    from discreet.core.schema import read_codebook

    book = {} if codebook is None else read_codebook(codebook)
    _draft(data[0], rows=look, book=book, private=private, as_json=as_json, **more)


def _draft(
    data: str, *, header: bool | None, rows: int, sheet: str, skip: int, output: Path | None, force: bool,
    book: dict[str, dict[str, Any]], declare: list[str] | None, rule: list[str] | None, known: bool,
    private: PrivateColumns, as_json: bool,
) -> None:  # fmt: skip
    look.look([(TABLE, data)])
    from discreet import engines
    from discreet.core import check_place, write_whole
    from discreet.core.schema import (
        draft_schema,
        is_address,
        known_kind,
        looks_like_a_record,
        merged,
        read_declarations,
        table_place,
        undeclared,
    )
    from discreet.engines import first_line

    place = table_place(data, Path()) if is_address(data) else data
    found = first_line.proposed(data, header=header, sheet=sheet, skip=skip)
    if book:
        found, book, header = _by_codebook(data, found, book, header)
    source = engines.open(place, dialect=found.dialect)
    names = source.names
    headed = source.headed
    if not names:
        raise DataSourceError(f"data: {data!r} has no first line to draft from; check the file")
    # Whoever says where the names are has seen them: then a name that occurs twice is one.
    twice = skip and source.parts[0].repeats and not looks_like_a_record(names)
    if header is None and not twice and first_line.may_be_a_record(source):
        # The line is not quoted: it may be about a person.
        raise DataSourceError(
            f"data: the first line of {data!r} may be a record: it has numbers, dates, addresses, gaps or repeats; "
            "try --no-header if it is a record, --header if it has the names, --skip 1 if it is a title"
        )
    typed = read_declarations(declare or [], names)
    if headed and len(names) == 1:
        hint = f"There is only one name. If it is a title above the table, use --skip 1{' --force' if output else ''}."
        found = replace(found, reasons=(*found.reasons, hint))
    if source.parts[0].repeats:
        same = [name for name in names if f"{name}_2" in names][:1] or ["name"]
        hint = f"Several columns have one name, {same[0]}. Later ones are numbered, as {same[0]}_2."
        found = replace(found, reasons=(*found.reasons, hint))
    if rows and not source.types:
        found = first_line.look(found, source, rows)
    columns = {}
    for name in names:
        offered = dict(getattr(known_kind(name, found.kinds.get(name)), "declared", {})) if known else {}
        if found.kinds.get(name) == "integer" and all(isinstance(end, int) for end in offered.get("bounds", [""])):
            offered = {"kind": "integer", **offered}
        columns[name] = merged(merged(offered, book.get(name, {})), typed.get(name, {}))
    read = "first line" if headed else "fields" if header is False else "names"
    if output is not None:
        check_place(output)
        if output.exists() and not force:  # it may have been filled in by hand
            raise DataSourceError(f"output: {str(output)!r} already exists; name another file, or add --force")
    if private.columns:
        selected, dialect = private.select(place, names, columns, found.dialect)
        found = replace(found, dialect=dialect)
        for name, words in selected.items():
            columns[name] = merged(columns[name], {"categories": words, "missing": "own"} if words else {})
    more: dict[str, Any] = {"dialect": found.dialect, "reasons": found.reasons, "kinds": found.kinds}
    text = draft_schema(names, data, read=read, labels=source.labels, declared=columns, rules=rule or (), **more)
    named = list(dict.fromkeys(name for name in names if name))  # the draft explains the others
    open_ = [n for n in named if undeclared({**({"kind": found.kinds[n]} if n in found.kinds else {}), **columns[n]})]
    if output is not None:
        write_whole(output, text)
    if as_json:
        facts = found.dialect.to_dict()
        echo({"columns": list(names), "source": facts, "file": str(output) if output else None})
    elif output is None:
        typer.echo(text, nl=False)
    else:
        said = f"[bold]{counted(len(named), 'column')}[/] drafted in [cyan]{escape(str(output))}[/]."
        for name in private.columns:
            n = len(columns[name].get("categories", ()))
            said += f" {n:,} categor{'y' if n == 1 else 'ies'} of {escape(name)} selected privately."
        for reason in found.reasons:
            said += f" {escape(reason)}"
        if not open_:
            said += " All are declared. Next:"
        elif len(open_) < len(named):
            said += f" Declare {escape(', '.join(open_))}, then:"
        else:
            said += " Declare each one, then:"
        console.print(said)
        checked = f"{shlex.quote(str(output))} {shlex.quote(data)}{f' --look {rows}' if rows else ''}"
        console.print(f"  discreet schema check {escape(checked)}", highlight=False, soft_wrap=True)
        people = [name for name in names if columns[name].get("role") == "person"]
        said_rows = any("rows" in columns[name] for name in people)  # the schema has the unit
        unit = f" --person {shlex.quote(people[0])} --person-rows 8" if len(people) == 1 and not said_rows else ""
        paid = f" --account {shlex.quote(str(private.account))}" if private.account else ""
        many = len(names) - len(people) >= _MANY
        next_verb, made = ("synthesize", "safe.csv") if many else ("synopsis", "s.parquet")
        next_step = (
            f"discreet {next_verb} {shlex.quote(data)} --schema {shlex.quote(str(output))} --epsilon 1{unit}{paid} "
            f"-o {made}"
        )
        console.print(f"  {escape(next_step)}", highlight=False, soft_wrap=True)


def _by_codebook(data: str, found: Any, book: dict[str, Any], header: bool | None) -> tuple[Any, dict[str, Any], bool]:
    """Take names and categories from a codebook, by its order or by the names in the first line, if it has them."""
    from discreet import engines
    from discreet.core.schema import is_address, of_header, table_place
    from discreet.engines import text_file

    place = table_place(data, Path()) if is_address(data) else data
    names = () if header is False else engines.open(place, dialect=found.dialect).names
    own = of_header(book, names)
    headed = bool(header or own)
    if header and not own:
        raise DataSourceError(
            f"codebook: it does not name the columns of {data!r}; try --no-header if the first line is a record"
        )
    missing = ("?",) if text_file(data) is not None else ()
    told = f"{'C' if headed else 'Names and c'}ategories come from the codebook, where ? is a missing value."
    names = () if headed else tuple(book)
    dialect = replace(found.dialect, header=headed, names=names, missing=missing)
    return replace(found, dialect=dialect, reasons=(*found.reasons, told)), own or book, headed


def _check(schema_file: str, data: str | None, rows: int, as_json: bool) -> None:
    """Check a schema file, whether it fits a table, and with ``rows`` how well."""
    from discreet import engines
    from discreet.core import NAMING, Domain, shown_levels
    from discreet.engines import Doubts, examine

    domain = Domain.from_toml(Path(schema_file))
    fits = domain
    if data is not None:
        look.look([(TABLE, data)])
        # A column that is a function of another may be absent.
        there = set(engines.open(data, dialect=domain.source).names)
        fits = domain if there.issuperset(domain.names) else domain.without_functions()
        engines.open(data, fits)  # refuses a table without the declared columns
    doubts = examine(fits, data, rows) if data is not None and rows else Doubts([], [], {})
    levels = {c.name: lines for c in domain if (lines := shown_levels(c))}
    facts = {
        "columns": list(domain.names),
        "levels": levels,
        "source": domain.source.to_dict(),
        **asdict(doubts),
        **domain.facts.to_dict(),
    }
    if as_json:
        echo(facts)
        return
    all_but = "all of them" if len(fits) == len(domain) else "all that are not functions of others"
    found = "" if data is None else f", and {escape(data)} has {all_but}"
    are = "is" if len(domain) == 1 else "are"
    console.print(f"[bold]{counted(len(domain), 'column')}[/] {are} declared completely{found}.")
    for text in domain.facts.sentences:
        console.print(f"  Public fact: {escape(text)}.", highlight=False, soft_wrap=True)
    for name, lines in levels.items():
        console.print(
            "\n    ".join([f"  Levels of {escape(name)}:", *map(escape, lines)]), highlight=False, soft_wrap=True
        )
    told = {
        "none": f"no value in the first {rows} rows can be read as declared",
        "most": f"few values in the first {rows} rows can be read as declared; the others count as missing",
        "many": f"many values in the first {rows} rows cannot be read as declared and count as missing",
        "some": f"some values in the first {rows} rows, less than a tenth, cannot be read as declared",
    }
    for column, share in {**dict.fromkeys(doubts.unread, "none"), **doubts.partly}.items():
        console.print(f"  [yellow]{escape(column)}[/]: {told[share]}.")
    strict = sum(column.missing == "drop" for column in domain if column.role not in NAMING)
    if strict >= _LOSING:
        console.print(
            f"  A noisy release leaves out every row without a value in one of {strict} columns. Declare "
            'missing = "own" where values are often missing, or release fewer columns.'
        )
    if doubts.unread or doubts.partly:
        console.print(
            "  Check the decimal and thousands separators, units after numbers (marks), words for missing values "
            "(missing), the format of dates (with %H:%M for times of day), the encoding, and the spelling of "
            "categories, including capitals."
        )
    if doubts.careless:
        listed, one = escape(", ".join(doubts.careless)), len(doubts.careless) == 1
        which = f"Does {'it follow' if one else 'each follow'} from the meaning of the column?"
        console.print(
            f"  [yellow]{listed}[/]: a bound equals a value in the first {rows} rows. A bound that was read off the "
            f"table would reveal someone's value. {which}"
        )
    if data is not None and not rows:
        console.print("  Use --look N to try the first N rows too. Guarantees then have to state N.")
    if data is not None and rows > (old := domain.source.looked):
        how = f"instead of looked = {old}" if old else "under [source]; add that line if there is none"
        said = f"The first {rows} rows were looked at, and every guarantee has to state it. Write into {schema_file}, "
        console.print(f"  {escape(said + how)}:\n  looked = {rows}", highlight=False)
