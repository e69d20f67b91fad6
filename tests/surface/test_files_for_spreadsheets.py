"""Releases of an untidy German workbook and CSV file, as workbooks and as CSV for Excel: typed, harmless, readable."""

from __future__ import annotations

import csv
import datetime
import io
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pytest
from openpyxl.utils.escape import unescape

import discreet as dc
from discreet.engines.readers import read_columns
from discreet.engines.writing.formats import DialectWriter, WorkbookWriter
from discreet.errors import DataSourceError, DiscreetError, InvalidArgument

pytestmark = pytest.mark.usefixtures("few_steps")

WORDS = ["=1+1", "+49 x", "@SUM", "Innere, West", "Geburt; Ost", "01067", 'a "b"']
SOURCE = """[source]
decimal = ","
thousands = "."
dates = ["%d.%m.%Y"]
"""
COLUMNS = f"""[columns]
Fall = {{role = "identifier"}}
Alter = {{kind = "integer", bounds = [0, 99], role = "quasi-identifier"}}
Aufnahme = {{bounds = [2025-01-01, 2025-12-31], role = "sensitive"}}
Zeit = {{kind = "time", bounds = ["00:00", "23:59"], role = "sensitive"}}
Kosten = {{bounds = [0, 99999], role = "sensitive"}}
Kosten_2 = {{bounds = [-9, 9], role = "sensitive"}}
"Größe" = {{categories = {json.dumps(WORDS)}, role = "sensitive"}}
"""
GIVEN: dict[str, tuple[str, dict[str, Any]]] = {
    "anonymize": ("release", {"k": 5}),
    "perturb": ("release", {"epsilon": 2.0, "radius": 0.1, "category_epsilon": 4.0, "seed": 1}),
    "synthesize": ("table", {"epsilon": 2.0, "seed": 1}),
}


def _rows(n: int = 300) -> list[list[Any]]:
    r = random.Random(3)
    day = datetime.date(2025, 1, 1)
    rows: list[list[Any]] = []
    for i in range(n):
        cost = f"{r.uniform(1000, 9999):_.2f}".replace(".", ",").replace("_", ".")
        cost = "see Ann Smith" if i % 50 == 7 else cost
        admitted = (day + datetime.timedelta(days=r.randint(0, 364))).strftime("%d.%m.%Y")
        rows.append([f"F{i}", r.randint(0, 99), admitted, "09:30", cost, f"{r.uniform(-9, 9):.1f}".replace(".", ","),
                     r.choice(WORDS)])  # fmt: skip
    return rows


