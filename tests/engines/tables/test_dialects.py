"""Text files are read as declared, and as nothing else: every dialect gives the digest of the plain table."""

from __future__ import annotations

import gzip
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.core.columns.dates import parse_days
from discreet.core.schema.dialect import Dialect, read_dialect
from discreet.engines.first_line import look, propose
from discreet.errors import DataSourceError, InvalidArgument, InvalidType, SchemaError

COLUMNS = {
    "age": (0, 120),
    "Größe": (100.0, 220.0),
    "income": (0, 1e6),
    "born": ("1900-01-01", "2030-12-31"),
    "town": ["Köln", "Ulm; Nord", 'New "York"'],
    "member": [True, False],
}
N = 400


def rows() -> list[tuple[Any, ...]]:
    draw = np.random.default_rng(7)
    towns, days = list(COLUMNS["town"]), np.datetime64("1970-01-01") + draw.integers(0, 17_000, N)
    return [
        (
            int(draw.integers(0, 100)),
            round(float(draw.uniform(140, 200)), 1),
            round(float(draw.uniform(0, 900_000)), 2),
            days[i].item(),
            towns[int(draw.integers(0, 3))],
            bool(draw.integers(0, 2)),
        )
        for i in range(N)
    ]


def grouped(value: float, decimal: str, thousands: str) -> str:
    whole, _, part = f"{value:,.2f}".partition(".")
    return whole.replace(",", thousands) + decimal + part


def written(dialect: Dialect, *, day: str = "%Y-%m-%d", yes: str = "true", no: str = "false", after: str = "") -> str:
    """Write the table in a dialect, fields quoted where they must be."""

    def field(text: str) -> str:
        quote = dialect.quote
        if quote and (dialect.delimiter in text or quote in text or "\n" in text):
            return quote + text.replace(quote, quote * 2) + quote
        return text

    lines = [f"# exported line {i}" for i in range(dialect.skip)]
    if dialect.header:
        lines.append(dialect.delimiter.join(COLUMNS))
    for age, size, income, born, town, member in rows():
        cells = [
            str(age),
            str(size).replace(".", dialect.decimal),
            grouped(income, dialect.decimal, dialect.thousands) + after,
            born.strftime(day),
            town,
            yes if member else no,
        ]
        lines.append(dialect.delimiter.join(field(cell) for cell in cells))
    return "\n".join(lines) + "\n"


def digest(data: Any, source: Any = None) -> str:
    domain = dc.Domain(COLUMNS, source=source)
    return (
        dc.TreeSynopsis(epsilon=1.0, domain=domain, partitioner="binary", max_depth=9, random_state=3)
        .fit(data)
        .synopsis_.digest
    )


@pytest.fixture(scope="module")
def plain() -> str:
    names = list(COLUMNS)
    return digest(pa.table({name: [row[i] for row in rows()] for i, name in enumerate(names)}))


CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "semicolons": ({"delimiter": ";"}, {}),
    "tabs": ({"delimiter": "\t"}, {}),
    "bars": ({"delimiter": "|"}, {}),
    "single quotes": ({"quote": "'", "delimiter": ";"}, {}),
    "german": (
        {"delimiter": ";", "decimal": ",", "thousands": ".", "dates": ["%d.%m.%Y"], "true": "ja", "false": "nein"},
        {"day": "%d.%m.%Y", "yes": "Ja", "no": "NEIN"},
    ),
    "swiss": ({"thousands": "'", "dates": "%d/%m/%Y"}, {"day": "%d/%m/%Y"}),
    "english": ({"thousands": ","}, {}),
    "french": ({"delimiter": ";", "decimal": ",", "thousands": " "}, {}),
    "money": ({"delimiter": ";", "marks": ["€", "EUR"]}, {"after": " €"}),
    "latin-1": ({"encoding": "latin-1"}, {}),
    "windows": ({"encoding": "windows-1252", "marks": "€"}, {"after": "€"}),
    "utf-16": ({"encoding": "utf-16"}, {}),
    "no header": ({"header": False, "names": list(COLUMNS)}, {}),
    "lines above": ({"skip": 3}, {}),
    "two-digit years": ({"dates": ["%d.%m.%y"]}, {"day": "%d.%m.%y"}),
    "time behind": ({"dates": ["%d.%m.%Y %H:%M"]}, {"day": "%d.%m.%Y 23:59"}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_dialect_gives_the_digest_of_the_plain_table(name: str, plain: str, tmp_path: Path) -> None:
    declared, how = CASES[name]
    dialect = read_dialect(declared)
    encoding = {"windows-1252": "cp1252"}.get(dialect.encoding, dialect.encoding)
    path = tmp_path / "people.csv"
    text = written(dialect, **how)
    if name == "french":
        text = re.sub(r"(?<=\d) (?=\d{3},)", "\u202f", text)  # of three groups one blank is narrow and does not break
    path.write_bytes(text.encode(encoding))
    assert digest(str(path), declared) == plain


@pytest.mark.parametrize("ending", ["csv.gz", "csv.zst", "tsv"])
def test_compressed_files_and_tabs_are_known_by_their_names(ending: str, plain: str, tmp_path: Path) -> None:
    path = tmp_path / f"people.{ending}"
    data = written(Dialect(delimiter="\t" if ending == "tsv" else ",")).encode()
    if ending == "csv.gz":
        data = gzip.compress(data)
    if ending == "csv.zst":
        data = pa.compress(data, codec="zstd", asbytes=True)
    path.write_bytes(data)
    assert digest(path) == plain


def test_a_mark_at_the_beginning_is_no_part_of_the_first_name(plain: str, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"\xef\xbb\xbf" + written(Dialect()).encode())
    assert digest(path) == plain


@pytest.mark.parametrize("batch_size", [1, 3, 64, 1000, 2**17])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_where_blocks_end_changes_nothing(batch_size: int, end: str, tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    words = ["a", 'b"x', "c\nd", "", " e ", '"', "long" * 300, "x,y"]
    lines = ["x,word"]
    for i in range(300):
        word = words[int(draw.integers(0, len(words)))]
        quoted = '"' + word.replace('"', '""') + '"' if draw.random() < 0.7 or set(word) & set(',"\n') else word
        lines.append(f"{i % 7},{quoted}" + ",odd" * int(draw.random() < 0.1))
    lines.insert(100, '3,"' + "z" * (1 << 20) + '\n",')  # longer than any record may be
    path = tmp_path / "t.csv"
    path.write_bytes((end.join(lines) + end).encode())
    domain = dc.Domain({"x": (0, 7), "word": words[:3] + ["e", "x,y"]})
    grid = dc.engines.GridMap(domain, [7, 5])
    found = dc.engines.open(str(path)).count(grid, batch_size=batch_size).dense()
    whole = dc.engines.open(str(path)).count(grid).dense()
    assert whole.sum() > 50
    assert np.array_equal(found, whole)


def test_marks_of_missing_values_count_as_missing_whatever_the_table(tmp_path: Path) -> None:
    source = {"missing": ["?", "-999", "9999-12-31"]}
    domain = dc.Domain(
        {"x": dc.Numeric("x", -1000, 1000, missing="own"), "born": ("1900-01-01", "9999-12-31")}, source=source
    )
    path = tmp_path / "t.csv"
    path.write_text("x,born\n5,1990-01-01\n-999,1990-01-01\n-999.0,1990-01-01\n?,1990-01-01\n5,9999-12-31\n")
    grid = dc.engines.GridMap(domain, [1, 1])
    tables = [
        str(path),
        pa.table({"x": [5.0, -999, -999, None, 5], "born": ["1990-01-01"] * 4 + ["9999-12-31"]}),
    ]
    for data in tables:
        counts = dc.engines.open(data, domain).count(grid)
        assert sorted(counts.counts.tolist()) == [1, 3]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.234", 1234.0),
        ("1.234.567,5", 1234567.5),
        ("12.34", np.nan),
        ("1.2345", np.nan),
        (".234", np.nan),
        ("1..234", np.nan),
        ("1,5.000", np.nan),
        ("-1.000", -1000.0),
        ("1,5e3", 1500.0),
        ("12.34.567", 1234567.0),
        ("1.00.000", 100000.0),
        ("0,1234567890123456789012", 0.1234567890123456789012),
        ("123.456.789.012.345.678.901.234,5", 123456789012345678901234.5),
    ],
)
def test_marks_between_digits_stand_where_they_may(text: str, value: float) -> None:
    from discreet.engines.tables.text_numbers import numbers_of_text

    found = numbers_of_text(pa.array([text.encode()], pa.large_binary()), Dialect(decimal=",", thousands="."))[0]
    assert found == value or (np.isnan(found) and np.isnan(value))


def test_numbers_are_those_of_python_to_the_last_bit() -> None:
    from discreet.engines.tables.text_numbers import numbers_of_text

    draw = np.random.default_rng(11)
    bits = draw.integers(0, 2**63, 20_000).view(np.float64)
    halves = (draw.integers(2**52, 2**53, 5_000) * 2 + 1).tolist()  # in the middle between two doubles
    texts = [repr(x) for x in bits[np.isfinite(bits)].tolist()]
    texts += [repr(x) for x in (draw.random(20_000) * 10.0 ** draw.integers(-30, 30, 20_000)).tolist()]
    texts += [f"{m}e{e}" for m, e in zip(draw.integers(1, 2**63, 20_000), draw.integers(-90, 90, 20_000), strict=True)]
    texts += [str(h * 2**k) for h, k in zip(halves, draw.integers(0, 9, 5_000).tolist(), strict=True)]
    texts += [f"{h * 5**k}e-{k}" for h, k in zip(halves, draw.integers(1, 4, 5_000).tolist(), strict=True)]
    texts += ["0", "-0", "0.000", "00012", "1e-400", "1e400", "4.9e-324", "2.2250738585072011e-308", "9" * 40]
    found = numbers_of_text(pa.array([t.encode() for t in texts], pa.large_binary()))
    assert np.array_equal(found.view(np.uint64), np.array([float(t) for t in texts]).view(np.uint64))


