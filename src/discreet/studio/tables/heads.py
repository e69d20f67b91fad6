"""The head of a table: column names and format; rows only if the user asks for them.

The schema has the format as soon as it exists. Before that it is what the steward said on the screen
`data`, or else what the first line alone suggests.
"""

import ast
import glob
import os
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from discreet import engines
from discreet.core import write_whole
from discreet.core.schema import Dialect, is_address, read_dialect, write_toml
from discreet.engines import first_line, tables
from discreet.errors import DataSourceError
from discreet.studio.workspace import Project

#: Rows that are shown to a steward who asks.
MOST_ROWS = 20


@dataclass(frozen=True)
class Head:
    """The head of a table, before any row is read."""

    names: tuple[str, ...]  # the columns; empty if the first line may be a record
    doubtful: bool  # the first line may be a record
    dialect: Dialect
    reasons: tuple[str, ...]  # for the dialect
    types: tuple[str, ...]  # the types that the file keeps, one per column; empty if it keeps none
    labels: Mapping[str, tuple[str, ...]]  # of codes, as the file declares them
    lines: bool  # a text file
    size: int = 0  # in bytes; 0 for a database
    files: int = 0


def head_of(project: Project) -> Head:
    """Read the head of a project's table. It may take a while, so never on the loop of the server."""
    if not project.source:
        raise DataSourceError("data: a release was opened, which has no table; open the table to declare its columns")
    if project.unasked:
        raise DataSourceError("data: a job file names this database, which is not asked before you allow it")
    files = _files(project.source)
    if not is_address(project.source) and not files:
        gone = "an uploaded table is removed when the studio ends; bring it again"
        why = gone if project.uploaded else "was it moved?"
        raise DataSourceError(f"data: {project.name!r} is not there; {why}")
    found = said(project)
    # A database is asked again after a while, files when they changed.
    changed = tuple((f.st_size, f.st_mtime_ns) for f in files) or int(time.monotonic() // 30)
    head = _head(project.source, changed, repr(found), found is not None and "header" in found)
    if project.seen and not head.dialect.looked:  # in another project
        head = replace(head, dialect=replace(head.dialect, looked=MOST_ROWS))
    return replace(head, size=sum(f.st_size for f in files), files=len(files))


def said(project: Project) -> dict[str, Any] | None:
    if project.schema_file.is_file():
        found = tomllib.loads(project.schema_file.read_text(encoding="utf-8")).get("source", {})
        return {"header": True, **found} if isinstance(found, dict) else None
    return project.written or None


def _files(source: str) -> list[os.stat_result]:
    if is_address(source):
        return []
    try:
        place = Path(source)
        there = os.path.exists(source)  # unlike that of a path it takes every text
        places = place.iterdir() if os.path.isdir(source) else [place] if there else map(Path, glob.glob(source))
        return [p.stat() for p in sorted(places) if p.is_file()]
    except OSError as error:
        raise DataSourceError(f"data: cannot read {place.name!r} ({error.strerror}); check its permissions") from None


@lru_cache(maxsize=32)
def _head(source: str, changed: object, said: str, sure: bool) -> Head:
    found = first_line.proposed(source)
    given = ast.literal_eval(said)
    if given is not None:
        found = replace(found, dialect=read_dialect(given), reasons=())
    table = engines.open(source, dialect=found.dialect)
    doubtful = not sure and first_line.may_be_a_record(table)
    dialect = found.dialect
    if not dialect.header and not dialect.names:
        dialect = replace(dialect, names=table.names)
    names = () if doubtful else table.names
    lines = first_line.text_file(source) is not None
    return Head(names, doubtful, dialect, found.reasons, table.types, table.labels, lines)


def sheets_of(project: Project) -> list[str]:
    """Return the sheets of a workbook, to choose from; none of another table, or of one that cannot be read."""
    place = Path(project.source)
    if place.suffix.lower() not in engines.WORKBOOKS or not place.is_file() or project.unasked:
        return []
    try:
        return tables.sheets_of(place)
    except DataSourceError:
        return []  # `head_of` says why


def rows_of(project: Project) -> list[list[str]]:
    if not project.looked:
        raise DataSourceError("rows: they are hidden until you choose to see them")
    return first_line.first_rows(engines.open(project.source, dialect=head_of(project).dialect), MOST_ROWS)


def suggested(project: Project) -> Dialect:
    """Return how the table seems to be written by its first rows, if the steward asked to look."""
    head = head_of(project)
    if not project.looked or not (head.lines or sheets_of(project)):
        return head.dialect
    table = engines.open(project.source, dialect=head.dialect)
    return first_line.look(first_line.Proposal(head.dialect, (), {}), table, MOST_ROWS).dialect


def say_written(project: Project, dialect: Dialect) -> None:
    """Keep how the table is written; declarations of columns that are still there stay."""
    if not dialect.header and not dialect.names:
        dialect = replace(dialect, names=engines.open(project.source, dialect=dialect).names)
    names = engines.open(project.source, dialect=dialect).names
    before = set(project.columns)
    project.written = {"header": dialect.header, **dialect.to_dict()}
    project.columns = list(names) if project.columns else []
    project.unused = {name: held for name, held in project.unused.items() if name in names}
    project.save()
    if not project.schema_file.is_file():
        return
    table = tomllib.loads(project.schema_file.read_text(encoding="utf-8"))
    kept = {name: said for name, said in table.get("columns", {}).items() if name in names}
    if not kept:
        project.schema_file.unlink()
        return
    if before:  # columns that were not there before wait to be declared
        new = {name for name in names if name not in before}
        kept = {name: kept.get(name, {}) for name in names if name in kept or name in new}
    source = dialect.to_dict()
    rest = {name: part for name, part in table.items() if name not in ("columns", "source")}
    whole = {**rest, **({"source": source} if source else {}), "columns": kept}
    write_whole(project.schema_file, write_toml(whole), private=True)


def look(project: Project, wanted: bool) -> None:
    """Show rows, or hide them again. The schema keeps that they were seen."""
    head = head_of(project)
    if wanted and head.doubtful:
        raise DataSourceError("rows: say first whether the first line names the columns")
    if wanted:
        project.mark_seen()
    if wanted and not (said(project) or {}).get("looked"):
        say_written(project, replace(head.dialect, looked=MOST_ROWS))
    project.looked = wanted
    project.save()