HEAD = ["Fall", "Alter", "Aufnahme", "Zeit", "Kosten", "Kosten", "Größe"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workbook with a title, two columns of one name and numbers as texts; a CSV file of the same rows."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Januar"
    sheet.append(["Hospital"])
    sheet.merge_cells("A1:F1")
    sheet.append(HEAD)
    for i, row in enumerate(_rows()):
        try:
            typed = float(row[4].replace(".", "").replace(",", "."))
        except ValueError:
            typed = row[4]
        sheet.append([*row[:4], typed if i % 10 == 0 else row[4], *row[5:]])
        sheet.cell(sheet.max_row, 7).data_type = "s"
    book.create_sheet("Notes").append(["text"])
    book.save(tmp_path / "k.xlsx")
    with (tmp_path / "k.csv").open("w", newline="", encoding="windows-1252") as file:
        out = csv.writer(file, delimiter=";")
        out.writerow(HEAD)
        out.writerows(_rows())
    (tmp_path / "x.toml").write_text(SOURCE + 'sheet = "Januar"\nskip = 1\n' + COLUMNS, encoding="utf-8")
    more = 'delimiter = ";"\nencoding = "windows-1252"\n'
    (tmp_path / "c.toml").write_text(SOURCE + more + COLUMNS, encoding="utf-8")
    return tmp_path


def _made(folder: Path, kind: str, file: str, name: str, **more: Any) -> Any:
    output, given = GIVEN[kind]
    schema = "x.toml" if file.endswith("xlsx") else "c.toml"
    return dc.Job(kind, file, schema, {**given, **more}, {output: name}, folder).run()


def _audited(folder: Path, name: str) -> None:
    checks = dc.Job("audit", name, folder=folder).run().artifact.checks
    assert not [check for check in checks if check.holds is False and check.name != "seeded"]


def _cells(path: Path) -> list[dict[str, Any]]:
    head, *rows = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
    return [dict(zip(head, row, strict=True)) for row in rows]


@pytest.mark.parametrize("kind", GIVEN)
def test_a_workbook_holds_numbers_dates_times_and_texts_and_no_formula(kind: str, folder: Path) -> None:
    _made(folder, kind, "k.xlsx", "out.xlsx")
    _audited(folder, "out.xlsx")
    sheet = openpyxl.load_workbook(folder / "out.xlsx").active
    assert {cell.data_type for row in sheet.iter_rows(min_row=2) for cell in row} <= {"n", "d", "s"}  # no "f"
    rows = _cells(folder / "out.xlsx")
    kinds = {name: {type(row[name]) for row in rows} - {type(None)} for name in ("Aufnahme", "Zeit", "Kosten", "Größe")}
    assert kinds == {
        "Aufnahme": {datetime.datetime},
        "Zeit": {datetime.time},
        "Kosten": kinds["Kosten"],
        "Größe": {str},
    }
    assert kinds["Kosten"] <= {float, int}
    assert {row["Größe"] for row in rows} - {None} <= set(WORDS)
    assert any(row["Größe"] == "=1+1" for row in rows)
    # The package reads it back as what it was: the same table in Parquet has the same values.
    if kind != "anonymize":
        _made(folder, kind, "k.xlsx", "out.parquet")
        domain = dc.Domain.from_toml(folder / "x.toml").select(["Aufnahme", "Kosten", "Größe"])
        found = [list(map(list, zip(*(b.T.tolist() for b in _coordinates(folder / name, domain)), strict=True)))
                 for name in ("out.xlsx", "out.parquet")]  # fmt: skip
        assert Counter(map(str, found[0])) == Counter(map(str, found[1]))


def _coordinates(path: Path, domain: dc.Domain) -> Any:
    import numpy as np

    columns = zip(*dc.engines.open(path, domain).batches(domain), strict=True)
    return [np.round(np.concatenate(parts), 6) for parts in columns]  # a workbook keeps 16 digits of a number


def test_seeded_workbooks_are_equal_byte_by_byte(folder: Path) -> None:
    for name in ("a.xlsx", "b.xlsx"):
        _made(folder, "perturb", "k.csv", name)
    assert (folder / "a.xlsx").read_bytes() == (folder / "b.xlsx").read_bytes()


@pytest.mark.parametrize("kind", GIVEN)
@pytest.mark.parametrize("form", ["input", "excel-de", "excel-en", "plain"])
def test_csv_is_written_as_asked_and_read_back(kind: str, form: str, folder: Path) -> None:
    _made(folder, kind, "k.csv", "out.csv", csv_dialect=form)
    _audited(folder, "out.csv")
    raw = (folder / "out.csv").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf") == form.startswith("excel")
    assert raw.endswith(b"\r\n") == form.startswith("excel")
    text = raw.decode("windows-1252" if form == "input" else "utf-8-sig")
    german = form in ("input", "excel-de")
    rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=";" if german else ","))
    assert list(rows[0]) == ["Alter", "Aufnahme", "Zeit", "Kosten", "Kosten_2", "Größe"]
    costs = [row["Kosten"] for row in rows if row["Kosten"]]
    assert len([float(cost.replace(",", ".") if german else cost) for cost in costs]) > 200
    assert ("," in "".join(costs)) == german
    runs = any(row["Größe"][:1] in "=+@" for row in rows if row["Größe"])
    assert runs == (not form.startswith("excel"))
    names = ["Größe", "Kosten"]
    read = read_columns(dc.engines.open(folder / "out.csv"), names)
    assert set(read["Größe"].to_pylist()) - {None} <= set(WORDS)
    assert read.num_rows == len(rows)


