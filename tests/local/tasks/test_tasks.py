"""A task is public, immutable, and known by the digest of its one text; its coins never exceed its epsilon."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import FormatError, InvalidArgument
from discreet.local import PublicFile, Task
from discreet.noise.reports.laws import Coin
from discreet.noise.stream.thresholds import Chance

COLOURS = dc.local.DirectResponse(1, ["red", "green", "blue"])
TIMES = {"opens": "2026-11-16T00:00:00Z", "closes": "2026-12-16T00:00:00Z"}


def make(mechanism: Any = COLOURS, **more: Any) -> Task:
    facts: dict[str, Any] = {"name": "colour", "per_day": 2, "wanted": 1000, "minimum": 100, **TIMES, **more}
    return Task(mechanism, **facts)


def test_a_task_survives_its_text_and_is_known_by_it() -> None:
    task = make(candidates=None)
    again = Task.from_json(task.to_json().encode())
    assert again == task
    assert again.digest == task.digest != make(name="other").digest
    assert json.loads(task.to_json())["epsilon"] == "1"
    assert task.digest == make(opens=datetime(2026, 11, 16, 1, tzinfo=timezone(timedelta(hours=1)))).digest


def test_times_are_read_without_a_zone_of_ones_own() -> None:
    task = make(period=3600)
    start = datetime(2026, 11, 16, tzinfo=UTC)
    assert task.open_at(start)
    assert not task.open_at(start - timedelta(seconds=1))
    assert not task.open_at(datetime(2026, 12, 16, tzinfo=UTC))


def test_a_file_of_candidates_is_the_one_that_was_meant() -> None:
    content = "cat\ncafé\n".encode()
    task = make(dc.local.DirectResponse(1, 2), candidates=PublicFile.of("words.txt", content))
    assert Task.from_json(task.to_json()).candidates.labels(content) == ("cat", "café")
    with pytest.raises(FormatError, match="SHA-256 differs"):
        task.candidates.labels(content + b"dog\n")
    assert make(dc.local.DirectResponse(1, 2), candidates=["a", "b"]).candidates == ("a", "b")


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"per_day": 0.5}, "per_day must be at least the cost of one report, 1"),
        ({"closes": TIMES["opens"]}, "closes must be after opens"),
        ({"opens": "2026-11-16"}, "opens must be a time in UTC"),
        ({"opens": datetime(2026, 11, 16)}, "opens must be a time in UTC"),
        ({"minimum": 1001}, "minimum must be"),
        ({"period": 1}, "period must be"),
        ({"key_window": 1}, "key_window must be"),
        ({"name": ""}, "name must be a line"),
        ({"name": "two\nlines"}, "name must be a line"),
        ({"candidates": ["a", "b", "c"]}, "candidates must be None"),
        ({"candidates": PublicFile("w.txt", "0" * 64)}, "candidates must be None"),
        ({"mechanism": dc.local.LocalHashing(1, candidates=2), "candidates": ["a", "b"]}, "candidates must be None"),
        ({"mechanism": dc.local.DirectResponse(1, 2), "candidates": ["a"]}, "at least two labels"),
        ({"mechanism": dc.local.DirectResponse(1, 2), "candidates": ["a", "b", "c"]}, "one for each of the 2"),
        ({"mechanism": dc.local.DirectResponse(1, 2), "candidates": "ab"}, "a list of labels"),
        ({"mechanism": dc.local.DirectResponse(1, ["e\u0301", "f"])}, "NFC"),
        ({"mechanism": dc.local.FragmentPuzzle(1, 1, key=1)}, "single device"),
        ({"mechanism": "direct"}, "a local mechanism"),
        ({"mechanism": dc.local.LocalHashing(1, key=1)}, "counts have a fixed size"),
        ({"mechanism": dc.local.PrefixExtension(1, key=1)}, "counts have a fixed size"),
        ({"mechanism": dc.local.PrefixExtension(1, bits=9, pool=8, key=1)}, "one of texts"),
    ],
)
def test_what_cannot_be_served_is_refused(more: dict[str, Any], fault: str) -> None:
    with pytest.raises(InvalidArgument, match=fault):
        make(**more)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"format": "x"}, "format"),
        ({"version": 2}, "version 2"),
        ({"client": 2}, "client 2"),
        ({"wanted": None}, "wanted"),
        ({"more": 1}, "'more' is not known"),
        ({"epsilon": "1/2"}, "epsilon must be"),
        ({"coins": {"keep": "f" * 32}}, "coins must be"),
        ({"per_day": "2.0"}, "not a rational"),
        ({"mechanism": {"mechanism": "direct-response"}}, "fields missing"),
        ({"candidates": {"file": "x"}}, "candidates must be"),
    ],
)
def test_a_changed_task_is_refused_with_the_field_that_is_wrong(change: dict[str, Any], fault: str) -> None:
    facts = {**make().to_dict(), **change}
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    with pytest.raises(FormatError, match=fault):
        Task.from_json(text)


def test_a_task_that_is_not_its_one_text_is_refused() -> None:
    text = make().to_json()
    for odd in (text + " ", text.replace(":", ": "), "[]", "{", "[" * 100_000, text.replace('"name":"colour",', "")):
        with pytest.raises(FormatError):
            Task.from_json(odd)


def test_coins_are_rounded_towards_privacy() -> None:
    """A third is on no grid of digits; the half is, and stays."""
    third, half = Chance(a=Fraction(1, 3)), Chance(a=Fraction(1, 2))
    assert [f"{Coin(third, up).threshold:x}"[-2:] for up in (False, True)] == ["55", "56"]
    assert Coin(half, up=True).threshold == Coin(half, up=False).threshold
    for coin in dc.local.UnaryEncoding(1, 5).randomiser.coins.values():
        exact = int.from_bytes(coin.chance.digits(40), "big") / Fraction(256**40)
        digits = Fraction(coin.threshold, 256**16)
        assert digits >= exact if coin.up else digits <= exact
        assert abs(digits - exact) < Fraction(1, 256**16) + Fraction(1, 256**40)


def test_thousands_of_odd_texts_are_refused_or_are_tasks_of_their_own() -> None:
    """Every field replaced by things of other kinds, and texts with changed bytes: a FormatError, or another task."""
    task = make(dc.local.HadamardSketch(1, 16, 16, key=7), candidates=["cat", "dog"])
    odd: list[Any] = [None, True, -1, 0, 2**70, 0.5, "", "x", "1/0", "1e9", [], [[]], {}, {"file": 1, "sha256": 2}]
    facts, parameters = task.to_dict(), task.mechanism.to_dict()
    changed = [{**facts, field: value} for field in facts for value in odd]
    changed += [{**facts, "mechanism": {**parameters, field: value}} for field in parameters for value in odd]
    texts = [json.dumps(x, sort_keys=True, separators=(",", ":")).encode() for x in changed]
    rng, text = np.random.default_rng(1), task.to_json().encode()
    for place, byte in zip(rng.integers(len(text), size=2000), rng.integers(256, size=2000), strict=True):
        texts.append(text[:place] + bytes([byte]) + text[place + 1 :])
    refused = 0
    for one in texts:
        try:
            found = Task.from_json(one)
        except FormatError:
            refused += 1
            continue
        assert found.to_json().encode() == one
    assert refused > 0.8 * len(texts)
