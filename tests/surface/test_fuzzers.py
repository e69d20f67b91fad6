"""Bytes from outside cause our own errors and no others: inputs that once did, seeds, and some mutants of them.

`make fuzz` runs the same targets for minutes, led by the code that they reach (tests/fuzz). Here the seed of the
mutants is fixed, so a failure can be repeated.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzz import targets, web
from fuzz.run import FOUND, RESULTS
from fuzz.targets import TARGETS

#: Seconds of CPU time for the mutants of one target.
TIME = 0.3


@pytest.fixture(autouse=True, scope="module")
def _folder() -> Iterator[None]:
    before = Path.cwd()
    yield
    web.stop()
    os.chdir(before)  # the studio works in a folder of its own
    shutil.rmtree(targets._folder(), ignore_errors=True)


def mutant(seed: bytes, other: bytes, chance: random.Random) -> bytes:
    """Change a few places of an input: bits, bytes, pieces that are cut, doubled or taken from another input."""
    data = bytearray(seed[1:])
    for _ in range(chance.choice((1, 1, 2, 4, 8))):
        at, size = chance.randrange(len(data) + 1), chance.choice((1, 2, 4, 16))
        kind = chance.randrange(6)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << chance.randrange(8)
        elif kind == 1:
            data[at : at + size] = chance.randbytes(size)
        elif kind == 2:
            del data[at : at + size]
        elif kind == 3:
            data[at:at] = data[at : at + size] * chance.choice((1, 30))
        elif kind == 4:
            start = chance.randrange(len(other) + 1)
            data[at : at + size] = other[start : start + size]
        else:
            data[at : at + size] = chance.choice((b"\0", b"\xff", b"-1", b"1e999", b"null", b"[[", b'"', b"9" * 40))
    return seed[:1] + bytes(data)


@pytest.mark.parametrize("name", list(TARGETS))
@pytest.mark.unmetered  # requests and synopses draw without a ledger
def test_no_input_causes_another_error_than_ours(name: str) -> None:
    target = TARGETS[name]
    kept = [place.read_bytes() for place in sorted((FOUND / name).glob("*"))]
    seeds = target.inputs()
    assert {data[0] for data in seeds} >= set(range(len(target.parsers))) - {2}  # packed tables have no seed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for data in (*kept, *seeds):
            target.feed(data)
        chance, end = random.Random(20261118), time.process_time() + TIME
        while time.process_time() < end:
            data = mutant(chance.choice(seeds), chance.choice(seeds), chance)
            begin = time.process_time()
            target.feed(data)
            assert time.process_time() - begin < targets.SECONDS, data


def test_every_target_ran_and_what_it_found_is_fed_again() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert set(results) == set(TARGETS)
    assert len(TARGETS) <= 8
    for name, told in results.items():
        assert told["executions"] > 0, name
        assert told["slowest_seconds"] < targets.SECONDS, name
        assert told["peak_megabytes"] < targets.MEGABYTES, name
        assert len(list((FOUND / name).glob("*"))) >= len(told["findings"]), name
