"""Columns of codes: patterns and lists, prefixes, how they are read from every kind of table, and who refuses them."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet import engines
from discreet.core.columns.codes import code_set
from discreet.core.schema import known_kind
from discreet.errors import InvalidArgument, SchemaError

ICD = r"[A-Z]\d{2}(\.\d(\d)?)?"


@pytest.mark.parametrize(
    ("pattern", "size", "first", "last"),
    [
        (r"\d{5}", 100_000, "00000", "99999"),
        (r"^[0-9]{4}$", 10_000, "0000", "9999"),
        (ICD, 26 * 100 * 111, "A00", "Z99.99"),
        ("DE[0-9A-Z]{0,3}", 1 + 36 + 36**2 + 36**3, "DE", "DEZZZ"),
        (r"[A-C]-\d?", 33, "A-", "C-9"),
        ("[ab]", 2, "a", "b"),
        ("(?:DE|AT)[12]?", 6, "AT", "DE2"),
        ("[0-9]{2} ?[AB]", 400, "00 A", "99B"),
        ("x(AB){2}[0-3]-?(y|zz)C", 16, "xABAB0-yC", "xABAB3zzC"),
        ("[AB]0{63}", 2, "A" + "0" * 63, "B" + "0" * 63),
    ],
)
def test_a_pattern_says_which_codes_there_are(pattern: str, size: int, first: str, last: str) -> None:
    column = dc.Code(pattern)
    assert (column.n_values, column.ends()) == (size, [first, last])
    assert list(column.codes.codes) == sorted(set(column.codes.codes))


#: Of one code, of too many, of too long ones (the last would fill a gigabyte), or without an end.
_REFUSED = [
    "",
    "a",
    r"\d{9}",
    "a*",
    "(",
    "[^a]",
    r"\w",
    "(?=a)b",
    "a b?",
    ".",
    "*",
    "[AB]0{64}",
    "[AB]{19}0{20}",
    "[AB](((0{64}){64}){64}){64}",
]


@pytest.mark.parametrize("pattern", _REFUSED)
def test_other_patterns_are_refused_with_one_that_works(pattern: str) -> None:
    with pytest.raises(InvalidArgument, match=r"pattern of column 'zip'.*try .*pattern") as refused:
        dc.Domain({"zip": {"kind": "code", "pattern": pattern}})
    assert refused.value.fix == '"pattern": "[0-9]{5}"'
    dc.Domain({"zip": {"kind": "code", **json.loads(f"{{{refused.value.fix}}}")}})


@pytest.mark.parametrize("codes", [["01067"], ["a", "b*"], ["a", " b"], ["a", ""], ["a to b", "c"]])
def test_lists_that_cannot_be_printed_are_refused(codes: list[str]) -> None:
    with pytest.raises(InvalidArgument, match="list of codes"):
        dc.Code(categories=codes)


def test_declarations_survive_files_copies_and_processes(tmp_path: Path) -> None:
    (tmp_path / "icd.txt").write_text("B20\nA00.1\nA00\n")
    columns = {
        "zip": dc.Code(r"\d{5}", levels=[1, 3], role="quasi-identifier"),
        "icd": {"kind": "code", **dc.categories_from(tmp_path / "icd.txt"), "missing": "own"},
        "isco": {"kind": "code", "categories": ["1111", "2111"]},
    }
    domain = dc.Domain(columns)
    domain.to_toml(tmp_path / "s.toml")
    assert "icd.txt" in (tmp_path / "s.toml").read_text()
    assert "A00.1" not in (tmp_path / "s.toml").read_text()
    for again in (
        dc.Domain.from_toml(tmp_path / "s.toml"),
        dc.Domain(domain.to_dict()),
        pickle.loads(pickle.dumps(domain)),
    ):
        assert again == domain
        assert hash(again) == hash(domain)
    column = replace(domain.column("zip"), role="sensitive")
    assert (column.role, column.levels, column.n_values) == ("sensitive", (1, 3), 100_000)
    assert repr(domain.column("icd")) == "Code(categories=['B20', 'A00.1', 'A00'], missing='own')"
    with pytest.raises(SchemaError, match="as well as a pattern"):
        dc.Domain({"zip": {"pattern": r"\d{5}", "bounds": [0, 1]}})


@given(st.data())
def test_prefixes_are_runs_and_what_is_printed_means_the_same(data: st.DataObject) -> None:
    texts = st.text(alphabet="ab1", min_size=1, max_size=4)
    listed = data.draw(st.lists(texts, min_size=2, max_size=30, unique=True))
    codes = code_set("", tuple(listed))
    assert codes is not None
    for n, count in codes.cuts.items():
        starts = [codes.codes[i][:n] for i in codes.borders(n)]
        assert starts == sorted({c[:n] for c in listed})
        assert len(starts) == count
    first, last = sorted(data.draw(st.integers(0, codes.size - 1)) for _ in range(2))
    label = codes.label(first, last)
    assert codes.meant(label) == (first, last)
    prefix = data.draw(texts)
    fits = [i for i, c in enumerate(codes.codes) if c.startswith(prefix)]
    assert codes.span(prefix) == ((fits[0], fits[-1]) if fits else None)


def test_values_are_read_alike_from_every_table(tmp_path: Path) -> None:
    values = ["01067", " 1067 ", "1067.0", "99999", "x", "123456", "", None]
    wanted = [1067, 1067, 1067, 99999, None, None, None, None]
    domain = dc.Domain({"zip": {"pattern": r"\d{5}", "missing": "own"}})
    (tmp_path / "t.csv").write_text("zip\n" + "\n".join(f'"{v or ""}"' for v in values) + "\n")
    tables = {
        "arrow": pa.table({"zip": values}),
        "dictionary": pa.table({"zip": pa.array(values).dictionary_encode()}),
        "pandas": pd.DataFrame({"zip": values}),
        "polars": pl.DataFrame({"zip": values}),
        "csv": tmp_path / "t.csv",
    }
    for name, table in tables.items():
        read = np.concatenate([batch[0] for batch in engines.open(table, domain).batches(domain)])
        assert [None if np.isnan(x) else int(x) for x in read] == wanted, name
    numbers = [1067, 99999, 123456]
    book = openpyxl.Workbook()
    for cell in ("zip", *numbers):
        book.active.append([cell])
    book.save(tmp_path / "t.xlsx")
    pq.write_table(pa.table({"zip": numbers}), tmp_path / "t.parquet")
    for table in (pa.table({"zip": numbers}), pa.table({"zip": [1067.0, 99999.0, 1.5]}), pd.DataFrame({"zip": numbers}),
                  tmp_path / "t.xlsx", tmp_path / "t.parquet"):  # fmt: skip
        read = np.concatenate([batch[0] for batch in engines.open(table, domain).batches(domain)])
        assert [None if np.isnan(x) else int(x) for x in read] == [1067, 99999, None]


def test_marks_of_missing_values_are_missing_even_if_they_are_codes() -> None:
    domain = dc.Domain({"zip": dc.Code(r"\d{5}", missing="own")}, source={"missing": ["99999", "0"]})
    read = next(iter(engines.open(pa.table({"zip": ["99999", "00000", "01067"]}), domain).batches(domain)))[0]
    assert np.isnan(read[:2]).all()
    assert read[2] == 1067


def test_codes_are_known_by_name() -> None:
    for name in ("PLZ", "zip", "ZIP code", "postcode", "postal_code", "Postleitzahl"):
        assert dict(known_kind(name).declared) == {"kind": "code", "pattern": r"\d{5}", "role": "quasi-identifier"}
    for name in ("ICD", "ICD-10", "icd10_code", "Hauptdiagnose"):
        column = dc.Domain({"c": known_kind(name).declared}).column("c")
        assert column.codes.meant("E11.90")
        assert column.codes.meant("A00")
        assert not column.codes.meant("a00")
    for name in ("nuts2", "ISCO-08", "nace", "fips"):
        assert isinstance(dc.Domain({"c": known_kind(name).declared}).column("c"), dc.Code)


def test_methods_that_compute_with_numbers_refuse_codes() -> None:
    domain = dc.Domain({"zip": dc.Code(r"\d{5}"), "age": (0, 120)})
    rows = pa.table({"zip": ["01067"] * 20, "age": list(range(20))})
    for method in (
        dc.metric.NDLaplace(1.0, radius=1.0, domain=domain),
        dc.anonymity.Microaggregation(5, domain=domain),
    ):
        with pytest.raises(InvalidArgument, match="'zip'"):
            method.fit_transform(rows)
    with pytest.raises(SchemaError, match="'zip'"):
        dc.DomainScaler(domain).fit()
    assert dc.PrivateKMeans(2, 1.0, domain=domain, random_state=0).fit(rows).cluster_centers_.shape == (2, 1)
