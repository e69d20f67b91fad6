"""`discreet schema`: a line per column, the dialect by the first line, kinds by rows only where that was allowed."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from command_line import printed
from discreet.core.schema.catalogue import known_kind, known_kinds
from discreet.core.schema.codebook import read_declarations
from discreet.errors import InvalidArgument, SchemaError

LINES = [
    "Alter;Größe;Einkommen;geboren;Mitglied;Stadt;seit",
    "34;170,5;1.234,50 €;01.02.1990;ja;Ulm;2001-05-06",
    "51;180,1;12.000,00 €;03.12.1970;nein;Köln;2011-05-06",
    "?;165,0;3.100,00 €;13.07.1985;ja;Ulm;2021-05-06",
]


@pytest.fixture
def german(tmp_path: Path) -> Path:
    path = tmp_path / "leute.csv"
    path.write_bytes(("\n".join(LINES) + "\n").encode("cp1252"))
    return path


def test_the_first_line_tells_delimiter_and_encoding_and_nothing_more(
    german: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draft = printed(capsys, "schema", german)
    found = tomllib.loads(draft)
    assert found["source"] == {"delimiter": ";", "encoding": "windows-1252"}
    assert list(found["columns"]) == LINES[0].split(";")
    assert not any(found["columns"].values())  # offers are comments
    for value in ("170,5", "1990", "Ulm", "Köln", "1.234"):
        assert value not in draft.replace(str(german.parent), "")


def test_looking_tells_marks_and_kinds_but_no_bounds_and_no_categories(
    german: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draft = printed(capsys, "schema", german, "--look", 3)
    found = tomllib.loads(draft)
    assert found["source"] == {
        "delimiter": ";", "decimal": ",", "thousands": ".", "marks": ["€"], "encoding": "windows-1252",
        "dates": ["%d.%m.%Y"], "true": ["ja"], "false": ["nein"], "missing": ["?"], "looked": 3,
    }  # fmt: skip
    kinds = {name: declared.get("kind") for name, declared in found["columns"].items()}
    assert kinds == {
        "Alter": "integer", "Größe": "number", "Einkommen": "number", "geboren": "date", "Mitglied": "boolean",
        "Stadt": None, "seit": "date",
    }  # fmt: skip
    assert not any({"bounds", "categories"} & set(declared) for declared in found["columns"].values())
    for value in ("170,5", "1990", "Ulm", "Köln", "1.234"):
        assert value not in draft.replace(str(german.parent), "")


def test_a_draft_that_is_filled_in_reads_the_file(german: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = german.with_name("s.toml")
    printed(capsys, "schema", german, "--look", 3, "-o", schema)
    said = printed(capsys, "schema", "check", schema, code=2)
    assert "6 of 7 columns must declare" in said
    text = schema.read_text().replace(
        'Einkommen = {kind = "number"', 'Einkommen = {kind = "number", bounds = [0, 20000]'
    )
    text = text.replace('Alter = {kind = "integer"', 'Alter = {kind = "integer", bounds = [0, 125]')
    kept = [line for line in text.splitlines() if not line.startswith(('"Größe"', "geboren", "Stadt", "seit"))]
    schema.write_text("\n".join(kept) + "\n")
    assert "3 columns" in printed(capsys, "schema", "check", schema)
    domain = dc.Domain.from_toml(schema)
    made = dc.GridSynopsis(epsilon=float("inf"), domain=domain, rule=4).fit(str(german)).synopsis_
    assert made.total == 2  # one age is missing, and its row is left out
    assert made.count(Einkommen=(10_000, 20_000)).value == 1
    assert any("the first 3 rows of the file were looked at" in text for text in made.guarantee.assumptions)
    # Centres have no promise in their file: the terminal says it.
    told = printed(
        capsys, "cluster", german, "--schema", schema, "-k", 2, "--epsilon", 1, "-o", german.with_name("c.csv")
    )
    assert "The first 3 rows of the file were looked at" in " ".join(told.replace("│", " ").split())


def test_two_hundred_columns_are_two_hundred_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"item {i}" for i in range(200)) + "\n")
    assert len(printed(capsys, "schema", path).splitlines()) < 220


def test_a_bound_that_is_a_value_is_worth_a_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("age,pay\n17,2100.5\n64,83211.75\n30,900\n")
    (tmp_path / "s.toml").write_text(
        '[columns]\nage = {kind = "integer", bounds = [0, 50]}\npay = {bounds = [0, 83211.75]}\n'
    )
    words = ("schema", "check", tmp_path / "s.toml", tmp_path / "t.csv", "--look", 10, "--json")
    assert json.loads(printed(capsys, *words))["careless"] == ["pay"]
    assert "pay" not in printed(capsys, *words[:-3])  # not without a word


def test_a_few_values_that_cannot_be_read_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{i},{'n/k' if i % 12 == 0 else i}" for i in range(96)]  # 8 %
    (tmp_path / "t.csv").write_text("age,pay\n" + "\n".join(rows) + "\n")
    (tmp_path / "s.toml").write_text("[columns]\nage = {bounds = [-1, 120]}\npay = {bounds = [-1, 500]}\n")
    words = ("schema", "check", tmp_path / "s.toml", tmp_path / "t.csv", "--look", 100)
    assert json.loads(printed(capsys, *words, "--json"))["partly"] == {"pay": "some"}
    said = printed(capsys, *words)
    assert "less than a tenth" in said
    assert "add that line if there is none: looked = 100" in " ".join(said.split())


@pytest.mark.parametrize(("columns", "told"), [(15, True), (14, False)])
def test_a_check_of_many_columns_tells_what_missing_values_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], columns: int, told: bool
) -> None:
    declared = {f"q{i}": {"bounds": [0, 3]} for i in range(columns)} | {"own": {"bounds": [0, 3], "missing": "own"}}
    dc.Domain(declared).to_toml(tmp_path / "s.toml")
    said = " ".join(printed(capsys, "schema", "check", tmp_path / "s.toml").split())
    assert ("every row without a value in one of 15 columns" in said) is told


def test_a_check_of_more_rows_than_the_schema_states_asks_to_state_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text("age\n" + "30\n" * 90)
    schema = "[source]\nlooked = 50\n\n[columns]\nage = {bounds = [0, 120]}\n"
    (tmp_path / "s.toml").write_text(schema)
    words = ("schema", "check", tmp_path / "s.toml", tmp_path / "t.csv", "--look")
    assert "looked" not in printed(capsys, *words, 50)
    assert "instead of looked = 50: looked = 80" in " ".join(printed(capsys, *words, 80).split())
    (tmp_path / "s.toml").write_text(schema.replace("looked = 50", "looked = 80"))
    assert "looked" not in printed(capsys, *words, 80)
    made = dc.GridSynopsis(1.0, dc.Domain.from_toml(tmp_path / "s.toml"), 4).fit(tmp_path / "t.csv").synopsis_
    assert any("first 80 rows of the file were looked at" in text for text in made.guarantee.assumptions)


def test_a_draft_says_how_facts_are_declared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("points,grade,role,sex\n")
    draft = printed(capsys, "schema", tmp_path / "t.csv")
    example = [line[4:].split("   ")[0] for line in draft.splitlines() if line.startswith("#   [")]
    facts = "\n".join(part for line in example for part in line.split(" / "))
    columns = """[columns]
