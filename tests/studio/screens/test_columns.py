"""The schema as a table to edit: what is typed is kept, faults name column and field, nothing else changes."""

import re
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.core.columns.unit import Person
from discreet.core.domain import Domain
from discreet.core.schema.catalogue import KnownKind, known_kinds
from discreet.core.schema.dialect import Dialect
from discreet.studio import words
from discreet.studio.schema import Sheet
from discreet.studio.schema.sheet import LABELS
from discreet.studio.screens.columns import known_key
from discreet.studio.workspace import Project
from support.studio_client import Browser, browser

NAMES = ("age", "sex", "income", "user_id", "mood, today", "x<y")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with browser(tmp_path_factory.mktemp("columns") / "home") as opened:
        yield opened


@pytest.fixture
def opened(client: Browser, tmp_path: Path) -> Any:
    return client, _project(client, tmp_path, NAMES)


def _project(client: Browser, folder: Path, names: Any) -> Project:
    place = folder / "people.csv"
    quoted = ",".join(f'"{name}"' for name in names)
    place.write_text(f"{quoted}\n{','.join(['77177'] * len(names))}\n")
    return client.studio.workspace.create(source=str(place))


def _post(client: Browser, project: Project, **typed: Any) -> Any:
    return client.post(f"/p/{project.id}/columns", data={key.replace("__", ":"): value for key, value in typed.items()})


def _sheet(client: Browser, project: Project) -> Sheet:
    return Sheet.load(client.studio.workspace.project(project.id))


def test_a_table_is_drafted_from_its_header_alone_and_counts_what_is_not_declared(opened: Any) -> None:
    client, project = opened
    page = client.get(f"/p/{project.id}/columns")
    assert "Still to be declared: 6 of 6 columns." in page.text
    assert "columns/one?name=age" in page.text
    assert "x&lt;y" in page.text
    assert "77177" not in page.text
    assert not project.schema_file.exists()  # looking at a page changes nothing
    # and it leads from one that waits to the next
    assert "columns/one?name=sex" in _post(client, project, act="next", one="age", take="age").url.__str__()


def test_what_the_catalogue_knows_is_taken_with_one_click(opened: Any) -> None:
    client, project = opened
    page = client.get(f"/p/{project.id}/columns")
    assert "Take: whole number, 0 to 125, recognisable" in page.text
    _post(client, project, take="age")
    assert _sheet(client, project).columns["age"] == {
        "kind": "integer", "bounds": [0, 125], "role": "quasi-identifier",
    }  # fmt: skip
    page = _post(client, project, act="take_all")
    assert _sheet(client, project).columns["user_id"] == {"role": "person"}
    assert "4 of 6" in page.text
    assert "has a person column (user_id)" in page.text  # what that means has to be said


def test_a_complete_sheet_is_the_schema_that_jobs_read(opened: Any) -> None:
    client, project = opened
    _post(
        client, project, act="save", kind__age="integer", low__age="0", high__age="1e2", list__sex="f, m",
        kind__income="number", low__income="0,5", high__income="1 000 000", role__user_id="person", unit="person",
        rows="8", **{"list:mood, today": "good\r\nso, so", "kind:mood, today": "ordered",
        "missing:mood, today": "own", "role:x<y": "unused"},
    )  # fmt: skip
    domain = Domain.from_toml(project.schema_file)
    assert domain.names == ("age", "sex", "income", "user_id", "mood, today")
    assert domain.column("age").to_dict()["bounds"] == [0, 100]
    assert domain.column("income").to_dict()["bounds"] == [0.5, 1e6]
    assert domain.column("mood, today").to_dict() == {
        "kind": "ordered", "categories": ["good", "so, so"], "role": "attribute", "missing": "own",
    }  # fmt: skip
    assert domain.unit.to_dict() == {"person": "user_id", "rows": 8}  # type: ignore[union-attr]
    page = client.get(f"/p/{project.id}/columns")
    assert "All columns are declared (5)." in page.text
    assert "Left out: 1." in page.text
    # what was left out can be taken back, in its place
    _post(client, project, **{"role:x<y": "attribute"})
    assert list(_sheet(client, project).order) == list(NAMES)
    assert _sheet(client, project).waiting == ["x<y"]


