"""States, headers and reports from outside: what no reports can have left is damaged, and few or none are enough."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import DiscreetError, FormatError
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
    Reports,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.local.mechanism import Mechanism, mechanism_from_dict
from discreet.local.wire import binary

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


def state(m: Mechanism | dict[str, Any], n: int, numbers: Any, rejected: int = 0) -> bytes:
    header = m if isinstance(m, dict) else m.to_dict()
    body = rejected.to_bytes(8, "little") + np.asarray(numbers, np.int64).tobytes()
    return binary.write(binary.STATE, header, n, [body], seeded=True)


def test_the_smallest_budget_estimates() -> None:
    for m in (DirectResponse(1e-6, 3), HadamardSketch(1e-6, 4, 16, key=1), MeanResponse(1e-6, 0, 1)):
        found: Any = m.aggregate(reports_of(m, 10))
        found = m.estimate(found) if isinstance(m, MeanResponse) else m.estimate(found, [1])
        assert np.isfinite(found.std_error).all()


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