def test_risk_and_larger_tables_and_drawn_rows_agree_on_the_form(folder: Path) -> None:
    done = _made(folder, "anonymize", "k.csv", "small.csv", csv_dialect="excel-de")
    found = dc.Job("risk", "small.csv", folder=folder).run().figures
    assert found["k"] == done.guarantee.parameters["reached"]["k"]
    domain = dc.Domain.from_toml(folder / "c.toml")
    tree = dc.anonymity.DensityTree(5, domain=domain).fit(folder / "k.csv")
    tree.transform_file(folder / "k.csv", folder / "large.csv", csv_dialect="excel-de")
    texts = [sorted((folder / name).read_bytes().splitlines()) for name in ("large.csv", "small.csv")]
    assert texts[0] == texts[1]
    quasi = dc.Domain({"Alter": dc.Integer(0, 99)}, source={"delimiter": ";", "decimal": ",", "encoding": "latin-1"})
    drawn = dc.anonymity.SampledGeneralization(25, 0.5, domain=quasi, levels={"Alter": 5}, random_state=1)
    drawn.release_file(folder / "k.csv", folder / "drawn.csv")
    _audited(folder, "drawn.csv")
    drawn.release_.save(folder / "again.csv")
    assert (folder / "drawn.csv").read_bytes() == (folder / "again.csv").read_bytes()


def test_what_was_mistyped_is_blank_and_numbers_have_one_spelling(folder: Path) -> None:
    done = _made(folder, "anonymize", "k.xlsx", "out.csv")
    text = (folder / "out.csv").read_text(encoding="utf-8")
    assert "Ann" not in text
    costs = [row["Kosten"] for row in csv.DictReader(text.splitlines(), delimiter=";")]
    assert costs.count("") == 6
    assert done.figures["blank"] == {"Kosten": 6}
    assert not any("." in cost for cost in costs)
    assert done.guarantee.parameters["nearly_unique"].keys() >= {"Kosten"}


def test_forms_that_do_not_fit_the_file_are_refused_before_anything_is_read(folder: Path) -> None:
    for name in ("x.parquet", "x.xlsx"):
        with pytest.raises(InvalidArgument, match="used with a CSV file"):
            _made(folder, "anonymize", "k.csv", name, csv_dialect="excel-de")
    with pytest.raises(DiscreetError, match="one of"):
        _made(folder, "anonymize", "k.csv", "x.csv", csv_dialect="excel-fr")
    assert not list(folder.glob("x.csv*"))


def test_answers_by_group_are_written_as_tables(folder: Path) -> None:
    _made(folder, "synthesize", "k.csv", "s.csv")
    asked: dict[str, Any] = {"question": "Alter > 50", "by": ["Größe", "Aufnahme"], "level": 0.9}
    for name, more in (("t.xlsx", {}), ("t.csv", {"csv_dialect": "excel-de"}), ("t.parquet", {})):
        done = dc.Job("ask", "s.synopsis.parquet", None, {**asked, **more}, {"table": name}, folder).run()
        assert done.files == {"table": folder / name}
    rows = _cells(folder / "t.xlsx")
    assert rows[0]["Größe"] == "=1+1"
    assert isinstance(rows[0]["Aufnahme_from"], datetime.datetime)
    assert len(rows) == pa.parquet.read_table(folder / "t.parquet").num_rows
    text = (folder / "t.csv").read_text(encoding="utf-8-sig")
    first = next(csv.DictReader(text.splitlines(), delimiter=";"))
    assert first["Größe"] == "'=1+1"
    assert float(first["count"].replace(",", ".")) == pytest.approx(rows[0]["count"])
    one = dc.Job("ask", "s.synopsis.parquet", None, {"question": "Alter > 50"}, {"table": "one.csv"}, folder).run()
    assert float((folder / "one.csv").read_text().splitlines()[1].split(",")[1]) == one.figures["value"]