@pytest.mark.parametrize(
    ("typed", "field", "said"),
    [
        ({"kind:age": "number", "low:age": "zero", "high:age": "9"}, "low", "not a number"),
        ({"kind:age": "number", "low:age": "1,000", "high:age": "2000"}, "low", "Write 1000 if"),
        ({"kind:age": "integer", "low:age": "0", "high:age": "1.5"}, "high", "not a whole number"),
        ({"kind:age": "number", "low:age": "9", "high:age": "1"}, "high", "more than the lower bound"),
        ({"kind:age": "date", "low:age": "1.5.1984", "high:age": "2010-12-31"}, "low", "not a date"),
        ({"kind:age": "time", "low:age": "08:00", "high:age": "25:00"}, "high", "not a time of day"),
        ({"kind:age": "integer", "high:age": "9"}, "low", "this one is missing"),
        ({"kind:age": "category", "list:age": "a, b, a"}, "list", "“a” is listed twice"),
        ({"low:age": "0", "high:age": "9", "list:age": "a"}, "kind", "choose the kind"),
        ({"kind:age": "colour"}, "kind", "one of the list"),
    ],
)
def test_a_fault_sits_next_to_its_field_and_nothing_typed_is_lost(
    opened: Any, typed: dict[str, str], field: str, said: str
) -> None:
    client, project = opened
    page = client.post(f"/p/{project.id}/columns", data={**typed, "list:sex": "f, m", "low:income": "7"})
    assert page.status_code == 422
    beside = re.findall(r'class="fault" id="f(\d+)(\w+)">([^<]*)<', page.text)
    assert [(i, where) for i, where, _ in beside] == [("0", field), ("2", "high")]  # age is the first, income the third
    assert said in beside[0][2]
    for key, value in {**typed, "low:income": "7"}.items():
        shown = f'name="{key}" value="{value}"' if not key.startswith("kind") else 'name="kind:age"'
        assert shown in page.text
    assert _sheet(client, project).columns["sex"] == {"categories": ["f", "m"]}  # the rest is saved
    assert _sheet(client, project).columns["age"] == {}


def test_several_columns_are_set_at_once_without_script(opened: Any) -> None:
    client, project = opened
    page = client.get(f"/p/{project.id}/columns", params={"all": "1", "find": "e"})
    assert re.findall(r'value="(\w+)" aria-labelledby=n\d checked', page.text) == ["age", "sex", "income", "user_id"]
    _post(client, project, act="bulk", pick=["age", "income"], bulk_kind="integer", bulk_low="0", bulk_high="9",
          bulk_missing="own", bulk_role="sensitive")  # fmt: skip
    held = _sheet(client, project).columns
    assert held["age"] == held["income"] == {
        "kind": "integer", "bounds": [0, 9], "role": "sensitive", "missing": "own",
    }  # fmt: skip
    assert held["sex"] == {}
    page = _post(client, project, act="bulk", bulk_role="target")
    assert page.status_code == 422
    assert "No column is ticked" in page.text


