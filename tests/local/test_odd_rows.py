"""Columns of any kind, with anything in them: every row is encoded, and what is not a column is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.errors import InvalidArgument, InvalidType
from discreet.local import (
    BitFlip,
    DirectResponse,
    HadamardResponse,
    MeanVector,
    ProjectiveGeometry,
    Rappor,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.local.mechanism import Mechanism

NUMBERED = [
    DirectResponse(1, 5),
    UnaryEncoding(1, 5),
    SubsetSelection(1, 5),
    HadamardResponse(1, 5),
    ProjectiveGeometry(1, 5),
    BitFlip(1, 5, bits=2),
]


def named(m: Mechanism) -> str:
    return m.NAME


@pytest.mark.parametrize(
    "column",
    [
        [0, 4, None, 7, -1, 2**70, float("nan"), 1.5, "x", b"y", [1], [1, 2]],
        np.array([0, None, "x", 3.0], dtype=object),
        np.array([0.0, 1.5, np.nan, np.inf, -np.inf]),
        np.array([0, 2**64 - 1], np.uint64),
        pd.Series([0, None, "x"], dtype=object),
        pd.Series([0, None, 3]),
        pd.Series([0, None, 3], dtype="Int64"),
        pl.Series([0, None, 3], dtype=pl.UInt8),
        pa.array([0, None, 3], pa.uint64()),
        pa.chunked_array([[0], [None, 3]], pa.int8()),
        pa.array([0, None, 3]).dictionary_encode(),
        pa.nulls(3),
        range(3),
    ],
    ids=lambda c: type(c).__name__,
)
@pytest.mark.parametrize("m", NUMBERED, ids=named)
def test_no_row_of_a_numbered_domain_fails(m: Mechanism, column: Any) -> None:
    reports = m.encode(column, rng=1)
    assert len(reports) == len(column)
    assert m.aggregate(reports).rejected == 0


def test_one_number_in_every_kind_of_column() -> None:
    choices = DirectResponse(1, 5).choices
    wanted = [3, -1, 0, -1]
    for column in (
        [3, None, 0, 9],
        [3.0, None, 0.0, 0.5],
        np.array([3.0, np.nan, 0.0, 9.0]),
        pd.Series([3, None, 0, 9]),
        pd.Series([3, None, 0, "x"], dtype=object),
        pl.Series([3, None, 0, 9]),
        pa.array([3, None, 0, 9], pa.uint8()),
        pd.Series([3, None, 0, 9], dtype="Int64").astype("category"),
    ):
        assert choices.codes(column).tolist() == wanted, type(column)


def test_rows_that_are_lists_do_not_fail_labels() -> None:
    assert DirectResponse(1, ["a", "b"]).choices.codes(["b", [1, 2], ["a"]]).tolist() == [1, -1, -1]


@pytest.mark.parametrize("domain", [5, ["a", "b"]])
@pytest.mark.parametrize("odd", [np.zeros((2, 2), int), 3, {1}, (x for x in [1]), "ab", None])
def test_what_is_no_column_is_refused_by_name(domain: Any, odd: Any) -> None:
    with pytest.raises((InvalidArgument, InvalidType), match="values must be"):
        DirectResponse(1, domain).encode(odd)


def test_mean_vectors_of_odd_shape() -> None:
    m = MeanVector(1, [0, 0], [1, 1])
    assert len(m.encode([])) == 0
    with pytest.raises(InvalidArgument, match="rows of different lengths"):
        m.encode([[1, 2], [3]])


def test_candidates_from_arrow_and_odd_ones() -> None:
    m = DirectResponse(1, ["cat", "dog"])
    assert m.estimate(m.empty(), pa.array(["dog"])).candidates == ["dog"]
    r = Rappor(0.5, 0.5, 0.75, bits=16, cohorts=4, key=1)
    assert r.estimate(r.empty(), pa.array(["dog"])).candidates == ["dog"]
    with pytest.raises(InvalidType, match="candidates must be whole numbers, texts or bytes"):
        r.estimate(r.empty(), [1.5])
