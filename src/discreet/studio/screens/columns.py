"""The screen `columns`: the schema as a table to edit, one form for all of it, and a page per column."""

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import FormData, UploadFile
from starlette.responses import Response

from discreet.core import read_column, shown_levels
from discreet.core.schema import KnownKind, read_codebook
from discreet.engines import examine
from discreet.errors import DataSourceError, DiscreetError, SchemaError
from discreet.studio.app import Visit, answers
from discreet.studio.schema import Fault, Sheet
from discreet.studio.schema.typed import CHOICES, FIELDS, LONGEST, MOST_LISTED, kind_of, texts_of
from discreet.studio.words import T
from discreet.studio.workspace import Project

#: A schema or codebook that is uploaded, in bytes.
_LARGEST = 4 * 2**20
#: Rows that declarations are tried on, where looking is allowed.
_LOOK = 1000
_Faults = Mapping[tuple[str, str], Fault]


@answers("/p/{project}/columns")
def show(visit: Visit) -> Response:
    try:
        sheet = Sheet.load(visit.project)
    except DiscreetError as error:
        return visit.page("columns_closed.html", 409, screen="columns", message=str(error))
    looks = "look" in visit.query and visit.project.looked
    return _table(visit, sheet, doubts=_doubts(visit.project, sheet) if looks else None)


def _doubts(project: Project, sheet: Sheet) -> dict[str, list[str]] | None:
    if sheet.waiting or sheet.absent or sheet.problem():
        return None
    found = examine(sheet.domain().without_functions(), project.source, _LOOK)
    partly = {share: [name for name, said in found.partly.items() if said == share] for share in ("most", "many")}
    return {"unread": found.unread, **partly, "careless": found.careless}


@answers("/p/{project}/columns/one")
def show_one(visit: Visit) -> Response:
    return _one(visit, Sheet.load(visit.project), visit.query.get("name", ""))


@answers("/p/{project}/columns", "POST")
def save(visit: Visit) -> Response:
    """Take over what was typed: of the columns that the form holds, of the unit and the facts."""
    project, form, sheet = visit.project, visit.form, Sheet.load(visit.project)
    act, find, typed = _text(form, "act"), _text(form, "find"), _typed(form)
    picked = [str(name) for name in form.getlist("pick")]
    if form.get("version", sheet.version) != sheet.version:  # a form holds all columns: it would undo what others said
        elsewhere = {("", "version"): Fault("version", "elsewhere")}
        return _table(visit, sheet, typed, elsewhere, find, picked)
    faults: dict[tuple[str, str], Fault] = {}
    if act == "bulk":
        said = {key: text for key in FIELDS if (text := _text(form, f"bulk_{key}"))}
        if not picked or not said:
            faults["", "bulk"] = Fault("bulk", "nothing_ticked" if not picked else "nothing_said")
        for name in picked:
            typed[name] = {**typed.get(name, {}), **said}
    before = {name: sheet.texts(name) for name in typed if name in sheet.order}
    asked = bool(sheet.persons) or "unit" in sheet.rest
    faults |= sheet.edit(typed)
    faults |= _whole_table(sheet, form, asked)
    taken = sheet.waiting if act == "take_all" else [name] if (name := _text(form, "take")) else []
    for name in taken:
        if (name, "kind") not in faults:
            sheet.take(name)
    sheet.save(project)
    if "one" in form:
        name = _text(form, "one")
        if faults:
            return _one(visit, sheet, name, typed, faults)
        left = _next(sheet, name)
        if act == "next" and left:
            return visit.to(f"columns/one?{urlencode({'name': left})}")
        return visit.to(f"columns?done=save#{_anchor(sheet, name)}")
    if faults:
        return _table(visit, sheet, typed, faults, find, picked)
    changed = [name for name in before if sheet.texts(name) != before[name]] or taken
    query = urlencode({"done": act if act in ("bulk", "take_all") else "save", **({"find": find} if find else {})})
    place = f"#{_anchor(sheet, changed[0])}" if changed and act not in ("bulk", "take_all") else ""
    return visit.to(f"columns?{query}{place}")


