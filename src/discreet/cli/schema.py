"""`discreet schema`: a draft of the file that every job reads, and a check of it. Not a job: it comes before any."""

import json
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from discreet.cli import look
from discreet.cli.bought import Purchase
from discreet.cli.bought import buy as buy_categories
from discreet.cli.common import console, epilog
from discreet.core import counted
from discreet.errors import DataSourceError
from discreet.jobs import TABLE

#: From so many columns on boxes are too coarse, and a model of marginals says more.
_MANY = 5
_HELP = "A table, whose header is read; or the word check and a schema file."


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(epilog=epilog("schema people.csv -o schema.toml"))(schema)


def schema(
    data: Annotated[list[str], typer.Argument(metavar="TABLE | check SCHEMA [TABLE]", help=_HELP)],
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line of a CSV file names the columns."),
    ] = None,
    rows: Annotated[
        int,
        typer.Option("--look", min=0, help="Look at this many rows for marks and kinds. Every guarantee will say so."),
    ] = 0,
    codebook: Annotated[
        Path | None, typer.Option(help="Names and categories as published with the table, in a file of names (C4.5).")
    ] = None,
    declare: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=...",
            help="Declare columns: age=0..120, cost=0:9e3, sex=f,m, name=identifier.",
        ),
    ] = None,
    known: Annotated[
        bool, typer.Option("--known", help="Take what is known by name from the public catalogue, and check it.")
    ] = False,
    buy: Annotated[
        list[str] | None,
        typer.Option(
            "--buy-categories",
            metavar="COLUMN",
            help="Buy the categories of a column that nobody can list: the words that enough persons have.",
        ),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="What all that is bought may cost together.")] = None,
    delta: Annotated[float | None, typer.Option(help="And the chance that a word of one person comes out.")] = None,
    account: Annotated[Path | None, typer.Option(help="The account of persons that pays for it.")] = None,
    sheet: Annotated[str, typer.Option("--sheet", help="The sheet of a workbook; needed where it has several.")] = "",
    skip: Annotated[int, typer.Option(min=0, help="Lines above the header that belong to no table.")] = 0,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write; else it is printed.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the column names as JSON instead.")] = False,
) -> None:
    """Draft a schema file from the column names alone, or check one; bounds and categories are yours to declare."""
    purchase = Purchase(tuple(dict.fromkeys(buy or [])), epsilon, delta, account)
    purchase.check()
    if data[0] == "check" and len(data) > 1:
        _check(data[1], data[2] if len(data) > 2 else None, rows, as_json)
        return
    if len(data) > 1:
        raise DataSourceError(f"data: one table at a time, got {len(data)}; try discreet schema {data[0]}")
    from discreet.core.schema import read_codebook

    book = {} if codebook is None else read_codebook(codebook)
    _draft(data[0], header, rows, sheet, skip, output, as_json, book, declare or [], known, purchase)


def _draft(
    data: str,
    header: bool | None,
    rows: int,
    sheet: str,
    skip: int,
    output: Path | None,
    as_json: bool,
    book: dict[str, dict[str, Any]],
    declare: list[str],
    known: bool,
    purchase: Purchase,
) -> None:
    look.look([(TABLE, data)])
    from discreet import engines
    from discreet.core import check_place, write_whole
    from discreet.core.schema import (
        draft_schema,
        is_address,
        known_kind,
        merged,
        read_declarations,
        table_place,
        undeclared,
    )
    from discreet.engines import first_line

    found = first_line.proposed(data, header=header, sheet=sheet, skip=skip)
    if book:
        found, book, header = _by_codebook(data, found, book, header)
    source = engines.open(table_place(data, Path()) if is_address(data) else data, dialect=found.dialect)
    names = source.names
    typed = read_declarations(declare, names)
    declared = {}
    for name in names:
        offered = getattr(known_kind(name), "declared", {}) if known else {}
        declared[name] = merged(merged(offered, book.get(name, {})), typed.get(name, {}))
    headed = source.headed
    if not names:
        raise DataSourceError(f"data: {data!r} has no first line to draft from; check the file")
    if header is None and first_line.may_be_a_record(source):
        # Not a word of the line: it may be about somebody.
        raise DataSourceError(
            f"data: the first line of {data!r} may be somebody's record: there are numbers, dates, addresses, gaps or "
            "repeats where names belong; say --no-header if it is a record, --header if these are the names, --skip 1 "
            "if it is a title above them"
        )
    if headed and len(names) == 1:
        hint = "There is one name only: if it is a title above the table, say --skip 1, or how many lines there are."
        found = replace(found, reasons=(*found.reasons, hint))
    if rows and not source.types:  # where a file keeps types, there is nothing to look for
        found = first_line.look(found, source, rows)
    read = "first line" if headed else "fields" if header is False else "names"
    if output is not None:
        check_place(output)
        if output.exists():  # it may have been filled in by hand
            raise DataSourceError(f"output: {str(output)!r} is there already; name another file or remove it")
    if purchase.columns:
        place = table_place(data, Path()) if is_address(data) else data
        bought, dialect = buy_categories(purchase, place, names, declared, found.dialect)
        found = replace(found, dialect=dialect)
        for name, words in bought.items():
            declared[name] = merged(declared[name], {"categories": words, "missing": "own"} if words else {})
    more: dict[str, Any] = {"dialect": found.dialect, "reasons": found.reasons, "kinds": found.kinds}
    text = draft_schema(names, data, read=read, labels=source.labels, declared=declared, **more)
    open_ = [n for n in names if undeclared({**({"kind": found.kinds[n]} if n in found.kinds else {}), **declared[n]})]
    if output is not None:
        write_whole(output, text)
    if as_json:
        facts = found.dialect.to_dict()
        typer.echo(json.dumps({"columns": list(names), "source": facts, "file": str(output) if output else None}))
    elif output is None:
        typer.echo(text, nl=False)
    else:
        said = f"[bold]{counted(len(names), 'column')}[/] drafted in [cyan]{escape(str(output))}[/]."
        for name in purchase.columns:
            n = len(declared[name].get("categories", ()))
            said += f" {n:,} categor{'y' if n == 1 else 'ies'} of {escape(name)} bought."
        for reason in found.reasons:
            said += f" {escape(reason)}"
        if not open_:
            said += " All are declared; next:"
        elif len(open_) < len(names):
            said += f" Still to be declared: {escape(', '.join(open_))}; then:"
        else:
            said += " Declare each one, then:"
        console.print(said)
        console.print(f"  discreet schema check {escape(shlex.quote(str(output)))}", highlight=False, soft_wrap=True)
        people = [name for name in names if declared[name].get("role") == "person"]
        said_rows = any("rows" in declared[name] for name in people)  # the schema has the unit
        unit = f" --person {shlex.quote(people[0])} --person-rows 8" if len(people) == 1 and not said_rows else ""
        paid = f" --account {shlex.quote(str(purchase.account))}" if purchase.account else ""
        many = len(names) - len(people) >= _MANY
        verb, made = ("synthesize", "safe.csv") if many else ("synopsis", "s.parquet")
        next_step = (
            f"discreet {verb} {shlex.quote(data)} --schema {shlex.quote(str(output))} --epsilon 1{unit}{paid} -o {made}"
        )
        console.print(f"  {escape(next_step)}", highlight=False, soft_wrap=True)


