"""Estimates of a task: totals of devices that repeat stored noise, and values whose labels are in a public file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from collecting import some_task
from discreet.collector import dashboard, open_store, read
from discreet.errors import FormatError
from discreet.local import Counts, Memo, PublicFile, Task

Reader = Callable[..., dict[str, Any]]
SEEDS, DAYS = 25, 30
HELD = np.array([250, 150, 100, 0])


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """Read counts of a task, as every door does."""
    store = open_store(tmp_path / "collected")

    def found(task: Task, counts: dict[int, Counts], **more: Any) -> dict[str, Any]:
        store.create(task)
        return read(store, task.digest, counts=counts, **more)

    return found


def reports_of(mechanism: Any, seed: int, values: Any = None) -> Counts:
    """Return the counts of one report per device; stored ones are the same for the same values."""
    values = np.repeat(np.arange(len(HELD)), HELD) if values is None else values
    users = {"users": np.arange(len(values)), "memo": Memo.draw(rng=seed)} if mechanism.stores else {}
    return mechanism.aggregate(mechanism.encode(values, **users, rng=seed))


def hits_and_errors(facts: dict[str, Any], truth: Any) -> tuple[Any, Any]:
    """Return which 95 % intervals hold the truth, and the errors in units of the stated ones."""
    count, error, low, high = (
        np.array([one[key] for one in facts["estimates"]]) for key in ("count", "std_error", "lower", "upper")
    )
    return (low <= truth) & (truth <= high), (count - truth) / error


@pytest.mark.parametrize("memoised", [True, False])
@pytest.mark.parametrize("bits", [1, 4])
def test_a_total_allows_for_devices_that_repeat_their_noise(bits: int, memoised: bool, reader: Reader) -> None:
    """The same 500 devices on 30 days, with 100 intervals per setting.

    Taken for independent reports, intervals of stored ones held a quarter of the truths. Correct ones hold less than
    88 of 100 in one run of two hundred.
    """
    m = dc.local.BitFlip(1, 4, bits=bits, memoised=memoised)
    task, hits, errors, single = some_task(m), [], [], []
    for seed in range(SEEDS):
        days = {day: reports_of(m, seed if memoised else DAYS * seed + day) for day in range(DAYS)}
        facts = reader(task, days)
        hit, error = hits_and_errors(facts, DAYS * HELD)
        hits.append(hit)
        errors.append(error)
        single.append(hits_and_errors(facts["periods"][0], HELD)[0])
    assert np.mean(hits) >= 0.88
    assert np.mean(single) >= 0.88
    assert 0.75 < np.std(errors) < 1.25
    assert ("up to 31 reports per reporter" in " ".join(facts["caveats"])) == memoised


def test_several_reports_per_day_and_values_that_change(reader: Reader) -> None:
    """Three reports per day for five days; half of the devices have another value from the third day on."""
    m = dc.local.BitFlip(1, 4, bits=2, memoised=True)
    task, hits, single = some_task(m, per_day=3), [], []
    before = np.repeat(np.arange(4), HELD)
    after = np.where(np.arange(len(before)) % 2, (before + 1) % 4, before)
    held = [np.bincount(values, minlength=4) for values in (before, after)]
    for seed in range(SEEDS):
        parts = [reports_of(m, seed, values) for values in (before, after)]
        facts = reader(task, {day: sum([parts[day > 1]] * 2, parts[day > 1]) for day in range(5)})
        hits.append(hits_and_errors(facts, 3 * (2 * held[0] + 3 * held[1]))[0])
        single.append(hits_and_errors(facts["periods"][4], 3 * held[1])[0])
    assert np.mean(hits) >= 0.88
    assert np.mean(single) >= 0.88


@pytest.mark.parametrize(
    ("period", "periods", "repeats"),
    [(86_400, [0, 3], 5), (86_400, [3], 5), (3600, [0, 1, 23, 24], 3), (7 * 86_400, [0, 1], 11), (36 * 3600, [1], 4)],
)
def test_reports_of_one_device_are_counted_by_day(
    period: int, periods: list[int], repeats: int, reader: Reader
) -> None:
    """Days of a task of ten days until the last report came, and one more: midnight is local."""
    m = dc.local.BitFlip(1, 4, memoised=True)
    task = some_task(m, period=period, opens="2026-01-01T00:00:00Z", closes="2026-01-11T00:00:00Z")
    counts = reports_of(m, 1)
    facts = reader(task, dict.fromkeys(periods, counts))
    independent = m.estimate(sum([counts] * (len(periods) - 1), counts)).std_error
    assert [one["std_error"] for one in facts["estimates"]] == pytest.approx(np.sqrt(repeats) * independent)


@pytest.mark.slow
def test_rappor_measures_its_stored_noise(reader: Reader) -> None:
    """Permanent bits of 1000 devices for 30 days: errors come from the spread of the bits, so they need no factor."""
    hits, errors = [], []
    for seed in range(SEEDS):
        m = dc.local.Rappor.from_budget(epsilon_lifetime=4, epsilon_report=1.5, cohorts=8, bits=64, key=seed)
        values = np.repeat(np.arange(4), [500, 300, 200, 0])
        memo, users = Memo.draw(rng=seed), np.arange(len(values))
        days = {day: m.aggregate(m.encode(values, users, memo=memo, rng=DAYS * seed + day)) for day in range(DAYS)}
        facts = reader(some_task(m, candidates=[0, 1, 2, 3]), days)
        hit, error = hits_and_errors(facts, DAYS * np.array([500, 300, 200, 0]))
        hits.append(hit)
        errors.append(error)
    assert np.mean(hits) >= 0.88
    assert 0.75 < np.std(errors) < 1.25


def test_labels_of_numbered_values_may_be_in_a_public_file(tmp_path: Path, reader: Reader) -> None:
    """Without the file the numbers are shown; with it the labels, which devices number in its order."""
    m = dc.local.DirectResponse(1, 2)
    task = some_task(m, candidates=PublicFile.of("w.txt", b"dog\ncat\n"))
    counts = {day: m.aggregate(m.encode([0] * 60 + [1] * 40, rng=1)) for day in range(2)}
    plain, named = reader(task, counts), reader(task, counts, candidates=b"dog\ncat\n")
    assert [one["candidate"] for one in plain["estimates"]] == [0, 1]
    assert "numbered like the labels in 'w.txt'" in plain["caveats"][0]
    for facts in (named, *named["periods"]):
        assert [one["candidate"] for one in facts["estimates"]] == ["dog", "cat"]
    assert [one["count"] for one in named["estimates"]] == [one["count"] for one in plain["estimates"]]
    assert not any("w.txt" in line for line in named["caveats"])
    assert [one["candidate"] for one in reader(task, counts, candidates=[1])["estimates"]] == [1]
    with pytest.raises(FormatError, match="its SHA-256 differs"):
        reader(task, counts, candidates=b"cat\ndog\n")
    with pytest.raises(FormatError, match="begins with a byte order mark"):
        PublicFile.of("w.txt", b"\xef\xbb\xbfdog\ncat\n")
    store = open_store(tmp_path / "collected")
    page = dashboard.of_task(store, task.digest)
    store.shut()
    assert "reports" in page