def test_another_form_of_paid_synthetic_rows_is_free(folder: Path) -> None:
    account = dc.Account.create(folder / "k.account", dataset="k", epsilon=1, delta=1e-6)
    for name, more in (("a.csv", {}), ("a.csv", {"csv_dialect": "excel-de"}), ("a.xlsx", {})):
        given = {"epsilon": 1.0, "delta": 1e-9, "account": "k.account", **more}
        dc.Job("synthesize", "k.csv", "c.toml", given, {"table": name}, folder).run()
        assert account.remaining < 1e-9
    assert (folder / "a.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    assert len(_cells(folder / "a.xlsx")) == len((folder / "a.csv").read_bytes().splitlines()) - 1


def test_every_text_and_number_is_given_back_by_other_readers() -> None:
    texts = ["", " a", "a ", '"', ";", ",", "a\nb", "\r", "ü", "=1", None, "a;b", "\t", "'", "x" * 99]
    numbers = [1.5, -0.25, 1e22, 1e-7, 0.0, None, 123456.789, *([2.0] * 8)]
    table = pa.table({"t": texts, "n": numbers, "i": [2**60 + 1, *range(14)], "b": [True] * 15})
    for form in (
        {"delimiter": ";", "decimal": ","},
        {"bom": True, "crlf": True},
        {"delimiter": "|", "encoding": "utf-16"},
    ):
        file = io.BytesIO()
        writer = DialectWriter(file, table.schema, form)
        for part in (table.slice(0, 4), table.slice(4, 0), table.slice(4)):
            writer.write_table(part)
        text = file.getvalue().decode("utf-16" if "encoding" in form else "utf-8-sig")
        rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=form.get("delimiter", ",")))  # type: ignore[arg-type]
        assert [row["t"] for row in rows] == [v or "" for v in texts]
        assert [float(row["n"].replace(",", ".")) if row["n"] else None for row in rows] == numbers
    file = io.BytesIO()
    book = WorkbookWriter(file, table.schema, None)
    book.write_table(table)
    book.close()
    cells = list(openpyxl.load_workbook(file).active.iter_rows(min_row=2, values_only=True))
    assert [row[0] and unescape(row[0]) for row in cells] == texts  # Excel writes a carriage return as _x000D_
    assert [row[1] for row in cells] == numbers
    assert [row[2] for row in cells] == [str(2**60 + 1), *range(14)]


def test_a_table_that_is_too_long_for_a_sheet_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("discreet.engines.writing.formats._MOST_ROWS", 10)
    table = pa.table({"age": list(range(30))})
    release = dc.anonymity.DensityTree(5, domain=dc.Domain({"age": (0, 99)})).fit_transform(table)
    with pytest.raises(DataSourceError, match="at most 9 rows"):
        release.save(tmp_path / "x.xlsx")
    assert not list(tmp_path.iterdir())


def test_numbers_that_a_workbook_keeps_say_nothing_about_marks(folder: Path) -> None:
    from discreet.engines import first_line

    proposed = first_line.proposed(str(folder / "k.xlsx"), sheet="Januar", skip=1)
    table = dc.engines.open(folder / "k.xlsx", dialect=proposed.dialect)
    assert table.names == ("Fall", "Alter", "Aufnahme", "Zeit", "Kosten", "Kosten_2", "Größe")
    assert first_line.may_be_a_record(table)  # the names repeat: somebody must say that they are names
    seen = first_line.look(proposed, table, 100)
    assert (seen.dialect.decimal, seen.dialect.thousands) == (",", ".")
    assert {name: seen.kinds[name] for name in ("Alter", "Kosten", "Kosten_2")} == {
        "Alter": "integer", "Kosten": "number", "Kosten_2": "number"
    }  # fmt: skip
