"""Texts and whole numbers as symbols and bits, and the joins by which heavy hitters are searched among them."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet import datasets, noise
from discreet.local.strings import candidates as search
from discreet.local.strings.alphabet import LETTERS, Alphabet, TextCode, WholeCode


def every_text(letters: str, length: int) -> list[str]:
    return ["".join(t) for k in range(length + 1) for t in itertools.product(letters, repeat=k)]


def real(name: str) -> datasets.Frequencies:
    try:
        return datasets.frequencies(name)
    except dc.errors.DataSourceError:
        pytest.skip("the data folder is not here")


def test_texts_are_normalised_by_the_stated_rule() -> None:
    words = Alphabet.read(LETTERS + "é", 6, "?")
    given = ["Cool", "e\u0301t\u00c9", "it's so", "", None, 7, b"caf\xc3\xa9", "\ud800x", "a\0b", "longer than six"]
    wanted = ["cool", "été", "it?s?s", "", "", "", "café", "?x", "a?b", "longer"]
    assert words.texts(words.symbols(given)) == wanted
    assert words.texts(words.symbols([])) == []


def test_a_declared_upper_case_is_itself_and_other_may_be_declared() -> None:
    words = Alphabet.read("aAx", 3, "x")
    assert words.size == 4
    assert words.texts(words.symbols(["aAb", "X"])) == ["aAx", "x"]


def test_text_comes_from_any_kind_of_column() -> None:
    words = Alphabet.read(LETTERS, 4, "?")
    given, wanted = ["ab", None, "Ünï", "cdefg"], ["ab", "", "?n?", "cdef"]
    columns = [
        given,
        tuple(given),
        np.array(given, dtype=object),
        pa.array(given),
        pa.array(given, pa.string_view()),
        pa.array(given).dictionary_encode(),
        pa.chunked_array([pa.array(given[:2]), pa.array(given[2:])]),
        pa.array([None if v is None else v.encode() for v in given], pa.binary()),
        pl.Series(given),
        pd.Series(given),
        pd.Series(given, dtype="string"),
        pa.array(["zz", *given])[1:],
    ]
    for column in columns:
        assert words.texts(words.symbols(column)) == wanted, type(column)
    assert words.texts(words.symbols(np.array(["ab", "cd"]))) == ["ab", "cd"]
    for wrong in (3, "text", np.arange(3), pa.array([1.5])):
        with pytest.raises(dc.errors.InvalidType, match="values"):
            words.symbols(wrong)


def test_prefixes_of_bits_are_possible_and_whole_exactly_when_texts_say_so() -> None:
    code = TextCode(Alphabet.read("ab", 3, "?"))
    texts = every_text("ab?", 3)
    assert code.values(code.prefix(code.read(texts), code.bits)) == texts
    for bits in range(1, code.bits + 1):
        every = search.extended(np.zeros((1, 0), np.uint8), bits)
        owners: dict[bytes, set[str]] = {}
        for row, text in zip(code.prefix(code.read(texts), bits), texts, strict=True):
            owners.setdefault(row.tobytes(), set()).add(text)
        assert code.possible(every).tolist() == [row.tobytes() in owners for row in every]
        real = every[code.possible(every)]
        alone = [len(owners[row.tobytes()]) == 1 for row in real]
        assert all(a for a, whole in zip(alone, code.whole(real), strict=True) if whole)
    whole = code.prefix(code.read(texts), code.bits)
    for text, bits in zip(texts, code.needed(whole), strict=True):
        assert bits == min(2 * (len(text) + 1), code.bits)


def test_whole_numbers_outside_become_random_ones() -> None:
    code = WholeCode(3)
    stream = noise.generator(1)
    read = code.read([0, 7, *[8, -1, None, "x", 2.5, True, 2**70] * 3000], stream)
    assert read[:2].tolist() == [0, 7]
    assert np.all(np.abs(np.bincount(read[2:], minlength=8) - 2625) < 300)
    for column in (np.array([3, 9]), pa.array([3, None]), pl.Series([3, 12])):
        assert code.read(column, stream)[0] == 3
    with pytest.raises(dc.errors.InvalidArgument, match="below 2"):
        code.read([9])


def test_joins_are_the_products_of_each_group_without_letters_after_the_end() -> None:
    rng = np.random.default_rng(5)
    parts = []
    for _ in range(3):
        rows = {tuple(r) for r in rng.integers(0, 3, (25, 3)).tolist() if r[1] > 0 or r[2] == 0}
        members = np.array(sorted(rows))
        parts.append((members[:, 0], members[:, 1:].astype(np.uint16)))
    got = [
        (int(g), *row) for group, rows in search.joins(parts, 4) for g, row in zip(group, rows.tolist(), strict=True)
    ]
    wanted = []
    for w in range(4):
        for pieces in itertools.product(*([r.tolist() for r in own[group == w]] for group, own in parts)):
            row = list(itertools.chain(*pieces))
            if all(b == 0 for a, b in itertools.pairwise(row) if a == 0):
                wanted.append((w, *row))
    assert sorted(got) == sorted(wanted)
    assert len(wanted) > 20


def test_joins_come_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_AT_ONCE", 10)
    parts = [(np.repeat(np.arange(5), 4), np.arange(1, 21, dtype=np.uint16)[:, None])] * 2
    batches = [len(group) for group, _ in search.joins(parts, 5)]
    assert sum(batches) == 5 * 16
    assert len(batches) > 1


def test_the_cap_is_lowered_to_what_can_be_afforded() -> None:
    groups = [np.repeat([0, 1], [9, 2]), np.repeat([0, 1], [9, 3])]
    assert search.affordable(groups, 2, 16, 10_000) == 16
    assert search.affordable(groups, 2, 16, 40) == 5  # 25 + 6
    assert search.strongest(np.array([1, 0, 1, 1, 0]), 2).tolist() == [True, True, True, False, True]


def test_sums_over_rows_are_those_of_the_hashes() -> None:
    family = noise.HashFamily(300, 7, key=3, independence=3)
    tables = np.random.default_rng(0).integers(0, 50, (2, 300, 7))
    values = np.arange(5000)
    buckets = family.all(values)
    wanted = np.array([np.take_along_axis(t, buckets, axis=1).sum(axis=0) for t in tables])
    assert np.array_equal(search.row_support(family, values, tables), wanted)
    assert np.array_equal(search.row_support(family, values, tables * 2**33), wanted * 2**33)
