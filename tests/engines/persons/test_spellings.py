"""One person is one person, however files spell them: in every engine, in releases, in `risk` and in ledgers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.engines.readers import read_columns
from discreet.engines.tables.same import same_key
from discreet.errors import InvalidArgument, SchemaError
from discreet.metric import UserLedger
from past_releases import Past

SEVEN = ["7", " 7", "7 ", "7.0", "07", "+7", "7e0", "\ufeff7"]
ANN = ["Ann Zoë", " Ann Zoë", "Ann  Zoe\u0308", "Ann\u00a0Zoë", "Ann Zo\u200bë"]


def domain(who: dict[str, object]) -> dc.Domain:
    return dc.Domain({"age": {"bounds": [0, 120], "role": "quasi-identifier"}, "who": {**who, "role": "person"}})


def forms(names: list[str], folder) -> dict[str, object]:
    table = pa.table({"age": [30 + i for i in range(len(names))], "who": names})
    pa_csv.write_csv(table, folder / "t.csv")
    pq.write_table(table, folder / "t.parquet")
    return {
        "arrow": table,
        "pandas": table.to_pandas(),
        "polars": pl.from_arrow(table),
        "csv": folder / "t.csv",
        "parquet": folder / "t.parquet",
    }


@pytest.mark.parametrize("form", ["arrow", "pandas", "polars", "csv", "parquet"])
@pytest.mark.parametrize(
    ("names", "who"),
    [(SEVEN, {"bounds": [0, 1000]}), (ANN, {"bounds": [0, 1]}), (ANN, {"categories": ["Ann Zoë", "Bob"]})],
)
def test_spellings_of_one_person_do_not_make_a_crowd(form, names, who, tmp_path):
    data = forms(names, tmp_path)[form]
    with pytest.raises(InvalidArgument, match=r"number of persons in the release \(1\)"):
        dc.anonymity.DensityTree(k=3, domain=domain(who)).fit_transform(data)
    assert dc.anonymity.risk(_covered(data, tmp_path), ["age"], person="who").k == 1


def _covered(data, folder):
    """The same table with one age for all, in the same kind of container."""
    table = pa.table({"age": ["*"] * len(SEVEN), "who": SEVEN}) if data is None else _arrow(data)
    table = table.set_column(0, "age", pa.array(["*"] * len(table)))
    if isinstance(data, pd.DataFrame):
        return table.to_pandas()
    if not hasattr(data, "suffix"):
        return table
    (pq.write_table if data.suffix == ".parquet" else pa_csv.write_csv)(table, folder / f"covered{data.suffix}")
    return folder / f"covered{data.suffix}"


def _arrow(data) -> pa.Table:
    if hasattr(data, "suffix"):
        names = {"who": pa.string()}
        options = pa_csv.ConvertOptions(column_types=names)
        return pq.read_table(data) if data.suffix == ".parquet" else pa_csv.read_csv(data, convert_options=options)
    return data if isinstance(data, pa.Table) else pa.table({c: list(data[c]) for c in ("age", "who")})


def test_a_file_written_in_two_passes_counts_the_same_persons(tmp_path):
    crowd = pa.table({"age": [20.0, 21, 22, 23] * 2, "who": ["1", "2", "3", "4", "5", "6", "7", "8"]})
    model = dc.anonymity.DensityTree(k=4, domain=domain({"bounds": [0, 9]})).fit(crowd)
    spelled = pa.table({"age": [20.0] * 4, "who": ["7", "07", "7.0", " 7"]})
    with pytest.raises(InvalidArgument, match="persons"):
        model.transform_file(spelled, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    both = pa.concat_tables([crowd, spelled])
    reached = model.transform_file(both, tmp_path / "out.csv").guarantee.parameters["reached"]
    assert reached == model.transform(both).guarantee.parameters["reached"]


def test_declared_categories_keep_people_apart_that_only_their_text_tells(tmp_path):
    table = pa.table({"age": [1.0, 2.0, 3.0], "who": ["07", "7", " 07"]})
    release = dc.anonymity.DensityTree(k=2, domain=domain({"categories": ["07", "7"]})).fit_transform(table)
    assert release.guarantee.parameters["reached"]["k"] == 2


def test_numbers_are_compared_exactly_and_by_value():
    spelled = ["1" + "0" * 40, "1e40", "0.10", ".1", "1e-1", "-0.0", "0", "00000", "9007199254740993", "1e-50"]
    spelled += ["9007199254740992", "0" * 50 + "5", "5.", "5", "1E+300", "10e299"]
    keys = same_key(pa.array(spelled)).to_pylist()
    values = [Fraction(Decimal(text)) for text in spelled]
    for i in range(len(spelled)):
        for j in range(len(spelled)):
            assert (keys[i] == keys[j]) == (values[i] == values[j]), (spelled[i], spelled[j])


@pytest.mark.parametrize("kind", [pa.int32(), pa.uint16(), pa.float64(), pa.decimal128(24, 2), pa.large_string()])
def test_a_number_is_the_same_person_in_every_type(kind):
    numbers = pa.array([7, 1200, 0]).cast(kind)
    assert [str(k) for k in same_key(numbers).to_pylist()] == ["7", "1200", "0"]


def test_files_that_keep_a_person_in_different_types_count_the_person_once(tmp_path):
    for i, kind in enumerate((pa.int32(), pa.int64(), pa.uint8())):
        pq.write_table(pa.table({"a": ["*"], "who": pa.array([7], kind)}), tmp_path / f"{i}.parquet")
    assert dc.anonymity.risk(tmp_path, ["a"], person="who").k == 1
    source = dc.engines.open(tmp_path)
    assert read_columns(source, ["who"]).schema.field("who").type == pa.int64()


def test_a_file_that_rounds_large_persons_does_not_make_them_two(tmp_path):
    large = 2**53 + 1
    pq.write_table(pa.table({"a": ["*"], "who": pa.array([large], pa.int64())}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": ["*"], "who": pa.array([float(large)])}), tmp_path / "1.parquet")
    assert dc.anonymity.risk(tmp_path, ["a"], person="who").k == 1
    exact = pa.table({"a": ["*", "*"], "who": pa.array([large, large - 1], pa.int64())})
    assert dc.anonymity.risk(exact, ["a"], person="who").k == 2


def written(folder, kinds: list[str], persons: list[int]) -> list[object]:
    """Write the same persons into a file per kind."""
    made = {"int": pa.int64(), "unsigned": pa.uint64(), "short": pa.int32(), "float": pa.float64(), "text": pa.string()}
    files = []
    for i, kind in enumerate(kinds):
        who = (
            [str(p) for p in persons]
            if kind in ("text", "csv")
            else [float(p) if kind == "float" else p for p in persons]
        )
        table = pa.table({"a": ["*"] * len(who), "who": pa.array(who, made.get(kind, pa.string()))})
        files.append(folder / f"{i}.{'csv' if kind == 'csv' else 'parquet'}")
        pa_csv.write_csv(table, files[-1]) if kind == "csv" else pq.write_table(table, files[-1])
    return files


@pytest.mark.parametrize(
    "kinds",
    [["int", "float"], ["text", "float"], ["float", "text"], ["unsigned", "float", "text"], ["int", "text"]],
)
@pytest.mark.parametrize("persons", [[2**53 + 1], [2**60 + 3, 2**60 + 1000, 7], [10**18 + 1, 5]])
def test_large_persons_count_once_whatever_the_types_of_their_files(tmp_path, kinds, persons):
    files = written(tmp_path, kinds, persons)
    assert dc.anonymity.risk(files, ["a"], person="who").k == len(persons)
    assert len(set(same_key(read_columns(dc.engines.open(files), ["who"])["who"]).to_pylist())) == len(persons)


def test_persons_of_narrow_and_wide_whole_numbers_are_the_same_in_risk_and_in_releases(tmp_path):
    files = written(tmp_path, ["short", "int", "unsigned"], [1, 2, 3])
    assert dc.anonymity.risk(files, ["a"], person="who").k == 3
    for i, file in enumerate(files):
        table = pq.read_table(file)
        pq.write_table(table.set_column(0, "age", pa.array([20.0 + i, 40 + i, 60 + i])), file)
    with pytest.raises(InvalidArgument, match=r"number of persons in the release \(3\)"):
        dc.anonymity.DensityTree(k=4, domain=domain({"bounds": [0, 9]})).fit_transform(files)


def test_persons_that_were_rounded_are_not_followed_into_other_releases(tmp_path):
    large = [2**53 + 1 + 2 * i for i in range(12)]
    table = pa.table({"age": [30.0 + i for i in range(12)], "who": pa.array(large, pa.int64())})
    method = dc.anonymity.DensityTree(k=3, domain=domain({"bounds": [0, 2**62]}))
    first = method.fit_transform(table)
    rounded = table.set_column(1, "who", pa.array([float(p) for p in large]))
    with pytest.raises(SchemaError, match="whole numbers or as text"):
        method.transform(rounded, history=Past(first))
    text = table.set_column(1, "who", pa.array([str(p) for p in large]))
    assert method.transform(text, history=Past(first)).table.num_rows == 12


def test_spellings_do_not_make_sensitive_values_diverse_where_nothing_is_declared():
    table = pa.table({"a": ["*"] * 4, "ill": ["flu", " flu", "flu ", "ﬂu".replace("ﬂ", "fl")]})
    assert dc.anonymity.risk(table, ["a"], "ill").sensitive["ill"].distinct_l == 1
    truth = pa.table({"a": ["*"] * 2, "ill": ["true", "True"]})
    flag = {"a": {"bounds": [0, 1], "role": "quasi-identifier"}, "ill": {"categories": [True], "role": "sensitive"}}
    with pytest.raises(InvalidArgument, match="l_diversity"):
        dc.anonymity.DensityTree(k=2, l_diversity=2, domain=dc.Domain(flag)).fit(
            truth.set_column(0, "a", pa.array([0.1, 0.9]))
        )


def test_one_person_has_one_hashed_mark():
    table = pa.table({"age": [1.0, 2, 3, 4], "who": ["7", " 7", "7.0", "8"]})
    release = dc.anonymity.DensityTree(k=2, domain=domain({"bounds": [0, 9]})).fit_transform(
        table, identifiers="hash", key=b"0123456789abcdef"
    )
    assert len(set(release.table["who"].to_pylist())) == 2


def test_a_user_has_one_budget_however_spelled():
    ledger = UserLedger(lifetime=1)
    ledger.charge(["ann"], 1)
    for name in (" ann", "ann\u200b"):
        assert not ledger.allowed([name], 1)[0]
    assert ledger.users.tolist() == ["ann"]