@pytest.mark.parametrize(
    ("declared", "error", "said"),
    [
        ({"delimiter": ";;"}, InvalidArgument, "delimiter"),
        ({"delimiter": "a"}, InvalidArgument, "delimiter"),
        ({"delimiter": 3}, InvalidType, "delimiter"),
        ({"quote": ","}, InvalidArgument, "quote"),
        ({"decimal": ";"}, InvalidArgument, "decimal"),
        ({"decimal": ",", "thousands": ","}, InvalidArgument, "thousands"),
        ({"encoding": "ebcdic"}, InvalidArgument, "encoding"),
        ({"dates": ["%d.%m"]}, InvalidArgument, "dates"),
        ({"dates": ["%Q"]}, InvalidArgument, "dates"),
        ({"true": ["j"], "false": ["J"]}, SchemaError, "true and for false"),
        ({"delimeter": ";"}, SchemaError, "delimiter"),
        ({"names": ["a", "a"]}, InvalidArgument, "names"),
        ({"missing": [3]}, InvalidType, "missing"),
    ],
)
def test_a_wrong_dialect_is_refused_with_its_fix(declared: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        read_dialect(declared)


def test_a_dialect_is_kept_by_the_schema_file(tmp_path: Path) -> None:
    source = {"delimiter": ";", "decimal": ",", "dates": ["%d.%m.%Y"], "missing": ["?"], "skip": 2}
    domain = dc.Domain(COLUMNS, source=source)
    again = dc.Domain.from_toml(domain.to_toml())
    assert again == domain
    assert again.source == domain.source
    assert again.select(["age"]).source.to_dict() == source
    assert again == dc.Domain(COLUMNS)  # how a file is written is no part of what the table means


def test_a_file_in_utf_16_that_is_not_declared_so_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("age,sex\n3,f\n".encode("utf-16"))
    for skip in (0, 1):
        with pytest.raises(DataSourceError, match='encoding = "utf-16"'):
            dc.engines.open(path, dialect={"skip": skip})
    assert dc.engines.open(path, dialect={"encoding": "utf-16"}).names == ("age", "sex")


def test_names_that_are_declared_must_be_all(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1,2,3\n")
    with pytest.raises(DataSourceError, match="3 columns, but 2 names"):
        dc.engines.open(path, dialect={"names": ["a", "b"]})


@pytest.mark.parametrize(
    ("behind", "read"),
    [
        ("", True),
        (" 00:00", True),
        ("T23:59:60Z", True),
        ("T10", True),
        (" 10:00:00.123456 +01:00", True),
        (" 10:00:00,5-0330", True),
        (" 10:00 UTC", True),
        ("T10:00:00+00", True),
        (" 24:59:99", False),
        (" 24:00", False),
        ("T10:60", False),
        (" 10:00:61", False),
        (" 10:00:00+24:00", False),
        (" noon", False),
        ("T", False),
        ("x10:00", False),
    ],
)
def test_a_day_with_no_time_of_day_behind_it_is_not_read(behind: str, read: bool) -> None:
    day = pa.array([f"1970-02-01{behind}".encode(), b"1970-02-01"], pa.large_binary())
    np.testing.assert_array_equal(parse_days(day), [31.0 if read else np.nan, 31.0])


def test_looking_at_long_fields_takes_time_by_their_length_alone(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    for text in ("7" * 200_000 + "x", "7," * 100_000 + "x", " " * 200_000 + "7x", "€" + "1 " * 100_000 + "x"):
        file.write_text("a;b\n" + f'3;"{text}"\n' * 3)
        start = time.process_time()
        found = look(propose(file), dc.engines.open(file, dialect=Dialect(delimiter=";")), 3)
        assert time.process_time() - start < 5  # by the square it would be minutes
        assert found.kinds == {"a": "integer"}


def test_without_quotes_a_malformed_line_is_one_row(tmp_path: Path) -> None:
    """As docs/known-limits.md says: an opening quote that is never closed joins all lines after it."""
    counts, file, schema = {}, tmp_path / "d.csv", tmp_path / "s.toml"
    file.write_text("age,sex\n5,f\n" + '5,"f\n' + "60,m\n" * 50, encoding="utf-8")
    for quote in ('"', ""):
        schema.write_text(f"[source]\nquote = '{quote}'\n[columns]\nage = {{bounds = [0, 100]}}\n"
                          'sex = {categories = ["f", "m"]}\n', encoding="utf-8")  # fmt: skip
        domain = dc.Domain.from_toml(schema)
        counts[quote] = sum(
            len(columns[0]) for columns in dc.engines.open(file, domain).batches(domain.select(["age"]))
        )
    assert (counts['"'], counts[""]) == (2, 52)