def test_what_no_field_shows_is_kept(opened: Any) -> None:
    client, project = opened
    given = """\
[unit]
person = "user_id"
rows = 4
group = ["sex"]
per_group = 2

[source]
decimal = ","

[columns]
age = {bounds = [0, 120.5], kind = "number"}
sex = {categories = [1, 2], missing = "own"}
income = {kind = "integer", bounds = [0, 9], missing = "own"}
user_id = {role = "person"}

[functions.income.sex]
1 = 3
2 = 5

[[impossible]]
age = [0, 10]
sex = 1
"""
    files = {"file": ("schema.toml", given.encode())}
    page = client.post(f"/p/{project.id}/columns/file", files=files)
    assert page.status_code == 200, page.text
    assert "income is a function of sex" in page.text
    assert "Left out: 2." in page.text
    before = Domain.from_toml(project.schema_file)
    assert before == Domain.from_toml(given)
    fields = dict(re.findall(r'name="((?:low|high|list):[^"]*)" value="([^"]*)"', page.text))
    fields["unit"], fields["rows"] = "person", "4"
    fields["facts"] = re.search(r"<textarea[^>]*name=\"facts\"[^>]*>([^<]*)<", page.text)[1].replace("&#34;", '"')  # type: ignore[index]
    client.post(f"/p/{project.id}/columns", data=fields)
    after = Domain.from_toml(project.schema_file)
    assert after == before
    assert after.column("sex").categories == (1, 2)  # type: ignore[union-attr]
    page = client.post(f"/p/{project.id}/columns", data={"facts": "[functions.income.nobody]\n1 = 3\n"})
    assert page.status_code == 422
    assert "nobody" in page.text
    assert Domain.from_toml(project.schema_file) == before
    assert client.get(f"/p/{project.id}/schema.toml").text == project.schema_file.read_text()


def test_a_codebook_fills_in_what_waits_and_strange_files_are_refused_in_place(opened: Any) -> None:
    client, project = opened
    _post(client, project, kind__age="integer", low__age="0", high__age="9")
    book = b"poor, rich.\nage: continuous.\nsex: Female, Male.\nuser-id: ignore.\nmoodtoday: a, b.\n"
    client.post(f"/p/{project.id}/columns/file", files={"file": ("people.names", book)})
    held = _sheet(client, project).columns
    assert held["sex"] == {"categories": ["Female", "Male"], "missing": "own"}
    assert held["age"]["bounds"] == [0, 9]
    for name, content, said in (
        ("a.toml", b"[columns.height]\nbounds = [0, 1]\n", "which the table does not have"),
        ("a.toml", b"[columns\n", "not valid TOML"),
        ("a.toml", b"[columns.age]\ncategories_file = '/etc/passwd'\n", "is not here"),
        ("a.names", b"nothing", "codebook: the file"),
    ):
        page = client.post(f"/p/{project.id}/columns/file", files={"file": (name, content)})
        assert page.status_code == 422, name
        assert said in page.text
        assert _sheet(client, project).columns == held


