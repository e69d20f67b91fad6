"""One item is one bit, however it is spelled and whatever holds it; and so is one person one person."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from command_line import run
from discreet.engines.texts import texts
from discreet.local import DistinctSketch, FlippedBitmap

#: So much budget that no coin falls the other way: what the bitmap itself is.
M = DistinctSketch(200, buckets=2**12, key=9)

SEVENS: list[Any] = [
    ["7", " 7", "7.0", "007", "+7e0", "\uff17", "7\u200b"], [7], [7.0], [np.int8(7), "7", b"7", 7.0], [b"7"],
    np.array([7.0, np.nan]), np.array(["7"]), np.array([7], np.uint64), pd.Series([7, None]),
    pd.Series([7, None], dtype="Int64"), pd.Series(["7"], dtype="category"), pd.Series([7, " 7"], dtype=object),
    pa.array(["7", None]).dictionary_encode(), pa.chunked_array([["7"], []]), pa.array([b"7.0"]),
]  # fmt: skip


def bits(bitmap: FlippedBitmap) -> set[int]:
    return set(np.flatnonzero(np.unpackbits(bitmap.rows, axis=1, bitorder="little")).tolist())


def test_an_item_has_one_bit_however_it_is_spelled() -> None:
    """Otherwise a person with three spellings would pay three times, and two holders would share no one."""
    seven = bits(M.sketch(range(7, 8)))
    assert len(seven) == 1
    for given in SEVENS:
        assert bits(M.sketch(given)) == seven, given
    assert len(bits(M.sketch(["caf\u00e9", "cafe\u0301", " caf\u00e9", "caf\u00e9".encode()]))) == 1
    for large in (2**63, 2**64 - 1, 10**18, -(2**63)):
        kind = np.uint64 if large >= 2**63 else np.int64
        assert bits(M.sketch([str(large), f" {large}"])) == bits(M.sketch(np.array([large], kind)))
    assert len(bits(M.sketch([0.5, "0.5", ".50", "5e-1"]))) == 1
    assert len(bits(M.sketch(["ann", "Ann", "ann b", b"\xff", b"\xfe", "8", "x7"]))) == 7
    assert not bits(M.sketch(["", " ", "nan", None, float("nan")]))


def test_a_person_is_one_person_however_spelled() -> None:
    m = DistinctSketch(200, buckets=2**12, items=2, key=9)
    spelled = ["7", " 7", "7.0", "07", "+7"] * 4
    assert len(bits(m.sketch([f"x{i}" for i in range(20)], spelled))) == 2
    assert len(bits(m.sketch(["x", " x", "x "], ["ann"] * 3))) == 1
    for odd in (pd.Series([7, 7, None]), [7, " 7", None], pa.array([7.0, 7.0, None]), np.array([7, 7, np.nan])):
        assert len(bits(m.sketch(["x", "y", "z"], odd))) == 2
        assert len(bits(m.sketch(iter([["x", "y", "z"], ["u"]]), iter([odd, ["7"]])))) == 2
    with pytest.raises(dc.errors.InvalidType, match=r"persons must be .*try persons=\[item\]"):
        m.sketch(["x"], "ann")
    # A name that cannot be read has no person.
    assert not bits(m.sketch(["x"], pa.array(["\ufffdnn"])))


@pytest.mark.parametrize("odd", [pa.array([datetime.date(2020, 1, 1)]), np.array(["2020-01-01"], "M8[D]")])
def test_columns_of_other_types_are_refused_by_their_type(odd: Any) -> None:
    with pytest.raises(dc.errors.InvalidType, match="items must be a list or column of numbers, text or bytes"):
        M.sketch(odd)


def test_files_of_all_kinds_and_python_give_the_same_items(tmp_path: Path) -> None:
    numbers = np.arange(300)
    (tmp_path / "a.csv").write_text("user,page\n" + "".join(f" {i} ,x\n" for i in numbers))
    (tmp_path / "b.csv").write_text("Zeit;user\n1; n/a\n" + "".join(f"1;{i}.0\n" for i in numbers))
    (tmp_path / "b.toml").write_text('[source]\ndelimiter = ";"\nmissing = ["n/a"]\n[columns]\nuser = {}\nZeit = {}\n')
    pq.write_table(pa.table({"user": pa.array([*numbers.astype(float), None])}), tmp_path / "c.parquet")
    common = ["--column", "user", "--epsilon", "200", "--yes-really", "--key", "9"]
    for file, more in (("a.csv", []), ("b.csv", ["--schema", str(tmp_path / "b.toml")]), ("c.parquet", [])):
        out = str(tmp_path / f"{file}.bin")
        done = run("sketch", "distinct", tmp_path / file, *common, *more, "-o", out, catch=True)
        assert done.exit_code == 0, done.output
        assert bits(FlippedBitmap.load(out)) == bits(M.sketch(numbers)), file
    lost = run("sketch", "distinct", tmp_path / "b.csv", *common, "-o", tmp_path / "d.bin", catch=True)
    assert lost.exit_code != 0
    assert "separated by ';'" in " ".join(str(lost.exception or lost.output).split())


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx"])
def test_a_column_may_say_who_and_what_at_once(tmp_path: Path, ending: str) -> None:
    """Users of an account about persons: the column was looked for twice, and once found in memory no one had set."""
    file, table = (
        tmp_path / f"visits{ending}",
        pd.DataFrame({"page": ["x"] * 300, "user": [str(i) for i in range(300)]}),
    )
    {".csv": table.to_csv, ".parquet": table.to_parquet, ".xlsx": table.to_excel}[ending](file, index=False)
    assert all(batch[0].equals(batch[1]) for batch in texts(file, ["user", "user"]))
    account = dc.Account.create(tmp_path / "a.account", dataset="visits", epsilon=400, unit=dc.Person("user", rows=8))
    asked = ["sketch", "distinct", str(file), "--column", "user", "--items", "1", "--epsilon", "200", "--yes-really",
             "--key", "9", "--account", str(account.path), "-o", str(tmp_path / "v.bin")]  # fmt: skip
    done = run(*asked, "--persons", "user", catch=True)
    assert done.exit_code == 0, done.output
    assert bits(FlippedBitmap.load(tmp_path / "v.bin")) == bits(M.sketch(range(300)))
    # Pages are not the persons that the account is about.
    lost = run(*asked, "--persons", "page", "--overwrite", catch=True)
    assert lost.exit_code != 0
    assert "persons of the bitmap are in 'page'" in " ".join(str(lost.exception or lost.output).split())
    assert float(dc.Account(account.path).spent) == 200


@pytest.mark.parametrize(
    "items",
    [[7, 8], ["ann", "7"], [0.5, 7.0], [b"\xff", b"ann"], ["é", " 7.0"], [2**70, 7], ["-7", "18446744073709551615"]],
    ids=["whole", "text", "fractions", "bytes", "odd spellings", "large", "ends of 64 bits"],
)
def test_another_key_hashes_every_kind_of_item_anew(items: list[Any]) -> None:
    from discreet.local.distinct.items import item_words

    one, other = item_words(items, 1)[0], item_words(items, 2)[0]
    assert (one != other).all()