@answers("/p/{project}/columns/file", "POST")
def upload(visit: Visit) -> Response:
    t, content, name = visit.t, b"", ""
    if isinstance(given := visit.form.get("file"), UploadFile):
        content, name = given.file.read(_LARGEST + 1), given.filename or ""
    sheet = Sheet.load(visit.project)
    try:
        if not name:
            raise DataSourceError(t("columns.no_file"))
        if len(content) > _LARGEST:
            raise DataSourceError(t("columns.too_large", n=_LARGEST // 2**20))
        if name.lower().endswith(".toml"):
            sheet.replace_by(content.decode("utf-8", "replace"))
        else:
            with TemporaryDirectory() as folder:
                place = Path(folder) / "codebook.names"
                place.write_bytes(content)
                book = read_codebook(place)
            if not sheet.add_codebook(book):
                raise SchemaError(t("columns.no_match"))
    except DiscreetError as error:
        message = re.sub(r"codebook: '[^']*'", "codebook: the file", str(error))
        return _table(visit, sheet, faults={("", "file"): Fault("file", "library", text=message)})
    sheet.save(visit.project)
    return visit.to("columns?done=file")


@answers("/p/{project}/schema.toml")
def download(visit: Visit) -> Response:
    return _attached(Sheet.load(visit.project).text(), "application/toml", "schema.toml")


@answers("/p/{project}/codebook.csv")
def codebook(visit: Visit) -> Response:
    """Hand out what is declared as a table for people: it goes with a release."""
    t, sheet = visit.t, Sheet.load(visit.project)
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\r\n").writerow
    write([t(f"columns.head_{name}") for name in ("name", *FIELDS)])
    for name in sheet.order:
        shown = sheet.texts(name)
        told = [t(f"columns.{key}_{shown[key] or 'none'}") if key in CHOICES else shown[key] for key in FIELDS]
        # A spreadsheet would take such a name for a formula.
        write([f"'{text}" if text[:1] in ("=", "+", "@") else text for text in (name, *told)])
    return _attached(text.getvalue(), "text/csv", "codebook.csv")


def _attached(text: str, kind: str, name: str) -> Response:
    named = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=f"{kind}; charset=utf-8", headers=named)


def _typed(form: FormData) -> dict[str, dict[str, str]]:
    """Return the fields of columns: ``role:age`` is the role of the column age."""
    typed: dict[str, dict[str, str]] = {}
    for key, value in form.multi_items():
        name, colon, column = key.partition(":")
        if colon and name in FIELDS and isinstance(value, str):
            typed.setdefault(column.replace("\r\n", "\n"), {})[name] = value  # browsers send line breaks so
    return typed


def _text(form: FormData, name: str) -> str:
    value = form.get(name, "")
    return value if isinstance(value, str) else ""


def _whole_table(sheet: Sheet, form: FormData, asked: bool) -> dict[tuple[str, str], Fault]:
    """Take over what is said of the whole table.

    That one row is hidden is ticked where no column names a person. Once one does, that has to be said anew.
    """
    faults: dict[tuple[str, str], Fault] = {}
    if "unit" in form and (asked or form["unit"] != "row"):
        try:
            sheet.set_unit(_text(form, "unit"), _text(form, "rows"))
        except Fault as fault:
            faults["", fault.field] = fault
    if "facts" in form and _text(form, "facts").strip() != sheet.facts().strip():
        held = dict(sheet.rest)
        try:
            sheet.set_facts(_text(form, "facts").replace("\r\n", "\n"))
            if problem := sheet.problem():
                sheet.rest = held
                raise Fault("facts", "library", text=problem)
        except Fault as fault:
            faults["", "facts"] = fault
    return faults


def _anchor(sheet: Sheet, name: str) -> str:
    return f"c{sheet.order.index(name)}" if name in sheet.order else "main"


def _next(sheet: Sheet, name: str) -> str:
    waiting = sheet.waiting
    later = [w for w in waiting if name in sheet.order and sheet.order.index(w) > sheet.order.index(name)]
    return next(iter([*later, *waiting]), "")


def _row(sheet: Sheet, name: str, t: T, typed: Mapping[str, str], faults: _Faults) -> dict[str, Any]:
    held = sheet.held(name)
    texts = {**sheet.texts(name), **typed}
    listed = held.get("categories", ())
    long = "list" not in typed and (len(listed) > MOST_LISTED or len(texts["list"]) > LONGEST)
    file = held.get("categories_file", "") if not listed else ""
    if offer := sheet.offer(name):
        told = {"words": in_words(offer.declared, t), "why": t("known." + known_key(offer))}
    return {
        "name": name, "i": sheet.order.index(name), "texts": texts, "long": bool(long or file), "n": len(listed),
        "first": file or ", ".join(map(str, listed[:3])), "waits": sheet.waits(name),
        "offer": told if offer else None,
        "faults": {f.field: t(f"columns.{f.key}", **f.values) for (of, _), f in faults.items() if of == name},
        "kept": sorted(set(held) - {"kind", "bounds", "categories", "role", "missing", "pattern", "levels"}),
    }  # fmt: skip


def in_words(declared: Mapping[str, Any], t: T) -> str:
    """Say in a line what a declaration is."""
    texts, parts = texts_of(declared), []
    if kind := kind_of(declared):
        parts.append(t(f"columns.kind_{kind}"))
    if texts["low"]:
        parts.append(t("columns.from_to", low=texts["low"], high=texts["high"]))
    if listed := declared.get("categories", "pattern" in declared and [""]):
        parts.append(texts["list"] if len(listed) < 8 else t("columns.n_values", n=len(listed)))
    if texts["role"] != "attribute":
        parts.append(t(f"columns.role_{texts['role']}"))
    return ", ".join(parts)


def known_key(offer: KnownKind) -> str:
    return re.sub(r"\W+", "_", offer.source).strip("_").lower()


def _table(
    visit: Visit, sheet: Sheet, typed: Mapping[str, Mapping[str, str]] | None = None, faults: _Faults | None = None,
    find: str = "", picked: list[str] | None = None, doubts: dict[str, list[str]] | None = None,
) -> Response:  # fmt: skip
    t, query, faults = visit.t, visit.query, faults or {}
    find = find or query.get("find", "")
    waiting = set(sheet.waiting)
    wrong = {of for of, _ in faults}
    names = [n for n in sheet.order if find.casefold() in n.casefold() or n in wrong]
    if query.get("only") == "waiting":
        names = [n for n in names if n in waiting]
    rows = [_row(sheet, name, t, (typed or {}).get(name, {}), faults) for name in names]
    above = {f.field: t(f"columns.{f.key}", **f.values) for (of, _), f in faults.items() if not of}
    first = next((n for n in sheet.order if n in waiting), "")
    offers = sum(sheet.offer(name) is not None for name in waiting)
    problem, facts = sheet.problem(), tuple[str, ...]()
    if sheet.facts() and not waiting and not problem:
        facts = sheet.domain().facts.sentences
    done = query.get("done", "")
    return visit.page(
        "columns.html", 422 if faults else 200, screen="columns", rows=rows, find=find,
        only=query.get("only", ""), choices=CHOICES, waiting=sorted(waiting, key=sheet.order.index),
        total=len(sheet.columns), left_out=len(sheet.unused), first=first,
        first_place=f"/p/{visit.project.id}/columns/one?{urlencode({'name': first})}" if first else "", offers=offers,
        problem=problem, absent=sheet.absent, unit=sheet.unit, person_rows=sheet.rows, persons=sheet.persons,
        facts=facts, facts_text=sheet.facts(), above=above, n_faults=len(faults),
        state=sheet.version, doubts=doubts, look_rows=_LOOK,
        places={name: f"c{i}" for i, name in enumerate(sheet.order)},
        picked=set(names if "all" in query else picked or ()), urlencode=urlencode,
        notice=done if done in ("save", "bulk", "take_all", "file") and not faults else "",
        grouped=sheet.rest["unit"].get("per_group") if isinstance(sheet.rest.get("unit"), dict) else None,
    )  # fmt: skip


def _one(
    visit: Visit, sheet: Sheet, name: str, typed: Mapping[str, Mapping[str, str]] | None = None,
    faults: _Faults | None = None,
) -> Response:  # fmt: skip
    t = visit.t
    if name not in sheet.order:
        raise SchemaError(t("columns.no_column", name=name))
    row = _row(sheet, name, t, (typed or {}).get(name, {}), faults or {})
    held = sheet.held(name).get("categories", ())
    plain = typed or kind_of(sheet.held(name)) == "boolean" or len(held) < 2  # a line of its own may hold commas
    lines = row["texts"]["list"] if plain else "\n".join(map(str, held))
    place, shown = sheet.order.index(name), []
    if not faults and not sheet.waits(name) and (row["texts"]["levels"] or row["texts"]["kind"] == "code"):
        shown = shown_levels(read_column(name, sheet.held(name)))
    return visit.page(
        "column.html", 422 if faults else 200, screen="columns", row=row, lines=lines, levels=shown,
        choices=CHOICES, next=_next(sheet, name), waiting=sheet.waiting, total=len(sheet.columns), urlencode=urlencode,
        before=sheet.order[place - 1] if place else "", after=(sheet.order[place + 1 :] or [""])[0],
    )  # fmt: skip