def test_a_first_line_that_may_be_a_record_is_not_shown(client: Browser, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Eve,44,1984-05-01\nBob,31,1990-01-01\n")
    project = client.studio.workspace.create(source=str(tmp_path / "t.csv"))
    page = client.get(f"/p/{project.id}/columns")
    assert "somebody" in page.text
    assert "Eve" not in page.text


def test_two_hundred_columns_are_drawn_and_saved_quickly(client: Browser, tmp_path: Path) -> None:
    names = ["age", *(f"question_{i}" for i in range(199))]
    project = _project(client, tmp_path, names)
    client.get(f"/p/{project.id}/columns")  # templates are compiled once
    start = time.process_time()
    page = client.get(f"/p/{project.id}/columns")
    drawn = time.process_time() - start
    assert len(page.content) < 300_000
    fields = dict.fromkeys(re.findall(r'name="((?:kind|low|high|list):[^"]*)"', page.text), "")
    assert len(fields) == 800
    start = time.process_time()
    done = client.post(
        f"/p/{project.id}/columns", follow_redirects=False,
        data={**fields, "act": "bulk", "pick": names[1:], "bulk_kind": "ordered", "bulk_list": "never, often"},
    )  # fmt: skip
    saved = time.process_time() - start
    assert done.status_code == 303
    assert _sheet(client, project).waiting == ["age"]
    assert max(drawn, saved) < 1  # of the processor, so that others on the machine do not count


def test_every_kind_of_the_public_catalogue_has_its_source_in_all_languages() -> None:
    for kind in (*known_kinds(), KnownKind("", {}, LABELS)):
        assert words.speaker("en")(f"known.{known_key(kind)}") == kind.source
        assert words.speaker("de")(f"known.{known_key(kind)}") != kind.source


def test_types_and_labels_of_a_file_are_offered_and_other_columns_left_out(client: Browser, tmp_path: Path) -> None:
    table = pa.table({"age": [3], "income": [1.5], "smoker": [True], "town": ["Ulm"], "more": ["x"]})
    pq.write_table(table, tmp_path / "t.parquet")
    project = client.studio.workspace.create(source=str(tmp_path / "t.parquet"))
    kinds = {name: held.get("kind") for name, held in _sheet(client, project).columns.items()}
    assert kinds == {"age": "integer", "income": "number", "smoker": "boolean", "town": None, "more": None}
    assert _sheet(client, project).waiting == ["age", "income", "town", "more"]
    sheet = _sheet(client, project)
    sheet.labels = {"town": ("Ulm", "Bonn")}
    assert sheet.take("town")
    assert sheet.columns["town"] == {"categories": ["Ulm", "Bonn"]}
    # a schema from elsewhere names some of its columns, and one that is not there
    project.schema_file.write_text("[columns]\nage = {bounds = [0, 9]}\nheight = {bounds = [0, 9]}\n")
    page = client.get(f"/p/{project.id}/columns").text
    assert "does not have these columns: height" in page
    assert "Left out: 4." in page
    assert "77177" not in page


def test_declarations_are_tried_on_rows_only_where_looking_is_allowed(client: Browser, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,sex\n" + "77,f\n33,x\n" * 9)
    project = client.studio.workspace.create(source=str(tmp_path / "t.csv"))
    project.schema_file.write_text('[columns]\nage = {bounds = [0, 77]}\nsex = {categories = ["w", "m"]}\n')
    page = client.get(f"/p/{project.id}/columns", params={"look": "1"})
    assert "first 1000 rows" not in page.text
    project.looked = True
    project.save()
    page = client.get(f"/p/{project.id}/columns", params={"look": "1"}).text
    assert re.search(r'<a href="#c1">sex</a>: no row has a value', page)
    assert re.search(r'<a href="#c0">age</a>: a bound equals a value', page)


def test_a_promise_about_rows_is_not_made_by_a_form_that_never_asked(opened: Any) -> None:
    client, project = opened
    # the page had "one row" ticked, because no column named a person yet
    page = _post(client, project, unit="row", rows="8", role__user_id="person")
    assert "unit" not in _sheet(client, project).rest
    assert "has a person column (user_id)" in page.text
    _post(client, project, unit="row", rows="8")
    assert _sheet(client, project).rest["unit"] == "row"
    page = _post(client, project, unit="person", rows="none")
    assert page.status_code == 422
    assert "whole number from 1" in page.text
    _post(client, project, unit="person", rows="auto")
    assert _sheet(client, project).rest["unit"] == {"person": "user_id", "rows": "auto"}
    _post(client, project, role__user_id="identifier")
    assert "unit" not in _sheet(client, project).rest  # whose column is no longer one


def test_two_tabs_do_not_undo_each_other(opened: Any) -> None:
    client, project = opened
    old = re.search(r'name="version" value="(\w+)"', client.get(f"/p/{project.id}/columns").text)[1]  # type: ignore[index]
    _post(client, project, list__sex="f, m", version=old)
    page = _post(client, project, list__sex="", list__income="a, b", version=old)
    assert page.status_code == 422
    assert "changed elsewhere" in page.text
    assert 'name="list:income" value="a, b"' in page.text  # what was typed is there
    assert _sheet(client, project).columns["sex"] == {"categories": ["f", "m"]}
    assert _sheet(client, project).columns["income"] == {}


def test_a_codebook_is_handed_out_for_people(client: Browser, tmp_path: Path) -> None:
    project = _project(client, tmp_path, ("age", "=cmd", "mood"))
    _post(client, project, take="age", **{"list:mood": 'good, "so, so"'})
    lines = client.get(f"/p/{project.id}/codebook.csv").text.splitlines()
    assert lines == [
        "Column,Role,Kind,From,To,List of values,Missing value,Levels",
        "age,recognisable,whole number,0,125,,leave the row out,",
        "'=cmd,ordinary,not declared,,,,leave the row out,",
        'mood,ordinary,category,,,"good, ""so, so""",leave the row out,',
    ]


def test_names_and_lists_may_be_odd(client: Browser, tmp_path: Path) -> None:
    names = ["two\nlines", "a:b", "é", "<script>", "n" * 300]
    pq.write_table(pa.table({name: ["1"] for name in names}), tmp_path / "odd.parquet")
    project = client.studio.workspace.create(source=str(tmp_path / "odd.parquet"))
    assert _sheet(client, project).order == names
    page = client.get(f"/p/{project.id}/columns").text
    assert "<script>" not in page.replace('<script src="/static/', "")
    typed = {"list:two\r\nlines": "x, y", "list:a:b": "1, 2", "kind:é": "time", "role:<script>": "identifier"}
    long = "\r\n".join(f"value {i}, or so" for i in range(5000))
    client.post(f"/p/{project.id}/columns", data={**typed, f"list:{names[-1]}": long})
    held = Domain.from_toml(project.schema_file)
    assert held.names == tuple(names)
    assert held.column(names[-1]).categories[-1] == "value 4999, or so"  # type: ignore[union-attr]
    page = client.get(f"/p/{project.id}/columns").text
    assert len(page) < 60_000  # a long list has a page of its own
    assert "5000 values" in page
    client.post(f"/p/{project.id}/columns", data={"missing:" + names[-1]: "own"})
    assert len(Domain.from_toml(project.schema_file).column(names[-1]).categories) == 5000  # type: ignore[union-attr]
    # a list in a file that the schema names is found from the schema's own folder
    (project.folder / "towns.txt").write_text("Ulm\nBonn\n")
    project.schema_file.write_text('[columns]\n"a:b" = {categories_file = "towns.txt"}\n')
    assert "towns.txt" in client.get(f"/p/{project.id}/columns").text
    client.post(f"/p/{project.id}/columns", data={"role:a:b": "sensitive"})
    assert Domain.from_toml(project.schema_file).column("a:b").categories == ("Ulm", "Bonn")  # type: ignore[union-attr]


def test_a_bound_that_can_be_read_in_two_ways_is_asked_and_the_declared_mark_decides() -> None:
    typed = {"pay": {"kind": "number", "low": "0", "high": "100.000"}}
    sheet = Sheet.of_names(["pay"])
    fault = sheet.edit(typed)["pay", "high"]
    assert (fault.key, fault.values["whole"], fault.values["comma"]) == ("two_ways", "100000", "100,0")
    assert sheet.waiting == ["pay"]
    assert not sheet.edit({"pay": {**typed["pay"], "high": "1.000,50"}})
    assert sheet.columns["pay"]["bounds"] == [0, 1000.5]
    german = Sheet.of_names(["pay"], Dialect(decimal=",", thousands="."))
    assert not german.edit(typed)
    assert german.columns["pay"]["bounds"] == [0, 100_000]


def test_a_bound_with_three_decimals_is_shown_so_that_it_can_be_saved_again() -> None:
    sheet = Sheet.of_text("[columns.x]\nbounds = [0, 1.125]\n")
    assert not sheet.edit({"x": {**sheet.texts("x"), "low": "-1"}})
    assert sheet.columns["x"]["bounds"] == [-1, 1.125]


@pytest.mark.parametrize(
    ("typed", "made"),
    [
        ("männlich; weiblich; divers", ["männlich", "weiblich", "divers"]),
        ("männlich, weiblich", ["männlich", "weiblich"]),
        ("männlich;\r\nweiblich;", ["männlich", "weiblich"]),
        ('"yes; sure", no', ["yes; sure", "no"]),
        ("a; b, c", "two_marks"),
        ("a|b|c", "one_value"),
        ('"a|b|c"', ["a|b|c"]),
    ],
)
def test_a_list_is_parted_as_people_part_it_or_asked(typed: str, made: Any) -> None:
    sheet = Sheet.of_names(["sex"])
    faults = sheet.edit({"sex": {"kind": "category", "list": typed}})
    if isinstance(made, str):
        assert faults["sex", "list"].key == made
        return
    assert not faults
    assert sheet.columns["sex"]["categories"] == made
    assert not sheet.edit({"sex": {**sheet.texts("sex"), "kind": "ordered"}})
    assert sheet.columns["sex"]["categories"] == made  # what is shown is read back


def test_codes_and_levels_are_typed_shown_and_kept(client: Browser, tmp_path: Path) -> None:
    project = _project(client, tmp_path, ("PLZ", "ICD", "age", "day"))
    page = client.get(f"/p/{project.id}/columns")
    assert r"\d{5}" in page.text  # offered by name
    _post(client, project, act="take_all")
    typed = {"kind__day": "date", "low__day": "2024-01-01", "high__day": "2024-12-31", "levels__day": "quarter, year"}
    _post(client, project, levels__age="0..17 minor, 18+ adult", list__ICD="A00, A01, B20", kind__ICD="code", **typed)
    domain = _sheet(client, project).domain()
    assert domain.column("PLZ").pattern == r"\d{5}"
    assert domain.column("ICD").categories == ("A00", "A01", "B20")
    assert domain.column("age").levels == (("minor", "0..17"), ("adult", "18+"))
    assert domain.column("day").levels == ("quarter", "year")
    for name, shown in (("PLZ", "first 5 characters: 100,000 groups"), ("age", "minor (0 to 17), adult (18 to 125)"),
                        ("day", "2024-Q1 (2024-01-01 to 2024-03-31)")):  # fmt: skip
        page = client.get(f"/p/{project.id}/columns/one?name={name}")
        assert shown in page.text, name
    before = _sheet(client, project).text()
    wrong = _post(client, project, one="age", levels__age="0..17 minor, 19+ adult")
    assert "without gaps" in wrong.text
    wrong = _post(client, project, one="PLZ", list__PLZ="[")
    assert "list of codes" in wrong.text
    assert _sheet(client, project).text() == before
    _post(client, project, one="age", levels__age="")
    assert _sheet(client, project).domain().column("age").levels is None


def test_weights_and_households_of_a_survey_are_declared_and_pages_name_them(client: Browser, tmp_path: Path) -> None:
    project = _project(client, tmp_path, ("age", "wgt", "hh"))
    page = _post(
        client, project, kind__age="integer", low__age="0", high__age="99", role__wgt="weight", kind__wgt="number",
        low__wgt="0", high__wgt="5000", role__hh="person", unit="household", rows="6",
    )  # fmt: skip
    assert 'value="household" checked' in page.text
    domain = _sheet(client, project).domain()
    assert domain.weights == ("wgt",)
    assert isinstance(domain.unit, Person)
    assert domain.unit.to_dict() == {"household": "hh", "rows": 6}
    account = client.get(f"/p/{project.id}/account").text
    assert "one household (column hh)" in account
    german = client.get(f"/p/{project.id}/account", headers={"accept-language": "de"}).text
    assert "ein Haushalt (Spalte hh)" in german
    refused = _post(client, project, role__wgt="weight", kind__wgt="number", low__wgt="-5", high__wgt="5000")
    assert "how many people a row stands for" in refused.text