points = {kind = "integer", bounds = [0, 100]}
grade = {categories = ["failed", "passed"]}
role = {categories = ["wife", "husband"]}
sex = {categories = ["f", "m", "not known"]}
"""
    assert len(dc.Domain.from_toml(columns + facts).facts.sentences) == 2  # the example works when typed


def test_a_check_tries_the_table(german: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = german.with_name("s.toml")
    source = 'delimiter = ";"\nencoding = "windows-1252"\n'
    body = "[columns]\nEinkommen = {bounds = [0, 20000]}\nAlter = {bounds = [0, 125]}\n"
    schema.write_text(f"[source]\n{source}{body}")
    found = json.loads(printed(capsys, "schema", "check", schema, german, "--look", 10, "--json"))
    assert found["unread"] == ["Einkommen"]  # no decimal comma and no euro is declared
    schema.write_text(f'[source]\n{source}decimal = ","\nthousands = "."\nmarks = ["€"]\n{body}')
    assert json.loads(printed(capsys, "schema", "check", schema, german, "--look", 10, "--json"))["unread"] == []
    schema.write_text(schema.read_text().replace("Einkommen", "Einkomen"))
    assert "no column 'Einkomen'" in printed(capsys, "schema", "check", schema, german, code=2)


def test_lines_above_the_header_are_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(("# Klinikum München, 01.03.2025\n\n" + "\n".join(LINES) + "\n").encode("cp1252"))
    found = tomllib.loads(printed(capsys, "schema", path, "--skip", 2))
    assert list(found["columns"]) == LINES[0].split(";")
    assert found["source"] == {"delimiter": ";", "encoding": "windows-1252", "skip": 2}


def test_a_header_in_another_encoding_is_refused_and_told(german: Path) -> None:
    with pytest.raises(dc.errors.DataSourceError, match='encoding = "windows-1252"'):
        dc.engines.open(german, dialect={"delimiter": ";"})


def test_releases_are_read_as_they_were_written(german: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema, safe = german.with_name("s.toml"), german.with_name("safe.csv")
    rows = [f"{20 + i % 30};{i % 5}" for i in range(200)]
    german.write_text("Alter;Kinder\n" + "\n".join(rows) + "\n")
    schema.write_text(
        '[source]\ndelimiter = ";"\n[columns]\n'
        'Alter = {kind = "integer", bounds = [0, 125], role = "quasi-identifier"}\n'
        'Kinder = {kind = "integer", bounds = [0, 9], role = "sensitive"}\n'
    )
    printed(capsys, "anonymize", german, "--schema", schema, "--k", 5, "-o", safe)
    assert json.loads(printed(capsys, "risk", safe, "--schema", schema, "--json"))["k"] >= 5


def test_an_offer_fits_between_the_braces(german: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ((), ("--look", 3)):
        line = next(line for line in printed(capsys, "schema", german, *words).splitlines() if line.startswith("Alter"))
        head, offer = line.split("   # known by name: ")
        inside = head.partition("{")[2].rstrip("}")
        filled = f"Alter = {{{inside}{', ' if inside else ''}{offer.partition(' (')[0]}}}"
        assert dc.Domain.from_toml(f"[columns]\n{filled}\n").column("Alter").to_dict()["bounds"] == [0, 125]


def test_a_wrong_delimiter_is_told_the_right_one(german: Path) -> None:
    domain = dc.Domain({"Alter": (0, 125)})
    german.write_text("Alter;Kinder\n1;2\n")
    with pytest.raises(SchemaError, match="declare delimiter = ';'"):
        dc.GridSynopsis(epsilon=1.0, domain=domain).fit(str(german))


def test_the_catalogue_offers_what_a_schema_takes() -> None:
    for kind in known_kinds():
        if kind.declared != {"role": "weight"}:  # no one knows the largest weight of a survey by its name
            dc.Domain({"x": dict(kind.declared)})
        assert kind.source
    for name in (
        "age",
        "Age",
        "hoursPerWeek",
        "Latitude",
        "blood type",
        "user_id",
        "E-Mail",
        "zip",
        "date_naissance",
        "code postal",
    ):
        assert known_kind(name) is not None, name
    for name in ("income", "x0", "package", "average", "message"):
        assert known_kind(name) is None, name


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marks_at_the_beginning_are_understood(
    encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("Größe|Alter\n1|2\n".encode(encoding))
    found = tomllib.loads(printed(capsys, "schema", path))
    assert list(found["columns"]) == ["Größe", "Alter"]
    assert found["source"]["delimiter"] == "|"


def test_numbers_with_marks_are_distinguished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw = np.random.default_rng(2)
    cases = {
        "1,234.5": (".", ","), "1'234.5": (".", "'"), "1 234,5": (",", " "), "1234.5": (".", ""), "12,75": (",", ""),
    }  # fmt: skip
    for shape, (decimal, thousands) in cases.items():
        path = tmp_path / "t.csv"
        values = [shape.replace("1", str(draw.integers(1, 9))) for _ in range(20)]
        path.write_text("a;b\n" + "".join(f"{v};x\n" for v in values))
        found = tomllib.loads(printed(capsys, "schema", path, "--look", 20))["source"]
        assert (found.get("decimal", "."), found.get("thousands", "")) == (decimal, thousands), shape


@pytest.mark.parametrize(
    ("most", "rare", "decimal", "thousands"),
    [
        ("0,00", "1.234,00", ",", "."), ("0.00", "1,234.00", ".", ","), ("0", "1.234.567", ",", "."),
        ("0,0", "1 234,5", ",", " "), ("0.0", "1'234.5", ".", "'"), ("0,00", "1234,00", ",", ""),
    ],
)  # fmt: skip
def test_a_mark_between_digits_is_seen_where_large_numbers_are_rare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], most: str, rare: str, decimal: str, thousands: str
) -> None:
    """Without the mark every large number would be missing, and its row left out."""
    path = tmp_path / "t.csv"
    path.write_text("gain;b\n" + "".join(f" {rare if i == 7 else most} ;x\n" for i in range(20)))
    found = tomllib.loads(printed(capsys, "schema", path, "--look", 20))["source"]
    assert (found.get("decimal", "."), found.get("thousands", "")) == (decimal, thousands)


def test_rows_without_a_value_are_kept_by_a_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text("age,job,town\n")
    said = ("--declare", "age=0..120", "--declare", "job=a,b", "--declare", "town=n,s", "--declare", "job,town=own")
    columns = tomllib.loads(printed(capsys, "schema", path, *said))["columns"]
    assert columns["job"] == {"categories": ["a", "b"], "missing": "own"}
    assert columns["town"]["missing"] == "own"
    assert "missing" not in columns["age"]
    for wrong in ("job=missing=own", "job=missing"):
        told = printed(capsys, "schema", path, "--declare", wrong, code=2)
        assert "try --declare job=own" in " ".join(told.split())


def test_many_columns_alike_are_declared_in_one_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",".join(["form", "a,b*", *(f"x{i}" for i in range(40)), "y"]).replace("a,b*", '"a,b*"') + "\n")
    said = ("--declare", "x*=0..16", "--declare", "form, y=0:1", "--declare", "a,b*=yes,no")
    columns = tomllib.loads(printed(capsys, "schema", path, *said))["columns"]
    assert all(columns[f"x{i}"] == {"kind": "integer", "bounds": [0, 16]} for i in range(40))
    assert columns["form"] == columns["y"] == {"bounds": [0, 1]}
    assert columns["a,b*"]["categories"] == ["yes", "no"]  # a name is a name, whatever is in it
    for wrong in ("z*=0..16", "form,z=0:1"):
        told = " ".join(printed(capsys, "schema", path, "--declare", wrong, code=2).split())
        assert "…" in told  # not all forty are named
        assert "try one of these" in told


PATIENTS = "Patienten-ID,Alter (Jahre),Geschlecht,PLZ,Diagnose,Kosten,Gewicht\n"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Alter=0..120", "Alter (Jahre)=0..120"),
        ("alter (jahr)=120", "Alter (Jahre)=0..120"),
        ("Geschl,plz=sensitive", "Geschlecht,PLZ=sensitive"),
        ("PLZ=quasi", "PLZ=quasi-identifier"),
        ("PLZ=QI", "PLZ=quasi-identifier"),
        ("PLZ=integr", "PLZ=0..120"),
        ("Diagnose=I10;E11", "Diagnose=I10,E11"),
        ("Diagnose=red", 'Diagnose="red"'),
        ('Diagnose="I10, E11', 'Diagnose="I10, E11"'),
        ("Diagnose=I10,", 'Diagnose="I10"'),
        ("Patienten-ID=persn:3", "Patienten-ID=person:3"),
    ],
)  # fmt: skip
def test_a_declaration_is_suggested_as_it_was_meant(
    typed: str, meant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(PATIENTS)
    told = printed(capsys, "schema", path, "--declare", typed, code=2)
    assert told.count("\n") == 1
    words = shlex.split(told.rpartition("; try ")[2])
    assert words == ["--declare", meant]
    printed(capsys, "schema", path, *words)


def test_a_column_that_is_near_to_none_is_answered_by_the_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(PATIENTS)
    assert "Kosten, Gewicht (several" in (told := printed(capsys, "schema", path, "--declare", "born=0..1", code=2))
    assert told.endswith("got 'born=0..1'; try one of these\n")


def test_categories_with_commas_are_quoted_as_in_csv_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text(PATIENTS)
    said = ("--declare", 'Diagnose="Angina, stable", "6"" cut",I10', "--declare", 'Geschlecht="w"')
    found = tomllib.loads(printed(capsys, "schema", path, *said))["columns"]
    assert found["Diagnose"]["categories"] == ["Angina, stable", '6" cut', "I10"]
    assert found["Geschlecht"]["categories"] == ["w"]


def test_a_column_of_a_known_name_stays_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text(PATIENTS + "1,30,w,01067,I10,2.5,70\n2,40,m,50667,I10,3.5,80\n")
    found = tomllib.loads(printed(capsys, "schema", path, "--known"))["columns"]
    assert found["PLZ"] == {"kind": "code", "pattern": r"\d{5}", "role": "quasi-identifier"}
    assert "kind" not in found["Gewicht"]
    found = tomllib.loads(printed(capsys, "schema", path, "--known", "--look", 2))["columns"]
    assert found["Gewicht"] == {"kind": "integer", "bounds": [0, 635]}
    said = ("--known", "--look", 2, "--declare", "Gewicht=0:300")  # what is typed counts
    found = tomllib.loads(printed(capsys, "schema", path, *said))["columns"]
    assert found["Gewicht"] == {"bounds": [0, 300]}


def test_a_known_name_does_not_overrule_dates_that_were_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Tag;Monat;Geburtsdatum\n03.05.2025;5;1984\n28.11.2025;11;1990\n", encoding="utf-8")
    draft = printed(capsys, "schema", path, "--known", "--look", 2)
    assert "text next to them" not in draft
    found = tomllib.loads(draft)
    assert found["source"]["dates"] == ["%d.%m.%Y"]
    assert found["columns"]["Tag"] == {"kind": "date"}
    assert found["columns"]["Monat"] == {"kind": "integer", "bounds": [1, 12]}
    assert found["columns"]["Geburtsdatum"] == {"kind": "integer"}  # years
    assert "days of a month" not in draft + printed(capsys, "schema", path, "--look", 2)
    assert tomllib.loads(printed(capsys, "schema", path, "--known"))["columns"]["Tag"]["bounds"] == [1, 31]


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
@pytest.mark.parametrize(
    ("prices", "thousands"),
    [
        (["1.234,50 €", "12,50 €"], "."),
        (["+1.234,50 €", "-12,50 €"], "."),
        (["1\u00a0234,50\u00a0€", "12,50\u00a0€"], " "),
        (["€ 1.234,50", "€ 12,50"], "."),
        (["12,50\u00a0€", "1,25\u00a0€"], ""),
        (["1.234 €", "900 €"], "."),
        (["€1.234", "€45.900"], "."),
    ],
)
def test_thousands_next_to_a_euro_sign_are_found_and_read(
    prices: list[str], thousands: str, encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, schema = tmp_path / "t.csv", tmp_path / "t.toml"
    delimiter = ";" if any("," in price for price in prices) else "\t"
    rows = [["Ort", "Preis"], *(["Ulm", price] for price in prices)]
    path.write_text("".join(f"{delimiter.join(row)}\n" for row in rows), encoding=encoding)
    said = ("--declare", "Preis=-50000:50000", "--declare", "Ort=Ulm,Bonn")
    printed(capsys, "schema", path, "--look", 2, *said, "-o", schema)
    source = tomllib.loads(schema.read_text("utf-8"))["source"]
    assert (source["decimal"], source.get("thousands", ""), source["marks"]) == (",", thousands, ["€"])
    made = dc.GridSynopsis(float("inf"), dc.Domain.from_toml(schema), rule=4).fit(str(path)).synopsis_
    assert made.count(Preis=(0, 50000)).value == 2 - any(price.startswith("-") for price in prices)


@pytest.mark.parametrize(
    ("delimiter", "prices", "expected"),
    [(";", ["$1,234", "$45,900"], (".", ",")), (";", ["1,459 €", "1,519 €"], (",", "")), ("\t", ["1.5 %"], (".", ""))],
)
def test_three_digits_after_a_mark_are_thousands_of_money_and_decimals_of_fuel(
    delimiter: str, prices: list[str], expected: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"Ort{delimiter}Preis\n" + "".join(f"Ulm{delimiter}{price}\n" for price in prices), "utf-8")
    source = tomllib.loads(printed(capsys, "schema", path, "--look", 2))["source"]
    assert (source.get("decimal", "."), source.get("thousands", "")) == expected


@pytest.mark.parametrize("price", ["12,50 €", "-€12,50", "12,- €"])
def test_numbers_with_text_that_is_not_everywhere_the_same_are_named(
    price: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"Ort;Preis\nUlm;{price}\nUlm;13,20\nUlm;14,10\n", encoding="utf-8")
    draft = printed(capsys, "schema", path, "--look", 3)
    assert "# Numbers of Preis have text next to them in some rows. Declare the text as marks under [source]" in draft
    assert "kind" not in tomllib.loads(draft)["columns"]["Preis"]


def test_one_question_about_all_bounds_that_are_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"x{i}" for i in range(30)]
    (tmp_path / "t.csv").write_text(",".join(names) + "\n" + ",".join(["16"] * 30) + "\n")
    (tmp_path / "s.toml").write_text("[columns]\n" + "".join(f"{name} = {{bounds = [0, 16]}}\n" for name in names))
    told = " ".join(printed(capsys, "schema", "check", tmp_path / "s.toml", tmp_path / "t.csv", "--look", 10).split())
    assert told.count("a bound equals a value") == 1
    assert "x0, x1, x2" in told
    assert "Does each follow from the meaning of the column?" in told


def test_codes_and_levels_are_declared_in_words_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, schema = tmp_path / "t.csv", tmp_path / "s.toml"
    table.write_text("zip;age;isco\n01067;34;1111\n1069;7;2111\n")
    said = ["isco=code:[0-9]{4}", "age=levels:0..17 minor, 18+ adult"]
    printed(capsys, "schema", table, "--known", *(part for one in said for part in ("--declare", one)), "-o", schema)
    domain = dc.Domain.from_toml(schema)
    assert (domain.column("zip").pattern, domain.column("isco").pattern) == (r"\d{5}", "[0-9]{4}")
    shown = printed(capsys, "schema", "check", schema, table, "--look", 2)
    assert "minor (0 to 17), adult (18 to 125)" in shown
    assert "first 2 characters: 100 groups" in shown
    assert "cannot be read" not in shown
    with pytest.raises(InvalidArgument, match="code:"):
        read_declarations(["zip=code"], ["zip"])
