"""Odd rows, odd keys, hostile states and empty collections: what local privacy must stand whoever sends it."""

from __future__ import annotations

import decimal
import multiprocessing
import pickle
import uuid
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import DiscreetError, FormatError, InvalidArgument, InvalidType
from discreet.local import (
    BitFlip,
    CountMeanSketch,
    Counts,
    DirectResponse,
    HadamardResponse,
    HadamardSketch,
    LocalHashing,
    MeanResponse,
    MeanVector,
    Memo,
    PrefixExtension,
    ProjectiveGeometry,
    Rappor,
    ReportLedger,
    Reports,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.local.mechanism import Mechanism, mechanism_from_dict
from discreet.local.wire import binary
from discreet.noise import generator
from discreet.noise.stream.cipher import expanded

MEMO = Memo.draw(rng=1)
NUMBERED = [
    DirectResponse(1, 5),
    UnaryEncoding(1, 5),
    SubsetSelection(1, 5),
    HadamardResponse(1, 5),
    ProjectiveGeometry(1, 5),
    BitFlip(1, 5, bits=2),
]
OTHERS = [
    BitFlip(1, 5, bits=2, memoised=True),
    CountMeanSketch(1, 4, 12, key=1),
    HadamardSketch(1, 4, 16, key=1),
    LocalHashing(1, pool=8, key=1),
    LocalHashing(1, candidates=5, key=1),
    Rappor(0.5, 0.5, 0.75, bits=16, cohorts=4, key=1),
    SquareWave(1, 0, 10, 16),
    MeanResponse(1, 0, 10),
    MeanVector(6, [0, 0, 0], [1, 1, 1]),
]
ALL = [*NUMBERED, *OTHERS]


def named(m: Mechanism) -> str:
    return m.NAME


def reports_of(m: Any, n: int) -> Any:
    if isinstance(m, MeanVector):
        return m.encode(np.full((n, 3), 0.5), rng=1)
    if isinstance(m, Rappor) or getattr(m, "memoised", False):
        return m.encode([1] * n, users=list(range(n)), memo=MEMO, rng=1)
    return m.encode([1] * n, rng=1)


# ---- rows


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


# ---- users and ledgers


@pytest.mark.parametrize("key", [uuid.UUID(int=5), 1.0, ("a", 1), decimal.Decimal(1), frozenset()])
@pytest.mark.parametrize("wrap", [list, lambda u: pd.Series(u, dtype=object), lambda u: _objects(u)])
def test_a_user_key_that_cannot_be_remembered_is_refused(key: Any, wrap: Any) -> None:
    # Taken as missing, each report would have had a new stored response: no lifetime bound at all.
    for m in (BitFlip(1, 26, bits=4, memoised=True), Rappor(0.5, 0.5, 0.75, key=1)):
        with pytest.raises(InvalidType, match="users must be whole numbers, text or bytes"):
            m.encode([3, 3], users=wrap([key, key]), memo=MEMO)


def _objects(values: list[Any]) -> np.ndarray:
    out = np.empty(len(values), object)
    out[:] = values
    return out


def test_missing_users_are_met_once() -> None:
    m = BitFlip(1, 26, bits=4, memoised=True)
    users = pd.Series(["ann", None, float("nan"), pd.NA, 7, np.int64(7)], dtype=object)
    assert len(m.encode([3] * 6, users=users, memo=MEMO)) == 6
    labels = m.responses([3] * 6, users, memo=MEMO)
    assert len(set(labels.tolist())) == 5
    assert labels[4] == labels[5]


def test_ledger_charges_reports_of_other_p_and_q() -> None:
    strong, weak = Rappor(0.5, 0.49, 0.51, key=1), Rappor(0.5, 0.05, 0.95, key=1)
    label = strong.responses(["v"], [1], memo=MEMO)[0]
    assert label == weak.responses(["v"], [1], memo=MEMO)[0]  # one permanent response for both
    ledger = ReportLedger(per_period=100, lifetime=100)
    prices = [ledger.report("k", m, period="p", response=label) for m in (weak, weak, strong, strong)]
    assert min(prices) > 0
    assert sum(prices) >= weak.epsilon_over(2) + strong.epsilon_over(2) - 1e-12
    again = ReportLedger.from_json(ledger.to_json())
    assert again.report("k", weak, period="p", response=label) == ledger.report("k", weak, period="p", response=label)


def test_ledger_charges_a_stored_response_exactly() -> None:
    m, ledger = BitFlip(0.3, 26, memoised=True), ReportLedger(per_period=1, lifetime=1)
    label = m.responses([1], [1], memo=MEMO)[0]
    prices = [ledger.report("k", m, period="p", response=label).exact for _ in range(2)]
    assert prices == [m.epsilon.exact, 0]  # type: ignore[attr-defined]


# ---- arguments


@pytest.mark.parametrize("epsilon", [1e-300, 1e-17, 9e-7, 0, -1, 201, float("inf")])
def test_budgets_too_small_to_estimate_with(epsilon: float) -> None:
    with pytest.raises(InvalidArgument, match="epsilon must be a positive number, at least 1e-06 and at most 200"):
        DirectResponse(epsilon, 3)


def test_the_smallest_budget_estimates() -> None:
    for m in (DirectResponse(1e-6, 3), HadamardSketch(1e-6, 4, 16, key=1), MeanResponse(1e-6, 0, 1)):
        found: Any = m.aggregate(reports_of(m, 10))
        found = m.estimate(found) if isinstance(m, MeanResponse) else m.estimate(found, [1])
        assert np.isfinite(found.std_error).all()


def test_a_mismatch_names_the_mechanism_first() -> None:
    with pytest.raises(InvalidArgument, match="mechanism=direct-response"):
        HadamardSketch(1, 4, 16, key=1).aggregate(DirectResponse(1, 3).encode([1]))


def test_candidates_from_arrow_and_odd_ones() -> None:
    m = DirectResponse(1, ["cat", "dog"])
    assert m.estimate(m.empty(), pa.array(["dog"])).candidates == ["dog"]
    r = Rappor(0.5, 0.5, 0.75, bits=16, cohorts=4, key=1)
    assert r.estimate(r.empty(), pa.array(["dog"])).candidates == ["dog"]
    with pytest.raises(InvalidType, match="candidates must be whole numbers, texts or bytes"):
        r.estimate(r.empty(), [1.5])


# ---- states and reports


def state(m: Mechanism | dict[str, Any], n: int, numbers: Any, rejected: int = 0) -> bytes:
    header = m if isinstance(m, dict) else m.to_dict()
    body = rejected.to_bytes(8, "little") + np.asarray(numbers, np.int64).tobytes()
    return binary.write(binary.STATE, header, n, [body], seeded=True)


@pytest.mark.parametrize("m", ALL, ids=named)
def test_states_that_no_reports_can_leave(m: Mechanism) -> None:
    counts = m.aggregate(reports_of(m, 20))
    numbers = np.concatenate([a.ravel() for a in counts.counters.values()])
    assert Counts.from_bytes(state(m, 20, numbers)) == counts
    largest = np.argmax(numbers)
    for place, value in ((largest, -1), (largest, 10**6), (0, 2**62), (0, -(2**63))):
        odd = numbers.copy()
        odd[place] = value
        with pytest.raises(FormatError, match="cannot have left these counters"):
            Counts.from_bytes(state(m, 20, odd))
    for n in (0, 2**62, 2**63, 2**64 - 1):
        bounded = isinstance(m, UnaryEncoding) or (isinstance(m, LocalHashing) and m.pool is None)
        if n != 2**62 or not bounded:  # ones and support are bounded by n, no more
            with pytest.raises(FormatError, match="a state damaged"):
                Counts.from_bytes(state(m, n, numbers))
    for short in (numbers[:-1], numbers[:0], np.append(numbers, 0)):
        with pytest.raises(FormatError, match="counters where its parameters ask for"):
            Counts.from_bytes(state(m, 20, short))
    with pytest.raises(FormatError, match="more reports than there can be"):
        Counts.from_bytes(state(m, 20, numbers, rejected=2**63))


def test_sums_that_wrap_around_are_seen() -> None:
    m = DirectResponse(1, 5)
    with pytest.raises(FormatError, match="cannot have left"):
        Counts.from_bytes(state(m, 2**62, np.full(5, 2**62)))  # adds up to 2^62 modulo 2^64


def test_a_state_larger_than_memory_is_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(self: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(DirectResponse, "_zeros", none_left)
    with pytest.raises(FormatError, match="more counters than memory holds"):
        Counts.from_bytes(state(DirectResponse(1, 5), 0, []))


@pytest.mark.parametrize("text", ["1e-99999999", "1e99999999", "0.5", "1 / 2", "+1", "1/0", "9" * 401, "٣"])
def test_budgets_in_headers_are_short_rationals(text: str) -> None:
    facts = {"mechanism": "direct-response", "epsilon": text, "domain": 2}
    with pytest.raises(FormatError):
        Reports.from_bytes(binary.write(binary.REPORTS, facts, 0, [], seeded=False))


def test_deep_headers_are_damaged() -> None:
    lists: Any = 1
    for _ in range(900):
        lists = [lists]
    nested: Any = {"mechanism": "direct-response", "epsilon": "1", "domain": 2}
    for _ in range(400):
        nested = {"mechanism": "direct-response", "epsilon": "1", "domain": nested}
    for facts in ({"mechanism": "direct-response", "epsilon": "1", "domain": lists}, nested):
        with pytest.raises(FormatError):
            mechanism_from_dict(facts)


def test_headers_equal_in_value_but_not_in_writing_are_refused() -> None:
    facts = HadamardSketch(1, 4, 16, key=1).to_dict()
    with pytest.raises(FormatError):
        mechanism_from_dict({**facts, "skip_zero": 0})
    assert isinstance(mechanism_from_dict({**SquareWave(1, 0, 10).to_dict()}), SquareWave)
    with pytest.raises(FormatError, match="canonical"):
        mechanism_from_dict({**SquareWave(1, 0, 10).to_dict(), "low": 0})


def test_long_fields_are_read_from_any_bit() -> None:
    m = BitFlip(1, 1000, bits=70)  # 700 bits of indices, then 70 answers: not on a byte
    reports = m.encode([5, 6], rng=1)
    wanted = np.unpackbits(reports.rows, axis=1, bitorder="little")[:, 700:770]
    found = np.unpackbits(reports.field("answers"), axis=1, bitorder="little")[:, :70]
    assert np.array_equal(found, wanted)


# ---- nothing, and processes


@pytest.mark.parametrize("m", ALL, ids=named)
@pytest.mark.parametrize("n", [0, 1])
def test_few_reports_estimate_without_warnings(m: Mechanism, n: int) -> None:
    counts = m.aggregate(reports_of(m, n))
    assert (counts.n, counts.rejected) == (n, 0)
    if isinstance(m, (MeanResponse, MeanVector, SquareWave)):
        found: Any = m.estimate(counts)
        assert np.isfinite(np.asarray(found.mean)).all()
        return
    found = m.estimate(counts, [1])
    assert np.isfinite([found.count, found.std_error, *found.interval()]).all()
    assert len(m.estimate(counts, [])) == 0
    assert found.to_arrow().num_rows == 1


@pytest.mark.parametrize("m", [*ALL, PrefixExtension(1, length=2, key=1)], ids=named)
def test_mechanisms_reports_and_counts_pickle(m: Mechanism) -> None:
    reports = m.encode(["a"], rng=1) if isinstance(m, PrefixExtension) else reports_of(m, 3)
    for thing in (m, reports, m.aggregate(reports)):
        assert pickle.loads(pickle.dumps(thing)) == thing


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_an_expanded_stream_takes_a_new_key_after_a_fork() -> None:
    stream = expanded(generator())
    stream.bytes(100)  # leaves a block that the child must not share
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=lambda: queue.put(stream.bytes(64).tobytes()))
    child.start()
    theirs = queue.get()
    child.join()
    assert stream.bytes(64).tobytes() != theirs


def test_one_seeded_stream_makes_two_different_sets_of_reports() -> None:
    m, stream = CountMeanSketch(1, 4, 64, key=1), generator(3)
    one, two = m.encode(["a"] * 20, rng=stream), m.encode(["a"] * 20, rng=stream)
    assert one.seeded
    assert not np.array_equal(one.rows, two.rows)
    assert one == m.encode(["a"] * 20, rng=3)


def test_a_refused_part_leaves_counts_as_they_were() -> None:
    for m in (DirectResponse(1, 5), LocalHashing(1, key=1), CountMeanSketch(1, 4, 12, key=1)):
        counts = m.aggregate(m.encode([1, 2, 3], rng=1))
        before = counts.to_bytes()
        good = m.encode([4], rng=2).to_bytes()
        for bad in (
            good[:-1],
            good[:-1] + b"x",
            dc.local.DirectResponse(2, 7).encode([1]),
            np.zeros((1, 99), np.uint8),
        ):
            with pytest.raises(DiscreetError):
                counts.add(bad)
        assert counts.to_bytes() == before
