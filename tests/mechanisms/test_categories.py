"""Categories that no one listed: what comes out, for whom it is charged, and that rows cannot make it fail."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import BudgetExceeded, InvalidArgument, InvalidType, SchemaError
from discreet.mechanisms import private_categories


def _table(seed: int = 0) -> tuple[list[str], list[int]]:
    """300 persons with one to six of forty words, some much commoner than others; many rows repeat."""
    rng = np.random.default_rng(seed)
    words = [f"word {min(int(w), 40)}" for w in rng.zipf(1.4, 1500)]
    return words, rng.integers(0, 300, 1500).tolist()


def test_common_words_come_out_and_words_of_one_person_do_not() -> None:
    words, persons = _table()
    words += ["only mine"] * 500
    persons += [300] * 500
    found = private_categories(words, persons, epsilon=2, delta=1e-6, rng=1)
    assert "word 1" in found
    assert "only mine" not in found
    assert found == sorted(found)
    assert set(found) <= set(words)


def test_a_word_that_very_many_have_always_comes_out() -> None:
    for seed in range(200):  # there are persons to spare, who make it certain
        assert private_categories(["w"] * 200, list(range(200)), epsilon=1, delta=1e-6, rng=seed) == ["w"]


@pytest.mark.filterwarnings("ignore:delta:discreet.errors.DiscreetWarning")
def test_order_batches_and_types_do_not_matter() -> None:
    words, persons = _table()
    asked: dict[str, Any] = {"epsilon": 1, "delta": 1e-4, "rng": 3}
    expected = private_categories(words, persons, **asked)
    assert expected
    order = np.random.default_rng(1).permutation(len(words))
    mixed = [words[i] for i in order], [persons[i] for i in order]
    assert private_categories(*mixed, **asked) == expected
    assert private_categories(words * 3, persons * 3, **asked) == expected  # rows of one person count once
    assert private_categories(np.array(words), np.array(persons), **asked) == expected
    assert private_categories(pd.Series(words), pd.Series(persons), **asked) == expected
    assert private_categories(pd.Series(words, dtype="category"), pd.Series(persons), **asked) == expected
    assert private_categories(pl.Series(words), pl.Series(persons), **asked) == expected
    assert private_categories(pa.array(words), pa.chunked_array([persons[:9], persons[9:]]), **asked) == expected
    assert private_categories(words, [str(p) for p in persons], **asked) == expected
    few = private_categories(words, persons, rows=2, **asked)
    assert private_categories(*mixed, rows=2, **asked) == few != expected


@pytest.mark.filterwarnings("ignore:delta:discreet.errors.DiscreetWarning")
def test_rows_never_make_it_fail() -> None:
    asked: dict[str, Any] = {"epsilon": math.inf, "delta": 0.5, "rng": 0}
    odd = ["a", None, "", "\ud800", 3.5, object(), True, 7, "e\u0301", "\u00e9"]
    assert private_categories(odd, list(range(10)), **asked) == ["1", "7", "a", "\u00e9"]
    assert private_categories(["a"] * 4, [None, "", math.nan, "\ud800"], **asked) == []
    broken = pa.array([b"a", b"\xff", None], pa.binary()).view(pa.string())
    assert private_categories(broken, [1, 2, 3], **asked) == ["a"]
    assert private_categories([], [], **asked) == []
    assert private_categories(pa.nulls(3), [1, 2, 3], **asked) == []
    assert private_categories(["a"], [1], epsilon=1, delta=1e-300) == []


def test_it_is_charged_before_the_data_are_touched() -> None:
    ledger = dc.Ledger(epsilon=1, delta=1e-5)
    private_categories(["a"], [1], epsilon=0.75, delta=1e-6, ledger=ledger)
    assert (float(ledger.spent), ledger.delta) == (0.75, 1e-6)
    with pytest.raises(BudgetExceeded, match="needs epsilon"):
        private_categories(None, None, epsilon=0.5, delta=1e-6, ledger=ledger)
    with pytest.raises(BudgetExceeded, match="needs delta 1e-05 but only 9e-06 of 1e-05 is left"):
        private_categories(None, None, epsilon=0.1, delta=1e-5, ledger=ledger)
    with pytest.raises(InvalidArgument, match="delta must be 0 in a ledger that was opened without one"):
        private_categories(["a"], [1], epsilon=0.1, delta=1e-6, ledger=dc.Ledger(epsilon=1))
    with pytest.raises(InvalidArgument, match="delta must be 0 in a zCDP ledger"):
        private_categories(["a"], [1], epsilon=0.1, delta=1e-6, ledger=dc.Ledger(rho=1, delta=1e-6))
    assert (float(ledger.spent), ledger.delta) == (0.75, 1e-6)


def test_an_account_of_persons_pays_for_it_and_one_of_rows_does_not(tmp_path: Path) -> None:
    account = dc.Account.create(tmp_path / "a", dataset="a", unit={"person": "user"}, epsilon=1, delta=1e-5)
    private_categories(["a"], [1], epsilon=0.5, delta=1e-6, ledger=account)
    assert [(e.job, float(e.price), float(e.delta)) for e in account.entries] == [("categories", 0.5, 1e-6)]
    assert account.person == "user"
    rows = dc.Account.create(tmp_path / "b", dataset="b", epsilon=1, delta=1e-5)
    with pytest.raises(SchemaError):
        private_categories(["a"], [1], epsilon=0.5, delta=1e-6, ledger=rows)
    assert rows.entries == ()


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"epsilon": 0}, InvalidArgument, "epsilon must be a positive"),
        ({"epsilon": 1e-9}, InvalidArgument, "epsilon must be at least 0.0001"),
        ({"delta": 0}, InvalidArgument, "delta must be a number strictly between 0 and 1"),
        ({"rows": 0}, InvalidArgument, "rows must be a whole number of at least 1"),
        ({"values": [1.5]}, None, ""),
        ({"values": np.array([1.5])}, None, ""),
        ({"values": np.array(["2026-11-19"], "M8[D]")}, InvalidType, "values must be a list or column of text"),
        ({"values": "a"}, InvalidType, "values must be a list"),
        ({"persons": [1, 2]}, InvalidArgument, "persons must be one person per value"),
        ({"persons": np.zeros((1, 1), int)}, InvalidArgument, "persons must be one-dimensional"),
        ({"persons": pa.array([1.0])}, None, ""),
        ({"persons": pa.array([b"x"])}, InvalidType, "persons must be a list or column"),
    ],
)
def test_arguments_are_refused_by_name(change: dict[str, Any], error: Any, words: str) -> None:
    given = {"values": ["a"], "persons": [1], "epsilon": 1, "delta": 1e-6, **change}
    if error is None:
        assert private_categories(**given) == []
    else:
        with pytest.raises(error, match=words):
            private_categories(**given)


@pytest.mark.parametrize("odd", [np.timedelta64(3, "s"), 10**5000, -(10**5000), object(), None, float("nan")], ids=type)
def test_no_word_and_no_person_makes_it_fail(odd: object) -> None:
    words, persons = ["a"] * 60 + [odd], [*range(60), 60]
    private_categories(words, persons, epsilon=1, delta=1e-6)
    private_categories(["a"] * 61, [*range(60), odd], epsilon=1, delta=1e-6)