def _by_codebook(data: str, found: Any, book: dict[str, Any], header: bool | None) -> tuple[Any, dict[str, Any], bool]:
    """Take names and categories of a codebook: by its own order, or by the names in the first line where it has them.

    Files of this format have no header, but are passed on with one; a record does not consist of the codebook's names.
    """
    from discreet import engines
    from discreet.core.schema import is_address, of_header, table_place
    from discreet.engines import text_file

    place = table_place(data, Path()) if is_address(data) else data
    names = () if header is False else engines.open(place, dialect=found.dialect).names
    own = of_header(book, names)
    headed = bool(header or own)
    if header and not own:
        raise DataSourceError(
            f"codebook: it does not name the columns of {data!r}; say --no-header if the first line is a record"
        )
    missing = ("?",) if text_file(data) is not None else ()
    told = f"{'C' if headed else 'Names and c'}ategories are those of the codebook, in which ? is a missing value."
    names = () if headed else tuple(book)
    dialect = replace(found.dialect, header=headed, names=names, missing=missing)
    return replace(found, dialect=dialect, reasons=(*found.reasons, told)), own or book, headed


def _check(schema_file: str, data: str | None, rows: int, as_json: bool) -> None:
    """Say what a schema file still lacks, and whether it fits a table; by a look at its rows also how well."""
    from discreet import engines
    from discreet.core import Domain
    from discreet.engines import Doubts, examine

    domain = Domain.from_toml(Path(schema_file))
    fits = domain
    if data is not None:
        look.look([(TABLE, data)])
        # A column that follows from another need not be there for those who never read it.
        there = set(engines.open(data, dialect=domain.source).names)
        fits = domain if there.issuperset(domain.names) else domain.without_functions()
        engines.open(data, fits)  # refuses a table without the declared columns
    doubts = examine(fits, data, rows) if data is not None and rows else Doubts([], [], {})
    facts = {
        "columns": list(domain.names),
        "source": domain.source.to_dict(),
        **asdict(doubts),
        **domain.facts.to_dict(),
    }
    if as_json:
        typer.echo(json.dumps(facts))
        return
    all_but = "them all" if len(fits) == len(domain) else "all but functions of others"
    found = "" if data is None else f", and {escape(data)} has {all_but}"
    are = "is" if len(domain) == 1 else "are"
    console.print(f"[bold]{counted(len(domain), 'column')}[/] {are} declared, none is missing{found}.")
    for text in domain.facts.sentences:
        console.print(f"  Declared as a public fact: {escape(text)}.", highlight=False, soft_wrap=True)
    told = {
        "none": f"none of the first {rows} rows has a value that can be read as declared",
        "most": f"few of the values in the first {rows} rows can be read as declared, the others count as missing",
        "many": f"many of the values in the first {rows} rows cannot be read as declared and count as missing",
        "some": f"some of the values in the first {rows} rows, less than a tenth, cannot be read as declared",
    }
    for column, share in {**dict.fromkeys(doubts.unread, "none"), **doubts.partly}.items():
        console.print(f"  [yellow]{escape(column)}[/]: {told[share]}.")
    if doubts.unread or doubts.partly:
        console.print(
            "  Look at the marks of decimals and thousands, units beside numbers (marks), words for a missing value "
            "(missing), the format of dates (with %H:%M if a time of day follows), the encoding, and how categories "
            "are spelled, capitals too."
        )
    if doubts.careless:
        listed, which = escape(", ".join(doubts.careless)), "it means" if len(doubts.careless) == 1 else "each means"
        console.print(
            f"  [yellow]{listed}[/]: a bound equals a value among the first {rows} rows. If it was read off the table, "
            f"somebody's value would be published: is it what {which}?"
        )
    if data is not None and not rows:
        console.print("  Say --look N to try the first N rows too; guarantees need not mention that.")
